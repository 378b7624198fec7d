"""From text to tokens. Source: github.com/coredns/caddy, caddyfile/lexer.go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kubectl_eksdoc.core.model.corefile import Token

_COMMENT = re.compile(r"\S(?:[^\n]*\S)?")
"""Between tokens there is nothing else but spaces."""
_MARK = "\ufeff"
"""A byte order mark at the beginning is passed over."""
_NO_SPACE = "\x1c\x1d\x1e\x1f"
"""Spaces for Python, and none for Go's unicode.IsSpace."""


def tokens(text: str) -> tuple[Token, ...]:
    """Every text has tokens: what is wrong with it only the parser finds.

    Spaces part them, a ``#`` begins a comment wherever it stands outside of quotes, and a token that begins with a
    quote goes on to the next one, over lines if need be; in it a backslash escapes a quote and nothing else.
    """
    return tuple(_tokens(text))


def without_comments(text: str, instead: Callable[[str], str]) -> str:
    """`text` with ``#`` and `instead` of each comment, on the same lines: what `instead` returns has no space."""
    parts, at = [], 1 if text.startswith(_MARK) else 0
    parts.append(text[:at])
    for token in (*tokens(text), None):
        between = text[at : len(text) if token is None else token.start]
        parts.append(_COMMENT.sub(lambda found: f"#{instead(found.group())}", between))
        if token is not None:
            parts.append(text[token.start : token.end])
            at = token.end
    return "".join(parts)


def _tokens(text: str) -> Iterator[Token]:
    at, line = (1 if text.startswith(_MARK) else 0), 1
    while True:
        token, at, line = _next(text, at, line)
        if token is None:
            return
        yield token


def _next(text: str, at: int, line: int) -> tuple[Token | None, int, int]:
    """The next token, where to go on, and the line there. A comment ends with its line or, behind a token that touches
    it, at the first space: that is how the lexer forgets that it was in one."""
    comment = False
    start, begun, value = at, line, ""
    while at < len(text):
        sign = text[at]
        if sign.isspace() and sign not in _NO_SPACE:
            at += 1
            if sign == "\r":
                continue
            ends = Token(value, begun, start, _end(text, start, at - 1)) if value else None
            if sign == "\n":
                line += 1
                comment = False
            if ends is not None:
                return ends, at, line
            continue
        comment = comment or sign == "#"
        if not comment:
            if not value:
                start, begun = at, line
                if sign == '"':
                    return _quoted(text, at, line)
            value += sign
        at += 1
    return (Token(value, begun, start, _end(text, start, at)) if value else None), at, line


def _end(text: str, start: int, at: int) -> int:
    """Without a comment that touches it, and without the carriage return of its line end."""
    comment = text.find("#", start, at)
    at = comment if comment >= 0 else at
    while text[at - 1] == "\r":
        at -= 1
    return at


def _quoted(text: str, start: int, begun: int) -> tuple[Token | None, int, int]:
    value, escaped, line = "", False, begun
    for at in range(start + 1, len(text)):
        sign = text[at]
        if not escaped and sign == "\\":
            escaped = True
            continue
        if not escaped and sign == '"':
            return Token(value, begun, start, at + 1), at + 1, line
        line += sign == "\n"
        value += f"\\{sign}" if escaped and sign != '"' else sign
        escaped = False
    return (Token(value, begun, start, len(text)) if value else None), len(text), line
