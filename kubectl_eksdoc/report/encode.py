"""A plain document as JSON or YAML: the same document always gives the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import TypeAlias

from .text import unsafe

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None

_WIDEST = 1 << 30
"""YAML is never folded: a command in it must stay on one line."""


def to_json(document: Json, ascii_only: bool = False) -> str:
    """Two spaces of indent, keys as they stand; control characters and their like are ``\\u`` escapes."""
    text = json.dumps(document, indent=2, ensure_ascii=ascii_only, allow_nan=False)
    return _escaped(text) + "\n"


def to_yaml(document: Json, ascii_only: bool = False, blocks: bool = False) -> str:
    """The same document in block style. Signs a terminal would act on make it pure ASCII. `blocks`: texts of several
    lines are such, as a script that is to be read."""
    try:
        text = _yaml(document, not ascii_only, blocks=blocks)
    except UnicodeEncodeError:
        # libyaml takes no lone surrogate; the emitter in Python writes its escape.
        return _yaml(document, False, quick=False)
    if not ascii_only and not text.isascii() and any(unsafe(char) for char in set(text) if char != "\n"):
        return _yaml(document, False, blocks=blocks)
    return text


def _yaml(document: Json, signs: bool, quick: bool = True, blocks: bool = False) -> str:
    import yaml

    from .events import events

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper) if quick else yaml.SafeDumper
    text: str = yaml.emit(events(document, blocks), Dumper=dumper, allow_unicode=signs, width=_WIDEST)
    return text


def _escaped(text: str) -> str:
    """JSON leaves what is not ASCII as it is, escape sequences of one byte (C1) and bidirectional marks too.

    Outside of strings a JSON text holds none of them but its line ends, so each can be escaped where it stands.
    """
    if text.isascii() and "\x7f" not in text:
        return text
    return text.translate(
        {
            ord(char): json.dumps(char)[1:-1] if ord(char) > 0x7F else f"\\u{ord(char):04x}"
            for char in set(text)
            if char != "\n" and unsafe(char)
        }
    )


def plain_value(value: object) -> Json:
    """`value` in JSON's types: enums by their value, sets sorted, tuples as lists.

    Raises:
        TypeError: it is of a type that JSON does not have.
    """
    if isinstance(value, Enum):
        return plain_value(value.value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain_value(value[key]) for key in value}
    if isinstance(value, (set, frozenset)):
        return [plain_value(item) for item in sorted(value, key=str)]
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")
