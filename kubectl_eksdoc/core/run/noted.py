"""Runs by what they noted on nodes: it is all that a cluster has of a run whose journal somebody removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.run_notes import RunNote
from kubectl_eksdoc.core.run.journal import Cordoned, Journaled, Protected


@dataclass(frozen=True, slots=True)
class NotedRun:
    """`journal`: the namespace of its journal, "" where no note says. `cordoned` and `protected`: the nodes that it
    cordons, and those that it keeps from autoscalers, by name; `skipped`: those of the first that its plan does not
    drain."""

    run: str
    journal: str = ""
    cordoned: tuple[Cordoned, ...] = ()
    protected: tuple[Protected, ...] = ()
    skipped: frozenset[str] = frozenset()

    @property
    def drained(self) -> int:
        """So many nodes the plan of the run drains, as far as notes on nodes tell."""
        return self.drained_of(self.cordoned)

    def drained_of(self, cordoned: Iterable[Cordoned]) -> int:
        """The same where the journal names more nodes."""
        return len({each.node for each in cordoned} - self.skipped)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted({*(each.node for each in self.cordoned), *(each.node for each in self.protected)}))


def noted_runs(nodes: Iterable[Node]) -> tuple[NotedRun, ...]:
    """Every run that changed one of these nodes last, by its id."""
    of: defaultdict[str, list[tuple[Node, RunNote]]] = defaultdict(list)
    for node in sorted(nodes, key=lambda each: each.name):
        if node.note is not None:
            of[node.note.run].append((node, node.note))
    return tuple(_noted(run, of[run]) for run in sorted(of))


def noted_of(nodes: Iterable[Node], run: str) -> NotedRun:
    """What nodes say of one run, which may be nothing."""
    return next((each for each in noted_runs(nodes) if each.run == run), NotedRun(run))


def to_give_back(journaled: Journaled, noted: NotedRun) -> tuple[tuple[Cordoned, ...], tuple[Protected, ...]]:
    """The nodes to restore, and those to release: by the journal, then those that only carry notes. One of them is
    enough, for either may have been removed in part."""
    cordoned = {each.uid: each for each in (*noted.cordoned, *journaled.cordoned)}
    protected = {each.uid: each for each in (*noted.protected, *journaled.protected)}
    first = {each.uid: None for each in (*journaled.cordoned, *noted.cordoned)}
    then = {each.uid: None for each in (*journaled.protected, *noted.protected)}
    return tuple(cordoned[uid] for uid in first), tuple(protected[uid] for uid in then)


def _noted(run: str, on: list[tuple[Node, RunNote]]) -> NotedRun:
    journal = next((note.journal for _, note in on if note.journal), "")
    cordoned = tuple(Cordoned(node.name, node.uid, True) for node, note in on if note.drains)
    protected = tuple(Protected(node.name, node.uid, True) for node, note in on if note.protects)
    skipped = frozenset(node.name for node, note in on if note.skipped)
    return NotedRun(run, journal, cordoned, protected, skipped)
