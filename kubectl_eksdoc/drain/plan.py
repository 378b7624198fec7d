"""Assembly of the drain plan: facts and policy in, the complete plan out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Finding, Status, Subject, sort_findings
from kubectl_eksdoc.model.nodes import Node, Pod

from . import nodes, preemption
from . import placement as places
from .choice import (
    USER_ORDER,
    OrderedPlan,
    block_unplaced_pods,
    choose_order,
    node_waves,
    restarts_without_place,
    with_timeline,
)
from .duration import slow_nodes
from .duration.estimate import HeadroomLine, estimate, headroom_lines
from .judging import JudgedPod, Judgement, judge_pods, update_judgement
from .nodes import DrainContext, drain_context, natural_key
from .orders import NodeTasks, list_evictions, outage_findings, update_node_tasks
from .outcome import BudgetVerdict, DrainTarget, Eviction, NotEvictedPod, PodVerdict, TargetVerdict
from .policy import DrainPolicy
from .reservations import ReplacementPlaces
from .result import DrainPlan, Headroom
from .rollover import node_group_rollovers
from .rounds import (
    EvictionOrder,
    NodeWaves,
    arrange_rounds,
    assign_rounds,
    plain_limits,
    pods_needing_place,
)
from .rule_results import (
    assume_budget,
    assumption_notes,
    check_assumed_budgets,
    merge_findings,
    with_assumed_budgets,
)
from .timeline import build_tuple


def build_plan(
    cluster: Cluster, targets: Sequence[Node], policy: DrainPolicy, drained_by_eks: bool = False
) -> DrainPlan:
    """The effect of draining `targets`: every verdict, the order of evictions, every finding.

    `drained_by_eks`: EKS drains the nodes. Nodes of EKS Auto Mode, which EKS replaces itself, are then judged like
    others.
    """
    context = drain_context(cluster, tuple(targets), policy)
    if drained_by_eks:
        code = Code.of("node-auto-mode")
        context = replace(
            context, refused_nodes={name: each for name, each in context.refused_nodes.items() if each.code is not code}
        )
    settled_context, _, choice = judge_and_order(context)
    return assemble_plan(settled_context, choice, drained_by_eks)


def judge_and_order(context: DrainContext) -> tuple[DrainContext, Judgement, OrderedPlan]:
    """The judgement, the chosen order, and the context of both.

    A restart of a single replica needs a place for a second pod. Where there is none, the pod is judged again as
    without ``--surge-singles``; the returned context lists these pods (`without_surge_room`).
    """
    while True:
        judgement = judge_pods(context, context.accepted_nodes)
        choice = choose_order(context, judgement)
        without_room = (
            restarts_without_place(judgement, choice.judgement) if context.policy.surge_singles else frozenset()
        )
        if not without_room:
            return context, judgement, choice
        context = replace(context, without_surge_room=context.without_surge_room | without_room)


def assemble_plan(context: DrainContext, choice: OrderedPlan, drained_by_eks: bool = False) -> DrainPlan:
    """The plan for `choice`. `drained_by_eks`: see `build_plan`."""
    refused, targets, policy = context.refused_nodes, context.targets, context.policy
    judgement, order, placement = choice.judgement, choice.order, choice.placement
    evicted = Counter([booking.node for booking in order.bookings])
    rank = {name: i for i, name in enumerate(order.nodes, 1)}
    remarks = [finding for node in context.accepted_nodes for finding in nodes.node_remarks(node)]
    planned = tuple(
        sorted(
            (
                _drain_target(
                    context, node, refused.get(node.name), judgement, order, rank, evicted[node.name], placement.needs
                )
                for node in targets
            ),
            key=lambda t: (t.order == 0, t.order, natural_key(t.node.name)),
        )
    )
    timing = estimate(choice.pod_times, choice.timing_input)
    rows, not_evicted = (
        list_evictions(context, order, judgement.budgets, placement.places),
        _not_evicted_pods(context, refused, judgement),
    )
    return DrainPlan(
        policy=policy,
        targets=planned,
        evictions=rows,
        left=not_evicted,
        budgets=_budget_headroom(judgement, order, headroom_lines(context, judgement.budgets, timing)),
        findings=sort_findings(
            merge_findings(
                (
                    *refused.values(),
                    *remarks,
                    *judgement.findings(),
                    *outage_findings(context, order),
                    *places.placement_findings(context, placement),
                    *preemption.preemption_findings(
                        context, placement.preemption, (b.task.pod for b in order.bookings)
                    ),
                    *slow_nodes.slow_node_findings(timing.slow_nodes if timing else (), drained_by_eks),
                )
            )
        ),
        estimate=timing,
        handoffs=node_group_rollovers(
            context.cluster, planned, not_evicted, rows, policy, timing.slow_nodes if timing else ()
        ),
        tried_orders=choice.tried_orders,
        slots=choice.work.per_round,
        may_be_pending=_may_be_pending(context, rows, placement.may_be_pending),
    )


def _may_be_pending(context: DrainContext, evictions: Sequence[Eviction], uids: frozenset[str]) -> tuple[Subject, ...]:
    """The workloads of the evicted pods among `uids`, sorted."""
    if not uids:
        return ()
    workloads = {context.owner_subject(each.pod): None for each in evictions if each.pod.uid in uids}
    return tuple(sorted(workloads, key=str))


def _drain_target(
    context: DrainContext,
    node: Node,
    refusal: Finding | None,
    judgement: Judgement,
    order: EvictionOrder,
    rank: Mapping[str, int],
    evicted: int,
    needs: Mapping[str, tuple[str, ...]],
) -> DrainTarget:
    not_evicted = len(context.pods_on[node.name]) - evicted
    position = rank.get(node.name, 0)
    cordon_only = context.policy.cordon_skipped and not position and nodes.may_be_cordoned(node, refusal)
    if refusal is not None:
        verdict = TargetVerdict.UNKNOWN if refusal.status is Status.UNKNOWN else TargetVerdict.REFUSED
        why, freed_by = (refusal.message,), refusal.remedy[:1]
        return DrainTarget(node, verdict, 0, 0, evicted, not_evicted, why, freed_by=freed_by, cordon_only=cordon_only)
    holders = judgement.holding_pods(node.name)
    return DrainTarget(
        node=node,
        verdict=_target_verdict(holders, context.policy.partial),
        order=position,
        finish_round=order.finish_round.get(node.name, 0),
        wave=order.wave_of.get(node.name, 0),
        evictions=evicted,
        left=not_evicted,
        why=tuple(dict.fromkeys(f"{p.pod.key}: {result.reason}" for p in holders for result in p.deciding_results)),
        freed_by=tuple(dict.fromkeys(r for p in holders for result in p.deciding_results for r in result.remedy[:1])),
        cordon_only=cordon_only,
        needs=needs.get(node.name, ()) if position else (),
    )


def _target_verdict(holders: Sequence[JudgedPod], partial: bool) -> TargetVerdict:
    if not holders:
        return TargetVerdict.DRAINS
    if partial:
        return TargetVerdict.PARTIAL
    blocked = any(p.verdict is PodVerdict.BLOCKED for p in holders)
    return TargetVerdict.SKIPPED if blocked else TargetVerdict.UNKNOWN


def _not_evicted_pods(
    context: DrainContext, refused: Mapping[str, Finding], judgement: Judgement
) -> tuple[NotEvictedPod, ...]:
    not_evicted: list[NotEvictedPod] = []
    known_reasons: dict[object, tuple[tuple[str, ...], str]] = {}  # by ids of the results: replicas share them
    for name in sorted([*refused, *judgement.pods], key=natural_key):
        if (finding := refused.get(name)) is not None:
            codes, reason = (finding.code.name,), finding.message
            on_node = [NotEvictedPod(pod, name, PodVerdict.STAY, codes, reason) for pod in context.pods_on[name]]
        else:
            drained = judgement.is_drained(name, context.policy.partial)
            remaining = (p for p in judgement.pods[name] if p[1] is not PodVerdict.EVICT or not drained)
            on_node = [_not_evicted_pod(p, name, known_reasons) for p in remaining]
        on_node.sort(key=lambda not_evicted: (not_evicted.pod.namespace, natural_key(not_evicted.pod.name)))
        not_evicted += on_node
    return tuple(not_evicted)


def _not_evicted_pod(
    judged: JudgedPod, node: str, known_reasons: dict[object, tuple[tuple[str, ...], str]]
) -> NotEvictedPod:
    pod, verdict, results, _ = judged
    if verdict is PodVerdict.EVICT:
        return build_tuple(NotEvictedPod, (pod, node, PodVerdict.HELD, (), "could go, but its node is skipped"))
    key = verdict, *map(id, results)
    if key not in known_reasons:
        reasons = tuple(dict.fromkeys(result.reason for result in judged.deciding_results))
        codes = tuple(dict.fromkeys(result.code.name for result in judged.deciding_results if result.code is not None))
        known_reasons[key] = codes, "; ".join(reasons)
    return build_tuple(NotEvictedPod, (pod, node, verdict, *known_reasons[key]))


def _budget_headroom(
    judgement: Judgement, order: EvictionOrder, headroom_lines: Mapping[str, HeadroomLine]
) -> tuple[Headroom, ...]:
    to_evict = Counter([limit for booking in order.bookings for limit in booking.task.limits])
    return tuple(
        Headroom(
            budget=b.budget,
            verdict=BudgetVerdict.BLOCKED_NOW if key in judgement.exhausted_budgets else b.verdict,
            also=tuple(v for v in b.other_verdicts if v is not b.verdict),
            on_targets=len(b.on_targets),
            to_evict=to_evict[key],
            per_round=b.per_round,
            rounds=b.rounds,
            recomputed=b.recomputed,
            owner=b.owner,
            why=b.explanation,
            allowed_over_time=headroom_lines.get(key, ()),
        )
        for key, b in judgement.budgets.items()
    )


# What-if: a plan is kept with all intermediate results, and only the parts that a change affects are decided again.
# This makes repeated questions cheap, as a user asks them on a screen: the cluster is not indexed again, reserved
# places and the order of nodes stay. The answer is that of a new plan for the same order; a complete new plan also
# searches for a better order, and may be shorter.


INCREMENTAL_FIELDS = frozenset(
    {"assume_budgets", "assume_fixed", "max_unavailable", "pins", "evictions_per_second", "grace_seconds"}
)
"""The fields of a policy that may change without a complete new plan."""


@frozen
class PlanPreview:
    """The quick answer to a what-if question. `waves`: (nodes, rounds) of each wave, in order."""

    rounds: int
    waves: tuple[tuple[int, int], ...]
    drained_nodes: tuple[str, ...]  # in the order in which they are started
    skipped_nodes: tuple[str, ...]
    blockers: tuple[Finding, ...]


@frozen
class _ChangedPlan:
    context: DrainContext
    judgement: Judgement
    work: NodeTasks
    placement: ReplacementPlaces
    start_order: tuple[str, ...]
    waves: NodeWaves


class WhatIfPlan:
    """A plan that can be changed: answers how it would be under another policy."""

    def __init__(self, cluster: Cluster, targets: Sequence[Node], policy: DrainPolicy) -> None:
        """
        Raises:
            UsageError: a budget of ``--assume-budget`` does not exist.
        """
        self._cluster = cluster
        context = drain_context(with_assumed_budgets(cluster, policy), tuple(targets), policy)
        self._context, self._judgement, self._choice = judge_and_order(context)
        self._plain_limits = plain_limits(self._choice.work.tasks)
        self.plan = assemble_plan(self._context, self._choice)

    def preview(self, policy: DrainPolicy) -> PlanPreview:
        """Rounds, waves and blockers under `policy`, without times.

        Raises:
            UsageError: a budget of ``--assume-budget`` does not exist.
        """
        changed = self._changed_plan(policy)
        if changed is None:
            plan = self._plan_again(policy)
            drained = [target for target in plan.targets if target.order]
            return PlanPreview(
                rounds=plan.rounds,
                waves=_wave_sizes((target.wave, target.finish_round) for target in drained),
                drained_nodes=tuple(target.node.name for target in drained),
                skipped_nodes=tuple(target.node.name for target in plan.skipped),
                blockers=plan.blockers,
            )
        same_nodes = changed.work.tasks.keys() == self._choice.work.tasks.keys()
        known_limits = self._plain_limits if same_nodes else None
        rounds = assign_rounds(
            changed.work.tasks, changed.work.per_round, changed.start_order, changed.waves, known_limits
        )
        return PlanPreview(
            rounds=max(rounds.finish_round.values(), default=0),
            waves=_wave_sizes((changed.waves.wave_of[node], rounds.finish_round[node]) for node in changed.start_order),
            drained_nodes=changed.start_order,
            skipped_nodes=tuple(n.name for n in self._context.targets if n.name not in changed.work.tasks),
            blockers=_failing_findings(changed),
        )

    def plan_for(self, policy: DrainPolicy) -> DrainPlan:
        """The complete plan under `policy`, in the same order as far as possible.

        Raises:
            UsageError: a budget of ``--assume-budget`` does not exist.
        """
        changed = self._changed_plan(policy)
        if changed is None:
            return self._plan_again(policy)
        work = changed.work
        as_given = self._choice.tried_orders[0].name == USER_ORDER
        order = arrange_rounds(work.tasks, work.per_round, changed.start_order, changed.waves, keep_node_order=as_given)
        choice = replace(
            self._choice,
            judgement=changed.judgement,
            work=work,
            order=order,
            start_order=changed.start_order,
            placement=changed.placement,
            pod_times=self._choice.pod_times.with_context(changed.context),
            typical_run=None,
        )
        return assemble_plan(changed.context, with_timeline(choice))

    def _plan_again(self, policy: DrainPolicy) -> DrainPlan:
        return build_plan(with_assumed_budgets(self._cluster, policy), self._context.targets, policy)

    def _changed_plan(self, policy: DrainPolicy) -> _ChangedPlan | None:
        """The parts of the plan that differ under `policy`; None where a complete new plan is needed."""
        before = self._context.policy
        changed = {
            field.name for field in fields(DrainPolicy) if getattr(before, field.name) != getattr(policy, field.name)
        }
        if (
            not changed <= INCREMENTAL_FIELDS
            or policy.partial
            or self._judgement.exhausted_budgets
            or self._choice.judgement.exhausted_budgets
        ):
            return None
        if self._context.without_surge_room:
            return None  # another policy may leave room for a second pod
        if policy.surge is not None and changed & {"max_unavailable", "pins"}:
            return None  # places on new nodes were reserved for the waves of the old policy
        if any(task.permanent_limits for tasks in self._choice.work.tasks.values() for task in tasks):
            return None
        budgets = {key for key, _ in set(before.assume_budgets) ^ set(policy.assume_budgets)}
        context = self._assumed_context(policy, budgets) if budgets else replace(self._context, policy=policy)
        codes = before.assume_fixed ^ policy.assume_fixed
        budgets |= {key for key, b in self._judgement.budgets.items() if any(f.code.name in codes for f in b.findings)}
        budgets &= set(self._judgement.budgets)
        pods = {pod.uid: pod for key in budgets for pod in self._judgement.budgets[key].on_targets}
        if codes:
            all_judged = (judged for on_node in self._judgement.pods.values() for judged in on_node if judged.results)
            pods |= {p.pod.uid: p.pod for p in all_judged if any(s.code and s.code.name in codes for s in p.results)}
        return self._decide_again(context, budgets, list(pods.values()))

    def _assumed_context(self, policy: DrainPolicy, keys: Iterable[str]) -> DrainContext:
        """The context in which the budgets of `keys` are as `policy` assumes them; budgets without an assumption are as
        read."""
        check_assumed_budgets(self._cluster, policy)
        desired = dict(policy.assume_budgets)
        old_context = self._context
        real_budgets = {budget.key: budget for budget in self._cluster.budgets}
        new_budgets = {
            key: assume_budget(
                real_budgets[key],
                desired[key],
                old_context.pod_budgets.selected_pods(real_budgets[key]),
                old_context.scales,
                old_context.now,
            )
            if key in desired
            else real_budgets[key]
            for key in keys
        }
        cluster = replace(
            old_context.cluster,
            budgets=tuple(new_budgets.get(budget.key, budget) for budget in old_context.cluster.budgets),
            notes=(*self._cluster.notes, *assumption_notes(policy)),
        )
        return replace(
            old_context, cluster=cluster, policy=policy, pod_budgets=old_context.pod_budgets.with_budgets(new_budgets)
        )

    def _decide_again(self, context: DrainContext, budgets: Iterable[str], pods: Sequence[Pod]) -> _ChangedPlan | None:
        """Decide again what depends on `budgets` and on the verdicts of `pods`; None where more may depend on them."""
        base, previous, budgets = self._choice, self._judgement, list(budgets)
        judged = update_judgement(context, previous, budgets, pods)
        nodes = {
            name
            for name in {pod.node for pod in pods}
            if any(
                _verdict_differs(new_pods, old_judged)
                for new_pods, old_judged in zip(judged.pods[name], previous.pods[name], strict=True)
            )
        }
        # On all other nodes the verdicts after placement stay.
        judgement = replace(judged, pods={**base.judgement.pods, **{name: judged.pods[name] for name in nodes}})
        work = update_node_tasks(context, judgement, base.work, nodes, budgets)
        old_nodes = set(base.start_order)
        if not old_nodes <= work.tasks.keys():
            return None  # other pods may have had their places through its removal
        if any(task.permanent_limits for name in nodes for task in work.tasks.get(name, ())):
            return None
        new_pods = {
            name: pods_needing_place(work.tasks[name]) for name in nodes if name in work.tasks and name not in old_nodes
        }
        placement = base.placement
        if new_pods:
            if base.order.is_gated and context.policy.surge is not None:
                return None  # the added nodes would have to wait for the waves that add new nodes for them
            added = base.reservations.place_additional(new_pods)
            placement = _merge_placements(placement, added)
            if added.unplaced:
                judgement = block_unplaced_pods(context, judgement, added)
                if restarts_without_place(judged, judgement):
                    return None
                work = update_node_tasks(context, judgement, work, set(new_pods), budgets)
        start_order = (*base.start_order, *sorted(name for name in new_pods if name in work.tasks))
        same_waves = base.order.is_gated and _wave_options(context.policy) == _wave_options(self._context.policy)
        waves = node_waves(
            context, start_order, base.started_s, placement.needs, base.order.wave_of if same_waves else {}
        )
        return _ChangedPlan(context, judgement, work, placement, start_order, waves)


def _wave_options(policy: DrainPolicy) -> tuple[object, ...]:
    return policy.max_unavailable, policy.pins


def _verdict_differs(new_judged: JudgedPod, old_judged: JudgedPod) -> bool:
    return new_judged is not old_judged and (
        new_judged.verdict is not old_judged.verdict or new_judged.results != old_judged.results
    )


def _merge_placements(first: ReplacementPlaces, second: ReplacementPlaces) -> ReplacementPlaces:
    return ReplacementPlaces(
        unplaced={**first.unplaced, **second.unplaced},
        provisioned_nodes=Counter(first.provisioned_nodes) + Counter(second.provisioned_nodes),
        missing_nodes=Counter(first.missing_nodes) + Counter(second.missing_nodes),
        places={**first.places, **second.places},
        needs={**first.needs, **second.needs},
        uncertain={**first.uncertain, **second.uncertain},
        unknown_capacity=first.unknown_capacity,
        preemption=first.preemption.merge(second.preemption),
    )


def _failing_findings(changed: _ChangedPlan) -> tuple[Finding, ...]:
    context, placement = changed.context, changed.placement
    evicted = (task.pod for node_tasks in changed.work.tasks.values() for task in node_tasks)
    findings = (
        *context.refused_nodes.values(),
        *changed.judgement.findings(),
        *places.placement_findings(context, placement),
        *preemption.preemption_findings(context, placement.preemption, evicted),
    )
    return tuple(sort_findings(merge_findings(finding for finding in findings if finding.status is Status.FAIL)))


def _wave_sizes(wave_and_round: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """(nodes, rounds) of each wave, in order, from the wave and the last round of each node. Rounds before a wave do
    not count."""
    count: Counter[int] = Counter()
    last_round: Counter[int] = Counter()
    for wave, finish in wave_and_round:
        count[wave] += 1
        last_round[wave] = max(last_round[wave], finish)
    sizes, before = [], 0
    for wave in sorted(count):
        end = max(last_round[wave], before)
        sizes.append((count[wave], end - before))
        before = end
    return tuple(sizes)
