"""What a simulated drain is given and what it tells: evictions to make, the terms of the run, and when all happened."""

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
"""``made(Kind, fields)``: a NamedTuple of all its fields in half the time, for what there is one of for every pod."""


class Move(NamedTuple):
    """One pod to evict. `stop_s` from eviction to gone; `start_s` from the new pod's creation to Ready. What a rollout
    replaces (`Replacement.FIRST`) stops when the new one is Ready: its `stop_s` has that in it.

    `limits` name what it takes a slot of. `late` ones are taken last of those that wait for the same limit.
    `turn` is its place in the plan's order: of those that wait for the same limit the smallest goes first.
    `waits_for`: the new node its replacement needs, which something adds once the first such replacement is Pending.
    `slow_stop_s` and `slow_start_s` are the same two times of a slow pod, where it may take longer. `waits_s`: so long
    from the activation of its node on it is not asked for. `kin`: pods that stop alike, though nobody knows how long
    that takes; "" where it is known. `least_start_s`: no start that was seen was faster. What was evicted before the
    simulation begins has no `uid`.
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
        """The same eviction of a slow pod."""
        uid, limits, stop, start, after, critical, late, turn, waits_for, slow_stop, slow_start, *rest = self
        stop, start = max(stop, slow_stop), max(start, slow_start)
        return made(Move, (uid, limits, stop, start, after, critical, late, turn, waits_for, stop, start, *rest))

    @property
    def soonest(self) -> Move:
        """The same eviction as fast as it can be: the pod stops at once, and what replaces it starts as fast as any did
        that was seen."""
        stop_s = self.least_start_s if self.after is Replacement.FIRST else 0.0
        return Move(self.uid, self.limits, stop_s, self.least_start_s, self.after, self.critical)


@frozen
class DrainTerms:
    """How the drain is run.

    `slots`: limit → evictions that may be under way at once, at least 1. `waves`: node → its wave; a node is
    activated when all nodes of smaller waves are done; of one wave they come in the order given. `at_once`:
    how many nodes may be under way, in all ("") or of one domain (a zone, a node group; see `domains`).
    `strict`: limits that serve their moves by `turn` alone, those of nodes not yet active included; of the others
    what waits is served. `between_s`: least time between two evictions of the whole drain, but for `burst` of them
    that may be requested at once (a simulated drain spreads them; a bound may not). `lag_s`: from a replacement's
    readiness to the budget showing it. `settle_s`: from the last pod's end to the node being done.
    `renewed_after_s`: from then until a new node has joined in its place (None: none does). `new_node_s`: from a
    Pending replacement to the node that is added for it. `empty_for_s`: so long before the simulation begins a node
    has been empty.
    """

    slots: Mapping[str, int] = field(default_factory=dict)
    waves: Mapping[str, int] = field(default_factory=dict)
    at_once: Mapping[str, int] = field(default_factory=dict)
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # node → domains that `at_once` limits
    strict: frozenset[str] = frozenset()
    between_s: float = 0.0
    burst: float = 1.0
    lag_s: float = 0.0
    settle_s: float = 0.0
    renewed_after_s: float | None = None
    new_node_s: float = 0.0
    empty_for_s: Mapping[str, float] = field(default_factory=dict)


def apart_s(terms: DrainTerms) -> float:
    """The time between any two evictions, and so 0 where several may be requested at once."""
    return terms.between_s if terms.burst <= 1 else 0.0


def hold_s(move: Move, lag_s: float) -> float:
    """From the eviction until its slots are given back (infinite: never): a Ready replacement the budget shows."""
    if move.after is Replacement.NEVER:
        return inf
    return move.start_s + lag_s + (move.stop_s if move.after is Replacement.AFTER_GONE else 0.0)


class ReplacedPod(NamedTuple):
    """When a pod was evicted, when it was gone, and when its replacement was Ready (None: there is none)."""

    uid: str
    node: str
    evicted_s: float
    gone_s: float
    ready_s: float | None


class Span(NamedTuple):
    """A node from its activation (cordon) until it is empty, and until it is done."""

    node: str
    start_s: float
    empty_s: float
    done_s: float


@frozen
class Timeline:
    """`moves` in the order of eviction, `nodes` in the order of activation. `peak_away` is the most pods of
    all together that were evicted and not yet replaced by a Ready one. `stuck` are never evicted: a limit was
    used up for good, and they, their node or the nodes before it wait for it; or their node was never admitted
    (`refused`, in order)."""

    moves: tuple[ReplacedPod, ...]
    nodes: tuple[Span, ...]
    stuck: tuple[str, ...]
    peak_away: int
    refused: tuple[str, ...] = ()

    @property
    def makespan_s(self) -> float:
        """Until the last node is done."""
        return max((n.done_s for n in self.nodes), default=0.0)


# Which nodes are drained next: in order, as waves, limits on nodes at once and the room for their pods allow.


class PlacementGround(Protocol):
    """Where replacements go: admission as in the banker's algorithm. One is used for one simulation."""

    def admit(self, node: str, thorough: bool, partly: bool = False) -> bool:
        """Reserve places for the replacements of all pods of `node`, or none and say no for now.

        Only the answer to a `thorough` question must be right: else a place that is hard to find may be missed.
        `partly`: there will never be more room, so that a node may be taken of which only some pods have a place.
        """

    def renew(self, node: str) -> None:
        """A new node like the drained `node` has joined in its place."""


