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

from kubectl_eksdoc.cli import opening, options, streams
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
from kubectl_eksdoc.model.journal import DONE, ROLLED_BACK, TOLD_TO_END, RunPhase, RunSummary, is_run_id, phase_by
from kubectl_eksdoc.ports import RunStore
from kubectl_eksdoc.session.sources import Progress, SourceChoice
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE, Hooks, JournalLocation, open_trial

from ..plan_changes import check_drift, promise_of
from ..policy import DrainPolicy, Targeting
from ..report.plan import DrainView
from ..report.run import Outcome, RunReport, against_plan, verdict
from ..result import DrainPlan
from ..run.journal import Journaled, replay
from ..run.limits import RunLimits
from ..run.loop import DrainRunEnd
from ..run.result import GoOn, RunOver, again
from ..run.runner import DryRunResult, ResumedIntent, go_on, rest_of, try_first
from . import new_run, rollback
from .invocation import (
    RunAnnotations,
    RunInvocation,
    RunRequest,
    check_allowed,
    held_lock,
    reached_by,
)
from .live_run import FaceOf, LiveRun, RunOutput
from .new_run import COMMAND as NEW_RUN_COMMAND
from .new_run import (
    NewRun,
    PlannedRead,
    RecordedRunOptions,
    asked_again,
    check_others,
)
from .plan import PlanRequest
from .screen_ports import (
    ActiveRun,
    PreparedRun,
    RunKind,
    RunSummaryView,
)

COMMAND = "drain resume"

WAIT_S = 5.0
"""How long to wait for a lock that another client holds: a client that has just ended may still hold it."""


@frozen
class RemainingPlan(PlannedRead):
    """The rest of a run, planned for the current cluster. `is_finished`: its end is journaled, and it protects no node
    any more."""

    asked: RecordedRunOptions
    shown: int
    finished: bool

    @staticmethod
    def of(
        run: str,
        journaled: Journaled,
        request: RunRequest,
        around: CommandContext,
        given: Mapping[str, Any] = MappingProxyType({}),
        progress: Progress | None = None,
    ) -> RemainingPlan:
        """Read the cluster and plan the rest of a run.

        Raises:
            UsageError: the run cannot be resumed.
        """
        asked = asked_of(run, journaled)
        cluster = request.reader(around, replace(asked.limits, **given), progress).read(kinds.ALL)
        plan = rest_of(cluster, journaled, asked.policy)
        finished = journaled.ended == DONE and not journaled.protected
        return RemainingPlan(cluster, plan, asked, journaled.next_number, finished)

    def meant(self) -> ResumedIntent:
        """Return what the user confirmed, after the names of pods to delete past their budgets were typed."""
        typed = frozenset(eviction.pod.uid for eviction in self.plan.past_budgets)
        return ResumedIntent(self.asked.policy, typed, self.shown, promise_of(self.plan))

    def limits(self, given: Mapping[str, Any]) -> RunLimits:
        """Return the limits of the original command, changed by the flags given now."""
        return replace(self.asked.limits, **given)

    def hooks(self, given: Hooks, without: bool = False) -> Hooks:
        """Return the hooks of this command.

        Raises:
            UsageError: the run was started with hooks that are neither given again nor waived. They are not taken from
                the journal: a client that can write a ConfigMap must not be able to run commands here.
        """
        missing = sorted(self.asked.hooks.commands.keys() - given.commands.keys())
        if missing and not without:
            lost = "; ".join(f"--hook-{when} {shlex.quote(self.asked.hooks.commands[when])}" for when in missing)
            raise UsageError(
                f"the run was begun with hooks that would not be asked any more: {lost}",
                "Give them again, or say --without-hooks.",
            )
        return given

    def check(self, run: str, request: RunRequest, around: CommandContext) -> None:
        """Check that the rest of the run may be executed.

        Raises:
            Locked: another run uses its nodes.
            Forbidden: permissions are missing; the error names all of them.
        """
        RunAnnotations(request, around).check(run)(self.cluster, self.plan)
        check_allowed(COMMAND, request.namespace, around, self.plan)


def asked_of(run: str, journaled: Journaled) -> RecordedRunOptions:
    """Return the options of the original command.

    Raises:
        UsageError: the run cannot be resumed.
    """

    if journaled.rolled_back:
        raise UsageError(f"run {run} was rolled back: there is nothing to resume", "Begin a new run.")
    if journaled.begun is None:
        hint = "Begin a new run; what this one did to nodes is taken back by: kubectl eksdoc drain rollback " + run
        raise UsageError(f"the journal of run {run} does not say how it began, so it cannot be resumed", hint)
    return asked_again(journaled.begun.asked, f"run {run}")


