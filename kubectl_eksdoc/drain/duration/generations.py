"""Minimum number of generations of a drain: a drained node is room for the next ones only after its replacement.

Each resource is considered alone, pods may be divided, and of all sets of nodes that fit the one with the most returned
room is taken: a fractional knapsack, so no order can have more room in any generation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import exp, inf, log, log1p
from types import MappingProxyType
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.budgets import same_name_holds
from kubectl_eksdoc.kubernetes.replacement import Replacement
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import HOSTNAME, Node, Pod
from kubectl_eksdoc.model.options import ALL
from kubectl_eksdoc.model.placing import CPU, MEMORY, PODS
from kubectl_eksdoc.simulator.kubelets import KubeletTimes

from ..course import DrainTerms, Move, made
from ..new_nodes import surged
from ..nodes import DrainContext, survey
from ..orders import NodeTasks
from ..policy import EVICTED, DrainPolicy, EvictionMode, Means
from ..rounds import Task, at_once, coming_again, domains_of
from .timing import StartTime, learn, learn_stops, stop_of

Amounts = tuple[int, int, int]
"""Millicores, bytes, pods."""


@frozen
class NodeSupply:
    """One scarce resource, in its own unit. `free`: at the start; `requested`: node → what the replacements of its
    pods need on other nodes; `provided`: node → what the new node in its place gives; a missing node needs or gives
    nothing."""

    what: str
    free: float
    asked: Mapping[str, float]
    given: Mapping[str, float]


def generations(supply: NodeSupply) -> int:
    """Minimum number of generations in which all nodes can be started; 0 if the resource is never sufficient."""
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
    """Lower bound in seconds until all nodes are done if the resource were a fluid; 0 where that gives no bound.

    From its start until its replacement has joined (its own `seconds`, then `replaced_after_s`) a node's pods occupy
    resources of other nodes; after that the node is a gain if it provides more. At any moment no more is occupied than
    is free, gains included; so an amount requested for a time takes its time. Of all orders the one with the largest
    gain for what it has occupied is taken.
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
    """The most that nodes provide which together request no more than `room`; `nodes` (provided, requested), the best
    first."""
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
    """The resources that the drain of `work` can be short of when each drained node is replaced by a new one.

    Nodes with pods of `waiting` (uids) need no room: their pods wait for nodes that are added. `known_requests`: node →
    total requests of its pods, for the nodes where it is known.
    """
    if waiting:
        bound = {name: given for name, given in work.tasks.items() if not any(t.pod.uid in waiting for t in given)}
        no_tasks: dict[str, tuple[Task, ...]] = {name: () for name in work.tasks if name not in bound}
        work = NodeTasks({**bound, **no_tasks}, work.per_round)
    targets = {node.name: node for node in world.targets if node.name in work.tasks}
    others = {n.name: n for n in world.cluster.nodes if n.name not in world.pods_on}
    there = [pod for pod in world.cluster.pods if pod.node in others and not pod.finished and not pod.deleting]
    joined = [like for _, like in surged(list(targets.values()), world.policy.surge or 0)]
    given = {name: _less(node, _sum(world.daemons_on.get(name, ()))) for name, node in targets.items()}
    asked = {
        name: asked[name] if name in asked and tasks else _sum(coming_again(tasks))
        for name, tasks in work.tasks.items()
    }
    on: dict[str, list[Pod]] = {name: [] for name in others}
    for pod in there:
        on[pod.node].append(pod)
    # A node that is overcommitted does not reduce the free resources of the others.
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
    """Nodes for pods of workloads of which no two pods may share a node."""
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


# A random time: a lognormal distribution, given by its median and 95th percentile.


_Z95 = 1.6448536269514722
"""The 95th percentile of the normal distribution."""


class Time(NamedTuple):
    """Seconds: `p50_s` times e to the power of `spread` times a normal draw, at least `min_s` and at most `max_s`."""

    usual_s: float
    spread: float
    most_s: float = inf
    least_s: float = 0.0

    @classmethod
    def of(cls, usual_s: float, slow_s: float, most_s: float = inf, least_s: float = 0.0) -> Time:
        """A time of 0, or with equal quantiles, is constant."""
        return cls(usual_s, log(slow_s / usual_s) / _Z95 if slow_s > usual_s > 0 else 0.0, most_s, least_s)

    def drawn(self, normal: float) -> float:
        """The time for one draw of the normal distribution."""
        if not self.spread:
            return self.usual_s
        return max(self.least_s, min(self.usual_s * exp(self.spread * normal), self.most_s))

    @property
    def mean_s(self) -> float:
        """The mean of the distribution without its maximum."""
        return self.usual_s * exp(self.spread**2 / 2)

    @property
    def variance(self) -> float:
        """The variance without the maximum, in seconds squared."""
        return (exp(self.spread**2) - 1) * self.mean_s**2


