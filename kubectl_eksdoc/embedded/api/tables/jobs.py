"""Jobs and cron jobs."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.embedded.api.tables import ages
from kubectl_eksdoc.embedded.api.tables.columns import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    SELECTOR,
    Cells,
    Column,
    Printer,
    boolean,
    integer,
)
from kubectl_eksdoc.embedded.api.tables.fields import going, is_true, listed, name, number, text
from kubectl_eksdoc.embedded.api.tables.label_text import NONE, containers, selector
from kubectl_eksdoc.embedded.api.tables.workloads import selector_cell, template_cells


def _status(job: Doc) -> str:
    if is_true(job, "Complete"):
        return "Complete"
    if is_true(job, "Failed"):
        return "Failed"
    if going(job):
        return "Terminating"
    later = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((word for word in later if is_true(job, word)), "Running")


def _completions(job: Doc) -> str:
    done, wanted = number(job, "status", "succeeded"), at(job, "spec", "completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = number(job, "spec", "parallelism")
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _duration(job: Doc, now: datetime) -> str:
    started = ages.parse(at(job, "status", "startTime"))
    if started is None:
        return ""
    ended = ages.parse(at(job, "status", "completionTime")) or now
    return ages.human((ended - started).total_seconds())


def _job(job: Doc, now: datetime) -> Cells:
    return [
        name(job),
        _status(job),
        _completions(job),
        _duration(job, now),
        ages.age(job, now),
        *template_cells(job),
        selector_cell(job),
    ]


def _cron_job(cron_job: Doc, now: datetime) -> Cells:
    suspend = at(cron_job, "spec", "suspend")
    last = at(cron_job, "status", "lastScheduleTime")
    job = at(cron_job, "spec", "jobTemplate", "spec") or {}
    return [
        name(cron_job),
        text(cron_job, "spec", "schedule"),
        text(cron_job, "spec", "timeZone") or NONE,
        "<unset>" if suspend is None else str(bool(suspend)),
        len(listed(cron_job, "status", "active")),
        NONE if last is None else ages.since(last, now),
        ages.age(cron_job, now),
        *containers(listed(job, "template", "spec", "containers")),
        selector(job.get("selector")) or NONE,
    ]


JOBS = Printer(
    (
        NAME,
        Column("Status", "How the job stands"),
        Column("Completions", "How many pods have succeeded, of how many must"),
        Column("Duration", "How long the job has run, or ran"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    _job,
)
CRON_JOBS = Printer(
    (
        NAME,
        Column("Schedule", "When jobs are started, in cron's form"),
        Column("Timezone", "In which time zone the schedule is read"),
        boolean("Suspend", "Whether no more jobs are started"),
        integer("Active", "How many of its jobs run"),
        Column("Last Schedule", "When a job was last started"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    _cron_job,
)
