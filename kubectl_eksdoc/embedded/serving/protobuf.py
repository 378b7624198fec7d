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
DEEPEST = 32
"""Maximum nesting of messages."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class NotUnderstood(ValueError):
    """The body is not such a message, or its kind is not supported."""


Wire = int | bytes
"""A field's encoded value: a number, or the bytes of a text, a message or a map entry."""


def decode(body: bytes) -> Doc:
    """Return the object in a protobuf body.

    Raises:
        NotUnderstood
    """
    if not body.startswith(MAGIC):
        raise NotUnderstood("no protobuf of Kubernetes")
    envelope = dict(_fields(body[len(MAGIC) :]))
    type_meta = {number: _text(value) for number, value in _fields(_bytes(envelope.get(1, b"")))}
    version, kind = type_meta.get(1, ""), type_meta.get(2, "")
    struct = f"{version}/{kind}" if f"{version}/{kind}" in STRUCTS else kind
    if struct not in STRUCTS:
        raise NotUnderstood(f"a {kind or 'nameless kind'} in protobuf is not read here")
    return {"kind": kind, "apiVersion": version, **_message(envelope.get(2, b""), struct, 0)}


def _message(value: Wire, struct: str, depth: int) -> Doc:
    """Decode a message.

    Raises:
        NotUnderstood: also if a field has a value and `struct` does not have the field.
    """
    if depth > DEEPEST:
        raise NotUnderstood("it is too deep")
    members = {each.number: each for each in STRUCTS[struct]}
    made: Doc = {}
    for number, each in _fields(_bytes(value)):
        member = members.get(number) if number else None
        if member is None:
            if each and _says_something(each, depth + 1):
                raise NotUnderstood(f"field {number} is not read here")
            continue
        type_ = member.type.rstrip("[]{}")
        if member.type.endswith("{}"):
            made.setdefault(member.name, {}).update(_entry(each, type_, depth + 1))
        elif member.type.endswith("[]"):
            made.setdefault(member.name, []).append(_text(each) if type_ == "string" else _read(each, type_, depth + 1))
        elif (found := _read(each, type_, depth + 1)) is not None:
            made[member.name] = found
    return made


def _read(value: Wire, type_: str, depth: int) -> Any:
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
            given = dict(_fields(_bytes(value)))
            return _text(given.get(3, b"")) if given.get(1) else _number(given.get(2, 0))
    return _message(value, type_, depth)


def _entry(value: Wire, type_: str, depth: int) -> Doc:
    """Return one entry of a map."""
    entry = dict(_fields(_bytes(value)))
    return {_text(entry.get(1, b"")): _read(entry.get(2, b""), type_, depth) or ""}


def _text(value: Wire) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise NotUnderstood("a text is no UTF-8") from error


def _number(value: Wire) -> int:
    """Decode an int64 with protobuf's encoding of negative numbers."""
    if not isinstance(value, int):
        raise NotUnderstood("a number is expected")
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _says_something(value: Wire, depth: int) -> bool:
    """Whether it is more than a struct of zero values, which Go writes for every non-pointer."""
    if isinstance(value, int) or depth > DEEPEST:
        return True
    try:
        return any(each and _says_something(each, depth + 1) for _, each in _fields(value))
    except NotUnderstood:
        return True


def _fields(body: bytes) -> Iterator[tuple[int, Wire]]:
    at = 0
    while at < len(body):
        key, at = _varint(body, at)
        field, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(body, at)
            yield field, value
            continue
        if kind == _BYTES:
            size, at = _varint(body, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise NotUnderstood(f"field {field} is of an unknown type")
        if at + size > len(body):
            raise NotUnderstood("it ends within a field")
        yield field, body[at : at + size]
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


def _bytes(value: Wire) -> bytes:
    if not isinstance(value, bytes):
        raise NotUnderstood("a message is expected, not a number")
    return value
