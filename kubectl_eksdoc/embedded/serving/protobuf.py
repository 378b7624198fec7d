"""Protobuf bodies decoded to their JSON form: kubectl's typed clients send only protobuf since 1.32.

The envelope is runtime.Unknown behind the magic ``k8s\0`` (apimachinery, runtime/serializer/protobuf). Kinds and fields
that are supported have numbers in `kubernetes.api.shapes`: reviews, evictions, deletions, the objects of ``kubectl
create`` and ``autoscale``. A message with other fields is refused, not truncated.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from kubectl_eksdoc.kubernetes.api.shapes import STRUCTS
from kubectl_eksdoc.model.api_objects import Doc

MAGIC = b"k8s\0"
MAX_DEPTH = 32
"""Maximum nesting of messages."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class UnsupportedMessage(ValueError):
    """The body is not such a message, or its kind is not supported."""


Wire = int | bytes
"""A field's encoded value: a number, or the bytes of a text, a message or a map entry."""


def decode(body: bytes) -> Doc:
    """Return the object in a protobuf body.

    Raises:
        UnsupportedMessage
    """
    if not body.startswith(MAGIC):
        raise UnsupportedMessage("no protobuf of Kubernetes")
    envelope = dict(_fields(body[len(MAGIC) :]))
    type_meta = {number: _text(value) for number, value in _fields(_bytes(envelope.get(1, b"")))}
    version, kind = type_meta.get(1, ""), type_meta.get(2, "")
    struct = f"{version}/{kind}" if f"{version}/{kind}" in STRUCTS else kind
    if struct not in STRUCTS:
        raise UnsupportedMessage(f"a {kind or 'nameless kind'} in protobuf is not read here")
    return {"kind": kind, "apiVersion": version, **_message(envelope.get(2, b""), struct, 0)}


def _message(value: Wire, struct: str, depth: int) -> Doc:
    """Decode a message.

    Raises:
        UnsupportedMessage: also if a field has a value and `struct` does not have the field.
    """
    if depth > MAX_DEPTH:
        raise UnsupportedMessage("it is too deep")
    members = {wire_value.number: wire_value for wire_value in STRUCTS[struct]}
    document: Doc = {}
    for number, wire_value in _fields(_bytes(value)):
        member = members.get(number) if number else None
        if member is None:
            if wire_value and _has_values(wire_value, depth + 1):
                raise UnsupportedMessage(f"field {number} is not read here")
            continue
        type_ = member.type.rstrip("[]{}")
        if member.type.endswith("{}"):
            document.setdefault(member.name, {}).update(_entry(wire_value, type_, depth + 1))
        elif member.type.endswith("[]"):
            document.setdefault(member.name, []).append(
                _text(wire_value) if type_ == "string" else _decode_value(wire_value, type_, depth + 1)
            )
        elif (decoded := _decode_value(wire_value, type_, depth + 1)) is not None:
            document[member.name] = decoded
    return document


def _decode_value(value: Wire, type_: str, depth: int) -> Any:
    """Return the JSON value, None for a value that JSON omits."""
    match type_:
        case "string":
            return _text(value) or None
        case "bytes":
            return b64encode(_bytes(value)).decode()
        case "bool":
            return bool(_number(value)) or None
        case "int":
            return _number(value)
        case "count":
            return _number(value) or None
        case "quantity":
            return _text(dict(_fields(_bytes(value))).get(1, b"")) or "0"
        case "amount":
            fields = dict(_fields(_bytes(value)))
            return _text(fields.get(3, b"")) if fields.get(1) else _number(fields.get(2, 0))
    return _message(value, type_, depth)


def _entry(value: Wire, type_: str, depth: int) -> Doc:
    """Return one entry of a map."""
    entry = dict(_fields(_bytes(value)))
    return {_text(entry.get(1, b"")): _decode_value(entry.get(2, b""), type_, depth) or ""}


def _text(value: Wire) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise UnsupportedMessage("a text is no UTF-8") from error


def _number(value: Wire) -> int:
    """Decode an int64 with protobuf's encoding of negative numbers."""
    if not isinstance(value, int):
        raise UnsupportedMessage("a number is expected")
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _has_values(value: Wire, depth: int) -> bool:
    """Whether it is more than a struct of zero values, which Go writes for every non-pointer."""
    if isinstance(value, int) or depth > MAX_DEPTH:
        return True
    try:
        return any(each and _has_values(each, depth + 1) for _, each in _fields(value))
    except UnsupportedMessage:
        return True


def _fields(body: bytes) -> Iterator[tuple[int, Wire]]:
    offset = 0
    while offset < len(body):
        key, offset = _varint(body, offset)
        field, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, offset = _varint(body, offset)
            yield field, value
            continue
        if kind == _BYTES:
            size, offset = _varint(body, offset)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise UnsupportedMessage(f"field {field} is of an unknown type")
        if offset + size > len(body):
            raise UnsupportedMessage("it ends within a field")
        yield field, body[offset : offset + size]
        offset += size


def _varint(body: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while offset < len(body) and shift < 70:
        byte = body[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
        shift += 7
    raise UnsupportedMessage("it ends within a number")


def _bytes(value: Wire) -> bytes:
    if not isinstance(value, bytes):
        raise UnsupportedMessage("a message is expected, not a number")
    return value
