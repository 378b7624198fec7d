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
from kubectl_eksdoc.kubernetes.budgets import scale_amount
from kubectl_eksdoc.kubernetes.replacement import Replacement
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.options import ALL, NODEGROUP, ZONE

from .nodes import DrainContext
from .policy import PLAIN_EVICTION, DrainPolicy, EvictionMode
from .timeline import build_tuple


class EvictionTier(IntEnum):
    """On a node each tier goes after the one before is gone."""

    ORDINARY = 0
    CRITICAL = 1
    PERMANENT = 2


class Task(NamedTuple):
    """One pod to evict. `limits`: what it takes a unit of for its round: its budget, and other limits of which only so
    many may go at once.

    `permanent_limits`: those of its limits whose unit is never released, because nothing replaces the pod.
    `late_reason`: why it should go after the other pods that share a limit with it ("" if it need not). `replacement`:
    how its owner replaces it; `eviction_mode`: how it leaves. See `build_task`.
    """

    pod: Pod
    limits: tuple[str, ...] = ()
    permanent_limits: tuple[str, ...] = ()
    late_reason: str = ""
    replacement: Replacement = Replacement.AT_ONCE
    tier: EvictionTier = EvictionTier.ORDINARY
    eviction_mode: EvictionMode = PLAIN_EVICTION

    @property
    def needs_new_place(self) -> bool:
        """Whether its replacement needs a place on another node."""
        return self.replacement is not Replacement.NEVER and self.replacement is not Replacement.SAME_NODE


def pods_needing_place(tasks: Iterable[Task]) -> list[Pod]:
    """The pods of `tasks` whose replacements need a place on another node (see `Task.needs_new_place`)."""
    never, same_node = Replacement.NEVER, Replacement.SAME_NODE
    return [
        pod for pod, _, _, _, replacement, _, _ in tasks if replacement is not never and replacement is not same_node
    ]


def build_task(
    pod: Pod,
    limits: tuple[str, ...] = (),
    permanent_limits: tuple[str, ...] = (),
    late_reason: str = "",
    replacement: Replacement = Replacement.AT_ONCE,
    eviction_mode: EvictionMode = PLAIN_EVICTION,
) -> Task:
    """The task with its tier."""
    tier = (
        EvictionTier.PERMANENT
        if permanent_limits
        else EvictionTier.CRITICAL
        if pod.is_system_critical
        else EvictionTier.ORDINARY
    )
    return build_tuple(Task, (pod, limits, permanent_limits, late_reason, replacement, tier, eviction_mode))


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
    finish_round: Mapping[str, int]
    wave_of: Mapping[str, int] = field(default_factory=dict)
    is_gated: bool = False
    refused_tasks: tuple[tuple[Task, str], ...] = ()


class _RoundBook:
    """The free units of each limit in each round. Mutable, and private to one call of `arrange_rounds`."""

    def __init__(self, per_round: Mapping[str, int]) -> None:
        self._per_round = per_round
        self._used: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self._permanent: dict[str, list[int]] = defaultdict(list)  # rounds from which on a unit is permanently used
        self._first_open: dict[str, int] = defaultdict(lambda: 1)  # earlier rounds are full

    def exhausted_limit(self, task: Task) -> str:
        """The limit of `task` that is used up from some round on, "" if there is none."""
        return next((limit for limit in task.limits if len(self._permanent[limit]) >= self._per_round[limit]), "")

    def book(self, task: Task, not_before: int) -> int:
        """Give `task` the first round, from `not_before` on, that has room in all of its limits."""
        number = not_before
        for limit in task.limits:
            number = max(number, self._first_open[limit])
            if task.late_reason or limit in task.permanent_limits:
                # A late task goes after all earlier ones; a task that uses a limit permanently must leave the others
                # their units.
                number = max(number, 1 + max(self._used[limit], default=0))
        while any(self._free_units(limit, number) <= 0 for limit in task.limits):
            number += 1
        for limit in task.limits:
            if limit in task.permanent_limits:
                self._permanent[limit].append(number)
            else:
                self._used[limit][number] += 1
            while self._used[limit].get(self._first_open[limit], 0) >= self._per_round[limit]:
                self._first_open[limit] += 1
        return number

    def _free_units(self, limit: str, number: int) -> int:
        permanent_count = (
            sum(1 for since in self._permanent[limit] if since <= number) if limit in self._permanent else 0
        )
        return self._per_round[limit] - permanent_count - self._used[limit].get(number, 0)


@frozen
class NodeWaves:
    """`wave_of`: node → wave, from 1; `is_gated`: no node is started before all of the wave before are done, else each
    starts when there is room for its pods. Within a wave the nodes of a smaller generation have their rounds first, as
    the others need that they are drained (see `assign_generations`)."""

    wave_of: Mapping[str, int]
    generation_of: Mapping[str, int] = field(default_factory=dict)
    is_gated: bool = False


