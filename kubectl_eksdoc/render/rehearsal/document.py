"""The rehearsal as one plain document: what ``-o json`` and ``-o yaml`` print, as DrainRehearsal.json says.

What is not known or did not happen is null, never 0 and never "".
"""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.documents import API_VERSION, DRAIN_REHEARSAL
from kubectl_eksdoc.core.run.moments import Moment
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, strings
from kubectl_eksdoc.render.drain.document import bake_fields
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.rehearsal import words
from kubectl_eksdoc.render.rehearsal.view import NodeRun, RehearsalView


def document(view: RehearsalView) -> Fields:
    """The whole rehearsal. Lists are sorted, so the same rehearsal is the same document."""
    return {
        "apiVersion": API_VERSION,
        "kind": DRAIN_REHEARSAL,
        "metadata": cast(Json, metadata(view.cluster, view.options, view.tool_version)),
        "plan": cast(Json, plan_fields(view)),
        "endedSeconds": seconds(view.rehearsal.ended_s),
        "lateSeconds": seconds(view.late_s),
        "nodes": [node_fields(node) for node in view.nodes],
        "moments": [_moment(moment) for moment in view.moments],
        "refusals": [{"cause": known(each.cause), "count": each.times} for each in view.refusals],
        "pending": [{"pod": each.pod, "why": known(each.why), "before": each.before} for each in view.pending],
        "reEvicted": strings(view.re_evicted),
        "notEmptied": strings(node.name for node in view.not_emptied),
        "differences": strings(words.differences(view)),
        "notShown": strings(words.NOT_SHOWN),
        "findings": [finding(each) for each in view.planned.findings],
    }


def plan_fields(view: RehearsalView) -> Fields:
    """What it says; `estimate` is null where it does not tell how long it takes."""
    estimate = view.plan.estimate
    times: Fields | None = None
    if estimate is not None:
        times = {
            "p50": seconds(estimate.p50_s),
            "p95": seconds(estimate.p95_s),
            "usualSeconds": seconds(estimate.usual_s),
            "bake": bake_fields(view.bake),
        }
    return {
        "drained": len(view.nodes),
        "skipped": len(view.plan.skipped),
        "evictions": len(view.plan.evictions),
        "estimate": cast(Json, times),
    }


def node_fields(node: NodeRun) -> Fields:
    return {
        "name": node.name,
        "wave": node.target.wave or None,
        "begunSeconds": seconds(node.begun_s),
        "emptySeconds": seconds(node.empty_s),
        "doneSeconds": seconds(node.done_s),
        "evictions": node.evictions,
        "refusals": node.refusals,
        "left": strings(node.left),
    }


def _moment(moment: Moment) -> Fields:
    return {
        "atSeconds": seconds(moment.at_s),
        "what": moment.what.value,
        "subject": moment.subject,
        "node": known(moment.node),
        "why": known(moment.why),
    }


def seconds(value: float | None) -> float | None:
    return None if value is None else round(value, 3) + 0.0  # 0 and not -0
