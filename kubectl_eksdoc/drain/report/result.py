"""The drain plan as ``-o json`` and ``-o yaml`` print it. Unknown values are null, never 0 or ""."""

from __future__ import annotations

from typing import Annotated, Literal

from kubectl_eksdoc.baseline.report import SinceResult
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.nodes import NodeOwner, Pod
from kubectl_eksdoc.report.command_result import CommandResult, metadata
from kubectl_eksdoc.report.result import (
    Code,
    Count,
    FindingResult,
    Lines,
    Meta,
    PositiveCount,
    Printed,
    RemedyResult,
    Seconds,
    Text,
    Texts,
    Timestamp,
    UnsetType,
    field,
)

from .. import outcome, result
from ..outcome import BudgetVerdict, TargetVerdict
from ..policy import EvictionMethod
from .plan import DrainView, current_status
from .result_parts import (
    ComparisonResult,
    EstimateResult,
    HandoffResult,
    LowerBoundResult,
    OptionsResult,
    TriedResult,
    estimate_of,
    lower_bound_of,
)
from .verdict import NO_RE_EVICTIONS, RE_EVICTIONS_POSSIBLE

_Positive = Annotated[float, Meta(gt=0, extra={"digits": 3})]


class _Wave(Printed):
    """Nodes that are drained together. Where afterWaveBefore is false, a node begins as soon as the nodes it needs are
    replaced: the waves are then generations."""

    wave: PositiveCount
    nodes: Texts
    evictions: Count
    start_seconds: Seconds | None
    done_seconds: Seconds | None
    after_wave_before: bool
    """Whether it begins only when all nodes of the wave before are done."""


def _wave(number: int, view: DrainView) -> _Wave:
    targets = [t for t in view.targets if t.wave == number]
    spans = [view.spans[t.node.name] for t in targets if t.node.name in view.spans]
    return _Wave.from_facts(
        wave=number,
        nodes=(t.node.name for t in targets),
        evictions=sum(t.evictions for t in targets),
        start_seconds=min((s.start_s for s in spans), default=None),
        done_seconds=max((s.done_s for s in spans), default=None),
        after_wave_before=number > 1 and not view.plan.uses_generations,
    )


class _ReEvictions(Printed):
    """How many pods are evicted twice, because their replacement is scheduled onto a node that is drained later, and
    why that number holds."""

    count: Count
    because: Text


class _Target(Printed):
    """A node to drain. order and finishRound are null where it is not drained; finishRound 0 means that no pod has to
    be evicted. Other nulls are unknown or do not exist."""

    name: Text
    uid: str
    verdict: TargetVerdict
    order: PositiveCount | None
    wave: PositiveCount | None
    finish_round: Count | None
    start_seconds: Seconds | None
    done_seconds: Seconds | None
    slow_done_seconds: Seconds | None
    """When it is done in the run that takes the p95."""
    evictions: Count
    left: Count
    group: Text | None
    owner: NodeOwner
    capacity_type: Text | None
    instance_type: Text | None
    zone: Text | None
    kubelet: Text | None
    os_image: Text | None
    created_at: Timestamp | None
    unschedulable: bool
    provider_id: Text | None = field(name="providerID")
    cordon_only: bool
    """It is not drained, and a run cordons it anyway."""
    why: Lines
    needs: Texts
    """Drained nodes whose replacement nodes must have joined before this node is begun."""


def _target(target: outcome.DrainTarget, view: DrainView) -> _Target:
    node = target.node
    span = view.spans.get(node.name)
    return _Target.from_facts(
        target,
        node,
        span,
        finish_round=target.finish_round if target.order else None,
        slow_done_seconds=span and view.p95_done_s.get(node.name, span.done_s),
        kubelet=node.kubelet_text,
    )


class _Eviction(Printed):
    """One eviction in order, and its method. budget is namespace/name, null when no budget counts the pod; owner is
    Kind/name, null for a bare pod. A uid that a dump has lost is Kind/namespace/name, as metadata.notes says."""

    position: PositiveCount
    round: PositiveCount
    namespace: Text
    name: Text
    uid: str
    node: Text
    budget: Text | None
    reason: str
    owner: Text | None
    owner_uid: Text | None
    """The uid of the pod's controller."""
    grace_seconds: Count
    lands_on: Text | None
    """The node where a place is reserved for the pod's replacement. NODE (new) is the node that replaces NODE, NODE
    (surge 1) is a new node like it. null: no place is reserved, or no replacement is created."""
    at_seconds: Seconds | None
    """When it is evicted in the run that takes the p50, in seconds from the first cordon. null: not estimated."""
    means: EvictionMethod
    """eviction: through the Eviction API, as its budget allows. restart: a rollout restart replaces it, and the new pod
    is Ready first. deletion: past its budget, because --delete-past-budget names it. patience: the drain waits for the
    pod and never evicts it, because its Job would fail."""
    restarts: Text | None
    """The workload that is restarted, as Kind/name; null for other means."""
    restarts_uid: Text | None
    waits_seconds: _Positive | None
    """How long it may finish by itself (--wait-jobs) before it is evicted, in seconds from the begin of its node; null:
    no wait."""


