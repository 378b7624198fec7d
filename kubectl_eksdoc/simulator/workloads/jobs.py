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
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value

from ..registry import Registry, put_condition
from ..store import PODS, ObjectKey, StoreChange, StoredItem
from .ownership import (
    ObjectController,
    ObjectIndex,
    OwnerClaims,
    PodTemplates,
    keys_of_owner,
    may_be_adopted,
)
from .replica_sets import surplus_pods

JOBS = kinds.JOBS.full_name
BURST = 500
TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"
"""The finalizer that pods keep until they are counted."""

BACKOFF_S, MAX_BACKOFF_S = 10.0, 600.0


# A Job's pods: which have failed, which failures count, and how long it waits after them.


def is_tracked(pod: StoredItem) -> bool:
    return TRACKING_FINALIZER in pod.finalizers


def only_replaces_failed(job: StoredItem) -> bool:
    """Whether a terminating pod neither counts as failed nor is replaced until it has ended."""
    policy = job.spec.get("podReplacementPolicy")
    return bool(policy == "Failed") if policy else job.spec.get("podFailurePolicy") is not None


def has_failed(job: StoredItem, pod: StoredItem) -> bool:
    """A pod that is being deleted counts as failed, unless the job waits for its end."""
    if pod.phase == "Failed":
        return True
    return pod.deleting and pod.phase != "Succeeded" and not only_replaces_failed(job)


def is_counted_failure(job: StoredItem, pod: StoredItem) -> bool:
    """Whether the job counts the pod's failure: not if its podFailurePolicy ignores it."""
    for rule in nested_field(job.spec, "podFailurePolicy", "rules") or ():
        if any(
            pod.condition_status(each["type"]) == each.get("status", "True")
            for each in rule.get("onPodConditions") or ()
        ):
            return bool(rule["action"] != "Ignore")
    return True


class Backoff:
    """Mutable: failures of each job since its last success; with more of them it waits longer for the next attempt."""

    def __init__(self) -> None:
        self._failures: dict[str, tuple[int, datetime]] = {}

    def record(self, job: StoredItem, ended_pods: Iterable[StoredItem], now: datetime) -> None:
        for pod in ended_pods:
            count, _ = self._failures.get(job.uid, (0, now))
            self._failures[job.uid] = (0 if pod.phase == "Succeeded" else count + 1, now)

    def remaining_s(self, job: StoredItem, now: datetime) -> float:
        count, last = self._failures.get(job.uid, (0, now))
        if not count:
            return 0.0
        wait_s = min(BACKOFF_S * float(2 ** min(count - 1, 30)), MAX_BACKOFF_S)
        return max(0.0, wait_s - (now - last).total_seconds())

    def clear(self, uid: str) -> None:
        self._failures.pop(uid, None)


# The end of a Job: the conditions it passes through (enactJobFinished, newCondition).


