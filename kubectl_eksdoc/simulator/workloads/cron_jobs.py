"""The cron job controller: a Job each time the schedule is due, and the oldest ended ones go.

Source: pkg/controller/cronjob/{cronjob_controllerv2,utils}.go, Kubernetes v1.36. spec.timeZone other than UTC is taken
for UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from kubectl_eksdoc.kubernetes import schedules
from kubectl_eksdoc.kubernetes.api.statuses import Refusal
from kubectl_eksdoc.kubernetes.schedules import Every, InvalidSchedule, Schedule
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator import store
from kubectl_eksdoc.simulator.registry import DeleteOptions, Registry
from kubectl_eksdoc.simulator.store import Change, Item, Key, later, moment, rfc3339
from kubectl_eksdoc.simulator.workloads.job_pods import JOBS, finished_as
from kubectl_eksdoc.simulator.workloads.owning import Index, keys_of_owner, reference_to

CRON_JOBS = store.CRON_JOBS.full_name
SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"

_MOST_MISSED = 100
_HISTORY = {"Complete": ("successfulJobsHistoryLimit", 3), "Failed": ("failedJobsHistoryLimit", 1)}


class CronJobs:
    """A `Controller`; keys are those of CronJobs."""

    resources = (CRON_JOBS, JOBS)

    def __init__(self, registry: Registry, index: Index) -> None:
        self._registry = registry
        self._index = index

    def touched(self, change: Change) -> Iterable[Key]:
        if change.item.resource == CRON_JOBS:
            return (change.item.key,)
        return keys_of_owner(change, store.CRON_JOBS)

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(CRON_JOBS, key)
        if item is None or item.leaving:
            return None
        own = self._index.controlled(item.uid, JOBS)
        own = [job for job in own if not self._is_spare(item, job, own)]
        status: Doc = dict(item.doc.get("status") or {})
        running = [job for job in own if finished_as(job.doc) is None]
        _note_success(status, own)
        again_s = self._schedule(item, status, running)
        status = {key: value for key, value in status.items() if key != "active"}
        if running:
            status["active"] = [_reference(job) for job in running]
        current = self._registry.get(CRON_JOBS, key)
        if not _same(status, current.doc.get("status") or {}):
            self._registry.update(current, {**current.doc, "status": status}, status=True)
        return again_s

    def _is_spare(self, item: Item, job: Item, own: Sequence[Item]) -> bool:
        """Whether it is beyond the history that is kept; it is deleted then."""
        last = finished_as(job.doc)
        if last is None:
            return False
        what, default = _HISTORY[last["type"]]
        limit = item.doc["spec"].get(what)
        alike = [each for each in own if (end := finished_as(each.doc)) and end["type"] == last["type"]]
        newest = sorted(alike, key=_began, reverse=True)[: default if limit is None else int(limit)]
        if job in newest:
            return False
        if not job.leaving:
            self._registry.delete(job, DeleteOptions(propagation="Background"))
        return True

    def _schedule(self, item: Item, status: Doc, running: list[Item]) -> float | None:
        """Make the Job that is due, if any, and add it to `running`; seconds until the next one is."""
        spec = item.doc["spec"]
        try:
            schedule = schedules.parse(str(spec.get("schedule")))
        except InvalidSchedule:
            return None
        if spec.get("suspend"):
            return None
        now = self._registry.agenda.now
        due = self._due(item, schedule, status, now)
        following = schedule.after(now)
        again_s = (following - now).total_seconds() if following is not None else None
        if due is None or self._too_late(spec, due, now) or self._waits(spec, running):
            return again_s
        made = self._create(item, due)
        if made is not None:
            running.append(made)
            status["lastScheduleTime"] = rfc3339(due)
        return again_s

    def _due(self, item: Item, schedule: Schedule | Every, status: Doc, now: datetime) -> datetime | None:
        """The latest time that was not served yet."""
        since = moment(status.get("lastScheduleTime") or item.doc["metadata"]["creationTimestamp"])
        start_s = item.doc["spec"].get("startingDeadlineSeconds")
        if start_s is not None:
            since = max(since, later(now, -int(start_s)))
        latest = None
        due = schedule.after(since)
        for _ in range(_MOST_MISSED):
            if due is None or due > now:
                return latest
            latest, due = due, schedule.after(due)
        # Far behind: from an hour ago on it is looked for again, and the last one counts.
        due = schedule.after(max(since, now - timedelta(hours=1)))
        while due is not None and due <= now:
            latest, due = due, schedule.after(due)
        return latest

    def _too_late(self, spec: Doc, due: datetime, now: datetime) -> bool:
        limit_s = spec.get("startingDeadlineSeconds")
        return limit_s is not None and later(due, int(limit_s)) < now

    def _waits(self, spec: Doc, running: list[Item]) -> bool:
        """Whether what runs keeps the next from being made; where it is to be replaced it goes."""
        policy = spec.get("concurrencyPolicy") or "Allow"
        if policy == "Replace":
            for job in running:
                self._registry.delete(job, DeleteOptions(propagation="Background"))
            running.clear()
        return policy == "Forbid" and bool(running)

    def _create(self, item: Item, due: datetime) -> Item | None:
        """None if there is one of that time already."""
        given: Doc = item.doc["spec"].get("jobTemplate") or {}
        meta = given.get("metadata") or {}
        name = f"{item.key[1][:52]}-{int(due.timestamp()) // 60}"
        made: Doc = {
            "name": name,
            "annotations": {**(meta.get("annotations") or {}), SCHEDULED: rfc3339(due)},
            "ownerReferences": [reference_to(item, store.CRON_JOBS)],
        }
        if meta.get("labels"):
            made["labels"] = meta["labels"]
        kind = {"apiVersion": kinds.JOBS.api_version, "kind": kinds.JOBS.kind}
        doc = {**kind, "metadata": made, "spec": given.get("spec") or {}, "status": {}}
        try:
            return self._registry.create(JOBS, doc, item.key[0])
        except Refusal as refusal:
            if refusal.status.reason == "AlreadyExists":
                return None
            raise


def _note_success(status: Doc, own: Iterable[Item]) -> None:
    ends = [
        str(job.doc["status"]["completionTime"]) for job in own if (job.doc.get("status") or {}).get("completionTime")
    ]
    if ends:
        status["lastSuccessfulTime"] = max([*ends, str(status.get("lastSuccessfulTime") or "")])


def _reference(job: Item) -> Doc:
    named = {"apiVersion": kinds.JOBS.api_version, "kind": kinds.JOBS.kind}
    return {**named, "namespace": job.key[0], "name": job.key[1], "uid": job.uid, "resourceVersion": str(job.version)}


def _same(one: Doc, other: Doc) -> bool:
    """Whether they say the same; the version at which a running Job was noted does not count."""

    def plain(status: Doc) -> Doc:
        return {**status, "active": sorted(each["uid"] for each in status.get("active") or ())}

    return plain(one) == plain(other)


def _began(job: Item) -> tuple[str, str]:
    return str((job.doc.get("status") or {}).get("startTime") or ""), job.key[1]
