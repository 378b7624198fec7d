"""Controller of drain runs for commands and screens: plans the rest of a run for the current cluster and executes it,
also in a restarted pod; for the screens, starts, resumes and rolls back runs in a thread of this process.

The callers, a command or the screens, show the plan and ask for typed confirmations.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from kubectl_eksdoc.cli import answers, options, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.flags import GlobalOptions
from kubectl_eksdoc.cli.options import check_writable
from kubectl_eksdoc.errors import (
    EksdocError,
    JournalError,
    JournalGone,
    LocalJournalError,
    Locked,
    LockLost,
    Unreachable,
    UsageError,
)
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity
from kubectl_eksdoc.model.journal import DONE, ROLLED_BACK, TERMINATED, RunPhase, RunSummary, effective_phase, is_run_id
from kubectl_eksdoc.ports import RunStore
from kubectl_eksdoc.session.sources import Progress, SourceChoice
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE, Hooks, JournalLocation, open_trial

from ..plan_changes import check_drift, read_plan_of
from ..policy import DrainPolicy, Targeting
from ..report.plan import DrainView
from ..report.run import Outcome, RunReport, plan_differences, run_summary
from ..result import DrainPlan
from ..run.journal import JournalState, replay_journals
from ..run.limits import RunLimits
from ..run.loop import DrainRunEnd
from ..run.result import ContinueRun, RunEnded, restart_decision
from ..run.runner import DryRunResult, ResumedIntent, dry_run_first_round, remaining_plan, resume
from . import new_run, rollback
from .invocation import (
    RunAnnotations,
    RunInvocation,
    RunReference,
    check_permissions,
    readable_lock,
    target_arguments,
)
from .live_run import LiveRun, OpenDisplay, RunOutput
from .new_run import COMMAND as NEW_RUN_COMMAND
from .new_run import (
    NewRun,
    PlannedCluster,
    RecordedRunOptions,
    check_other_runs,
    parse_recorded_options,
)
from .plan import PlanRequest
from .screen_ports import (
    ActiveRun,
    PreparedRun,
    RunKind,
    RunSummaryView,
)

COMMAND = "drain resume"

LOCK_WAIT_S = 5.0
"""How long to wait for a lock that another client holds: a client that has just ended may still hold it."""


@frozen
class RemainingPlan(PlannedCluster):
    """The rest of a run, planned for the current cluster. `is_finished`: its end is journaled, and it protects no node
    any more."""

    options: RecordedRunOptions
    shown_entry: int
    is_finished: bool

    @staticmethod
    def read(
        run: str,
        journal_state: JournalState,
        request: RunReference,
        context: CommandContext,
        changes: Mapping[str, Any] = MappingProxyType({}),
        progress: Progress | None = None,
    ) -> RemainingPlan:
        """Read the cluster and plan the rest of a run.

        Raises:
            UsageError: the run cannot be resumed.
        """
        recorded = recorded_options(run, journal_state)
        cluster = request.reader(context, replace(recorded.limits, **changes), progress).read(kinds.ALL)
        plan = remaining_plan(cluster, journal_state, recorded.policy)
        finished = journal_state.ended == DONE and not journal_state.protected
        return RemainingPlan(cluster, plan, recorded, journal_state.next_number, finished)

    def confirmed_intent(self) -> ResumedIntent:
        """Return what the user confirmed, after the names of pods to delete past their budgets were typed."""
        typed = frozenset(eviction.pod.uid for eviction in self.plan.past_budgets)
        return ResumedIntent(self.options.policy, typed, self.shown_entry, read_plan_of(self.plan))

    def limits(self, changes: Mapping[str, Any]) -> RunLimits:
        """Return the limits of the original command, changed by the flags given now."""
        return replace(self.options.limits, **changes)

    def hooks(self, given_hooks: Hooks, without: bool = False) -> Hooks:
        """Return the hooks of this command.

        Raises:
            UsageError: the run was started with hooks that are neither given again nor waived. They are not taken from
                the journal: a client that can write a ConfigMap must not be able to run commands here.
        """
        missing = sorted(self.options.hooks.commands.keys() - given_hooks.commands.keys())
        if missing and not without:
            missing_flags = "; ".join(
                f"--hook-{when} {shlex.quote(self.options.hooks.commands[when])}" for when in missing
            )
            raise UsageError(
                f"the run was begun with hooks that would not be asked any more: {missing_flags}",
                "Give them again, or say --without-hooks.",
            )
        return given_hooks

    def check(self, run: str, request: RunReference, context: CommandContext) -> None:
        """Check that the rest of the run may be executed.

        Raises:
            Locked: another run uses its nodes.
            Forbidden: permissions are missing; the error names all of them.
        """
        RunAnnotations(request, context).check(run)(self.cluster, self.plan)
        check_permissions(COMMAND, request.namespace, context, self.plan)


def recorded_options(run: str, journal_state: JournalState) -> RecordedRunOptions:
    """Return the options of the original command.

    Raises:
        UsageError: the run cannot be resumed.
    """

    if journal_state.rolled_back:
        raise UsageError(f"run {run} was rolled back: there is nothing to resume", "Begin a new run.")
    if journal_state.started is None:
        hint = "Begin a new run; what this one did to nodes is taken back by: kubectl eksdoc drain rollback " + run
        raise UsageError(f"the journal of run {run} does not say how it began, so it cannot be resumed", hint)
    return parse_recorded_options(journal_state.started.asked, f"run {run}")


def resume_run(
    remaining: RemainingPlan, request: RunReference, invocation: RunInvocation, context: CommandContext
) -> tuple[Cluster, DrainRunEnd]:
    """Resume the run. Changes begin here.

    Raises:
        as `RunInvocation.open` and `resume`.
    """
    run = invocation.location.run
    with invocation.open(LOCK_WAIT_S) as edges:
        reader = request.reader(context, invocation.limits)
        check = RunAnnotations(request, context).check(run)
        return resume(run, reader, remaining.confirmed_intent(), invocation.environment(edges, check))


# ``drain run --run-id RUN``: start a run with a given id, or resume it without a confirmation.
#
# The same command line can be started repeatedly, as by the pods of a Job: it starts the run once, and resumes it
# whenever its process has ended. A signal to the process does not decide that the run ends.


RUN_ID_FLAG = "--run-id"

KILLED_LOCK_WAIT_S = 90.0
"""How long to wait for the lock of a killed process: longer than its lease."""


def check_run_id(run: str) -> str:
    """Return a valid run id.

    Raises:
        UsageError: it is not a run id.
    """
    if not is_run_id(run):
        raise UsageError(
            f"{run[:80]!r} is no id of a run", f"{RUN_ID_FLAG} takes letters a-z, digits and hyphens, up to 40."
        )
    return run


def resume_if_exists(requested_run: NewRun, run: str, context: CommandContext) -> CommandAnswer | None:
    """Resume the run and return its answer; None: there is no such run, so it must be started.

    Raises:
        as `drain resume`, except for confirmations, and as `restartable`.
    """
    with answers.explain_forbidden(NEW_RUN_COMMAND), restartable():
        invocation = restartable_invocation(requested_run, run, context, resumed=True)
        runs = context.edges.open_runs(context.connection, invocation.location)
        decision_and_state = _read_decision(runs, run)
        if decision_and_state is None:
            return None
        decision, state = decision_and_state
        if isinstance(decision, RunEnded):
            return _ended_answer(run, decision, context)
        context.note(f"run {run} exists already: it is resumed")
        recorded = recorded_options(run, state)
        with invocation.adding_result_to_errors(), invocation.open(KILLED_LOCK_WAIT_S) as edges:
            decision, _ = _read_decision(runs, run) or (
                decision,
                state,
            )  # a client may have requested something meanwhile
            if isinstance(decision, RunEnded):
                return _ended_answer(run, decision, context)
            invocation.earlier_request = (decision.phase, decision.requester)
            reader = RunReference(requested_run.namespace).reader(context, requested_run.limits)
            environment = invocation.environment(edges, check_other_runs(requested_run, context, run))
            cluster, ended = resume(run, reader, ResumedIntent(recorded.policy), environment)
        return restart_answer(invocation.answer(cluster, ended), ended)


@contextmanager
def restartable() -> Iterator[None]:
    """Convert errors that decide nothing about the run, so that the caller of this process starts it again.

    Raises:
        Unreachable: the journal could not be read or written at the moment.
        KeyboardInterrupt: the process was told to end while the lock was in doubt.
    """
    try:
        yield
    except (JournalGone, LocalJournalError):
        raise
    except JournalError as error:
        raise Unreachable(error.message, error.hint) from error
    except LockLost as error:
        if error.message.startswith(TERMINATED):
            raise KeyboardInterrupt from error
        raise


def restartable_invocation(
    requested_run: NewRun, run: str, context: CommandContext, resumed: bool = False
) -> RunInvocation:
    """Return the invocation of a run with this id; it distinguishes a process that is told to end from a run that
    is."""
    location = context.edges.journal_location(run, requested_run.namespace, context.environ)
    open_display = partial(RunOutput, context, run, stop_reason=TERMINATED)
    options = {"run": run} if resumed else requested_run.plan_request.options
    return RunInvocation(
        NEW_RUN_COMMAND, context, location, requested_run.hooks, options, requested_run.limits, resumed, open_display
    )


def restart_answer(answer: CommandAnswer, ended: DrainRunEnd) -> CommandAnswer:
    """Set the exit code of an interrupted process if the run was only interrupted: the caller starts it again."""
    return replace(answer, exit_code=streams.INTERRUPTED) if ended.stop_reason == TERMINATED else answer


def _read_decision(runs: RunStore, run: str) -> tuple[ContinueRun | RunEnded, JournalState] | None:

    listed_run = next((each for each in runs.all() if each.run == run), None)
    if listed_run is None:
        return None
    entries = runs.entries(run)
    state = replay_journals(entries)
    return restart_decision(listed_run, entries, state), state


def _ended_answer(run: str, run_ended: RunEnded, context: CommandContext) -> CommandAnswer:
    context.note(f"run {run} has ended already: {run_ended.reason}")
    if run_ended.is_complete:
        return CommandAnswer("", streams.CLEAN)
    context.note("it does not continue automatically; drain resume continues it, drain rollback uncordons the nodes")
    return CommandAnswer("", streams.STOPPED)


def _check_unlocked(runs: RunStore) -> None:
    """Check the lock before the user types a confirmation, which would be refused afterwards.

    Raises:
        Locked: another process leads a run.
    """
    if (lock := runs.lock()).is_held:
        time_text = f" (at {lock.renewed:%H:%M:%S} UTC)" if lock.renewed is not None else ""
        raise Locked(
            f"{lock.holder} leads a run of this cluster",
            "5 shows the runs. If that process has ended, its lock expires a minute after its last "
            f"renewal{time_text}: "
            "try again then.",
            lock.holder,
        )


@dataclass(eq=False)
class RunController:
    """A `screen_ports.ScreenRunController`. Mutable. `connection_options` is called when the cluster is first needed;
    `speed`: seconds of the cluster's clock per real second."""

    context: CommandContext
    connection_options: Callable[[], GlobalOptions]
    speed: float = 1.0
    live: LiveRun | None = None

    def dry_run_first_round(self, view: DrainView) -> DryRunResult:

        with answers.explain_forbidden(new_run.COMMAND):
            return dry_run_first_round(view.plan, open_trial(self.connection_options().connection))

    def runs(self) -> Sequence[RunSummary]:

        store = self._run_reference().runs(self._live_context())
        lock, _ = readable_lock(store)
        return [replace(run, phase=effective_phase(run, lock)) for run in store.all() if run.said != ROLLED_BACK]

    def prepare(self, targeting: Targeting, policy: DrainPolicy, shown_view: DrainView) -> PreparedRun:

        self._check_free()
        check_writable(self.context.environ, new_run.COMMAND)
        if policy.assume_fixed or policy.assume_budgets:
            raise UsageError("this plan assumes fixes that are not made (--assume-…): it cannot be run")
        notes = _CollectedNotes(self._live_context())
        plan = PlanRequest(targeting, policy)
        requested_run = NewRun(plan, JOURNAL_NAMESPACE, RunLimits())
        read = new_run.read_and_plan(requested_run, notes.context)
        check_drift(read_plan_of(shown_view.plan), read.plan, "this plan was made", "ctrl+r reads it again.")
        if not read.nodes:
            raise UsageError("no node of the plan can be drained", "[4] says what is in the way, and what helps.")
        new_run.check_other_runs(requested_run, notes.context)(read.cluster, read.plan)
        check_permissions(new_run.COMMAND, JOURNAL_NAMESPACE, notes.context, read.plan)
        with answers.explain_forbidden(new_run.COMMAND):
            _check_unlocked(self._run_reference().runs(notes.context))
        notes.lines += _earlier_run_notes(read.cluster, read.plan)
        view = replace(shown_view, plan=read.plan, cluster=read.cluster)

        def carry(location: JournalLocation, open_display: OpenDisplay) -> RunSummaryView:
            limits, context = requested_run.limits, notes.context
            invocation = RunInvocation(
                new_run.COMMAND, context, location, requested_run.hooks, plan.options, limits, open_display=open_display
            )
            second_read, ended = new_run.execute_run(requested_run, read, invocation, context)
            return _summary_view(invocation.report(second_read.cluster, ended), invocation.recorded_in)

        identity, past_budgets = read.cluster.identity, read.past_budgets
        prepared = self._prepared(
            RunKind.DRAIN, identity, tuple(view.drained), carry, notes, view, past_budgets=past_budgets
        )
        return replace(prepared, limits=requested_run.limits)

    def prepare_resume(self, run: str) -> PreparedRun:

        self._check_free()
        check_writable(self.context.environ, COMMAND)
        notes, request = _CollectedNotes(self._live_context()), self._run_reference(run)
        with answers.explain_forbidden(COMMAND):
            runs = request.runs(notes.context)
            _check_unlocked(runs)
            remaining = RemainingPlan.read(run, replay_journals(runs.entries(run)), request, notes.context)
        if not remaining.plan.targets and remaining.is_finished:
            raise UsageError(f"nothing is left of run {run}: every node of it is done or gone")
        remaining.check(run, request, notes.context)
        limits, hooks = remaining.limits({}), remaining.hooks(Hooks(), without=not remaining.plan.targets)
        arguments = target_arguments(notes.context, JOURNAL_NAMESPACE, remaining.cluster.identity.context)
        view = DrainView(remaining.plan, remaining.cluster, {}, connection_args=arguments)

        def carry(location: JournalLocation, open_display: OpenDisplay) -> RunSummaryView:
            context, options = notes.context, {"run": run}
            invocation = RunInvocation(COMMAND, context, location, hooks, options, limits, True, open_display)
            return _summary_view(
                invocation.report(*resume_run(remaining, request, invocation, context)), invocation.recorded_in
            )

        identity, past_budgets = remaining.cluster.identity, remaining.past_budgets
        prepared = self._prepared(RunKind.RESUME, identity, tuple(view.drained), carry, notes, view, run, past_budgets)
        return replace(prepared, limits=limits)

    def prepare_rollback(self, run: str) -> PreparedRun:
        self._check_free()
        check_writable(self.context.environ, rollback.COMMAND)
        notes, request = _CollectedNotes(self._live_context()), self._run_reference(run)
        with answers.explain_forbidden(rollback.COMMAND):
            runs = request.runs(notes.context)
            cluster = request.nodes(notes.context)
            rollback_plan = rollback.plan_rollback(runs, cluster.nodes, request, notes.context)
            if rollback_plan.nodes:
                check_permissions(rollback.COMMAND, JOURNAL_NAMESPACE, notes.context)
        if not rollback_plan.nodes:
            raise UsageError(f"run {run} has changed no node that is not given back")
        if rollback_plan.drained_count != len(rollback_plan.nodes):
            drains = options.NODES.count_text(rollback_plan.drained_count)
            notes.lines.append(f"the plan of run {run} drains {drains}: this is the number to type")
        if (
            rollback_plan.listed_run is not None
            and rollback_plan.listed_run.phase != RunPhase.ENDED.value
            and (lock := runs.lock()).is_held
        ):
            notes.lines.append(
                f"it is under way, led by {lock.holder} ({rollback_plan.listed_run.said}): this stops it first"
            )

        def carry(location: JournalLocation, open_display: OpenDisplay) -> RunSummaryView:
            context = notes.context
            rollback.abort_leader(rollback_plan, runs, request, context)
            invocation = RunInvocation(
                rollback.COMMAND, context, location, Hooks(), {}, RunLimits(), open_display=open_display
            )
            result = rollback.perform_rollback(rollback_plan, request, invocation, context)
            summary = f"{len(result.restored)} of {len(rollback_plan.nodes)} nodes are as they were before"
            details = (*rollback.result_messages(result), rollback.DO_NOT_MOVE_BACK)
            return RunSummaryView(summary, details, has_failed=bool(result.not_restored))

        identity, count = cluster.identity, rollback_plan.drained_count
        return self._prepared(RunKind.ROLLBACK, identity, rollback_plan.nodes, carry, notes, run=run, count=count)

    def _prepared(
        self,
        kind: RunKind,
        identity: Identity,
        nodes: tuple[str, ...],
        carry: Callable[[JournalLocation, OpenDisplay], RunSummaryView],
        notes: _CollectedNotes,
        view: DrainView | None = None,
        run: str = "",
        past_budgets: tuple[str, ...] = (),
        count: int | None = None,
    ) -> PreparedRun:
        """`count`: number of nodes to type if it differs from `nodes`; without `run` a new run is started."""

        def begin() -> ActiveRun:
            run_id = run or self.context.edges.new_run_id(self.context.now())
            location = self._run_reference().journal_location(self.context, run_id)
            self._check_free()
            execute = partial(carry, location)

            def overrule() -> None:
                """Withdraw the requests of other clients; the run continues here even if that fails."""
                request = self._run_reference(run_id)
                with suppress(EksdocError):
                    requester = f"{location.user}@{location.host}"
                    request.runs(self._live_context()).request_phase(run_id, RunPhase.RUNNING, requester)

            self.live = LiveRun(run_id, kind, view, self.context.now(), execute, overrule, self.speed)
            self.live.start()
            return self.live

        name = identity.cluster or self.connection_options().cluster_name or options.short_cluster_name(identity)
        typed = (f"{name} {len(nodes) if count is None else count}".strip(), *past_budgets)
        return PreparedRun(kind, name, nodes, typed, begin, tuple(notes.lines), view, run)

    def _check_free(self) -> None:
        if self.live is not None and not self.live.has_ended:
            raise UsageError(f"run {self.live.run} is under way here", "One at a time: [5] shows it.")

    def _run_reference(self, run: str = "") -> RunReference:
        return RunReference(JOURNAL_NAMESPACE, run)

    def _live_context(self) -> CommandContext:
        return replace(self.context, options=self.connection_options(), source=SourceChoice())


