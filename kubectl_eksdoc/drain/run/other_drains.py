"""Drains of other clients: remaining pods on each node, what each waits for, and the estimated remaining time. Also new
plans during a run.

A cordoned node, or one with a mark of another client (`kubernetes.drain_filters.foreign_drain`), counts as being
drained: the cluster does not store which client drains it, and kubectl drain leaves no other trace. Runs of this tool
leave notes on nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from math import inf

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.drain_filters import ForeignDrain, drains_by_lock, foreign_drain, without_foreign_marks
from kubectl_eksdoc.kubernetes.guards import index_budgets
from kubectl_eksdoc.kubernetes.replacement import returns_as_daemon_set_pod
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code
from kubectl_eksdoc.model.nodes import Node, Pod, RunNote

from ..plan import build_plan
from ..policy import DrainPolicy
from ..result import DrainPlan
from .engine import Engine
from .pod_evictions import ObservedState

# Replanning during a run: a new plan from the current observations, for pods that the first plan does not contain.


_TEMPORARY_CODES = Code.of_names("budget-exhausted", "budget-stale", "budget-disagrees", "budget-unhealthy")

TEMPORARY_BLOCKERS = frozenset(code.name for code in _TEMPORARY_CODES)
"""Blockers of a plan that end by themselves if this run caused them; otherwise the engine gives up on them."""

REPLAN_INTERVAL_S = 5.0
"""Minimum delay between two new plans; longer for a large cluster, for which planning takes long."""

REPLAN_PAUSE_FACTOR = 4.0
"""After a plan there is none for this many times its computation time, during which everything else waits."""


class Replanner:
    """Mutable. `facts`: the cluster as it was read when the run started; watched objects are newer in the observed
    state."""

    def __init__(self, engine: Engine, facts: Cluster) -> None:
        self._engine = engine
        self._facts = facts
        self._not_before_s = 0.0

    @property
    def next_s(self) -> float:
        """When a new plan will be made even without an update; infinity if none is needed."""
        return self._not_before_s if self._engine.late_pods and not self._engine.stop_reason else inf

    def replan_if_needed(self, now_fn: Callable[[], float]) -> None:
        """Make a new plan if one is needed; `now_fn` returns the seconds since the run started."""
        started_s = now_fn()
        if self.next_s <= started_s:
            engine = self._engine
            plan = replan(self._facts, engine.observed, engine.unfinished_nodes, engine.plan.policy, started_s)
            engine.add_plan(plan, started_s)
            self._not_before_s = now_fn() + max(REPLAN_INTERVAL_S, REPLAN_PAUSE_FACTOR * (now_fn() - started_s))


def replan(
    facts: Cluster, observed: ObservedState, nodes: tuple[str, ...], policy: DrainPolicy, now_s: float
) -> DrainPlan:
    """Return the plan of `nodes` for the current observations: each pod is judged by itself, independent of other pods
    on its node.

    Waves are ignored, because the nodes have been started. Budget room that the run itself has used comes back. No pod
    is deleted past its budget: the confirmed names are those of pods of the first plan, and a pod that has such a name
    now is another one.
    """
    cluster_now = observed.as_cluster(facts, now_s)
    pod_policy = replace(
        policy,
        partial=True,
        assume_fixed=policy.assume_fixed | TEMPORARY_BLOCKERS,
        max_unavailable=(),
        pins=(),
        delete_past_budget=frozenset(),
        order="soonest",
        order_nodes=(),
    )
    return build_plan(cluster_now, [node for node in cluster_now.nodes if node.name in nodes], pod_policy)


_MOST_PERMISSIVE = DrainPolicy(
    force=True,
    delete_emptydir_data=True,
    evict_protected=True,
    partial=True,
    assume_fixed=TEMPORARY_BLOCKERS,
    order="soonest",
)
"""The actions of other clients are unknown, so the most permissive policy is assumed."""

OTHER_CLIENT = "another client (it is cordoned)"


@frozen
class RemainingPod:
    """`why`: what it waits for, as a clause; `leaving`: it has been evicted or deleted already."""

    pod: str
    leaving: bool
    budget: str
    why: str


@frozen
class ForeignDrainedNode:
    """`left_s`: estimated time until it is empty if its client retries at once; None if that never ends, or is unknown.
    `run`: the run of this tool that drains it, or did."""

    node: str
    who: str
    pods: tuple[RemainingPod, ...]
    left_s: float | None
    run: RunNote | None = None

    @property
    def facts(self) -> tuple[object, ...]:
        """The observed facts, without estimates."""
        return self.node, self.who, self.pods, self.run

    @property
    def empty(self) -> bool:
        return not self.pods


def drained_by_others(cluster: Cluster, names: frozenset[str] = frozenset()) -> tuple[ForeignDrainedNode, ...]:
    """Return the nodes of these names, or all nodes that another client drains; by name."""
    locks = drains_by_lock(cluster)
    clients = {node.name: _client(node, locks.get(node.name)) for node in cluster.nodes}
    nodes = [node for node in cluster.nodes if node.name in names or (not names and clients[node.name])]
    pods_by_node = _remaining_pods(cluster.pods, {node.name for node in nodes})
    guards = index_budgets(cluster.budgets, cluster.pods)
    remaining_s = _remaining_s(cluster, nodes)
    drains = []
    for node in sorted(nodes, key=lambda each: each.name):
        pods = tuple(
            _remaining_pod(pod, guards.for_pod(pod)) for pod in sorted(pods_by_node[node.name], key=lambda pod: pod.key)
        )
        drains.append(
            ForeignDrainedNode(
                node.name,
                clients[node.name] or "no client yet",
                pods,
                0.0 if not pods else remaining_s.get(node.name),
                _drain_note(node),
            )
        )
    return tuple(drains)


def _client(node: Node, lock_drain: ForeignDrain | None) -> str:
    foreign = foreign_drain(node) or lock_drain
    if foreign is not None:
        return f"{foreign.who} ({foreign.evidence})"
    run = _drain_note(node)
    if run is not None and node.unschedulable:
        return f"run {run.run} of eksdoc"
    return OTHER_CLIENT if node.unschedulable else ""


def _drain_note(node: Node) -> RunNote | None:
    return node.note if node.note is not None and node.note.drains else None


def _remaining_pods(pods: tuple[Pod, ...], nodes: set[str]) -> defaultdict[str, list[Pod]]:
    """Return the pods that have to go from each node."""
    by_node: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        if pod.node in nodes and not (pod.is_mirror or returns_as_daemon_set_pod(pod) or pod.finished):
            by_node[pod.node].append(pod)
    return by_node


def _remaining_pod(pod: Pod, budgets: tuple[Budget, ...]) -> RemainingPod:
    if pod.deleting:
        return RemainingPod(pod.key, True, "", "it is stopping")
    if len(budgets) > 1:
        keys = " and ".join(budget.key for budget in budgets)
        return RemainingPod(pod.key, False, keys, f"{keys} both guard it: no eviction is ever granted")
    for budget in budgets:
        status = budget.status
        if status.allowed <= 0:
            healthy = f"{status.current} of {status.expected} healthy, {status.desired} must stay"
            return RemainingPod(pod.key, False, budget.key, f"budget {budget.key} lets none go ({healthy})")
    key = budgets[0].key if budgets else ""
    return RemainingPod(
        pod.key, False, key, f"budget {key} would allow its eviction now" if key else "nothing keeps it"
    )


def _remaining_s(cluster: Cluster, nodes: list[Node]) -> dict[str, float]:
    """Estimate with a plan of the remaining pods, as if the nodes had no other client."""
    own_nodes = [without_foreign_marks(node) for node in nodes]
    by_name = {node.name: node for node in own_nodes}
    unlocked = tuple(replace(each, reboot_locks=()) if each.reboot_locks else each for each in cluster.workloads)
    nodes_there = tuple(by_name.get(node.name, node) for node in cluster.nodes)
    planned_cluster = replace(cluster, nodes=nodes_there, workloads=unlocked)
    plan = build_plan(planned_cluster, own_nodes, _MOST_PERMISSIVE)
    complete_nodes = {target.node.name for target in plan.targets if target.order and not target.why}
    spans = plan.estimate.spans if plan.estimate is not None else ()
    return {span.node: span.empty_s for span in spans if span.node in complete_nodes}
