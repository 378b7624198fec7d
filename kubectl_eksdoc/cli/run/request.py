"""What the commands that look after runs have in common: which cluster, which namespace, which run."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from kubectl_eksdoc.cli.options import GlobalOptions, check_source_live
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.flows.ports import RunStore
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.journal import RunPhase, RunSummary, is_run_id
from kubectl_eksdoc.session.ports import ClusterReader
from kubectl_eksdoc.session.sources import Progress, SourceChoice
from kubectl_eksdoc.wiring.runs import JournalLocation

LIST = "kubectl eksdoc drain status lists the runs of this cluster."


@frozen
class RunRequest:
    """`run` is an id, "" for the one that is meant where there is only one."""

    options: GlobalOptions
    namespace: str
    run: str = ""

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str]) -> RunRequest:
        """
        Raises:
            UsageError: more than one run is named, or another source than the live cluster.
        """
        check_source_live(args)
        if len(words) > 1:
            raise UsageError(f"one run at a time, and {words[1]!r} is a second one", LIST)
        run = words[0] if words else ""
        return RunRequest(GlobalOptions.from_args(args), run_options.namespace_from(args), run)

    def keeping(self, around: CommandContext, run: str = "") -> JournalLocation:
        return around.edges.keeping(run, self.namespace, around.environ)

    def runs(self, around: CommandContext) -> RunStore:
        return around.edges.open_runs(self.options.connection, self.keeping(around))

    def reader(self, around: CommandContext, limits: RunLimits, progress: Progress | None = None) -> ClusterReader:
        """Of a run under these limits."""
        waiting = run_options.waiting(limits, around)
        return around.open_reader(SourceChoice(), self.options.connection, progress, waiting)

    def nodes(self, around: CommandContext) -> Cluster:
        """The cluster, of which nothing else is read."""

        return around.open_reader(SourceChoice(), self.options.connection, None).read((kinds.NODES,))


def _not_begun(name: str) -> str:
    """Its Job may be there, and wait for a node or an image: then nobody can pause what begins a moment later."""
    if not is_run_id(name):
        return ""
    look = shell("kubectl", "get", "jobs,pods", "-A", "-l", f"app.kubernetes.io/instance={name}")
    said = "One of --in-cluster is there once its Job's pod has begun it; until then only deleting the Job ends it"
    return f"\n{said}: {look}"


def under_way(runs: Iterable[RunSummary]) -> list[RunSummary]:
    return [run for run in runs if run.phase != RunPhase.ENDED.value]


def chosen(runs: Sequence[RunSummary], name: str, among: Sequence[RunSummary], what: str) -> RunSummary:
    """The run called `name`, or the only one `among` them, which are those that are `what` (``under way``).

    Raises:
        UsageError: there is none, or more than one.
    """
    if name:
        found = next((run for run in runs if run.run == name), None)
        if found is None:
            raise UsageError(f"there is no run {name}", f"{LIST}{_not_begun(name)}")
        return found
    if len(among) == 1:
        return among[0]
    if not among:
        raise UsageError(f"no run is {what}", LIST)
    names = ", ".join(run.run for run in among)
    raise UsageError(f"{len(among)} runs are {what}: {names}", "Name the one you mean.")