def _eviction(eviction: outcome.Eviction, view: DrainView) -> _Eviction:
    pod, eviction_mode = eviction.pod, eviction.eviction_mode
    restarts = eviction_mode.restarts
    return _Eviction.from_facts(
        eviction,
        eviction_mode,
        pod,
        owner=controller_name(pod),
        owner_uid=pod.owner and pod.owner.uid,
        grace_seconds=view.grace(pod),
        at_seconds=view.evicted_at.get(pod.uid),
        restarts=restarts and f"{restarts.kind}/{restarts.name}",
        restarts_uid=restarts and restarts.uid,
    )


def controller_name(pod: Pod) -> str | None:
    """``ReplicaSet/web-5f7``, or None for a pod without a controller."""
    return f"{pod.owner.kind}/{pod.owner.name}" if pod.owner else None


class _NotEvicted(Printed):
    """A pod on a target that is not evicted, and why."""

    called = {"namespace": "pod.namespace", "name": "pod.name", "uid": "pod.uid"}

    namespace: Text
    name: Text
    uid: str
    node: Text
    verdict: Literal["stay", "held", "blocked", "unknown"]
    codes: tuple[Code, ...]
    reason: str


class _Skipped(Printed):
    """A target that is not drained; pods are the pods that keep it, as namespace/name."""

    node: Text
    uid: str
    verdict: Literal["skipped", "refused", "unknown"]
    why: Lines
    pods: Texts
    freed_by: tuple[RemedyResult, ...]
    """The first remedy of each of its blockers: steps that would let it be drained."""


def _skipped(target: outcome.DrainTarget, view: DrainView) -> _Skipped:
    pods = (row.pod.key for row in view.blocking(target))
    freed_by = (each.for_target(view.command_target) for each in target.freed_by)
    return _Skipped.from_facts(target, target.node, node=target.node.name, pods=pods, freed_by=freed_by)


class _Numbers(Printed):
    """The status that the disruption controller would write, recomputed from the pods."""

    allowed: int
    current: Count
    desired: Count
    expected: Count


class _Budget(Printed):
    """A PodDisruptionBudget with pods on targets. current, desired and expected are null where its controller never
    computed them or reports that it cannot."""

    namespace: Text
    name: Text
    uid: str
    generation: Count
    rule: Text
    allowed: int
    current: Count | None
    desired: Count | None
    expected: Count | None
    on_targets: Count
    to_evict: Count
    per_round: Count
    rounds: Count
    verdict: BudgetVerdict
    also: tuple[BudgetVerdict, ...]
    recomputed: _Numbers | UnsetType
    owner: Text | None
    why: str

    @classmethod
    def of(cls, facts: result.Headroom) -> _Budget:
        budget = facts.budget
        return cls.from_facts(facts, budget, current_status(budget), allowed=budget.status.allowed)


class _Blocker(FindingResult):
    """A finding that fails."""

    status: Annotated[Status, Meta(extra_json_schema={"const": "fail"})]


class _Workload(Printed):
    kind: Text
    namespace: Text | None
    name: Text


class PlanResult(CommandResult):
    """The plan of a drain: kubectl eksdoc drain plan -o json. Lists are sorted; unknown values are null or left out,
    never 0."""

    kind: Literal["DrainPlan"]
    rounds: Count
    options: OptionsResult
    estimate: EstimateResult | None
    lower_bound: LowerBoundResult | None
    gap: Annotated[float, Meta(ge=0)] | None
    """How much longer this order takes than any other order could at the same pace of pods, at most: 0.03 is 3 %."""
    orders: tuple[TriedResult, ...]
    """The orders that were tried, the chosen one first."""
    waves: tuple[_Wave, ...]
    re_evictions: _ReEvictions | None
    """null: nothing is evicted."""
    targets: tuple[_Target, ...]
    evictions: tuple[_Eviction, ...]
    left: tuple[_NotEvicted, ...]
    skipped: tuple[_Skipped, ...]
    budgets: tuple[_Budget, ...]
    findings: tuple[FindingResult, ...]
    blockers: tuple[_Blocker, ...]
    """The findings that fail, again."""
    may_be_pending: tuple[_Workload, ...]
    """Workloads for whose replacements no room is left except the reserved places: some stay Pending where
    kube-scheduler fills nodes in another order."""
    not_judged: Texts
    """What this plan does not judge."""
    handoffs: tuple[HandoffResult, ...]
    """After the drain: how nodes join and leave, for each owner and group of the targets."""
    comparison: ComparisonResult | UnsetType
    """This plan compared with a saved one; only with --since (or --baseline)."""
    since: SinceResult | UnsetType

    @classmethod
    def of(cls, facts: DrainView) -> PlanResult:
        plan, comparison = facts.plan, facts.comparison
        because = RE_EVICTIONS_POSSIBLE if plan.open_targets else NO_RE_EVICTIONS
        return cls.from_facts(
            facts,
            plan,
            metadata=metadata(facts.cluster, facts),
            options=plan.policy,
            estimate=estimate_of(facts),
            lower_bound=lower_bound_of(plan.estimate),
            gap=plan.estimate and plan.estimate.gap,
            orders=plan.tried_orders,
            waves=(_wave(number, facts) for number in sorted({t.wave for t in facts.targets if t.wave})),
            re_evictions=_ReEvictions.from_facts(count=0, because=because) if facts.evictions else None,
            targets=(_target(each, facts) for each in facts.targets),
            evictions=(_eviction(each, facts) for each in facts.evictions),
            skipped=(_skipped(each, facts) for each in facts.targets if each.order == 0),
            may_be_pending=plan.may_be_pending,
            since=comparison and comparison.since,
        )
