"""The drain plan as one plain document: what ``-o json`` and ``-o yaml`` print, as DrainPlan.json says.

What is not known is null; nothing unknown becomes 0 or "".
"""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.budgets import BudgetStatus
from kubectl_eksdoc.core.model.documents import API_VERSION, DRAIN_PLAN
from kubectl_eksdoc.core.model.findings import Subject
from kubectl_eksdoc.core.model.options import plain
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.choice.chosen import Tried
from kubectl_eksdoc.core.plan.drain.duration.estimate import Estimate
from kubectl_eksdoc.core.plan.drain.handoff.offers import HandOff, Option, Step
from kubectl_eksdoc.core.plan.drain.outcome import Eviction, Left, Target
from kubectl_eksdoc.core.plan.drain.result import Headroom
from kubectl_eksdoc.core.run.baking import Bake
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, moment, remedy, strings
from kubectl_eksdoc.render.drain.comparison.document import comparison_fields
from kubectl_eksdoc.render.drain.fence import BUT_OPEN, NO_RE_EVICTIONS
from kubectl_eksdoc.render.drain.view import DrainView, status_of
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.since.document import since_fields


def document(view: DrainView) -> Fields:
    """The whole plan. Lists are sorted, so the same plan is the same document."""
    not_drained = [t for t in view.targets if t.order == 0]
    return {
        "apiVersion": API_VERSION,
        "kind": DRAIN_PLAN,
        "metadata": cast(Json, metadata(view.cluster, view.options, view.tool_version)),
        "rounds": view.plan.rounds,
        "options": cast(Json, plain(view.plan.policy)),
        "estimate": cast(Json, _estimate(view)),
        "lowerBound": cast(Json, _lower_bound(view)),
        "gap": None if view.plan.estimate is None else view.plan.estimate.gap,
        "orders": [_tried(tried) for tried in view.plan.tried],
        "waves": [_wave(number, view) for number in sorted({t.wave for t in view.targets if t.wave})],
        "reEvictions": cast(Json, _re_evictions(view)),
        "targets": [_target(t, view) for t in view.targets],
        "evictions": [_eviction(e, view) for e in view.evictions],
        "left": [_left(row) for row in view.left],
        "skipped": [_skipped(t, view) for t in not_drained],
        "budgets": [_budget(h) for h in view.budgets],
        "findings": [finding(f) for f in view.findings],
        "blockers": [finding(f) for f in view.blockers],
        "mayBePending": [_subject(each) for each in view.plan.tight],
        "notJudged": strings(view.plan.not_judged),
        "handoffs": [_handoff(h) for h in view.handoffs],
        **_comparison(view),
    }


def _comparison(view: DrainView) -> Fields:
    """Left out where no baseline was given."""
    if view.comparison is None:
        return {}
    return {"comparison": cast(Json, comparison_fields(view.comparison)), **since_fields(view.comparison.since)}


def bake_fields(bake: Bake | None) -> Fields | None:
    """What a run adds to its estimate; null where it does not wait between waves."""
    return None if bake is None else {"seconds": _seconds(bake.each_s), "times": bake.times}


def _estimate(view: DrainView) -> Fields | None:
    """Seconds; null when nothing is drained."""
    estimate = view.plan.estimate
    if estimate is None:
        return None
    return {
        "p50": _seconds(estimate.p50_s),
        "p95": _seconds(estimate.p95_s),
        "sampledRuns": estimate.runs,
        "sampledEvictions": (estimate.part or len(view.evictions)) if estimate.runs else 0,
        "stopTimes": {"measured": estimate.measured, "workloads": estimate.workloads},
        "peakAway": estimate.peak_away,
        "assumptions": strings(estimate.assumptions),
        "bake": bake_fields(view.bake),
        "decides": _decides(estimate),
    }


def _decides(estimate: Estimate) -> Json:
    """What the estimate would change with; null where nothing is scarce."""
    if not estimate.bounds:
        return None
    binds = estimate.bounds[0]
    return {
        "binding": binds.name.value,
        "subject": known(binds.subject),
        "about": binds.about,
        "relax": binds.relax,
        "tried": [
            {"change": r.change, "seconds": _seconds(r.makespan_s), "saves": _seconds(r.saved_s)}
            for r in estimate.relaxations
        ],
    }


def _wave(number: int, view: DrainView) -> Fields:
    """The nodes that are drained together, in order, and when they are, in seconds of the run that takes the p50."""
    targets = [t for t in view.targets if t.wave == number]
    spans = [view.spans[t.node.name] for t in targets if t.node.name in view.spans]
    return {
        "wave": number,
        "nodes": strings(t.node.name for t in targets),
        "evictions": sum(t.evictions for t in targets),
        "startSeconds": _seconds(min(s.start_s for s in spans)) if spans else None,
        "doneSeconds": _seconds(max(s.done_s for s in spans)) if spans else None,
        "afterWaveBefore": number > 1 and not view.plan.in_generations,
    }


def _re_evictions(view: DrainView) -> Fields | None:
    """Pods that are evicted twice, and what that number rests on; null when nothing is evicted."""
    because = BUT_OPEN if view.plan.open_targets else NO_RE_EVICTIONS
    return {"count": 0, "because": because} if view.evictions else None


def _tried(tried: Tried) -> Fields:
    """An order that was tried, `seconds` as the search simulated it."""
    return {"order": tried.name, "seconds": _seconds(tried.makespan_s), "notDrained": tried.not_drained}


