"""Did you mean …: names close to one that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def matches(word: str, known: Iterable[str]) -> list[str]:
    """Up to three of `known` that look like `word`, the closest first."""
    import difflib

    names = sorted(known)
    begins = [name for name in names if len(word) > 2 and name.startswith(word)]
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    return list(dict.fromkeys([*close, *begins]))[:3]


def maybe(word: str, known: Iterable[str]) -> str:
    """`` (did you mean a or b?)`` for the end of a clause, or "" when nothing is close."""
    found = matches(word, known)
    return f" (did you mean {' or '.join(found)}?)" if found else ""
