"""``kubectl eksdoc drain status``: lists runs and shows the state of one, from any machine."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import opening, streams
from kubectl_eksdoc.cli.bare import REPLAY
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import check_source_live
from kubectl_eksdoc.cli.streams import ProgressLine, is_left
from kubectl_eksdoc.errors import Forbidden, JournalError, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import RunPhase, RunSummary
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.model.nodes import Node, RunNote
from kubectl_eksdoc.ports import RunStore

from ..report import events
from ..report.run_page import page
from ..report.status import OthersReport, Past, StatusReport, WithoutJournal
from ..run.journal import replay as stands_by
from ..run.journals import ANSWERS_S, WishSource, ask_leader, leads
from ..run.other_drains import OthersNode
from ..run.replay import RunReplay, of_journal
from ..run.runner import attach
from . import options as run_options
from .invocation import (
    RunAnnotations,
    RunRequest,
    chosen,
    held_lock,
    reached_by,
    under_way,
)

if TYPE_CHECKING:
    from ..run.replay import RunReplay

# ``kubectl eksdoc drain status --attach``: watch a drain of another client.


COMMAND = "drain status --attach"


def run_attach(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Print every change as it comes; the answer at the end is empty. With ``-w=false``: the present state.

    Raises:
        EksdocError: there is no such node, or the cluster is at fault.
    """
    check_source_live(around)
    OthersReport.check(around.options.output)

    def command(note: RunNote) -> str:
        reached = reached_by(around, note.journal or run_options.namespace_from(args))
        return shlex.join(["kubectl", "eksdoc", "drain", "status", note.run, "-w", *reached])

    unread: set[str] = set()

    def show(cluster: Cluster, nodes: Sequence[OthersNode]) -> None:
        for each in cluster.reads:
            if each.state is ReadState.FORBIDDEN and each.resource.full_name not in unread:
                unread.add(each.resource.full_name)
                around.note(f"how long it takes may be wrong: missing right list {each.resource.full_name}")
        missing = sorted(set(args.words) - {node.name for node in cluster.nodes})
        if missing:
            raise UsageError(f"there is no node {missing[0]}", "kubectl get nodes lists them.")
        text = opening.answered(OthersReport(nodes, around.now(), command), around)
        around.say(text if around.options.output == "json" else f"{text}\n")

    edges = around.edges
    with opening.explaining(COMMAND), edges.told_to_stop() as told, edges.open_watch(around.connection) as watched:
        with ProgressLine(around.stderr) as progress:
            reader = around.reader(progress)
        attach(reader, watched, edges.clock, frozenset(args.words), show, lambda: told() > 0 or is_left(around.stdout))
    return CommandAnswer("", streams.CLEAN)


STATUS_COMMAND = "drain status"

_LOOK_S = 2.0


