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
from kubectl_eksdoc.model.placement import CPU, MEMORY, PODS
from kubectl_eksdoc.simulator.kubelets import KubeletTimes

from ..new_nodes import surge_nodes
from ..nodes import DrainContext, drain_context
from ..orders import NodeTasks
from ..policy import PLAIN_EVICTION, DrainPolicy, EvictionMethod, EvictionMode
from ..rounds import Task, domains_of, nodes_at_once, pods_needing_place
from ..timeline import DrainTerms, PodMove, build_tuple
from .timing import StartTime, learn_start_times, learn_stop_times, stop_quantiles

ResourceAmounts = tuple[int, int, int]
"""Millicores, bytes, pods."""


@frozen
class NodeSupply:
    """One scarce resource, in its own unit. `free`: at the start; `requested`: node → what the replacements of its
    pods need on other nodes; `provided`: node → what the new node in its place gives; a missing node needs or gives
    nothing."""

    resource: str
    free: float
    requested: Mapping[str, float]
    provided: Mapping[str, float]


def min_generations(supply: NodeSupply) -> int:
    """Minimum number of generations in which all nodes can be started; 0 if the resource is never sufficient."""
    total = sum(supply.requested.values())
    free = supply.free + sum(provided for node, provided in supply.provided.items() if not supply.requested.get(node))
    nodes = [
        (supply.provided.get(node, 0.0), requested) for node, requested in supply.requested.items() if requested > 0
    ]
    nodes.sort(key=lambda node: -node[0] / node[1])
    room, count = free, 1
    while room < total:
        next_room = free + _max_provided(nodes, room)
        if next_room <= room:
            return 0
        room, count = next_room, count + 1
    return count


def fluid_bound_s(supply: NodeSupply, seconds: Mapping[str, float], replaced_after_s: float) -> float:
    """Lower bound in seconds until all nodes are done if the resource were a fluid; 0 where that gives no bound.

    From its start until its replacement has joined (its own `seconds`, then `replaced_after_s`) a node's pods occupy
    resources of other nodes; after that the node is a gain if it provides more. At any moment no more is occupied than
    is free, gains included; so an amount requested for a time takes its time. Of all orders the one with the largest
    gain for what it has occupied is taken.
    """
    free = supply.free + sum(provided for node, provided in supply.provided.items() if not supply.requested.get(node))
    if free <= 0:
        return 0.0
    work_and_gain = []
    for node, requested in supply.requested.items():
        if requested > 0:
            gain = max(0.0, supply.provided.get(node, 0.0) - requested)
            work_and_gain.append((requested * (seconds.get(node, 0.0) + replaced_after_s), gain))
    work_and_gain.sort(key=lambda each: -each[1] / each[0] if each[0] else -inf)
    elapsed_s = 0.0
    for work, gain in work_and_gain:
        elapsed_s += work * log1p(gain / free) / gain if gain else work / free
        free += gain
    return max(0.0, elapsed_s - replaced_after_s)


def _max_provided(nodes: list[tuple[float, float]], room: float) -> float:
    """The most that nodes provide which together request no more than `room`; `nodes` (provided, requested), the best
    first."""
    total = 0.0
    for provided, requested in nodes:
        if requested >= room:
            return total + provided * room / requested
        total += provided
        room -= requested
    return total


def node_supplies(
    context: DrainContext,
    work: NodeTasks,
    waiting: Collection[str] = (),
    known_requests: Mapping[str, ResourceAmounts] = MappingProxyType({}),
) -> Iterator[NodeSupply]:
    """The resources that the drain of `work` can be short of when each drained node is replaced by a new one.

    Nodes with pods of `waiting` (uids) need no room: their pods wait for nodes that are added. `known_requests`: node →
    total requests of its pods, for the nodes where it is known.
    """
    if waiting:
        with_room = {
            name: provided for name, provided in work.tasks.items() if not any(t.pod.uid in waiting for t in provided)
        }
        no_tasks: dict[str, tuple[Task, ...]] = {name: () for name in work.tasks if name not in with_room}
        work = NodeTasks({**with_room, **no_tasks}, work.per_round)
    targets = {node.name: node for node in context.targets if node.name in work.tasks}
    other_nodes = {n.name: n for n in context.cluster.nodes if n.name not in context.pods_on}
    staying_pods = [
        pod for pod in context.cluster.pods if pod.node in other_nodes and not pod.finished and not pod.deleting
    ]
    surge_models = [model for _, model in surge_nodes(list(targets.values()), context.policy.surge or 0)]
    provided = {
        name: _free_amounts(node, _total_requests(context.daemon_pods_on.get(name, ())))
        for name, node in targets.items()
    }
    known_requests = {
        name: known_requests[name] if name in known_requests and tasks else _total_requests(pods_needing_place(tasks))
        for name, tasks in work.tasks.items()
    }
    pods_on: dict[str, list[Pod]] = {name: [] for name in other_nodes}
    for pod in staying_pods:
        pods_on[pod.node].append(pod)
    # A node that is overcommitted does not reduce the free resources of the others.
    free_amounts = [_free_amounts(node, _total_requests(pods_on[name])) for name, node in other_nodes.items()]
    for i, resource in enumerate((CPU, MEMORY, PODS)):
        free = sum(max(0, each[i]) for each in free_amounts) + sum(provided[model.name][i] for model in surge_models)
        yield NodeSupply(
            resource,
            float(free),
            {name: float(each[i]) for name, each in known_requests.items()},
            {name: float(each[i]) for name, each in provided.items()},
        )
    yield from _host_supplies(context, work, len(other_nodes) + len(surge_models), staying_pods)