class Reserved:
    """The ground when places were reserved before: `needs` are the drained nodes in whose successors they are."""

    def __init__(self, needs: Mapping[str, Sequence[str]]) -> None:
        self._needs = needs
        self._there: set[str] = set()

    def admit(self, node: str, thorough: bool, partly: bool = False) -> bool:
        return self._there.issuperset(self._needs.get(node, ()))

    def renew(self, node: str) -> None:
        self._there.add(node)


PATIENCE = 8
"""So many nodes for which there is no room are asked about before the others must wait for the next new node."""


FEW = 200
"""Of no more nodes than this all are asked about, thoroughly, whenever a node may be begun."""


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
        """The fields are those of `DrainTerms`; without a `ground` there is room for everything."""
        self._queue = list(reversed(nodes))
        self._few = len(nodes) <= FEW
        self._waves = waves
        self._room = dict(at_once)
        self._domains = domains
        self._ground = ground
        self._undone = Counter([waves.get(node, 0) for node in nodes] if waves else {0: len(nodes)})
        self._refused: set[str] = set()  # since the ground last changed
        self._settled = False  # nothing has changed since all that may begin have

    def __bool__(self) -> bool:
        """Whether any is left."""
        return bool(self._queue)

    @property
    def left(self) -> Sequence[str]:
        """Those that were not activated, in order."""
        return self._queue[::-1]

    def begin(self, *, thorough: bool = False, partly: bool = False) -> Iterator[str]:
        """The nodes to cordon now. A node whose domain is full or for which there is no room lets others pass.

        `thorough`: ask about every node, and take no for an answer only if it is certain; `partly` as for
        `PlacementGround`.

        What the caller does with a node may be done before the next one is asked for.
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
        """`node` is drained: it makes room among the nodes at once, and its wave is shorter by one."""
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


# What a budget's status says during a drain: each write of the eviction endpoint and of the disruption controller.
#
# Made from the moves of a timeline, so that headroom over time can be shown, and held against what a real
# control plane wrote. One eviction that a budget counts makes these writes, as far as they change anything:
#
# 1. the endpoint grants it: one disruption fewer is allowed, and the pod is listed as disrupted;
# 2. the controller sees the grant: the pod is not healthy any more;
# 3. it sees the pod's deletion: the pod is not listed any more;
# 4. the replacement is created, and 5. the old pod is gone: an absolute minAvailable expects a pod more or fewer;
# 6. the replacement is Ready: one healthy pod and one allowed disruption more.
#
# A controller that is late sees several of these at once and leaves out what lies between; it writes no others.
#
# Sources: pkg/registry/core/pod/storage/eviction.go (checkAndDecrement), pkg/controller/disruption/disruption.go
# (trySync, updatePdbStatus), Kubernetes v1.36.


@frozen
class BudgetCourse:
    """A budget when the drain begins: the pods it selects, and what the controller computes for them."""

    budget: Budget
    pods: tuple[Pod, ...]
    start: Computed


class StatusWrite(NamedTuple):
    """The status from `at_s` on, and how many pods status.disruptedPods lists.

    `status.allowed` below 0: the timeline evicts a pod that the endpoint would have refused.
    """

    at_s: float
    status: BudgetStatus
    disrupted: int


def status_writes(
    budgets: Iterable[BudgetCourse], moves: Sequence[ReplacedPod], lag_s: float = 0.0
) -> dict[str, tuple[StatusWrite, ...]]:
    """By budget (its key) its status at 0 s and every write after that.

    `moves` are in the order of eviction, as a timeline has them; pods that are not moved stay as they are.
    `lag_s` is from a replacement's readiness to the budget showing it, as in the terms of the simulation.
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
    """(second, disruptions allowed from then on) wherever it changes; of several writes of one moment the last."""
    last = {write.at_s: write.status.allowed for write in writes}
    line: list[tuple[float, int]] = []
    for at_s, allowed in last.items():
        if not line or line[-1][1] != allowed:
            line.append((at_s, allowed))
    return tuple(line)


class _Later(NamedTuple):
    """What the controller sees at `at_s`. Of one moment it sees what is gone, what was created, what is Ready."""

    at_s: float
    healthy: int
    selected: int


class _Run:
    """One budget through the drain. Mutable, and private to one call of `status_writes`."""

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
        """Everything up to this eviction, the eviction itself, and what follows from it later."""
        self._until(moved.evicted_s)
        now = self._writes[-1].status
        listed = pod.name in self.watched.start.disrupted
        budget = self.watched.budget
        # The status counts only where the pod is not Ready, and replacing it takes most of the time.
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
        """As the controller does: a status that is the same as before is not written."""
        written = StatusWrite(at_s, status, self._disrupted)
        if self._writes[-1][1:] != written[1:]:
            self._writes.append(written)
