"""Eviction rounds: budgets are used up while planning, within a node and across nodes.

A round is one use of every budget: its pods may be away at the same time, and the next round starts when their
replacements are Ready. A budget that lets `n` pods go at once is used by at most `n` pods a round: three pods of a
budget of one take three rounds, and no order of nodes needs fewer rounds than ``max(ceil(pods / n))`` over the budgets.
The order only decides which node is empty first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.budgets import scaled
from kubectl_eksdoc.kubernetes.replacement import Replacement
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.options import ALL, NODEGROUP, ZONE

from .course import made
from .nodes import DrainContext
from .policy import EVICTED, DrainPolicy, EvictionMode


class EvictionTier(IntEnum):
    """On a node each tier goes after the one before is gone."""

    ORDINARY = 0
    CRITICAL = 1
    FOR_GOOD = 2


class Task(NamedTuple):
    """One pod to evict. `limits`: what it takes a unit of for its round: its budget, and other limits of which only so
    many may go at once.

    `permanent_limits`: those of its limits whose unit is never released, because nothing replaces the pod.
    `late_reason`: why it should go after the other pods that share a limit with it ("" if it need not). `replacement`:
    how its owner replaces it; `eviction_mode`: how it leaves. See `build_task`.
    """

    pod: Pod
    limits: tuple[str, ...] = ()
    for_good: tuple[str, ...] = ()
    late: str = ""
    after: Replacement = Replacement.AT_ONCE
    tier: EvictionTier = EvictionTier.ORDINARY
    manner: EvictionMode = EVICTED

    @property
    def comes_again(self) -> bool:
        """Whether its replacement needs a place on another node."""
        return self.after is not Replacement.NEVER and self.after is not Replacement.SAME_NODE


def coming_again(tasks: Iterable[Task]) -> list[Pod]:
    """The pods of `tasks` whose replacements need a place on another node (see `Task.needs_new_place`)."""
    never, same_node = Replacement.NEVER, Replacement.SAME_NODE
    return [pod for pod, _, _, _, after, _, _ in tasks if after is not never and after is not same_node]


def task_of(
    pod: Pod,
    limits: tuple[str, ...] = (),
    for_good: tuple[str, ...] = (),
    late: str = "",
    after: Replacement = Replacement.AT_ONCE,
    manner: EvictionMode = EVICTED,
) -> Task:
    """The task with its tier."""
    tier = (
        EvictionTier.FOR_GOOD if for_good else EvictionTier.CRITICAL if pod.system_critical else EvictionTier.ORDINARY
    )
    return made(Task, (pod, limits, for_good, late, after, tier, manner))


class BudgetBooking(NamedTuple):
    """A task with its round. `turn` of `turns`: its place among all planned users of its first limit (0 of 0 without
    one)."""

    task: Task
    node: str
    round: int
    turn: int = 0
    turns: int = 0


@frozen
class EvictionOrder:
    """`nodes` in the order in which they are emptied; `bookings` by round, then in that order of nodes.

    `wave_of`: node → number, from 1, of the wave in which it is drained; a wave's rounds start after those of the wave
    before. `is_gated`: no node of a wave is started before all nodes of the wave before are done; else each starts when
    there is room for its pods. `refused_tasks`: tasks that no round can take, with the limit that an earlier task used
    up permanently.
    """

    nodes: tuple[str, ...]
    bookings: tuple[BudgetBooking, ...]
    finish: Mapping[str, int]
    wave: Mapping[str, int] = field(default_factory=dict)
    gated: bool = False
    refused: tuple[tuple[Task, str], ...] = ()


class _Book:
    """The free units of each limit in each round. Mutable, and private to one call of `arrange_rounds`."""

    def __init__(self, per_round: Mapping[str, int]) -> None:
        self._per_round = per_round
        self._used: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self._lasting: dict[str, list[int]] = defaultdict(list)  # rounds from which on a unit is permanently used
        self._open: dict[str, int] = defaultdict(lambda: 1)  # earlier rounds are full

    def exhausted(self, task: Task) -> str:
        """The limit of `task` that is used up from some round on, "" if there is none."""
        return next((x for x in task.limits if len(self._lasting[x]) >= self._per_round[x]), "")

    def book(self, task: Task, not_before: int) -> int:
        """Give `task` the first round, from `not_before` on, that has room in all of its limits."""
        number = not_before
        for limit in task.limits:
            number = max(number, self._open[limit])
            if task.late or limit in task.for_good:
                # A late task goes after all earlier ones; a task that uses a limit permanently must leave the others
                # their units.
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


@frozen
class NodeWaves:
    """`wave_of`: node → wave, from 1; `is_gated`: no node is started before all of the wave before are done, else each
    starts when there is room for its pods. Within a wave the nodes of a smaller generation have their rounds first, as
    the others need that they are drained (see `assign_generations`)."""

    of: Mapping[str, int]
    generation: Mapping[str, int] = field(default_factory=dict)
    gated: bool = False


def arrange(
    tasks: Mapping[str, Sequence[Task]],
    per_round: Mapping[str, int],
    nodes: Sequence[str],
    waves: NodeWaves,
    *,
    as_given: bool = False,
) -> EvictionOrder:
    """Give every task a round, from 1.

    Args:
        tasks: node name → its pods to evict (possibly none), in the order in which equal ones go.
        per_round: limit → how many of its tasks one round can take, at least 1.
        nodes: the nodes of `tasks`; of two that want the same turn the first gets it.
        keep_node_order: the order of `nodes` is kept, also where a node is empty before earlier ones.
    """
    rounds = assign(tasks, per_round, nodes, waves)
    finish, wave = rounds.finish, waves.of
    # Nodes that wait for others are emptied after them.
    shown = sorted(nodes, key=lambda node: (wave[node], 0 if as_given else finish[node]))
    return EvictionOrder(tuple(shown), _numbered(rounds.placed, shown), finish, wave, waves.gated, rounds.refused)


class Rounds(NamedTuple):
    """`placed`: each task with its node and round; `finish_round`: node → round after which it is empty, 0 at once."""

    placed: list[tuple[Task, str, int]]
    finish: dict[str, int]
    refused: tuple[tuple[Task, str], ...]


def assign(
    tasks: Mapping[str, Sequence[Task]],
    per_round: Mapping[str, int],
    nodes: Sequence[str],
    waves: NodeWaves,
    plain: Collection[str] | None = None,
) -> Rounds:
    """The rounds of `arrange_rounds`, without the order; `plain`: `plain_limits(tasks)` where that is known."""
    booking = _Booking(tasks, per_round, plain_limits(tasks) if plain is None else plain)
    together: dict[tuple[int, int], list[str]] = defaultdict(list)
    for node in nodes:
        together[waves.of[node], waves.generation.get(node, 0)].append(node)
    for which in sorted(together):
        booking.add(together[which])
    return Rounds(booking.placed, booking.finish, tuple(booking.refused))


class _Booking:
    """Books wave after wave. Mutable, and private to one call of `assign_rounds`."""

    def __init__(
        self, tasks: Mapping[str, Sequence[Task]], per_round: Mapping[str, int], plain: Collection[str]
    ) -> None:
        self._tasks = tasks
        self._per_round = per_round
        self._book = _Book(per_round)
        self._plain = plain
        self._after = 0  # the last round of the waves so far
        self.placed: list[tuple[Task, str, int]] = []
        self.finish: dict[str, int] = {}
        self.refused: list[tuple[Task, str]] = []

    def add(self, nodes: Sequence[str]) -> None:
        """Book one wave, in passes over all of its nodes.

        System-critical pods go after the others of their node are gone; in both tiers late tasks go after the others
        have their rounds; tasks that use a budget permanently go last.
        """
        first = self._after + 1
        last = dict.fromkeys(nodes, first)
        queues: dict[tuple[EvictionTier, bool], list[tuple[str, Task]]] = defaultdict(list)
        self._first_pass(nodes, first, last, queues)
        for tier in EvictionTier:
            since = dict(last)
            for late in (False, True):
                for node, task in queues[tier, late]:
                    limit = self._book.exhausted(task)
                    if limit:
                        self.refused.append((task, limit))
                        continue
                    number = self._book.book(task, since[node])
                    last[node] = max(last[node], number)
                    self.placed.append((task, node, number))
                    self.finish[node] = max(self.finish[node], number)
        self._after = max([self._after, *(self.finish[node] for node in nodes)])

    def _first_pass(
        self,
        nodes: Sequence[str],
        first: int,
        last: dict[str, int],
        queues: dict[tuple[EvictionTier, bool], list[tuple[str, Task]]],
    ) -> None:
        """Book ordinary tasks. Most have one limit that only tasks like them use: their rounds are found by
        counting."""
        plain, per_round, placed = self._plain, self._per_round, self.placed
        taken: dict[str, int] = defaultdict(int)
        for node in nodes:
            end = 0
            for task in self._tasks[node]:
                limits = task.limits
                if task.late or task.tier:
                    queues[task.tier, bool(task.late)].append((node, task))
                    continue
                if not limits:
                    number = first
                elif limits[0] in plain:
                    number = first + taken[limits[0]] // per_round[limits[0]]
                    taken[limits[0]] += 1
                else:
                    limit = self._book.exhausted(task)
                    if limit:
                        self.refused.append((task, limit))
                        continue
                    number = self._book.book(task, first)
                placed.append((task, node, number))
                if number > end:
                    end = number
            self.finish[node] = end
            last[node] = max(first, end)


def plain_limits(tasks: Mapping[str, Sequence[Task]]) -> set[str]:
    """The limits that only ordinary tasks with no other limit use: their turns depend on nothing else."""
    used: set[str] = set()
    mixed: set[str] = set()
    for given in tasks.values():
        for task in given:
            used.update(task.limits)
            if len(task.limits) > 1 or task.late or task.tier:
                mixed.update(task.limits)
    return used - mixed


def _numbered(placed: Iterable[tuple[Task, str, int]], nodes: Sequence[str]) -> tuple[BudgetBooking, ...]:
    """Sorted by round, tier and node, each with its turn among the users of its first limit."""
    rank = {node: i for i, node in enumerate(nodes)}
    tiers, size = len(EvictionTier), len(rank)
    # One number for round, tier and rank: sorting by a tuple of the three takes twice as long.
    ordered = sorted(placed, key=lambda each: (each[2] * tiers + each[0].tier) * size + rank[each[1]])
    turns = Counter([task.limits[0] for task, _, _ in ordered if task.limits])
    seen: dict[str, int] = defaultdict(int)
    numbered = []
    for task, node, number in ordered:
        if not task.limits:
            numbered.append(made(BudgetBooking, (task, node, number, 0, 0)))
            continue
        limit = task.limits[0]
        turn = seen[limit] = seen[limit] + 1
        numbered.append(made(BudgetBooking, (task, node, number, turn, turns[limit])))
    return tuple(numbered)


# Waves: nodes that are drained together, each wave started when the one before is done.


def domains_of(node: Node) -> tuple[str, ...]:
    """The domains under which a limit on nodes at once can count `node`."""
    return (ALL, f"{ZONE} {node.zone}", f"{NODEGROUP} {node.group}")


def at_once(policy: DrainPolicy, nodes: Iterable[Node]) -> dict[str, int]:
    """Domain → how many of `nodes` may be under way; only limited domains.

    A percentage is of the nodes of that domain, rounded down, as EKS does for a node group; one node may always go.
    """
    members = Counter(domain for node in nodes for domain in domains_of(node))
    limits = dict(policy.max_unavailable)
    return {
        domain: max(1, scaled(limits[kind], count, round_up=False))
        for domain, count in members.items()
        if (kind := domain.split(" ")[0]) in limits
    }


def in_waves(
    order: Sequence[str], domains: Mapping[str, Sequence[str]], room: Mapping[str, int], pins: Mapping[str, int]
) -> dict[str, int]:
    """Give every node of `order` the first wave, from 1, that has room in all of its domains.

    Nodes of `pins` have their wave whether it has room or not. Waves without a node are not counted.
    """
    taken: dict[str, Counter[int]] = defaultdict(Counter)
    wave = {node: number for node, number in pins.items() if node in domains}
    for node, number in wave.items():
        for domain in domains[node]:
            taken[domain][number] += 1
    full: dict[str, int] = defaultdict(lambda: 1)  # earlier waves are full
    for node in order:
        if node in wave:
            continue
        limited = [domain for domain in domains[node] if domain in room]
        number = max((full[domain] for domain in limited), default=1)
        while any(taken[domain][number] >= room[domain] for domain in limited):
            number += 1
        wave[node] = number
        for domain in limited:
            taken[domain][number] += 1
            while taken[domain][full[domain]] >= room[domain]:
                full[domain] += 1
    place = {number: i for i, number in enumerate(sorted(set(wave.values())), 1)}
    return {node: place[number] for node, number in wave.items()}


def generations(order: Iterable[str], needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Node → generation, from 1: a node that needs the new nodes of others is of the generation after theirs.

    `order` names every node after those it needs.
    """
    found: dict[str, int] = {}
    for node in order:
        found[node] = 1 + max((found[other] for other in needs.get(node, ())), default=0)
    return found


def gates(
    world: DrainContext, order: Sequence[str], kept: Mapping[str, int] = MappingProxyType({}), more: str = ""
) -> dict[str, int]:
    """Node → wave, from 1, for the nodes of `order`; empty where no node has to wait for another.

    Nodes of `fixed_waves` keep their wave: their places were reserved in these waves. `extra_domain`: a domain of which
    one node more may be under way than the policy says.
    """
    policy = world.policy
    known = {node.name: node for node in world.targets}
    room = at_once(policy, [known[name] for name in order])
    if not room and not policy.pins:
        return {}
    if more in room:
        room[more] += 1
    return in_waves(order, {name: domains_of(known[name]) for name in order}, room, {**dict(policy.pins), **kept})
