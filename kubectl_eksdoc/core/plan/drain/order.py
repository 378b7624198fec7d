"""The order of evictions: budgets are consumed while planning, within a node and across nodes.

A round is one use of every budget: what is evicted in it may be away at the same time, and the next round
starts when the replacements are Ready. So a budget that lets `n` go at once is used by at most `n` pods a
round, three pods of a budget of one are three rounds, and no order of nodes needs fewer rounds than
``max(ceil(pods / n))`` over the budgets. What the order decides is which node is empty first: always the one
that can be empty soonest, given what the nodes before it have booked.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.targets import natural


@dataclass(frozen=True, slots=True)
class Task:
    """One pod to evict. `limits` name what it uses up: its budget, and anything it must not share a round for.

    `replaced` False: nothing takes its place, so it uses its budget up for good.
    `late` names why it should go after the other pods that share a limit with it ("" if it need not).
    """

    pod: Pod
    limits: tuple[str, ...] = ()
    replaced: bool = True
    late: str = ""


@dataclass(frozen=True, slots=True)
class Booking:
    """`turn` of `turns`: its place among all planned users of its first limit (0 of 0 without one)."""

    task: Task
    node: str
    round: int
    turn: int = 0
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Order:
    """`nodes` in the order in which they are emptied; `bookings` by round, then in that order of nodes.

    `wave` is the number, from 1, of the nodes that are drained together; a wave's rounds begin after those of
    the wave before. `refused` are tasks that no round can take: an earlier one used their limit up for good.
    """

    nodes: tuple[str, ...]
    bookings: tuple[Booking, ...]
    finish: Mapping[str, int]
    wave: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[tuple[str, Task], ...] = ()


class _Need(NamedTuple):
    """What one node uses of one limit; `chain` is the rounds that all tasks under the limit take together."""

    limit: str
    units: int
    chain: int


class _Book:
    """Which round has how much of each limit left. Mutable, and private to one call of `arrange`."""

    def __init__(self, per_round: Mapping[str, int], earliest: Mapping[str, int]) -> None:
        self._per_round = per_round
        self._earliest = earliest
        self._used: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self._open: dict[str, int] = defaultdict(lambda: 1)  # no round before it has room

    def book(self, task: Task, not_before: int) -> int:
        """Give `task` the first round, from `not_before` on, that has room in all of its limits."""
        number = max(not_before, self._earliest.get(task.pod.uid, 1))
        for limit in task.limits:
            number = max(number, self._open[limit])
            if task.late:
                number = max(number, 1 + max(self._used[limit], default=0))
        while any(self._used[limit].get(number, 0) >= self._per_round[limit] for limit in task.limits):
            number += 1
        for limit in task.limits:
            used = self._used[limit]
            used[number] += 1
            while used.get(self._open[limit], 0) >= self._per_round[limit]:
                self._open[limit] += 1
        return number


def arrange(tasks: Mapping[str, Sequence[Task]], per_round: Mapping[str, int], at_once: int | None = None) -> Order:
    """Order the nodes of `tasks` and give every task a round, from 1.

    Args:
        tasks: node name → its pods to evict (maybe none).
        per_round: limit → how many of its tasks one round can take, at least 1.
        at_once: how many nodes make a wave, at least 1; None: all of them are one.
    """
    earliest, refused = _earliest(tasks, per_round)
    dropped = {task.pod.uid for _, task in refused}
    todo = {node: [t for t in given if t.pod.uid not in dropped] for node, given in tasks.items()}
    nodes = _soonest_first(todo, per_round)
    size = at_once or max(len(nodes), 1)
    wave = {node: i // size + 1 for i, node in enumerate(nodes)}
    book = _Book(per_round, earliest)
    placed: list[Booking] = []
    finish = dict.fromkeys(nodes, 0)
    for start in range(0, len(nodes), size):
        after = max((booking.round for booking in placed), default=0)
        placed += _book(todo, nodes[start : start + size], book, after + 1)
    for booking in placed:
        finish[booking.node] = max(finish[booking.node], booking.round)
    return Order(tuple(nodes), _numbered(placed, nodes), finish, wave, tuple(refused))


def _book(todo: Mapping[str, Sequence[Task]], nodes: Sequence[str], book: _Book, first: int) -> list[Booking]:
    """One wave, from round `first` on, in four passes: system-critical pods when the others of their node have
    gone, and in both tiers those that should be late when the others have their rounds."""
    placed: list[Booking] = []
    last: dict[str, int] = defaultdict(lambda: first)
    for critical in (False, True):
        ordinary_last = dict(last)
        for late in (False, True):
            for node in nodes:
                chosen = (t for t in todo[node] if t.pod.system_critical is critical and bool(t.late) is late)
                for task in sorted(chosen, key=lambda t: (t.pod.namespace, natural(t.pod.name))):
                    number = book.book(task, ordinary_last.get(node, first))
                    last[node] = max(last[node], number)
                    placed.append(Booking(task, node, number))
    return placed


def _needs(todo: Mapping[str, Sequence[Task]], per_round: Mapping[str, int]) -> dict[str, tuple[_Need, ...]]:
    """What each node needs, longest chain first."""
    totals = Counter(limit for given in todo.values() for task in given for limit in task.limits)
    chains = {limit: -(-total // per_round[limit]) for limit, total in totals.items()}
    needs = {}
    for node, given in todo.items():
        units = Counter(limit for task in given for limit in task.limits)
        found = (_Need(limit, number, chains[limit]) for limit, number in units.items())
        needs[node] = tuple(sorted(found, key=lambda need: -need.chain))
    return needs


def _soonest_first(todo: Mapping[str, Sequence[Task]], per_round: Mapping[str, int]) -> list[str]:
    """Always the node that can be empty soonest after those before it; ties: fewest pods, then by name."""
    needs = _needs(todo, per_round)
    taken: dict[str, int] = defaultdict(int)
    heap = [(min(1, len(given)), len(given), natural(node), node) for node, given in todo.items()]
    heapq.heapify(heap)
    nodes: list[str] = []
    while heap:
        _, size, key, node = heapq.heappop(heap)
        # Others may have been chosen since this node was valued: it waits if it no longer comes first.
        now = (max(_soonest(needs[node], taken, per_round), min(1, size)), size, key, node)
        if heap and now > heap[0]:
            heapq.heappush(heap, now)
            continue
        nodes.append(node)
        for need in needs[node]:
            taken[need.limit] += need.units
    return nodes


def _soonest(needs: Iterable[_Need], taken: Mapping[str, int], per_round: Mapping[str, int]) -> int:
    """The round by which `needs` can be met when others have `taken` theirs. They come longest chain first."""
    soonest = 0
    for need in needs:
        if need.chain <= soonest:
            break  # not even all of its tasks together take that long
        last = -(-(taken.get(need.limit, 0) + need.units) // per_round[need.limit])
        if last > soonest:
            soonest = last
    return soonest


def _earliest(
    tasks: Mapping[str, Sequence[Task]], per_round: Mapping[str, int]
) -> tuple[dict[str, int], list[tuple[str, Task]]]:
    """First rounds of pods that nothing replaces, and those for which nothing is left.

    Each of them takes a unit of its budget with it, so all others of the budget go first.
    """
    users: dict[str, list[tuple[str, Task]]] = defaultdict(list)
    for node, given in tasks.items():
        for task in given:
            for limit in task.limits:
                users[limit].append((node, task))
    earliest: dict[str, int] = {}
    refused: list[tuple[str, Task]] = []
    for limit, using in users.items():
        lasting = [(node, task) for node, task in using if not task.replaced]
        others = len(using) - len(lasting)
        after = ceil(others / per_round[limit]) + 1
        lasting.sort(key=lambda item: (natural(item[0]), item[1].pod.key))
        for _, task in lasting[: per_round[limit]]:
            earliest[task.pod.uid] = max(earliest.get(task.pod.uid, 1), after)
        refused += lasting[per_round[limit] :]
    return earliest, refused


def _numbered(placed: Iterable[Booking], nodes: Sequence[str]) -> tuple[Booking, ...]:
    rank = {node: i for i, node in enumerate(nodes)}
    ordered = sorted(
        placed,
        key=lambda b: (
            b.round,
            b.task.pod.system_critical,
            rank[b.node],
            b.task.pod.namespace,
            natural(b.task.pod.name),
        ),
    )
    turns: dict[str, int] = defaultdict(int)
    for booking in ordered:
        if booking.task.limits:
            turns[booking.task.limits[0]] += 1
    seen: dict[str, int] = defaultdict(int)
    numbered = []
    for booking in ordered:
        limit = booking.task.limits[0] if booking.task.limits else ""
        if not limit:
            numbered.append(booking)
            continue
        seen[limit] += 1
        numbered.append(Booking(booking.task, booking.node, booking.round, seen[limit], turns[limit]))
    return tuple(numbered)
