"""One object at a time: documents to bytes, bytes to the fact, for whoever holds objects that change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Resource

from .structs import ListOf, RawError

encode: Callable[[Any], bytes] = msgspec.json.encode
"""A document as the bytes of its JSON, keys in the order they have."""


class NoJson(ValueError):
    """It is no JSON: or none that an object can be made of, as text with half a character in it."""


class NoSuchObject(ValueError):
    """An object that is none of its kind."""


def decode(raw: bytes) -> Any:
    """
    Raises:
        NoJson: the message says where.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NoJson(str(error)) from error


def document(raw: bytes | memoryview) -> Doc | None:
    """The object of an answer or a dump; None where it is none, which whoever makes facts of it says."""
    try:
        found = decode(bytes(raw))
    except NoJson:
        return None
    return found if isinstance(found, dict) else None


class FactDecoder:
    """Turns the objects of the catalogue's kinds into facts, sharing what they have in common."""

    def __init__(self) -> None:
        # Imported late: documents alone must not pay for the forms of all kinds.
        from .karpenter import BY_RESOURCE
        from .pods import SharedTexts

        self._share, self._kinds = SharedTexts(), BY_RESOURCE
        self._decoders: dict[Resource, Callable[[bytes], Any]] = {
            resource: msgspec.json.Decoder(kind.form).decode for resource, kind in BY_RESOURCE.items()
        }

    def fact(self, resource: Resource, raw: bytes) -> Any:
        """The fact of one object, which has a name and a uid.

        Raises:
            NoSuchObject: it is none of `resource`; the message says where it differs.
        """
        try:
            return self._kinds[resource].project(self._decoders[resource](raw), self._share)
        except (msgspec.MsgspecError, RawError) as error:
            raise NoSuchObject(str(error)) from error


# Objects as they were read, beside their facts: for whoever makes a cluster of them again.


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
