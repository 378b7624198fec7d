"""What a run is told: changes that were watched, and answers to its acts. `version` orders what one server wrote."""

from __future__ import annotations

from typing import NamedTuple

from kubectl_eksdoc.model.actions import Act, Hook, ListAttachments
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Node, Pod

from .api.resources import ApiStatus, LostAnswer


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


class AllPods(NamedTuple):
    """Every pod there is, each with its version, at the version `version`: what is not among them is gone."""

    pods: tuple[tuple[Pod, int], ...]
    version: int


class AllBudgets(NamedTuple):
    budgets: tuple[tuple[Budget, int], ...]
    version: int


class AllNodes(NamedTuple):
    nodes: tuple[Node, ...]


class WatchInterrupted(NamedTuple):
    """The cluster cannot be watched just now; what is known may be old. `said`: why, in a sentence."""

    said: str


class WatchRestored(NamedTuple):
    """It is watched again."""


class RequestAnswered(NamedTuple):
    """The server's answer to an act that changes something; `LostAnswer` to `Look` and `ListPods` as well, where
    nothing but errors came of them for a minute."""

    act: Act
    answer: ApiStatus | LostAnswer


class PodsFound(NamedTuple):
    """The answer to `Look` and `ListPods`: the pods that are there."""

    act: Act
    pods: tuple[Pod, ...]


class AttachedVolumes(NamedTuple):
    """The answer to `ListAttachments`: the PersistentVolumes that are attached, by name. `unread`: why that could not
    be read, in a sentence; nothing is known then. `refused`: for want of a right, which no other try will change."""

    act: ListAttachments
    volumes: tuple[str, ...] = ()
    unread: str = ""
    refused: bool = False


class HookEnded(NamedTuple):
    """`ok`: it said yes. `said`: its last line, or why it could not be asked."""

    act: Hook
    ok: bool
    said: str = ""


News = (
    PodIs
    | PodGone
    | BudgetIs
    | BudgetGone
    | NodeIs
    | NodeGone
    | AllPods
    | AllBudgets
    | AllNodes
    | WatchInterrupted
    | WatchRestored
    | RequestAnswered
    | PodsFound
    | AttachedVolumes
    | HookEnded
)
