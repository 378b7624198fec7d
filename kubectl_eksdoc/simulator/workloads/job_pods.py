"""What a Job makes of its pods: which have failed, which failures count, and how long it waits after them.

Source: pkg/controller/job/{job_controller,pod_failure_policy,backoff_utils}.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.simulator.registry import DeleteOptions, Registry, condition, put
from kubectl_eksdoc.simulator.store import Key, StoreChange, StoreChangeKind, StoredItem, later, moment, rfc3339
from kubectl_eksdoc.simulator.workloads import templates
from kubectl_eksdoc.simulator.workloads.templates import annotations_of, labels_of

TRACKING = "batch.kubernetes.io/job-tracking"
"""The finalizer that pods keep until they are counted."""

BACKOFF_S, LONGEST_BACKOFF_S = 10.0, 600.0


def is_tracked(pod: StoredItem) -> bool:
    return TRACKING in (pod.doc["metadata"].get("finalizers") or ())


def only_replaces_failed(job: Doc) -> bool:
    """Whether a pod that is leaving is neither failed nor replaced until it has ended."""
    policy = job["spec"].get("podReplacementPolicy")
    if policy:
        return bool(policy == "Failed")
    return job["spec"].get("podFailurePolicy") is not None


def has_failed(job: Doc, pod: Doc) -> bool:
    """A pod that is being deleted counts as failed, unless the job waits for its end."""
    if templates.phase(pod) == "Failed":
        return True
    return templates.is_leaving(pod) and templates.phase(pod) != "Succeeded" and not only_replaces_failed(job)


def verdict(job: Doc, pod: Doc) -> str:
    """What the failure policy says of a failed pod: Count, Ignore or FailJob (FailIndex counts)."""
    for rule in at(job, "spec", "podFailurePolicy", "rules") or ():
        if _exited(rule.get("onExitCodes"), pod) or _has(rule.get("onPodConditions"), pod):
            return str(rule["action"]) if rule["action"] in ("Ignore", "FailJob") else "Count"
    return "Count"


def restarts(own: Iterable[StoredItem]) -> int:
    """Of all containers of the pods that are under way."""
    return sum(
        int(each.get("restartCount") or 0)
        for pod in own
        if templates.phase(pod.doc) in ("Running", "Pending")
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

    def note(self, job: StoredItem, ended: Iterable[StoredItem]) -> None:
        for pod in sorted(ended, key=lambda each: ended_at(each.doc)):
            count, _ = self._failures.get(job.uid, (0, ""))
            again = templates.phase(pod.doc) != "Succeeded"
            self._failures[job.uid] = (count + 1, ended_at(pod.doc)) if again else (0, "")

    def left_s(self, job: StoredItem, now: datetime) -> float:
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


# How a Job ends: the conditions it passes through, and the deletion of what has ended.
#
# Source: pkg/controller/job/job_controller.go (enactJobFinished, newCondition),
# pkg/controller/ttlafterfinished/ttlafterfinished_controller.go, Kubernetes v1.36.


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

    def touched(self, change: StoreChange) -> Iterable[Key]:
        asked = change.item.doc["spec"].get("ttlSecondsAfterFinished") is not None
        return (change.item.key,) if asked and change.what is not StoreChangeKind.DELETED else ()

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


# Completion indexes of an Indexed Job: which are done, which are next, and how the status writes them.
#
# Source: pkg/controller/job/indexed_job_utils.go, Kubernetes v1.36.


INDEX = "batch.kubernetes.io/job-completion-index"


def index_of(pod: Doc) -> int | None:
    text = annotations_of(pod).get(INDEX, "")
    return int(text) if text.isdigit() else None


def parsed(text: str) -> set[int]:
    """``0,2-4`` as numbers."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def written(indexes: Iterable[int]) -> str:
    """Numbers as ``0,2-4``: a pair is written with a comma, more with a dash."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ",".join(_run(run) for run in runs)


def pending(completions: int, taken: Collection[int], count: int) -> list[int]:
    """The first so many that are neither done nor under way."""
    return [index for index in range(completions) if index not in taken][:count]


def indexed(pod: Doc, job: str, index: int) -> Doc:
    """`pod` as the one of that index."""
    meta = pod["metadata"]
    labels = {**labels_of(pod), INDEX: str(index)}
    annotations = {**annotations_of(pod), INDEX: str(index)}
    meta = {**meta, "generateName": f"{job}-{index}-", "labels": labels, "annotations": annotations}
    return with_value({**pod, "metadata": meta}, ("spec", "hostname"), f"{job}-{index}")


def _run(run: list[int]) -> str:
    if len(run) == 1:
        return str(run[0])
    return f"{run[0]},{run[1]}" if len(run) == 2 else f"{run[0]}-{run[-1]}"


# The selector and the labels that the API server gives to a Job that brings none, and other defaults of its spec.
#
# Source: pkg/registry/batch/job/strategy.go (generateSelector), pkg/apis/batch/v1/defaults.go, Kubernetes v1.36.


JOB_NAME, CONTROLLER_UID = "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"


def completed(job: Doc) -> Doc:
    """`job`, which has a name and a UID, as the server stores it."""
    spec: Doc = job["spec"]
    meta = job["metadata"]
    name, uid = meta["name"], meta["uid"]
    defaults: Doc = {"backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False, "manualSelector": False}
    defaults["podReplacementPolicy"] = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"
    if spec.get("completions") is None and spec.get("parallelism") is None:
        defaults |= {"completions": 1, "parallelism": 1}
    defaults.setdefault("parallelism", 1)
    spec = {**defaults, **spec}
    if spec.get("manualSelector"):
        return {**job, "spec": spec}
    given = {CONTROLLER_UID: uid, JOB_NAME: name, "controller-uid": uid, "job-name": name}
    template: Doc = spec.get("template") or {}
    of_template = {**((template.get("metadata") or {}).get("labels") or {}), **given}
    spec["selector"] = {"matchLabels": {CONTROLLER_UID: uid}}
    spec["template"] = with_value(template, ("metadata", "labels"), of_template)
    labels = labels_of(job) or of_template
    return {**job, "metadata": {**meta, "labels": labels}, "spec": spec}