def arrange_rounds(
    tasks: Mapping[str, Sequence[Task]],
    per_round: Mapping[str, int],
    nodes: Sequence[str],
    waves: NodeWaves,
    *,
    keep_node_order: bool = False,
) -> EvictionOrder:
    """Give every task a round, from 1.

    Args:
        tasks: node name → its pods to evict (possibly none), in the order in which equal ones go.
        per_round: limit → how many of its tasks one round can take, at least 1.
        nodes: the nodes of `tasks`; of two that want the same turn the first gets it.
        keep_node_order: the order of `nodes` is kept, also where a node is empty before earlier ones.
    """
    rounds = assign_rounds(tasks, per_round, nodes, waves)
    finish_round, wave_of = rounds.finish_round, waves.wave_of
    # Nodes that wait for others are emptied after them.
    ordered = sorted(nodes, key=lambda node: (wave_of[node], 0 if keep_node_order else finish_round[node]))
    return EvictionOrder(
        tuple(ordered), _with_turns(rounds.placed, ordered), finish_round, wave_of, waves.is_gated, rounds.refused_tasks
    )


class Rounds(NamedTuple):
    """`placed`: each task with its node and round; `finish_round`: node → round after which it is empty, 0 at once."""

    placed: list[tuple[Task, str, int]]
    finish_round: dict[str, int]
    refused_tasks: tuple[tuple[Task, str], ...]


def assign_rounds(
    tasks: Mapping[str, Sequence[Task]],
    per_round: Mapping[str, int],
    nodes: Sequence[str],
    waves: NodeWaves,
    plain: Collection[str] | None = None,
) -> Rounds:
    """The rounds of `arrange_rounds`, without the order; `plain`: `plain_limits(tasks)` where that is known."""
    booker = _RoundBooker(tasks, per_round, plain_limits(tasks) if plain is None else plain)
    groups: dict[tuple[int, int], list[str]] = defaultdict(list)
    for node in nodes:
        groups[waves.wave_of[node], waves.generation_of.get(node, 0)].append(node)
    for group in sorted(groups):
        booker.book_wave(groups[group])
    return Rounds(booker.placed, booker.finish_round, tuple(booker.refused_tasks))


class _RoundBooker:
    """Books wave after wave. Mutable, and private to one call of `assign_rounds`."""

    def __init__(
        self, tasks: Mapping[str, Sequence[Task]], per_round: Mapping[str, int], plain: Collection[str]
    ) -> None:
        self._tasks = tasks
        self._per_round = per_round
        self._book = _RoundBook(per_round)
        self._plain = plain
        self._last_round = 0  # the last round of the waves so far
        self.placed: list[tuple[Task, str, int]] = []
        self.finish_round: dict[str, int] = {}
        self.refused_tasks: list[tuple[Task, str]] = []

    def book_wave(self, nodes: Sequence[str]) -> None:
        """Book one wave, in passes over all of its nodes.

        System-critical pods go after the others of their node are gone; in both tiers late tasks go after the others
        have their rounds; tasks that use a budget permanently go last.
        """
        first_round = self._last_round + 1
        last_round = dict.fromkeys(nodes, first_round)
        queues: dict[tuple[EvictionTier, bool], list[tuple[str, Task]]] = defaultdict(list)
        self._book_ordinary(nodes, first_round, last_round, queues)
        for tier in EvictionTier:
            earliest = dict(last_round)
            for is_late in (False, True):
                for node, task in queues[tier, is_late]:
                    exhausted = self._book.exhausted_limit(task)
                    if exhausted:
                        self.refused_tasks.append((task, exhausted))
                        continue
                    number = self._book.book(task, earliest[node])
                    last_round[node] = max(last_round[node], number)
                    self.placed.append((task, node, number))
                    self.finish_round[node] = max(self.finish_round[node], number)
        self._last_round = max([self._last_round, *(self.finish_round[node] for node in nodes)])

    def _book_ordinary(
        self,
        nodes: Sequence[str],
        first_round: int,
        last_round: dict[str, int],
        queues: dict[tuple[EvictionTier, bool], list[tuple[str, Task]]],
    ) -> None:
        """Book ordinary tasks. Most have one limit that only tasks like them use: their rounds are found by
        counting."""
        plain, per_round, placed = self._plain, self._per_round, self.placed
        used_units: dict[str, int] = defaultdict(int)
        for node in nodes:
            node_end = 0
            for task in self._tasks[node]:
                limits = task.limits
                if task.late_reason or task.tier:
                    queues[task.tier, bool(task.late_reason)].append((node, task))
                    continue
                if not limits:
                    number = first_round
                elif limits[0] in plain:
                    number = first_round + used_units[limits[0]] // per_round[limits[0]]
                    used_units[limits[0]] += 1
                else:
                    limit = self._book.exhausted_limit(task)
                    if limit:
                        self.refused_tasks.append((task, limit))
                        continue
                    number = self._book.book(task, first_round)
                placed.append((task, node, number))
                if number > node_end:
                    node_end = number
            self.finish_round[node] = node_end
            last_round[node] = max(first_round, node_end)


