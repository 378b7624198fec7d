"""Updates for a drain run: watched changes of pods, budgets and nodes, and answers to its requests. `version` is the
resourceVersion, which orders the writes of one server."""

from __future__ import annotations

from typing import NamedTuple

from kubectl_eksdoc.model.actions import ClusterAction, Hook, ListAttachments
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Node, Pod

from .api.resources import ApiStatus, LostResponse


class PodChanged(NamedTuple):
    pod: Pod
    version: int


class PodRemoved(NamedTuple):
    """There is no longer a pod with this UID."""

    uid: str
    version: int


class BudgetChanged(NamedTuple):
    budget: Budget
    version: int


class BudgetRemoved(NamedTuple):
    key: str


class NodeChanged(NamedTuple):
    node: Node


class NodeRemoved(NamedTuple):
    name: str


class AllPods(NamedTuple):
    """Every existing pod, each with its version, at the version `version`. A pod that is not included is gone."""

    pods: tuple[tuple[Pod, int], ...]
    version: int


class AllBudgets(NamedTuple):
    budgets: tuple[tuple[Budget, int], ...]
    version: int


class AllNodes(NamedTuple):
    nodes: tuple[Node, ...]


class WatchInterrupted(NamedTuple):
    """The cluster cannot be watched at the moment; known facts may be old. `message`: the reason, a sentence."""

    message: str


class WatchRestored(NamedTuple):
    """The watch works again."""


class RequestAnswered(NamedTuple):
    """The server's answer to a change. For `ReadPod` and `ListPods` it is a `LostResponse` after a minute of errors."""

    action: ClusterAction
    response: ApiStatus | LostResponse


class PodsFound(NamedTuple):
    """The answer to `ReadPod` and `ListPods`: the existing pods."""

    action: ClusterAction
    pods: tuple[Pod, ...]


class AttachedVolumes(NamedTuple):
    """The answer to `ListAttachments`: names of the attached PersistentVolumes. `read_error`: why they could not be
    read, a sentence; then nothing is known. `refused`: a right is missing, so a retry does not help."""

    action: ListAttachments
    volumes: tuple[str, ...] = ()
    read_error: str = ""
    refused: bool = False


class HookEnded(NamedTuple):
    """A hook has ended. `ok`: it succeeded. `message`: its last line, or why it could not be run."""

    hook: Hook
    ok: bool
    message: str = ""


RunUpdate = (
    PodChanged
    | PodRemoved
    | BudgetChanged
    | BudgetRemoved
    | NodeChanged
    | NodeRemoved
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
