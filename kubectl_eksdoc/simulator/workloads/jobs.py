"""The job controller: pods until enough of them succeeded or too many failed.

Source: pkg/controller/job/job_controller.go, Kubernetes v1.36. What has ended is counted and let go in one step:
status.uncountedTerminatedPods stays empty. Left out: success policies and limits for each index.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.simulator.registry import Registry, condition, put
from kubectl_eksdoc.simulator.store import Key, StoreChange, StoreChangeKind, StoredItem, moment
from kubectl_eksdoc.simulator.workloads import job_pods, templates
from kubectl_eksdoc.simulator.workloads.job_pods import (
    JOB_NAME,
    TRACKING,
    Backoff,
    completed,
    has_failed,
    index_of,
    indexed,
    is_tracked,
    only_replaces_failed,
    parsed,
    pending,
    restarts,
    verdict,
    written,
)
from kubectl_eksdoc.simulator.workloads.owning import Index, Owners, keys_of_owner, may_be_adopted
from kubectl_eksdoc.simulator.workloads.replica_sets import surplus
from kubectl_eksdoc.simulator.workloads.templates import PodTemplates

JOBS = job_pods.JOBS
BURST = 500


class Jobs:
    """A `Controller`; keys are those of Jobs."""

    resources = (JOBS, templates.PODS)

    def __init__(self, registry: Registry, index: Index) -> None:
        self._registry = registry
        self._index = index
        self._owners = Owners(registry, index, kinds.JOBS)
        self._templates = PodTemplates(registry.store)
        self._backoff = Backoff()

    def touched(self, change: StoreChange) -> Iterable[Key]:
        if change.item.resource == JOBS:
            if change.what is StoreChangeKind.DELETED:
                self._backoff.forget(change.item.uid)
            return (change.item.key,)
        owners = keys_of_owner(change, kinds.JOBS)
        if not may_be_adopted(change):
            return owners
        name = templates.labels_of(change.item.doc).get(JOB_NAME)
        return (*owners, (change.item.key[0], name)) if name else owners

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(JOBS, key)
        if item is None:
            self._free_orphans(key)
            return None
        if not item.doc["spec"].get("selector"):
            item = self._registry.update(item, completed(item.doc))
        if job_pods.finished_as(item.doc) is not None:
            return None
        return self._sync(item, self._owners.claimed(item, templates.PODS))

    def _sync(self, item: StoredItem, own: list[StoredItem]) -> float | None:
        how, status, counted = self._counted(item, own)
        self._backoff.note(item, (pod for pod in counted if verdict(item.doc, pod.doc) != "Ignore"))
        active = [pod for pod in own if templates.is_active(pod.doc)]
        count, again_s = len(active), None
        if how is not None and not item.leaving:
            for pod in active:
                self._registry.delete(pod)  # it keeps its finalizer and counts as failed
            count = 0
        elif not item.leaving:
            count, again_s = self._manage(item, own, active, status)
            if self._reached(item.doc, status, count):
                how = job_pods.decision(job_pods.SUCCEEDED, self._registry.now)
        status = self._reported(item, status, own, count, how)
        current = self._registry.get(JOBS, item.key)
        self._registry.update(current, {**current.doc, "status": status}, status=True)
        for pod in counted:
            self._free(pod)
        deadline_s = self._deadline_s(item.doc, status)
        return min((each for each in (again_s, deadline_s) if each is not None), default=None)

    def _counted(self, item: StoredItem, own: list[StoredItem]) -> tuple[Doc | None, Doc, list[StoredItem]]:
        """How it must end, if that is known; the status with what has ended counted; and the pods that were."""
        status: Doc = dict(item.doc.get("status") or {})
        how = job_pods.decided(item.doc)
        over = how is not None or item.leaving
        done = parsed(status.get("completedIndexes") or "")
        counted: list[StoredItem] = []
        new_failures = 0
        for pod in own:
            succeeded = templates.phase(pod.doc) == "Succeeded"
            failed = has_failed(item.doc, pod.doc)
            if not is_tracked(pod) or not (succeeded or failed or over):
                continue
            counted.append(pod)
            if succeeded:
                self._count_success(item.doc, status, pod.doc, done)
                continue
            said = verdict(item.doc, pod.doc)
            new_failures += said != "Ignore"
            if said == "FailJob" and how is None:
                text = f"Pod {item.key[0]}/{pod.key[1]} matched a rule that fails the job"
                how = job_pods.decision(("FailureTarget", "PodFailurePolicy", text), self._registry.now)
        if new_failures:
            status["failed"] = int(status.get("failed") or 0) + new_failures
        if done:
            status |= {"completedIndexes": written(done), "succeeded": len(done)}
        return how or self._failure(item.doc, status, own, new_failures), status, counted

    def _count_success(self, job: Doc, status: Doc, pod: Doc, done: set[int]) -> None:
        if job["spec"].get("completionMode") != "Indexed":
            status["succeeded"] = int(status.get("succeeded") or 0) + 1
            return
        index = index_of(pod)
        if index is not None and index < int(job["spec"].get("completions") or 0):
            done.add(index)

    def _failure(self, job: Doc, status: Doc, own: list[StoredItem], new_failures: int) -> Doc | None:
        spec = job["spec"]
        limit = 6 if spec.get("backoffLimit") is None else int(spec["backoffLimit"])
        often = restarts(own) if (spec.get("template") or {}).get("spec", {}).get("restartPolicy") == "OnFailure" else 0
        if (new_failures and int(status.get("failed") or 0) > limit) or (often and often >= limit):
            return job_pods.decision(job_pods.TOO_MANY_FAILED, self._registry.now)
        left_s = self._deadline_s(job, status)
        return job_pods.decision(job_pods.TOO_LONG, self._registry.now) if left_s is not None and left_s <= 0 else None

    def _deadline_s(self, job: Doc, status: Doc) -> float | None:
        limit_s, since = job["spec"].get("activeDeadlineSeconds"), status.get("startTime")
        if limit_s is None or not since or job["spec"].get("suspend") or job_pods.decided({"status": status}):
            return None
        return float(limit_s) - (self._registry.agenda.now - moment(since)).total_seconds()

    def _manage(
        self, item: StoredItem, own: list[StoredItem], active: list[StoredItem], status: Doc
    ) -> tuple[int, float | None]:
        """Make or delete pods; how many are active then, and when to look again."""
        spec = item.doc["spec"]
        if spec.get("suspend"):
            self._withdraw(active)
            return 0, None
        succeeded = int(status.get("succeeded") or 0)
        parallelism = 1 if spec.get("parallelism") is None else int(spec["parallelism"])
        if spec.get("completions") is None:
            wanted = len(active) if succeeded else parallelism
        else:
            wanted = max(0, min(parallelism, int(spec["completions"]) - succeeded))
        if wanted < len(active):
            gone = surplus(active, min(len(active) - wanted, BURST), (), self._registry.agenda.now)
            self._withdraw(gone)
            return len(active) - len(gone), None
        waiting = [pod for pod in own if templates.is_terminating(pod.doc)] if only_replaces_failed(item.doc) else []
        missing = min(wanted - len(active) - len(waiting), BURST)
        if missing <= 0:
            return len(active), None
        left_s = self._backoff.left_s(item, self._registry.agenda.now)
        if left_s > 0:
            return len(active), left_s
        self._create(item, [*active, *waiting], status, missing)
        return len(active) + missing, None

    def _create(self, item: StoredItem, under_way: list[StoredItem], status: Doc, missing: int) -> None:
        pod = self._templates.pod(item.doc["spec"]["template"], item, kinds.JOBS)
        finalizers = [*(pod["metadata"].get("finalizers") or ()), TRACKING]
        pod = with_value(pod, ("metadata", "finalizers"), finalizers)
        docs = [pod] * missing
        if item.doc["spec"].get("completionMode") == "Indexed":
            taken = parsed(status.get("completedIndexes") or "") | {
                index for each in under_way if (index := index_of(each.doc)) is not None
            }
            free = pending(int(item.doc["spec"].get("completions") or 0), taken, missing)
            docs = [indexed(pod, item.key[1], index) for index in free]
        for doc in docs:
            self._registry.create(templates.PODS, doc, item.key[0])

    def _withdraw(self, gone: Iterable[StoredItem]) -> None:
        """Delete pods that do not count as failed: they are let go first."""
        for pod in gone:
            self._registry.delete(self._free(pod))

    def _reached(self, job: Doc, status: Doc, active: int) -> bool:
        succeeded = int(status.get("succeeded") or 0)
        if job["spec"].get("suspend") or active:
            return False
        asked = job["spec"].get("completions")
        return succeeded > 0 if asked is None else succeeded >= int(asked)

    def _reported(self, item: StoredItem, status: Doc, own: list[StoredItem], active: int, how: Doc | None) -> Doc:
        """`status` with the pods as they are after this step."""
        suspended = bool(item.doc["spec"].get("suspend"))
        there = {pod.uid for pod in self._index.controlled(item.uid, templates.PODS)}
        left = [current for pod in own if pod.uid in there and (current := self._index.of_uid(pod.uid))]
        ready = sum(templates.is_ready(pod.doc) for pod in left if templates.is_active(pod.doc))
        terminating = sum(templates.is_terminating(pod.doc) for pod in left)
        made = {key: value for key, value in status.items() if key != "active"}
        if active:
            made["active"] = active
        made |= {"ready": ready, "terminating": terminating, "uncountedTerminatedPods": {}}
        made = self._suspended(made, suspended)
        if how is None:
            return made
        made["conditions"] = put(made.get("conditions") or (), how)
        return made if active or terminating else job_pods.ended(made, how, self._registry.now)

    def _suspended(self, status: Doc, suspended: bool) -> Doc:
        """With the condition Suspended once it was so, and the time it began, which is anew after a pause."""
        held = condition({"status": status}, "Suspended")
        was = held is not None and held.get("status") == "True"
        now = self._registry.now
        if suspended == was:
            return status if suspended or status.get("startTime") else {**status, "startTime": now}
        reason = ("JobSuspended", "Job suspended") if suspended else ("JobResumed", "Job resumed")
        made: Doc = {"type": "Suspended", "status": str(suspended), "reason": reason[0], "message": reason[1]}
        made |= {"lastProbeTime": now, "lastTransitionTime": now}
        status = {**status, "conditions": put(status.get("conditions") or (), made)}
        if suspended:
            return {key: value for key, value in status.items() if key != "startTime"}
        return {**status, "startTime": now}

    def _free_orphans(self, key: Key) -> None:
        """Pods of a job that is gone have nobody left who would count them."""
        for pod in self._index.labelled(key[0], {JOB_NAME: key[1]}):
            self._free(pod)

    def _free(self, pod: StoredItem) -> StoredItem:
        """Take the finalizer off."""
        current = self._registry.store.get(templates.PODS, pod.key)
        if current is None or current.uid != pod.uid or not is_tracked(current):
            return current or pod
        kept = [each for each in current.doc["metadata"]["finalizers"] if each != TRACKING]
        return self._registry.update(current, with_value(current.doc, ("metadata", "finalizers"), kept))
