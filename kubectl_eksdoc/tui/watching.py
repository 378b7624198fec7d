"""Watches the cluster for what would be another plan: in a thread of its own, against what was last known of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.news import (
    AllBudgets,
    AllNodes,
    AllPods,
    Away,
    Back,
    BudgetGone,
    BudgetIs,
    News,
    NodeGone,
    NodeIs,
    PodGone,
    PodIs,
)
from kubectl_eksdoc.errors import EksdocError, Forbidden
from kubectl_eksdoc.flows.ports import Field

WAIT_S = 2.0
"""So long news are waited for before it is looked whether somebody still wants them."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Something that matters is another thing than it was."""


@dataclass(frozen=True, slots=True)
class Watched:
    """From now on, or again."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Nobody answers; `said`: why."""

    said: str


@dataclass(frozen=True, slots=True)
class Over:
    """It cannot be watched (any more); `said`: why. `forbidden`: no other try will change that."""

    said: str
    forbidden: bool


Notice = Changed | Watched | Lost | Over

_Fact = TypeVar("_Fact", Pod, Budget, Node)


class Known:
    """Mutable: pods by UID, budgets by namespace and name, nodes by name, as they were told last."""

    def __init__(self, cluster: Cluster) -> None:
        self._pods = {pod.uid: pod for pod in cluster.pods}
        self._budgets = {budget.key: budget for budget in cluster.budgets}
        self._nodes = {node.name: node for node in cluster.nodes}

    def take(self, news: News) -> bool:
        """Whether it is news at all: the same as it was may be told again."""
        match news:
            case PodIs(pod, _):
                return _is(self._pods, pod.uid, pod)
            case PodGone(uid, _):
                return self._pods.pop(uid, None) is not None
            case BudgetIs(budget, _):
                return _is(self._budgets, budget.key, budget)
            case BudgetGone(key):
                return self._budgets.pop(key, None) is not None
            case NodeIs(node):
                return _is(self._nodes, node.name, node)
            case NodeGone(name):
                return self._nodes.pop(name, None) is not None
            case AllPods(pods, _):
                return _are(self._pods, {pod.uid: pod for pod, _ in pods})
            case AllBudgets(budgets, _):
                return _are(self._budgets, {budget.key: budget for budget, _ in budgets})
            case AllNodes(nodes):
                return _are(self._nodes, {node.name: node for node in nodes})
        return False


def _is(known: dict[str, _Fact], key: str, fact: _Fact) -> bool:
    if known.get(key) == fact:
        return False  # and the one that is known stays: what shows it has the same
    known[key] = fact
    return True


def _are(known: dict[str, _Fact], facts: Mapping[str, _Fact]) -> bool:
    gone = [key for key in known if key not in facts]
    for key in gone:
        del known[key]
    new = [key for key, fact in facts.items() if _is(known, key, fact)]
    return bool(gone or new)


class Watcher:
    """Mutable. It watches from when it is made until it is closed; `told` is called from its thread."""

    def __init__(
        self, watch: Callable[[], AbstractContextManager[Field]], cluster: Cluster, told: Callable[[Notice], object]
    ) -> None:
        self._watch = watch
        self._told = told
        self._known = Known(cluster)
        self._over = threading.Event()
        threading.Thread(target=self._work, name="watcher", daemon=True).start()

    def close(self) -> None:
        self._over.set()

    def _work(self) -> None:
        try:
            with self._watch() as field:
                while not self._over.is_set():
                    self._take(field.news(WAIT_S))
        except EksdocError as error:
            self._tell(Over(error.message, isinstance(error, Forbidden)))
        except Exception as error:  # a bug here must not look like a cluster in which nothing changes
            self._tell(Over(f"this is a bug in kubectl eksdoc, please report it: {error!r}", True))

    def _take(self, told: Iterable[News]) -> None:
        changed = False
        for news in told:
            if isinstance(news, Away):
                self._tell(Lost(news.said))
            elif isinstance(news, Back | AllNodes):  # the first thing that is told: it is watched
                self._tell(Watched())
            changed = self._known.take(news) or changed
        if changed:
            self._tell(Changed())

    def _tell(self, notice: Notice) -> None:
        if not self._over.is_set():
            self._told(notice)
