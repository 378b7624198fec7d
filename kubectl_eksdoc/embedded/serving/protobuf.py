"""Objects in protobuf as their JSON would be: kubectl's typed clients send nothing else since 1.32.

The envelope is runtime.Unknown behind the magic ``k8s\\0`` (apimachinery, runtime/serializer/protobuf). Which kinds are
read, and how far, is said in `protobuf_forms`; what says more than that is refused, not cut short.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc

MAGIC = b"k8s\0"
DEEPEST = 32
"""Messages in messages."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class NotUnderstood(ValueError):
    """It is no such message, or one that is not read here."""


Wire = int | bytes
"""A field's value as it comes: a number, or the bytes of a text, a message or an entry of a map."""

Read = Callable[[Wire, int], Any]
"""The JSON value, None for one that JSON leaves out; the number is how deep the field lies."""


@dataclass(frozen=True, slots=True)
class Field:
    """`many`: it may be there several times, and is a list. `entries`: each time with one entry of an object."""

    name: str
    read: Read
    many: bool = False
    entries: bool = False


Form = Mapping[int, Field]
"""A message's fields by their numbers."""


def decode(body: bytes, kinds: Mapping[str, Form]) -> Doc:
    """The object in a protobuf body; `kinds` are those that are read, as ``Kind`` or ``group/version/Kind``.

    Raises:
        NotUnderstood
    """
    if not body.startswith(MAGIC):
        raise NotUnderstood("no protobuf of Kubernetes")
    envelope = dict(_fields(body[len(MAGIC) :]))
    type_meta = {number: text(value) for number, value in _fields(_bytes(envelope.get(1, b"")))}
    version, kind = type_meta.get(1, ""), type_meta.get(2, "")
    form = kinds.get(f"{version}/{kind}", kinds.get(kind))
    if form is None:
        raise NotUnderstood(f"a {kind or 'nameless kind'} in protobuf is not read here")
    return {"kind": kind, "apiVersion": version, **message(envelope.get(2, b""), form, 0)}


def message(value: Wire, form: Form, depth: int) -> Doc:
    """
    Raises:
        NotUnderstood: also where a field says something that `form` does not have.
    """
    if depth > DEEPEST:
        raise NotUnderstood("it is too deep")
    made: Doc = {}
    for number, each in _fields(_bytes(value)):
        field = form.get(number)
        if field is None:
            if each and _says_something(each, depth + 1):
                raise NotUnderstood(f"field {number} is not read here")
            continue
        found = field.read(each, depth + 1)
        if found is None:
            continue
        if field.many:
            made.setdefault(field.name, []).append(found)
        elif field.entries:
            made.setdefault(field.name, {}).update(found)
        else:
            made[field.name] = found
    return made


def text(value: Wire) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise NotUnderstood("a text is no UTF-8") from error


def base64_of(value: Wire) -> str:
    return b64encode(_bytes(value)).decode()


def number(value: Wire) -> int:
    """int64 as protobuf has negative ones."""
    if not isinstance(value, int):
        raise NotUnderstood("a number is expected")
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _says_something(value: Wire, depth: int) -> bool:
    """Whether it is more than a struct of zeros, which Go writes wherever it has no pointer."""
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
