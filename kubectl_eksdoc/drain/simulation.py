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

from .timeline import (
    DrainTerms,
    NodeActivation,
    NodeSpan,
    PlacementAdmission,
    PodMove,
    ReplacedPod,
    Timeline,
    build_tuple,
    slot_hold_s,
)


class _QueueEntry(NamedTuple):
    """A move with its place in the queue: by turn, late ones last, nodes that come earlier first.

    `limits`: those of the move that can make it wait.
    """

    turn: int
    late: bool
    rank: int
    number: int
    node: str
    move: PodMove
    limits: tuple[str, ...]


class _Tier:
    """The pods of one node that go together: how many are not evicted yet, and when the last one is gone."""

    __slots__ = ("gone_s", "left")

    def __init__(self, left: int) -> None:
        self.left = left
        self.gone_s = 0.0


def simulate(
    nodes: Sequence[tuple[str, Sequence[PodMove]]],
    terms: DrainTerms,
    admission: PlacementAdmission | None = None,
    *,
    spans_only: bool = False,
) -> Timeline:
    """Simulate the drain of `nodes` (name, pods to evict) in that order to its end, with `admission` for this run
    alone.

    `spans_only`: the result has node spans, but no `moves` and no `peak_away`.
    """
    if terms.waves:
        nodes = sorted(nodes, key=lambda item: terms.waves.get(item[0], 0))
    return _Simulation(nodes, terms, admission, spans_only).run_to_end()


