"""Drain policy: which nodes the user selects, what a drain may do to their pods; and repeatable random numbers."""

from __future__ import annotations

from enum import Enum
from math import cos, log, pi, sin, sqrt
from typing import TYPE_CHECKING, NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.options import (
    ALL,
    CODES,
    DEFAULT_EFFORT,
    EFFORT,
    GRACE,
    NAMES_IN_A_FILE,
    NODEGROUP,
    NODES,
    OFF_SWITCH,
    PERCENTAGE,
    POD_NAMES,
    RATE,
    SELECTOR,
    SWITCH,
    TIME,
    WHOLE_SECONDS,
    ZONE,
    OptionKind,
    Steps,
    one_of,
    option,
    pairs,
)

if TYPE_CHECKING:
    from kubectl_eksdoc.model.budgets import Amount
    from kubectl_eksdoc.model.nodes import Pod
    from kubectl_eksdoc.model.quantities import Version
    from kubectl_eksdoc.model.selectors import Selector
    from kubectl_eksdoc.model.workloads import Workload


@frozen
class Targeting:
    """Nodes by name, or by filters that must all hold; `nodegroups` match if any of them does."""

    names: tuple[str, ...] = ()
    selector: Selector | None = None
    nodegroups: tuple[str, ...] = ()
    older_than: Version | None = None

    @property
    def empty(self) -> bool:
        return not (self.names or self.selector or self.nodegroups or self.older_than)


AUTO = "auto"
"""Several orders are tried and the best is kept."""

ORDERS = ("soonest", "chain", "light", "efficiency", "zone", "name")
"""The named orders that the user can choose instead; `drain.orders` explains each."""


BURST_S = 1.0
"""The evictions of this many seconds may be requested at once; at least one."""


def burst(rate: float) -> float:
    """How many evictions may be requested at once at `rate` a second, after a pause."""
    return max(1.0, rate * BURST_S)


AS_IN_KUBECTL = "What the drain may do (as in kubectl drain)"
ONLY_HERE = "What the drain may do (only here)"
WHAT_IF = "What if (only here)"
PACE = "How many nodes go at once, and how fast (only here)"
FIRST = "Which nodes go first (only here)"


def _at_once(policy_value: tuple[tuple[str, Amount], ...]) -> list[str]:
    return [f"{amount}" if by == ALL else f"{by}={amount}" for by, amount in policy_value]


AT_ONCE = OptionKind(
    parser="nodes_at_once",
    repeated=True,
    keyed=True,
    value=lambda amounts: tuple(sorted(amounts.items(), key=lambda each: (ALL, ZONE, NODEGROUP).index(each[0]))),
    given=lambda value: (_at_once(value) or [""])[0] if len(value) < 2 else _at_once(value),
    plain=lambda value: ", ".join(_at_once(value)) or None,
)


