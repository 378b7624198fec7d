"""Horizontal pod autoscalers: what they measure against what they want."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.embedded.api.tables.ages import UNKNOWN, age
from kubectl_eksdoc.embedded.api.tables.columns import AGE, NAME, Cells, Column, Printer
from kubectl_eksdoc.embedded.api.tables.fields import a_few, listed, name, number, text
from kubectl_eksdoc.embedded.api.tables.label_text import NONE

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
