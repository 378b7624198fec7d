"""Simulation of a drain in virtual time: nodes are started in order, pods evicted as budgets allow, replacements start.

One engine gives the preview and the estimate. It does what a careful run does. An eviction takes a slot of its budget
and releases it when the replacement is Ready (a ReplicaSet's starts at once, a StatefulSet's after the old pod is
gone). System-critical pods wait for the others of their node. Only so many nodes are drained at a time. A node starts
when there is room for all of its pods; a drained node may be replaced by a new node, which is room for the next ones.
Where evictions must keep an interval, the budget with the most remaining time has its turn first. Seconds from the
start of the drain are the only clock.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any, NamedTuple

from kubectl_eksdoc.kubernetes.replacement import Replacement

from .course import (
    DrainTerms,
    Move,
    NodeActivation,
    PlacementGround,
    ReplacedPod,
    Span,
    Timeline,
    hold_s,
    made,
)


class _Entry(NamedTuple):
    """A move with its place in the queue: by turn, late ones last, nodes that come earlier first.

    `limits`: those of the move that can make it wait.
    """

    turn: int
    late: bool
    rank: int
    number: int
    node: str
    move: Move
    limits: tuple[str, ...]


class _Tier:
    """The pods of one node that go together: how many are not evicted yet, and when the last one is gone."""

    __slots__ = ("gone_s", "left")

    def __init__(self, left: int) -> None:
        self.left = left
        self.gone_s = 0.0


def simulate(
    nodes: Sequence[tuple[str, Sequence[Move]]],
    terms: DrainTerms,
    ground: PlacementGround | None = None,
    *,
    brief: bool = False,
) -> Timeline:
    """Simulate the drain of `nodes` (name, pods to evict) in that order to its end, with `admission` for this run
    alone.

    `spans_only`: the result has node spans, but no `moves` and no `peak_away`.
    """
    if terms.waves:
        nodes = sorted(nodes, key=lambda item: terms.waves.get(item[0], 0))
    return _Run(nodes, terms, ground, brief).to_the_end()


class _Run:
    """One simulation. Mutable, and private to one call of `simulate`."""

    def __init__(
        self,
        nodes: Sequence[tuple[str, Sequence[Move]]],
        terms: DrainTerms,
        ground: PlacementGround | None,
        brief: bool,
    ) -> None:
        self._brief = brief
        self._terms = terms
        self._free = dict(terms.slots)
        self._waiting: dict[str, list[_Entry]] = defaultdict(list)  # by the limit that has no slot
        self._events: list[tuple[float, int, Callable[[Any], None], object]] = []  # time, tick, action, subject
        self._tick = 0
        self._now = 0.0
        self._next_eviction = 0.0
        self._paced: list[tuple[float, _Entry]] = []  # they have their slots: the longest chain goes first
        self._chains = self._time_left(nodes) if terms.between_s else {}
        self._rank = {node: rank for rank, (node, _) in enumerate(nodes)}
        self._moves = dict(nodes)
        names = [node for node, _ in nodes]
        self._coming = NodeActivation(names, terms.waves, terms.at_once, terms.domains, ground)
        wanted: dict[str, int] = defaultdict(int)
        for _, given in nodes:
            for move in given:
                for limit in move.limits:
                    wanted[limit] += 1
        self._crowded = {x for x, number in wanted.items() if number > terms.slots[x] or x in terms.strict}
        self._tiers: dict[str, _Tier] = {}  # node → its current tier
        self._held: dict[str, list[Move]] = {}  # system-critical pods that still wait
        self._started: dict[str, float] = {}
        self._new_nodes: dict[str, float] = {}  # when new nodes are there
        self._moved: list[ReplacedPod] = []
        self._never_away: set[str] = set()
        self._spans: dict[str, Span] = {}
        self._line = _lines(nodes, terms.strict)  # strict limit → remaining turns, next one last
        self._unserved: list[str] = []  # limits with a released slot or turn

    def to_the_end(self) -> Timeline:
        self._activate(self._coming.begin())
        while True:
            while self._events:
                self._now, _, happens, subject = heapq.heappop(self._events)
                happens(subject)
                if self._unserved:
                    self._serve()
            self._activate(self._coming.begin(thorough=True))
            if not self._events:
                self._activate(self._coming.begin(thorough=True, partly=True))
            if not self._events:
                break
        stuck = {entry.move.uid for queue in self._waiting.values() for entry in queue}
        stuck |= {move.uid for held in self._held.values() for move in held}
        stuck |= {move.uid for node in self._coming.left for move in self._moves[node]}
        spans = sorted(self._spans.values(), key=lambda span: (span.start_s, span.node))
        refused = tuple(self._coming.left)
        return Timeline(tuple(self._moved), tuple(spans), tuple(sorted(stuck)), self._peak(), refused)

    def _done(self, node: str) -> None:
        self._coming.done(node)
        if self._terms.renewed_after_s is not None:
            self._at(self._now + self._terms.renewed_after_s, self._renewed, node)
        if self._coming:
            self._activate(self._coming.begin())

    def _renewed(self, node: str) -> None:
        """A new node has joined in the place of `node`, which is done."""
        self._coming.renewed(node)
        if self._coming:
            self._activate(self._coming.begin())

    def _activate(self, nodes: Iterable[str]) -> None:
        for node in nodes:
            self._begin(self._rank[node], node, self._moves[node])
        self._serve()

    def _begin(self, rank: int, node: str, given: Sequence[Move]) -> None:
        self._started[node] = self._now
        ordinary = [move for move in given if not move.critical]
        if len(ordinary) < len(given):
            self._held[node] = [move for move in given if move.critical]
        if given:
            self._go(rank, node, ordinary or self._held.pop(node))
        else:
            self._empty(node)

    def _go(self, rank: int, node: str, moves: Sequence[Move]) -> None:
        """Evict the pods of one tier of a node, or let them wait."""
        tier = self._tiers[node] = _Tier(len(moves))
        crowded, paced, started = self._crowded, bool(self._terms.between_s), self._started[node]
        waiting = []
        for number, move in enumerate(moves):
            limits = move.limits
            if limits and not crowded.issuperset(limits):
                limits = tuple([x for x in limits if x in crowded])
            if limits or (paced and move.uid) or move.waits_s:
                waiting.append(made(_Entry, (move.turn, move.late, rank, number, node, move, limits)))
            else:
                tier.gone_s = max(tier.gone_s, self._goes(move, node)[0])
        tier.left = len(waiting)
        if not waiting:
            self._at(tier.gone_s, self._gone, node)
        for entry in waiting:
            since = started + entry.move.waits_s
            if since > self._now:
                self._at(since, self._ask, entry)
            else:
                self._ask(entry)

    def _ask(self, entry: _Entry) -> None:
        """Evict, or wait at the first limit that has no slot for it."""
        free, line = self._free, self._line
        for limit in entry.limits:
            if free[limit] <= 0 or (line and not self._has_turn(limit, entry)):
                heapq.heappush(self._waiting[limit], entry)
                return
        for limit in entry.limits:
            free[limit] -= 1
            if limit in line:
                line[limit].pop()
                self._unserved.append(limit)
        if not (self._terms.between_s and entry.move.uid):
            self._evict(entry.move, entry.node, entry.limits)
            return
        if not self._paced:
            self._at(max(self._now, self._next_eviction), self._take_turn, None)
        longest = max((self._chains[limit] for limit in entry.limits), default=0.0)
        heapq.heappush(self._paced, (-longest, entry))

    def _time_left(self, nodes: Sequence[tuple[str, Sequence[Move]]]) -> dict[str, float]:
        """Seconds that each limit needs for its evictions if its slots are never idle."""
        left: dict[str, float] = defaultdict(float)
        for _, given in nodes:
            for move in given:
                for limit in move.limits:
                    left[limit] += self._share(move, limit)
        return left

    def _share(self, move: Move, limit: str) -> float:
        hold = hold_s(move, self._terms.lag_s)
        return 0.0 if hold == inf else hold / self._terms.slots[limit]

    def _take_turn(self, _: object) -> None:
        """Evict the next pod after the eviction interval."""
        entry = heapq.heappop(self._paced)[1]
        for limit in entry.limits:
            self._chains[limit] -= self._share(entry.move, limit)
        self._next_eviction = self._now + self._terms.between_s
        self._evict(entry.move, entry.node, entry.limits)
        if self._paced:
            self._at(self._next_eviction, self._take_turn, None)

    def _has_turn(self, limit: str, entry: _Entry) -> bool:
        return limit not in self._line or self._line[limit][-1] == entry.turn

    def _serve(self) -> None:
        """Serve evictions that wait for released limits; they may then wait at another of their limits."""
        while self._unserved:
            limit = self._unserved.pop()
            queue = self._waiting.get(limit)
            while queue and self._free[limit] > 0 and self._has_turn(limit, queue[0]):
                self._ask(heapq.heappop(queue))

    def _evict(self, move: Move, node: str, limits: tuple[str, ...]) -> None:
        gone_s, ready_s = self._goes(move, node)
        if limits and ready_s is not None:
            self._at(ready_s + self._terms.lag_s, self._give_back, limits)
        tier = self._tiers[node]
        tier.left -= 1
        if gone_s > tier.gone_s:
            tier.gone_s = gone_s
        if not tier.left:
            self._at(tier.gone_s, self._gone, node)

    def _goes(self, move: Move, node: str) -> tuple[float, float | None]:
        """Record the eviction; returns when the pod is gone, and when its replacement is Ready (None: never)."""
        at, stop_s, start_s, after, waits_for = self._now, move.stop_s, move.start_s, move.after, move.waits_for
        gone = at + stop_s
        if after is Replacement.NEVER:
            ready = None
        else:
            ready = (gone if after is Replacement.AFTER_GONE else at) + start_s
            if waits_for:
                created = ready - start_s
                there = self._new_nodes.setdefault(waits_for, created + self._terms.new_node_s)
                ready = max(created, there) + start_s
                if after is Replacement.FIRST:
                    gone = ready + stop_s - start_s
        if not self._brief:
            self._moved.append(made(ReplacedPod, (move.uid, node, at, gone, ready)))
            if after is Replacement.FIRST:
                self._never_away.add(move.uid)
        return gone, ready

    def _give_back(self, limits: tuple[str, ...]) -> None:
        """A replacement is Ready and the budget's status shows it."""
        for limit in reversed(limits):
            self._free[limit] += 1
            if self._waiting.get(limit):
                self._unserved.append(limit)

    def _gone(self, node: str) -> None:
        """The last pod of the node's tier is gone."""
        held = self._held.pop(node, ())
        if held:
            self._go(self._rank[node], node, held)
        else:
            self._empty(node)

    def _empty(self, node: str) -> None:
        settle_s = self._terms.settle_s
        if self._terms.empty_for_s:
            settle_s = max(0.0, settle_s - self._terms.empty_for_s.get(node, 0.0))
        done = self._now + settle_s
        self._spans[node] = Span(node, self._started[node], self._now, done)
        self._at(done, self._done, node)

    def _peak(self) -> int:
        """The most pods that are away at any moment."""
        without = self._never_away
        return _peak([moved for moved in self._moved if moved.uid not in without] if without else self._moved)

    def _at(self, when: float, happens: Callable[[Any], None], subject: object) -> None:
        self._tick += 1
        heapq.heappush(self._events, (when, self._tick, happens, subject))


def _lines(nodes: Sequence[tuple[str, Sequence[Move]]], strict: frozenset[str]) -> dict[str, list[int]]:
    if not strict:
        return {}
    lines: dict[str, list[int]] = {limit: [] for limit in strict}
    for _, given in nodes:
        for move in given:
            for limit in strict.intersection(move.limits):
                lines[limit].append(move.turn)
    for line in lines.values():
        line.sort(reverse=True)
    return lines


def _peak(moved: Sequence[ReplacedPod]) -> int:
    """The most of `replaced_pods`, sorted by time of eviction, that are away at any moment."""
    ready = sorted([m.ready_s for m in moved if m.ready_s is not None])
    back = peak = 0
    for gone, m in enumerate(moved, 1):
        while back < len(ready) and ready[back] <= m.evicted_s:
            back += 1
        peak = max(peak, gone - back)
    return peak
