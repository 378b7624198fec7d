"""Objects as they were read, beside their facts: for whoever makes a cluster of them again."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.single import decode
from kubectl_eksdoc.objects.structs import ListOf

Raws = dict[str, dict[str, bytes]]
"""Bytes of JSON by their kind and their name."""

_decode_page = msgspec.json.Decoder(ListOf[msgspec.Raw]).decode
_decode_maps = msgspec.json.Decoder(dict[str, dict[str, msgspec.Raw]]).decode


def each_of(page: bytes) -> Iterator[bytes]:
    """The objects of a List that could be read."""
    return (bytes(raw) for raw in _decode_page(page).items or ())


def raws_in(body: bytes) -> Raws:
    """Of an object of objects, which may be laid out for readers."""
    maps = _decode_maps(msgspec.json.format(body, indent=-1))
    return {kind: {name: bytes(raw) for name, raw in held.items()} for kind, held in maps.items()}


class RawObjects:
    """Mutable: a reader fills it while it reads. Objects of a list lack their kind; here they have it."""

    def __init__(self) -> None:
        self._held: dict[Resource, list[bytes]] = {}
        self._others: list[tuple[str, str, bytes]] = []

    def add_page(self, resource: Resource, body: bytes) -> None:
        """The objects of a List that could be read."""
        self._held.setdefault(resource, []).extend(each_of(body))

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        self._held.setdefault(resource, []).append(bytes(raw))

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        """An object of a kind that no fact is made of."""
        self._others.append((kind, api_version, bytes(raw)))

    def forget(self, resource: Resource) -> None:
        """A list is read anew."""
        self._held.pop(resource, None)

    def documents(self) -> Iterator[dict[str, Any]]:
        """Each as often as it was read, in the version that is served now: what is read is the same in all.

        Raises:
            NoJson: an object is none, in a part of it that no fact is made of.
        """
        for resource, held in self._held.items():
            for raw in held:
                yield {**decode(raw), "kind": resource.kind, "apiVersion": resource.api_version}
        for kind, api_version, raw in self._others:
            yield {**decode(raw), "kind": kind, "apiVersion": api_version}


class Keeper(RawObjects):
    """Keeps of what a reader reads only what is asked for: `add_other` is told of each object. Mutable. `kinds`: those
    whose lists are looked into."""

    kinds: Collection[str] = ()

    def add_page(self, resource: Resource, body: bytes) -> None:
        if resource.kind in self.kinds:
            for raw in each_of(body):
                self.add_item(resource, raw)

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        self.add_other(resource.kind, resource.api_version, raw)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        """Nobody asks for it."""

    def forget(self, resource: Resource) -> None:
        """What was kept of it is the same when it is read again."""