@frozen
class DrainPolicy:
    """Options of a drain: kubectl drain's flags with their meaning, and additional ones. Each is declared only here."""

    ignore_daemonsets: bool = option(
        True,
        "--ignore-daemonsets",
        AS_IN_KUBECTL,
        SWITCH,
        "do not evict DaemonSet pods; on by default, unlike in kubectl",
        always=True,
    )
    delete_emptydir_data: bool = option(
        False, "--delete-emptydir-data", AS_IN_KUBECTL, SWITCH, "evict pods with emptyDir data", always=True
    )
    force: bool = option(
        False, "--force", AS_IN_KUBECTL, SWITCH, "evict pods that no controller recreates", always=True
    )
    grace_seconds: int | None = option(
        None,
        "--grace-period",
        AS_IN_KUBECTL,
        GRACE,
        "grace period for every pod, in seconds; negative: the pod's own (default: -1)",
        "SECONDS",
        always=True,
    )
    pod_selector: Selector | None = option(
        None, "--pod-selector", AS_IN_KUBECTL, SELECTOR, "evict only pods whose labels match", "SELECTOR"
    )
    skip_deleting_after: int = option(
        0,
        "--skip-wait-for-delete-timeout",
        AS_IN_KUBECTL,
        WHOLE_SECONDS,
        "do not wait for pods that have been terminating longer than this; 0: always wait",
        "SECONDS",
        always=True,
        json="skipDeletingAfterSeconds",
        steps=Steps(
            "skip stuck pods", "no wait for pods stopping for longer", (0, 60, 300, 600), usual="always wait", unit="s"
        ),
    )
    partial: bool = option(
        False,
        "--partial",
        ONLY_HERE,
        SWITCH,
        "drain nodes as far as possible where a pod cannot be evicted",
        always=True,
        steps=Steps("empty in part", "where a pod cannot go, the others do", (False, True)),
    )
    cordon_skipped: bool = option(
        True,
        "--no-cordon-skipped",
        ONLY_HERE,
        OFF_SWITCH,
        "do not cordon targets that are not drained: evicted pods can be scheduled onto them",
        steps=Steps("cordon skipped", "no: pods may be scheduled onto them", (False, True)),
    )
    evict_protected: bool = option(
        False,
        "--evict-protected",
        ONLY_HERE,
        SWITCH,
        "evict pods that are annotated against disruption",
        always=True,
    )
    surge_singles: bool = option(
        False,
        "--surge-singles",
        ONLY_HERE,
        SWITCH,
        "restart a Deployment with one replica instead of evicting its pod, where the new pod can become Ready first",
        steps=Steps("restart singles", "by a rollout, instead of an eviction", (False, True)),
    )
    wait_jobs: int = option(
        0,
        "--wait-jobs",
        ONLY_HERE,
        TIME,
        "wait up to this long for Job pods to finish before evicting them, such as 30m; default: do not wait",
        "TIME",
        json="waitJobsSeconds",
        steps=Steps(
            "let Jobs end",
            "this long after the drain of their node begins",
            (0, 300, 900, 1800, 3600, 7200),
            usual="not at all",
            unit="s",
        ),
    )
    delete_past_budget: frozenset[str] = option(
        frozenset(),
        "--delete-past-budget",
        ONLY_HERE,
        POD_NAMES,
        "delete this pod if its PodDisruptionBudget blocks eviction; may be repeated",
        "NS/POD",
    )
    accept_unknown: frozenset[str] = option(
        frozenset(),
        "--accept-unknown",
        ONLY_HERE,
        CODES,
        "accept these finding codes as unknown: they do not cause exit code 5; may be repeated",
        "CODE,…",
        always=True,
    )
    assume_budgets: tuple[tuple[str, int], ...] = option(
        (),
        "--assume-budget",
        WHAT_IF,
        pairs("assumed_budget", "budget", "away"),
        "plan as if this PodDisruptionBudget allowed N disruptions; may be repeated",
        "NS/NAME=N",
    )
    assume_fixed: frozenset[str] = option(
        frozenset(),
        "--assume-fixed",
        WHAT_IF,
        CODES,
        "plan as if every finding with one of these codes were fixed, on all objects; may be repeated",
        "CODE,…",
    )
    max_unavailable: tuple[tuple[str, Amount], ...] = option(
        (),
        "--max-unavailable",
        PACE,
        AT_ONCE,
        "nodes drained at the same time: in total, per zone or per node group; default: all; may be repeated",
        "[zone=|nodegroup=]N|N%",
    )
    surge: int | None = option(
        None,
        "--surge",
        PACE,
        NODES,
        "plan with N new nodes that join first; each drained node is replaced by a new one; default: no node joins",
        "N",
        steps=Steps(
            "new nodes first",
            "join first, and replace drained nodes",
            (None, 0, 1, 2, 3, 5, 10),
            usual="none join",
        ),
    )
    soft_budget: int | None = option(
        None,
        "--soft-budget",
        PACE,
        PERCENTAGE,
        "disruptions allowed at the same time for a workload without a PodDisruptionBudget; default: all pods",
        "PCT",
        json="softBudgetPercent",
        steps=Steps(
            "without a budget",
            "so much of a workload may be away",
            (10, 25, 50, None),
            usual="all of it",
            unit="%",
        ),
    )
    evictions_per_second: float = option(
        0.0,
        "--max-evictions-per-second",
        PACE,
        RATE,
        "limit the rate of evictions; default: no limit",
        "N",
        json="maxEvictionsPerSecond",
        steps=Steps(
            "evictions a second",
            "how fast they may follow each other",
            (0.5, 1.0, 2.0, 5.0, 10.0, 0.0),
            usual="no limit",
        ),
    )
    order: str = option(
        AUTO,
        "--order",
        FIRST,
        one_of(AUTO, *ORDERS),
        f"{', '.join(ORDERS)}, or {AUTO} (default): several are tried and the best is kept",
        "ORDER",
        steps=Steps("order of nodes", "auto tries several and keeps the best", (AUTO, *ORDERS)),
    )
    order_nodes: tuple[str, ...] = option(
        (),
        "--order-file",
        FIRST,
        NAMES_IN_A_FILE,
        "drain nodes in the order of this file, one name a line, as -o name prints them; other nodes follow",
        "FILE",
    )
    pins: tuple[tuple[str, int], ...] = option(
        (),
        "--pin",
        FIRST,
        pairs("pin", "node", "wave"),
        "drain this node in this wave; the first wave is 1; may be repeated",
        "NODE=WAVE",
    )
    effort: int = option(
        DEFAULT_EFFORT,
        "--effort",
        FIRST,
        EFFORT,
        f"simulated evictions to spend on finding a better order (default: {DEFAULT_EFFORT}; 0: use the first order)",
        "N",
    )

    @property
    def nodes_at_once(self) -> str:
        """`max_unavailable` as its flag takes it: ``3, zone=1``; "" without one."""
        return ", ".join(_at_once(self.max_unavailable))

    def grace_of(self, pod: Pod) -> int:
        """Seconds `pod` gets to stop: as the user says, else its own."""
        return pod.grace_seconds if self.grace_seconds is None else self.grace_seconds


