"""Input and output of the drain simulation: pods to evict, terms of the run, the resulting timeline, budget status
writes."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from math import inf
from typing import NamedTuple, Protocol

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.budgets import ComputedStatus, disruptions_allowed, expected_and_desired
from kubectl_eksdoc.kubernetes.evictions import needs_budget
from kubectl_eksdoc.kubernetes.replacement import Replacement, replacement
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.model.nodes import Pod

build_tuple = tuple.__new__
"""``build_tuple(Kind, fields)``: create a NamedTuple from all its fields in half the usual time. Used for types with
one instance per pod."""


class PodMove(NamedTuple):
    """One pod to evict and replace.

    `limits`: the limits of which it takes a slot. `stop_s`: seconds from eviction until the pod is gone; `start_s`:
    from creation of the new pod until it is Ready. A pod that a rollout replaces (`Replacement.FIRST`) stops when the
    new one is Ready: its `stop_s` contains that time. `late`: goes last of the pods that wait for the same limit.
    `turn`: position in the plan's order; of the pods that wait for the same limit the smallest goes first. `new_node`:
    the new node that its replacement needs; it is added once the first such replacement is Pending. `slow_stop_s`,
    `slow_start_s`: the same two times of a slow pod, where it may take longer. `waits_s`: for this long after its node
    is started it is not evicted. `stop_group`: pods with the same unknown stop time; "" where the time is known.
    `fastest_start_s`: the fastest start that was observed. A pod that was evicted before the simulation starts has no
    `uid`.
    """

    uid: str
    limits: tuple[str, ...] = ()
    stop_s: float = 0.0
    start_s: float = 0.0
    replacement: Replacement = Replacement.AT_ONCE
    critical: bool = False
    late: bool = False
    turn: int = 0
    new_node: str = ""
    slow_stop_s: float = 0.0
    slow_start_s: float = 0.0
    waits_s: float = 0.0
    stop_group: str = ""
    fastest_start_s: float = 0.0

    @property
    def with_slow_times(self) -> PodMove:
        """The same eviction with the times of a slow pod."""
        (
            uid,
            limits,
            stop_time_s,
            start_time_s,
            after_eviction,
            critical,
            late,
            turn,
            new_node,
            slow_stop,
            slow_start,
            *other_fields,
        ) = self
        stop_time_s, start_time_s = max(stop_time_s, slow_stop), max(start_time_s, slow_start)
        return build_tuple(
            PodMove,
            (
                uid,
                limits,
                stop_time_s,
                start_time_s,
                after_eviction,
                critical,
                late,
                turn,
                new_node,
                stop_time_s,
                start_time_s,
                *other_fields,
            ),
        )

    @property
    def with_fastest_times(self) -> PodMove:
        """The same eviction at its fastest: the pod stops at once, and the replacement starts as fast as the fastest
        observed one."""
        stop_s = self.fastest_start_s if self.replacement is Replacement.SURGE else 0.0
        return PodMove(self.uid, self.limits, stop_s, self.fastest_start_s, self.replacement, self.critical)


@frozen
class DrainTerms:
    """The terms on which a drain is run.

    `slots`: limit → evictions that may be under way at once, at least 1. `waves`: node → its wave; a node is started
    when all nodes of earlier waves are done; within a wave nodes go in the given order. `nodes_at_once`: how many nodes
    may be under way, in total ("") or in one domain (a zone, a node group; see `domains`). `strict_limits`: limits that
    serve their evictions by `turn` alone, including those of nodes not yet started; other limits serve the evictions
    that are waiting. `eviction_interval_s`: minimum time between two evictions of the drain, except for `burst` of them
    that may be requested at once (a simulated drain spreads them; a lower bound may not). `budget_lag_s`: from a Ready
    replacement to the budget's status showing it. `node_settle_s`: from the end of the last pod until the node is done.
    `replaced_after_s`: from then until a new node has joined in its place (None: none joins). `provisioning_s`: from a
    Pending replacement until the node that is added for it is there. `empty_for_s`: node → how long it has been empty
    when the simulation starts.
    """

    slots: Mapping[str, int] = field(default_factory=dict)
    waves: Mapping[str, int] = field(default_factory=dict)
    nodes_at_once: Mapping[str, int] = field(default_factory=dict)
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # node → domains that `nodes_at_once` limits
    strict_limits: frozenset[str] = frozenset()
    eviction_interval_s: float = 0.0
    burst: float = 1.0
    budget_lag_s: float = 0.0
    node_settle_s: float = 0.0
    replaced_after_s: float | None = None
    provisioning_s: float = 0.0
    empty_for_s: Mapping[str, float] = field(default_factory=dict)


def min_interval_s(terms: DrainTerms) -> float:
    """Minimum time between any two evictions; 0 where several may be requested at once."""
    return terms.eviction_interval_s if terms.burst <= 1 else 0.0


def slot_hold_s(move: PodMove, budget_lag_s: float) -> float:
    """From the eviction until its slots are released: the replacement is Ready and the budget's status shows it.
    Infinite where the pod is never replaced."""
    if move.replacement is Replacement.NEVER:
        return inf
    return move.start_s + budget_lag_s + (move.stop_s if move.replacement is Replacement.AFTER_GONE else 0.0)


class ReplacedPod(NamedTuple):
    """When a pod was evicted, when it was gone, and when its replacement was Ready (None: nothing replaces it)."""

    uid: str
    node: str
    evicted_s: float
    gone_s: float
    ready_s: float | None


class NodeSpan(NamedTuple):
    """A node from its start (cordon) until it is empty, and until it is done."""

    node: str
    start_s: float
    empty_s: float
    done_s: float


@frozen
class Timeline:
    """The result of a simulation. `moves` in the order of eviction, `nodes` in the order of their start. `peak_away`:
    the most pods that were evicted and not yet replaced by a Ready one at the same time. `never_evicted`: uids of pods
    that are never evicted, because a limit is permanently used up and they, their node or an earlier node wait for it,
    or because their node was never admitted (`refused_nodes`, in order)."""

    moves: tuple[ReplacedPod, ...]
    nodes: tuple[NodeSpan, ...]
    never_evicted: tuple[str, ...]
    peak_away: int
    refused_nodes: tuple[str, ...] = ()

    @property
    def makespan_s(self) -> float:
        """Seconds until the last node is done."""
        return max((n.done_s for n in self.nodes), default=0.0)


# Which nodes are drained next: in order, as waves, limits on nodes at once and room for their pods allow.


class PlacementAdmission(Protocol):
    """Admission of nodes by room for their replacements, as in the banker's algorithm. One instance serves one
    simulation."""

    def admit(self, node: str, thorough: bool, partly: bool = False) -> bool:
        """Reserve places for the replacements of all pods of `node`; False, with nothing reserved, if there is no room
        now.

        Only the answer to a `thorough` question must be exact; otherwise a place that is hard to find may be missed.
        `partly`: no more room will come, so a node may be admitted if only some of its pods have a place.
        """

    def renew(self, node: str) -> None:
        """A new node like the drained `node` has joined in its place."""


class ReservedPlacement:
    """Admission for places that were reserved before. `needs`: node → drained nodes on whose new nodes its places
    are."""

    def __init__(self, needs: Mapping[str, Sequence[str]]) -> None:
        self._needs = needs
        self._replaced_nodes: set[str] = set()

    def admit(self, node: str, thorough: bool, partly: bool = False) -> bool:
        return self._replaced_nodes.issuperset(self._needs.get(node, ()))

    def renew(self, node: str) -> None:
        self._replaced_nodes.add(node)


MAX_REFUSED_NODES = 8
"""After this many nodes without room the others wait for the next new node."""


THOROUGH_NODE_COUNT = 200
"""Up to this many nodes, all are tried thoroughly whenever a node may be started."""


class NodeActivation:
    """The nodes that are still to be drained. Mutable, and private to one simulation."""

    def __init__(
        self,
        nodes: Sequence[str],
        waves: Mapping[str, int],
        nodes_at_once: Mapping[str, int],
        domains: Mapping[str, tuple[str, ...]],
        admission: PlacementAdmission | None,
    ) -> None:
        """The parameters are fields of `DrainTerms`; without `admission` there is room for everything."""
        self._queue = list(reversed(nodes))
        self._always_thorough = len(nodes) <= THOROUGH_NODE_COUNT
        self._waves = waves
        self._free_slots = dict(nodes_at_once)
        self._domains = domains
        self._admission = admission
        self._open_per_wave = Counter([waves.get(node, 0) for node in nodes] if waves else {0: len(nodes)})
        self._refused_nodes: set[str] = set()  # since room last changed
        self._is_settled = False  # nothing has changed since all nodes that may start have started

    def __bool__(self) -> bool:
        """Whether any node is left to start."""
        return bool(self._queue)

    @property
    def not_activated(self) -> Sequence[str]:
        """The nodes that were not started, in order."""
        return self._queue[::-1]

    def next_nodes(self, *, thorough: bool = False, partly: bool = False) -> Iterator[str]:
        """The nodes to cordon now. A node whose domain is full, or for which there is no room, lets later nodes pass.

        `thorough`: try every node, and refuse it only if the answer is certain; `partly` as in `PlacementAdmission`.

        The caller may start and even finish a node before it asks for the next one.
        """
        thorough = thorough or self._always_thorough
        if self._is_settled and not thorough:
            return
        skipped = []
        wave = min(self._open_per_wave, default=0) if self._waves else 0
        refused = 0
        while self._queue and (thorough or refused <= MAX_REFUSED_NODES):
            node = self._queue.pop()
            if self._waves.get(node, 0) > wave or self._free_slots.get("", 1) <= 0:
                skipped.append(node)
                break
            domains = self._limited_domains(node)
            if domains and any(self._free_slots[d] <= 0 for d in domains):
                skipped.append(node)
            elif not self._admit(node, thorough, partly):
                skipped.append(node)
                refused += 1
            else:
                for domain in domains:
                    self._free_slots[domain] -= 1
                yield node
        self._queue += reversed(skipped)
        self._is_settled = True

    def node_done(self, node: str) -> None:
        """`node` is drained: it frees its place among the nodes at once, and its wave has one open node less."""
        for domain in self._limited_domains(node):
            self._free_slots[domain] += 1
            self._is_settled = False
        wave = self._waves.get(node, 0)
        self._open_per_wave[wave] -= 1
        if not self._open_per_wave[wave]:
            del self._open_per_wave[wave]
            self._is_settled = False

    def node_replaced(self, node: str) -> None:
        """A new node has joined in the place of `node`."""
        self._refused_nodes.clear()
        self._is_settled = False
        if self._admission is not None:
            self._admission.renew(node)

    def _admit(self, node: str, thorough: bool, partly: bool) -> bool:
        if self._admission is None:
            return True
        if node in self._refused_nodes and not thorough:
            return False
        if self._admission.admit(node, thorough, partly):
            return True
        self._refused_nodes.add(node)
        return False

    def _limited_domains(self, node: str) -> tuple[str, ...]:
        if not self._free_slots:
            return ()
        domains = self._domains.get(node, ())
        return tuple(d for d in ("", *domains) if d in self._free_slots)


# The status of a budget during a drain: each write of the eviction endpoint and of the disruption controller.
#
# It is computed from the moves of a timeline, to show headroom over time and to compare it with the writes of a real
# control plane. One eviction that a budget counts makes these writes, if they change anything:
#
# 1. the eviction endpoint grants it: one disruption fewer is allowed, and the pod is listed in disruptedPods;
# 2. the controller sees the grant: the pod no longer counts as healthy;
# 3. the controller sees the pod's deletion: the pod is no longer listed;
# 4. the replacement is created, and 5. the old pod is gone: an absolute minAvailable expects a pod more or fewer;
# 6. the replacement is Ready: one healthy pod and one allowed disruption more.
#
# A controller that is late sees several of these at once and skips the writes between; it makes no other writes.
#
# Sources: pkg/registry/core/pod/storage/eviction.go (checkAndDecrement), pkg/controller/disruption/disruption.go
# (trySync, updatePdbStatus), Kubernetes v1.36.


@frozen
class WatchedBudget:
    """A budget at the start of the drain: the pods it selects, and the controller's values computed from them."""

    budget: Budget
    pods: tuple[Pod, ...]
    computed: ComputedStatus


