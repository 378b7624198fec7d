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
from kubectl_eksdoc.kubernetes.budgets import Computed, disruptions_allowed, expected_and_desired
from kubectl_eksdoc.kubernetes.evictions import uses_up
from kubectl_eksdoc.kubernetes.replacement import Replacement, replacement
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.model.nodes import Pod

made = tuple.__new__
"""``build_tuple(Kind, fields)``: create a NamedTuple from all its fields in half the usual time. Used for types with
one instance per pod."""


class Move(NamedTuple):
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
    after: Replacement = Replacement.AT_ONCE
    critical: bool = False
    late: bool = False
    turn: int = 0
    waits_for: str = ""
    slow_stop_s: float = 0.0
    slow_start_s: float = 0.0
    waits_s: float = 0.0
    kin: str = ""
    least_start_s: float = 0.0

    @property
    def slowed(self) -> Move:
        """The same eviction with the times of a slow pod."""
        uid, limits, stop, start, after, critical, late, turn, waits_for, slow_stop, slow_start, *rest = self
        stop, start = max(stop, slow_stop), max(start, slow_start)
        return made(Move, (uid, limits, stop, start, after, critical, late, turn, waits_for, stop, start, *rest))

    @property
    def soonest(self) -> Move:
        """The same eviction at its fastest: the pod stops at once, and the replacement starts as fast as the fastest
        observed one."""
        stop_s = self.least_start_s if self.after is Replacement.FIRST else 0.0
        return Move(self.uid, self.limits, stop_s, self.least_start_s, self.after, self.critical)


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
    at_once: Mapping[str, int] = field(default_factory=dict)
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # node → domains that `nodes_at_once` limits
    strict: frozenset[str] = frozenset()
    between_s: float = 0.0
    burst: float = 1.0
    lag_s: float = 0.0
    settle_s: float = 0.0
    renewed_after_s: float | None = None
    new_node_s: float = 0.0
    empty_for_s: Mapping[str, float] = field(default_factory=dict)


def apart_s(terms: DrainTerms) -> float:
    """Minimum time between any two evictions; 0 where several may be requested at once."""
    return terms.between_s if terms.burst <= 1 else 0.0


def hold_s(move: Move, lag_s: float) -> float:
    """From the eviction until its slots are released: the replacement is Ready and the budget's status shows it.
    Infinite where the pod is never replaced."""
    if move.after is Replacement.NEVER:
        return inf
    return move.start_s + lag_s + (move.stop_s if move.after is Replacement.AFTER_GONE else 0.0)


class ReplacedPod(NamedTuple):
    """When a pod was evicted, when it was gone, and when its replacement was Ready (None: nothing replaces it)."""

    uid: str
    node: str
    evicted_s: float
    gone_s: float
    ready_s: float | None


class Span(NamedTuple):
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
    nodes: tuple[Span, ...]
    stuck: tuple[str, ...]
    peak_away: int
    refused: tuple[str, ...] = ()

    @property
    def makespan_s(self) -> float:
        """Seconds until the last node is done."""
        return max((n.done_s for n in self.nodes), default=0.0)


# Which nodes are drained next: in order, as waves, limits on nodes at once and room for their pods allow.


class PlacementGround(Protocol):
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


class Reserved:
    """Admission for places that were reserved before. `needs`: node → drained nodes on whose new nodes its places
    are."""

    def __init__(self, needs: Mapping[str, Sequence[str]]) -> None:
        self._needs = needs
        self._there: set[str] = set()

    def admit(self, node: str, thorough: bool, partly: bool = False) -> bool:
        return self._there.issuperset(self._needs.get(node, ()))

    def renew(self, node: str) -> None:
        self._there.add(node)


PATIENCE = 8
"""After this many nodes without room the others wait for the next new node."""


FEW = 200
"""Up to this many nodes, all are tried thoroughly whenever a node may be started."""


