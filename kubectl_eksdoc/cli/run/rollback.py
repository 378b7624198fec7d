"""``kubectl eksdoc drain rollback``: give back what a run cordoned, and nothing else."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kubectl_eksdoc.cli import confirming, exits, rights
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.run.carrying import Carrying
from kubectl_eksdoc.cli.run.given_back import (
    COMMAND,
    DO_NOT_MOVE_BACK,
    ask_to_end,
    check_rights,
    given_back,
    said_of,
    to_give_back_of,
)
from kubectl_eksdoc.cli.run.request import RunRequest
from kubectl_eksdoc.cli.run.writable import check_writable
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.wiring.runs import Hooks
from kubectl_eksdoc.wiring.sources import SourceChoice

_ABOUT = """\
Take back what a run did to nodes: those that it cordoned become what they were before, byte for byte; what somebody
else cordoned stays so. A run that is under way is asked to end first. Pods that were evicted do not move back by
themselves: what runs elsewhere now stays there until something else moves it. A run whose journal somebody removed
from the cluster is taken back by the notes that its nodes carry.
"""

_EXIT_CODES = """\
Exit codes: 0 all is as it was, 6 some nodes could not be given back; 2 usage, 3 cluster.
Global flags: kubectl eksdoc options
"""


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "rollback",
        help="take back what a run did to nodes; pods do not move back",
        usage="%(prog)s [RUN] [flags]",
        description=_ABOUT,
        epilog=_EXIT_CODES,
    )
    GlobalOptions.add_to(parser, level=LEVELS - 1)
    run_options.add_confirmation(parser)
    run_options.add_journal(parser)
    parser.set_defaults(leaf=parser, command=run_rollback)


def run_rollback(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """Which nodes are as they were.

    Raises:
        EksdocError: the command line, the cluster or the run is at fault; the error says which.
    """
    from kubectl_eksdoc.core.model import kinds

    request, given = RunRequest.from_args(args, words), run_options.given_from(args)
    options = request.options
    check_writable(around.environ, COMMAND)
    keeping = around.edges.keeping("", request.namespace, around.environ)
    try:
        runs = around.edges.open_runs(options.connection, keeping)
        cluster = around.open_reader(SourceChoice(), options.connection, None).read((kinds.NODES,))
        which = to_give_back_of(runs, cluster.nodes, request, around)
        changed = ", ".join(which.nodes) or "no node that is not given back"
        around.note(f"run {which.run} changed {changed}; its plan drains {confirming.NODES.said(which.drained)}")
        if not which.nodes:
            return Answer("")
        check_rights(request, around)
        confirming.confirm(cluster.identity, which.drained, "give back", given, around.ask)
        ask_to_end(which, runs, request, around)
    except Forbidden as error:
        raise rights.explained(error, COMMAND) from error
    here = around.edges.keeping(which.run, request.namespace, around.environ)
    back = given_back(which, request, Carrying(COMMAND, around, options, here, Hooks()), around)
    around.note(DO_NOT_MOVE_BACK)
    return Answer("".join(f"{line}\n" for line in said_of(back)), exits.STOPPED if back.left else exits.CLEAN)
