"""Fields of documents as printers read them: what is absent is what Go has for it, an empty text, 0 or nothing."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc, at


def name(document: Doc) -> str:
    return text(document, "metadata", "name")


def text(document: Doc, *path: str) -> str:
    """The text at `path`; numbers, as amounts may be written, as text."""
    found = at(document, *path)
    return "" if found is None else str(found)


def number(document: Doc, *path: str) -> int:
    found = at(document, *path)
    return found if isinstance(found, int) else 0


def listed(document: Doc, *path: str) -> list[Any]:
    found = at(document, *path)
    return found if isinstance(found, list) else []


def mapped(document: Doc, *path: str) -> dict[str, Any]:
    found = at(document, *path)
    return found if isinstance(found, dict) else {}


def going(document: Doc) -> bool:
    """True when the object is being deleted."""
    return at(document, "metadata", "deletionTimestamp") is not None


def condition(document: Doc, kind: str) -> Doc | None:
    """The condition `kind` of the object's status."""
    return next((c for c in listed(document, "status", "conditions") if c.get("type") == kind), None)


def is_true(document: Doc, kind: str) -> bool:
    found = condition(document, kind)
    return found is not None and found.get("status") == "True"


def a_few(items: list[str], count: int, most: int = 3, separator: str = ",") -> str:
    """At most `most` of the items, and how many of `count` are not shown."""
    shown = separator.join(items[:most])
    return f"{shown} + {count - most} more..." if count > most else shown