def gone_on(
    rest: RemainingPlan, request: RunRequest, carrying: RunInvocation, around: CommandContext
) -> tuple[Cluster, DrainRunEnd]:
    """Resume the run. Changes begin here.

    Raises:
        as `RunInvocation.open` and `resume`.
    """
    run = carrying.keeping.run
    with carrying.open(WAIT_S) as world:
        reader = request.reader(around, carrying.limits)
        check = RunAnnotations(request, around).check(run)
        return go_on(run, reader, rest.meant(), carrying.running(world, check))


# ``drain run --run-id RUN``: start a run with a given id, or resume it without a confirmation.
#
# The same command line can be started repeatedly, as by the pods of a Job: it starts the run once, and resumes it
# whenever its process has ended. A signal to the process does not decide that the run ends.


FLAG = "--run-id"

TAKES_S = 90.0
"""How long to wait for the lock of a killed process: longer than its lease."""


def check_id(run: str) -> str:
    """Return a valid run id.

    Raises:
        UsageError: it is not a run id.
    """
    if not is_run_id(run):
        raise UsageError(f"{run[:80]!r} is no id of a run", f"{FLAG} takes letters a-z, digits and hyphens, up to 40.")
    return run


def gone_on_with(wanted: NewRun, run: str, around: CommandContext) -> CommandAnswer | None:
    """Resume the run and return its answer; None: there is no such run, so it must be started.

    Raises:
        as `drain resume`, except for confirmations, and as `restartable`.
    """
    with opening.explaining(NEW_RUN_COMMAND), started_again():
        carrying = carrying_on(wanted, run, around, resumed=True)
        runs = around.edges.open_runs(around.connection, carrying.keeping)
        found = _found(runs, run)
        if found is None:
            return None
        ahead, stands = found
        if isinstance(ahead, RunOver):
            return _over(run, ahead, around)
        around.note(f"run {run} exists already: it is resumed")
        asked = asked_of(run, stands)
        with carrying.answering(), carrying.open(TAKES_S) as world:
            ahead, _ = _found(runs, run) or (ahead, stands)  # a client may have requested something meanwhile
            if isinstance(ahead, RunOver):
                return _over(run, ahead, around)
            carrying.asked_before = (ahead.wanted, ahead.who)
            reader = RunRequest(wanted.namespace).reader(around, wanted.limits)
            running = carrying.running(world, check_others(wanted, around, run))
            cluster, ended = go_on(run, reader, ResumedIntent(asked.policy), running)
        return by_itself(carrying.answer(cluster, ended), ended)


@contextmanager
def started_again() -> Iterator[None]:
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
        if error.message.startswith(TOLD_TO_END):
            raise KeyboardInterrupt from error
        raise


def carrying_on(wanted: NewRun, run: str, around: CommandContext, resumed: bool = False) -> RunInvocation:
    """Return the invocation of a run with this id; it distinguishes a process that is told to end from a run that
    is."""
    keeping = around.edges.keeping(run, wanted.namespace, around.environ)
    face = partial(RunOutput, around, run, because=TOLD_TO_END)
    given = {"run": run} if resumed else wanted.plan.given
    return RunInvocation(NEW_RUN_COMMAND, around, keeping, wanted.hooks, given, wanted.limits, resumed, face)


def by_itself(answer: CommandAnswer, ended: DrainRunEnd) -> CommandAnswer:
    """Set the exit code of an interrupted process if the run was only interrupted: the caller starts it again."""
    return replace(answer, exit_code=streams.INTERRUPTED) if ended.stopped == TOLD_TO_END else answer


def _found(runs: RunStore, run: str) -> tuple[GoOn | RunOver, Journaled] | None:

    there = next((each for each in runs.all() if each.run == run), None)
    if there is None:
        return None
    entries = runs.entries(run)
    stands = replay(entries)
    return again(there, entries, stands), stands


def _over(run: str, how: RunOver, around: CommandContext) -> CommandAnswer:
    around.note(f"run {run} has ended already: {how.why}")
    if how.whole:
        return CommandAnswer("", streams.CLEAN)
    around.note("it does not continue automatically; drain resume continues it, drain rollback uncordons the nodes")
    return CommandAnswer("", streams.STOPPED)


def _check_unlocked(runs: RunStore) -> None:
    """Check the lock before the user types a confirmation, which would be refused afterwards.

    Raises:
        Locked: another process leads a run.
    """
    if (held := runs.lock()).led:
        at = f" (at {held.renewed:%H:%M:%S} UTC)" if held.renewed is not None else ""
        raise Locked(
            f"{held.holder} leads a run of this cluster",
            f"5 shows the runs. If that process has ended, its lock expires a minute after its last renewal{at}: "
            "try again then.",
            held.holder,
        )


