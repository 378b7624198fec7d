"""Events, in the form of the core group and in that of events.k8s.io, which says the same in other words."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.embedded.api.tables import ages
from kubectl_eksdoc.embedded.api.tables.columns import NAME_DESCRIPTION, Cells, Column, Printer, wide
from kubectl_eksdoc.embedded.api.tables.fields import name, number, text

_CORE_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "deprecatedSource": "source",
}


def _seen(event: Doc, now: datetime) -> tuple[str, str, int]:
    """When first, when last, and how often; a series goes before everything else, and no count means once."""
    first = ages.since(event.get("firstTimestamp") or event.get("eventTime"), now)
    last = ages.since(event["lastTimestamp"], now) if event.get("lastTimestamp") else first
    series = event.get("series")
    if series is not None:
        return first, ages.since(series.get("lastObservedTime"), now), number(series, "count")
    return first, last, number(event, "count") or 1


def _source(event: Doc) -> str:
    component = text(event, "source", "component") or text(event, "reportingComponent")
    instance = text(event, "source", "host") or text(event, "reportingInstance")
    return f"{component}, {instance}" if instance else component


def _cells(event: Doc, now: datetime) -> Cells:
    event = {_CORE_NAMES.get(key, key): value for key, value in event.items()}
    first, last, count = _seen(event, now)
    involved = at(event, "involvedObject") or {}
    target = text(involved, "kind").lower()
    return [
        last,
        text(event, "type"),
        text(event, "reason"),
        f"{target}/{involved['name']}" if involved.get("name") else target,
        text(involved, "fieldPath"),
        _source(event),
        text(event, "message").strip(),
        first,
        count,
        name(event),
    ]


EVENTS = Printer(
    (
        Column("Last Seen", "When it happened last"),
        Column("Type", "Normal or Warning"),
        Column("Reason", "Why, in one word"),
        Column("Object", "What it happened to"),
        wide("Subobject", "Which part of that"),
        wide("Source", "Who says so"),
        Column("Message", "What happened"),
        wide("First Seen", "When it happened first"),
        wide("Count", "How often it happened"),
        Column("Name", NAME_DESCRIPTION, format="name", priority=1),
    ),
    _cells,
)
