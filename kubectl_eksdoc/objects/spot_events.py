"""Events about interruptions of nodes. Source of the shapes: core/v1 Event; reasons: Karpenter's
pkg/controllers/interruption/events."""

from __future__ import annotations

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.interruption import SpotEvent
from kubectl_eksdoc.objects.common import moment

REASONS = (
    "SpotInterrupted",
    "SpotRebalanceRecommendation",
    "InstanceStopping",
    "InstanceTerminating",
    "InstanceUnhealthy",
    "TerminatingOnInterruption",
    "CapacityReservationInstanceInterrupted",
)


def spot_event(doc: Doc) -> SpotEvent | None:
    """None where it is about something else, or not written as an Event."""
    reason, about = doc.get("reason"), at(doc, "involvedObject")
    if reason not in REASONS or not isinstance(about, dict) or not isinstance(about.get("name"), str):
        return None
    times = (doc.get("lastTimestamp"), doc.get("eventTime"), at(doc, "metadata", "creationTimestamp"))
    when = next((found for text in times if (found := moment(text)) is not None), None)
    if about.get("kind") == "Node":
        return SpotEvent(reason, about["name"], when)
    return SpotEvent(reason, "", when, about["name"]) if about.get("kind") == "NodeClaim" else None