def run_status(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Show the state of a run; with ``--watch`` after every change, until the run has ended.

    Raises:
        EksdocError: there is no such run, or the cluster is at fault.
    """
    if args.attach:
        return run_attach(args, around)
    request = RunRequest.from_args(args, around)
    if args.replay is not None:
        if request.run:
            raise UsageError(f"--replay is of a file: no run is named with it, as {request.run!r}")
        return _events(read_replay(args.replay), request, around)
    before = ""
    with opening.explaining(STATUS_COMMAND):
        runs = request.runs(around)
        beside = _Beside.read(request, around)
        if args.events:
            listed = runs.all()
            run = chosen(listed, request.run, under_way(listed) or listed[:1], "there")
            return _events(of_journal(runs.entries(run.run)), request, around)
        if args.history:
            listed = runs.all()
            kept = [chosen(listed, request.run, (), "there")] if request.run else listed
            held, notes = held_lock(runs)
            history = tuple(Past(run, stands_by(runs.entries(run.run))) for run in kept)
            view = StatusReport(request.namespace, around.now(), listed, held, notes=notes, history=history)
            return opening.answer(view, around)
        while True:
            view = _view(runs, request, args.watch, beside, around)
            text = opening.answered(view, around)
            ended = view.run is None or view.run.phase == RunPhase.ENDED.value
            if not args.watch or ended:
                return CommandAnswer(text)
            if text != before:
                around.say(text)
            before = text
            if is_left(around.stdout):
                return CommandAnswer("")
            around.sleep(_LOOK_S)


@frozen
class _Beside:
    """The notes of runs on nodes; read once. `read_error`: why they could not be read."""

    noted: RunAnnotations
    nodes: tuple[Node, ...] = ()
    unread: str = ""

    @staticmethod
    def read(request: RunRequest, around: CommandContext) -> _Beside:
        noted = RunAnnotations(request, around)
        try:
            return _Beside(noted, request.nodes(around).nodes)
        except Forbidden as error:
            return _Beside(noted, unread=error.message)

    def of(self, listed: Sequence[RunSummary]) -> tuple[WithoutJournal, ...]:
        """Return the runs that are not listed."""
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


def _view(runs: RunStore, request: RunRequest, one: bool, beside: _Beside, around: CommandContext) -> StatusReport:
    """Return the view of the named run; or of the active one, if `watches_one` is set or it is the only one; otherwise
    of all runs."""
    listed = runs.all()
    active = under_way(listed)
    without = beside.of(listed)
    held, notes = held_lock(runs)
    if beside.unread:
        notes = (*notes, f"runs whose journal is gone are not found: {beside.unread}")
    view = StatusReport(request.namespace, around.now(), listed, held, without=without, notes=notes)
    if request.run in {each.run for each in without}:
        return view
    if not (request.run or (one and active) or len(active) == 1):
        return view
    run = chosen(listed, request.run, active, "under way")
    return replace(view, run=run, journaled=stands_by(runs.entries(run.run)))


def _events(told: RunReplay | None, request: RunRequest, around: CommandContext) -> CommandAnswer:
    """Return the events of a run; empty if there are none."""
    output = around.options.output
    if output not in ("table", "wide", "json", "html"):
        raise UsageError(f"events have no output format {output!r}", "choose table, json or html")
    if told is None:
        return CommandAnswer("")
    look = opening.decide(around)
    for said in told.dropped:
        around.note(f"note: not taken into account: {said}")
    if output == "html":
        return CommandAnswer(page(told, look))
    timed = ((told.began_at + timedelta(seconds=moment.at_s), moment) for moment in told.moments)
    if output == "json":
        return CommandAnswer("".join(events.event_line(moment, told.run, at) for at, moment in timed))
    return CommandAnswer("".join(f"{events.line(moment, at, look)}\n" for at, moment in timed))


# ``kubectl eksdoc drain pause`` and ``abort``: send a request to the leader of a run, from any machine.
#
# No confirmation is typed: these commands only reduce changes to the cluster.


_WORDS = {
    RunPhase.PAUSED: "is paused",
    RunPhase.RUNNING: "continues",
    RunPhase.ABORTED: "asks for nothing more, and ends once what is under way has settled",
}


def ask(command: str, wanted: RunPhase, args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Request a phase and return what the run does now.

    Raises:
        EksdocError: there is no such run, or the cluster is at fault.
    """
    request = RunRequest.from_args(args, around)
    with opening.explaining(command):
        runs = request.runs(around)
        listed = runs.all()
        run = chosen(listed, request.run, under_way(listed), "under way")
        if run.phase == RunPhase.ENDED.value:
            around.note(f"run {run.run} has ended already: {run.said or 'see drain status'}")
            return CommandAnswer("")
        answer = asked(runs, run, wanted, request, around)
    if answer is None:
        around.note(
            f"no process leads run {run.run}, so nothing is evicted; drain resume continues it, drain rollback ends it"
        )
    return answer or CommandAnswer("")


def asked(
    runs: RunStore, run: RunSummary, wanted: RunPhase, request: RunRequest, around: CommandContext
) -> CommandAnswer | None:
    """Request a phase from the leader and return its answer; None: the run has no leader (any more).

    Raises:
        JournalError: the leader does not respond.
    """
    keeping = request.keeping(around)
    who = f"{keeping.who}@{keeping.host}"
    if not leads(runs.lock(), run):
        runs.ask(run.run, wanted, who)
        return None
    around.note(f"asked {run.leader} …")
    heard = ask_leader(runs, run, wanted, who, around.sleep)
    if heard is WishSource.SO:
        return CommandAnswer(f"run {run.run} {_WORDS[wanted]}\n")
    if heard is WishSource.NOBODY:
        around.note(f"{run.leader} does not answer, and has lost the lock")
        return None
    raise JournalError(
        f"{run.leader} has not answered within {ANSWERS_S:.0f} s, and renews the lock",
        "The request stays in its journal; drain status shows whether it was received.",
    )


def read_replay(path: str) -> RunReplay:
    """Read a journal or recorded events from a file.

    Raises:
        UsageError: the file cannot be read, or is neither.
    """
    from kubectl_eksdoc.host.journals import read_recorded
    from kubectl_eksdoc.model.journal import Entries

    from ..run.replay import of_events

    if not path:
        raise UsageError(f"{REPLAY} needs the path of a journal")
    try:
        recorded = read_recorded(path)
    except JournalError as error:
        raise UsageError(error.message, error.hint) from error
    recording = of_journal(recorded) if isinstance(recorded, Entries) else of_events(recorded)
    if recording is None:
        raise UsageError(f"{path} is no journal of a run: not one line of it is an entry, or an event of -o json")
    return recording
