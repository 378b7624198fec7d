"""``kubectl eksdoc drain pause`` and ``abort``: ask whoever leads a run, from any machine.

Nothing has to be typed: all that they do is to let the cluster be.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.run.request import RunRequest, chosen, under_way
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.core.model.journal import Phase, RunSummary
from kubectl_eksdoc.errors import Forbidden, JournalError
from kubectl_eksdoc.wiring.runs import Keeping

if TYPE_CHECKING:
    from kubectl_eksdoc.flows.ports import Runs

_PAUSE = """\
Ask a run to evict nothing more for now. What was asked for already comes to its end by itself; nodes stay cordoned.
It goes on with: kubectl eksdoc drain resume
"""

_ABORT = """\
Ask a run to end: nothing more is evicted, what was asked for already settles, nodes stay cordoned as they are.
Go on later with drain resume, or take the cordons back with drain rollback.
"""

_EXIT_CODES = """\
Exit codes: 0 it does so, 6 nobody answered in time; 2 usage, 3 cluster.
Global flags: kubectl eksdoc options
"""

_WORDS = {
    Phase.PAUSED: "is paused",
    Phase.RUNNING: "goes on",
    Phase.ABORTED: "asks for nothing more, and ends once what is under way has settled",
}


def add_pause(commands: argparse._SubParsersAction[Parser]) -> None:
    _add(commands, "pause", "evict nothing more for now, from any machine", _PAUSE, Phase.PAUSED)


def add_abort(commands: argparse._SubParsersAction[Parser]) -> None:
    _add(commands, "abort", "end a run, from any machine; nodes stay cordoned", _ABORT, Phase.ABORTED)


def _add(commands: argparse._SubParsersAction[Parser], name: str, about: str, more: str, wanted: Phase) -> None:
    parser = commands.add_parser(name, help=about, usage="%(prog)s [RUN] [flags]", description=more, epilog=_EXIT_CODES)
    GlobalOptions.add_to(parser, level=LEVELS - 1)
    run_options.add_journal(parser)
    parser.set_defaults(leaf=parser, command=partial(_ask, f"drain {name}", wanted))


def _ask(command: str, wanted: Phase, args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """What the run does now.

    Raises:
        EksdocError: there is no such run, or the cluster is at fault.
    """
    request = RunRequest.from_args(args, words)
    keeping = around.edges.keeping("", request.namespace, around.environ)
    try:
        runs = around.edges.open_runs(request.options.connection, keeping)
        listed = runs.all()
        run = chosen(listed, request.run, under_way(listed), "under way")
        if run.phase == Phase.ENDED.value:
            around.note(f"run {run.run} has ended already: {run.said or 'see drain status'}")
            return Answer("")
        answer = asked(runs, run, wanted, keeping, around)
    except Forbidden as error:
        from kubectl_eksdoc.cli import rights

        raise rights.explained(error, command) from error
    if answer is None:
        around.note(f"nobody leads run {run.run}, so nothing is evicted; drain resume goes on, drain rollback ends it")
    return answer or Answer("")


def asked(runs: Runs, run: RunSummary, wanted: Phase, keeping: Keeping, around: Surroundings) -> Answer | None:
    """What its leader says; None: nobody leads it (any more).

    Raises:
        JournalError: somebody leads it and does not answer.
    """
    from kubectl_eksdoc.flows.run.asking import ANSWERS_S, Heard, ask_leader, leads

    if not leads(runs.lock(), run):
        runs.ask(run.run, wanted, f"{keeping.who}@{keeping.host}")
        return None
    around.note(f"asked {run.leader} …")
    heard = ask_leader(runs, run, wanted, f"{keeping.who}@{keeping.host}", around.sleep)
    if heard is Heard.SO:
        return Answer(f"run {run.run} {_WORDS[wanted]}\n")
    if heard is Heard.NOBODY:
        around.note(f"{run.leader} does not answer, and has lost the lock")
        return None
    raise JournalError(
        f"{run.leader} has not answered within {ANSWERS_S:.0f} s, and renews the lock",
        "What was asked stays written in its journal; drain status shows whether it is heard.",
    )
