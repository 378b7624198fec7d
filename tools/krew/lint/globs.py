"""Go's patterns of file names (path/filepath Match and Glob), as ``files`` of a manifest are written.

``*`` matches any characters but ``/``, dots at the beginning included; ``**`` is the same; ``[^a-c]`` is a class, and
``!`` means nothing in it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


class BadPattern(ValueError):
    """filepath.ErrBadPattern: it has no meaning, whatever it is compared with."""


@dataclass(frozen=True, slots=True)
class _One:
    """One character: of `ranges`, or of none of them. `any_name`: whatever is no ``/``."""

    ranges: tuple[tuple[str, str], ...] = ()
    negated: bool = False
    any_name: bool = False

    def takes(self, char: str) -> bool:
        if self.any_name:
            return char != "/"
        return any(low <= char <= high for low, high in self.ranges) != self.negated


_Token = _One | None
"""None stands for ``*``."""


def matches(pattern: str, name: str) -> bool:
    """filepath.Match on Unix.

    Raises:
        BadPattern: a class or an escape does not end.
    """
    tokens = _tokens(pattern)
    at, back = 0, -1
    i, resume = 0, 0
    while i < len(name):
        token = tokens[at] if at < len(tokens) else False
        if token is None:
            back, resume = at, i
            at += 1
        elif isinstance(token, _One) and token.takes(name[i]):
            at, i = at + 1, i + 1
        elif back >= 0 and name[resume] != "/":
            resume += 1
            at, i = back + 1, resume
        else:
            return False
    return all(token is None for token in tokens[at:])


def found(pattern: str, paths: Collection[str]) -> list[str]:
    """filepath.Glob below a folder: those of `paths` (files and folders, without ``./``) that match, part by part.

    Raises:
        BadPattern: as `matches`.
    """
    matches(pattern, "")
    parts = pattern.split("/")
    return sorted(path for path in paths if _part_by_part(parts, path.split("/")))


def _part_by_part(patterns: list[str], names: list[str]) -> bool:
    return len(patterns) == len(names) and all(map(matches, patterns, names))


def _tokens(pattern: str) -> list[_Token]:
    tokens: list[_Token] = []
    i = 0
    while i < len(pattern):
        char = pattern[i]
        if char == "*":
            tokens.append(None)
            i += 1
        elif char == "?":
            tokens.append(_One(any_name=True))
            i += 1
        elif char == "[":
            token, i = _class(pattern, i + 1)
            tokens.append(token)
        elif char == "\\":
            tokens.append(_One(((_at(pattern, i + 1),) * 2,)))
            i += 2
        else:
            tokens.append(_One(((char, char),)))
            i += 1
    return tokens


def _class(pattern: str, i: int) -> tuple[_One, int]:
    """What stands behind a ``[``, and where it is over."""
    negated = pattern[i : i + 1] == "^"
    i += negated
    ranges: list[tuple[str, str]] = []
    while not ranges or _at(pattern, i) != "]":
        low, i = _escaped(pattern, i)
        high = low
        if _at(pattern, i) == "-":
            high, i = _escaped(pattern, i + 1)
        ranges.append((low, high))
    return _One(tuple(ranges), negated), i + 1


def _escaped(pattern: str, i: int) -> tuple[str, int]:
    """A character of a class: neither ``-`` nor ``]`` stand for themselves."""
    char = _at(pattern, i)
    if char in "-]":
        raise BadPattern(pattern)
    if char == "\\":
        i += 1
        char = _at(pattern, i)
    return char, i + 1


def _at(pattern: str, i: int) -> str:
    if i >= len(pattern):
        raise BadPattern(pattern)
    return pattern[i]
