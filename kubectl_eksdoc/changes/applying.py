"""Shared steps of every command with --apply: preview, typed confirmation, second read, journal, follow-up, result.

Belongs here: the order of these steps, and their common messages. Never here: the change itself (each command passes
its preview and its `changes.engine.ChangeKind`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import answers, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.errors import Drifted, LocalJournalError, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.schedules import parse_time
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import IN_CLUSTER
from kubectl_eksdoc.report.text import rfc3339

if TYPE_CHECKING:  # help must not load facts and plans
    from kubectl_eksdoc.host.journals import ChangeJournalFile
    from kubectl_eksdoc.model.change_journal import SavedChange
    from kubectl_eksdoc.report.report import Report
    from kubectl_eksdoc.session.session import ClusterSession

    from .engine import ChangeEnvironment, ChangeKind, ChangeResult


R = TypeVar("R", bound="ChangeResult")


def check_live(context: CommandContext, is_dry_run: bool, demo_hint: str = "") -> None:
    """`is_dry_run`: a client-side dry run; `demo_hint`: a hint with a command that shows one on the demo.

    Raises:
        UsageError: the source cannot be changed.
    """
    source = context.source
    if source.live or (source.demo and is_dry_run):
        return
    flag = "--demo" if source.demo else "--snapshot"
    preview_hint = "Leave --apply out to see what would be changed."
    raise UsageError(
        f"--apply is of the live cluster: {flag} does not go with it",
        demo_hint if source.demo and demo_hint else preview_hint,
    )


def target_arguments(context: CommandContext, session: ClusterSession) -> tuple[str, ...]:
    """Return the arguments that select the same cluster for a command with --apply; the demo cannot be changed."""
    return ("--demo", "--dry-run") if context.source.demo else answers.session_flags(context, session)


@frozen
class Proposal:
    """A change as one observation of the cluster shows it. `unchanged_state`: the state that must be the same when it
    is sent. `refused`: why nothing is done, a clause, and the exit code. `confirm` raises unless the user confirms."""

    report: Report
    unchanged_state: object
    confirm: Callable[[], object]
    refused: tuple[str, int] | None = None


def confirm_and_reread(
    proposal: Proposal,
    unchanged_state: Callable[[ClusterSession], object],
    session: ClusterSession,
    drift_message: str,
    context: CommandContext,
) -> ClusterSession | CommandAnswer:
    """Show the proposal, ask for the confirmation, and return the cluster as it was read again; an answer if nothing is
    done. `unchanged_state` computes the state of the second read, to be compared with the proposal's. `drift_message`:
    the message if they differ.

    Raises:
        UsageError: the typed confirmation is wrong.
        Drifted: something differs from what was shown.
    """
    answers.show_report(proposal.report, context)
    if proposal.refused is not None:
        reason, code = proposal.refused
        context.note(reason)
        return CommandAnswer(data_output(proposal.report, context), code)
    proposal.confirm()
    second_read = session.reobserve()
    if (
        cluster_identity(second_read) != cluster_identity(session)
        or unchanged_state(second_read) != proposal.unchanged_state
    ):
        raise Drifted(
            drift_message,
            "Nothing was sent, and nothing was changed. Another client changed something meanwhile: check again.",
        )
    return second_read


def cluster_identity(session: ClusterSession) -> tuple[object, str]:
    """Return the identity of the cluster: another context may be selected while the user types."""
    return session.cluster.identity, session.verified_aws.cluster.arn


def data_output(report: Report, context: CommandContext) -> str:
    """Return nothing for table output, which was shown on stderr."""
    return answers.render_report(report, context) if context.options.output in ("json", "yaml") else ""


def new_journal(context: CommandContext) -> ChangeJournalFile:
    """Raises LocalJournalError: there is no folder for it."""
    return saved_journal(context.edges.new_run_id(context.now()), context)


def saved_journal(ident: str, context: CommandContext) -> ChangeJournalFile:
    """Raises LocalJournalError: there is no folder for it."""
    from kubectl_eksdoc.wiring.runs import change_journal

    return change_journal(context.edges.journal_location(ident, "", context.environ))


def start_entry(
    kind: str, subject: str, ident: str, session: ClusterSession, context: CommandContext, **details: object
) -> Doc:
    """Return the first entry of the journal: everything that a later process needs to continue or revert the change."""
    eks = session.verified_aws.cluster
    return first_entry(kind, subject, ident, session.cluster.identity.context, context) | {
        "cluster": {"name": eks.name, "arn": eks.arn, "context": session.cluster.identity.context},
        **details,
    }


def run_change(
    kind: ChangeKind[R],
    entry: Doc,
    environment: ChangeEnvironment,
    change_journal: ChangeJournalFile,
    context: CommandContext,
    undoes: str = "",
) -> R:
    """Execute a change. `undoes`: the id of a change that is reverted. Raises: as `changes.engine.start_change`."""
    from .engine import start_change

    context.note(f"change {change_journal.id}, journal {change_journal.path}")
    result = start_change(kind, {**entry, **({"undoes": undoes} if undoes else {})}, environment)
    return _record_undo(result, undoes, environment, context)


def resume_change(
    kind: ChangeKind[R], saved: SavedChange, environment: ChangeEnvironment, context: CommandContext
) -> R:
    """Continue a change that was started before. Raises: as `changes.engine.execute_change`."""
    from .engine import execute_change

    return _record_undo(execute_change(kind, environment, saved.progress), saved.text("undoes"), environment, context)


def _record_undo(result: R, undoes: str, environment: ChangeEnvironment, context: CommandContext) -> R:
    """Write to the journal of the reverted change; the result is returned even if that fails."""
    if undoes and result.whole:
        replace(environment, journal=saved_journal(undoes, context)).note({"entry": "undone"})
    return result


def revert_change(kind: ChangeKind[R], change_journal: ChangeJournalFile, context: CommandContext) -> R:
    """Remove what a change has created; its own journal records that. Raises: as `changes.engine.execute_change`."""
    from .engine import execute_change

    change_journal.write({"entry": "undoing"})
    with open_environment(change_journal, 0.0, context) as edges:
        result = execute_change(kind, edges)
        if result.whole:
            edges.note({"entry": "undone"})
    return result


def check_context(saved: SavedChange, command_context: CommandContext) -> None:
    """Raises Drifted: the change is of another cluster."""
    kube_context = saved.text("cluster", "context")
    if (command_context.connection.context or IN_CLUSTER) != (kube_context or IN_CLUSTER):
        raise Drifted(f"change {saved.id} is of context {kube_context}", "Name that context, or none.")


def first_entry(kind: str, subject: str, ident: str, kube_context: str, command_context: CommandContext) -> Doc:
    location = command_context.edges.journal_location(ident, "", command_context.environ)
    return {
        "kind": kind,
        "what": subject,
        "run": ident,
        "at": rfc3339(command_context.now()),
        "tool": __version__,
        "who": f"{location.user}@{location.host}",
        "cluster": {"context": kube_context},
    }


@contextmanager
def open_environment(
    change_journal: ChangeJournalFile, watch_s: float, context: CommandContext
) -> Iterator[ChangeEnvironment]:
    """Yield the outside of a change; meanwhile Ctrl-C stops it between two steps."""
    from .engine import ChangeEnvironment

    def tell(line: str) -> None:
        context.note(f"{context.now():%H:%M:%S}Z  {line}")

    with context.edges.stop_requests() as stop_count:
        try:
            yield ChangeEnvironment(change_journal, context.edges.clock, context.sleep, stop_count, tell, watch_s)
        except KeyboardInterrupt:
            if change_journal.path.exists():  # it is journaled before it is sent
                context.note(f"what was sent continues; its journal is {change_journal.path}")
            raise


def load_change(ident: str, kinds: Sequence[str], session: ClusterSession, context: CommandContext) -> SavedChange:
    """Return a journaled change.

    Raises:
        LocalJournalError: this machine has no journal of it, or it is of another kind.
        Drifted: it is of another cluster.
    """
    from kubectl_eksdoc.wiring.runs import saved_change

    change = saved_change(context.edges.journal_location(ident, "", context.environ))
    if change.text("kind") not in kinds:
        kind = change.text("kind") or "not known"
        raise LocalJournalError(f"change {ident} is of another kind: {kind}", f"kubectl eksdoc changes resume {ident}")
    arn = change.text("cluster", "arn")
    if arn != session.verified_aws.cluster.arn:
        raise Drifted(f"change {ident} is of {arn}", "Name the context of that cluster.")
    return change


class _EndedChange(Protocol):
    @property
    def whole(self) -> bool: ...

    @property
    def has_deviations(self) -> bool: ...

    @property
    def has_unknowns(self) -> bool: ...


def started_at(saved: SavedChange) -> datetime:
    """Raises LocalJournalError: its journal has no start time."""
    timestamp = parse_time(saved.text("at"))
    if timestamp is None:
        raise LocalJournalError(f"the journal of change {saved.id} does not tell when it began", "Check the file.")
    return timestamp


def exit_code(ended: _EndedChange) -> int:
    """Return the exit code: an incomplete change comes first, then known differences, then unknowns."""
    if not ended.whole:
        return streams.STOPPED
    if ended.has_deviations:
        return streams.FAILS
    return streams.UNKNOWN if ended.has_unknowns else streams.CLEAN


@frozen
class SavedChangeRequest:
    """A change that was started before, to be continued or reverted."""

    saved: SavedChange
    undo: bool

    @property
    def id(self) -> str:
        return self.saved.id
