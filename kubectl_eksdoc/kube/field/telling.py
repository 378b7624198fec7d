"""Which news the objects of a watched resource make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.kinds import Resource
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
from kubectl_eksdoc.kube.field.lists import Listed


class Telling(NamedTuple):
    """`there` and `gone` take a fact and its version."""

    resource: Resource
    all: Callable[[Listed], News]
    there: Callable[[Any, int], News]
    gone: Callable[[Any, int], News]


WATCHED = (
    Telling(
        kinds.PODS,
        lambda listed: AllPods(listed.items, listed.version),
        PodIs,
        lambda pod, version: PodGone(pod.uid, version),
    ),
    Telling(
        kinds.BUDGETS,
        lambda listed: AllBudgets(listed.items, listed.version),
        BudgetIs,
        lambda budget, version: BudgetGone(budget.key),
    ),
    Telling(
        kinds.NODES,
        lambda listed: AllNodes(tuple(node for node, _ in listed.items)),
        lambda node, version: NodeIs(node),
        lambda node, version: NodeGone(node.name),
    ),
)
