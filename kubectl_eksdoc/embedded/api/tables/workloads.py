"""Deployments, replica sets, stateful sets, daemon sets, replication controllers, revisions and budgets."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.embedded.api.tables import fields
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
from kubectl_eksdoc.embedded.api.tables.fields import (
    NONE,
    UNKNOWN,
    a_few,
    age,
    containers,
    going,
    is_true,
    labels,
    listed,
    mapped,
    name,
    number,
    selector,
    text,
)
from kubectl_eksdoc.model.api_objects import Doc, at


def template_cells(workload: Doc) -> list[str]:
    """Names and images of the pod template's containers."""
    return containers(listed(workload, "spec", "template", "spec", "containers"))


def selector_cell(workload: Doc) -> str:
    return selector(at(workload, "spec", "selector")) or NONE


def _ready(workload: Doc) -> str:
    return f"{number(workload, 'status', 'readyReplicas')}/{number(workload, 'spec', 'replicas')}"


def _deployment(deployment: Doc, now: datetime) -> Cells:
    return [
        name(deployment),
        _ready(deployment),
        number(deployment, "status", "updatedReplicas"),
        number(deployment, "status", "availableReplicas"),
        age(deployment, now),
        *template_cells(deployment),
        selector(at(deployment, "spec", "selector")),
    ]


def _counts(workload: Doc, now: datetime) -> Cells:
    return [
        name(workload),
        number(workload, "spec", "replicas"),
        number(workload, "status", "replicas"),
        number(workload, "status", "readyReplicas"),
        age(workload, now),
        *template_cells(workload),
    ]


def _replica_set(replica_set: Doc, now: datetime) -> Cells:
    return [*_counts(replica_set, now), selector_cell(replica_set)]


def _replication_controller(controller: Doc, now: datetime) -> Cells:
    return [*_counts(controller, now), labels(mapped(controller, "spec", "selector"))]


def _stateful_set(stateful_set: Doc, now: datetime) -> Cells:
    return [name(stateful_set), _ready(stateful_set), age(stateful_set, now), *template_cells(stateful_set)]


def _daemon_set(daemon_set: Doc, now: datetime) -> Cells:
    counts = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        name(daemon_set),
        *(number(daemon_set, "status", count) for count in counts),
        labels(mapped(daemon_set, "spec", "template", "spec", "nodeSelector")),
        age(daemon_set, now),
        *template_cells(daemon_set),
        selector_cell(daemon_set),
    ]


def _revision(revision: Doc, now: datetime) -> Cells:
    owners = (o for o in listed(revision, "metadata", "ownerReferences") if o.get("controller"))
    owner = next(owners, None)
    return [
        name(revision),
        NONE if owner is None else _reference(owner),
        number(revision, "revision"),
        age(revision, now),
    ]


def _reference(owner: Doc) -> str:
    """``daemonset.apps/aws-node``."""
    group, _, _ = text(owner, "apiVersion").rpartition("/")
    kind = f"{text(owner, 'kind')}.{group}" if group else text(owner, "kind")
    return f"{kind.lower()}/{text(owner, 'name')}"


def _budget(budget: Doc, now: datetime) -> Cells:
    return [
        name(budget),
        text(budget, "spec", "minAvailable") or "N/A",
        text(budget, "spec", "maxUnavailable") or "N/A",
        number(budget, "status", "disruptionsAllowed"),
        age(budget, now),
    ]


_READY = Column("Ready", "How many pods are ready, of how many are wanted")
_DESIRED = integer("Desired", "How many pods are wanted")
_CURRENT = integer("Current", "How many pods there are")
_READY_COUNT = integer("Ready", "How many pods are ready")
_TEMPLATE = (AGE, CONTAINERS, IMAGES)

