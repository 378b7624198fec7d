"""Assembly of the drain plan: facts and policy in, the complete plan out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Finding, Status, Subject, in_order
from kubectl_eksdoc.model.nodes import Node, Pod

from . import nodes, preemption
from . import placement as places
from .choice import GIVEN, OrderedPlan, choose, timed, waves_of, without_a_second, without_homeless
from .course import made
from .duration import slow_nodes
from .duration.estimate import Line, estimate, headrooms
from .judging import JudgedPod, Judgement, judge_again, judge_pods
from .nodes import DrainContext, natural, survey
from .orders import NodeTasks, evictions, outages, work_again
from .outcome import BudgetVerdict, DrainTarget, Eviction, NotEvictedPod, PodVerdict, TargetVerdict
from .policy import DrainPolicy
from .reservations import ReplacementPlaces
from .result import DrainPlan, Headroom
from .rollover import hand_offs
from .rounds import (
    EvictionOrder,
    NodeWaves,
    arrange,
    assign,
    coming_again,
    plain_limits,
)
from .rule_results import (
    assumed,
    assumption_notes,
    check_assumed,
    merged,
    with_assumed_budgets,
)


def make_plan(cluster: Cluster, targets: Sequence[Node], policy: DrainPolicy, by_eks: bool = False) -> DrainPlan:
    """The effect of draining `targets`: every verdict, the order of evictions, every finding.

    `drained_by_eks`: EKS drains the nodes. Nodes of EKS Auto Mode, which EKS replaces itself, are then judged like
    others.
    """
    asked = survey(cluster, tuple(targets), policy)
    if by_eks:
        own = Code.of("node-auto-mode")
        asked = replace(asked, refused={name: each for name, each in asked.refused.items() if each.code is not own})
    world, _, chosen = settled(asked)
    return put_together(world, chosen, by_eks)


def settled(world: DrainContext) -> tuple[DrainContext, Judgement, OrderedPlan]:
    """The judgement, the chosen order, and the context of both.

    A restart of a single replica needs a place for a second pod. Where there is none, the pod is judged again as
    without ``--surge-singles``; the returned context lists these pods (`without_surge_room`).
    """
    while True:
        judgement = judge_pods(world, world.accepted)
        chosen = choose(world, judgement)
        alone = without_a_second(judgement, chosen.judgement) if world.policy.surge_singles else frozenset()
        if not alone:
            return world, judgement, chosen
        world = replace(world, no_second=world.no_second | alone)


def put_together(world: DrainContext, chosen: OrderedPlan, by_eks: bool = False) -> DrainPlan:
    """The plan for `choice`. `drained_by_eks`: see `build_plan`."""
    refused, targets, policy = world.refused, world.targets, world.policy
    judgement, order, landing = chosen.judgement, chosen.order, chosen.landing
    evicted = Counter([booking.node for booking in order.bookings])
    rank = {name: i for i, name in enumerate(order.nodes, 1)}
    remarks = [finding for node in world.accepted for finding in nodes.remarks(node)]
    planned = tuple(
        sorted(
            (
                _target(world, node, refused.get(node.name), judgement, order, rank, evicted[node.name], landing.needs)
                for node in targets
            ),
            key=lambda t: (t.order == 0, t.order, natural(t.node.name)),
        )
    )
    timed = estimate(chosen.clock, chosen.course)
    going, left = evictions(world, order, judgement.budgets, landing.places), _left(world, refused, judgement)
    return DrainPlan(
        policy=policy,
        targets=planned,
        evictions=going,
        left=left,
        budgets=_headroom(judgement, order, headrooms(world, judgement.budgets, timed)),
        findings=in_order(
            merged(
                (
                    *refused.values(),
                    *remarks,
                    *judgement.findings(),
                    *outages(world, order),
                    *places.findings(world, landing),
                    *preemption.findings(world, landing.preemption, (b.task.pod for b in order.bookings)),
                    *slow_nodes.findings(timed.slow_nodes if timed else (), by_eks),
                )
            )
        ),
        estimate=timed,
        handoffs=hand_offs(world.cluster, planned, left, going, policy, timed.slow_nodes if timed else ()),
        tried=chosen.tried,
        slots=chosen.work.per_round,
        tight=_tight(world, going, landing.tight),
    )


def _tight(world: DrainContext, going: Sequence[Eviction], tight: frozenset[str]) -> tuple[Subject, ...]:
    """The workloads of the evicted pods among `uids`, sorted."""
    if not tight:
        return ()
    found = {world.owner_subject(each.pod): None for each in going if each.pod.uid in tight}
    return tuple(sorted(found, key=str))


def _target(
    world: DrainContext,
    node: Node,
    refusal: Finding | None,
    judgement: Judgement,
    order: EvictionOrder,
    rank: Mapping[str, int],
    evicted: int,
    needs: Mapping[str, tuple[str, ...]],
) -> DrainTarget:
    left = len(world.pods_on[node.name]) - evicted
    place = rank.get(node.name, 0)
    cordon_only = world.policy.cordon_skipped and not place and nodes.may_be_cordoned(node, refusal)
    if refusal is not None:
        verdict = TargetVerdict.UNKNOWN if refusal.status is Status.UNKNOWN else TargetVerdict.REFUSED
        why, freed_by = (refusal.message,), refusal.remedy[:1]
        return DrainTarget(node, verdict, 0, 0, evicted, left, why, freed_by=freed_by, cordon_only=cordon_only)
    held = judgement.holding(node.name)
    return DrainTarget(
        node=node,
        verdict=_verdict(held, world.policy.partial),
        order=place,
        finish_round=order.finish.get(node.name, 0),
        wave=order.wave.get(node.name, 0),
        evictions=evicted,
        left=left,
        why=tuple(dict.fromkeys(f"{p.pod.key}: {said.reason}" for p in held for said in p.deciding)),
        freed_by=tuple(dict.fromkeys(r for p in held for said in p.deciding for r in said.remedy[:1])),
        cordon_only=cordon_only,
        needs=needs.get(node.name, ()) if place else (),
    )


def _verdict(held: Sequence[JudgedPod], partial: bool) -> TargetVerdict:
    if not held:
        return TargetVerdict.DRAINS
    if partial:
        return TargetVerdict.PARTIAL
    blocked = any(p.verdict is PodVerdict.BLOCKED for p in held)
    return TargetVerdict.SKIPPED if blocked else TargetVerdict.UNKNOWN


def _left(world: DrainContext, refused: Mapping[str, Finding], judgement: Judgement) -> tuple[NotEvictedPod, ...]:
    left: list[NotEvictedPod] = []
    said: dict[object, tuple[tuple[str, ...], str]] = {}  # by ids of the results: replicas share them
    for name in sorted([*refused, *judgement.pods], key=natural):
        if (finding := refused.get(name)) is not None:
            codes, reason = (finding.code.name,), finding.message
            on = [NotEvictedPod(pod, name, PodVerdict.STAY, codes, reason) for pod in world.pods_on[name]]
        else:
            drained = judgement.complete(name, world.policy.partial)
            judged = (p for p in judgement.pods[name] if p[1] is not PodVerdict.EVICT or not drained)
            on = [_left_pod(p, name, said) for p in judged]
        on.sort(key=lambda left: (left.pod.namespace, natural(left.pod.name)))
        left += on
    return tuple(left)


def _left_pod(judged: JudgedPod, node: str, known: dict[object, tuple[tuple[str, ...], str]]) -> NotEvictedPod:
    pod, verdict, told, _ = judged
    if verdict is PodVerdict.EVICT:
        return made(NotEvictedPod, (pod, node, PodVerdict.HELD, (), "could go, but its node is skipped"))
    key = verdict, *map(id, told)
    if key not in known:
        reasons = tuple(dict.fromkeys(said.reason for said in judged.deciding))
        codes = tuple(dict.fromkeys(said.code.name for said in judged.deciding if said.code is not None))
        known[key] = codes, "; ".join(reasons)
    return made(NotEvictedPod, (pod, node, verdict, *known[key]))


def _headroom(judgement: Judgement, order: EvictionOrder, lines: Mapping[str, Line]) -> tuple[Headroom, ...]:
    to_evict = Counter([limit for booking in order.bookings for limit in booking.task.limits])
    return tuple(
        Headroom(
            budget=b.budget,
            verdict=BudgetVerdict.BLOCKED_NOW if key in judgement.used_up else b.verdict,
            also=tuple(v for v in b.also if v is not b.verdict),
            on_targets=len(b.on_targets),
            to_evict=to_evict[key],
            per_round=b.per_round,
            rounds=b.rounds,
            recomputed=b.recomputed,
            owner=b.owner,
            why=b.why,
            over_time=lines.get(key, ()),
        )
        for key, b in judgement.budgets.items()
    )


# What-if: a plan is kept with all intermediate results, and only the parts that a change affects are decided again.
# This makes repeated questions cheap, as a user asks them on a screen: the cluster is not indexed again, reserved
# places and the order of nodes stay. The answer is that of a new plan for the same order; a complete new plan also
# searches for a better order, and may be shorter.


QUICK = frozenset(
    {"assume_budgets", "assume_fixed", "max_unavailable", "pins", "evictions_per_second", "grace_seconds"}
)
"""The fields of a policy that may change without a complete new plan."""


@frozen
class Preview:
    """The quick answer to a what-if question. `waves`: (nodes, rounds) of each wave, in order."""

    rounds: int
    waves: tuple[tuple[int, int], ...]
    drained: tuple[str, ...]  # in the order in which they are started
    skipped: tuple[str, ...]
    blockers: tuple[Finding, ...]


@frozen
class _Changed:
    world: DrainContext
    judgement: Judgement
    work: NodeTasks
    landing: ReplacementPlaces
    activation: tuple[str, ...]
    waves: NodeWaves


class WhatIf:
    """A plan that can be changed: answers how it would be under another policy."""

    def __init__(self, cluster: Cluster, targets: Sequence[Node], policy: DrainPolicy) -> None:
        """
        Raises:
            UsageError: a budget of ``--assume-budget`` does not exist.
        """
        self._cluster = cluster
        world = survey(with_assumed_budgets(cluster, policy), tuple(targets), policy)
        self._world, self._judged, self._chosen = settled(world)
        self._plain = plain_limits(self._chosen.work.tasks)
        self.plan = put_together(self._world, self._chosen)

    def preview(self, policy: DrainPolicy) -> Preview:
        """Rounds, waves and blockers under `policy`, without times.

        Raises:
            UsageError: a budget of ``--assume-budget`` does not exist.
        """
        changed = self._change(policy)
        if changed is None:
            plan = self._anew(policy)
            drained = [target for target in plan.targets if target.order]
            return Preview(
                rounds=plan.rounds,
                waves=_waves((target.wave, target.finish_round) for target in drained),
                drained=tuple(target.node.name for target in drained),
                skipped=tuple(target.node.name for target in plan.skipped),
                blockers=plan.blockers,
            )
        same = changed.work.tasks.keys() == self._chosen.work.tasks.keys()
        plain = self._plain if same else None
        rounds = assign(changed.work.tasks, changed.work.per_round, changed.activation, changed.waves, plain)
        return Preview(
            rounds=max(rounds.finish.values(), default=0),
            waves=_waves((changed.waves.of[node], rounds.finish[node]) for node in changed.activation),
            drained=changed.activation,
            skipped=tuple(n.name for n in self._world.targets if n.name not in changed.work.tasks),
            blockers=_blockers(changed),
        )

    def plan_for(self, policy: DrainPolicy) -> DrainPlan:
        """The complete plan under `policy`, in the same order as far as possible.

        Raises:
            UsageError: a budget of ``--assume-budget`` does not exist.
        """
        changed = self._change(policy)
        if changed is None:
            return self._anew(policy)
        work = changed.work
        as_given = self._chosen.tried[0].name == GIVEN
        order = arrange(work.tasks, work.per_round, changed.activation, changed.waves, as_given=as_given)
        chosen = replace(
            self._chosen,
            judgement=changed.judgement,
            work=work,
            order=order,
            activation=changed.activation,
            landing=changed.landing,
            clock=self._chosen.clock.seen_by(changed.world),
            usual=None,
        )
        return put_together(changed.world, timed(chosen))

    def _anew(self, policy: DrainPolicy) -> DrainPlan:
        return make_plan(with_assumed_budgets(self._cluster, policy), self._world.targets, policy)

    def _change(self, policy: DrainPolicy) -> _Changed | None:
        """The parts of the plan that differ under `policy`; None where a complete new plan is needed."""
        was = self._world.policy
        differ = {
            field.name for field in fields(DrainPolicy) if getattr(was, field.name) != getattr(policy, field.name)
        }
        if not differ <= QUICK or policy.partial or self._judged.used_up or self._chosen.judgement.used_up:
            return None
        if self._world.no_second:
            return None  # another policy may leave room for a second pod
        if policy.surge is not None and differ & {"max_unavailable", "pins"}:
            return None  # places on new nodes were reserved for the waves of the old policy
        if any(task.for_good for tasks in self._chosen.work.tasks.values() for task in tasks):
            return None
        budgets = {key for key, _ in set(was.assume_budgets) ^ set(policy.assume_budgets)}
        world = self._assuming(policy, budgets) if budgets else replace(self._world, policy=policy)
        codes = was.assume_fixed ^ policy.assume_fixed
        budgets |= {key for key, b in self._judged.budgets.items() if any(f.code.name in codes for f in b.findings)}
        budgets &= set(self._judged.budgets)
        pods = {pod.uid: pod for key in budgets for pod in self._judged.budgets[key].on_targets}
        if codes:
            every = (judged for on in self._judged.pods.values() for judged in on if judged.said)
            pods |= {p.pod.uid: p.pod for p in every if any(s.code and s.code.name in codes for s in p.said)}
        return self._decided(world, budgets, list(pods.values()))

    def _assuming(self, policy: DrainPolicy, keys: Iterable[str]) -> DrainContext:
        """The context in which the budgets of `keys` are as `policy` assumes them; budgets without an assumption are as
        read."""
        check_assumed(self._cluster, policy)
        wanted = dict(policy.assume_budgets)
        was = self._world
        real = {budget.key: budget for budget in self._cluster.budgets}
        new = {
            key: assumed(real[key], wanted[key], was.guards.pods(real[key]), was.scales, was.now)
            if key in wanted
            else real[key]
            for key in keys
        }
        cluster = replace(
            was.cluster,
            budgets=tuple(new.get(budget.key, budget) for budget in was.cluster.budgets),
            notes=(*self._cluster.notes, *assumption_notes(policy)),
        )
        return replace(was, cluster=cluster, policy=policy, guards=was.guards.with_others(new))

    def _decided(self, world: DrainContext, budgets: Iterable[str], pods: Sequence[Pod]) -> _Changed | None:
        """Decide again what depends on `budgets` and on the verdicts of `pods`; None where more may depend on them."""
        base, was, budgets = self._chosen, self._judged, list(budgets)
        judged = judge_again(world, was, budgets, pods)
        nodes = {
            name
            for name in {pod.node for pod in pods}
            if any(_differs(new, old) for new, old in zip(judged.pods[name], was.pods[name], strict=True))
        }
        # On all other nodes the verdicts after placement stay.
        judgement = replace(judged, pods={**base.judgement.pods, **{name: judged.pods[name] for name in nodes}})
        work = work_again(world, judgement, base.work, nodes, budgets)
        before = set(base.activation)
        if not before <= work.tasks.keys():
            return None  # other pods may have had their places through its removal
        if any(task.for_good for name in nodes for task in work.tasks.get(name, ())):
            return None
        new = {name: coming_again(work.tasks[name]) for name in nodes if name in work.tasks and name not in before}
        landing = base.landing
        if new:
            if base.order.gated and world.policy.surge is not None:
                return None  # the added nodes would have to wait for the waves that add new nodes for them
            found = base.ground.extend(new)
            landing = _both(landing, found)
            if found.homeless:
                judgement = without_homeless(world, judgement, found)
                if without_a_second(judged, judgement):
                    return None
                work = work_again(world, judgement, work, set(new), budgets)
        activation = (*base.activation, *sorted(name for name in new if name in work.tasks))
        same = base.order.gated and _gates(world.policy) == _gates(self._world.policy)
        waves = waves_of(world, activation, base.begun_s, landing.needs, base.order.wave if same else {})
        return _Changed(world, judgement, work, landing, activation, waves)


def _gates(policy: DrainPolicy) -> tuple[object, ...]:
    return policy.max_unavailable, policy.pins


def _differs(new: JudgedPod, old: JudgedPod) -> bool:
    return new is not old and (new.verdict is not old.verdict or new.said != old.said)


def _both(one: ReplacementPlaces, other: ReplacementPlaces) -> ReplacementPlaces:
    return ReplacementPlaces(
        homeless={**one.homeless, **other.homeless},
        coming=Counter(one.coming) + Counter(other.coming),
        missing=Counter(one.missing) + Counter(other.missing),
        places={**one.places, **other.places},
        needs={**one.needs, **other.needs},
        unsure={**one.unsure, **other.unsure},
        blind=one.blind,
        preemption=one.preemption.and_of(other.preemption),
    )


def _blockers(changed: _Changed) -> tuple[Finding, ...]:
    world, landing = changed.world, changed.landing
    evicted = (task.pod for given in changed.work.tasks.values() for task in given)
    said = (
        *world.refused.values(),
        *changed.judgement.findings(),
        *places.findings(world, landing),
        *preemption.findings(world, landing.preemption, evicted),
    )
    return tuple(in_order(merged(finding for finding in said if finding.status is Status.FAIL)))


def _waves(nodes: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """(nodes, rounds) of each wave, in order, from the wave and the last round of each node. Rounds before a wave do
    not count."""
    count: Counter[int] = Counter()
    last: Counter[int] = Counter()
    for wave, finish in nodes:
        count[wave] += 1
        last[wave] = max(last[wave], finish)
    found, before = [], 0
    for wave in sorted(count):
        end = max(last[wave], before)
        found.append((count[wave], end - before))
        before = end
    return tuple(found)
