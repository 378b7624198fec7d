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
    NEW_NODES,
    NODEGROUP,
    OFF_SWITCH,
    PERCENTAGE,
    POD_NAMES,
    RATE,
    SELECTOR,
    STALL_TIMEOUT,
    SWITCH,
    WHOLE_SECONDS,
    ZONE,
    OptionKind,
    Steps,
    one_of,
    option,
    pairs,
)

if TYPE_CHECKING:
    from kubectl_eksdoc.model.budgets import IntOrPercent
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
    def is_empty(self) -> bool:
        return not (self.names or self.selector or self.nodegroups or self.older_than)


AUTO_ORDER = "auto"
"""Several orders are tried and the best is kept."""

ORDERS = ("soonest", "chain", "light", "efficiency", "zone", "name")
"""The named orders that the user can choose instead; `drain.orders` explains each."""


BURST_S = 1.0
"""The evictions of this many seconds may be requested at once; at least one."""


def burst_size(rate: float) -> float:
    """How many evictions may be requested at once at `rate` a second, after a pause."""
    return max(1.0, rate * BURST_S)


KUBECTL_GROUP = "What the drain may do (as in kubectl drain)"
OWN_GROUP = "What the drain may do (only here)"
WHAT_IF_GROUP = "What if (only here)"
PACE_GROUP = "How many nodes go at once, and how fast (only here)"
ORDER_GROUP = "Which nodes go first (only here)"


def _at_once_texts(policy_value: tuple[tuple[str, IntOrPercent], ...]) -> list[str]:
    return [f"{amount}" if domain == ALL else f"{domain}={amount}" for domain, amount in policy_value]


NODES_AT_ONCE_KIND = OptionKind(
    parser="nodes_at_once",
    repeated=True,
    keyed=True,
    from_parsed=lambda amounts: tuple(sorted(amounts.items(), key=lambda each: (ALL, ZONE, NODEGROUP).index(each[0]))),
    to_flag=lambda value: (_at_once_texts(value) or [""])[0] if len(value) < 2 else _at_once_texts(value),
    to_json=lambda value: ", ".join(_at_once_texts(value)) or None,
)


