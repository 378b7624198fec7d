"""Conditions in the status of any object.

Source: pkg/api/v1/pod/util.go (UpdatePodCondition), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.api_objects import Doc, with_value

DISRUPTION_TARGET = "DisruptionTarget"


def condition(doc: Doc, kind: str) -> Doc | None:
    """The condition of that type."""
    for each in (doc.get("status") or {}).get("conditions") or ():
        if each.get("type") == kind:
            found: Doc = each
            return found
    return None


def put(conditions: Iterable[Doc], new: Doc) -> list[Doc]:
    """`conditions` with `new` in the place of the one of its type, or at the end."""
    held = list(conditions)
    for i, each in enumerate(held):
        if each.get("type") == new["type"]:
            held[i] = new
            return held
    return [*held, new]


def disrupted(pod: Doc, reason: str, message: str, now: str) -> Doc:
    """`pod` with the condition that says who is about to end it; the time stays if it held already."""
    held = condition(pod, DISRUPTION_TARGET)
    since = held.get("lastTransitionTime", now) if held and held.get("status") == "True" else now
    new: Doc = {"type": DISRUPTION_TARGET, "status": "True", "lastProbeTime": None, "lastTransitionTime": since}
    new |= {"reason": reason, "message": message}
    if generation := pod["metadata"].get("generation"):
        new["observedGeneration"] = generation
    return with_value(pod, ("status", "conditions"), put((pod.get("status") or {}).get("conditions") or (), new))
