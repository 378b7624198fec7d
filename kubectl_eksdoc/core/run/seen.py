"""What is in the cluster as far as a run was told: pods, budgets and nodes, each as it was last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.news import (
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
)


class Seen:
    """Mutable. News may come twice or late: what is older than what is known changes nothing."""

    def __init__(self, cluster: Cluster) -> None:
        self.nodes: dict[str, Node] = {node.name: node for node in cluster.nodes}
        self.budgets: dict[str, Budget] = {budget.key: budget for budget in cluster.budgets}
        self._pods: dict[str, Pod] = {}
        self._by_owner: dict[str, dict[str, Pod]] = defaultdict(dict)
        self._versions: dict[str, int] = {}  # of pods by uid, of budgets by key
        for pod in cluster.pods:
            self._put(pod)

    def take(self, news: News) -> None:
        match news:
            case PodIs(pod, version):
                if self._is_newer(pod.uid, version):
                    self._put(pod)
            case PodGone(uid, version):
                if self._is_newer(uid, version):
                    self._drop(uid)
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
            case NodeGone(name):
                self.nodes.pop(name, None)

    def pod(self, uid: str) -> Pod | None:
        return self._pods.get(uid)

    def pods(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def of_owner(self, uid: str) -> Iterator[Pod]:
        """The pods of the controller with that UID."""
        return iter(self._by_owner[uid].values() if uid in self._by_owner else ())

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

    def _put(self, pod: Pod) -> None:
        self._pods[pod.uid] = pod
        if pod.owner is not None:
            self._by_owner[pod.owner.uid][pod.uid] = pod

    def _drop(self, uid: str) -> None:
        pod = self._pods.pop(uid, None)
        if pod is not None and pod.owner is not None:
            self._by_owner[pod.owner.uid].pop(uid, None)
