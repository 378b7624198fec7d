"""``kubectl eksdoc drain rollback``: give back what a run cordoned, and nothing else."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kubectl_eksdoc.cli import exits, rights
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.run import confirming
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.run.asking import asked
from kubectl_eksdoc.cli.run.carrying import Carrying
from kubectl_eksdoc.cli.run.request import RunRequest, chosen
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.core.model.journal import Phase
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.wiring.runs import Hooks
from kubectl_eksdoc.wiring.sources import SourceChoice

COMMAND = "drain rollback"

_ABOUT = """\
Take back what a run did to nodes: those that it cordoned become what they were before, byte for byte; what somebody
else cordoned stays so. A run that is under way is asked to end first. Pods that were evicted do not move back by
themselves: what runs elsewhere now stays there until something else moves it.
"""

_EXIT_CODES = """\
Exit codes: 0 all is as it was, 6 some nodes could not be given back; 2 usage, 3 cluster.
Global flags: kubectl eksdoc options
"""

WAIT_S = 10.0


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
    from kubectl_eksdoc.core.run.journal import replay
    from kubectl_eksdoc.core.run.limits import Limits
    from kubectl_eksdoc.flows.run.rolling_back import roll_back

    request, given = RunRequest.from_args(args, words), run_options.given_from(args)
    options = request.options
    confirming.check_writable(around.environ, COMMAND)
    keeping = around.edges.keeping("", request.namespace, around.environ)
    try:
        runs = around.edges.open_runs(options.connection, keeping)
        listed = runs.all()
        run = chosen(listed, request.run, listed[:1], "there")
        journaled = replay(runs.entries(run.run))
        nodes = sorted({*(each.node for each in journaled.cordoned), *(each.node for each in journaled.protected)})
        identity = around.open_reader(SourceChoice(), options.connection, None).read((kinds.NODES,)).identity
        around.note(f"run {run.run} changed {', '.join(nodes) or 'no node that is not given back'}")
        if not nodes:
            return Answer("")
        confirming.confirm(identity, len(nodes), "give back", given, around.ask)
        if runs.lock().led and run.phase != Phase.ENDED.value:
            asked(runs, run, Phase.ABORTED, keeping, around)
    except Forbidden as error:
        raise rights.explained(error, COMMAND) from error
    here = around.edges.keeping(run.run, request.namespace, around.environ)
    carrying = Carrying(COMMAND, around, options, here, Hooks())
    with carrying.open(WAIT_S) as world:
        back = roll_back(run.run, carrying.running(world, Limits()))
    lines = [f"{node} is as it was before" for node in back.restored]
    lines += [f"{node} is not protected from autoscalers any more" for node in back.released]
    lines += [f"{node} is left as it is: {why}" for node, why in back.left.items()]
    around.note("pods that were evicted do not move back by themselves")
    return Answer("".join(f"{line}\n" for line in lines), exits.STOPPED if back.left else exits.CLEAN)