class NodeActivation:
    """The nodes that are still to be drained. Mutable, and private to one simulation."""

    def __init__(
        self,
        nodes: Sequence[str],
        waves: Mapping[str, int],
        at_once: Mapping[str, int],
        domains: Mapping[str, tuple[str, ...]],
        ground: PlacementGround | None,
    ) -> None:
        """The parameters are fields of `DrainTerms`; without `admission` there is room for everything."""
        self._queue = list(reversed(nodes))
        self._few = len(nodes) <= FEW
        self._waves = waves
        self._room = dict(at_once)
        self._domains = domains
        self._ground = ground
        self._undone = Counter([waves.get(node, 0) for node in nodes] if waves else {0: len(nodes)})
        self._refused: set[str] = set()  # since room last changed
        self._settled = False  # nothing has changed since all nodes that may start have started

    def __bool__(self) -> bool:
        """Whether any node is left to start."""
        return bool(self._queue)

    @property
    def left(self) -> Sequence[str]:
        """The nodes that were not started, in order."""
        return self._queue[::-1]

    def begin(self, *, thorough: bool = False, partly: bool = False) -> Iterator[str]:
        """The nodes to cordon now. A node whose domain is full, or for which there is no room, lets later nodes pass.

        `thorough`: try every node, and refuse it only if the answer is certain; `partly` as in `PlacementAdmission`.

        The caller may start and even finish a node before it asks for the next one.
        """
        thorough = thorough or self._few
        if self._settled and not thorough:
            return
        passed = []
        wave = min(self._undone, default=0) if self._waves else 0
        refused = 0
        while self._queue and (thorough or refused <= PATIENCE):
            node = self._queue.pop()
            if self._waves.get(node, 0) > wave or self._room.get("", 1) <= 0:
                passed.append(node)
                break
            domains = self._limited(node)
            if domains and any(self._room[d] <= 0 for d in domains):
                passed.append(node)
            elif not self._admitted(node, thorough, partly):
                passed.append(node)
                refused += 1
            else:
                for domain in domains:
                    self._room[domain] -= 1
                yield node
        self._queue += reversed(passed)
        self._settled = True

    def done(self, node: str) -> None:
        """`node` is drained: it frees its place among the nodes at once, and its wave has one open node less."""
        for domain in self._limited(node):
            self._room[domain] += 1
            self._settled = False
        wave = self._waves.get(node, 0)
        self._undone[wave] -= 1
        if not self._undone[wave]:
            del self._undone[wave]
            self._settled = False

    def renewed(self, node: str) -> None:
        """A new node has joined in the place of `node`."""
        self._refused.clear()
        self._settled = False
        if self._ground is not None:
            self._ground.renew(node)

    def _admitted(self, node: str, thorough: bool, partly: bool) -> bool:
        if self._ground is None:
            return True
        if node in self._refused and not thorough:
            return False
        if self._ground.admit(node, thorough, partly):
            return True
        self._refused.add(node)
        return False

    def _limited(self, node: str) -> tuple[str, ...]:
        if not self._room:
            return ()
        named = self._domains.get(node, ())
        return tuple(d for d in ("", *named) if d in self._room)


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
class BudgetCourse:
    """A budget at the start of the drain: the pods it selects, and the controller's values computed from them."""

    budget: Budget
    pods: tuple[Pod, ...]
    start: Computed


class StatusWrite(NamedTuple):
    """The status from `at_s` on, and the number of pods that status.disruptedPods lists.

    `status.allowed` below 0: the timeline evicts a pod that the eviction endpoint would have refused.
    """

    at_s: float
    status: BudgetStatus
    disrupted: int


def status_writes(
    budgets: Iterable[BudgetCourse], moves: Sequence[ReplacedPod], lag_s: float = 0.0
) -> dict[str, tuple[StatusWrite, ...]]:
    """Budget key → its status at 0 s and every write after that.

    `moves` are in the order of eviction, as in a timeline; pods that are not moved stay as they are. `budget_lag_s`:
    from a Ready replacement to the budget's status showing it, as in `DrainTerms`.
    """
    runs = [_Run(watched, lag_s) for watched in budgets]
    members: dict[str, list[tuple[_Run, Pod]]] = {}
    for run in runs:
        for pod in run.watched.pods:
            members.setdefault(pod.uid, []).append((run, pod))
    for moved in moves:
        for run, pod in members.get(moved.uid, ()):
            run.move(moved, pod)
    return {run.watched.budget.key: run.to_the_end() for run in runs}


