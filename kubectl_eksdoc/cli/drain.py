"""``kubectl eksdoc drain plan``: parse, ask the flow, return what the renderer says."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import drain_options, exits, reaching, replay, saying, since_options
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions, SourceOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.progress import ProgressLine
from kubectl_eksdoc.cli.stop_times import stop_times
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.errors import Forbidden, UsageError
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE
from kubectl_eksdoc.wiring.sources import SourceChoice, is_snapshot

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.core.model.baseline import Baseline
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.plan.drain.result import DrainPlan
    from kubectl_eksdoc.flows.drain import Stops

_PLAN = """\
Plan a drain: which nodes can be emptied in which order, what blocks it, and what to do about that.
Reads the cluster and changes nothing.

Examples:
  %(prog)s old-1 old-2
  %(prog)s --nodegroup blue --delete-emptydir-data
  %(prog)s --older-than v1.33 -o wide
  %(prog)s -l eks.amazonaws.com/nodegroup=blue --snapshot dump.tar.gz -o json
  %(prog)s --nodegroup blue --since yesterday.json
  %(prog)s --demo
"""

_EXIT_CODES = """\
Exit codes: 0 nothing blocks, 1 blockers, 5 nothing blocks but something is unknown; 2 usage, 3 cluster.
Global flags: kubectl eksdoc options
"""


def add_to(commands: argparse._SubParsersAction[Parser]) -> argparse._SubParsersAction[Parser]:
    """Add ``drain``; returns where what is under it is added."""
    drain = commands.add_parser(
        "drain", help="plan the drain of nodes, and do it", description="Plan the drain of nodes, and do it."
    )
    GlobalOptions.add_to(drain, level=LEVELS - 2)
    SourceOptions.add_early(drain)
    replay.add_to(drain)
    return drain.add_commands()


def add_plan(commands: argparse._SubParsersAction[Parser]) -> None:
    plan = commands.add_parser(
        "plan",
        help="what a drain would do, in which order, and what blocks it",
        usage="%(prog)s [NODE…] [flags]",
        description=_PLAN,
        epilog=_EXIT_CODES,
    )
    GlobalOptions.add_to(plan, level=LEVELS - 1)
    drain_options.add_targeting(plan)
    SourceOptions.add_to(plan)
    drain_options.add_policy(plan)
    drain_options.add_comparison(plan)
    plan.set_defaults(leaf=plan, command=run_plan)


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """All that was asked for; `notes` say which flags change nothing, `baseline` and `order_file` are paths or ""."""

    options: GlobalOptions
    source: SourceChoice
    targeting: Targeting
    policy: DrainPolicy
    notes: tuple[str, ...] = ()
    baseline: str = ""
    order_file: str = ""

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        from kubectl_eksdoc.render.drain.given import as_given

        return as_given(self.targeting, self.policy, self.baseline, self.order_file)

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str]) -> PlanRequest:
        """
        Raises:
            UsageError: no nodes are named or selected, or what was given does not fit together.
        """
        options = GlobalOptions.from_args(args)
        source = SourceOptions.from_args(args).choice
        targeting = drain_options.targeting_from(args, words)
        notes = [*drain_options.notes_on(args), *_idle(options, source)]
        if targeting.empty and source.demo:
            from kubectl_eksdoc.embedded.demo.files import DEFAULT_NODEGROUP

            targeting = Targeting(nodegroups=(DEFAULT_NODEGROUP,))
            notes.append(f"no node is named, so this plans --nodegroup {DEFAULT_NODEGROUP}, the demo's old node group")
        if targeting.empty:
            raise UsageError(
                "no node is named or selected",
                "Name nodes, or select them: -l SELECTOR, --nodegroup NAME, --older-than v1.33. "
                "To see a plan without a cluster: --demo",
            )
        size = drain_options.page_size_from(args)
        if size is not None:
            options = replace(options, connection=replace(options.connection, page_size=size))
        policy, baseline = drain_options.policy_from(args), drain_options.baseline_from(args)
        order_file = drain_options.order_file_from(args)
        return PlanRequest(options, source, targeting, policy, tuple(notes), baseline, order_file)


def _idle(options: GlobalOptions, source: SourceChoice) -> list[str]:
    """Global flags that were given and change nothing for this command and source."""
    notes = []
    if options.namespace:
        notes.append("-n changes nothing: the pods of a node are of all namespaces")
    if options.profile:
        notes.append("--profile changes nothing: this command does not call AWS")
    if options.connection != Connection() and not source.live:
        flag = "--demo" if source.demo else "--snapshot"
        notes.append(f"flags for reaching a cluster change nothing with {flag}")
    return notes


def run_plan(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """The plan in the format asked for.

    Raises:
        EksdocError: the command line, the dump or the cluster is at fault; the error says which.
    """
    request = PlanRequest.from_args(args, words)
    # Imported late: help and errors of usage must not pay for what only a plan needs.
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.core.plan.drain.comparison.comparing import compare
    from kubectl_eksdoc.render.drain import DrainView, render
    from kubectl_eksdoc.render.identity import identity_line

    options = request.options
    # First: reading a cluster takes longer than finding out that the file is the wrong one.
    baseline = _baseline(request, around)
    said = list(request.notes)
    try:
        cluster, plan = answered(request, around, said.append)
    except Exception as error:
        tell(said, around)
        if isinstance(error, Forbidden):
            from kubectl_eksdoc.cli import rights

            raise rights.explained(error, "drain plan") from error
        raise
    # Whose cluster it is comes first, and then all that is to be said about the answer.
    around.note(identity_line(cluster, around.now(), looks.decide(options, around.stderr, around.environ)))
    since_options.told(baseline, around)
    tell((*said, *saying.contradicted(cluster.identity, options), *drain_options.idle(plan)), around)
    look = looks.decide(options, around.stdout, around.environ)
    reached_by = reaching.words(request.source, options, cluster.identity.context)
    comparison = compare(baseline, cluster, plan, request.given) if baseline else None
    if comparison and comparison.doubt:
        tell((f"it cannot be told whether the baseline is of this cluster: {comparison.doubt}",), around)
    view = DrainView(plan, cluster, request.given, reached_by=reached_by, comparison=comparison)
    return Answer(render(view, options.output, look), exit_code(plan))


def answered(request: PlanRequest, around: Surroundings, say: Callable[[str], object]) -> tuple[Cluster, DrainPlan]:
    """As `flows.drain.plan_drain`, with a line on stderr that says how far reading is; `say` as for `stop_times`."""
    from kubectl_eksdoc.core.model.cluster import Identity
    from kubectl_eksdoc.flows.drain import plan_drain

    options = request.options
    given = Identity(cluster=options.cluster_name, region=options.region)
    with ProgressLine(around.stderr) as progress:
        reader = around.open_reader(request.source, options.connection, progress)
        return plan_drain(reader, request.targeting, request.policy, given, stops_of(request, around, say))


def stops_of(request: PlanRequest, around: Surroundings, say: Callable[[str], object]) -> Stops:
    """As `stop_times`. What is recorded or made up gives the same plan on all machines."""
    if not request.source.live:
        from kubectl_eksdoc.flows.drain import no_stops

        return no_stops
    return stop_times(request.options.connection, JOURNAL_NAMESPACE, around, say)


def _baseline(request: PlanRequest, around: Surroundings) -> Baseline | None:
    """What --since names: a plan that was saved, or the same one of what was read earlier; None without it.

    Raises:
        BaselineError: it is neither.
    """
    from kubectl_eksdoc.core.plan.drain.comparison.made import as_baseline
    from kubectl_eksdoc.core.plan.since.made import Of

    def made(source: SourceChoice) -> Baseline:
        cluster, plan = answered(replace(request, source=source), around, around.note)
        return as_baseline(Of(request.baseline, __version__, request.given), cluster, plan)

    if not request.baseline:
        return None
    if is_snapshot(request.baseline):
        return since_options.made_of(request.baseline, "drain plan", made)
    return around.read_baseline(request.baseline)


def tell(notes: Sequence[str], around: Surroundings) -> None:
    for note in notes:
        around.note(f"note: {note}")


def exit_code(plan: DrainPlan) -> int:
    """Blockers first: what is known to fail matters more than what is not known."""
    if plan.blockers:
        return exits.FAILS
    return exits.UNKNOWN if plan.unknowns else exits.CLEAN
