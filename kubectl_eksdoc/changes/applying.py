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
from kubectl_eksdoc.cli import opening, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.errors import Drifted, LocalJournalError, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.schedules import parsed
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import IN_CLUSTER
from kubectl_eksdoc.report.text import rfc3339

if TYPE_CHECKING:  # help must not load facts and plans
    from kubectl_eksdoc.host.journals import ChangeJournalFile
    from kubectl_eksdoc.model.change_journal import SavedChange
    from kubectl_eksdoc.report.report import Report
    from kubectl_eksdoc.session.session import ClusterSession

    from .engine import Kind, Result, World


R = TypeVar("R", bound="Result")


def check_live(around: CommandContext, dry: bool, practise: str = "") -> None:
    """`is_dry_run`: a client-side dry run; `demo_hint`: a hint with a command that shows one on the demo.

    Raises:
        UsageError: the source cannot be changed.
    """
    source = around.source
    if source.live or (source.demo and dry):
        return
    what = "--demo" if source.demo else "--snapshot"
    look = "Leave --apply out to see what would be changed."
    raise UsageError(
        f"--apply is of the live cluster: {what} does not go with it", practise if source.demo and practise else look
    )


def applying_to(around: CommandContext, session: ClusterSession) -> tuple[str, ...]:
    """Return the arguments that select the same cluster for a command with --apply; the demo cannot be changed."""
    return ("--demo", "--dry-run") if around.source.demo else opening.reached_by(around, session)


@frozen
class Proposal:
    """A change as one observation of the cluster shows it. `unchanged_state`: the state that must be the same when it
    is sent. `refused`: why nothing is done, a clause, and the exit code. `confirm` raises unless the user confirms."""

    report: Report
    same: object
    confirm: Callable[[], object]
    refused: tuple[str, int] | None = None


def confirmed(
    proposal: Proposal,
    same: Callable[[ClusterSession], object],
    session: ClusterSession,
    drifted: str,
    around: CommandContext,
) -> ClusterSession | CommandAnswer:
    """Show the proposal, ask for the confirmation, and return the cluster as it was read again; an answer if nothing is
    done. `unchanged_state` computes the state of the second read, to be compared with the proposal's. `drift_message`:
    the message if they differ.

    Raises:
        UsageError: the typed confirmation is wrong.
        Drifted: something differs from what was shown.
    """
    opening.show(proposal.report, around)
    if proposal.refused is not None:
        why, code = proposal.refused
        around.note(why)
        return CommandAnswer(as_data(proposal.report, around), code)
    proposal.confirm()
    again = session.reobserve()
    if identity(again) != identity(session) or same(again) != proposal.same:
        raise Drifted(
            drifted,
            "Nothing was sent, and nothing was changed. Another client changed something meanwhile: check again.",
        )
    return again


def identity(session: ClusterSession) -> tuple[object, str]:
    """Return the identity of the cluster: another context may be selected while the user types."""
    return session.cluster.identity, session.believed.cluster.arn


def as_data(report: Report, around: CommandContext) -> str:
    """Return nothing for table output, which was shown on stderr."""
    return opening.answered(report, around) if around.options.output in ("json", "yaml") else ""


def new_journal(around: CommandContext) -> ChangeJournalFile:
    """Raises LocalJournalError: there is no folder for it."""
    return journal(around.edges.new_run_id(around.now()), around)


def journal(ident: str, around: CommandContext) -> ChangeJournalFile:
    """Raises LocalJournalError: there is no folder for it."""
    from kubectl_eksdoc.wiring.runs import journal_of

    return journal_of(around.edges.keeping(ident, "", around.environ))


def begun(kind: str, what: str, ident: str, session: ClusterSession, around: CommandContext, **more: object) -> Doc:
    """Return the first entry of the journal: everything that a later process needs to continue or revert the change."""
    eks = session.believed.cluster
    return first_line(kind, what, ident, session.cluster.identity.context, around) | {
        "cluster": {"name": eks.name, "arn": eks.arn, "context": session.cluster.identity.context},
        **more,
    }


def carried(
    kind: Kind[R], first: Doc, world: World, written: ChangeJournalFile, around: CommandContext, undoes: str = ""
) -> R:
    """Execute a change. `undoes`: the id of a change that is reverted. Raises: as `changes.engine.start_change`."""
    from .engine import carry_out

    around.note(f"change {written.id}, journal {written.path}")
    done = carry_out(kind, {**first, **({"undoes": undoes} if undoes else {})}, world)
    return _closed(done, undoes, world, around)


