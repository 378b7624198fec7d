"""Runs by the notes on nodes, for the commands of runs: which are in the way, whose journal is gone, and what to do."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli.run.carrying import reached_by
from kubectl_eksdoc.cli.run.request import RunRequest
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.errors import Locked, UsageError
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

if TYPE_CHECKING:
    from kubectl_eksdoc.drain.result import DrainPlan
    from kubectl_eksdoc.flows.run.journal import FoundRun
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.model.nodes import Node


NOT_KNOWN = (
    "Not known: which pods it evicted or deleted, which workloads it restarted, whether another "
    "client uncordoned a node of it and cordoned it again since. Nodes whose annotations were "
    "removed are not found."
)
"""What a run without a journal cannot tell any more."""


class RunAnnotations:
    """`request`: its namespace is that of the journals that are asked for."""

    def __init__(self, request: RunRequest, around: CommandContext) -> None:
        self._options = options = request.options
        self._namespace = request.namespace
        self._runs_in = cache(lambda namespace: RunRequest(options, namespace).runs(around))

    def check(self, own: str) -> Callable[[Cluster, DrainPlan], None]:
        """What refuses a plan beside which another run than `own` is not over.

        It raises:
            Locked: it says which run, where its journal is, and what can be done.
        """
        from kubectl_eksdoc.flows.run.journal import in_the_way

        def checked(cluster: Cluster, plan: DrainPlan) -> None:
            for found in in_the_way(cluster, plan, own, self._namespace, self._runs_in):
                raise Locked(self._why(found), self._remedy(found))

        return checked

    def found(self, nodes: tuple[Node, ...], name: str = "") -> tuple[FoundRun, ...]:
        """All runs that these nodes name, or the one called `name`."""
        from kubectl_eksdoc.drain.run.account import noted_runs
        from kubectl_eksdoc.flows.run.journal import found_runs

        noted = [each for each in noted_runs(nodes) if name in ("", each.run)]
        return found_runs(noted, self._namespace, self._runs_in)

    def elsewhere(self, found: FoundRun, verb: str) -> UsageError:
        """Its journal is in another namespace."""
        return UsageError(
            f"the journal of run {found.run} is in namespace {found.namespace}, not in {self._namespace}",
            f"{self.command(verb, found)}",
        )

    def command(self, verb: str, found: FoundRun) -> str:
        """``kubectl eksdoc drain rollback RUN``, to be copied into a shell. What is gone is given back from anywhere,
        and the namespace that it was in may be gone, too."""
        namespace = JOURNAL_NAMESPACE if found.gone else found.namespace
        return shlex.join(["kubectl", "eksdoc", "drain", verb, found.run, *reached_by(self._options, namespace)])

    def _why(self, found: FoundRun) -> str:
        nodes = found.noted.nodes
        carry = f"node {nodes[0]} carries" if len(nodes) == 1 else f"{nodes[0]} and {len(nodes) - 1} more nodes carry"
        if found.unread:
            why = f"whether it is over is unknown: its journal in namespace {found.namespace} cannot be read"
            return f"{carry} the notes of run {found.run}, and {why} ({found.unread})"
        if found.gone:
            why = f"its journal is not in namespace {found.namespace} any more: it is unknown whether it is over"
            return f"{carry} the notes of run {found.run}, and {why}"
        where = f"journal in namespace {found.namespace}; {carry} its notes"
        if found.led and found.there is not None:
            return f"another drain is under way: run {found.run}, led by {found.there.leader}, {where}"
        return f"run {found.run} is not over, and no process leads it; {where}"

    def _remedy(self, found: FoundRun) -> str:
        if found.gone:
            return f"Nothing was done. Take back what it did to nodes first: {self.command('rollback', found)}"
        lines = ["Nothing was done. One drain at a time: check it, resume it or roll it back."]
        return "\n".join([*lines, *(f"    {self.command(verb, found)}" for verb in ("status", "resume", "rollback"))])
