"""What is in the cluster as far as a run was told: pods, budgets and nodes, each as it was last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from kubectl_eksdoc.kubernetes.budgets import Hold, same_name_holds
from kubectl_eksdoc.kubernetes.news import (
    AllBudgets,
    AllNodes,
    AllPods,
    BudgetGone,
    BudgetIs,
    News,
    NodeGone,
    NodeIs,
    PodGone,
    PodIs,
    PodsFound,
)
from kubectl_eksdoc.model.acts import ListPods
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.pods import Pod


class ObservedState:
    """Mutable. News may come twice or late: what is older than what is known changes nothing. `first`: everything as it
    was read before; what nobody tells of is as it was then."""

    def __init__(self, cluster: Cluster) -> None:
        self.first = cluster
        self.nodes: dict[str, Node] = {node.name: node for node in cluster.nodes}
        self.budgets: dict[str, Budget] = {budget.key: budget for budget in cluster.budgets}
        self._pods: dict[str, Pod] = {pod.uid: pod for pod in cluster.pods}
        self._uids = {(pod.namespace, pod.name): pod.uid for pod in cluster.pods}  # of the latest of each name
        self._versions: dict[str, int] = {}  # of pods by uid, of budgets by key

    def take(self, news: News) -> None:
        match news:
            case PodIs(pod, version):
                if self._is_newer(pod.uid, version):
                    if pod.uid not in self._pods:
                        self._uids[pod.namespace, pod.name] = pod.uid
                    self._pods[pod.uid] = pod
            case PodGone(uid, version):
                if self._is_newer(uid, version):
                    self._pods.pop(uid, None)
            case BudgetIs(budget, version):
                if self._is_newer(budget.key, version):
                    self.budgets[budget.key] = budget
            case BudgetGone(key):
                self.budgets.pop(key, None)
            case AllPods(pods, version):
                self._all_pods(pods, version)
            case AllBudgets(budgets, version):
                for budget, told in budgets:
                    self.take(BudgetIs(budget, told))
                there = {budget.key for budget, _ in budgets}
                self.budgets = {key: each for key, each in self.budgets.items() if key in there}
            case AllNodes(nodes):
                self.nodes = {node.name: node for node in nodes}
            case NodeIs(node):
                self.nodes[node.name] = node
            case PodsFound(ListPods(), pods):  # it has no version: what was told of a pod counts more
                for pod in pods:
                    if pod.uid not in self._versions:
                        self._pods.setdefault(pod.uid, pod)
            case NodeGone(name):
                self.nodes.pop(name, None)

    def pod(self, uid: str) -> Pod | None:
        return self._pods.get(uid)

    def pods(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def holds(self, budget: str, now_s: float) -> tuple[Hold, ...]:
        """Its same-name holds; the clock is the cluster's as it was when everything was read, and runs on."""
        known = self.budgets.get(budget)
        if known is None or not known.disrupted:
            return ()
        uids = (self._uids.get((known.namespace, name), "") for name in known.disrupted)
        pods = [pod for uid in uids if (pod := self._pods.get(uid)) is not None]
        return same_name_holds(known, pods, self.first.observed_at + timedelta(seconds=now_s))

    def hold_s(self, budget: str, now_s: float) -> float:
        """When the last of its same-name holds ends, in seconds since the run began; 0 where there is none."""
        holds = self.holds(budget, now_s)
        return (holds[-1].until - self.first.observed_at).total_seconds() if holds else 0.0

    def now(self, facts: Cluster, passed_s: float) -> Cluster:
        """`facts` as of so many seconds later, with what was seen since."""
        return replace(
            facts,
            observed_at=facts.observed_at + timedelta(seconds=passed_s),
            nodes=tuple(sorted(self.nodes.values(), key=lambda node: node.name)),
            pods=tuple(sorted(self.pods(), key=lambda pod: (pod.namespace, pod.name))),
            budgets=tuple(sorted(self.budgets.values(), key=lambda budget: budget.key)),
        )

    def version(self, of: str) -> int:
        """Of a pod (by UID) or a budget (by key) the version it was last told in, 0 if it was only read."""
        return self._versions.get(of, 0)

    def _all_pods(self, pods: Sequence[tuple[Pod, int]], version: int) -> None:
        for pod, told in pods:
            self.take(PodIs(pod, told))
        there = {pod.uid for pod, _ in pods}
        for uid in [uid for uid in self._pods if uid not in there]:
            self.take(PodGone(uid, version))

    def _is_newer(self, of: str, version: int) -> bool:
        if version <= self._versions.get(of, 0):
            return False
        self._versions[of] = version
        return True
