"""The job controller: creates pods until enough of them succeeded or too many failed.

Source: pkg/controller/job/{job_controller,pod_failure_policy,backoff_utils}.go, Kubernetes v1.36. Ended pods are
counted and released in one step: status.uncountedTerminatedPods stays empty. Left out, as simulated pods do not end by
themselves: indexes, success policies, rules about exit codes or that fail a job at once, restarts that count,
deadlines, and ttlSecondsAfterFinished.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from kubectl_eksdoc.kubernetes.api.defaults import with_defaults
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at, with_value

from ..registry import Registry, put
from ..store import PODS, Key, StoreChange, StoredItem
from .owning import (
    Index,
    ObjectController,
    Owners,
    PodTemplates,
    keys_of_owner,
    may_be_adopted,
)
from .replica_sets import surplus

JOBS = kinds.JOBS.full_name
BURST = 500
TRACKING = "batch.kubernetes.io/job-tracking"
"""The finalizer that pods keep until they are counted."""

BACKOFF_S, LONGEST_BACKOFF_S = 10.0, 600.0


# A Job's pods: which have failed, which failures count, and how long it waits after them.


def is_tracked(pod: StoredItem) -> bool:
    return TRACKING in pod.finalizers


def only_replaces_failed(job: StoredItem) -> bool:
    """Whether a terminating pod neither counts as failed nor is replaced until it has ended."""
    policy = job.spec.get("podReplacementPolicy")
    return bool(policy == "Failed") if policy else job.spec.get("podFailurePolicy") is not None


def has_failed(job: StoredItem, pod: StoredItem) -> bool:
    """A pod that is being deleted counts as failed, unless the job waits for its end."""
    if pod.phase == "Failed":
        return True
    return pod.leaving and pod.phase != "Succeeded" and not only_replaces_failed(job)


def counts(job: StoredItem, pod: StoredItem) -> bool:
    """Whether the job counts the pod's failure: not if its podFailurePolicy ignores it."""
    for rule in at(job.spec, "podFailurePolicy", "rules") or ():
        if any(pod.says(each["type"]) == each.get("status", "True") for each in rule.get("onPodConditions") or ()):
            return bool(rule["action"] != "Ignore")
    return True


class Backoff:
    """Mutable: failures of each job since its last success; with more of them it waits longer for the next attempt."""

    def __init__(self) -> None:
        self._failures: dict[str, tuple[int, datetime]] = {}

    def note(self, job: StoredItem, ended: Iterable[StoredItem], now: datetime) -> None:
        for pod in ended:
            count, _ = self._failures.get(job.uid, (0, now))
            self._failures[job.uid] = (0 if pod.phase == "Succeeded" else count + 1, now)

    def left_s(self, job: StoredItem, now: datetime) -> float:
        count, last = self._failures.get(job.uid, (0, now))
        if not count:
            return 0.0
        wait_s = min(BACKOFF_S * float(2 ** min(count - 1, 30)), LONGEST_BACKOFF_S)
        return max(0.0, wait_s - (now - last).total_seconds())

    def forget(self, uid: str) -> None:
        self._failures.pop(uid, None)


# The end of a Job: the conditions it passes through (enactJobFinished, newCondition).


