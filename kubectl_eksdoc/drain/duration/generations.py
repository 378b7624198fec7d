"""How many generations a drain takes at least: what is drained is room for the next ones only when it has been renewed.

For one resource at a time all else is forgotten, pods may be cut in pieces, and of all sets of nodes that fit the one
is taken that gives most back: a fractional knapsack, so that no order can have more room in any generation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, log1p
from types import MappingProxyType

from kubectl_eksdoc.drain.landing.new_nodes import surged
from kubectl_eksdoc.drain.order.rounds import Task
from kubectl_eksdoc.drain.order.strategies import NodeTasks
from kubectl_eksdoc.drain.survey import DrainContext
from kubectl_eksdoc.kubernetes.replacement import comes_back_to_its_node
from kubectl_eksdoc.model.nodes import HOSTNAME, Node
from kubectl_eksdoc.model.placement import CPU, MEMORY, PODS
from kubectl_eksdoc.model.pods import Pod

Amounts = tuple[int, int, int]
"""Millicores, bytes, pods."""


@dataclass(frozen=True, slots=True)
class NodeSupply:
    """One thing that is scarce, in units of its own. `free` at the beginning; `asked` by a node's pods that come
    again elsewhere, `given` by the new node in its place, by node; a node that is missing asks for or gives nothing."""

    what: str
    free: float
    asked: Mapping[str, float]
    given: Mapping[str, float]


def generations(supply: NodeSupply) -> int:
    """How many times nodes are activated at least until all are, 0 if never: what there is does not suffice."""
    total = sum(supply.asked.values())
    free = supply.free + sum(given for node, given in supply.given.items() if not supply.asked.get(node))
    nodes = [(supply.given.get(node, 0.0), asked) for node, asked in supply.asked.items() if asked > 0]
    nodes.sort(key=lambda node: -node[0] / node[1])
    room, number = free, 1
    while room < total:
        grown = free + _most_given(nodes, room)
        if grown <= room:
            return 0
        room, number = grown, number + 1
    return number


def stream_s(supply: NodeSupply, seconds: Mapping[str, float], renewed_after_s: float) -> float:
    """Seconds until all nodes are done, at least, if room were a fluid; 0 where that tells nothing.

    From its activation until it is renewed (its `seconds` alone, and the renewal) a node keeps what its pods ask for
    from the others, and is a gain after that if it gives more. What is under way at any moment is no more than what
    is free, gains included; so much asked for, times so long, takes its time. Of all orders the one is taken that
    gains most for what it has kept so far.
    """
    free = supply.free + sum(given for node, given in supply.given.items() if not supply.asked.get(node))
    if free <= 0:
        return 0.0
    kept = []
    for node, asked in supply.asked.items():
        if asked > 0:
            gain = max(0.0, supply.given.get(node, 0.0) - asked)
            kept.append((asked * (seconds.get(node, 0.0) + renewed_after_s), gain))
    kept.sort(key=lambda each: -each[1] / each[0] if each[0] else -inf)
    took = 0.0
    for work, gain in kept:
        took += work * log1p(gain / free) / gain if gain else work / free
        free += gain
    return max(0.0, took - renewed_after_s)


def _most_given(nodes: list[tuple[float, float]], room: float) -> float:
    """What nodes give that together ask for no more than `room`; `nodes` (given, asked), the best first."""
    most = 0.0
    for given, asked in nodes:
        if asked >= room:
            return most + given * room / asked
        most += given
        room -= asked
    return most


def supplies(
    world: DrainContext,
    work: NodeTasks,
    waiting: Collection[str] = (),
    asked: Mapping[str, Amounts] = MappingProxyType({}),
) -> Iterator[NodeSupply]:
    """What the drain of `work` can be short of when each drained node is replaced by a new one.

    Nodes with pods of `waiting` (uids) need no room: their pods wait for nodes that something adds. `asked`: what the
    pods of a node ask for together, for the nodes of which it is known.
    """
    if waiting:
        bound = {name: given for name, given in work.tasks.items() if not any(t.pod.uid in waiting for t in given)}
        no_tasks: dict[str, tuple[Task, ...]] = {name: () for name in work.tasks if name not in bound}
        work = NodeTasks({**bound, **no_tasks}, work.per_round)
    targets = {node.name: node for node in world.targets if node.name in work.tasks}
    others = {n.name: n for n in world.cluster.nodes if n.name not in world.pods_on}
    there = [pod for pod in world.cluster.pods if pod.node in others and not pod.finished and not pod.deleting]
    joined = [like for _, like in surged(list(targets.values()), world.policy.surge or 0)]
    given = {name: _less(node, _sum(_daemons(world.pods_on[name]))) for name, node in targets.items()}
    asked = {
        name: asked[name] if name in asked and tasks else _sum(task.pod for task in tasks if task.comes_again)
        for name, tasks in work.tasks.items()
    }
    on: dict[str, list[Pod]] = {name: [] for name in others}
    for pod in there:
        on[pod.node].append(pod)
    # What one node has too little of is not missing on the others.
    left = [_less(node, _sum(on[name])) for name, node in others.items()]
    for i, what in enumerate((CPU, MEMORY, PODS)):
        free = sum(max(0, each[i]) for each in left) + sum(given[like.name][i] for like in joined)
        yield NodeSupply(
            what,
            float(free),
            {name: float(each[i]) for name, each in asked.items()},
            {name: float(each[i]) for name, each in given.items()},
        )
    yield from _hosts(world, work, len(others) + len(joined), there)


def _hosts(world: DrainContext, work: NodeTasks, hosts: int, there: list[Pod]) -> Iterator[NodeSupply]:
    """Nodes for pods of which no two of a workload may share one."""
    asked: dict[str, Counter[str]] = {}
    for node, tasks in work.tasks.items():
        for task in tasks:
            owner = task.pod.owner
            if owner is not None and task.pod.placement.anti_affinity and task.comes_again and _keeps_apart(task.pod):
                asked.setdefault(owner.uid, Counter())[node] += 1
    holding = {(pod.owner.uid, pod.node) for pod in there if pod.owner is not None and pod.owner.uid in asked}
    taken = Counter(uid for uid, _ in holding)
    for uid, nodes in sorted(asked.items()):
        if nodes.total() > hosts - taken[uid]:
            workload = world.workloads.get(uid)
            name = f"{workload.kind} {workload.namespace}/{workload.name}" if workload is not None else uid
            given = dict.fromkeys(work.tasks, 1.0)
            yield NodeSupply(f"nodes without a pod of {name}", hosts - taken[uid], dict(nodes), given)


def _keeps_apart(pod: Pod) -> bool:
    return any(
        term.topology_key == HOSTNAME
        and not term.namespaces
        and term.namespace_selector is None
        and term.selector.matches(pod.labels)
        for term in pod.placement.anti_affinity
    )


def _daemons(pods: Iterable[Pod]) -> Iterator[Pod]:
    return (pod for pod in pods if comes_back_to_its_node(pod) and not pod.finished)


def _sum(pods: Iterable[Pod]) -> Amounts:
    cpu = memory = count = 0
    for pod in pods:
        requests = pod.placement.requests
        cpu += requests.cpu
        memory += requests.memory
        count += 1
    return cpu, memory, count


def _less(node: Node, taken: Amounts) -> Amounts:
    has = node.allocatable
    return has.get(CPU, 0) - taken[0], has.get(MEMORY, 0) - taken[1], has.get(PODS, 0) - taken[2]
