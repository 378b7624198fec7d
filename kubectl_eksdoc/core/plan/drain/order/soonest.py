"""The order in which always that node is next that can be empty soonest, given what the nodes before it have booked.

It keeps every budget's turns going without having nodes wait, cordoned, for a turn that is far off: so it is what is
tried first.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kubectl_eksdoc.core.plan.drain.order.rounds import Task
from kubectl_eksdoc.core.plan.drain.targets import natural


class _Need(NamedTuple):
    """What one node uses of one limit; `chain` is the rounds that all tasks under the limit take together."""

    limit: str
    units: int
    chain: int


def _needs(todo: Mapping[str, Sequence[Task]], per_round: Mapping[str, int]) -> dict[str, tuple[_Need, ...]]:
    """What each node needs, longest chain first."""
    used = {node: Counter([limit for task in given for limit in task.limits]) for node, given in todo.items()}
    totals: Counter[str] = Counter()
    for units in used.values():
        totals.update(units)
    chains = {limit: -(-total // per_round[limit]) for limit, total in totals.items()}
    needs = {}
    for node, units in used.items():
        found = [_Need(limit, number, chains[limit]) for limit, number in units.items()]
        needs[node] = tuple(sorted(found, key=lambda need: -need.chain))
    return needs


def soonest_first(todo: Mapping[str, Sequence[Task]], per_round: Mapping[str, int]) -> list[str]:
    """Always the node that can be empty soonest after those before it; ties: fewest pods, then by name.

    Nodes wait in line with those that share their longest chain, and only the first of each line is valued.
    """
    needs = _needs(todo, per_round)
    lines: dict[str, list[tuple[int, int, object, str]]] = defaultdict(list)
    for node, given in todo.items():
        first = needs[node][0] if needs[node] else _Need("", 0, 0)
        lines[first.limit].append((first.units, len(given), natural(node), node))
    taken: dict[str, int] = defaultdict(int)
    heap: list[tuple[int, int, object, str, str]] = []

    def step_up(limit: str) -> None:
        if lines[limit]:
            _, size, key, node = lines[limit].pop()
            soonest = max(_soonest(needs[node], taken, per_round), min(1, size))
            heapq.heappush(heap, (soonest, size, key, node, limit))

    for limit, line in lines.items():
        line.sort(reverse=True)
        step_up(limit)
    nodes: list[str] = []
    while heap:
        _, size, key, node, limit = heapq.heappop(heap)
        # Others may have been chosen since this node was valued: it waits if it no longer comes first.
        now = (max(_soonest(needs[node], taken, per_round), min(1, size)), size, key, node, limit)
        if heap and now > heap[0]:
            heapq.heappush(heap, now)
            continue
        nodes.append(node)
        for need in needs[node]:
            taken[need.limit] += need.units
        step_up(limit)
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