DEPLOYMENTS = Printer(
    (
        NAME,
        _READY,
        Column("Up-to-date", "How many pods have the present template"),
        Column("Available", "How many pods are available"),
        *_TEMPLATE,
        SELECTOR,
    ),
    _deployment,
)
REPLICA_SETS = Printer((NAME, _DESIRED, _CURRENT, _READY_COUNT, *_TEMPLATE, SELECTOR), _replica_set)
REPLICATION_CONTROLLERS = Printer(
    (NAME, _DESIRED, _CURRENT, _READY_COUNT, *_TEMPLATE, SELECTOR), _replication_controller
)
STATEFUL_SETS = Printer((NAME, _READY, *_TEMPLATE), _stateful_set)
DAEMON_SETS = Printer(
    (
        NAME,
        integer("Desired", "How many nodes should run the pod"),
        integer("Current", "How many nodes that should run the pod do"),
        integer("Ready", "How many of them are ready"),
        integer("Up-to-date", "How many of them have the present template"),
        integer("Available", "How many of them are available"),
        Column("Node Selector", "The labels a node needs to run the pod"),
        *_TEMPLATE,
        SELECTOR,
    ),
    _daemon_set,
)
CONTROLLER_REVISIONS = Printer(
    (
        NAME,
        Column("Controller", "Whose revision it is"),
        Column("Revision", "The revision's number"),
        AGE,
    ),
    _revision,
)
BUDGETS = Printer(
    (
        NAME,
        Column("Min Available", "How many pods must stay available"),
        Column("Max Unavailable", "How many pods may be unavailable"),
        integer("Allowed Disruptions", "How many pods may be disrupted now"),
        AGE,
    ),
    _budget,
)


# Jobs and cron jobs.


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
    started = fields.parse(at(job, "status", "startTime"))
    if started is None:
        return ""
    ended = fields.parse(at(job, "status", "completionTime")) or now
    return fields.human((ended - started).total_seconds())


def _job(job: Doc, now: datetime) -> Cells:
    return [
        name(job),
        _status(job),
        _completions(job),
        _duration(job, now),
        fields.age(job, now),
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
        NONE if last is None else fields.since(last, now),
        fields.age(cron_job, now),
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


# Horizontal pod autoscalers: what they measure against what they want.


_SOURCES = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}


def _targets(metrics: list[Doc], statuses: list[Doc]) -> str:
    shown = [_metric(spec, statuses[i] if i < len(statuses) else {}) for i, spec in enumerate(metrics)]
    return a_few(shown, len(shown), most=2, separator=", ") if shown else NONE


def _metric(spec: Doc, status: Doc) -> str:
    """One metric: what is measured, and what is wanted (printers.go, ``formatHPAMetrics``)."""
    source = _SOURCES.get(text(spec, "type"))
    if source is None:
        return "<unknown type>"
    target, current = at(spec, source, "target") or {}, at(status, source, "current") or {}
    if source in ("resource", "containerResource"):
        return f"{text(spec, source, 'name')}: {_resource(target, current)}"
    if source == "pods":
        return _ratio(current, target, "averageValue")
    if target.get("averageValue") is not None:
        return f"{_ratio(current, target, 'averageValue')} (avg)"
    return _ratio(current, target, "value")


def _ratio(current: Doc, target: Doc, field: str) -> str:
    return f"{text(current, field) or UNKNOWN}/{text(target, field)}"


def _resource(target: Doc, current: Doc) -> str:
    if target.get("averageValue") is not None:
        return _ratio(current, target, "averageValue")
    return "/".join(
        f"{side['averageUtilization']}%" if side.get("averageUtilization") is not None else missing
        for side, missing in ((current, UNKNOWN), (target, "<auto>"))
    )


def _first_version(autoscaler: Doc) -> tuple[list[Doc], list[Doc]]:
    """The cpu target of autoscaling/v1, as v2 says it: metrics and what was measured."""
    wanted = at(autoscaler, "spec", "targetCPUUtilizationPercentage")
    measured = at(autoscaler, "status", "currentCPUUtilizationPercentage")
    if wanted is None:
        return [], []
    return (
        [{"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": wanted}}}],
        [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": measured}}}],
    )


def _cells(autoscaler: Doc, now: datetime) -> Cells:
    metrics, statuses = listed(autoscaler, "spec", "metrics"), listed(autoscaler, "status", "currentMetrics")
    if not metrics:
        metrics, statuses = _first_version(autoscaler)
    reference = at(autoscaler, "spec", "scaleTargetRef") or {}
    return [
        name(autoscaler),
        f"{text(reference, 'kind')}/{text(reference, 'name')}",
        _targets(metrics, statuses),
        text(autoscaler, "spec", "minReplicas") or "<unset>",
        number(autoscaler, "spec", "maxReplicas"),
        number(autoscaler, "status", "currentReplicas"),
        age(autoscaler, now),
    ]


AUTOSCALERS = Printer(
    (
        NAME,
        Column("Reference", "What is scaled"),
        Column("Targets", "What is measured, and what is wanted"),
        Column("MinPods", "The fewest pods"),
        Column("MaxPods", "The most pods"),
        Column("Replicas", "How many pods there are"),
        AGE,
    ),
    _cells,
)
