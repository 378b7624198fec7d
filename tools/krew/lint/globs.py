"""Go's patterns of file names (path/filepath Match and Glob), as used in ``files`` of a manifest.

``*`` matches any characters but ``/``, also dots at the beginning; ``**`` is the same; ``[^a-c]`` is a class, in which
``!`` has no special meaning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator


class BadPattern(ValueError):
    """filepath.ErrBadPattern: the pattern is invalid for every name."""


def matches(pattern: str, name: str) -> bool:
    """filepath.Match on Unix.

    Raises:
        BadPattern: a class or an escape does not end.
    """
    return re.fullmatch("".join(_parts(pattern)), name, re.DOTALL) is not None


def found(pattern: str, paths: Collection[str]) -> list[str]:
    """filepath.Glob below a folder: the `paths` (files and folders, without ``./``) that match, part by part.

    Raises:
        BadPattern: as `matches`.
    """
    matches(pattern, "")
    parts = pattern.split("/")
    return sorted(path for path in paths if _part_by_part(parts, path.split("/")))


def _part_by_part(patterns: list[str], names: list[str]) -> bool:
    return len(patterns) == len(names) and all(map(matches, patterns, names))


def _parts(pattern: str) -> Iterator[str]:
    """As regular expressions."""
    i = 0
    while i < len(pattern):
        char = pattern[i]
        i += 1
        if char in "*?":
            yield "[^/]*" if char == "*" else "[^/]"
        elif char == "[":
            part, i = _class(pattern, i)
            yield part
        elif char == "\\":
            yield re.escape(_at(pattern, i))
            i += 1
        else:
            yield re.escape(char)


def _class(pattern: str, i: int) -> tuple[str, int]:
    """The class after a ``[``, and its end. A range from a higher to a lower character is empty."""
    negated = pattern[i : i + 1] == "^"
    i += negated
    ranges: list[str] = []
    while not ranges or _at(pattern, i) != "]":
        low, i = _escaped(pattern, i)
        high = low
        if _at(pattern, i) == "-":
            high, i = _escaped(pattern, i + 1)
        ranges.append(f"{re.escape(low)}-{re.escape(high)}" if low <= high else "")
    held = "".join(ranges)
    if not held:
        return ("." if negated else "(?!)"), i + 1
    return f"[{'^' * negated}{held}]", i + 1


def _escaped(pattern: str, i: int) -> tuple[str, int]:
    """A character of a class: ``-`` and ``]`` must be escaped."""
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