SUCCEEDED = ("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
TOO_MANY_FAILED = ("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
_FINAL_CONDITION = {"SuccessCriteriaMet": "Complete", "FailureTarget": "Failed"}


def _true_condition(status: Doc, types: Collection[str]) -> Doc | None:
    true_conditions = (each for each in status.get("conditions") or () if each.get("status") == "True")
    return next((each for each in true_conditions if each["type"] in types), None)


def finished_condition(job: StoredItem) -> Doc | None:
    """The condition Complete or Failed, if it is True."""
    return _true_condition(job.status, _FINAL_CONDITION.values())


def outcome_condition(status: Doc) -> Doc | None:
    """The condition that announces the final one, for after its pods have ended."""
    return _true_condition(status, _FINAL_CONDITION.keys())


def outcome(outcome_fields: tuple[str, str, str], now: str) -> Doc:
    kind, reason, message = outcome_fields
    times = {"lastProbeTime": now, "lastTransitionTime": now}
    return {"type": kind, "status": "True", "reason": reason, "message": message, **times}


def with_final_condition(status: Doc, outcome_condition: Doc, now: str) -> Doc:
    """`status` with the final condition, which `outcome_condition` announced."""
    final_condition = {
        **outcome_condition,
        "type": _FINAL_CONDITION[outcome_condition["type"]],
        "lastProbeTime": now,
        "lastTransitionTime": now,
    }
    new_status = {**status, "conditions": put_condition(status.get("conditions") or (), final_condition)}
    return {**new_status, "completionTime": now} if final_condition["type"] == "Complete" else new_status


# The selector and the labels that the API server gives to a Job without them, and other defaults of its spec.
#
# Source: pkg/registry/batch/job/strategy.go (generateSelector), pkg/apis/batch/v1/defaults.go, Kubernetes v1.36.

JOB_NAME, CONTROLLER_UID = "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"


def with_job_defaults(job: StoredItem) -> Doc:
    """`job`, which has a name and a UID, as the server stores it."""
    new_doc = with_defaults(job.doc)
    spec: Doc = new_doc["spec"]
    if spec.get("manualSelector"):
        return new_doc
    name = job.key[1]
    job_labels = {CONTROLLER_UID: job.uid, JOB_NAME: name, "controller-uid": job.uid, "job-name": name}
    template_labels = {**(nested_field(spec, "template", "metadata", "labels") or {}), **job_labels}
    new_doc = with_value(new_doc, ("spec", "selector"), {"matchLabels": {CONTROLLER_UID: job.uid}})
    new_doc = with_value(new_doc, ("spec", "template", "metadata", "labels"), template_labels)
    return with_value(new_doc, ("metadata", "labels"), job.labels or template_labels)


class Jobs(ObjectController):
    """A `Controller` whose keys are those of Jobs."""

    resources = (JOBS, PODS)

    def __init__(self, registry: Registry, index: ObjectIndex) -> None:
        super().__init__(registry, index)
        self._owners = OwnerClaims(registry, index, kinds.JOBS)
        self._templates = PodTemplates(registry.store)
        self._backoff = Backoff()

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        if change.resource == JOBS:
            if change.is_deletion:
                self._backoff.clear(change.item.uid)
            return (change.key,)
        owners = keys_of_owner(change, kinds.JOBS)
        if not may_be_adopted(change):
            return owners
        name = change.item.labels.get(JOB_NAME)
        return (*owners, (change.key[0], name)) if name else owners

    def reconcile(self, key: ObjectKey) -> float | None:
        item = self._registry.find(JOBS, key)
        if item is None:
            # Pods of a deleted job have no controller that would count them.
            for pod in self._index.labelled(key[0], {JOB_NAME: key[1]}):
                self._remove_tracking(pod)
            return None
        if not item.spec.get("selector"):
            item = self._registry.update(item, with_job_defaults(item))
        if finished_condition(item) is not None:
            return None
        return self._sync(item, self._owners.claim(item, PODS))

    def _sync(self, item: StoredItem, owned: list[StoredItem]) -> float | None:
        job_outcome, status, counted_pods = self._count_ended(item, owned)
        active = [pod for pod in owned if pod.active]
        count, requeue_s = len(active), None
        if job_outcome is not None and not item.deleting:
            for pod in active:
                self._registry.delete(pod)  # it keeps its finalizer and counts as failed
            count = 0
        elif not item.deleting:
            count, requeue_s = self._adjust_pods(item, owned, active, status)
            if self._is_complete(item, status, count):
                job_outcome = outcome(SUCCEEDED, self._registry.timestamp)
        self._write_status(item, self._new_status(item, status, owned, count, job_outcome))
        for pod in counted_pods:
            self._remove_tracking(pod)
        return requeue_s

    def _count_ended(self, item: StoredItem, owned: list[StoredItem]) -> tuple[Doc | None, Doc, list[StoredItem]]:
        """How it must end, if that is known; the status with ended pods counted; and the counted pods."""
        status: Doc = dict(item.status)
        if not item.spec.get("suspend"):
            status.setdefault("startTime", self._registry.timestamp)
        job_outcome = outcome_condition(status)
        is_over = job_outcome is not None or item.deleting
        counted_pods = [
            pod for pod in owned if is_tracked(pod) and (is_over or pod.phase == "Succeeded" or has_failed(item, pod))
        ]
        reported_pods = [pod for pod in counted_pods if pod.phase == "Succeeded" or is_counted_failure(item, pod)]
        self._backoff.record(item, reported_pods, self._registry.current_time)
        succeeded_count = sum(pod.phase == "Succeeded" for pod in reported_pods)
        for name, increment in (("succeeded", succeeded_count), ("failed", len(reported_pods) - succeeded_count)):
            if increment:
                status[name] = int(status.get(name) or 0) + increment
        limit = 6 if item.spec.get("backoffLimit") is None else int(item.spec["backoffLimit"])
        if job_outcome is None and len(reported_pods) > succeeded_count and status["failed"] > limit:
            job_outcome = outcome(TOO_MANY_FAILED, self._registry.timestamp)
        return job_outcome, status, counted_pods

    def _adjust_pods(
        self, item: StoredItem, owned: list[StoredItem], active: list[StoredItem], status: Doc
    ) -> tuple[int, float | None]:
        """Create or delete pods; returns how many are active then, and when to reconcile again."""
        spec = item.spec
        succeeded = int(status.get("succeeded") or 0)
        parallelism = 1 if spec.get("parallelism") is None else int(spec["parallelism"])
        if spec.get("suspend"):
            desired = 0
        elif spec.get("completions") is None:
            desired = len(active) if succeeded else parallelism
        else:
            desired = max(0, min(parallelism, int(spec["completions"]) - succeeded))
        if desired < len(active):
            deleted = surplus_pods(active, min(len(active) - desired, BURST), (), self._registry.current_time)
            for pod in deleted:  # they do not count as failed: the finalizer is removed first
                self._registry.delete(self._remove_tracking(pod))
            return len(active) - len(deleted), None
        terminating = sum(pod.terminating for pod in owned) if only_replaces_failed(item) else 0
        missing = min(desired - len(active) - terminating, BURST)
        if missing <= 0:
            return len(active), None
        remaining_s = self._backoff.remaining_s(item, self._registry.current_time)
        if remaining_s > 0:
            return len(active), remaining_s
        pod_doc = self._templates.build_pod(spec["template"], item, kinds.JOBS)
        finalizers = [*(pod_doc["metadata"].get("finalizers") or ()), TRACKING_FINALIZER]
        for _ in range(missing):
            self._registry.create(PODS, with_value(pod_doc, ("metadata", "finalizers"), finalizers), item.key[0])
        return len(active) + missing, None

    def _is_complete(self, job: StoredItem, status: Doc, active: int) -> bool:
        succeeded = int(status.get("succeeded") or 0)
        if job.spec.get("suspend") or active:
            return False
        completions = job.spec.get("completions")
        return succeeded > 0 if completions is None else succeeded >= int(completions)

    def _new_status(
        self, item: StoredItem, status: Doc, owned: list[StoredItem], active: int, job_outcome: Doc | None
    ) -> Doc:
        """`status` with the pods as they are after this step."""
        present_uids = {pod.uid for pod in self._index.controlled(item.uid, PODS)}
        remaining = [current for pod in owned if pod.uid in present_uids and (current := self._index.by_uid(pod.uid))]
        terminating = sum(pod.terminating for pod in remaining)
        new_status = {key: value for key, value in status.items() if key != "active"}
        if active:
            new_status["active"] = active
        ready = sum(pod.ready for pod in remaining if pod.active)
        new_status |= {"ready": ready, "terminating": terminating, "uncountedTerminatedPods": {}}
        if job_outcome is None:
            return new_status
        new_status["conditions"] = put_condition(new_status.get("conditions") or (), job_outcome)
        return (
            new_status
            if active or terminating
            else with_final_condition(new_status, job_outcome, self._registry.timestamp)
        )

    def _remove_tracking(self, pod: StoredItem) -> StoredItem:
        """Remove the tracking finalizer."""
        current = self._registry.find(PODS, pod.key)
        if current is None or current.uid != pod.uid or not is_tracked(current):
            return current or pod
        return self._registry.remove_finalizer(current, TRACKING_FINALIZER)
