"""``kubectl eksdoc drain status``: lists runs and shows the state of one, from any machine."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import answers, streams
from kubectl_eksdoc.cli.bare import REPLAY
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import check_source_live
from kubectl_eksdoc.cli.streams import ProgressLine, is_broken
from kubectl_eksdoc.errors import Forbidden, JournalError, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import RunPhase, RunSummary
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.model.nodes import Node, RunNote
from kubectl_eksdoc.ports import RunStore

from ..report import events
from ..report.run_page import page
from ..report.status import OtherDrainsReport, PastRun, RunWithoutJournal, StatusReport
from ..run.journal import replay_journals as stands_by
from ..run.journals import RESPONSE_TIMEOUT_S, LeaderResponse, is_led_by_holder, request_from_leader
from ..run.other_drains import ForeignDrainedNode
from ..run.replay import RunReplay, from_journal
from ..run.runner import attach
from . import options as run_options
from .invocation import (
    RunAnnotations,
    RunReference,
    active_runs,
    readable_lock,
    select_run,
    target_arguments,
)

if TYPE_CHECKING:
    from ..run.replay import RunReplay

# ``kubectl eksdoc drain status --attach``: watch a drain of another client.


COMMAND = "drain status --attach"


def run_attach(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Print every change as it comes; the answer at the end is empty. With ``-w=false``: the present state.

    Raises:
        EksdocError: there is no such node, or the cluster is at fault.
    """
    check_source_live(context)
    OtherDrainsReport.check_format(context.options.output)

    def command(note: RunNote) -> str:
        arguments = target_arguments(context, note.journal or run_options.namespace_from(args))
        return shlex.join(["kubectl", "eksdoc", "drain", "status", note.run, "-w", *arguments])

    unread: set[str] = set()

    def show(cluster: Cluster, nodes: Sequence[ForeignDrainedNode]) -> None:
        for each in cluster.reads:
            if each.state is ReadState.FORBIDDEN and each.resource.full_name not in unread:
                unread.add(each.resource.full_name)
                context.note(f"how long it takes may be wrong: missing right list {each.resource.full_name}")
        missing = sorted(set(args.words) - {node.name for node in cluster.nodes})
        if missing:
            raise UsageError(f"there is no node {missing[0]}", "kubectl get nodes lists them.")
        text = answers.render_report(OtherDrainsReport(nodes, context.now(), command), context)
        context.write_data(text if context.options.output == "json" else f"{text}\n")

    edges = context.edges
    with (
        answers.explain_forbidden(COMMAND),
        edges.stop_requests() as stop_count,
        edges.open_watch(context.connection) as backend,
    ):
        with ProgressLine(context.stderr) as progress:
            reader = context.reader(progress)
        attach(
            reader,
            backend,
            edges.clock,
            frozenset(args.words),
            show,
            lambda: stop_count() > 0 or is_broken(context.stdout),
        )
    return CommandAnswer("", streams.CLEAN)


STATUS_COMMAND = "drain status"

_POLL_S = 2.0


