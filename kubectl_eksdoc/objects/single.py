"""Encoding and decoding of single objects: documents to bytes, bytes to facts, and collectors of raw objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Resource

from .structs import ListOf, RawError

encode: Callable[[Any], bytes] = msgspec.json.encode
"""A document as JSON bytes; keys keep their order."""


class NoJson(ValueError):
    """It is not JSON, or no object can be built from it, for example with an unpaired surrogate in a text."""


class NoSuchObject(ValueError):
    """An object that is not of the expected kind."""


def decode(raw: bytes) -> Any:
    """Decode JSON.

    Raises:
        InvalidJson: the message says where.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NoJson(str(error)) from error


def document(raw: bytes | memoryview) -> Doc | None:
    """The JSON object of an answer or a dump; None if it is not one, which the caller's decoding into facts reports."""
    try:
        found = decode(bytes(raw))
    except NoJson:
        return None
    return found if isinstance(found, dict) else None


class FactDecoder:
    """Decodes objects of all known kinds into facts, sharing equal values."""

    def __init__(self) -> None:
        # Imported late: code that only decodes documents must not load the structs of all kinds.
        from .karpenter import BY_RESOURCE
        from .pods import SharedTexts

        self._share, self._kinds = SharedTexts(), BY_RESOURCE
        self._decoders: dict[Resource, Callable[[bytes], Any]] = {
            resource: msgspec.json.Decoder(kind.form).decode for resource, kind in BY_RESOURCE.items()
        }

    def fact(self, resource: Resource, raw: bytes) -> Any:
        """The fact of one object, which has a name and a UID.

        Raises:
            InvalidObjectKind: it is not of `resource`; the message says where it differs.
        """
        try:
            return self._kinds[resource].project(self._decoders[resource](raw), self._share)
        except (msgspec.MsgspecError, RawError) as error:
            raise NoSuchObject(str(error)) from error


# Raw objects beside their facts, from which a cluster can be built again.


Raws = dict[str, dict[str, bytes]]
"""JSON bytes by kind and name."""

_decode_page = msgspec.json.Decoder(ListOf[msgspec.Raw]).decode
_decode_maps = msgspec.json.Decoder(dict[str, dict[str, msgspec.Raw]]).decode


def each_of(page: bytes) -> Iterator[bytes]:
    """The items of a List that is known to be readable."""
    return (bytes(raw) for raw in _decode_page(page).items or ())


def raws_in(body: bytes) -> Raws:
    """Decode an object of objects, which may be indented."""
    maps = _decode_maps(msgspec.json.format(body, indent=-1))
    return {kind: {name: bytes(raw) for name, raw in held.items()} for kind, held in maps.items()}


class RawObjects:
    """Collects raw objects. Mutable: a reader fills it. Items of a list lack their kind; here it is added."""

    def __init__(self) -> None:
        self._held: dict[Resource, list[bytes]] = {}
        self._others: list[tuple[str, str, bytes]] = []

    def add_page(self, resource: Resource, body: bytes) -> None:
        """Add the items of a List that is known to be readable."""
        self._held.setdefault(resource, []).extend(each_of(body))

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        self._held.setdefault(resource, []).append(bytes(raw))

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        """Add an object of a kind without facts."""
        self._others.append((kind, api_version, bytes(raw)))

    def forget(self, resource: Resource) -> None:
        """The list is read again."""
        self._held.pop(resource, None)

    def documents(self) -> Iterator[dict[str, Any]]:
        """Each object as often as it was read, in the version that is served now: the fields read are the same in all
        versions.

        Raises:
            InvalidJson: an object is invalid, in a part that no fact is built from.
        """
        for resource, held in self._held.items():
            for raw in held:
                yield {**decode(raw), "kind": resource.kind, "apiVersion": resource.api_version}
        for kind, api_version, raw in self._others:
            yield {**decode(raw), "kind": kind, "apiVersion": api_version}


class Keeper(RawObjects):
    """Keeps only some of the objects that are read: each object is passed to `add_other`. Mutable. `kinds`: the kinds
    whose lists are decoded."""

    kinds: Collection[str] = ()

    def add_page(self, resource: Resource, body: bytes) -> None:
        if resource.kind in self.kinds:
            for raw in each_of(body):
                self.add_item(resource, raw)

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        self.add_other(resource.kind, resource.api_version, raw)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        """Ignore the object."""

    def forget(self, resource: Resource) -> None:
        """Kept objects are the same when they are read again."""
