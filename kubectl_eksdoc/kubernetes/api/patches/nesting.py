"""How deep a document is nested and how large it is, which bound what a patch can make of it.

A server reads 10,000 levels. We stop far earlier, and far beyond what any object needs, because we recurse.
"""

from __future__ import annotations

from typing import Any

DEEPEST = 128
ERROR = "invalid character '{' exceeded max depth"
"""What Go's decoder says of a document that is nested too deeply."""


def too_deep(value: Any, deepest: int = DEEPEST) -> bool:
    """Whether objects and lists are nested more than `deepest` times in `value`. Asked without recursion."""
    level = [value]
    for _ in range(deepest + 1):
        level = [inner for held in level if isinstance(held, (dict, list)) for inner in _members(held)]
        if not level:
            return False
    return True


def size(value: Any) -> int:
    """About how many bytes `value` takes as JSON."""
    if isinstance(value, dict):
        return 2 + sum(len(name) + 4 + size(inner) for name, inner in value.items())
    if isinstance(value, list):
        return 2 + sum(1 + size(inner) for inner in value)
    return len(value) + 2 if isinstance(value, str) else 4


def _members(held: dict[str, Any] | list[Any]) -> list[Any]:
    return list(held.values()) if isinstance(held, dict) else held
