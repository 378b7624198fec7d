"""Columns of a table, and the document fields that they show: missing values are Go's zero values, an empty text, 0 or
nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.schedules import parsed
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.selectors import Selector, from_document


@frozen
class Column:
    """`cell` returns a string, an integer, a boolean, or None. Columns with a `priority` are shown only by ``-o
    wide``."""

    name: str
    cell: Callable[[Doc, datetime], Any]
    type: str = "string"
    format: str = ""
    priority: int = 0

    def document(self) -> Doc:
        """Return the column definition without a description, which no client shows."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": "",
            "priority": self.priority,
        }


Columns = tuple[Column, ...]


def wide(column: Column) -> Column:
    return replace(column, priority=1)


def column(name: str, say: Callable[[Doc], Any], type_: str = "string") -> Column:
    return Column(name, lambda document, _: say(document), type_)


def text_column(name: str, path: str, missing: str = "") -> Column:
    """Return a column with the text at a path like ``spec.nodeName``."""
    steps = path.split(".")
    return column(name, lambda document: text(document, *steps) or missing)


def number_column(name: str, path: str) -> Column:
    return column(name, lambda document: number(document, *path.split(".")), "integer")


def name(document: Doc) -> str:
    return text(document, "metadata", "name")


def text(document: Doc, *path: str) -> str:
    """Return the text at `path`; numbers, which quantities may be, as text."""
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
    """Whether the object is being deleted."""
    return at(document, "metadata", "deletionTimestamp") is not None


def condition(document: Doc, kind: str) -> Doc | None:
    """Return the condition `kind` of the object's status."""
    return next((c for c in listed(document, "status", "conditions") if c.get("type") == kind), None)


def is_true(document: Doc, kind: str) -> bool:
    found = condition(document, kind)
    return found is not None and found.get("status") == "True"


# Ages, as kubectl writes them: ``45s``, ``5m20s``, ``3h15m``, ``2d4h``, ``400d``, ``3y40d``.


UNKNOWN = "<unknown>"


def age(document: Doc, now: datetime) -> str:
    """Return the age of an object."""
    return since(at(document, "metadata", "creationTimestamp"), now)


def since(time: str | None, now: datetime) -> str:
    """Return the time from the RFC 3339 `time` to `now`; ``<unknown>`` without one."""
    moment = parsed(time)
    return UNKNOWN if moment is None else human((now - moment).total_seconds())


def human(seconds: float) -> str:
    """Format with two units at most, the smaller one only if it matters (apimachinery, ``duration.HumanDuration``).

    Up to two seconds in the future count as now: clocks differ.
    """
    total = int(seconds)
    if total < -1:
        return "<invalid>"
    if total < 2 * 60:
        return f"{max(total, 0)}s"
    minutes, hours, days = total // 60, total // 3600, total // 86400
    if minutes < 10:
        return _two(minutes, "m", total % 60, "s")
    if minutes < 3 * 60:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 2 * 24:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


# Labels, selectors and containers as one cell each.


NONE = "<none>"


def labels(found: dict[str, Any]) -> str:
    """Return ``a=b,c=d``, by key (apimachinery, ``labels.FormatLabels``)."""
    return ",".join(f"{key}={value}" for key, value in sorted(found.items())) or NONE


def selector(found: Doc | None) -> str:
    """Return a label selector as text, by key: ``app=web,!old,tier in (a,b)`` (``labels.Selector.String``)."""
    terms = sorted(from_document(found or {}).requirements, key=lambda term: term.key)
    return ",".join(str(Selector((term,))) for term in terms)


NAME = Column("Name", lambda document, _: name(document), format="name")
AGE = Column("Age", age)
CONTAINERS_AND_IMAGES = tuple(
    wide(column(title, lambda document, field=field: _of_containers(document, field)))  # type: ignore[misc]
    for title, field in (("Containers", "name"), ("Images", "image"))
)
SELECTOR = wide(column("Selector", lambda document: selector(at(document, "spec", "selector")) or NONE))


def _of_containers(document: Doc, field: str) -> str:
    found = listed(document, "spec", "template", "spec", "containers")
    return ",".join(str(container.get(field) or "") for container in found)