class StatusWrite(NamedTuple):
    """The status from `at_s` on, and the number of pods that status.disruptedPods lists.

    `status.allowed` below 0: the timeline evicts a pod that the eviction endpoint would have refused.
    """

    at_s: float
    status: BudgetStatus
    disrupted: int


def status_writes(
    budgets: Iterable[WatchedBudget], moves: Sequence[ReplacedPod], budget_lag_s: float = 0.0
) -> dict[str, tuple[StatusWrite, ...]]:
    """Budget key → its status at 0 s and every write after that.

    `moves` are in the order of eviction, as in a timeline; pods that are not moved stay as they are. `budget_lag_s`:
    from a Ready replacement to the budget's status showing it, as in `DrainTerms`.
    """
    replays = [_BudgetReplay(watched, budget_lag_s) for watched in budgets]
    members: dict[str, list[tuple[_BudgetReplay, Pod]]] = {}
    for replay in replays:
        for pod in replay.watched.pods:
            members.setdefault(pod.uid, []).append((replay, pod))
    for replaced in moves:
        for replay, pod in members.get(replaced.uid, ()):
            replay.apply_move(replaced, pod)
    return {replay.watched.budget.key: replay.run_to_end() for replay in replays}


def headroom_over_time(writes: Sequence[StatusWrite]) -> tuple[tuple[float, int], ...]:
    """(second, disruptions allowed from then on) at each change; of several writes at the same time the last counts."""
    allowed_at = {write.at_s: write.status.allowed for write in writes}
    steps: list[tuple[float, int]] = []
    for at_s, allowed in allowed_at.items():
        if not steps or steps[-1][1] != allowed:
            steps.append((at_s, allowed))
    return tuple(steps)


