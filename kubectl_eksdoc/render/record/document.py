"""The fields that the documents of a run and of a rehearsal share.

What is not known or did not happen is null, never 0 and never "".
"""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.render.document import Fields, known, strings
from kubectl_eksdoc.render.drain.document import bake_fields
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.record.view import NodeRun, RecordView


def times(view: RecordView) -> Fields:
    """What the plan said, and when it was over."""
    return {
        "plan": cast(Json, _plan(view)),
        "endedSeconds": seconds(view.ended_s),
        "lateSeconds": seconds(view.late_s),
    }


def errors(view: RecordView) -> Fields:
    """By how much the time of the run differs from what the plan said, and why; null where one of both is not known."""
    estimate, late_s = view.plan.estimate, view.late_s
    found: Fields | None = None
    if estimate is not None and late_s is not None:
        took_s = estimate.p50_s + late_s
        least_s = estimate.least[0].seconds if estimate.least else None
        found = {
            "p50": seconds(late_s),
            "p95": seconds(took_s - estimate.p95_s),
            "lowerBound": None if least_s is None else seconds(took_s - least_s),
            "causes": [{"cause": cause.value, "seconds": seconds(s)} for cause, s in view.record.causes.items()],
        }
    return {"errors": cast(Json, found)}


def placements(view: RecordView) -> Fields:
    """`placements` is null where it was not seen onto which nodes replacements were scheduled."""
    record = view.record
    rows: list[Json] = [
        {"node": each.node, "planned": each.planned, "scheduled": each.placed, "target": each.target}
        for each in record.placements
    ]
    seen = record.placed is not None
    return {
        "placements": rows if seen else None,
        "onTargets": record.on_targets if seen else None,
        "cordonedOnly": strings(record.cordoned_only),
    }


def troubles(view: RecordView) -> Fields:
    """What did not go as planned, as lists."""
    return {
        "refusals": [{"cause": known(each.cause), "count": each.times} for each in view.refusals],
        "pending": [{"pod": each.pod, "why": known(each.why), "before": each.before} for each in view.pending],
        "reEvicted": strings(view.re_evicted),
        "notEmptied": strings(node.name for node in view.not_emptied),
    }


def _plan(view: RecordView) -> Fields:
    """What it says; `estimate` is null where it does not tell how long it takes."""
    estimate = view.plan.estimate
    fields: Fields | None = None
    if estimate is not None:
        fields = {
            "p50": seconds(estimate.p50_s),
            "p95": seconds(estimate.p95_s),
            "bake": bake_fields(view.bake),
        }
    return {
        "drained": len(view.nodes),
        "skipped": len(view.plan.skipped),
        "evictions": len(view.plan.evictions),
        "estimate": cast(Json, fields),
    }


def node(of: NodeRun) -> Fields:
    return {
        "name": of.name,
        "wave": of.target.wave or None,
        "begunSeconds": seconds(of.begun_s),
        "emptySeconds": seconds(of.empty_s),
        "doneSeconds": seconds(of.done_s),
        "evictions": of.evictions,
        "refusals": of.refusals,
        "left": strings(of.left),
    }


def seconds(value: float | None) -> float | None:
    return None if value is None else round(value, 3) + 0.0  # 0 and not -0
