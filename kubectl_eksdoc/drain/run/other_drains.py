"""Drains that somebody else is running: which pods are left on each node, what each waits for, and about how long yet.

A cordoned node, or one with somebody's sign (`kubernetes.drain_filters.foreign_drain`), counts as being drained: the
cluster
does not say who drains it, and kubectl drain leaves no other trace. Runs of this tool leave notes.
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

# A new plan while a run is under way, made from what is seen then, for pods that the first one does not know.


_PASSING = Code.each("budget-exhausted", "budget-stale", "budget-disagrees", "budget-unhealthy")

WAITED_FOR = frozenset(code.name for code in _PASSING)
"""Blockers of a plan that pass by themselves where this run brought them about; else the engine gives up on them."""

AGAIN_S = 5.0
"""So long after one new plan the next one is made; of a large cluster a plan takes long, then longer."""

IDLE = 4.0
"""So many times as long as a plan took there is none after it: it holds up everything else."""


class Replanning:
    """Mutable. `facts`: the cluster as it was read when the run began; what is watched is newer in what was seen."""

    def __init__(self, engine: Engine, facts: Cluster) -> None:
        self._engine = engine
        self._facts = facts
        self._not_before_s = 0.0

    @property
    def next_s(self) -> float:
        """When a new plan will be made though nothing is told; infinity where none is wanted."""
        return self._not_before_s if self._engine.strangers and not self._engine.stopped else inf

    def look(self, now: Callable[[], float]) -> None:
        """Make a new plan if one is wanted; `now` tells the seconds since the run began."""
        begun_s = now()
        if self.next_s <= begun_s:
            engine = self._engine
            plan = plan_again(self._facts, engine.seen, engine.remaining, engine.plan.policy, begun_s)
            engine.extend(plan, begun_s)
            self._not_before_s = now() + max(AGAIN_S, IDLE * (now() - begun_s))


def plan_again(
    facts: Cluster, seen: ObservedState, nodes: tuple[str, ...], policy: DrainPolicy, now_s: float
) -> DrainPlan:
    """The plan of `nodes` by what is seen now: each pod on them is judged by itself, whatever the others on its node.

    Waves are not looked at: their nodes have been begun. What the run has used up of a budget comes back. No pod is
    deleted past its budget: the names that were typed back are those of pods that the first plan knows, and a pod that
    has such a name by now is another one.
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
"""What others may do to pods is not known: so the most."""

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
    """`left_s`: about so long until it is empty if whoever drains it asks again at once; None where that never ends,
    or nobody can tell. `run`: the run of this tool that drains it, or did."""

    node: str
    who: str
    pods: tuple[PodLeft, ...]
    left_s: float | None
    run: RunNote | None = None

    @property
    def facts(self) -> tuple[object, ...]:
        """What of it is seen, without what is reckoned."""
        return self.node, self.who, self.pods, self.run

    @property
    def empty(self) -> bool:
        return not self.pods


def drained_by_others(cluster: Cluster, names: frozenset[str] = frozenset()) -> tuple[OthersNode, ...]:
    """The nodes of these names, or all that somebody drains; by name."""
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
    """Those that have to go from each node."""
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
    """By a plan of what is left, as if the nodes were nobody's."""
    ours = [as_nobodys(node) for node in nodes]
    by_name = {node.name: node for node in ours}
    unlocked = tuple(replace(each, reboot_locks=()) if each.reboot_locks else each for each in cluster.workloads)
    nodes_there = tuple(by_name.get(node.name, node) for node in cluster.nodes)
    there = replace(cluster, nodes=nodes_there, workloads=unlocked)
    plan = make_plan(there, ours, _AS_OTHERS_DO)
    whole = {target.node.name for target in plan.targets if target.order and not target.why}
    spans = plan.estimate.spans if plan.estimate is not None else ()
    return {span.node: span.empty_s for span in spans if span.node in whole}