def headroom(writes: Sequence[StatusWrite]) -> tuple[tuple[float, int], ...]:
    """(second, disruptions allowed from then on) at each change; of several writes at the same time the last counts."""
    last = {write.at_s: write.status.allowed for write in writes}
    line: list[tuple[float, int]] = []
    for at_s, allowed in last.items():
        if not line or line[-1][1] != allowed:
            line.append((at_s, allowed))
    return tuple(line)


class _Later(NamedTuple):
    """A change that the controller sees at `at_s`. At the same time it sees first removed pods, then new pods, then
    Ready pods."""

    at_s: float
    healthy: int
    selected: int


class _Run:
    """One budget during the drain. Mutable, and private to one call of `status_writes`."""

    def __init__(self, watched: BudgetCourse, lag_s: float) -> None:
        self.watched = watched
        self._lag_s = lag_s
        self._scale = sum(c.replicas for c in watched.start.controllers)
        self._selected = len(watched.pods)
        self._healthy = watched.start.status.current
        self._disrupted = len(watched.start.disrupted)
        self._later: list[_Later] = []
        self._writes = [StatusWrite(0.0, watched.start.status, self._disrupted)]

    def move(self, moved: ReplacedPod, pod: Pod) -> None:
        """Apply all changes before this eviction, then the eviction; schedule its later effects."""
        self._until(moved.evicted_s)
        now = self._writes[-1].status
        listed = pod.name in self.watched.start.disrupted
        budget = self.watched.budget
        # `uses_up` reads the status only where the pod is not Ready, and `replace` takes most of the time.
        if uses_up(pod, budget if pod.ready else replace(budget, status=now)):
            self._disrupted += not listed
            self._write(moved.evicted_s, BudgetStatus(now.allowed - 1, now.current, now.desired, now.expected))
            self._healthy -= pod.ready and not listed
            self._sync(moved.evicted_s)
            self._disrupted -= 1
            self._sync(moved.evicted_s)
        self._follow(moved, replacement(pod) is Replacement.AFTER_GONE)

    def _follow(self, moved: ReplacedPod, after_gone: bool) -> None:
        if moved.ready_s is not None and not after_gone:
            self._selected += 1
            self._sync(moved.evicted_s)
        self._at(moved.gone_s, selected=-1)
        if moved.ready_s is None:
            return
        if after_gone:
            self._at(moved.gone_s, selected=1)
        self._at(moved.ready_s + self._lag_s, healthy=1)

    def to_the_end(self) -> tuple[StatusWrite, ...]:
        self._until(inf)
        return tuple(self._writes)

    def _at(self, at_s: float, healthy: int = 0, selected: int = 0) -> None:
        heapq.heappush(self._later, _Later(at_s, healthy, selected))

    def _until(self, at_s: float) -> None:
        while self._later and self._later[0].at_s <= at_s:
            seen = heapq.heappop(self._later)
            self._healthy += seen.healthy
            self._selected += seen.selected
            self._sync(seen.at_s)

    def _sync(self, at_s: float) -> None:
        expected, desired = expected_and_desired(self.watched.budget, self._selected, self._scale)
        allowed = disruptions_allowed(expected, self._healthy, desired)
        self._write(at_s, BudgetStatus(allowed, self._healthy, desired, expected))

    def _write(self, at_s: float, status: BudgetStatus) -> None:
        """Like the controller, do not write a status that is equal to the last one."""
        written = StatusWrite(at_s, status, self._disrupted)
        if self._writes[-1][1:] != written[1:]:
            self._writes.append(written)
