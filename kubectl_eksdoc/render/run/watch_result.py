"""Drains of others: a line of ``drain status --attach -o json``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Literal

from kubectl_eksdoc.drain.run.others import OthersNode
from kubectl_eksdoc.model.journal import RunNote
from kubectl_eksdoc.render.drain.estimate_result import Seconds, rounded
from kubectl_eksdoc.render.result import KindResult, Moment, Printed, Text


class _Pod(Printed):
    """A pod that the drain has to remove from the node."""

    pod: Text
    """namespace/name."""
    leaving: bool
    """Whether it has been evicted or deleted already."""
    budget: Text | None
    """The PodDisruptionBudget that counts it."""
    why: Text
    """What it waits for."""


class _Run(Printed):
    """A run of kubectl eksdoc, as the node's annotations name it."""

    run: Text
    journal_namespace: Text | None
    """The namespace of its journal; null where the annotations do not say."""
    command: Text
    """Shows the run."""


class _Node(Printed):
    """A node that is drained."""

    node: Text
    drained_by: Text
    run: _Run | None
    """The run of kubectl eksdoc that drains it, or did."""
    left_seconds: Seconds | None
    """Estimate of the seconds until it is empty; null where that never ends, or is not known."""
    pods: tuple[_Pod, ...]


class WatchResult(KindResult):
    """Drains by other clients, as they are now: kubectl eksdoc drain status --attach -o json prints a line for each
    change."""

    kind: Literal["DrainWatch"]
    at: Moment
    nodes: tuple[_Node, ...]


def watch(nodes: Iterable[OthersNode], at: datetime, command: Callable[[RunNote], str]) -> WatchResult:
    return WatchResult.filled(at=at, nodes=(_node(each, command) for each in nodes))


def _node(node: OthersNode, command: Callable[[RunNote], str]) -> _Node:
    note = node.run
    run = note and _Run.filled(note, journal_namespace=note.journal, command=command(note))
    return _Node.filled(node, drained_by=node.who, run=run, left_seconds=rounded(node.left_s))
