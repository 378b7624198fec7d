"""Revisions of pod templates and Events, of API objects that may lack anything.

Source of the shapes: apps/v1 ReplicaSet and ControllerRevision, core/v1 Event (with ``series`` and ``eventTime`` where
it was written by events.k8s.io).
"""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc, at, text_at
from kubectl_eksdoc.core.model.changes import EventTold, Revision
from kubectl_eksdoc.core.model.findings import Subject
from kubectl_eksdoc.core.rules.keeping.secrets import hidden
from kubectl_eksdoc.objects.common import moment

_REVISION = "deployment.kubernetes.io/revision"
_LONGEST = 300
"""Characters of a message: it may hold whole objects."""


def revision(doc: Doc) -> Revision | None:
    """None where it has no controller, or does not say when it was made."""
    made = moment(at(doc, "metadata", "creationTimestamp"))
    owners = at(doc, "metadata", "ownerReferences")
    owner = next((each for each in owners if _controls(each)), None) if isinstance(owners, list) else None
    if made is None or owner is None:
        return None
    number = at(doc, "metadata", "annotations", _REVISION) if doc.get("kind") == "ReplicaSet" else doc.get("revision")
    subject = Subject(owner["kind"], owner["name"], text_at(doc, "metadata", "namespace"))
    return Revision(subject, made, str(number) if isinstance(number, (str, int)) else "")


def _controls(owner: Any) -> bool:
    return (
        isinstance(owner, dict)
        and owner.get("controller") is True
        and isinstance(owner.get("kind"), str)
        and isinstance(owner.get("name"), str)
    )


def event(doc: Doc) -> EventTold | None:
    """None where it says neither when nor of what."""
    reason, kind = text_at(doc, "reason"), text_at(doc, "involvedObject", "kind")
    times = (
        at(doc, "series", "lastObservedTime"),
        doc.get("lastTimestamp"),
        doc.get("eventTime"),
        doc.get("firstTimestamp"),
        at(doc, "metadata", "creationTimestamp"),
    )
    when = next((found for text in times if (found := moment(text)) is not None), None)
    if when is None or not reason or not kind:
        return None
    subject = Subject(kind, text_at(doc, "involvedObject", "name"), text_at(doc, "involvedObject", "namespace"))
    counts = (at(doc, "series", "count"), doc.get("count"))
    count = next((each for each in counts if isinstance(each, int) and not isinstance(each, bool) and each > 0), 1)
    message = hidden(text_at(doc, "message"))[:_LONGEST]  # a probe's answer, an image's address
    return EventTold(when, reason, subject, message, doc.get("type") == "Warning", count)
