"""Workloads, jobs, budgets and autoscalers."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.embedded.api.tables import fields
from kubectl_eksdoc.embedded.api.tables.fields import (
    AGE,
    CONTAINERS_AND_IMAGES,
    NAME,
    NONE,
    SELECTOR,
    UNKNOWN,
    Column,
    a_few,
    column,
    going,
    is_true,
    labels,
    listed,
    mapped,
    number,
    number_column,
    text,
    text_column,
    wide,
)
from kubectl_eksdoc.model.api_objects import Doc, at

_READY = column("Ready", lambda d: f"{number(d, 'status', 'readyReplicas')}/{number(d, 'spec', 'replicas')}")
_TEMPLATE = (AGE, *CONTAINERS_AND_IMAGES)
_COUNTS = (
    NAME,
    number_column("Desired", "spec.replicas"),
    number_column("Current", "status.replicas"),
    number_column("Ready", "status.readyReplicas"),
    *_TEMPLATE,
)

DEPLOYMENTS = (
    NAME,
    _READY,
    number_column("Up-to-date", "status.updatedReplicas"),
    number_column("Available", "status.availableReplicas"),
    *_TEMPLATE,
    SELECTOR,
)
REPLICA_SETS = (*_COUNTS, SELECTOR)
REPLICATION_CONTROLLERS = (*_COUNTS, wide(column("Selector", lambda d: labels(mapped(d, "spec", "selector")))))
STATEFUL_SETS = (NAME, _READY, *_TEMPLATE)
DAEMON_SETS = (
    NAME,
    number_column("Desired", "status.desiredNumberScheduled"),
    number_column("Current", "status.currentNumberScheduled"),
    number_column("Ready", "status.numberReady"),
    number_column("Up-to-date", "status.updatedNumberScheduled"),
    number_column("Available", "status.numberAvailable"),
    column("Node Selector", lambda d: labels(mapped(d, "spec", "template", "spec", "nodeSelector"))),
    *_TEMPLATE,
    SELECTOR,
)
BUDGETS = (
    NAME,
    text_column("Min Available", "spec.minAvailable", "N/A"),
    text_column("Max Unavailable", "spec.maxUnavailable", "N/A"),
    number_column("Allowed Disruptions", "status.disruptionsAllowed"),
    AGE,
)


# Jobs.


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


JOBS = (
    NAME,
    column("Status", _status),
    column("Completions", _completions),
    Column("Duration", _duration),
    *_TEMPLATE,
    SELECTOR,
)


# Horizontal pod autoscalers: what they measure against what they want.


_SOURCES = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}


def _targets(autoscaler: Doc) -> str:
    metrics, statuses = listed(autoscaler, "spec", "metrics"), listed(autoscaler, "status", "currentMetrics")
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


AUTOSCALERS = (
    NAME,
    column("Reference", lambda d: "/".join(text(d, "spec", "scaleTargetRef", field) for field in ("kind", "name"))),
    column("Targets", _targets),
    text_column("MinPods", "spec.minReplicas", "<unset>"),
    number_column("MaxPods", "spec.maxReplicas"),
    number_column("Replicas", "status.currentReplicas"),
    AGE,
)
