"""The drain plan as data: shown by all screens and formats, and executed by a later run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.model.findings import Finding, Status, Subject

from .choice import TriedOrder
from .duration.estimate import Estimate
from .outcome import BudgetVerdict, DrainTarget, Eviction, NotEvictedPod
from .policy import DrainPolicy, EvictionMethod
from .rollover_offers import NodeGroupRollover


@frozen
class Headroom:
    """One budget in this drain. `per_round`: how many of its pods may go at once.

    `allowed_over_time`: (second, disruptions allowed from then on) in the run with p50 times; only the slowest have it.
    """

    budget: Budget
    verdict: BudgetVerdict
    also: tuple[BudgetVerdict, ...]
    on_targets: int
    to_evict: int
    per_round: int
    rounds: int
    recomputed: BudgetStatus | None
    owner: str
    why: str
    allowed_over_time: tuple[tuple[float, int], ...] = ()


NOT_JUDGED = (
    "whether the subnets of the nodes on which pods land have addresses left",
    ("what happens to preempted pods: where they are scheduled, and which pods they preempt in turn"),
)
"""Aspects that no plan judges."""


_MAX_NAMES = 6


def _join_names(names: Sequence[str]) -> str:
    hidden_count = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {hidden_count} more" if hidden_count > 0 else "")


@frozen
class DrainPlan:
    """The plan. `left` and `evictions` together contain every pod on every target exactly once."""

    policy: DrainPolicy
    targets: tuple[DrainTarget, ...]
    evictions: tuple[Eviction, ...]
    left: tuple[NotEvictedPod, ...]
    budgets: tuple[Headroom, ...]
    findings: tuple[Finding, ...]
    estimate: Estimate | None = None
    handoffs: tuple[NodeGroupRollover, ...] = ()
    tried_orders: tuple[TriedOrder, ...] = ()  # the chosen one first
    may_be_pending: tuple[Subject, ...] = ()  # workloads without room for one more pod
    slots: Mapping[str, int] = field(default_factory=dict)  # limit → how many of its pods may be away at once

    @property
    def uses_generations(self) -> bool:
        """Whether a node is started as soon as the nodes it needs are replaced; else a wave waits for the wave
        before."""
        policy = self.policy
        return policy.surge is not None and not policy.max_unavailable and not policy.pins

    @property
    def past_budgets(self) -> tuple[Eviction, ...]:
        """The pods that are deleted past their budgets, in order; before a run the user types their names as
        confirmation."""
        return self._by_method(EvictionMethod.DELETE)

    @property
    def restarts(self) -> tuple[Eviction, ...]:
        """The pods that a rollout replaces, in order."""
        return self._by_method(EvictionMethod.RESTART)

    def _by_method(self, method: EvictionMethod) -> tuple[Eviction, ...]:
        return tuple(eviction for eviction in self.evictions if eviction.eviction_mode.means is method)

    @property
    def rounds(self) -> int:
        return max((eviction.round for eviction in self.evictions), default=0)

    @property
    def skipped(self) -> tuple[DrainTarget, ...]:
        return tuple(target for target in self.targets if target.order == 0)

    @property
    def open_targets(self) -> tuple[DrainTarget, ...]:
        """The targets that a run neither drains nor cordons, though it could: evicted pods can be scheduled there."""
        return (
            ()
            if self.policy.cordon_skipped
            else tuple(target for target in self.skipped if not target.node.unschedulable)
        )

    @property
    def not_judged(self) -> tuple[str, ...]:
        """Aspects that the plan does not judge, so that a missing finding is not taken for a pass."""
        statements = []
        if self.open_targets:
            names = _join_names([target.node.name for target in self.open_targets])
            statements.append(
                f"the room on the skipped targets, which are not cordoned (--no-cordon-skipped): {names}; evicted pods "
                "can be scheduled onto them and are then evicted a second time"
            )
        if self.may_be_pending:
            workloads_text = _join_names([f"{workload.kind} {workload}" for workload in self.may_be_pending])
            statements.append(
                "which pods kube-scheduler places first: beside their own no room is left for one more pod of "
                f"{workloads_text}; where it fills nodes in another order, some of their replacements are Pending"
            )
        return (*statements, *NOT_JUDGED)

    @property
    def cordoned_only(self) -> tuple[DrainTarget, ...]:
        """The targets that a run cordons and does not drain."""
        return tuple(target for target in self.targets if target.cordon_only)

    @property
    def blockers(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.status is Status.FAIL)

    @property
    def unknowns(self) -> tuple[Finding, ...]:
        """Findings that could not be judged and that the policy does not accept."""
        return tuple(
            finding
            for finding in self.findings
            if finding.status is Status.UNKNOWN and finding.code.name not in self.policy.accept_unknown
        )