def run_status(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Show the state of a run; with ``--watch`` after every change, until the run has ended.

    Raises:
        EksdocError: there is no such run, or the cluster is at fault.
    """
    if args.attach:
        return run_attach(args, context)
    request = RunReference.from_args(args, context)
    if args.replay is not None:
        if request.run:
            raise UsageError(f"--replay is of a file: no run is named with it, as {request.run!r}")
        return _events(read_replay(args.replay), request, context)
    previous_text = ""
    with answers.explain_forbidden(STATUS_COMMAND):
        runs = request.runs(context)
        node_notes = _NodeNotes.read(request, context)
        if args.events:
            listed = runs.all()
            run = select_run(listed, request.run, active_runs(listed) or listed[:1], "there")
            return _events(from_journal(runs.entries(run.run)), request, context)
        if args.history:
            listed = runs.all()
            selected = [select_run(listed, request.run, (), "there")] if request.run else listed
            lock, notes = readable_lock(runs)
            history = tuple(PastRun(run, stands_by(runs.entries(run.run))) for run in selected)
            view = StatusReport(request.namespace, context.now(), listed, lock, notes=notes, history=history)
            return answers.report_answer(view, context)
        while True:
            view = _status_report(runs, request, args.watch, node_notes, context)
            text = answers.render_report(view, context)
            ended = view.run is None or view.run.phase == RunPhase.ENDED.value
            if not args.watch or ended:
                return CommandAnswer(text)
            if text != previous_text:
                context.write_data(text)
            previous_text = text
            if is_broken(context.stdout):
                return CommandAnswer("")
            context.sleep(_POLL_S)


@frozen
class _NodeNotes:
    """The notes of runs on nodes; read once. `read_error`: why they could not be read."""

    annotations: RunAnnotations
    nodes: tuple[Node, ...] = ()
    read_error: str = ""

    @staticmethod
    def read(request: RunReference, context: CommandContext) -> _NodeNotes:
        annotations = RunAnnotations(request, context)
        try:
            return _NodeNotes(annotations, request.nodes(context).nodes)
        except Forbidden as error:
            return _NodeNotes(annotations, read_error=error.message)

    def without_journal(self, listed: Sequence[RunSummary]) -> tuple[RunWithoutJournal, ...]:
        """Return the runs that are not listed."""
        names = {run.run for run in listed}
        unlisted = [each for each in self.annotations.runs_on(self.nodes) if each.run not in names]
        return tuple(
            RunWithoutJournal(
                each.run,
                each.noted_run.nodes,
                each.namespace,
                each.gone,
                self.annotations.command("rollback" if each.gone else "status", each),
            )
            for each in unlisted
        )


def _status_report(
    runs: RunStore, request: RunReference, watches_one: bool, node_notes: _NodeNotes, context: CommandContext
) -> StatusReport:
    """Return the view of the named run; or of the active one, if `watches_one` is set or it is the only one; otherwise
    of all runs."""
    listed = runs.all()
    active = active_runs(listed)
    without = node_notes.without_journal(listed)
    lock, notes = readable_lock(runs)
    if node_notes.read_error:
        notes = (*notes, f"runs whose journal is gone are not found: {node_notes.read_error}")
    view = StatusReport(request.namespace, context.now(), listed, lock, without=without, notes=notes)
    if request.run in {each.run for each in without}:
        return view
    if not (request.run or (watches_one and active) or len(active) == 1):
        return view
    run = select_run(listed, request.run, active, "under way")
    return replace(view, run=run, journaled=stands_by(runs.entries(run.run)))


def _events(recorded_run: RunReplay | None, request: RunReference, context: CommandContext) -> CommandAnswer:
    """Return the events of a run; empty if there are none."""
    output = context.options.output
    if output not in ("table", "wide", "json", "html"):
        raise UsageError(f"events have no output format {output!r}", "choose table, json or html")
    if recorded_run is None:
        return CommandAnswer("")
    appearance = answers.appearance_for(context)
    for message in recorded_run.dropped:
        context.note(f"note: not taken into account: {message}")
    if output == "html":
        return CommandAnswer(page(recorded_run, appearance))
    timed = ((recorded_run.started_at + timedelta(seconds=event.at_s), event) for event in recorded_run.events)
    if output == "json":
        return CommandAnswer("".join(events.event_line(event, recorded_run.run, time) for time, event in timed))
    return CommandAnswer("".join(f"{events.line(event, time, appearance)}\n" for time, event in timed))


# ``kubectl eksdoc drain pause`` and ``abort``: send a request to the leader of a run, from any machine.
#
# No confirmation is typed: these commands only reduce changes to the cluster.


_PHASE_TEXTS = {
    RunPhase.PAUSED: "is paused",
    RunPhase.RUNNING: "continues",
    RunPhase.ABORTED: "asks for nothing more, and ends once what is under way has settled",
}


def ask(command: str, phase: RunPhase, args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Request a phase and return what the run does now.

    Raises:
        EksdocError: there is no such run, or the cluster is at fault.
    """
    request = RunReference.from_args(args, context)
    with answers.explain_forbidden(command):
        runs = request.runs(context)
        listed = runs.all()
        run = select_run(listed, request.run, active_runs(listed), "under way")
        if run.phase == RunPhase.ENDED.value:
            context.note(f"run {run.run} has ended already: {run.said or 'see drain status'}")
            return CommandAnswer("")
        leader_answer = request_phase(runs, run, phase, request, context)
    if leader_answer is None:
        context.note(
            f"no process leads run {run.run}, so nothing is evicted; drain resume continues it, drain rollback ends it"
        )
    return leader_answer or CommandAnswer("")


def request_phase(
    runs: RunStore, run: RunSummary, phase: RunPhase, request: RunReference, context: CommandContext
) -> CommandAnswer | None:
    """Request a phase from the leader and return its answer; None: the run has no leader (any more).

    Raises:
        JournalError: the leader does not respond.
    """
    location = request.journal_location(context)
    requester = f"{location.user}@{location.host}"
    if not is_led_by_holder(runs.lock(), run):
        runs.request_phase(run.run, phase, requester)
        return None
    context.note(f"asked {run.leader} …")
    leader_response = request_from_leader(runs, run, phase, requester, context.sleep)
    if leader_response is LeaderResponse.REACHED:
        return CommandAnswer(f"run {run.run} {_PHASE_TEXTS[phase]}\n")
    if leader_response is LeaderResponse.NO_LEADER:
        context.note(f"{run.leader} does not answer, and has lost the lock")
        return None
    raise JournalError(
        f"{run.leader} has not answered within {RESPONSE_TIMEOUT_S:.0f} s, and renews the lock",
        "The request stays in its journal; drain status shows whether it was received.",
    )


def read_replay(path: str) -> RunReplay:
    """Read a journal or recorded events from a file.

    Raises:
        UsageError: the file cannot be read, or is neither.
    """
    from kubectl_eksdoc.host.journals import read_recording
    from kubectl_eksdoc.model.journal import JournalEntries

    from ..run.replay import from_events

    if not path:
        raise UsageError(f"{REPLAY} needs the path of a journal")
    try:
        recorded = read_recording(path)
    except JournalError as error:
        raise UsageError(error.message, error.hint) from error
    recorded_run = from_journal(recorded) if isinstance(recorded, JournalEntries) else from_events(recorded)
    if recorded_run is None:
        raise UsageError(f"{path} is no journal of a run: not one line of it is an entry, or an event of -o json")
    return recorded_run