@dataclass(eq=False)
class RunController:
    """A `screen_ports.ScreenRunController`. Mutable. `connection_options` is called when the cluster is first needed;
    `speed`: seconds of the cluster's clock per real second."""

    around: CommandContext
    reach: Callable[[], GlobalOptions]
    speed: float = 1.0
    live: LiveRun | None = None

    def try_first(self, shown: DrainView) -> DryRunResult:

        with opening.explaining(new_run.COMMAND):
            return try_first(shown.plan, open_trial(self.reach().connection))

    def runs(self) -> Sequence[RunSummary]:

        store = self._request().runs(self._there())
        held, _ = held_lock(store)
        return [replace(run, phase=phase_by(run, held)) for run in store.all() if run.said != ROLLED_BACK]

    def prepare(self, targeting: Targeting, policy: DrainPolicy, shown: DrainView) -> PreparedRun:

        self._check_free()
        check_writable(self.around.environ, new_run.COMMAND)
        if policy.assume_fixed or policy.assume_budgets:
            raise UsageError("this plan assumes fixes that are not made (--assume-…): it cannot be run")
        notes = _Notes(self._there())
        plan = PlanRequest(targeting, policy)
        wanted = NewRun(plan, JOURNAL_NAMESPACE, RunLimits())
        read = new_run.read_and_plan(wanted, notes.around)
        check_drift(promise_of(shown.plan), read.plan, "this plan was made", "ctrl+r reads it again.")
        if not read.nodes:
            raise UsageError("no node of the plan can be drained", "[4] says what is in the way, and what helps.")
        new_run.check_others(wanted, notes.around)(read.cluster, read.plan)
        check_allowed(new_run.COMMAND, JOURNAL_NAMESPACE, notes.around, read.plan)
        with opening.explaining(new_run.COMMAND):
            _check_unlocked(self._request().runs(notes.around))
        notes.said += _earlier(read.cluster, read.plan)
        view = replace(shown, plan=read.plan, cluster=read.cluster)

        def carry(keeping: JournalLocation, face_of: FaceOf) -> RunSummaryView:
            limits, around = wanted.limits, notes.around
            carrying = RunInvocation(
                new_run.COMMAND, around, keeping, wanted.hooks, plan.given, limits, face_of=face_of
            )
            fresh, ended = new_run.carried_out(wanted, read, carrying, around)
            return _outcome(carrying.report(fresh.cluster, ended), carrying.recorded_in)

        who, also = read.cluster.identity, read.past_budgets
        prepared = self._prepared(RunKind.DRAIN, who, tuple(view.drained), carry, notes, view, also=also)
        return replace(prepared, limits=wanted.limits)

    def prepare_going_on(self, run: str) -> PreparedRun:

        self._check_free()
        check_writable(self.around.environ, COMMAND)
        notes, request = _Notes(self._there()), self._request(run)
        with opening.explaining(COMMAND):
            runs = request.runs(notes.around)
            _check_unlocked(runs)
            left = RemainingPlan.of(run, replay(runs.entries(run)), request, notes.around)
        if not left.plan.targets and left.finished:
            raise UsageError(f"nothing is left of run {run}: every node of it is done or gone")
        left.check(run, request, notes.around)
        limits, hooks = left.limits({}), left.hooks(Hooks(), without=not left.plan.targets)
        words = reached_by(notes.around, JOURNAL_NAMESPACE, left.cluster.identity.context)
        view = DrainView(left.plan, left.cluster, {}, reached_by=words)

        def carry(keeping: JournalLocation, face_of: FaceOf) -> RunSummaryView:
            around, given = notes.around, {"run": run}
            carrying = RunInvocation(COMMAND, around, keeping, hooks, given, limits, True, face_of)
            return _outcome(carrying.report(*gone_on(left, request, carrying, around)), carrying.recorded_in)

        who, also = left.cluster.identity, left.past_budgets
        prepared = self._prepared(RunKind.GO_ON, who, tuple(view.drained), carry, notes, view, run, also)
        return replace(prepared, limits=limits)

    def prepare_giving_back(self, run: str) -> PreparedRun:
        self._check_free()
        check_writable(self.around.environ, rollback.COMMAND)
        notes, request = _Notes(self._there()), self._request(run)
        with opening.explaining(rollback.COMMAND):
            runs = request.runs(notes.around)
            cluster = request.nodes(notes.around)
            which = rollback.to_give_back_of(runs, cluster.nodes, request, notes.around)
            if which.nodes:
                check_allowed(rollback.COMMAND, JOURNAL_NAMESPACE, notes.around)
        if not which.nodes:
            raise UsageError(f"run {run} has changed no node that is not given back")
        if which.drained != len(which.nodes):
            drains = options.NODES.said(which.drained)
            notes.said.append(f"the plan of run {run} drains {drains}: this is the number to type")
        if which.there is not None and which.there.phase != RunPhase.ENDED.value and (held := runs.lock()).led:
            notes.said.append(f"it is under way, led by {held.holder} ({which.there.said}): this stops it first")

        def carry(keeping: JournalLocation, face_of: FaceOf) -> RunSummaryView:
            around = notes.around
            rollback.ask_to_end(which, runs, request, around)
            carrying = RunInvocation(rollback.COMMAND, around, keeping, Hooks(), {}, RunLimits(), face_of=face_of)
            back = rollback.given_back(which, request, carrying, around)
            said = f"{len(back.restored)} of {len(which.nodes)} nodes are as they were before"
            more = (*rollback.said_of(back), rollback.DO_NOT_MOVE_BACK)
            return RunSummaryView(said, more, bad=bool(back.left))

        who, count = cluster.identity, which.drained
        return self._prepared(RunKind.GIVE_BACK, who, which.nodes, carry, notes, run=run, count=count)

    def _prepared(
        self,
        kind: RunKind,
        who: Identity,
        nodes: tuple[str, ...],
        carry: Callable[[JournalLocation, FaceOf], RunSummaryView],
        notes: _Notes,
        view: DrainView | None = None,
        run: str = "",
        also: tuple[str, ...] = (),
        count: int | None = None,
    ) -> PreparedRun:
        """`count`: number of nodes to type if it differs from `nodes`; without `run` a new run is started."""

        def begin() -> ActiveRun:
            new = run or self.around.edges.new_run_id(self.around.now())
            keeping = self._request().keeping(self.around, new)
            self._check_free()
            doing = partial(carry, keeping)

            def overrule() -> None:
                """Withdraw the requests of other clients; the run continues here even if that fails."""
                request = self._request(new)
                with suppress(EksdocError):
                    who = f"{keeping.who}@{keeping.host}"
                    request.runs(self._there()).ask(new, RunPhase.RUNNING, who)

            self.live = LiveRun(new, kind, view, self.around.now(), doing, overrule, self.speed)
            self.live.start()
            return self.live

        name = who.cluster or self.reach().cluster_name or options.name_of(who)
        typed = (f"{name} {len(nodes) if count is None else count}".strip(), *also)
        return PreparedRun(kind, name, nodes, typed, begin, tuple(notes.said), view, run)

    def _check_free(self) -> None:
        if self.live is not None and not self.live.over:
            raise UsageError(f"run {self.live.run} is under way here", "One at a time: [5] shows it.")

    def _request(self, run: str = "") -> RunRequest:
        return RunRequest(JOURNAL_NAMESPACE, run)

    def _there(self) -> CommandContext:
        return replace(self.around, options=self.reach(), source=SourceChoice())


