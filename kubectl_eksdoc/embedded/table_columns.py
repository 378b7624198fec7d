"""Columns of a table, and the document fields that they show: missing values are Go's zero values, an empty text, 0 or
nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.schedules import parse_time
from kubectl_eksdoc.model.api_objects import Doc, nested_field
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


def column(name: str, value_of: Callable[[Doc], Any], type_: str = "string") -> Column:
    return Column(name, lambda document, _: value_of(document), type_)


def text_column(name: str, path: str, missing: str = "") -> Column:
    """Return a column with the text at a path like ``spec.nodeName``."""
    steps = path.split(".")
    return column(name, lambda document: text_at(document, *steps) or missing)


def number_column(name: str, path: str) -> Column:
    return column(name, lambda document: number_at(document, *path.split(".")), "integer")


def name(document: Doc) -> str:
    return text_at(document, "metadata", "name")


def text_at(document: Doc, *path: str) -> str:
    """Return the text at `path`; numbers, which quantities may be, as text."""
    value = nested_field(document, *path)
    return "" if value is None else str(value)


def number_at(document: Doc, *path: str) -> int:
    value = nested_field(document, *path)
    return value if isinstance(value, int) else 0


def list_at(document: Doc, *path: str) -> list[Any]:
    value = nested_field(document, *path)
    return value if isinstance(value, list) else []


def mapping_at(document: Doc, *path: str) -> dict[str, Any]:
    value = nested_field(document, *path)
    return value if isinstance(value, dict) else {}


def is_deleting(document: Doc) -> bool:
    """Whether the object is being deleted."""
    return nested_field(document, "metadata", "deletionTimestamp") is not None


def condition(document: Doc, kind: str) -> Doc | None:
    """Return the condition `kind` of the object's status."""
    return next((c for c in list_at(document, "status", "conditions") if c.get("type") == kind), None)


def is_true(document: Doc, kind: str) -> bool:
    found_condition = condition(document, kind)
    return found_condition is not None and found_condition.get("status") == "True"


# Ages, as kubectl writes them: ``45s``, ``5m20s``, ``3h15m``, ``2d4h``, ``400d``, ``3y40d``.


UNKNOWN = "<unknown>"


def age(document: Doc, now: datetime) -> str:
    """Return the age of an object."""
    return since(nested_field(document, "metadata", "creationTimestamp"), now)


def since(time: str | None, now: datetime) -> str:
    """Return the time from the RFC 3339 `time` to `now`; ``<unknown>`` without one."""
    parsed_time = parse_time(time)
    return UNKNOWN if parsed_time is None else format_duration((now - parsed_time).total_seconds())


def format_duration(seconds: float) -> str:
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
        return _two_units(minutes, "m", total % 60, "s")
    if minutes < 3 * 60:
        return f"{minutes}m"
    if hours < 8:
        return _two_units(hours, "h", minutes % 60, "m")
    if hours < 2 * 24:
        return f"{hours}h"
    if days < 8:
        return _two_units(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _two_units(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two_units(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


# Labels, selectors and containers as one cell each.


NONE = "<none>"


def labels(label_map: dict[str, Any]) -> str:
    """Return ``a=b,c=d``, by key (apimachinery, ``labels.FormatLabels``)."""
    return ",".join(f"{key}={value}" for key, value in sorted(label_map.items())) or NONE


def selector(label_selector: Doc | None) -> str:
    """Return a label selector as text, by key: ``app=web,!old,tier in (a,b)`` (``labels.Selector.String``)."""
    terms = sorted(from_document(label_selector or {}).requirements, key=lambda term: term.key)
    return ",".join(str(Selector((term,))) for term in terms)


NAME = Column("Name", lambda document, _: name(document), format="name")
AGE = Column("Age", age)
CONTAINERS_AND_IMAGES = tuple(
    wide(column(title, lambda document, field=field: _container_values(document, field)))  # type: ignore[misc]
    for title, field in (("Containers", "name"), ("Images", "image"))
)
SELECTOR = wide(column("Selector", lambda document: selector(nested_field(document, "spec", "selector")) or NONE))


def _container_values(document: Doc, field: str) -> str:
    containers = list_at(document, "spec", "template", "spec", "containers")
    return ",".join(str(container.get(field) or "") for container in containers)
