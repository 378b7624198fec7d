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
from kubectl_eksdoc.kubernetes.drain_filters import ForeignDrain, as_nobodys, by_locks, foreign_drain
from kubectl_eksdoc.kubernetes.guards import matching
from kubectl_eksdoc.kubernetes.replacement import comes_back_to_its_node
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code
from kubectl_eksdoc.model.nodes import Node, Pod, RunNote

from ..plan import make_plan
from ..policy import DrainPolicy
from ..result import DrainPlan
from .engine import Engine
from .pod_evictions import ObservedState

# Replanning during a run: a new plan from the current observations, for pods that the first plan does not contain.


_PASSING = Code.each("budget-exhausted", "budget-stale", "budget-disagrees", "budget-unhealthy")

WAITED_FOR = frozenset(code.name for code in _PASSING)
"""Blockers of a plan that end by themselves if this run caused them; otherwise the engine gives up on them."""

AGAIN_S = 5.0
"""Minimum delay between two new plans; longer for a large cluster, for which planning takes long."""

IDLE = 4.0
"""After a plan there is none for this many times its computation time, during which everything else waits."""


class Replanning:
    """Mutable. `facts`: the cluster as it was read when the run started; watched objects are newer in the observed
    state."""

    def __init__(self, engine: Engine, facts: Cluster) -> None:
        self._engine = engine
        self._facts = facts
        self._not_before_s = 0.0

    @property
    def next_s(self) -> float:
        """When a new plan will be made even without an update; infinity if none is needed."""
        return self._not_before_s if self._engine.strangers and not self._engine.stopped else inf

    def look(self, now: Callable[[], float]) -> None:
        """Make a new plan if one is needed; `now_fn` returns the seconds since the run started."""
        begun_s = now()
        if self.next_s <= begun_s:
            engine = self._engine
            plan = plan_again(self._facts, engine.seen, engine.remaining, engine.plan.policy, begun_s)
            engine.extend(plan, begun_s)
            self._not_before_s = now() + max(AGAIN_S, IDLE * (now() - begun_s))


def plan_again(
    facts: Cluster, seen: ObservedState, nodes: tuple[str, ...], policy: DrainPolicy, now_s: float
) -> DrainPlan:
    """Return the plan of `nodes` for the current observations: each pod is judged by itself, independent of other pods
    on its node.

    Waves are ignored, because the nodes have been started. Budget room that the run itself has used comes back. No pod
    is deleted past its budget: the confirmed names are those of pods of the first plan, and a pod that has such a name
    now is another one.
    """
    there = seen.now(facts, now_s)
    each = replace(
        policy,
        partial=True,
        assume_fixed=policy.assume_fixed | WAITED_FOR,
        max_unavailable=(),
        pins=(),
        delete_past_budget=frozenset(),
        order="soonest",
        order_nodes=(),
    )
    return make_plan(there, [node for node in there.nodes if node.name in nodes], each)


_AS_OTHERS_DO = DrainPolicy(
    force=True, delete_emptydir_data=True, evict_protected=True, partial=True, assume_fixed=WAITED_FOR, order="soonest"
)
"""The actions of other clients are unknown, so the most permissive policy is assumed."""

SOMEBODY = "another client (it is cordoned)"


@frozen
class PodLeft:
    """`why`: what it waits for, as a clause; `leaving`: it has been evicted or deleted already."""

    pod: str
    leaving: bool
    budget: str
    why: str


@frozen
class OthersNode:
    """`left_s`: estimated time until it is empty if its client retries at once; None if that never ends, or is unknown.
    `run`: the run of this tool that drains it, or did."""

    node: str
    who: str
    pods: tuple[PodLeft, ...]
    left_s: float | None
    run: RunNote | None = None

    @property
    def facts(self) -> tuple[object, ...]:
        """The observed facts, without estimates."""
        return self.node, self.who, self.pods, self.run

    @property
    def empty(self) -> bool:
        return not self.pods


def drained_by_others(cluster: Cluster, names: frozenset[str] = frozenset()) -> tuple[OthersNode, ...]:
    """Return the nodes of these names, or all nodes that another client drains; by name."""
    locks = by_locks(cluster)
    who = {node.name: _who(node, locks.get(node.name)) for node in cluster.nodes}
    nodes = [node for node in cluster.nodes if node.name in names or (not names and who[node.name])]
    on = _left(cluster.pods, {node.name for node in nodes})
    guards = matching(cluster.budgets, cluster.pods)
    left_s = _left_s(cluster, nodes)
    found = []
    for node in sorted(nodes, key=lambda each: each.name):
        pods = tuple(_pod(pod, guards.of(pod)) for pod in sorted(on[node.name], key=lambda pod: pod.key))
        found.append(
            OthersNode(
                node.name,
                who[node.name] or "no client yet",
                pods,
                0.0 if not pods else left_s.get(node.name),
                _run(node),
            )
        )
    return tuple(found)


def _who(node: Node, elsewhere: ForeignDrain | None) -> str:
    foreign = foreign_drain(node) or elsewhere
    if foreign is not None:
        return f"{foreign.who} ({foreign.sign})"
    run = _run(node)
    if run is not None and node.unschedulable:
        return f"run {run.run} of eksdoc"
    return SOMEBODY if node.unschedulable else ""


def _run(node: Node) -> RunNote | None:
    return node.note if node.note is not None and node.note.drains else None


def _left(pods: tuple[Pod, ...], nodes: set[str]) -> defaultdict[str, list[Pod]]:
    """Return the pods that have to go from each node."""
    on: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        if pod.node in nodes and not (pod.mirror or comes_back_to_its_node(pod) or pod.finished):
            on[pod.node].append(pod)
    return on


def _pod(pod: Pod, budgets: tuple[Budget, ...]) -> PodLeft:
    if pod.deleting:
        return PodLeft(pod.key, True, "", "it is stopping")
    if len(budgets) > 1:
        keys = " and ".join(budget.key for budget in budgets)
        return PodLeft(pod.key, False, keys, f"{keys} both guard it: no eviction is ever granted")
    for budget in budgets:
        status = budget.status
        if status.allowed <= 0:
            healthy = f"{status.current} of {status.expected} healthy, {status.desired} must stay"
            return PodLeft(pod.key, False, budget.key, f"budget {budget.key} lets none go ({healthy})")
    key = budgets[0].key if budgets else ""
    return PodLeft(pod.key, False, key, f"budget {key} would allow its eviction now" if key else "nothing keeps it")


def _left_s(cluster: Cluster, nodes: list[Node]) -> dict[str, float]:
    """Estimate with a plan of the remaining pods, as if the nodes had no other client."""
    ours = [as_nobodys(node) for node in nodes]
    by_name = {node.name: node for node in ours}
    unlocked = tuple(replace(each, reboot_locks=()) if each.reboot_locks else each for each in cluster.workloads)
    nodes_there = tuple(by_name.get(node.name, node) for node in cluster.nodes)
    there = replace(cluster, nodes=nodes_there, workloads=unlocked)
    plan = make_plan(there, ours, _AS_OTHERS_DO)
    whole = {target.node.name for target in plan.targets if target.order and not target.why}
    spans = plan.estimate.spans if plan.estimate is not None else ()
    return {span.node: span.empty_s for span in spans if span.node in whole}
