"""Verdicts on pods, budgets and nodes, and the rows of a plan."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kubectl_eksdoc.amazon.group_updates import DRAIN_TIMEOUT
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.findings import Remedy
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.quantities import format_duration

from .policy import PLAIN_EVICTION, EvictionMode


class PodVerdict(str, Enum):
    """Exactly one for every pod on a target."""

    EVICT = "evict"
    STAY = "stay"  # of a DaemonSet, a static pod, not selected, already terminating
    HELD = "held"  # evictable, but its target is skipped
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


HOLDING_VERDICTS = (PodVerdict.BLOCKED, PodVerdict.UNKNOWN)
"""The verdicts of pods for which their node is not drained."""


class BudgetVerdict(str, Enum):
    """One for every budget with pods on targets: the first that applies, in this order."""

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
    SKIPPED = "skipped"  # a pod on it cannot be evicted
    REFUSED = "refused"  # never drained: Fargate, Auto Mode, another client's drain
    UNKNOWN = "unknown"  # objects that decide about it were not read


class Eviction(NamedTuple):
    """One eviction of the order. `position` counts from 1 over the whole plan.

    `lands_on`: the node on which a place is reserved for its replacement, possibly a new one; "" where there is none:
    nothing replaces it elsewhere, or its replacement waits for a node that is added. `limits`: all limits of which only
    so many pods may be away at once (`DrainPlan.slots`), its budget among them. Of its node the pods of a lower `tier`
    go first. `eviction_mode`: how it leaves, as not every pod is evicted by the API.
    """

    position: int
    round: int
    pod: Pod
    node: str
    budget: str  # namespace/name, "" when no budget counts it
    reason: str
    lands_on: str = ""
    limits: tuple[str, ...] = ()
    tier: int = 0
    eviction_mode: EvictionMode = PLAIN_EVICTION


class NotEvictedPod(NamedTuple):
    """A pod on a target that this plan does not evict, and the reason."""

    pod: Pod
    node: str
    verdict: PodVerdict
    codes: tuple[str, ...]
    reason: str


@frozen
class DrainTarget:
    """A node to drain. `finish_round`: the round after which it is empty (0: no pod has to be evicted). `cordon_only`:
    it is not drained, but a run cordons it."""

    node: Node
    verdict: TargetVerdict
    order: int  # from 1 in the order in which nodes are emptied; 0 when it is not drained
    finish_round: int
    evictions: int
    left: int
    why: tuple[str, ...] = ()  # why it is not drained, one clause each
    wave: int = 0  # the wave or the generation, from 1; 0 when it is not drained
    freed_by: tuple[Remedy, ...] = ()  # the first remedy of each blocker
    cordon_only: bool = False
    needs: tuple[str, ...] = ()  # drained nodes whose new nodes must have joined before this one is started


@frozen
class SlowNode:
    """A node of a managed group that takes longer by itself than the group's own update waits for its pods.

    `typical_s` and `slow_s`: minimum seconds from the first eviction until its last pod is gone, with typical pods and
    with slow ones. The cause are `pods` (namespace/name): those of `budget` (namespace/name), which lets `at_once` of
    them be away at a time, or a single one ("" and 0) with its own grace period of `grace_s`.
    """

    node: str
    group: str
    typical_s: float
    slow_s: float
    pods: tuple[str, ...]
    budget: str = ""
    at_once: int = 0
    grace_s: int = 0

    @property
    def is_certain(self) -> bool:
        """Whether it takes too long at the typical pace, and not only with slow pods."""
        return self.typical_s >= DRAIN_TIMEOUT.total_seconds()

    @property
    def seconds(self) -> float:
        """Minimum duration: the typical one if that is too long already, else the one with slow pods."""
        return self.typical_s if self.is_certain else self.slow_s

    @property
    def reason(self) -> str:
        """The cause, as a clause."""
        if self.budget:
            return f"budget {self.budget} lets {self.at_once} of its {len(self.pods)} pods on this node go at a time"
        return f"pod {self.pods[0]} has a grace period of {format_duration(self.grace_s)}"