def _lower_bound(view: DrainView) -> Fields | None:
    """What no run can beat, whatever its order and however fast pods are; null when nothing is drained."""
    estimate = view.plan.estimate
    if estimate is None or not estimate.least:
        return None
    binds = estimate.least[0]
    return {
        "seconds": _seconds(binds.seconds),
        "binding": binds.name.value,
        "subject": known(binds.subject),
        "about": binds.about,
        "all": [
            {"binding": b.name.value, "subject": known(b.subject), "seconds": _seconds(b.seconds)}
            for b in estimate.least
        ],
    }


def _seconds(value: float) -> float:
    return round(value, 3)


def _target(target: Target, view: DrainView) -> Fields:
    """`order`, `finishRound` and the times are null for a node that is not drained."""
    node = target.node
    span = view.spans.get(node.name)
    return {
        "name": node.name,
        "uid": node.uid,
        "verdict": target.verdict.value,
        "order": target.order or None,
        "wave": target.wave or None,
        "finishRound": target.finish_round if target.order else None,
        "startSeconds": None if span is None else _seconds(span.start_s),
        "doneSeconds": None if span is None else _seconds(span.done_s),
        "slowDoneSeconds": None if span is None else _seconds(view.slow_s.get(node.name, span.done_s)),
        "evictions": target.evictions,
        "left": target.left,
        "group": known(node.group),
        "owner": node.owner.value,
        "capacityType": known(node.capacity_type),
        "instanceType": known(node.instance_type),
        "zone": known(node.zone),
        "kubelet": known(node.kubelet_text),
        "osImage": known(node.os_image),
        "createdAt": moment(node.created_at),
        "unschedulable": node.unschedulable,
        "providerID": known(node.provider_id),
        "cordonOnly": target.cordon_only,
        "why": strings(target.why),
        "needs": strings(target.needs),
    }


def _eviction(eviction: Eviction, view: DrainView) -> Fields:
    pod, manner = eviction.pod, eviction.manner
    return {
        "position": eviction.position,
        "round": eviction.round,
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "node": eviction.node,
        "budget": known(eviction.budget),
        "reason": eviction.reason,
        "owner": controller(pod),
        "ownerUid": known(pod.owner.uid) if pod.owner else None,
        "graceSeconds": view.grace(pod),
        "landsOn": known(eviction.lands_on),
        "atSeconds": None if (at := view.evicted_at.get(pod.uid)) is None else _seconds(at),
        "means": manner.means.value,
        "restarts": None if manner.restarts is None else f"{manner.restarts.kind}/{manner.restarts.name}",
        "restartsUid": None if manner.restarts is None else manner.restarts.uid,
        "waitsSeconds": _seconds(manner.waits_s) if manner.waits_s else None,
    }


def _subject(of: Subject) -> Fields:
    return {"kind": of.kind, "namespace": known(of.namespace), "name": of.name}


def controller(pod: Pod) -> str | None:
    """``ReplicaSet/web-5f7``, None for a pod without a controller."""
    return f"{pod.owner.kind}/{pod.owner.name}" if pod.owner else None


def _left(row: Left) -> Fields:
    return {
        "namespace": row.pod.namespace,
        "name": row.pod.name,
        "uid": row.pod.uid,
        "node": row.node,
        "verdict": row.verdict.value,
        "codes": strings(row.codes),
        "reason": row.reason,
    }


def _skipped(target: Target, view: DrainView) -> Fields:
    return {
        "node": target.node.name,
        "uid": target.node.uid,
        "verdict": target.verdict.value,
        "why": strings(target.why),
        "pods": strings(row.pod.key for row in view.blocking(target)),
        "freedBy": [remedy(r) for r in target.freed_by],
    }


def _budget(headroom: Headroom) -> Fields:
    """`current`, `desired` and `expected` are null where the controller has not computed them."""
    budget, status = headroom.budget, status_of(headroom.budget)
    fields: Fields = {
        "namespace": budget.namespace,
        "name": budget.name,
        "uid": budget.uid,
        "generation": budget.generation,
        "rule": budget.rule,
        "allowed": budget.status.allowed,
        "current": status.current if status else None,
        "desired": status.desired if status else None,
        "expected": status.expected if status else None,
        "onTargets": headroom.on_targets,
        "toEvict": headroom.to_evict,
        "perRound": headroom.per_round,
        "rounds": headroom.rounds,
        "verdict": headroom.verdict.value,
        "also": strings(verdict.value for verdict in headroom.also),
    }
    if headroom.recomputed is not None:
        fields["recomputed"] = cast(Json, _numbers(headroom.recomputed))
    return fields | {"owner": known(headroom.owner), "why": headroom.why}


def _numbers(status: BudgetStatus) -> Fields:
    return {
        "allowed": status.allowed,
        "current": status.current,
        "desired": status.desired,
        "expected": status.expected,
    }


def _handoff(handoff: HandOff) -> Fields:
    return {
        "owner": handoff.owner.value,
        "group": known(handoff.group),
        "nodes": strings(handoff.nodes),
        "kept": strings(handoff.kept),
        "arrive": [_step(step) for step in handoff.arrive],
        "leave": [_step(step) for step in handoff.leave],
        "beware": strings(handoff.beware),
        "instead": [_way(option) for option in handoff.instead],
    }


def _step(step: Step) -> Fields:
    return {"text": step.text, "commands": strings(step.commands)}


def _way(option: Option) -> Fields:
    return {
        "way": option.way.value,
        "nodes": option.nodes,
        "surge": option.surge,
        "surgeWhy": option.surge_why,
        "order": option.order,
        "waits": option.waits,
        "leastSeconds": option.least_seconds,
        "wayBack": option.way_back,
        "stoppedBy": strings(option.stopped_by),
        "mayBeStoppedBy": strings(option.may_be_stopped_by),
        "evictedUnasked": strings(option.unasked),
        "notJudged": strings(option.not_judged),
    }
