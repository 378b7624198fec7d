"""The order of evictions: budgets are consumed while planning, within a node and across nodes.

A round is one use of every budget: what is evicted in it may be away at the same time, and the next round
starts when the replacements are Ready. So a budget that lets `n` go at once is used by at most `n` pods a
round, three pods of a budget of one are three rounds, and no order of nodes needs fewer rounds than
``max(ceil(pods / n))`` over the budgets. What the order decides is which node is empty first: `soonest_first`
always takes the one that can be empty soonest, given what the nodes before it have booked.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.targets import natural
from kubectl_eksdoc.core.rules.replacement import Replacement


class Tier(Enum):
    """On a node each tier goes when the one before has gone."""

    ORDINARY = 0
    CRITICAL = 1
    FOR_GOOD = 2


@dataclass(frozen=True, slots=True)
class Task:
    """One pod to evict. `limits` name what it takes a unit of for its round: its budget, and anything of which
    only so many may go at once.

    `for_good` are those of its limits whose unit never comes back, because nothing takes the pod's place.
    `late` names why it should go after the other pods that share a limit with it ("" if it need not). `after` is
    what its owner does about it.
    """

    pod: Pod
    limits: tuple[str, ...] = ()
    for_good: tuple[str, ...] = ()
    late: str = ""
    after: Replacement = Replacement.AT_ONCE

    @property
    def tier(self) -> Tier:
        if self.for_good:
            return Tier.FOR_GOOD
        return Tier.CRITICAL if self.pod.system_critical else Tier.ORDINARY

    @property
    def comes_again(self) -> bool:
        """Whether its replacement needs a place elsewhere."""
        return self.after is not Replacement.NEVER and self.after is not Replacement.SAME_NODE


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
    the wave before. `gated`: no node of a wave is begun before all of the one before are done; else each begins
    when there is room for its pods. `refused` are tasks that no round can take: an earlier one used their limit
    up for good.
    """

    nodes: tuple[str, ...]
    bookings: tuple[Booking, ...]
    finish: Mapping[str, int]
    wave: Mapping[str, int] = field(default_factory=dict)
    gated: bool = False
    refused: tuple[tuple[Task, str], ...] = ()


class _Need(NamedTuple):
    """What one node uses of one limit; `chain` is the rounds that all tasks under the limit take together."""

    limit: str
    units: int
    chain: int


class _Book:
    """Which round has how much of each limit left. Mutable, and private to one call of `arrange`."""

    def __init__(self, per_round: Mapping[str, int]) -> None:
        self._per_round = per_round
        self._used: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self._lasting: dict[str, list[int]] = defaultdict(list)  # since which rounds units are gone for good
        self._open: dict[str, int] = defaultdict(lambda: 1)  # no round before it has room

    def exhausted(self, task: Task) -> str:
        """The limit of `task` of which nothing is left from some round on, "" if there is none."""
        return next((x for x in task.limits if len(self._lasting[x]) >= self._per_round[x]), "")

    def book(self, task: Task, not_before: int) -> int:
        """Give `task` the first round, from `not_before` on, that has room in all of its limits."""
        number = not_before
        for limit in task.limits:
            number = max(number, self._open[limit])
            if task.late or limit in task.for_good:
                # A late one goes after all others so far; what is used up for good must leave them theirs.
                number = max(number, 1 + max(self._used[limit], default=0))
        while any(self._free(limit, number) <= 0 for limit in task.limits):
            number += 1
        for limit in task.limits:
            if limit in task.for_good:
                self._lasting[limit].append(number)
            else:
                self._used[limit][number] += 1
            while self._used[limit].get(self._open[limit], 0) >= self._per_round[limit]:
                self._open[limit] += 1
        return number

    def _free(self, limit: str, number: int) -> int:
        gone = sum(1 for since in self._lasting[limit] if since <= number) if limit in self._lasting else 0
        return self._per_round[limit] - gone - self._used[limit].get(number, 0)


def arrange(
    tasks: Mapping[str, Sequence[Task]],
    per_round: Mapping[str, int],
    nodes: Sequence[str],
    wave: Mapping[str, int],
    generation: Mapping[str, int] = MappingProxyType({}),
    *,
    gated: bool = False,
    as_given: bool = False,
) -> Order:
    """Give every task a round, from 1.

    Args:
        tasks: node name → its pods to evict (maybe none), in the order in which equal ones go.
        per_round: limit → how many of its tasks one round can take, at least 1.
        nodes: those of `tasks`; of two that want the same turn the first has it.
        wave: of every node, from 1.
        generation: within a wave those of a smaller one have their rounds first, for the others need that they are
            drained (see `waves.generations`).
        as_given: the order of `nodes` stands, also where one is empty before those in front of it.
    """
    book = _Book(per_round)
    placed: list[Booking] = []
    refused: list[tuple[Task, str]] = []
    together: dict[tuple[int, int], list[str]] = defaultdict(list)
    for node in nodes:
        together[wave[node], generation.get(node, 0)].append(node)
    for which in sorted(together):
        after = max((booking.round for booking in placed), default=0)
        _book_wave(tasks, together[which], book, after + 1, placed, refused)
    finish = dict.fromkeys(nodes, 0)
    for booking in placed:
        finish[booking.node] = max(finish[booking.node], booking.round)
    # What waits for others is emptied after them.
    shown = sorted(nodes, key=lambda node: (wave[node], 0 if as_given else finish[node]))
    return Order(tuple(shown), _numbered(placed, shown), finish, wave, gated, tuple(refused))


def _book_wave(
    tasks: Mapping[str, Sequence[Task]],
    nodes: Sequence[str],
    book: _Book,
    first: int,
    placed: list[Booking],
    refused: list[tuple[Task, str]],
) -> None:
    """Book the nodes of one wave from round `first` on, in passes over all of them.

    System-critical pods go when the others of their node have gone; in both tiers those that should be late go
    when the others have their rounds; and last of all what uses a budget up for good.
    """
    last: dict[str, int] = dict.fromkeys(nodes, first)
    queues: dict[tuple[Tier, bool], list[tuple[str, Task]]] = defaultdict(list)
    for node in nodes:
        for task in tasks[node]:
            queues[task.tier, bool(task.late)].append((node, task))
    for tier in Tier:
        since = dict(last)
        for late in (False, True):
            for node, task in queues[tier, late]:
                limit = book.exhausted(task)
                if limit:
                    refused.append((task, limit))
                    continue
                number = book.book(task, since[node])
                last[node] = max(last[node], number)
                placed.append(Booking(task, node, number))


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


def soonest_first(todo: Mapping[str, Sequence[Task]], per_round: Mapping[str, int]) -> list[str]:
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


def _numbered(placed: Iterable[Booking], nodes: Sequence[str]) -> tuple[Booking, ...]:
    rank = {node: i for i, node in enumerate(nodes)}
    ordered = sorted(placed, key=lambda b: (b.round, b.task.tier.value, rank[b.node]))
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