def _host_supplies(
    context: DrainContext, work: NodeTasks, host_count: int, staying_pods: list[Pod]
) -> Iterator[NodeSupply]:
    """Nodes for pods of workloads of which no two pods may share a node."""
    pods_per_node: dict[str, Counter[str]] = {}
    for node, tasks in work.tasks.items():
        for task in tasks:
            owner = task.pod.owner
            if (
                owner is not None
                and task.pod.placement.anti_affinity
                and task.needs_new_place
                and _has_host_anti_affinity(task.pod)
            ):
                pods_per_node.setdefault(owner.uid, Counter())[node] += 1
    occupied = {
        (pod.owner.uid, pod.node) for pod in staying_pods if pod.owner is not None and pod.owner.uid in pods_per_node
    }
    taken_count = Counter(uid for uid, _ in occupied)
    for uid, wanted_hosts in sorted(pods_per_node.items()):
        if wanted_hosts.total() > host_count - taken_count[uid]:
            workload = context.workloads.get(uid)
            name = f"{workload.kind} {workload.namespace}/{workload.name}" if workload is not None else uid
            provided = dict.fromkeys(work.tasks, 1.0)
            yield NodeSupply(
                f"nodes without a pod of {name}", host_count - taken_count[uid], dict(wanted_hosts), provided
            )


def _has_host_anti_affinity(pod: Pod) -> bool:
    return any(
        term.topology_key == HOSTNAME
        and not term.namespaces
        and term.namespace_selector is None
        and term.selector.matches(pod.labels)
        for term in pod.placement.anti_affinity
    )


def _total_requests(pods: Iterable[Pod]) -> ResourceAmounts:
    cpu = memory = count = 0
    for pod in pods:
        requests = pod.placement.requests
        cpu += requests.cpu
        memory += requests.memory
        count += 1
    return cpu, memory, count


def _free_amounts(node: Node, used: ResourceAmounts) -> ResourceAmounts:
    allocatable = node.allocatable
    return allocatable.get(CPU, 0) - used[0], allocatable.get(MEMORY, 0) - used[1], allocatable.get(PODS, 0) - used[2]


# A random time: a lognormal distribution, given by its median and 95th percentile.


_NORMAL_P95 = 1.6448536269514722
"""The 95th percentile of the normal distribution."""


class RandomTime(NamedTuple):
    """Seconds: `p50_s` times e to the power of `spread` times a normal draw, at least `min_s` and at most `max_s`."""

    p50_s: float
    spread: float
    max_s: float = inf
    min_s: float = 0.0

    @classmethod
    def from_quantiles(cls, p50_s: float, p95_s: float, max_s: float = inf, min_s: float = 0.0) -> RandomTime:
        """A time of 0, or with equal quantiles, is constant."""
        return cls(p50_s, log(p95_s / p50_s) / _NORMAL_P95 if p95_s > p50_s > 0 else 0.0, max_s, min_s)

    def draw(self, normal: float) -> float:
        """The time for one draw of the normal distribution."""
        if not self.spread:
            return self.p50_s
        return max(self.min_s, min(self.p50_s * exp(self.spread * normal), self.max_s))

    @property
    def mean_s(self) -> float:
        """The mean of the distribution without its maximum."""
        return self.p50_s * exp(self.spread**2 / 2)

    @property
    def variance(self) -> float:
        """The variance without the maximum, in seconds squared."""
        return (exp(self.spread**2) - 1) * self.mean_s**2


# The times of one drain: typical and slow times of every planned eviction, and the terms of a run.


NODE_SETTLE_S = 10.0
"""A node is done when it was seen empty twice, 5 s apart; its volumes are detached meanwhile."""

