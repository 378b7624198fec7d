"""What Go says of a text that is no JSON: its first words, as far as tokens and broken bodies need them.

Source: encoding/json/scanner.go.
"""

from __future__ import annotations

import json

_LITERALS = {"n": "null", "t": "true", "f": "false"}
_SPACE = " \t\r\n"
_ENDED = "unexpected end of JSON input"


def syntax_error(text: str) -> str:
    """ "" where it is JSON."""
    try:
        json.loads(text)
    except ValueError as error:
        at = error.pos if isinstance(error, json.JSONDecodeError) else 0
        return _said(text, at)
    return ""


def _said(text: str, at: int) -> str:
    """`at` is where Python stopped."""
    rest = text[at:].lstrip(_SPACE)
    if not rest:
        return _ENDED
    literal = _LITERALS.get(rest[0])
    if literal is None:
        return (
            f"invalid character {rest[0]!r} {'looking for beginning of value' if not at else 'after top-level value'}"
        )
    for wanted, found in zip(literal[1:], rest[1:]):  # noqa: B905 - as far as both go
        if wanted != found:
            return f"invalid character {found!r} in literal {literal} (expecting {wanted!r})"
    return _ENDED