# The times of one drain: typical and slow times of every planned eviction, and the terms of a run.


SETTLE_S = 10.0
"""A node is done when it was seen empty twice, 5 s apart; its volumes are detached meanwhile."""

LAG_S = 0.5
"""From a Ready pod to its budget's status, on a control plane with little load: on a real one the next eviction came
0.2 to 0.5 s after it (`make test-real`)."""

NEW_NODE_S = (120.0, 300.0)
"""p50 and p95 from the request of a new instance to its node being Ready. Assumed: no facts tell it."""


class EvictionTimes:
    """The times of evictions in `context`; start times are learned from the running pods, stop times from earlier
    runs."""

    def __init__(self, world: DrainContext) -> None:
        self.world = world
        self._workloads: dict[str, str] = {}  # owner uid → workload uid
        self._start_times: dict[str, StartTime] = {}  # owner uid → start time
        self._alike: dict[object, _Times] = {}  # by owner, grace period and phase
        self._held_s = dict(_held(world))
        self.starts = learn(world.cluster.pods, self.workload)
        self.stops = learn_stops(world.cluster.stops)

    def seen_by(self, world: DrainContext) -> EvictionTimes:
        """The same start times, for another policy or other budgets."""
        other = copy(self)
        other.world, other._alike = world, {}
        return other

    def moves(
        self,
        tasks: Sequence[Task],
        *,
        turns: Mapping[str, int] | None = None,
        waiting: Mapping[str, str] | None = None,
        crowded: frozenset[str] | None = None,
    ) -> list[Move]:
        """The evictions of one node. `turns`: pod uid → turn, where it has one; `waiting`: pod uid → the new node that
        its replacement waits for; `contended_limits`: the limits that can make a pod wait, where they are known."""
        moves = []
        alike = self._alike
        held_s = self._held_s if _begins_at_once(self.world.policy) else {}
        for pod, limits, for_good, late, after, tier, manner in tasks:
            owner = pod.owner
            like = (pod.uid if owner is None else owner.uid, pod.grace_seconds, pod.phase)
            start_s, slow_start_s, stop_s, slow_stop_s, kin, least_s = alike.get(like) or self._times(like, pod)
            if crowded is not None and limits and not crowded.issuperset(limits):
                limits = tuple([limit for limit in limits if limit in crowded])
            if after is Replacement.NEVER:
                # Nothing replaces it: it uses its permanent limits, and takes no turn.
                limits = for_good
            if manner is not EVICTED:
                stop_s, slow_stop_s = _stop_s(pod, manner, (stop_s, slow_stop_s), (start_s, slow_start_s))
            waits_s = manner.waits_s
            if held_s:
                waits_s = max([waits_s, *(held_s.get(limit, 0.0) for limit in limits)])
            turn = turns.get(pod.uid, 0) if turns else 0
            new_node = waiting.get(pod.uid, "") if waiting else ""
            fields = (
                pod.uid,
                limits,
                stop_s,
                start_s,
                after,
                tier > 0,
                bool(late),
                turn,
                new_node,
                slow_stop_s,
                slow_start_s,
                waits_s,
                kin,
                least_s,
            )
            moves.append(made(Move, fields))
        return moves

    def times_at(self, pod: Pod, level: float) -> tuple[float, float]:
        """Seconds that the pod takes to stop, and its replacement to start, where all pods are equally slow (see
        `quantiles.find_levels`)."""
        stop_s, slow_s = stop_of(pod, self.world.policy.grace_of(pod), self.stops.of(pod))
        start = self._start(pod)
        return Time.of(stop_s, slow_s, slow_s).drawn(level), Time.of(start.p50_s, start.p95_s).drawn(level)

    def workload(self, pod: Pod) -> str:
        """The uid of the workload that owns the pod, equal for its replicas."""
        owner = pod.owner
        if owner is None:
            return ""
        found = self._workloads.get(owner.uid)
        if found is None:
            top = self.world.top_of(pod)
            found = self._workloads[owner.uid] = owner.uid if top is None else top.uid
        return found

    def _times(self, like: tuple[str, int, str], pod: Pod) -> _Times:
        """The times of all equal evictions, mostly of replicas."""
        start, seen = self._start(pod), self.stops.of(pod)
        stop_s, slow_stop_s = stop_of(pod, self.world.policy.grace_of(pod), seen)
        times = start.p50_s, start.p95_s, stop_s, slow_stop_s
        found = self._alike[like] = *times, "" if seen else like[0], start.least_s
        return found

    def _start(self, pod: Pod) -> StartTime:
        key = pod.owner.uid if pod.owner is not None else ""
        found = self._start_times.get(key)
        if found is None:
            found = self._start_times[key] = self.starts.of(self.workload(pod))
        return found