BUDGET_LAG_S = 0.5
"""From a Ready pod to its budget's status, on a control plane with little load: on a real one the next eviction came
0.2 to 0.5 s after it (`make test-real`)."""

NEW_NODE_TIMES_S = (120.0, 300.0)
"""p50 and p95 from the request of a new instance to its node being Ready. Assumed: no facts tell it."""


class EvictionTimes:
    """The times of evictions in `context`; start times are learned from the running pods, stop times from earlier
    runs."""

    def __init__(self, context: DrainContext) -> None:
        self.context = context
        self._workload_uids: dict[str, str] = {}  # owner uid → workload uid
        self._start_times: dict[str, StartTime] = {}  # owner uid → start time
        self._times_by_key: dict[object, _EvictionTimeValues] = {}  # by owner, grace period and phase
        self._hold_s = dict(_hold_times(context))
        self.start_times = learn_start_times(context.cluster.pods, self.workload_uid)
        self.stop_times = learn_stop_times(context.cluster.stops)

    def with_context(self, context: DrainContext) -> EvictionTimes:
        """The same start times, for another policy or other budgets."""
        copied = copy(self)
        copied.context, copied._times_by_key = context, {}
        return copied

    def moves(
        self,
        tasks: Sequence[Task],
        *,
        turns: Mapping[str, int] | None = None,
        waiting: Mapping[str, str] | None = None,
        contended_limits: frozenset[str] | None = None,
    ) -> list[PodMove]:
        """The evictions of one node. `turns`: pod uid → turn, where it has one; `waiting`: pod uid → the new node that
        its replacement waits for; `contended_limits`: the limits that can make a pod wait, where they are known."""
        moves = []
        times_by_key = self._times_by_key
        hold_s = self._hold_s if _starts_all_at_once(self.context.policy) else {}
        for pod, limits, permanent_limits, late_reason, replacement, tier, eviction_mode in tasks:
            owner = pod.owner
            key = (pod.uid if owner is None else owner.uid, pod.grace_seconds, pod.phase)
            start_s, slow_start_s, stop_s, slow_stop_s, stop_group, fastest_start_s = times_by_key.get(
                key
            ) or self._times(key, pod)
            if contended_limits is not None and limits and not contended_limits.issuperset(limits):
                limits = tuple([limit for limit in limits if limit in contended_limits])
            if replacement is Replacement.NEVER:
                # Nothing replaces it: it uses its permanent limits, and takes no turn.
                limits = permanent_limits
            if eviction_mode is not PLAIN_EVICTION:
                stop_s, slow_stop_s = _stop_times(pod, eviction_mode, (stop_s, slow_stop_s), (start_s, slow_start_s))
            waits_s = eviction_mode.waits_s
            if hold_s:
                waits_s = max([waits_s, *(hold_s.get(limit, 0.0) for limit in limits)])
            turn = turns.get(pod.uid, 0) if turns else 0
            new_node = waiting.get(pod.uid, "") if waiting else ""
            fields = (
                pod.uid,
                limits,
                stop_s,
                start_s,
                replacement,
                tier > 0,
                bool(late_reason),
                turn,
                new_node,
                slow_stop_s,
                slow_start_s,
                waits_s,
                stop_group,
                fastest_start_s,
            )
            moves.append(build_tuple(PodMove, fields))
        return moves

    def times_at(self, pod: Pod, level: float) -> tuple[float, float]:
        """Seconds that the pod takes to stop, and its replacement to start, where all pods are equally slow (see
        `quantiles.find_levels`)."""
        stop_s, slow_stop_s = stop_quantiles(
            pod, self.context.policy.grace_period_of(pod), self.stop_times.for_pod(pod)
        )
        start_time = self._start_time(pod)
        return RandomTime.from_quantiles(stop_s, slow_stop_s, slow_stop_s).draw(level), RandomTime.from_quantiles(
            start_time.p50_s, start_time.p95_s
        ).draw(level)

    def workload_uid(self, pod: Pod) -> str:
        """The uid of the workload that owns the pod, equal for its replicas."""
        owner = pod.owner
        if owner is None:
            return ""
        uid = self._workload_uids.get(owner.uid)
        if uid is None:
            workload = self.context.top_workload(pod)
            uid = self._workload_uids[owner.uid] = owner.uid if workload is None else workload.uid
        return uid

    def _times(self, key: tuple[str, int, str], pod: Pod) -> _EvictionTimeValues:
        """The times of all equal evictions, mostly of replicas."""
        start_time, observed = self._start_time(pod), self.stop_times.for_pod(pod)
        stop_s, slow_stop_s = stop_quantiles(pod, self.context.policy.grace_period_of(pod), observed)
        times = start_time.p50_s, start_time.p95_s, stop_s, slow_stop_s
        values = self._times_by_key[key] = *times, "" if observed else key[0], start_time.fastest_s
        return values

    def _start_time(self, pod: Pod) -> StartTime:
        key = pod.owner.uid if pod.owner is not None else ""
        start_time = self._start_times.get(key)
        if start_time is None:
            start_time = self._start_times[key] = self.start_times.for_workload(self.workload_uid(pod))
        return start_time


