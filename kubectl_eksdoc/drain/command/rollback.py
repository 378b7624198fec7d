"""``kubectl eksdoc drain rollback``: restore the nodes that a run cordoned, and nothing else."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kubectl_eksdoc.cli import answers, options, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import check_writable, dry_run_from_args
from kubectl_eksdoc.errors import Locked, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.journal import RunPhase, RunSummary
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.ports import RunStore
from kubectl_eksdoc.wiring.runs import Hooks

from ..run.journal import CordonedNode, ProtectedNode, replay_journals
from ..run.journals import FoundRun
from ..run.limits import SETTLE_TIMEOUT_S, RunLimits
from ..run.result import nodes_to_restore, noted_run
from ..run.runner import RollbackResult, roll_back
from . import options as run_options
from .invocation import (
    NOT_KNOWN,
    RunAnnotations,
    RunInvocation,
    RunReference,
    check_permissions,
    select_run,
)
from .status import request_phase

# Changes of a run to nodes, and their rollback. The callers, a command or the screens, show the changes and ask for
# typed confirmations.


COMMAND = "drain rollback"

LOCK_WAIT_S = SETTLE_TIMEOUT_S + 30.0
"""How long to wait for a lock that another client holds: a leader that was asked to end lets requests in flight
settle."""


@frozen
class RollbackPlan:
    """The run to roll back, and its changes to nodes; `listed_run`: its entry in the list of runs, None if its journal
    is gone. `drained_count`: number of nodes that the run's plan drains, as its user counted them; from notes on nodes
    if the journal is gone."""

    run: str
    cordoned: tuple[CordonedNode, ...]
    protected: tuple[ProtectedNode, ...]
    drained_count: int
    listed_run: RunSummary | None = None

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted({*(each.node for each in self.cordoned), *(each.node for each in self.protected)}))


def plan_rollback(
    runs: RunStore, nodes: tuple[Node, ...], request: RunReference, context: CommandContext
) -> RollbackPlan:
    """Return the named run; otherwise the latest, or a run whose journal is gone if only that one has changed anything.

    Raises:
        UsageError: there is none, its journal is in another namespace, or more than one run may be meant.
        Locked: its journal is gone, and a process still leads it from another namespace.
    """
    listed = runs.all()
    named_run = next((run for run in listed if request.run in ("", run.run)), None)
    latest = None
    if named_run is not None:
        journal_state, run_notes = replay_journals(runs.entries(named_run.run)), noted_run(nodes, named_run.run)
        cordoned, protected = nodes_to_restore(journal_state, run_notes)
        drained = (
            len(journal_state.started.aims)
            if journal_state.started is not None
            else run_notes.drained_count_of(cordoned)
        )
        latest = RollbackPlan(named_run.run, cordoned, protected, drained, named_run)
    if latest is not None and request.run:
        return latest
    annotations = RunAnnotations(request, context)
    names = {run.run for run in listed}
    unlisted = [each for each in annotations.runs_on(nodes, request.run) if each.run not in names]
    without_journal = [each for each in unlisted if each.gone]
    if latest is not None and (latest.nodes or not without_journal):
        if without_journal:
            named = ", ".join([latest.run, *(each.run for each in without_journal)])
            raise UsageError(f"{1 + len(without_journal)} runs have changed nodes: {named}", "Name the one you mean.")
        return latest
    if not without_journal:
        for each in unlisted:
            raise annotations.other_namespace_error(each, "rollback")
        select_run(listed, request.run, (), "there")
    if len(without_journal) > 1:
        named = ", ".join(each.run for each in without_journal)
        raise UsageError(
            f"the journals of {len(without_journal)} runs are gone, and nodes carry their notes: {named}", "Name one."
        )
    return _plan_without_journal(without_journal[0], request, context)


def _plan_without_journal(found_run: FoundRun, request: RunReference, context: CommandContext) -> RollbackPlan:
    if found_run.has_leader and found_run.namespace != request.namespace:
        raise Locked(
            f"the journal of run {found_run.run} is gone, and the lock is still held in namespace "
            f"{found_run.namespace}",
            "Nothing was done. A run without its journal ends within a minute: try again then.",
        )
    context.note(f"the journal of run {found_run.run} is gone: it is taken back by the notes on its nodes. {NOT_KNOWN}")
    noted_run = found_run.noted_run
    return RollbackPlan(found_run.run, noted_run.cordoned, noted_run.protected, noted_run.drained_count)


def abort_leader(rollback_plan: RollbackPlan, runs: RunStore, request: RunReference, context: CommandContext) -> None:
    """Abort the run if a process still leads it.

    Raises:
        JournalError: the leader does not respond.
    """
    if rollback_plan.listed_run is not None and _has_leader(rollback_plan, runs):
        request_phase(runs, rollback_plan.listed_run, RunPhase.ABORTED, request, context)


def _has_leader(rollback_plan: RollbackPlan, runs: RunStore) -> bool:
    return (
        rollback_plan.listed_run is not None
        and runs.lock().is_held
        and rollback_plan.listed_run.phase != RunPhase.ENDED.value
    )


def perform_rollback(
    rollback_plan: RollbackPlan, request: RunReference, invocation: RunInvocation, context: CommandContext
) -> RollbackResult:
    """Roll back. Changes begin here.

    Raises:
        as `RunInvocation.open` and `roll_back`.
    """
    reader = request.reader(context, invocation.limits)
    with invocation.open(LOCK_WAIT_S) as edges:
        return roll_back(
            rollback_plan.run, invocation.environment(edges), reader, removed=rollback_plan.listed_run is None
        )


def result_messages(result: RollbackResult) -> list[str]:
    """Return a sentence for each node."""
    lines = [f"{node} is as it was before" for node in result.restored]
    lines += [f"{node} is not protected from autoscalers any more" for node in result.released]
    return lines + [f"{node} is left as it is: {reason}" for node, reason in result.not_restored.items()]


_UNCORDONED_BY_OTHERS = ", but for its cordon: another client has uncordoned it since"


NOTE_UNREADABLE = ", if its note of this run can be read"


def preview_messages(rollback_plan: RollbackPlan, nodes: Sequence[Node]) -> list[str]:
    """Preview a rollback by the current `nodes`: a sentence for each change; no request is sent to the API server."""
    nodes_by_uid = {node.uid: node for node in nodes}

    def said(each: CordonedNode | ProtectedNode, change_text: str) -> str:
        node = nodes_by_uid.get(each.uid)
        if node is None:
            return f"{each.node} is gone: nothing of it would change"
        if node.note is None or node.note.run != rollback_plan.run:
            return f"{each.node} would stay as it is: it has no note of this run any more"
        return f"{each.node} {change_text}" + ("" if node.note.journal else NOTE_UNREADABLE)

    restored = [
        said(each, "would be as it was before" + _UNCORDONED_BY_OTHERS * each.uncordoned_by_others)
        for each in rollback_plan.cordoned
    ]
    return restored + [
        said(each, "would not be protected from autoscalers any more") for each in rollback_plan.protected
    ]


DO_NOT_MOVE_BACK = "pods that were evicted do not move back by themselves"


def run_rollback(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Roll back a run, and return which nodes are restored.

    Raises:
        EksdocError: the command line, the cluster or the run is at fault; the error says which.
    """
    request, confirmation = RunReference.from_args(args, context), run_options.confirmation_from(args)
    is_dry_run = bool(dry_run_from_args(args))
    if not is_dry_run:
        check_writable(context.environ, COMMAND)
    with answers.explain_forbidden(COMMAND):
        runs, cluster = request.runs(context), request.nodes(context)
        rollback_plan = plan_rollback(runs, cluster.nodes, request, context)
        changed = ", ".join(rollback_plan.nodes) or "no node that is not given back"
        context.note(
            f"run {rollback_plan.run} changed {changed}; its plan drains "
            f"{options.NODES.count_text(rollback_plan.drained_count)}"
        )
        if not rollback_plan.nodes:
            return CommandAnswer("")
        if is_dry_run:
            context.note(DO_NOT_MOVE_BACK)
            if _has_leader(rollback_plan, runs):
                context.note(f"run {rollback_plan.run} is in progress: it would be aborted first")
            messages = preview_messages(rollback_plan, cluster.nodes)
            return _answer_with_lines(
                messages, streams.UNKNOWN if any(each.endswith(NOTE_UNREADABLE) for each in messages) else streams.CLEAN
            )
        check_permissions(COMMAND, request.namespace, context)
        options.confirm(cluster.identity, rollback_plan.drained_count, "give back", confirmation, context.prompt)
        abort_leader(rollback_plan, runs, request, context)
    location = request.journal_location(context, rollback_plan.run)
    result = perform_rollback(
        rollback_plan, request, RunInvocation(COMMAND, context, location, Hooks(), {}, RunLimits()), context
    )
    context.note(DO_NOT_MOVE_BACK)
    return _answer_with_lines(result_messages(result), streams.STOPPED if result.not_restored else streams.CLEAN)


def _answer_with_lines(lines: Sequence[str], code: int = streams.CLEAN) -> CommandAnswer:
    return CommandAnswer("".join(f"{line}\n" for line in lines), code)
