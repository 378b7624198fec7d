"""Encoding and decoding of single objects: documents to bytes, bytes to facts, and collectors of raw objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Resource

from .structs import ListStruct, RawError

encode: Callable[[Any], bytes] = msgspec.json.encode
"""A document as JSON bytes; keys keep their order."""


class InvalidJson(ValueError):
    """It is not JSON, or no object can be built from it, for example with an unpaired surrogate in a text."""


class InvalidObjectKind(ValueError):
    """An object that is not of the expected kind."""


def decode_json(raw: bytes) -> Any:
    """Decode JSON.

    Raises:
        InvalidJson: the message says where.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidJson(str(error)) from error


def decode_object(raw: bytes | memoryview) -> Doc | None:
    """The JSON object of an answer or a dump; None if it is not one, which the caller's decoding into facts reports."""
    try:
        value = decode_json(bytes(raw))
    except InvalidJson:
        return None
    return value if isinstance(value, dict) else None


class FactDecoder:
    """Decodes objects of all known kinds into facts, sharing equal values."""

    def __init__(self) -> None:
        # Imported late: code that only decodes documents must not load the structs of all kinds.
        from .karpenter import BY_RESOURCE
        from .pods import SharedValues

        self._share, self._kinds = SharedValues(), BY_RESOURCE
        self._decoders: dict[Resource, Callable[[bytes], Any]] = {
            resource: msgspec.json.Decoder(kind.struct).decode for resource, kind in BY_RESOURCE.items()
        }

    def fact(self, resource: Resource, raw: bytes) -> Any:
        """The fact of one object, which has a name and a UID.

        Raises:
            InvalidObjectKind: it is not of `resource`; the message says where it differs.
        """
        try:
            return self._kinds[resource].project(self._decoders[resource](raw), self._share)
        except (msgspec.MsgspecError, RawError) as error:
            raise InvalidObjectKind(str(error)) from error


# Raw objects beside their facts, from which a cluster can be built again.


RawsByKind = dict[str, dict[str, bytes]]
"""JSON bytes by kind and name."""

_decode_page = msgspec.json.Decoder(ListStruct[msgspec.Raw]).decode
_decode_maps = msgspec.json.Decoder(dict[str, dict[str, msgspec.Raw]]).decode


def list_items(page: bytes) -> Iterator[bytes]:
    """The items of a List that is known to be readable."""
    return (bytes(raw) for raw in _decode_page(page).items or ())


def decode_raws(body: bytes) -> RawsByKind:
    """Decode an object of objects, which may be indented."""
    maps = _decode_maps(msgspec.json.format(body, indent=-1))
    return {kind: {name: bytes(raw) for name, raw in objects.items()} for kind, objects in maps.items()}


class RawObjects:
    """Collects raw objects. Mutable: a reader fills it. Items of a list lack their kind; here it is added."""

    def __init__(self) -> None:
        self._by_resource: dict[Resource, list[bytes]] = {}
        self._others: list[tuple[str, str, bytes]] = []

    def add_page(self, resource: Resource, body: bytes) -> None:
        """Add the items of a List that is known to be readable."""
        self._by_resource.setdefault(resource, []).extend(list_items(body))

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        self._by_resource.setdefault(resource, []).append(bytes(raw))

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        """Add an object of a kind without facts."""
        self._others.append((kind, api_version, bytes(raw)))

    def forget(self, resource: Resource) -> None:
        """The list is read again."""
        self._by_resource.pop(resource, None)

    def documents(self) -> Iterator[dict[str, Any]]:
        """Each object as often as it was read, in the version that is served now: the fields read are the same in all
        versions.

        Raises:
            InvalidJson: an object is invalid, in a part that no fact is built from.
        """
        for resource, raws in self._by_resource.items():
            for raw in raws:
                yield {**decode_json(raw), "kind": resource.kind, "apiVersion": resource.api_version}
        for kind, api_version, raw in self._others:
            yield {**decode_json(raw), "kind": kind, "apiVersion": api_version}


class SelectiveCollector(RawObjects):
    """Keeps only some of the objects that are read: each object is passed to `add_other`. Mutable. `kinds`: the kinds
    whose lists are decoded."""

    kinds: Collection[str] = ()

    def add_page(self, resource: Resource, body: bytes) -> None:
        if resource.kind in self.kinds:
            for raw in list_items(body):
                self.add_item(resource, raw)

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        self.add_other(resource.kind, resource.api_version, raw)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        """Ignore the object."""

    def forget(self, resource: Resource) -> None:
        """Kept objects are the same when they are read again."""
