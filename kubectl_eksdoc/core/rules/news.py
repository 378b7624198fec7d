"""What a run is told: changes that were watched, and answers to its acts. `version` orders what one server wrote."""

from __future__ import annotations

from typing import NamedTuple

from kubectl_eksdoc.core.model.acts import Act
from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status


class PodIs(NamedTuple):
    pod: Pod
    version: int


class PodGone(NamedTuple):
    """Nothing has this UID any more."""

    uid: str
    version: int


class BudgetIs(NamedTuple):
    budget: Budget
    version: int


class BudgetGone(NamedTuple):
    key: str


class NodeIs(NamedTuple):
    node: Node


class NodeGone(NamedTuple):
    name: str


class Answered(NamedTuple):
    """The server's answer to an act that changes something."""

    act: Act
    answer: Status | Lost


class Found(NamedTuple):
    """The answer to `Look` and `ListPods`: the pods that are there."""

    act: Act
    pods: tuple[Pod, ...]


News = PodIs | PodGone | BudgetIs | BudgetGone | NodeIs | NodeGone | Answered | Found
