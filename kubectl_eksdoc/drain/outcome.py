"""What becomes of each pod, budget and node: the words of a plan, and its rows."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kubectl_eksdoc.amazon.group_updates import PATIENCE
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.findings import Remedy
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.quantities import duration

from .policy import EVICTED, EvictionMode


class PodVerdict(str, Enum):
    """Exactly one for every pod on a target."""

    EVICT = "evict"
    STAY = "stay"  # a DaemonSet's, a static pod, not selected, already leaving
    HELD = "held"  # could go, but its target is skipped
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


HOLDS = (PodVerdict.BLOCKED, PodVerdict.UNKNOWN)
"""The verdicts of pods for which their node is not drained."""


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


class Eviction(NamedTuple):
    """One eviction of the order. `position` counts from 1 over the whole plan.

    `lands_on` is the node where a place is reserved for its replacement, which may be a new one; "" where there is
    none: nothing replaces it there, or it waits for a node that is added.
    `limits` name all of which only so many may be away at once (`DrainPlan.slots`), its budget among them; of its
    node the pods of a lower `tier` go first. `manner`: how it goes, for not all of them are evicted after all.
    """

    position: int
    round: int
    pod: Pod
    node: str
    budget: str  # ns/name, "" when no budget counts it
    reason: str
    lands_on: str = ""
    limits: tuple[str, ...] = ()
    tier: int = 0
    manner: EvictionMode = EVICTED


class NotEvictedPod(NamedTuple):
    """A pod on a target that this plan does not evict, and why."""

    pod: Pod
    node: str
    verdict: PodVerdict
    codes: tuple[str, ...]
    reason: str


@frozen
class DrainTarget:
    """A node to drain. `finish_round` is the round after which it is empty (0: there is nothing to evict).
    `cordon_only`: it is not drained, and a run cordons it all the same."""

    node: Node
    verdict: TargetVerdict
    order: int  # from 1 in the order in which nodes are emptied; 0 when it is not drained
    finish_round: int
    evictions: int
    left: int
    why: tuple[str, ...] = ()  # what keeps it from being drained, one clause each
    wave: int = 0  # of the nodes drained together, or its generation, from 1; 0 when it is not drained
    freed_by: tuple[Remedy, ...] = ()  # what would let it be drained, the first remedy of each blocker
    cordon_only: bool = False
    needs: tuple[str, ...] = ()  # drained nodes in whose place new ones must have joined before this one is begun


@frozen
class SlowNode:
    """A node of a managed group that takes longer by itself than the group's own update waits for its pods.

    `usual_s` and `slow_s`: seconds from the first eviction until its last pod is gone, at least, with usual pods
    and with slow ones. What takes so long are `pods` (ns/name): those of `budget` (ns/name), which lets `at_once`
    of them be away at a time, or a single one ("" and 0), whose own grace period is `grace_s`.
    """

    node: str
    group: str
    usual_s: float
    slow_s: float
    pods: tuple[str, ...]
    budget: str = ""
    at_once: int = 0
    grace_s: int = 0

    @property
    def certain(self) -> bool:
        """Whether it takes too long at the usual pace, and not only with slow pods."""
        return self.usual_s >= PATIENCE.total_seconds()

    @property
    def seconds(self) -> float:
        """How long it takes at least: usually if that is too long already, else with slow pods."""
        return self.usual_s if self.certain else self.slow_s

    @property
    def why(self) -> str:
        """What takes so long, as a clause."""
        if self.budget:
            return f"budget {self.budget} lets {self.at_once} of its {len(self.pods)} pods on this node go at a time"
        return f"pod {self.pods[0]} has a grace period of {duration(self.grace_s)}"
