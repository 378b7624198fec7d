"""A drain in virtual time: nodes are activated in order, pods evicted as budgets allow, replacements start.

One engine gives the preview and the estimate. It does what a careful run does: a budget's slot is taken by
an eviction and given back when the replacement is Ready (a ReplicaSet's starts at once, a StatefulSet's after
the old pod is gone), system-critical pods wait for the others of their node, and at most so many nodes are
drained at a time. Where evictions must keep their distance, the budget with the longest way to go has its turn
first. Seconds from the start of the drain are the only clock.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import NamedTuple

from kubectl_eksdoc.core.rules.replacement import Replacement


@dataclass(frozen=True, slots=True)
class Move:
    """One pod to evict. `stop_s` from eviction to gone; `start_s` from the new pod's creation to Ready.

    `limits` name what it takes a slot of. `late` ones are taken last of those that wait for the same limit.
    `turn` is its place in the order under `Terms.in_turn`.
    """

    uid: str
    limits: tuple[str, ...] = ()
    stop_s: float = 0.0
    start_s: float = 0.0
    after: Replacement = Replacement.AT_ONCE
    critical: bool = False
    late: bool = False
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """How the drain is run.

    `slots`: limit → evictions that may be under way at once, at least 1. `waves`: node → its wave; a node is
    activated when all nodes of smaller waves are done (the nodes come in the order of their waves). `at_once`:
    how many nodes may be under way, in all ("") or of one domain (a zone, a node group; see `domains`).
    `in_turn`: each limit serves its moves strictly by `turn`, those of nodes not yet active included, as a plan
    orders them; else what waits is served, earlier nodes first. `between_s`: least time between two evictions
    of the whole drain. `lag_s`: from a replacement's readiness to the budget showing it.
    `settle_s`: from the last pod's end to the node being done.
    """

    slots: Mapping[str, int] = field(default_factory=dict)
    waves: Mapping[str, int] = field(default_factory=dict)
    at_once: Mapping[str, int] = field(default_factory=dict)
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # node → domains that `at_once` limits
    in_turn: bool = False
    between_s: float = 0.0
    lag_s: float = 0.0
    settle_s: float = 0.0


def hold_s(move: Move, lag_s: float) -> float:
    """From the eviction until its slots are given back (infinite: never): a Ready replacement the budget shows."""
    if move.after is Replacement.NEVER:
        return inf
    return move.start_s + lag_s + (move.stop_s if move.after is Replacement.AFTER_GONE else 0.0)


class Moved(NamedTuple):
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


@dataclass(frozen=True, slots=True)
class Timeline:
    """`moves` in the order of eviction, `nodes` in the order of activation. `peak_away` is the most pods of
    all together that were evicted and not yet replaced by a Ready one. `stuck` are never evicted: a limit was
    used up for good, and they, their node or the nodes before it wait for it."""

    moves: tuple[Moved, ...]
    nodes: tuple[Span, ...]
    stuck: tuple[str, ...]
    peak_away: int

    @property
    def makespan_s(self) -> float:
        """Until the last node is done."""
        return max((n.done_s for n in self.nodes), default=0.0)


class _Event(Enum):
    SLOT = 0  # a replacement is Ready and the budget shows it
    GONE = 1
    DONE = 2
    TURN = 3  # enough time has passed for another eviction


class _Entry(NamedTuple):
    """A move with its place in the queue: by turn where that counts, late ones last, earlier nodes first."""

    turn: int
    late: bool
    rank: int
    number: int
    node: str
    move: Move


def simulate(nodes: Sequence[tuple[str, Sequence[Move]]], terms: Terms) -> Timeline:
    """Run the drain of `nodes` (name, pods to evict) in that order to its end."""
    return _Run(nodes, terms).to_the_end()


class _Run:
    """One simulation. Mutable, and private to one call of `simulate`."""

    def __init__(self, nodes: Sequence[tuple[str, Sequence[Move]]], terms: Terms) -> None:
        self._terms = terms
        self._free = dict(terms.slots)
        self._waiting: dict[str, list[_Entry]] = defaultdict(list)  # by the limit that refused it
        self._events: list[tuple[float, int, _Event, object]] = []
        self._tick = 0
        self._now = 0.0
        self._next_eviction = 0.0
        self._paced: list[tuple[float, _Entry]] = []  # have their slots: the longest chain goes first
        self._chains = self._time_left(nodes) if terms.between_s else {}
        self._queue = [(rank, node, given) for rank, (node, given) in enumerate(nodes)]
        self._queue.reverse()
        self._room = dict(terms.at_once)
        self._undone = Counter(terms.waves.get(node, 0) for node, _ in nodes)  # nodes by wave
        self._pods_left: dict[str, int] = {}  # on an active node, by those not gone yet
        self._ordinary_left: dict[str, int] = {}
        self._held: dict[str, list[_Entry]] = {}  # critical ones whose turn has not come
        self._started: dict[str, float] = {}
        self._moved: list[Moved] = []
        self._spans: dict[str, Span] = {}
        self._line = _lines(nodes) if terms.in_turn else {}  # by limit, the turns to come, next one last
        self._unserved: list[str] = []  # limits of which a slot or a turn came free

    def to_the_end(self) -> Timeline:
        self._activate()
        self._serve()
        while self._events:
            self._now, _, kind, subject = heapq.heappop(self._events)
            if kind is _Event.SLOT:
                self._give_back(subject)  # type: ignore[arg-type]
            elif kind is _Event.GONE:
                self._gone(subject)  # type: ignore[arg-type]
            elif kind is _Event.TURN:
                self._take_turn()
            else:
                self._leave(str(subject))
            self._serve()
        stuck = {entry.move.uid for queue in self._waiting.values() for entry in queue}
        stuck |= {entry.move.uid for held in self._held.values() for entry in held}
        stuck |= {move.uid for _, _, given in self._queue for move in given}
        spans = sorted(self._spans.values(), key=lambda span: (span.start_s, span.node))
        return Timeline(tuple(self._moved), tuple(spans), tuple(sorted(stuck)), _peak(self._moved))

    def _activate(self) -> None:
        """Cordon the next nodes, in order, while there is room; a node whose domain is full lets others pass."""
        passed = []
        wave = min(self._undone, default=0)
        while self._queue:
            rank, node, given = self._queue.pop()
            domains = self._domains(node)
            if self._terms.waves.get(node, 0) > wave or self._room.get("", 1) <= 0:
                passed.append((rank, node, given))
                break
            if any(self._room[d] <= 0 for d in domains):
                passed.append((rank, node, given))
                continue
            for domain in domains:
                self._room[domain] -= 1
            self._begin(rank, node, given)
        self._queue += reversed(passed)

    def _domains(self, node: str) -> tuple[str, ...]:
        named = self._terms.domains.get(node, ())
        return tuple(d for d in ("", *named) if d in self._room)

    def _begin(self, rank: int, node: str, given: Sequence[Move]) -> None:
        self._started[node] = self._now
        turn = self._terms.in_turn
        entries = [_Entry(m.turn if turn else 0, m.late, rank, number, node, m) for number, m in enumerate(given)]
        ordinary = [entry for entry in entries if not entry.move.critical]
        self._pods_left[node] = len(entries)
        self._ordinary_left[node] = len(ordinary)
        self._held[node] = [entry for entry in entries if entry.move.critical]
        for entry in ordinary or self._held.pop(node):
            self._ask(entry)
        if not entries:
            self._empty(node)

    def _ask(self, entry: _Entry) -> None:
        """Evict, or wait at the first limit that has no slot for it."""
        for limit in entry.move.limits:
            if not self._may(limit, entry):
                heapq.heappush(self._waiting[limit], entry)
                return
        for limit in entry.move.limits:
            self._free[limit] -= 1
            if self._line:
                self._line[limit].pop()
                self._unserved.append(limit)
        if not self._terms.between_s:
            self._evict(entry)
            return
        if not self._paced:
            self._at(max(self._now, self._next_eviction), _Event.TURN, None)
        longest = max((self._chains[limit] for limit in entry.move.limits), default=0.0)
        heapq.heappush(self._paced, (-longest, entry))

    def _time_left(self, nodes: Sequence[tuple[str, Sequence[Move]]]) -> dict[str, float]:
        """Seconds each limit still needs for its evictions if its slots are never idle."""
        left: dict[str, float] = defaultdict(float)
        for _, given in nodes:
            for move in given:
                for limit in move.limits:
                    left[limit] += self._share(move, limit)
        return left

    def _share(self, move: Move, limit: str) -> float:
        hold = hold_s(move, self._terms.lag_s)
        return 0.0 if hold == inf else hold / self._terms.slots[limit]

    def _take_turn(self) -> None:
        _, entry = heapq.heappop(self._paced)
        for limit in entry.move.limits:
            self._chains[limit] -= self._share(entry.move, limit)
        self._next_eviction = self._now + self._terms.between_s
        self._evict(entry)
        if self._paced:
            self._at(self._next_eviction, _Event.TURN, None)

    def _may(self, limit: str, entry: _Entry) -> bool:
        return self._free[limit] > 0 and (not self._line or self._line[limit][-1] == entry.turn)

    def _serve(self) -> None:
        """Let those go on that wait for what came free; they may go on to wait for another of their limits."""
        while self._unserved:
            limit = self._unserved.pop()
            queue = self._waiting[limit]
            while queue and self._may(limit, queue[0]):
                self._ask(heapq.heappop(queue))

    def _evict(self, entry: _Entry) -> None:
        move = entry.move
        at = self._now
        gone = at + move.stop_s
        ready = None
        if move.after is not Replacement.NEVER:
            ready = (gone if move.after is Replacement.AFTER_GONE else at) + move.start_s
            if move.limits:
                self._at(ready + self._terms.lag_s, _Event.SLOT, move.limits)
        self._moved.append(Moved(move.uid, entry.node, at, gone, ready))
        self._at(gone, _Event.GONE, entry)

    def _give_back(self, limits: tuple[str, ...]) -> None:
        for limit in limits:
            self._free[limit] += 1
        self._unserved += reversed(limits)

    def _gone(self, entry: _Entry) -> None:
        node = entry.node
        self._pods_left[node] -= 1
        if not entry.move.critical:
            self._ordinary_left[node] -= 1
            if not self._ordinary_left[node]:
                for held in self._held.pop(node, ()):
                    self._ask(held)
        if not self._pods_left[node]:
            self._empty(node)

    def _empty(self, node: str) -> None:
        done = self._now + self._terms.settle_s
        self._spans[node] = Span(node, self._started[node], self._now, done)
        self._at(done, _Event.DONE, node)

    def _leave(self, node: str) -> None:
        for domain in self._domains(node):
            self._room[domain] += 1
        wave = self._terms.waves.get(node, 0)
        self._undone[wave] -= 1
        if not self._undone[wave]:
            del self._undone[wave]
        self._activate()

    def _at(self, when: float, kind: _Event, subject: object) -> None:
        self._tick += 1
        heapq.heappush(self._events, (when, self._tick, kind, subject))


def _lines(nodes: Sequence[tuple[str, Sequence[Move]]]) -> dict[str, list[int]]:
    lines: dict[str, list[int]] = defaultdict(list)
    for _, given in nodes:
        for move in given:
            for limit in move.limits:
                lines[limit].append(move.turn)
    for line in lines.values():
        line.sort(reverse=True)
    return lines


def _peak(moved: Sequence[Moved]) -> int:
    """The most of `moved`, given by time of eviction, that are away at any moment."""
    ready = sorted(m.ready_s for m in moved if m.ready_s is not None)
    back = peak = 0
    for gone, m in enumerate(moved, 1):
        while back < len(ready) and ready[back] <= m.evicted_s:
            back += 1
        peak = max(peak, gone - back)
    return peak