_EvictionTimeValues = tuple[float, float, float, float, str, float]
"""p50 and p95 of the start, p50 and p95 of the stop, the `stop_group` of the move, and the fastest start."""


def _starts_all_at_once(policy: DrainPolicy) -> bool:
    """Whether no node waits for another; otherwise a hold, which ends at its own time, may be over when a node is
    started."""
    return not (policy.max_unavailable or policy.pins) and policy.surge is None


def _hold_times(context: DrainContext) -> Iterator[tuple[str, float]]:
    """The budgets with a same-name hold, and its remaining seconds."""
    for budget in context.cluster.budgets:
        if budget.disrupted and (
            same_name := same_name_holds(budget, context.pod_budgets.selected_pods(budget), context.now)
        ):
            yield budget.key, (same_name[-1].until - context.now).total_seconds()


def _stop_times(
    pod: Pod, eviction_mode: EvictionMode, stop_times: tuple[float, float], start_times: tuple[float, float]
) -> tuple[float, float]:
    """p50 and p95 seconds from the request until the pod is gone, for modes other than eviction. `stop_times`: those of
    an eviction, `start_times`: those of the replacement."""
    if eviction_mode.means is EvictionMethod.RESTART:
        return start_times[0] + stop_times[0], start_times[1] + stop_times[1]
    if eviction_mode.means is EvictionMethod.WAIT:
        return 0.0, 0.0  # by then it has finished, or its node is not drained
    return stop_quantiles(pod, pod.grace_seconds) if eviction_mode.means is EvictionMethod.DELETE else stop_times


def drain_terms(
    context: DrainContext,
    slots: Mapping[str, int],
    waves: Mapping[str, int],
    strict: frozenset[str] = frozenset(),
    slow: bool = False,
) -> DrainTerms:
    """The terms of a run under the user's policy; `waves`: gated waves, empty without any."""
    policy = context.policy
    return DrainTerms(
        slots=slots,
        waves=waves,
        strict_limits=strict,
        eviction_interval_s=1 / policy.evictions_per_second if policy.evictions_per_second else 0.0,
        budget_lag_s=BUDGET_LAG_S,
        node_settle_s=NODE_SETTLE_S,
        replaced_after_s=None if policy.surge is None else NEW_NODE_TIMES_S[slow],
        provisioning_s=NEW_NODE_TIMES_S[slow],
    )


def without_wave_order(context: DrainContext, terms: DrainTerms, nodes: Iterable[str]) -> DrainTerms:
    """`terms` that hold for every way to group `nodes` into waves under the user's limits.

    Waves that only follow from pins are the user's, and stay; with pins and limits, pins may exceed the limits.
    """
    policy = context.policy
    if not policy.max_unavailable:
        return terms
    if policy.pins:
        return replace(terms, waves={})
    nodes_by_name = {node.name: node for node in context.targets}
    # A percentage may be of more nodes than are drained in the end.
    max_nodes = {
        "" if domain == ALL else domain: count for domain, count in nodes_at_once(policy, context.targets).items()
    }
    return replace(
        terms, waves={}, nodes_at_once=max_nodes, domains={name: domains_of(nodes_by_name[name])[1:] for name in nodes}
    )


# Stop and start times of a cluster's pods, for the simulator.


@frozen
class PlannedKubeletTimes:
    """The times of the plan's p50 run, with its `level`."""

    _eviction_times: EvictionTimes
    _level: float = 0.0

    def start_s(self, pod: Pod) -> float:
        return self._eviction_times.times_at(pod, self._level)[1]

    def stop_s(self, pod: Pod) -> float:
        return self._eviction_times.times_at(pod, self._level)[0]

    def run_s(self, pod: Pod) -> float:
        """No facts tell how long Jobs run."""
        return float("inf")


def learned_kubelet_times(cluster: Cluster) -> KubeletTimes:
    """Stop and start times of a cluster's pods, learned from its running pods."""
    return PlannedKubeletTimes(EvictionTimes(drain_context(cluster, (), DrainPolicy())))