class _FutureChange(NamedTuple):
    """A change that the controller sees at `at_s`. At the same time it sees first removed pods, then new pods, then
    Ready pods."""

    at_s: float
    healthy: int
    selected: int


class _BudgetReplay:
    """One budget during the drain. Mutable, and private to one call of `status_writes`."""

    def __init__(self, watched: WatchedBudget, budget_lag_s: float) -> None:
        self.watched = watched
        self._budget_lag_s = budget_lag_s
        self._scale = sum(c.replicas for c in watched.computed.controllers)
        self._selected = len(watched.pods)
        self._healthy = watched.computed.status.current
        self._disrupted = len(watched.computed.disrupted)
        self._future_changes: list[_FutureChange] = []
        self._writes = [StatusWrite(0.0, watched.computed.status, self._disrupted)]

    def apply_move(self, replaced: ReplacedPod, pod: Pod) -> None:
        """Apply all changes before this eviction, then the eviction; schedule its later effects."""
        self._advance_to(replaced.evicted_s)
        current_status = self._writes[-1].status
        is_listed = pod.name in self.watched.computed.disrupted
        budget = self.watched.budget
        # `needs_budget` reads the status only where the pod is not Ready, and `replace` takes most of the time.
        if needs_budget(pod, budget if pod.ready else replace(budget, status=current_status)):
            self._disrupted += not is_listed
            self._write_status(
                replaced.evicted_s,
                BudgetStatus(
                    current_status.allowed - 1, current_status.current, current_status.desired, current_status.expected
                ),
            )
            self._healthy -= pod.ready and not is_listed
            self._write_computed(replaced.evicted_s)
            self._disrupted -= 1
            self._write_computed(replaced.evicted_s)
        self._schedule_replacement(replaced, replacement(pod) is Replacement.AFTER_GONE)

    def _schedule_replacement(self, replaced: ReplacedPod, after_gone: bool) -> None:
        if replaced.ready_s is not None and not after_gone:
            self._selected += 1
            self._write_computed(replaced.evicted_s)
        self._schedule(replaced.gone_s, selected=-1)
        if replaced.ready_s is None:
            return
        if after_gone:
            self._schedule(replaced.gone_s, selected=1)
        self._schedule(replaced.ready_s + self._budget_lag_s, healthy=1)

    def run_to_end(self) -> tuple[StatusWrite, ...]:
        self._advance_to(inf)
        return tuple(self._writes)

    def _schedule(self, at_s: float, healthy: int = 0, selected: int = 0) -> None:
        heapq.heappush(self._future_changes, _FutureChange(at_s, healthy, selected))

    def _advance_to(self, at_s: float) -> None:
        while self._future_changes and self._future_changes[0].at_s <= at_s:
            change = heapq.heappop(self._future_changes)
            self._healthy += change.healthy
            self._selected += change.selected
            self._write_computed(change.at_s)

    def _write_computed(self, at_s: float) -> None:
        expected, desired = expected_and_desired(self.watched.budget, self._selected, self._scale)
        allowed = disruptions_allowed(expected, self._healthy, desired)
        self._write_status(at_s, BudgetStatus(allowed, self._healthy, desired, expected))

    def _write_status(self, at_s: float, status: BudgetStatus) -> None:
        """Like the controller, do not write a status that is equal to the last one."""
        new_write = StatusWrite(at_s, status, self._disrupted)
        if self._writes[-1][1:] != new_write[1:]:
            self._writes.append(new_write)