def plain_limits(tasks: Mapping[str, Sequence[Task]]) -> set[str]:
    """The limits that only ordinary tasks with no other limit use: their turns depend on nothing else."""
    used: set[str] = set()
    mixed: set[str] = set()
    for node_tasks in tasks.values():
        for task in node_tasks:
            used.update(task.limits)
            if len(task.limits) > 1 or task.late_reason or task.tier:
                mixed.update(task.limits)
    return used - mixed


def _with_turns(placed: Iterable[tuple[Task, str, int]], nodes: Sequence[str]) -> tuple[BudgetBooking, ...]:
    """Sorted by round, tier and node, each with its turn among the users of its first limit."""
    rank = {node: i for i, node in enumerate(nodes)}
    tiers, size = len(EvictionTier), len(rank)
    # One number for round, tier and rank: sorting by a tuple of the three takes twice as long.
    sorted_rows = sorted(placed, key=lambda each: (each[2] * tiers + each[0].tier) * size + rank[each[1]])
    turns = Counter([task.limits[0] for task, _, _ in sorted_rows if task.limits])
    turn_count: dict[str, int] = defaultdict(int)
    bookings = []
    for task, node, number in sorted_rows:
        if not task.limits:
            bookings.append(build_tuple(BudgetBooking, (task, node, number, 0, 0)))
            continue
        limit = task.limits[0]
        turn = turn_count[limit] = turn_count[limit] + 1
        bookings.append(build_tuple(BudgetBooking, (task, node, number, turn, turns[limit])))
    return tuple(bookings)


# Waves: nodes that are drained together, each wave started when the one before is done.


def domains_of(node: Node) -> tuple[str, ...]:
    """The domains under which a limit on nodes at once can count `node`."""
    return (ALL, f"{ZONE} {node.zone}", f"{NODEGROUP} {node.group}")


def nodes_at_once(policy: DrainPolicy, nodes: Iterable[Node]) -> dict[str, int]:
    """Domain → how many of `nodes` may be under way; only limited domains.

    A percentage is of the nodes of that domain, rounded down, as EKS does for a node group; one node may always go.
    """
    members = Counter(domain for node in nodes for domain in domains_of(node))
    limits = dict(policy.max_unavailable)
    return {
        domain: max(1, scale_amount(limits[kind], count, round_up=False))
        for domain, count in members.items()
        if (kind := domain.split(" ")[0]) in limits
    }


def assign_waves(
    order: Sequence[str], domains: Mapping[str, Sequence[str]], max_nodes: Mapping[str, int], pins: Mapping[str, int]
) -> dict[str, int]:
    """Give every node of `order` the first wave, from 1, that has room in all of its domains.

    Nodes of `pins` have their wave whether it has room or not. Waves without a node are not counted.
    """
    node_count: dict[str, Counter[int]] = defaultdict(Counter)
    wave = {node: number for node, number in pins.items() if node in domains}
    for node, number in wave.items():
        for domain in domains[node]:
            node_count[domain][number] += 1
    first_open: dict[str, int] = defaultdict(lambda: 1)  # earlier waves are full
    for node in order:
        if node in wave:
            continue
        limited = [domain for domain in domains[node] if domain in max_nodes]
        number = max((first_open[domain] for domain in limited), default=1)
        while any(node_count[domain][number] >= max_nodes[domain] for domain in limited):
            number += 1
        wave[node] = number
        for domain in limited:
            node_count[domain][number] += 1
            while node_count[domain][first_open[domain]] >= max_nodes[domain]:
                first_open[domain] += 1
    consecutive = {number: i for i, number in enumerate(sorted(set(wave.values())), 1)}
    return {node: consecutive[number] for node, number in wave.items()}


def assign_generations(order: Iterable[str], needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Node → generation, from 1: a node that needs the new nodes of others is of the generation after theirs.

    `order` names every node after those it needs.
    """
    generation_of: dict[str, int] = {}
    for node in order:
        generation_of[node] = 1 + max((generation_of[other] for other in needs.get(node, ())), default=0)
    return generation_of


def gated_waves(
    context: DrainContext,
    order: Sequence[str],
    fixed_waves: Mapping[str, int] = MappingProxyType({}),
    extra_domain: str = "",
) -> dict[str, int]:
    """Node → wave, from 1, for the nodes of `order`; empty where no node has to wait for another.

    Nodes of `fixed_waves` keep their wave: their places were reserved in these waves. `extra_domain`: a domain of which
    one node more may be under way than the policy says.
    """
    policy = context.policy
    nodes_by_name = {node.name: node for node in context.targets}
    max_nodes = nodes_at_once(policy, [nodes_by_name[name] for name in order])
    if not max_nodes and not policy.pins:
        return {}
    if extra_domain in max_nodes:
        max_nodes[extra_domain] += 1
    return assign_waves(
        order,
        {name: domains_of(nodes_by_name[name]) for name in order},
        max_nodes,
        {**dict(policy.pins), **fixed_waves},
    )
