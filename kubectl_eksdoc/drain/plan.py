"""Put together: facts and policy in, the whole drain plan out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.drain import nodes
from kubectl_eksdoc.drain.choice import OrderedPlan, choose, without_a_second
from kubectl_eksdoc.drain.course import made
from kubectl_eksdoc.drain.duration import slow_nodes
from kubectl_eksdoc.drain.duration.estimate import Line, estimate, headrooms
from kubectl_eksdoc.drain.handoff.handing import hand_offs
from kubectl_eksdoc.drain.landing import places, preempting
from kubectl_eksdoc.drain.nodes import DrainContext, natural, survey
from kubectl_eksdoc.drain.order.rounds import EvictionOrder
from kubectl_eksdoc.drain.order.strategies import evictions, outages
from kubectl_eksdoc.drain.outcome import BudgetVerdict, DrainTarget, Eviction, NotEvictedPod, PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan, Headroom
from kubectl_eksdoc.drain.verdicts.judging import JudgedPod, Judgement, judge_pods
from kubectl_eksdoc.drain.verdicts.said import merged
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Finding, Status, Subject, in_order
from kubectl_eksdoc.model.nodes import Node


def make_plan(cluster: Cluster, targets: Sequence[Node], policy: DrainPolicy, by_eks: bool = False) -> DrainPlan:
    """What draining `targets` does: every verdict, the order of evictions, every finding. `by_eks`: EKS drains them,
    and what it keeps for itself, nodes of Auto Mode, is judged as any other."""
    asked = survey(cluster, tuple(targets), policy)
    if by_eks:
        own = Code.of("node-auto-mode")
        asked = replace(asked, refused={name: each for name, each in asked.refused.items() if each.code is not own})
    world, _, chosen = settled(asked)
    return put_together(world, chosen, by_eks)


def settled(world: DrainContext) -> tuple[DrainContext, Judgement, OrderedPlan]:
    """What is judged and chosen. Singles that would be restarted, and whose new pod finds no place while they are
    there, go as they would without that: the world that is returned knows them."""
    while True:
        judgement = judge_pods(world, world.accepted)
        chosen = choose(world, judgement)
        alone = without_a_second(judgement, chosen.judgement) if world.policy.surge_singles else frozenset()
        if not alone:
            return world, judgement, chosen
        world = replace(world, no_second=world.no_second | alone)


def put_together(world: DrainContext, chosen: OrderedPlan, by_eks: bool = False) -> DrainPlan:
    """The plan for what was chosen. `by_eks`: as of `make_plan`."""
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
                    *preempting.findings(world, landing.preemption, (b.task.pod for b in order.bookings)),
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
    """The workloads of those that go."""
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
    said: dict[object, tuple[tuple[str, ...], str]] = {}  # by ids of what decides: replicas share it
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
