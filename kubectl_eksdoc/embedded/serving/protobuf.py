"""The few bodies that clients send as protobuf and nothing else: kubectl's typed clients do since 1.32.

Only what those requests are about is read. Field numbers are those of k8s.io/api's generated.proto files, the envelope
is runtime.Unknown behind the magic ``k8s\\0`` (apimachinery, runtime/serializer/protobuf).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc

MAGIC = b"k8s\0"

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class NotUnderstood(ValueError):
    """It is no such message, or one of a kind that is not read here."""


@dataclass(frozen=True, slots=True)
class _Message:
    """Fields by number: texts, numbers and booleans by their JSON name, messages with theirs."""

    texts: Mapping[int, str] = field(default_factory=dict)
    numbers: Mapping[int, str] = field(default_factory=dict)
    repeated: Mapping[int, str] = field(default_factory=dict)
    messages: Mapping[int, tuple[str, _Message]] = field(default_factory=dict)


_META = _Message({1: "name", 2: "generateName", 3: "namespace", 5: "uid", 6: "resourceVersion"})
_PRECONDITIONS = _Message({1: "uid", 2: "resourceVersion"})
_DELETE_OPTIONS = _Message(
    {4: "propagationPolicy"}, {1: "gracePeriodSeconds"}, {5: "dryRun"}, {2: ("preconditions", _PRECONDITIONS)}
)
_RESOURCE = _Message({1: "namespace", 2: "verb", 3: "group", 4: "version", 5: "resource", 6: "subresource", 7: "name"})
_NO_RESOURCE = _Message({1: "path", 2: "verb"})
_ACCESS_SPEC = _Message(messages={1: ("resourceAttributes", _RESOURCE), 2: ("nonResourceAttributes", _NO_RESOURCE)})
_KINDS: Mapping[str, _Message] = {
    "SelfSubjectAccessReview": _Message(messages={1: ("metadata", _META), 2: ("spec", _ACCESS_SPEC)}),
    "DeleteOptions": _DELETE_OPTIONS,
    "Eviction": _Message(messages={1: ("metadata", _META), 2: ("deleteOptions", _DELETE_OPTIONS)}),
}


def decode(body: bytes) -> Doc:
    """The object in a protobuf body, as its JSON would be.

    Raises:
        NotUnderstood
    """
    if not body.startswith(MAGIC):
        raise NotUnderstood("no protobuf of Kubernetes")
    envelope = dict(_fields(body[len(MAGIC) :]))
    type_meta = {number: _text(value) for number, value in _fields(_bytes(envelope.get(1, b"")))}
    kind = type_meta.get(2, "")
    if kind not in _KINDS:
        raise NotUnderstood(f"a {kind or 'nameless kind'} in protobuf is not read here")
    return {"kind": kind, "apiVersion": type_meta.get(1, ""), **_read(_bytes(envelope.get(2, b"")), _KINDS[kind])}


def _read(body: bytes, message: _Message) -> Doc:
    made: Doc = {}
    for number, value in _fields(body):
        if number in message.texts:
            made[message.texts[number]] = _text(value)
        elif number in message.numbers and isinstance(value, int):
            made[message.numbers[number]] = _signed(value)
        elif number in message.repeated:
            made.setdefault(message.repeated[number], []).append(_text(value))
        elif number in message.messages:
            name, inner = message.messages[number]
            made[name] = _read(_bytes(value), inner)
    return made


def _fields(body: bytes) -> Iterator[tuple[int, Any]]:
    """Each field's number and its value: a number, or bytes."""
    at = 0
    while at < len(body):
        key, at = _varint(body, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(body, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _varint(body, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise NotUnderstood(f"field {number} is of an unknown type")
        if at + size > len(body):
            raise NotUnderstood("it ends within a field")
        yield number, body[at : at + size]
        at += size


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(body) and shift < 70:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise NotUnderstood("it ends within a number")


def _signed(value: int) -> int:
    """int64 as protobuf has negative ones."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise NotUnderstood("a message is expected, not a number")
    return value


def _text(value: object) -> str:
    return _bytes(value).decode("utf-8", "replace")