def continued(kind: Kind[R], saved: SavedChange, world: World, around: CommandContext) -> R:
    """Continue a change that was started before. Raises: as `changes.engine.execute`."""
    from .engine import go_on

    return _closed(go_on(kind, world, saved.past), saved.text("undoes"), world, around)


def _closed(done: R, undoes: str, world: World, around: CommandContext) -> R:
    """Write to the journal of the reverted change; the result is returned even if that fails."""
    if undoes and done.whole:
        replace(world, journal=journal(undoes, around)).note({"entry": "undone"})
    return done


def reverted(kind: Kind[R], written: ChangeJournalFile, around: CommandContext) -> R:
    """Remove what a change has created; its own journal records that. Raises: as `changes.engine.execute`."""
    from .engine import go_on

    written.write({"entry": "undoing"})
    with world(written, 0.0, around) as edges:
        done = go_on(kind, edges)
        if done.whole:
            edges.note({"entry": "undone"})
    return done


def check_context(saved: SavedChange, around: CommandContext) -> None:
    """Raises Drifted: the change is of another cluster."""
    context = saved.text("cluster", "context")
    if (around.connection.context or IN_CLUSTER) != (context or IN_CLUSTER):
        raise Drifted(f"change {saved.id} is of context {context}", "Name that context, or none.")


def first_line(kind: str, what: str, ident: str, context: str, around: CommandContext) -> Doc:
    keeping = around.edges.keeping(ident, "", around.environ)
    return {
        "kind": kind,
        "what": what,
        "run": ident,
        "at": rfc3339(around.now()),
        "tool": __version__,
        "who": f"{keeping.who}@{keeping.host}",
        "cluster": {"context": context},
    }


@contextmanager
def world(written: ChangeJournalFile, watch_s: float, around: CommandContext) -> Iterator[World]:
    """Yield the outside of a change; meanwhile Ctrl-C stops it between two steps."""
    from .engine import World

    def tell(line: str) -> None:
        around.note(f"{around.now():%H:%M:%S}Z  {line}")

    with around.edges.told_to_stop() as told:
        try:
            yield World(written, around.edges.clock, around.sleep, told, tell, watch_s)
        except KeyboardInterrupt:
            if written.path.exists():  # it is journaled before it is sent
                around.note(f"what was sent continues; its journal is {written.path}")
            raise


def saved(ident: str, kinds: Sequence[str], session: ClusterSession, around: CommandContext) -> SavedChange:
    """Return a journaled change.

    Raises:
        LocalJournalError: this machine has no journal of it, or it is of another kind.
        Drifted: it is of another cluster.
    """
    from kubectl_eksdoc.wiring.runs import saved_change

    found = saved_change(around.edges.keeping(ident, "", around.environ))
    if found.text("kind") not in kinds:
        kind = found.text("kind") or "not known"
        raise LocalJournalError(f"change {ident} is of another kind: {kind}", f"kubectl eksdoc changes resume {ident}")
    arn = found.text("cluster", "arn")
    if arn != session.believed.cluster.arn:
        raise Drifted(f"change {ident} is of {arn}", "Name the context of that cluster.")
    return found


class _Ended(Protocol):
    @property
    def whole(self) -> bool: ...

    @property
    def differs(self) -> bool: ...

    @property
    def lacks(self) -> bool: ...


def begun_at(saved: SavedChange) -> datetime:
    """Raises LocalJournalError: its journal has no start time."""
    at = parsed(saved.text("at"))
    if at is None:
        raise LocalJournalError(f"the journal of change {saved.id} does not tell when it began", "Check the file.")
    return at


def code(ended: _Ended) -> int:
    """Return the exit code: an incomplete change comes first, then known differences, then unknowns."""
    if not ended.whole:
        return streams.STOPPED
    if ended.differs:
        return streams.FAILS
    return streams.UNKNOWN if ended.lacks else streams.CLEAN


@frozen
class Again:
    """A change that was started before, to be continued or reverted."""

    saved: SavedChange
    undo: bool

    @property
    def id(self) -> str:
        return self.saved.id