class _Simulation:
    """One simulation. Mutable, and private to one call of `simulate`."""

    def __init__(
        self,
        nodes: Sequence[tuple[str, Sequence[PodMove]]],
        terms: DrainTerms,
        admission: PlacementAdmission | None,
        spans_only: bool,
    ) -> None:
        self._spans_only = spans_only
        self._terms = terms
        self._free_slots = dict(terms.slots)
        self._waiting: dict[str, list[_QueueEntry]] = defaultdict(list)  # by the limit that has no slot
        self._events: list[tuple[float, int, Callable[[Any], None], object]] = []  # time, tick, action, subject
        self._tick = 0
        self._now = 0.0
        self._next_eviction = 0.0
        self._paced_queue: list[tuple[float, _QueueEntry]] = []  # they have their slots: the longest chain goes first
        self._remaining_s = self._remaining_seconds(nodes) if terms.eviction_interval_s else {}
        self._rank = {node: rank for rank, (node, _) in enumerate(nodes)}
        self._moves = dict(nodes)
        names = [node for node, _ in nodes]
        self._activation = NodeActivation(names, terms.waves, terms.nodes_at_once, terms.domains, admission)
        limit_users: dict[str, int] = defaultdict(int)
        for _, node_moves in nodes:
            for move in node_moves:
                for limit in move.limits:
                    limit_users[limit] += 1
        self._contended_limits = {
            x for x, user_count in limit_users.items() if user_count > terms.slots[x] or x in terms.strict_limits
        }
        self._tiers: dict[str, _Tier] = {}  # node → its current tier
        self._critical_moves: dict[str, list[PodMove]] = {}  # system-critical pods that still wait
        self._started_s: dict[str, float] = {}
        self._new_node_ready_s: dict[str, float] = {}  # when new nodes are there
        self._replaced_pods: list[ReplacedPod] = []
        self._never_away: set[str] = set()
        self._node_spans: dict[str, NodeSpan] = {}
        self._turns = _turns_by_limit(nodes, terms.strict_limits)  # strict limit → remaining turns, next one last
        self._freed_limits: list[str] = []  # limits with a released slot or turn

    def run_to_end(self) -> Timeline:
        self._activate_nodes(self._activation.next_nodes())
        while True:
            while self._events:
                self._now, _, action, subject = heapq.heappop(self._events)
                action(subject)
                if self._freed_limits:
                    self._serve_waiting()
            self._activate_nodes(self._activation.next_nodes(thorough=True))
            if not self._events:
                self._activate_nodes(self._activation.next_nodes(thorough=True, partly=True))
            if not self._events:
                break
        never_evicted = {entry.move.uid for queue in self._waiting.values() for entry in queue}
        never_evicted |= {move.uid for critical_moves in self._critical_moves.values() for move in critical_moves}
        never_evicted |= {move.uid for node in self._activation.not_activated for move in self._moves[node]}
        spans = sorted(self._node_spans.values(), key=lambda span: (span.start_s, span.node))
        refused_nodes = tuple(self._activation.not_activated)
        return Timeline(
            tuple(self._replaced_pods), tuple(spans), tuple(sorted(never_evicted)), self._peak_away(), refused_nodes
        )

    def _node_done(self, node: str) -> None:
        self._activation.node_done(node)
        if self._terms.replaced_after_s is not None:
            self._schedule(self._now + self._terms.replaced_after_s, self._node_replaced, node)
        if self._activation:
            self._activate_nodes(self._activation.next_nodes())

    def _node_replaced(self, node: str) -> None:
        """A new node has joined in the place of `node`, which is done."""
        self._activation.node_replaced(node)
        if self._activation:
            self._activate_nodes(self._activation.next_nodes())

    def _activate_nodes(self, nodes: Iterable[str]) -> None:
        for node in nodes:
            self._start_node(self._rank[node], node, self._moves[node])
        self._serve_waiting()

    def _start_node(self, rank: int, node: str, moves: Sequence[PodMove]) -> None:
        self._started_s[node] = self._now
        ordinary = [move for move in moves if not move.critical]
        if len(ordinary) < len(moves):
            self._critical_moves[node] = [move for move in moves if move.critical]
        if moves:
            self._evict_tier(rank, node, ordinary or self._critical_moves.pop(node))
        else:
            self._node_empty(node)

    def _evict_tier(self, rank: int, node: str, moves: Sequence[PodMove]) -> None:
        """Evict the pods of one tier of a node, or let them wait."""
        tier = self._tiers[node] = _Tier(len(moves))
        contended_limits, is_paced, started_s = (
            self._contended_limits,
            bool(self._terms.eviction_interval_s),
            self._started_s[node],
        )
        waiting = []
        for number, move in enumerate(moves):
            limits = move.limits
            if limits and not contended_limits.issuperset(limits):
                limits = tuple([limit for limit in limits if limit in contended_limits])
            if limits or (is_paced and move.uid) or move.waits_s:
                waiting.append(build_tuple(_QueueEntry, (move.turn, move.late, rank, number, node, move, limits)))
            else:
                tier.gone_s = max(tier.gone_s, self._record_eviction(move, node)[0])
        tier.left = len(waiting)
        if not waiting:
            self._schedule(tier.gone_s, self._tier_gone, node)
        for entry in waiting:
            earliest_s = started_s + entry.move.waits_s
            if earliest_s > self._now:
                self._schedule(earliest_s, self._request_slots, entry)
            else:
                self._request_slots(entry)

    def _request_slots(self, entry: _QueueEntry) -> None:
        """Evict, or wait at the first limit that has no slot for it."""
        free_slots, turns = self._free_slots, self._turns
        for limit in entry.limits:
            if free_slots[limit] <= 0 or (turns and not self._has_turn(limit, entry)):
                heapq.heappush(self._waiting[limit], entry)
                return
        for limit in entry.limits:
            free_slots[limit] -= 1
            if limit in turns:
                turns[limit].pop()
                self._freed_limits.append(limit)
        if not (self._terms.eviction_interval_s and entry.move.uid):
            self._evict_pod(entry.move, entry.node, entry.limits)
            return
        if not self._paced_queue:
            self._schedule(max(self._now, self._next_eviction), self._evict_paced, None)
        longest = max((self._remaining_s[limit] for limit in entry.limits), default=0.0)
        heapq.heappush(self._paced_queue, (-longest, entry))

    def _remaining_seconds(self, nodes: Sequence[tuple[str, Sequence[PodMove]]]) -> dict[str, float]:
        """Seconds that each limit needs for its evictions if its slots are never idle."""
        remaining_s: dict[str, float] = defaultdict(float)
        for _, node_moves in nodes:
            for move in node_moves:
                for limit in move.limits:
                    remaining_s[limit] += self._slot_seconds(move, limit)
        return remaining_s

    def _slot_seconds(self, move: PodMove, limit: str) -> float:
        hold_seconds = slot_hold_s(move, self._terms.budget_lag_s)
        return 0.0 if hold_seconds == inf else hold_seconds / self._terms.slots[limit]

    def _evict_paced(self, _: object) -> None:
        """Evict the next pod after the eviction interval."""
        entry = heapq.heappop(self._paced_queue)[1]
        for limit in entry.limits:
            self._remaining_s[limit] -= self._slot_seconds(entry.move, limit)
        self._next_eviction = self._now + self._terms.eviction_interval_s
        self._evict_pod(entry.move, entry.node, entry.limits)
        if self._paced_queue:
            self._schedule(self._next_eviction, self._evict_paced, None)

    def _has_turn(self, limit: str, entry: _QueueEntry) -> bool:
        return limit not in self._turns or self._turns[limit][-1] == entry.turn

    def _serve_waiting(self) -> None:
        """Serve evictions that wait for released limits; they may then wait at another of their limits."""
        while self._freed_limits:
            limit = self._freed_limits.pop()
            queue = self._waiting.get(limit)
            while queue and self._free_slots[limit] > 0 and self._has_turn(limit, queue[0]):
                self._request_slots(heapq.heappop(queue))

    def _evict_pod(self, move: PodMove, node: str, limits: tuple[str, ...]) -> None:
        gone_s, ready_s = self._record_eviction(move, node)
        if limits and ready_s is not None:
            self._schedule(ready_s + self._terms.budget_lag_s, self._release_slots, limits)
        tier = self._tiers[node]
        tier.left -= 1
        if gone_s > tier.gone_s:
            tier.gone_s = gone_s
        if not tier.left:
            self._schedule(tier.gone_s, self._tier_gone, node)

    def _record_eviction(self, move: PodMove, node: str) -> tuple[float, float | None]:
        """Record the eviction; returns when the pod is gone, and when its replacement is Ready (None: never)."""
        now_s, stop_s, start_s, replacement, new_node = (
            self._now,
            move.stop_s,
            move.start_s,
            move.replacement,
            move.new_node,
        )
        gone_at_s = now_s + stop_s
        if replacement is Replacement.NEVER:
            ready_at_s = None
        else:
            ready_at_s = (gone_at_s if replacement is Replacement.AFTER_GONE else now_s) + start_s
            if new_node:
                created_s = ready_at_s - start_s
                node_ready_s = self._new_node_ready_s.setdefault(new_node, created_s + self._terms.provisioning_s)
                ready_at_s = max(created_s, node_ready_s) + start_s
                if replacement is Replacement.SURGE:
                    gone_at_s = ready_at_s + stop_s - start_s
        if not self._spans_only:
            self._replaced_pods.append(build_tuple(ReplacedPod, (move.uid, node, now_s, gone_at_s, ready_at_s)))
            if replacement is Replacement.SURGE:
                self._never_away.add(move.uid)
        return gone_at_s, ready_at_s

    def _release_slots(self, limits: tuple[str, ...]) -> None:
        """A replacement is Ready and the budget's status shows it."""
        for limit in reversed(limits):
            self._free_slots[limit] += 1
            if self._waiting.get(limit):
                self._freed_limits.append(limit)

    def _tier_gone(self, node: str) -> None:
        """The last pod of the node's tier is gone."""
        critical_moves = self._critical_moves.pop(node, ())
        if critical_moves:
            self._evict_tier(self._rank[node], node, critical_moves)
        else:
            self._node_empty(node)

    def _node_empty(self, node: str) -> None:
        settle_s = self._terms.node_settle_s
        if self._terms.empty_for_s:
            settle_s = max(0.0, settle_s - self._terms.empty_for_s.get(node, 0.0))
        done = self._now + settle_s
        self._node_spans[node] = NodeSpan(node, self._started_s[node], self._now, done)
        self._schedule(done, self._node_done, node)

    def _peak_away(self) -> int:
        """The most pods that are away at any moment."""
        never_away = self._never_away
        return _peak_of(
            [moved for moved in self._replaced_pods if moved.uid not in never_away]
            if never_away
            else self._replaced_pods
        )

    def _schedule(self, when: float, action: Callable[[Any], None], subject: object) -> None:
        self._tick += 1
        heapq.heappush(self._events, (when, self._tick, action, subject))


def _turns_by_limit(nodes: Sequence[tuple[str, Sequence[PodMove]]], strict: frozenset[str]) -> dict[str, list[int]]:
    if not strict:
        return {}
    turns: dict[str, list[int]] = {limit: [] for limit in strict}
    for _, node_moves in nodes:
        for move in node_moves:
            for limit in strict.intersection(move.limits):
                turns[limit].append(move.turn)
    for queue in turns.values():
        queue.sort(reverse=True)
    return turns


def _peak_of(replaced_pods: Sequence[ReplacedPod]) -> int:
    """The most of `replaced_pods`, sorted by time of eviction, that are away at any moment."""
    ready = sorted([pod.ready_s for pod in replaced_pods if pod.ready_s is not None])
    replaced_count = peak = 0
    for evicted_count, pod in enumerate(replaced_pods, 1):
        while replaced_count < len(ready) and ready[replaced_count] <= pod.evicted_s:
            replaced_count += 1
        peak = max(peak, evicted_count - replaced_count)
    return peak