_Times = tuple[float, float, float, float, str, float]
"""p50 and p95 of the start, p50 and p95 of the stop, the `stop_group` of the move, and the fastest start."""


def _begins_at_once(policy: DrainPolicy) -> bool:
    """Whether no node waits for another; otherwise a hold, which ends at its own time, may be over when a node is
    started."""
    return not (policy.max_unavailable or policy.pins) and policy.surge is None


def _held(world: DrainContext) -> Iterator[tuple[str, float]]:
    """The budgets with a same-name hold, and its remaining seconds."""
    for budget in world.cluster.budgets:
        if budget.disrupted and (holds := same_name_holds(budget, world.guards.pods(budget), world.now)):
            yield budget.key, (holds[-1].until - world.now).total_seconds()


def _stop_s(
    pod: Pod, manner: EvictionMode, stop: tuple[float, float], start: tuple[float, float]
) -> tuple[float, float]:
    """p50 and p95 seconds from the request until the pod is gone, for modes other than eviction. `stop_times`: those of
    an eviction, `start_times`: those of the replacement."""
    if manner.means is Means.RESTART:
        return start[0] + stop[0], start[1] + stop[1]
    if manner.means is Means.PATIENCE:
        return 0.0, 0.0  # by then it has finished, or its node is not drained
    return stop_of(pod, pod.grace_seconds) if manner.means is Means.DELETION else stop


def terms_of(
    world: DrainContext,
    slots: Mapping[str, int],
    waves: Mapping[str, int],
    strict: frozenset[str] = frozenset(),
    slow: bool = False,
) -> DrainTerms:
    """The terms of a run under the user's policy; `waves`: gated waves, empty without any."""
    policy = world.policy
    return DrainTerms(
        slots=slots,
        waves=waves,
        strict=strict,
        between_s=1 / policy.evictions_per_second if policy.evictions_per_second else 0.0,
        lag_s=LAG_S,
        settle_s=SETTLE_S,
        renewed_after_s=None if policy.surge is None else NEW_NODE_S[slow],
        new_node_s=NEW_NODE_S[slow],
    )


def any_waves(world: DrainContext, terms: DrainTerms, nodes: Iterable[str]) -> DrainTerms:
    """`terms` that hold for every way to group `nodes` into waves under the user's limits.

    Waves that only follow from pins are the user's, and stay; with pins and limits, pins may exceed the limits.
    """
    policy = world.policy
    if not policy.max_unavailable:
        return terms
    if policy.pins:
        return replace(terms, waves={})
    known = {node.name: node for node in world.targets}
    # A percentage may be of more nodes than are drained in the end.
    room = {"" if domain == ALL else domain: count for domain, count in at_once(policy, world.targets).items()}
    return replace(terms, waves={}, at_once=room, domains={name: domains_of(known[name])[1:] for name in nodes})


# Stop and start times of a cluster's pods, for the simulator.


@frozen
class PlannedPace:
    """The times of the plan's p50 run, with its `level`."""

    _clock: EvictionTimes
    _level: float = 0.0

    def start_s(self, pod: Pod) -> float:
        return self._clock.times_at(pod, self._level)[1]

    def stop_s(self, pod: Pod) -> float:
        return self._clock.times_at(pod, self._level)[0]

    def run_s(self, pod: Pod) -> float:
        """No facts tell how long Jobs run."""
        return float("inf")


def pace_of(cluster: Cluster) -> KubeletTimes:
    """Stop and start times of a cluster's pods, learned from its running pods."""
    return PlannedPace(EvictionTimes(survey(cluster, (), DrainPolicy())))