SUCCEEDED = ("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
TOO_MANY_FAILED = ("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
_LAST = {"SuccessCriteriaMet": "Complete", "FailureTarget": "Failed"}


def _holding(status: Doc, kinds: Collection[str]) -> Doc | None:
    held = (each for each in status.get("conditions") or () if each.get("status") == "True")
    return next((each for each in held if each["type"] in kinds), None)


def finished_as(job: StoredItem) -> Doc | None:
    """The condition Complete or Failed, if it is True."""
    return _holding(job.status, _LAST.values())


def decided(status: Doc) -> Doc | None:
    """The condition that announces the final one, for after its pods have ended."""
    return _holding(status, _LAST.keys())


def decision(what: tuple[str, str, str], now: str) -> Doc:
    kind, reason, message = what
    times = {"lastProbeTime": now, "lastTransitionTime": now}
    return {"type": kind, "status": "True", "reason": reason, "message": message, **times}


def ended(status: Doc, how: Doc, now: str) -> Doc:
    """`status` with the final condition, which `outcome_condition` announced."""
    last = {**how, "type": _LAST[how["type"]], "lastProbeTime": now, "lastTransitionTime": now}
    made = {**status, "conditions": put(status.get("conditions") or (), last)}
    return {**made, "completionTime": now} if last["type"] == "Complete" else made


# The selector and the labels that the API server gives to a Job without them, and other defaults of its spec.
#
# Source: pkg/registry/batch/job/strategy.go (generateSelector), pkg/apis/batch/v1/defaults.go, Kubernetes v1.36.

JOB_NAME, CONTROLLER_UID = "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"


def completed(job: StoredItem) -> Doc:
    """`job`, which has a name and a UID, as the server stores it."""
    made = with_defaults(job.doc)
    spec: Doc = made["spec"]
    if spec.get("manualSelector"):
        return made
    name = job.key[1]
    given = {CONTROLLER_UID: job.uid, JOB_NAME: name, "controller-uid": job.uid, "job-name": name}
    of_template = {**(at(spec, "template", "metadata", "labels") or {}), **given}
    made = with_value(made, ("spec", "selector"), {"matchLabels": {CONTROLLER_UID: job.uid}})
    made = with_value(made, ("spec", "template", "metadata", "labels"), of_template)
    return with_value(made, ("metadata", "labels"), job.labels or of_template)


class Jobs(ObjectController):
    """A `Controller` whose keys are those of Jobs."""

    resources = (JOBS, PODS)

    def __init__(self, registry: Registry, index: Index) -> None:
        super().__init__(registry, index)
        self._owners = Owners(registry, index, kinds.JOBS)
        self._templates = PodTemplates(registry.store)
        self._backoff = Backoff()

    def touched(self, change: StoreChange) -> Iterable[Key]:
        if change.resource == JOBS:
            if change.gone:
                self._backoff.forget(change.item.uid)
            return (change.key,)
        owners = keys_of_owner(change, kinds.JOBS)
        if not may_be_adopted(change):
            return owners
        name = change.item.labels.get(JOB_NAME)
        return (*owners, (change.key[0], name)) if name else owners

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.find(JOBS, key)
        if item is None:
            # Pods of a deleted job have no controller that would count them.
            for pod in self._index.labelled(key[0], {JOB_NAME: key[1]}):
                self._free(pod)
            return None
        if not item.spec.get("selector"):
            item = self._registry.update(item, completed(item))
        if finished_as(item) is not None:
            return None
        return self._sync(item, self._owners.claimed(item, PODS))

    def _sync(self, item: StoredItem, own: list[StoredItem]) -> float | None:
        how, status, counted = self._counted(item, own)
        active = [pod for pod in own if pod.active]
        count, again_s = len(active), None
        if how is not None and not item.leaving:
            for pod in active:
                self._registry.delete(pod)  # it keeps its finalizer and counts as failed
            count = 0
        elif not item.leaving:
            count, again_s = self._manage(item, own, active, status)
            if self._reached(item, status, count):
                how = decision(SUCCEEDED, self._registry.now)
        self._report(item, self._reported(item, status, own, count, how))
        for pod in counted:
            self._free(pod)
        return again_s

    def _counted(self, item: StoredItem, own: list[StoredItem]) -> tuple[Doc | None, Doc, list[StoredItem]]:
        """How it must end, if that is known; the status with ended pods counted; and the counted pods."""
        status: Doc = dict(item.status)
        if not item.spec.get("suspend"):
            status.setdefault("startTime", self._registry.now)
        how = decided(status)
        over = how is not None or item.leaving
        counted = [
            pod for pod in own if is_tracked(pod) and (over or pod.phase == "Succeeded" or has_failed(item, pod))
        ]
        told = [pod for pod in counted if pod.phase == "Succeeded" or counts(item, pod)]
        self._backoff.note(item, told, self._registry.time)
        done = sum(pod.phase == "Succeeded" for pod in told)
        for name, more in (("succeeded", done), ("failed", len(told) - done)):
            if more:
                status[name] = int(status.get(name) or 0) + more
        limit = 6 if item.spec.get("backoffLimit") is None else int(item.spec["backoffLimit"])
        if how is None and len(told) > done and status["failed"] > limit:
            how = decision(TOO_MANY_FAILED, self._registry.now)
        return how, status, counted

    def _manage(
        self, item: StoredItem, own: list[StoredItem], active: list[StoredItem], status: Doc
    ) -> tuple[int, float | None]:
        """Create or delete pods; returns how many are active then, and when to reconcile again."""
        spec = item.spec
        succeeded = int(status.get("succeeded") or 0)
        parallelism = 1 if spec.get("parallelism") is None else int(spec["parallelism"])
        if spec.get("suspend"):
            wanted = 0
        elif spec.get("completions") is None:
            wanted = len(active) if succeeded else parallelism
        else:
            wanted = max(0, min(parallelism, int(spec["completions"]) - succeeded))
        if wanted < len(active):
            gone = surplus(active, min(len(active) - wanted, BURST), (), self._registry.time)
            for pod in gone:  # they do not count as failed: the finalizer is removed first
                self._registry.delete(self._free(pod))
            return len(active) - len(gone), None
        waiting = sum(pod.terminating for pod in own) if only_replaces_failed(item) else 0
        missing = min(wanted - len(active) - waiting, BURST)
        if missing <= 0:
            return len(active), None
        left_s = self._backoff.left_s(item, self._registry.time)
        if left_s > 0:
            return len(active), left_s
        made = self._templates.pod(spec["template"], item, kinds.JOBS)
        finalizers = [*(made["metadata"].get("finalizers") or ()), TRACKING]
        for _ in range(missing):
            self._registry.create(PODS, with_value(made, ("metadata", "finalizers"), finalizers), item.key[0])
        return len(active) + missing, None

    def _reached(self, job: StoredItem, status: Doc, active: int) -> bool:
        succeeded = int(status.get("succeeded") or 0)
        if job.spec.get("suspend") or active:
            return False
        asked = job.spec.get("completions")
        return succeeded > 0 if asked is None else succeeded >= int(asked)

    def _reported(self, item: StoredItem, status: Doc, own: list[StoredItem], active: int, how: Doc | None) -> Doc:
        """`status` with the pods as they are after this step."""
        there = {pod.uid for pod in self._index.controlled(item.uid, PODS)}
        left = [current for pod in own if pod.uid in there and (current := self._index.of_uid(pod.uid))]
        terminating = sum(pod.terminating for pod in left)
        made = {key: value for key, value in status.items() if key != "active"}
        if active:
            made["active"] = active
        ready = sum(pod.ready for pod in left if pod.active)
        made |= {"ready": ready, "terminating": terminating, "uncountedTerminatedPods": {}}
        if how is None:
            return made
        made["conditions"] = put(made.get("conditions") or (), how)
        return made if active or terminating else ended(made, how, self._registry.now)

    def _free(self, pod: StoredItem) -> StoredItem:
        """Remove the tracking finalizer."""
        current = self._registry.find(PODS, pod.key)
        if current is None or current.uid != pod.uid or not is_tracked(current):
            return current or pod
        return self._registry.let_go(current, TRACKING)
