"""What came of a drain that was tried in virtual time, and where it differs from what the plan said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kubectl_eksdoc.drain.nodes import natural
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.moments import ASKED, Happened, RunMoment
from kubectl_eksdoc.model.journal import Cause

WAITED_S = 1.0
"""What is shorter is no wait, but the end of the run."""


class PendingPod(NamedTuple):
    """A pod without a node when it was over, and what the scheduler said."""

    pod: str
    why: str


class NodePlacements(NamedTuple):
    """So many replacements have a place reserved on this node by the plan, and so many were scheduled onto it."""

    node: str
    planned: int
    placed: int
    target: bool


@dataclass(frozen=True, slots=True)
class Record:
    """`undone` are nodes of the plan that were not emptied, each with the pods (ns/name) that were left of it.
    `cordoned_only`: targets that are not drained and were cordoned.

    `pending` and `coming`: replacements that had no node at the end, or one and were not Ready. `ended_s` is when the
    last node was done, or nothing happened any more; `paused_s`: for so long of it somebody wanted nothing to be asked
    for; `drained_s`: when the last node came to its end, None where nothing was waited for after that.
    `placed`: so many replacements were scheduled onto each node; None where that was not seen. `causes`: by how many
    seconds each made it longer than the plan's p50; empty where that is not known.
    """

    plan: DrainPlan
    moments: tuple[RunMoment, ...]
    ended_s: float
    pending: tuple[PendingPod, ...] = ()
    undone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    coming: tuple[PendingPod, ...] = ()
    paused_s: float = 0.0
    drained_s: float | None = None
    placed: Mapping[str, int] | None = None
    cordoned_only: tuple[str, ...] = ()
    causes: Mapping[Cause, float] = field(default_factory=dict)

    @property
    def drain_s(self) -> float:
        """What an estimate tells of: the rest waits for replacements to be Ready."""
        return self.ended_s if self.drained_s is None else self.drained_s

    @property
    def ready_s(self) -> float:
        """So long it waited for replacements to be Ready, once every node was done."""
        return self.ended_s - self.drain_s

    @property
    def unready(self) -> tuple[str, ...]:
        """Replacements (ns/name) that were waited for, and not Ready at the end."""
        return tuple(each.pod for each in (*self.pending, *self.coming)) if self.ready_s >= WAITED_S else ()

    @property
    def placements(self) -> tuple[NodePlacements, ...]:
        """By node, the targets first; nodes that neither took any nor were to are left out."""
        planned = Counter(eviction.lands_on for eviction in self.plan.evictions if eviction.lands_on)
        targets = {target.node.name for target in self.plan.targets}
        placed = self.placed or {}
        rows = (
            NodePlacements(node, planned[node], placed.get(node, 0), node in targets) for node in {*planned, *placed}
        )
        return tuple(sorted(rows, key=lambda row: (not row.target, natural(row.node))))

    @property
    def on_targets(self) -> int:
        """So many replacements were scheduled onto targets, from which they have to go once more."""
        return sum(each.placed for each in self.placements if each.target)

    @property
    def refusals(self) -> Counter[str]:
        """How often each cause was given."""
        return Counter(moment.why for moment in self.moments if moment.what is Happened.REFUSED)

    @property
    def re_evicted(self) -> tuple[str, ...]:
        """Pods whose replacement was evicted as well: by name, which only those keep that have one of their own."""
        evicted = Counter(moment.subject for moment in self.moments if moment.what in ASKED)
        return tuple(sorted(pod for pod, times in evicted.items() if times > 1))

    @property
    def late_s(self) -> float | None:
        """How much longer than the plan's p50; negative: sooner. None where one of both has no end."""
        estimate = self.plan.estimate
        return None if estimate is None or self.undone else self.drain_s - estimate.p50_s
