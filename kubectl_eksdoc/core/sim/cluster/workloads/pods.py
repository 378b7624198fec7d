"""What controllers ask of a pod's document: does it run, is it ready, since when, is it available.

Source: pkg/controller/controller_utils.go (IsPodActive, IsPodTerminating), pkg/api/v1/pod/util.go (IsPodReady,
IsPodAvailable), Kubernetes v1.36.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.sim.cluster.conditions import condition
from kubectl_eksdoc.core.sim.cluster.times import moment

PODS = kinds.PODS.full_name
FINISHED = ("Succeeded", "Failed")


def phase(pod: Doc) -> str:
    """Pending where it has none, as the API server makes it."""
    status = pod.get("status")
    return str((status or {}).get("phase") or "Pending")


def is_finished(pod: Doc) -> bool:
    return phase(pod) in FINISHED


def is_leaving(pod: Doc) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def is_active(pod: Doc) -> bool:
    return not is_leaving(pod) and not is_finished(pod)


def is_terminating(pod: Doc) -> bool:
    """Being deleted while it has not finished."""
    return is_leaving(pod) and not is_finished(pod)


def is_ready(pod: Doc) -> bool:
    held = condition(pod, "Ready")
    return held is not None and held.get("status") == "True"


def ready_since(pod: Doc) -> str:
    """The time as it is written, "" while the pod is not ready or where no time is given."""
    held = condition(pod, "Ready")
    return str(held.get("lastTransitionTime") or "") if held and held.get("status") == "True" else ""


def available_in(pod: Doc, min_ready_s: int, now: datetime) -> float | None:
    """Seconds until it counts as available, 0.0 for one that does; None while it is not ready."""
    if not is_ready(pod):
        return None
    if not min_ready_s:
        return 0.0
    since = ready_since(pod)
    if not since:
        return None
    return max(0.0, (moment(since) + timedelta(seconds=min_ready_s) - now).total_seconds())


def is_available(pod: Doc, min_ready_s: int, now: datetime) -> bool:
    return available_in(pod, min_ready_s, now) == 0.0


def node_of(pod: Doc) -> str:
    return str(pod["spec"].get("nodeName") or "")


def labels_of(doc: Doc) -> dict[str, str]:
    return doc["metadata"].get("labels") or {}


def annotations_of(doc: Doc) -> dict[str, str]:
    return doc["metadata"].get("annotations") or {}