def _earlier(cluster: Cluster, plan: DrainPlan) -> list[str]:
    """Return notes on what other runs left on the nodes to drain: a rollback of this run restores their present
    state."""
    drained = {target.node.name for target in plan.targets if target.order}
    nodes = [node for node in cluster.nodes if node.name in drained]
    said = []
    for run in sorted({node.note.run for node in nodes if node.note is not None}):
        theirs = [node.name for node in nodes if node.note is not None and node.note.run == run]
        said.append(
            f"{len(theirs)} of them still carry run {run}, which is not rolled back: [5] resumes it or rolls it back"
        )
    cordoned = sum(node.unschedulable for node in nodes)
    if cordoned:
        said.append(f"{cordoned} of them are cordoned already, and stay so when this run is given back")
    return said


class _Notes(io.StringIO):
    """Mutable. Replaces the streams of a process whose terminal belongs to the screens: notes of commands are collected
    in `lines`, line by line. Signals are handled by the screens, too."""

    def __init__(self, around: CommandContext) -> None:
        super().__init__()
        self.said: list[str] = []
        edges = replace(around.edges, told_to_stop=lambda: nullcontext(lambda: 0))
        self.around = replace(around, stdout=self, stderr=self, run_edges=edges)

    def write(self, text: str) -> int:
        self.said += [line for line in text.splitlines() if line.strip()]
        return len(text)


def _outcome(view: RunReport, events: str) -> RunSummaryView:

    doubt = bool(view.record.record.pending or view.record.record.coming)
    return RunSummaryView(verdict(view), against_plan(view), view, view.outcome is not Outcome.DONE, doubt, events)
