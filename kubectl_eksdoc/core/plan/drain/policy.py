"""What the user asks for: which nodes, and what a drain may do to their pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # help must not pay for facts
    from kubectl_eksdoc.core.model.budgets import Amount
    from kubectl_eksdoc.core.model.pods import Pod
    from kubectl_eksdoc.core.model.selectors import Selector
    from kubectl_eksdoc.core.model.versions import Version


@dataclass(frozen=True, slots=True)
class Targeting:
    """Nodes by name, or by filters that must all hold; `nodegroups` match if any of them does."""

    names: tuple[str, ...] = ()
    selector: Selector | None = None
    nodegroups: tuple[str, ...] = ()
    older_than: Version | None = None

    @property
    def empty(self) -> bool:
        return not (self.names or self.selector or self.nodegroups or self.older_than)


ALL, ZONE, NODEGROUP = "all", "zone", "nodegroup"
"""What nodes at once are counted by: all targets, those of one zone, those of one node group or NodePool."""

AUTO = "auto"
"""We try several orders and keep the best."""

ORDERS = ("soonest", "chain", "light", "efficiency", "zone", "name")
"""What can be asked for instead: see `order.soonest.soonest_first` and `order.strategies`."""

DEFAULT_EFFORT = 120_000


BURST_S = 1.0
"""What may be requested in so long may be requested at once; one eviction at least."""


def burst(rate: float) -> float:
    """How many evictions may be requested at once at `rate` a second, after a pause."""
    return max(1.0, rate * BURST_S)


@dataclass(frozen=True, slots=True)
class DrainPolicy:
    """kubectl drain's flags with their meaning, and ours.

    `grace_seconds` None means each pod's own; `skip_deleting_after` seconds past a deletion deadline a pod
    is no longer waited for (0: always waited for), as ``--skip-wait-for-delete-timeout``. `max_unavailable` is
    how many targets may be under way at once, by `ALL`, `ZONE` or `NODEGROUP` (empty: all of them);
    `evictions_per_second` 0 means no limit. `surge`: so many new nodes join before the drain, and each drained
    node is replaced by a new one (None: no node joins). `soft_budget`: the percentage of a workload without a
    budget that may be away at once (None: all of it). `surge_singles`: what has one replica is replaced by a rollout
    where that needs no downtime. `wait_jobs`: pods of Jobs may end by themselves for so many seconds from the begin of
    their node on. `delete_past_budget`: exactly these pods (ns/name) are deleted where their budget does not let them
    go. `cordon_skipped`: targets that are not drained are cordoned all the same.

    `order` names a strategy, `AUTO` lets us choose; `order_nodes` go first, in that order; `pins` have their wave.
    `effort`: the evictions that may be simulated in search of a better order.
    """

    ignore_daemonsets: bool = True
    delete_emptydir_data: bool = False
    force: bool = False
    grace_seconds: int | None = None
    pod_selector: Selector | None = None
    skip_deleting_after: int = 0
    partial: bool = False
    evict_protected: bool = False
    max_unavailable: tuple[tuple[str, Amount], ...] = ()
    evictions_per_second: float = 0.0
    accept_unknown: frozenset[str] = frozenset()
    assume_budgets: tuple[tuple[str, int], ...] = ()  # what-if: ns/name → how many may be away
    assume_fixed: frozenset[str] = frozenset()  # what-if: finding codes that stop nothing
    surge: int | None = None
    soft_budget: int | None = None
    surge_singles: bool = False
    wait_jobs: int = 0
    delete_past_budget: frozenset[str] = frozenset()
    cordon_skipped: bool = True
    order: str = AUTO
    order_nodes: tuple[str, ...] = ()
    pins: tuple[tuple[str, int], ...] = ()
    effort: int = DEFAULT_EFFORT

    @property
    def nodes_at_once(self) -> str:
        """`max_unavailable` as its flag takes it: ``3, zone=1``; "" without one."""
        return ", ".join(f"{amount}" if by == ALL else f"{by}={amount}" for by, amount in self.max_unavailable)

    def grace_of(self, pod: Pod) -> int:
        """Seconds `pod` gets to stop: as the user says, else its own."""
        return pod.grace_seconds if self.grace_seconds is None else self.grace_seconds
