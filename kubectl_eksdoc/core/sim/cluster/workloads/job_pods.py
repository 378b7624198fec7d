"""What a Job makes of its pods: which have failed, which failures count, and how long it waits after them.

Source: pkg/controller/job/{job_controller,pod_failure_policy,backoff_utils}.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.sim.cluster.conditions import condition
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.times import later, moment, rfc3339
from kubectl_eksdoc.core.sim.cluster.workloads import pods

TRACKING = "batch.kubernetes.io/job-tracking"
"""The finalizer that pods keep until they are counted."""

BACKOFF_S, LONGEST_BACKOFF_S = 10.0, 600.0


def is_tracked(pod: Item) -> bool:
    return TRACKING in (pod.doc["metadata"].get("finalizers") or ())


def only_replaces_failed(job: Doc) -> bool:
    """Whether a pod that is leaving is neither failed nor replaced until it has ended."""
    policy = job["spec"].get("podReplacementPolicy")
    if policy:
        return bool(policy == "Failed")
    return job["spec"].get("podFailurePolicy") is not None


def has_failed(job: Doc, pod: Doc) -> bool:
    """A pod that is being deleted counts as failed, unless the job waits for its end."""
    if pods.phase(pod) == "Failed":
        return True
    return pods.is_leaving(pod) and pods.phase(pod) != "Succeeded" and not only_replaces_failed(job)


def verdict(job: Doc, pod: Doc) -> str:
    """What the failure policy says of a failed pod: Count, Ignore or FailJob (FailIndex counts)."""
    for rule in at(job, "spec", "podFailurePolicy", "rules") or ():
        if _exited(rule.get("onExitCodes"), pod) or _has(rule.get("onPodConditions"), pod):
            return str(rule["action"]) if rule["action"] in ("Ignore", "FailJob") else "Count"
    return "Count"


def restarts(own: Iterable[Item]) -> int:
    """Of all containers of the pods that are under way."""
    return sum(
        int(each.get("restartCount") or 0)
        for pod in own
        if pods.phase(pod.doc) in ("Running", "Pending")
        for part in ("initContainerStatuses", "containerStatuses")
        for each in (pod.doc.get("status") or {}).get(part) or ()
    )


def ended_at(pod: Doc) -> str:
    """When it ended, as far as it can be told: its last container, its readiness, its deletion."""
    ends = [
        str(at(each, "state", "terminated", "finishedAt") or "")
        for each in (pod.get("status") or {}).get("containerStatuses") or ()
    ]
    if ends and all(ends):
        return max(ends)
    ready = condition(pod, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return str(ready["lastTransitionTime"])
    meta = pod["metadata"]
    if "deletionTimestamp" in meta:
        asked = later(moment(meta["deletionTimestamp"]), -int(meta.get("deletionGracePeriodSeconds") or 0))
        return rfc3339(asked)
    return str(meta.get("creationTimestamp") or "")


class Backoff:
    """Mutable: failures of each job since its last success; more of them let it wait longer for the next attempt."""

    def __init__(self) -> None:
        self._failures: dict[str, tuple[int, str]] = {}

    def note(self, job: Item, ended: Iterable[Item]) -> None:
        for pod in sorted(ended, key=lambda each: ended_at(each.doc)):
            count, _ = self._failures.get(job.uid, (0, ""))
            again = pods.phase(pod.doc) != "Succeeded"
            self._failures[job.uid] = (count + 1, ended_at(pod.doc)) if again else (0, "")

    def left_s(self, job: Item, now: datetime) -> float:
        count, last = self._failures.get(job.uid, (0, ""))
        if not count or not last:
            return 0.0
        wait_s = min(BACKOFF_S * float(2 ** min(count - 1, 30)), LONGEST_BACKOFF_S)
        return max(0.0, wait_s - (now - moment(last)).total_seconds())

    def forget(self, uid: str) -> None:
        self._failures.pop(uid, None)


def _exited(asked: Doc | None, pod: Doc) -> bool:
    if asked is None:
        return False
    status = pod.get("status") or {}
    for part in ("containerStatuses", "initContainerStatuses"):
        for each in status.get(part) or ():
            code = at(each, "state", "terminated", "exitCode")
            if not code or asked.get("containerName") not in (None, each.get("name")):
                continue
            if (code in asked["values"]) == (asked.get("operator") == "In"):
                return True
    return False


def _has(asked: list[Doc] | None, pod: Doc) -> bool:
    for each in asked or ():
        held = condition(pod, each["type"])
        if held is not None and held.get("status") == each.get("status", "True"):
            return True
    return False
