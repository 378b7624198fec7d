"""The drain plan as data: what every face shows, and what a later run executes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.core.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Status
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.bounds import Bound
from kubectl_eksdoc.core.plan.drain.handoff import HandOff
from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy
from kubectl_eksdoc.core.plan.drain.relaxing import Relaxation
from kubectl_eksdoc.core.sim.drain import Span


class PodVerdict(str, Enum):
    """Exactly one for every pod on a target."""

    EVICT = "evict"
    STAY = "stay"  # a DaemonSet's, a static pod, not selected, already leaving
    HELD = "held"  # could go, but its target is skipped
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


class BudgetVerdict(str, Enum):
    """One for every budget with pods on targets; the first that holds, in this order."""

    SEVERAL_BUDGETS = "several-budgets"
    BLOCKED_FOREVER = "blocked-forever"
    UNHEALTHY = "unhealthy"
    STALE = "stale"
    BLOCKED_NOW = "blocked-now"
    DISAGREES = "disagrees"
    SERIAL = "serial"
    FITS = "fits"


class TargetVerdict(str, Enum):
    DRAINS = "drains"
    PARTIAL = "partial"  # drained as far as possible, because --partial was given
    SKIPPED = "skipped"  # a pod on it cannot go
    REFUSED = "refused"  # not a node that is drained: Fargate, Auto Mode, somebody else's drain
    UNKNOWN = "unknown"  # something that decides about it was not read


@dataclass(frozen=True, slots=True)
class Eviction:
    """One eviction of the order. `position` counts from 1 over the whole plan."""

    position: int
    round: int
    pod: Pod
    node: str
    budget: str  # ns/name, "" when no budget counts it
    reason: str


@dataclass(frozen=True, slots=True)
class Left:
    """A pod on a target that this plan does not evict, and why."""

    pod: Pod
    node: str
    verdict: PodVerdict
    codes: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Target:
    """A node to drain. `finish_round` is the round after which it is empty (0: there is nothing to evict)."""

    node: Node
    verdict: TargetVerdict
    order: int  # from 1 in the order in which nodes are emptied; 0 when it is not drained
    finish_round: int
    evictions: int
    left: int
    why: tuple[str, ...] = ()  # what keeps it from being drained, one clause each
    wave: int = 0  # of the nodes drained together, from 1; 0 when it is not drained
    freed_by: tuple[Remedy, ...] = ()  # what would let it be drained, the first remedy of each blocker


@dataclass(frozen=True, slots=True)
class Headroom:
    """One budget against this drain. `per_round` is how many of its pods may go at once."""

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


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds from the first cordon to the last node done. `p95_s`: every pod as slow as its slow ones are.

    `spans` are of the usual run, by node; `peak_away` the most pods that are evicted and not yet replaced by
    a Ready one at any moment.
    """

    p50_s: float
    p95_s: float
    spans: tuple[Span, ...]
    peak_away: int
    assumptions: tuple[str, ...]
    bounds: tuple[Bound, ...] = ()  # largest first: the first binds
    gap: float | None = None  # how much longer p50 is than the bound: 0.03 is 3 %
    relaxations: tuple[Relaxation, ...] = ()


NOT_JUDGED = (
    "the room on targets that this plan skips: replacements may land there, and are then evicted again later",
    "whether nodes can attach the volumes of what lands on them, and whether their subnets have addresses left",
    "whether pods of higher priority push others out when they land (preemption)",
)
"""What a plan says nothing about, so that nobody takes its silence for a pass."""


@dataclass(frozen=True, slots=True)
class DrainPlan:
    """`left` and `evictions` together hold every pod on every target exactly once."""

    policy: DrainPolicy
    targets: tuple[Target, ...]
    evictions: tuple[Eviction, ...]
    left: tuple[Left, ...]
    budgets: tuple[Headroom, ...]
    findings: tuple[Finding, ...]
    estimate: Estimate | None = None
    handoffs: tuple[HandOff, ...] = ()

    @property
    def rounds(self) -> int:
        return max((e.round for e in self.evictions), default=0)

    @property
    def skipped(self) -> tuple[Target, ...]:
        return tuple(t for t in self.targets if t.order == 0)

    @property
    def blockers(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.status is Status.FAIL)

    @property
    def unknowns(self) -> tuple[Finding, ...]:
        """What could not be judged and is not accepted by the policy."""
        return tuple(
            f for f in self.findings if f.status is Status.UNKNOWN and f.code.name not in self.policy.accept_unknown
        )