@frozen
class DrainPolicy:
    """Options of a drain: kubectl drain's flags with their meaning, and additional ones. Each is declared only here."""

    ignore_daemonsets: bool = option(
        True,
        "--ignore-daemonsets",
        KUBECTL_GROUP,
        SWITCH,
        "do not evict DaemonSet pods; on by default, unlike in kubectl",
        always=True,
    )
    delete_emptydir_data: bool = option(
        False, "--delete-emptydir-data", KUBECTL_GROUP, SWITCH, "evict pods with emptyDir data", always=True
    )
    force: bool = option(
        False, "--force", KUBECTL_GROUP, SWITCH, "evict pods that no controller recreates", always=True
    )
    grace_seconds: int | None = option(
        None,
        "--grace-period",
        KUBECTL_GROUP,
        GRACE,
        "grace period for every pod, in seconds; negative: the pod's own (default: -1)",
        "SECONDS",
        always=True,
    )
    pod_selector: Selector | None = option(
        None, "--pod-selector", KUBECTL_GROUP, SELECTOR, "evict only pods whose labels match", "SELECTOR"
    )
    skip_deleting_after: int = option(
        0,
        "--skip-wait-for-delete-timeout",
        KUBECTL_GROUP,
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
        OWN_GROUP,
        SWITCH,
        "drain nodes as far as possible where a pod cannot be evicted",
        always=True,
        steps=Steps("empty in part", "where a pod cannot go, the others do", (False, True)),
    )
    cordon_skipped: bool = option(
        True,
        "--no-cordon-skipped",
        OWN_GROUP,
        OFF_SWITCH,
        "do not cordon targets that are not drained: evicted pods can be scheduled onto them",
        steps=Steps("cordon skipped", "no: pods may be scheduled onto them", (False, True)),
    )
    evict_protected: bool = option(
        False,
        "--evict-protected",
        OWN_GROUP,
        SWITCH,
        "evict pods that are annotated against disruption",
        always=True,
    )
    surge_singles: bool = option(
        False,
        "--surge-singles",
        OWN_GROUP,
        SWITCH,
        "restart a Deployment with one replica instead of evicting its pod, where the new pod can become Ready first",
        steps=Steps("restart singles", "by a rollout, instead of an eviction", (False, True)),
    )
    wait_jobs: int = option(
        0,
        "--wait-jobs",
        OWN_GROUP,
        STALL_TIMEOUT,
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
        OWN_GROUP,
        POD_NAMES,
        "delete this pod if its PodDisruptionBudget blocks eviction; may be repeated",
        "NS/POD",
    )
    accept_unknown: frozenset[str] = option(
        frozenset(),
        "--accept-unknown",
        OWN_GROUP,
        CODES,
        "accept these finding codes as unknown: they do not cause exit code 5; may be repeated",
        "CODE,…",
        always=True,
    )
    assume_budgets: tuple[tuple[str, int], ...] = option(
        (),
        "--assume-budget",
        WHAT_IF_GROUP,
        pairs("assumed_budget", "budget", "away"),
        "plan as if this PodDisruptionBudget allowed N disruptions; may be repeated",
        "NS/NAME=N",
    )
    assume_fixed: frozenset[str] = option(
        frozenset(),
        "--assume-fixed",
        WHAT_IF_GROUP,
        CODES,
        "plan as if every finding with one of these codes were fixed, on all objects; may be repeated",
        "CODE,…",
    )
    max_unavailable: tuple[tuple[str, IntOrPercent], ...] = option(
        (),
        "--max-unavailable",
        PACE_GROUP,
        NODES_AT_ONCE_KIND,
        "nodes drained at the same time: in total, per zone or per node group; default: all; may be repeated",
        "[zone=|nodegroup=]N|N%",
    )
    surge: int | None = option(
        None,
        "--surge",
        PACE_GROUP,
        NEW_NODES,
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
        PACE_GROUP,
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
        PACE_GROUP,
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
        AUTO_ORDER,
        "--order",
        ORDER_GROUP,
        one_of(AUTO_ORDER, *ORDERS),
        f"{', '.join(ORDERS)}, or {AUTO_ORDER} (default): several are tried and the best is kept",
        "ORDER",
        steps=Steps("order of nodes", "auto tries several and keeps the best", (AUTO_ORDER, *ORDERS)),
    )
    order_nodes: tuple[str, ...] = option(
        (),
        "--order-file",
        ORDER_GROUP,
        NAMES_IN_A_FILE,
        "drain nodes in the order of this file, one name a line, as -o name prints them; other nodes follow",
        "FILE",
    )
    pins: tuple[tuple[str, int], ...] = option(
        (),
        "--pin",
        ORDER_GROUP,
        pairs("pin", "node", "wave"),
        "drain this node in this wave; the first wave is 1; may be repeated",
        "NODE=WAVE",
    )
    effort: int = option(
        DEFAULT_EFFORT,
        "--effort",
        ORDER_GROUP,
        EFFORT,
        f"simulated evictions to spend on finding a better order (default: {DEFAULT_EFFORT}; 0: use the first order)",
        "N",
    )

    @property
    def nodes_at_once(self) -> str:
        """`max_unavailable` as its flag takes it: ``3, zone=1``; "" without one."""
        return ", ".join(_at_once_texts(self.max_unavailable))

    def grace_period_of(self, pod: Pod) -> int:
        """Seconds `pod` gets to stop: as the user says, else its own."""
        return pod.grace_seconds if self.grace_seconds is None else self.grace_seconds


# Random numbers that are the same on every machine and at every time: they follow from a seed and a counter alone.


_MASK_64 = (1 << 64) - 1
_MASK_32 = (1 << 32) - 1
_FULL_TURN = 2.0 * pi


def random_fraction(seed: int, counter: int) -> float:
    """From 0 to 1, the same for the same arguments."""
    return _random_bits(seed, counter) / _MASK_64


def random_normals(seed: int, counter: int) -> tuple[float, float]:
    """Two independent draws with mean 0 and standard deviation 1 (G. E. P. Box and M. E. Muller, 1958)."""
    bits = _random_bits(seed, counter)
    radius, angle = (
        sqrt(-2.0 * log(((bits >> 32) + 1) / (_MASK_32 + 1))),
        _FULL_TURN * (bits & _MASK_32) / (_MASK_32 + 1),
    )
    return radius * cos(angle), radius * sin(angle)


def _random_bits(seed: int, counter: int) -> int:
    """64 bits (SplitMix64, G. L. Steele et al., OOPSLA 2014)."""
    z = ((seed << 32) + (counter + 1) * 0x9E3779B97F4A7C15) & _MASK_64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK_64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK_64
    return z ^ (z >> 31)


# How a pod leaves its node: evicted, replaced by a rollout, deleted, or waited for.


class EvictionMethod(str, Enum):
    EVICT = "eviction"
    RESTART = "restart"  # its Deployment is restarted: the new pod is Ready before this one stops
    DELETE = "deletion"  # past its budget, because the user named it
    WAIT = "patience"  # waited for, and never evicted


class EvictionMode(NamedTuple):
    """How one pod leaves its node. `waits_s`: for this long after its node is started it may end by itself before it is
    evicted. `restarts`: the workload that is restarted; None for other methods."""

    means: EvictionMethod = EvictionMethod.EVICT
    waits_s: float = 0.0
    restarts: Workload | None = None


PLAIN_EVICTION = EvictionMode()
"""The mode of most pods."""
