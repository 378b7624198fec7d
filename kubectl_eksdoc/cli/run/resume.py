"""``kubectl eksdoc drain resume``: go on with a run, wherever it was begun."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.cli import look as looks
from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.progress import ProgressLine
from kubectl_eksdoc.cli.run import confirming
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.run.asking import asked
from kubectl_eksdoc.cli.run.carrying import Carrying, reached_by
from kubectl_eksdoc.cli.run.request import RunRequest, chosen
from kubectl_eksdoc.cli.streams import say
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.core.model.journal import Phase
from kubectl_eksdoc.errors import Forbidden, UsageError
from kubectl_eksdoc.wiring.sources import SourceChoice

COMMAND = "drain resume"

_ABOUT = """\
Go on with a run that was paused, or whose machine has gone: what is left is planned anew for the cluster as it is,
shown, and drained once you have typed the cluster's name and the number of nodes. Where somebody leads the paused run,
they are asked to go on instead.

Examples:
  %(prog)s
  %(prog)s 20261120-193005-4f2a
"""

_EXIT_CODES = """\
Exit codes: as of drain run.
Global flags: kubectl eksdoc options
"""

DONE = "done"
"""What a run says of itself that emptied all its nodes."""

WAIT_S = 5.0
"""So long another one's lock is waited for: somebody who has just ended may still have it."""


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "resume",
        help="go on with a run, on any machine",
        usage="%(prog)s [RUN] [flags]",
        description=_ABOUT,
        epilog=_EXIT_CODES,
    )
    GlobalOptions.add_to(parser, level=LEVELS - 1)
    run_options.add_confirmation(parser)
    run_options.add_limits(parser)
    run_options.add_journal(parser)
    parser.set_defaults(leaf=parser, command=run_resume)


@dataclass(frozen=True, slots=True)
class _Request:
    of: RunRequest
    given: confirming.Given


def run_resume(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """What came of the rest of it.

    Raises:
        EksdocError: the command line, the cluster or the run is at fault; the error says which.
    """
    from kubectl_eksdoc.cli.run.again import asked_again
    from kubectl_eksdoc.core.model import kinds
    from kubectl_eksdoc.core.run.journal import replay
    from kubectl_eksdoc.flows.run.resuming import rest_of
    from kubectl_eksdoc.flows.run.running import go_on
    from kubectl_eksdoc.render.drain import DrainView, render
    from kubectl_eksdoc.render.identity import identity_line
    from kubectl_eksdoc.render.run.formats import check

    request, given = RunRequest.from_args(args, words), run_options.given_from(args)
    options = request.options
    check(options.output)
    confirming.check_writable(around.environ, COMMAND)
    keeping = around.edges.keeping("", request.namespace, around.environ)
    try:
        runs = around.edges.open_runs(options.connection, keeping)
        listed = runs.all()
        unfinished = [run for run in listed if not (run.phase == Phase.ENDED.value and run.said == DONE)]
        run = chosen(listed, request.run, unfinished[:1], "unfinished")
        if runs.lock().led and run.phase in (Phase.RUNNING.value, Phase.PAUSED.value):
            return asked(runs, run, Phase.RUNNING, keeping, around)
        journaled = replay(runs.entries(run.run))
        if journaled.begun is None:
            raise UsageError(f"the journal of run {run.run} does not say how it began", "Begin a new one.")
        _, policy = asked_again(journaled.begun.asked, f"run {run.run}")
        with ProgressLine(around.stderr) as progress:
            cluster = around.open_reader(SourceChoice(), options.connection, progress).read(kinds.ALL)
    except Forbidden as error:
        raise rights.explained(error, COMMAND) from error
    plan = rest_of(cluster, journaled, policy)
    look = looks.decide(options, around.stderr, around.environ)
    around.note(identity_line(cluster, around.now(), look))
    words_again = reached_by(options, request.namespace, cluster.identity.context)
    view = DrainView(plan, cluster, {}, reached_by=words_again)
    say(around.stderr, f"{render(view, 'table', look)}\n")
    nodes = sum(target.order > 0 for target in plan.targets)
    if not plan.targets:
        around.note(f"nothing is left of run {run.run}: every node of it is done or gone")
    else:
        confirming.confirm(cluster.identity, nodes, "go on draining", given, around.ask)
    carrying = Carrying(COMMAND, around, options, around.edges.keeping(run.run, request.namespace, around.environ))
    with carrying.open(WAIT_S) as world:
        reader = around.open_reader(SourceChoice(), options.connection, None)
        limits = run_options.limits_from(args)
        cluster, ended = go_on(run.run, reader, policy, carrying.running(world, limits))
    return carrying.answer(cluster, ended, {"run": run.run}, resumed=True)
