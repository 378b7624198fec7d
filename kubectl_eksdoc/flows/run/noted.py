"""Runs that nodes name in their notes, looked for where their journals should be: there, over, or removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.journal import Phase, RunSummary
from kubectl_eksdoc.core.model.locks import Held
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.core.run.noted import NotedRun, noted_runs
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.flows.ports import Runs

RunsIn = Callable[[str], Runs]
"""The runs that are kept in a namespace."""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """`namespace`: where its journal was looked for. `there`: as it is listed, None where it is not; `unread`: why
    nobody can tell, "" if one can. `led`: somebody holds the lock there, as far as can be told, and may be draining."""

    noted: NotedRun
    namespace: str
    there: RunSummary | None = None
    led: bool = False
    unread: str = ""

    @property
    def run(self) -> str:
        return self.noted.run

    @property
    def over(self) -> bool:
        """Whether it surely is."""
        return self.there is not None and self.there.phase == Phase.ENDED.value

    @property
    def gone(self) -> bool:
        """Whether its journal surely is."""
        return self.there is None and not self.unread


def found_runs(noted: Iterable[NotedRun], here: str, runs_in: RunsIn) -> tuple[FoundRun, ...]:
    """`here`: the namespace that is meant where a note names none.

    Raises:
        Unreachable, Unauthorized
    """
    known: dict[str, tuple[dict[str, RunSummary], Held | None, str]] = {}
    found = []
    for each in noted:
        namespace = each.journal or here
        if namespace not in known:
            known[namespace] = _kept_in(runs_in(namespace))
        listed, held, unread = known[namespace]
        there = listed.get(each.run)
        led = held is None or (held.led and (there is None or held.holder == there.leader))
        found.append(FoundRun(each, namespace, there, led, unread))
    return tuple(found)


def in_the_way(cluster: Cluster, plan: DrainPlan, own: str, here: str, runs_in: RunsIn) -> Iterator[FoundRun]:
    """The runs that forbid to drain by this plan, beside the run `own`: those that are not surely over, and changed a
    node that it drains; and those that somebody leads by another namespace's lock, whatever nodes they drain.

    Raises: as `found_runs`.
    """
    others = [each for each in noted_runs(cluster.nodes) if each.run != own]
    targets = {target.node.name for target in plan.targets if target.order}
    for found in found_runs(others, here, runs_in):
        elsewhere = found.led and found.namespace != here
        if not found.over and (elsewhere or not targets.isdisjoint(found.noted.nodes)):
            yield found


def _kept_in(runs: Runs) -> tuple[dict[str, RunSummary], Held | None, str]:
    """The runs, the lock (None: it must not be read), and why they cannot be told."""
    try:
        listed = {run.run: run for run in runs.all()}
    except Forbidden as error:
        return {}, Held(), error.message
    try:
        return listed, runs.lock(), ""
    except Forbidden:
        return listed, None, ""
