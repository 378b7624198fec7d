"""How a Job ends: the conditions it passes through, and the deletion of what has ended.

Source: pkg/controller/job/job_controller.go (enactJobFinished, newCondition),
pkg/controller/ttlafterfinished/ttlafterfinished_controller.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.sim.cluster.conditions import condition, put
from kubectl_eksdoc.core.sim.cluster.registry import DeleteOptions, Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Key, What
from kubectl_eksdoc.core.sim.cluster.times import moment

JOBS = kinds.JOBS.full_name

SUCCEEDED = ("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
TOO_MANY_FAILED = ("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
TOO_LONG = ("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline")

_LAST = {"SuccessCriteriaMet": "Complete", "FailureTarget": "Failed"}


def finished_as(job: Doc) -> Doc | None:
    """The condition Complete or Failed, if it holds."""
    for kind in _LAST.values():
        held = condition(job, kind)
        if held is not None and held.get("status") == "True":
            return held
    return None


def decided(job: Doc) -> Doc | None:
    """The condition that says how it will end, once its pods have ended."""
    for kind in _LAST:
        held = condition(job, kind)
        if held is not None and held.get("status") == "True":
            return held
    return None


def decision(what: tuple[str, str, str], now: str) -> Doc:
    kind, reason, message = what
    times = {"lastProbeTime": now, "lastTransitionTime": now}
    return {"type": kind, "status": "True", "reason": reason, "message": message, **times}


def ended(status: Doc, how: Doc, now: str) -> Doc:
    """`status` with the last condition, of which `how` was the announcement."""
    last = {**how, "type": _LAST[how["type"]], "lastProbeTime": now, "lastTransitionTime": now}
    made = {**status, "conditions": put(status.get("conditions") or (), last)}
    return {**made, "completionTime": now} if last["type"] == "Complete" else made


class EndedJobs:
    """A `Controller`; keys are those of Jobs: they go so many seconds after their end (ttlSecondsAfterFinished)."""

    resources = (JOBS,)

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def touched(self, change: Change) -> Iterable[Key]:
        asked = change.item.doc["spec"].get("ttlSecondsAfterFinished") is not None
        return (change.item.key,) if asked and change.what is not What.DELETED else ()

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(JOBS, key)
        if item is None or item.leaving:
            return None
        left_s = _left_s(item.doc, self._registry.agenda.now)
        if left_s is None or left_s > 0:
            return left_s
        self._registry.delete(item, DeleteOptions(propagation="Foreground"))
        return None


def _left_s(job: Doc, now: datetime) -> float | None:
    last, ttl_s = finished_as(job), job["spec"].get("ttlSecondsAfterFinished")
    if last is None or ttl_s is None:
        return None
    return max(0.0, int(ttl_s) - (now - moment(last["lastTransitionTime"])).total_seconds())