# Random numbers that are the same on every machine and at every time: they follow from a seed and a counter alone.


_WORD = (1 << 64) - 1
_HALF = (1 << 32) - 1
_TURN = 2.0 * pi


def chance(seed: int, i: int) -> float:
    """From 0 to 1, the same for the same arguments."""
    return _word(seed, i) / _WORD


def two_normals(seed: int, i: int) -> tuple[float, float]:
    """Two independent draws with mean 0 and standard deviation 1 (G. E. P. Box and M. E. Muller, 1958)."""
    word = _word(seed, i)
    far, angle = sqrt(-2.0 * log(((word >> 32) + 1) / (_HALF + 1))), _TURN * (word & _HALF) / (_HALF + 1)
    return far * cos(angle), far * sin(angle)


def _word(seed: int, i: int) -> int:
    """64 bits (SplitMix64, G. L. Steele et al., OOPSLA 2014)."""
    z = ((seed << 32) + (i + 1) * 0x9E3779B97F4A7C15) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


# How a pod leaves its node: evicted, replaced by a rollout, deleted, or waited for.


class Means(str, Enum):
    EVICTION = "eviction"
    RESTART = "restart"  # its Deployment is restarted: the new pod is Ready before this one stops
    DELETION = "deletion"  # past its budget, because the user named it
    PATIENCE = "patience"  # waited for, and never evicted


class EvictionMode(NamedTuple):
    """How one pod leaves its node. `waits_s`: for this long after its node is started it may end by itself before it is
    evicted. `restarts`: the workload that is restarted; None for other methods."""

    means: Means = Means.EVICTION
    waits_s: float = 0.0
    restarts: Workload | None = None


EVICTED = EvictionMode()
"""The mode of most pods."""
