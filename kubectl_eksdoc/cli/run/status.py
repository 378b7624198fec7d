"""``kubectl eksdoc drain status``: which runs there are, and how one of them stands, from any machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import look as looks
from kubectl_eksdoc.cli import replay, rights
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.run.attach import run_attach
from kubectl_eksdoc.cli.run.noted import Noted
from kubectl_eksdoc.cli.run.request import RunRequest, chosen, under_way
from kubectl_eksdoc.cli.streams import is_left
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.core.model.journal import Phase
from kubectl_eksdoc.errors import Forbidden, UsageError
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.core.model.journal import RunSummary
    from kubectl_eksdoc.core.model.locks import Held
    from kubectl_eksdoc.core.model.nodes import Node
    from kubectl_eksdoc.core.run.recording import Recording
    from kubectl_eksdoc.flows.ports import Runs
    from kubectl_eksdoc.render.run.status_view import StatusView, WithoutJournal

COMMAND = "drain status"

_ABOUT = """\
Show the runs of this cluster: all of them, or the one that is named or under way in full; and those that nodes carry
notes of, while their journal is gone or in another namespace.

Examples:
  %(prog)s
  %(prog)s -w
  %(prog)s 20261120-193005-4f2a -o json
  %(prog)s 20261120-193005-4f2a --events
  %(prog)s --history                        # predicted against actual of past runs
  %(prog)s --attach                         # what kubectl drain or a node group's update is doing
  %(prog)s --replay ~/.local/state/eksdoc/runs/20261120-193005-4f2a.jsonl
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
        usage="%(prog)s [RUN] [flags] | --attach [NODE…] [flags]",
        description=_ABOUT,
        epilog=_EXIT_CODES,
        conflict_handler="resolve",  # the global -w is refused everywhere else
    )
    GlobalOptions.add_to(parser, level=LEVELS - 1)
    parser.add_argument("-w", "--watch", action="switch", default=False, help="look again until the run has ended")
    parser.add_argument(
        "--attach",
        action="switch",
        default=False,
        help="watch nodes that anybody drains, of these names or all: which pods are left, and what they wait for",
    )
    parser.add_argument("--events", action="switch", default=False, help="what happened in a run, by its journal")
    parser.add_argument(
        "--replay",
        default=None,
        metavar="FILE",
        help="the same by the journal in FILE, or by what 'drain run -o json' wrote",
    )
    parser.add_argument(
        "--history",
        action="switch",
        default=False,
        help="compare what the plans of past runs predicted with what happened",
    )
    run_options.add_journal(parser)
    parser.set_defaults(leaf=parser, command=run_status)