def _earlier_run_notes(cluster: Cluster, plan: DrainPlan) -> list[str]:
    """Return notes on what other runs left on the nodes to drain: a rollback of this run restores their present
    state."""
    drained = {target.node.name for target in plan.targets if target.order}
    nodes = [node for node in cluster.nodes if node.name in drained]
    notes = []
    for run in sorted({node.note.run for node in nodes if node.note is not None}):
        run_nodes = [node.name for node in nodes if node.note is not None and node.note.run == run]
        notes.append(
            f"{len(run_nodes)} of them still carry run {run}, which is not rolled back: [5] resumes it or rolls it back"
        )
    cordoned = sum(node.unschedulable for node in nodes)
    if cordoned:
        notes.append(f"{cordoned} of them are cordoned already, and stay so when this run is given back")
    return notes


class _CollectedNotes(io.StringIO):
    """Mutable. Replaces the streams of a process whose terminal belongs to the screens: notes of commands are collected
    in `lines`, line by line. Signals are handled by the screens, too."""

    def __init__(self, context: CommandContext) -> None:
        super().__init__()
        self.lines: list[str] = []
        edges = replace(context.edges, stop_requests=lambda: nullcontext(lambda: 0))
        self.context = replace(context, stdout=self, stderr=self, run_edges=edges)

    def write(self, text: str) -> int:
        self.lines += [line for line in text.splitlines() if line.strip()]
        return len(text)


def _summary_view(view: RunReport, events: str) -> RunSummaryView:

    needs_check = bool(view.drain.drain_result.pending or view.drain.drain_result.coming)
    return RunSummaryView(
        run_summary(view), plan_differences(view), view, view.outcome is not Outcome.DONE, needs_check, events
    )
