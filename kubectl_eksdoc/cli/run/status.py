"""``kubectl eksdoc drain status``: which runs there are, and how one of them stands, from any machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import look as looks
from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.run.request import RunRequest, chosen, under_way
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.core.model.journal import Phase
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.flows.ports import Runs

if TYPE_CHECKING:
    from kubectl_eksdoc.core.model.locks import Held
    from kubectl_eksdoc.render.run.status import StatusView

COMMAND = "drain status"

_ABOUT = """\
Show the runs of this cluster: all of them, or the one that is named or under way in full.

Examples:
  %(prog)s
  %(prog)s -w
  %(prog)s 20261120-193005-4f2a -o json
"""

_EXIT_CODES = """\
Exit codes: 0 shown; 2 usage, 3 cluster.
Global flags: kubectl eksdoc options
"""

_LOOK_S = 2.0


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "status",
        help="which runs there are, and how they stand",
        usage="%(prog)s [RUN] [flags]",
        description=_ABOUT,
        epilog=_EXIT_CODES,
        conflict_handler="resolve",  # the global -w is refused everywhere else
    )
    GlobalOptions.add_to(parser, level=LEVELS - 1)
    parser.add_argument("-w", "--watch", action="switch", default=False, help="look again until the run has ended")
    run_options.add_journal(parser)
    parser.set_defaults(leaf=parser, command=run_status)


def run_status(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """How it stands; with ``--watch`` whenever that changes, until the run has ended.

    Raises:
        EksdocError: there is no such run, or the cluster is at fault.
    """
    from kubectl_eksdoc.render.run.status import render

    request = RunRequest.from_args(args, words)
    keeping = around.edges.keeping("", request.namespace, around.environ)
    look, output = looks.decide(request.options, around.stdout, around.environ), request.options.output
    before = ""
    try:
        runs = around.edges.open_runs(request.options.connection, keeping)
        while True:
            view = _view(runs, request, args.watch, around)
            text = render(view, output, look)
            ended = view.run is None or view.run.phase == Phase.ENDED.value
            if not args.watch or ended:
                return Answer(text)
            if text != before:
                around.say(text)
            before = text
            around.sleep(_LOOK_S)
    except Forbidden as error:
        raise rights.explained(error, COMMAND) from error


def _view(runs: Runs, request: RunRequest, one: bool, around: Surroundings) -> StatusView:
    """Of the run that is named; of the one under way, if `one` is asked for or there is no other; else of all."""
    from kubectl_eksdoc.core.run.journal import replay
    from kubectl_eksdoc.render.run.status import StatusView

    listed = runs.all()
    active = under_way(listed)
    view = StatusView(request.namespace, around.now(), listed, _held(runs))
    if not (request.run or (one and active) or len(active) == 1):
        return view
    run = chosen(listed, request.run, active, "under way")
    return replace(view, run=run, journaled=replay(runs.entries(run.run)))


def _held(runs: Runs) -> Held | None:
    """The right to read the lock may be missing: then nobody can tell who leads."""
    try:
        return runs.lock()
    except Forbidden:
        return None