def run_status(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """How it stands; with ``--watch`` whenever that changes, until the run has ended.

    Raises:
        EksdocError: there is no such run, or the cluster is at fault.
    """
    from kubectl_eksdoc.core.run.recording import of_journal
    from kubectl_eksdoc.render.run.status import FORMATS

    if args.attach:
        return run_attach(args, words, around)
    request = RunRequest.from_args(args, words)
    if args.replay is not None:
        return _replayed(args.replay, request, around)
    keeping = around.edges.keeping("", request.namespace, around.environ)
    look, output = looks.decide(request.options, around.stdout, around.environ), request.options.output
    before = ""
    try:
        runs = around.edges.open_runs(request.options.connection, keeping)
        beside = Beside.read(request, around)
        if args.events:
            listed = runs.all()
            run = chosen(listed, request.run, under_way(listed) or listed[:1], "there")
            return _events(of_journal(runs.entries(run.run)), request, around)
        if args.history:
            return Answer(FORMATS.render(_history(runs, request, around), output, look))
        while True:
            view = _view(runs, request, args.watch, beside, around)
            text = FORMATS.render(view, output, look)
            ended = view.run is None or view.run.phase == Phase.ENDED.value
            if not args.watch or ended:
                return Answer(text)
            if text != before:
                around.say(text)
            before = text
            if is_left(around.stdout):
                return Answer("")
            around.sleep(_LOOK_S)
    except Forbidden as error:
        raise rights.explained(error, COMMAND) from error


@dataclass(frozen=True, slots=True)
class Beside:
    """What nodes say of runs, beside the journals; it is read once. `unread`: why they cannot be asked."""

    noted: Noted
    nodes: tuple[Node, ...] = ()
    unread: str = ""

    @staticmethod
    def read(request: RunRequest, around: Surroundings) -> Beside:
        from kubectl_eksdoc.core.model import kinds

        noted = Noted(request.options, request.namespace, around)
        try:
            reader = around.open_reader(SourceChoice(), request.options.connection, None)
            return Beside(noted, reader.read((kinds.NODES,)).nodes)
        except Forbidden as error:
            return Beside(noted, unread=error.message)

    def of(self, listed: Sequence[RunSummary]) -> tuple[WithoutJournal, ...]:
        """The runs that are not listed."""
        from kubectl_eksdoc.render.run.status_view import WithoutJournal

        names = {run.run for run in listed}
        found = [each for each in self.noted.found(self.nodes) if each.run not in names]
        return tuple(
            WithoutJournal(
                each.run,
                each.noted.nodes,
                each.namespace,
                each.gone,
                self.noted.command("rollback" if each.gone else "status", each),
            )
            for each in found
        )


def _view(runs: Runs, request: RunRequest, one: bool, beside: Beside, around: Surroundings) -> StatusView:
    """Of the run that is named; of the one under way, if `one` is asked for or there is no other; else of all."""
    from kubectl_eksdoc.core.run.journal import replay as stands_by
    from kubectl_eksdoc.render.run.status_view import StatusView

    listed = runs.all()
    active = under_way(listed)
    without = beside.of(listed)
    held, notes = _held(runs)
    if beside.unread:
        notes = (*notes, f"runs whose journal is gone are not found: {beside.unread}")
    view = StatusView(request.namespace, around.now(), listed, held, without=without, notes=notes)
    if request.run in {each.run for each in without}:
        return view
    if not (request.run or (one and active) or len(active) == 1):
        return view
    run = chosen(listed, request.run, active, "under way")
    return replace(view, run=run, journaled=stands_by(runs.entries(run.run)))


def _history(runs: Runs, request: RunRequest, around: Surroundings) -> StatusView:
    """Of all runs, or of the one that is named."""
    from kubectl_eksdoc.core.run.journal import replay as stands_by
    from kubectl_eksdoc.render.run.history import Past
    from kubectl_eksdoc.render.run.status_view import StatusView

    listed = runs.all()
    kept = [chosen(listed, request.run, (), "there")] if request.run else listed
    held, notes = _held(runs)
    history = tuple(Past(run, stands_by(runs.entries(run.run))) for run in kept)
    return StatusView(request.namespace, around.now(), listed, held, notes=notes, history=history)


def _replayed(path: str, request: RunRequest, around: Surroundings) -> Answer:
    """What happened by a journal that lies on this machine, or by events that were saved.

    Raises:
        UsageError: it cannot be read, or is none.
    """
    if request.run:
        raise UsageError(f"--replay is of a file: no run is named with it, as {request.run!r}")
    return _events(replay.read(path, around), request, around)


def _events(told: Recording | None, request: RunRequest, around: Surroundings) -> Answer:
    """Nothing where there is nothing in it."""
    from kubectl_eksdoc.render.run import events

    output = request.options.output
    if output not in ("table", "wide", "json"):
        raise UsageError(f"events have no output format {output!r}", "choose table or json")
    if told is None:
        return Answer("")
    look = looks.decide(request.options, around.stdout, around.environ)
    for said in told.dropped:
        around.note(f"note: not taken into account: {said}")
    timed = ((told.began_at + timedelta(seconds=moment.at_s), moment) for moment in told.moments)
    if output == "json":
        return Answer("".join(events.event_line(moment, told.run, at) for at, moment in timed))
    return Answer("".join(f"{events.line(moment, at, look)}\n" for at, moment in timed))


def _held(runs: Runs) -> tuple[Held | None, tuple[str, ...]]:
    """The right to read the lock may be missing: then nobody can tell who leads, and a note says so."""
    try:
        return runs.lock(), ()
    except Forbidden as error:
        return None, (f"whether somebody leads a run is not known: {error.message} (missing right: {error.missing})",)
