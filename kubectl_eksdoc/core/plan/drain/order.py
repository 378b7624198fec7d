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
from dataclasses import dataclass
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

    `refused` are tasks that no round can take: an earlier one used their limit up for good.
    """

    nodes: tuple[str, ...]
    bookings: tuple[Booking, ...]
    finish: Mapping[str, int]
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
        self._booked: dict[str, int] = defaultdict(int)

    def book(self, task: Task, not_before: int) -> int:
        """Give `task` the first round, from `not_before` on, that has room in all of its limits."""
        number = max(not_before, self._earliest.get(task.pod.uid, 1))
        for limit in task.limits:
            number = max(number, self._open[limit])
        while any(self._used[limit][number] >= self._per_round[limit] for limit in task.limits):
            number += 1
        for limit in task.limits:
            used = self._used[limit]
            used[number] += 1
            self._booked[limit] += 1
            while used[self._open[limit]] >= self._per_round[limit]:
                self._open[limit] += 1
        return number

    def soonest(self, needs: Iterable[_Need]) -> int:
        """The round by which `needs` can be met at the earliest. They come longest chain first."""
        soonest = 0
        for need in needs:
            if need.chain <= soonest:
                break  # not even all of its tasks together take that long
            last = -(-(self._booked[need.limit] + need.units) // self._per_round[need.limit])
            if last > soonest:
                soonest = last
        return soonest


def arrange(tasks: Mapping[str, Sequence[Task]], per_round: Mapping[str, int]) -> Order:
    """Order the nodes of `tasks` and give every task a round, from 1.

    Args:
        tasks: node name → its pods to evict (maybe none).
        per_round: limit → how many of its tasks one round can take, at least 1.
    """
    earliest, refused = _earliest(tasks, per_round)
    dropped = {task.pod.uid for _, task in refused}
    todo = {node: _in_turn(t for t in given if t.pod.uid not in dropped) for node, given in tasks.items()}
    nodes, placed = _book_soonest_first(todo, _needs(todo, per_round), _Book(per_round, earliest))
    finish = dict.fromkeys(nodes, 0)
    for booking in placed:
        finish[booking.node] = max(finish[booking.node], booking.round)
    return Order(tuple(nodes), _numbered(placed, nodes), finish, tuple(refused))


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


def _book_soonest_first(
    todo: Mapping[str, Sequence[Task]], needs: Mapping[str, Sequence[_Need]], book: _Book
) -> tuple[list[str], list[Booking]]:
    """Book node by node, always the one that can be empty soonest; ties: fewest pods, then by name."""
    heap = [(min(1, len(given)), len(given), natural(node), node) for node, given in todo.items()]
    heapq.heapify(heap)
    nodes: list[str] = []
    placed: list[Booking] = []
    while heap:
        _, size, key, node = heapq.heappop(heap)
        # Others may have booked since this node was valued: it waits if it no longer comes first.
        now = (max(book.soonest(needs[node]), min(1, size)), size, key, node)
        if heap and now > heap[0]:
            heapq.heappush(heap, now)
            continue
        nodes.append(node)
        placed += _book_node(book, node, todo[node])
    return nodes, placed


def _book_node(book: _Book, node: str, tasks: Sequence[Task]) -> list[Booking]:
    """Book a whole node: system-critical pods go when its other pods have gone."""
    bookings: list[Booking] = []
    last = 1
    for task in tasks:
        number = book.book(task, last if task.pod.system_critical else 1)
        if not task.pod.system_critical:
            last = max(last, number)
        bookings.append(Booking(task, node, number))
    return bookings


def _in_turn(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=lambda t: (t.pod.system_critical, bool(t.late), t.pod.namespace, natural(t.pod.name)))


def _earliest(
    tasks: Mapping[str, Sequence[Task]], per_round: Mapping[str, int]
) -> tuple[dict[str, int], list[tuple[str, Task]]]:
    """First rounds of tasks that must let others go before, and those for which nothing is left.

    A pod that is not replaced takes a unit of its budget with it, so all others of the budget go first.
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
        late = [task for _, task in using if task.late and task.replaced]
        if 0 < len(late) < others:
            first = ceil((others - len(late)) / per_round[limit]) + 1
            for task in late:
                earliest[task.pod.uid] = max(earliest.get(task.pod.uid, 1), first)
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
