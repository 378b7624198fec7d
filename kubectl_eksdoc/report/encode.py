"""JSON and YAML encoders: the same document always gives the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import TypeAlias

from .text import is_unsafe

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None

_NO_FOLDING_WIDTH = 1 << 30
"""A width that prevents folding in YAML: a command must stay on one line."""


def to_json(document: Json, ascii_only: bool = False) -> str:
    """JSON with an indent of two spaces and keys in their order; control and similar characters become ``\\u``
    escapes."""
    text = json.dumps(document, indent=2, ensure_ascii=ascii_only, allow_nan=False)
    return _escape_unsafe(text) + "\n"


def to_yaml(document: Json, ascii_only: bool = False, blocks: bool = False) -> str:
    """YAML in block style. If the text has characters that a terminal would interpret, the output is pure ASCII.
    `blocks`: write multi-line texts, such as scripts, as literal blocks."""
    try:
        text = _yaml(document, not ascii_only, blocks=blocks)
    except UnicodeEncodeError:
        # libyaml rejects a lone surrogate; the emitter in Python writes an escape.
        return _yaml(document, False, use_libyaml=False)
    if not ascii_only and not text.isascii() and any(is_unsafe(char) for char in set(text) if char != "\n"):
        return _yaml(document, False, blocks=blocks)
    return text


def _yaml(document: Json, allow_unicode: bool, use_libyaml: bool = True, blocks: bool = False) -> str:
    import yaml

    from .events import yaml_stream

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper) if use_libyaml else yaml.SafeDumper
    text: str = yaml.emit(
        yaml_stream(document, blocks), Dumper=dumper, allow_unicode=allow_unicode, width=_NO_FOLDING_WIDTH
    )
    return text


def _escape_unsafe(text: str) -> str:
    """Escape characters that a terminal interprets. json.dumps leaves non-ASCII characters as they are, including
    escape sequences of one byte (C1) and bidirectional marks.

    Outside of strings, a JSON text has none of these characters but its newlines, so each can be escaped in place.
    """
    if text.isascii() and "\x7f" not in text:
        return text
    return text.translate(
        {
            ord(char): json.dumps(char)[1:-1] if ord(char) > 0x7F else f"\\u{ord(char):04x}"
            for char in set(text)
            if char != "\n" and is_unsafe(char)
        }
    )


def plain_value(value: object) -> Json:
    """`value` in JSON types: enums by value, sets sorted, tuples as lists.

    Raises:
        TypeError: JSON has no such type.
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
