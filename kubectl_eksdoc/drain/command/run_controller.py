"""What commands and screens do with runs: what is left of one is planned for the cluster as it is and carried out, also
by a pod that is started again; for the screens runs are begun, resumed and given back in a thread of this process.

Who shows it and asks for what must be typed is somebody else: the command, or the screens.
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
"""So long another one's lock is waited for: somebody who has just ended may still have it."""


@frozen
class RemainingPlan(PlannedRead):
    """What is left of a run, planned for the cluster as it is. `finished`: its end is written, and no node is protected
    by it any more."""

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
        """
        Raises:
            UsageError: nobody can go on with it.
        """
        asked = asked_of(run, journaled)
        cluster = request.reader(around, replace(asked.limits, **given), progress).read(kinds.ALL)
        plan = rest_of(cluster, journaled, asked.policy)
        finished = journaled.ended == DONE and not journaled.protected
        return RemainingPlan(cluster, plan, asked, journaled.next_number, finished)

    def meant(self) -> ResumedIntent:
        """Once what is deleted past its budget was typed back."""
        typed = frozenset(eviction.pod.uid for eviction in self.plan.past_budgets)
        return ResumedIntent(self.asked.policy, typed, self.shown, promise_of(self.plan))

    def limits(self, given: Mapping[str, Any]) -> RunLimits:
        """As the run was begun, but for what is said now."""
        return replace(self.asked.limits, **given)

    def hooks(self, given: Hooks, without: bool = False) -> Hooks:
        """
        Raises:
            UsageError: the run was begun with commands that are neither given again nor waived. They are not taken from
                the journal: whoever may write a ConfigMap must not run commands here.
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
        """
        Raises:
            Locked: another run has to do with its nodes.
            Forbidden: rights are missing; it names all of them.
        """
        RunAnnotations(request, around).check(run)(self.cluster, self.plan)
        check_allowed(COMMAND, request.namespace, around, self.plan)


def asked_of(run: str, journaled: Journaled) -> RecordedRunOptions:
    """What it was begun for.

    Raises:
        UsageError: nobody can go on with it.
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
    """From here on things are changed.

    Raises:
        as `RunInvocation.open` and `go_on`.
    """
    run = carrying.keeping.run
    with carrying.open(WAIT_S) as world:
        reader = request.reader(around, carrying.limits)
        check = RunAnnotations(request, around).check(run)
        return go_on(run, reader, rest.meant(), carrying.running(world, check))


# ``drain run --run-id RUN``: begin a run under an id that somebody else has chosen, or go on with it by itself.
#
# So the same command line can be started again and again, as a Job's pods are: it begins once, and takes up what is
# left whenever its process has gone. Who told the process to end did not decide that the run ends.


FLAG = "--run-id"

TAKES_S = 90.0
"""So long the lock of a process that was killed is waited for: longer than it is held."""


def check_id(run: str) -> str:
    """
    Raises:
        UsageError: it is no id of a run.
    """
    if not is_run_id(run):
        raise UsageError(f"{run[:80]!r} is no id of a run", f"{FLAG} takes letters a-z, digits and hyphens, up to 40.")
    return run


def gone_on_with(wanted: NewRun, run: str, around: CommandContext) -> CommandAnswer | None:
    """What came of the rest of it; None: there is no such run, so it is to be begun.

    Raises:
        as `drain resume`, but for what is typed, and as `started_again`.
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
            ahead, _ = _found(runs, run) or (ahead, stands)  # somebody may have asked for something meanwhile
            if isinstance(ahead, RunOver):
                return _over(run, ahead, around)
            carrying.asked_before = (ahead.wanted, ahead.who)
            reader = RunRequest(wanted.namespace).reader(around, wanted.limits)
            running = carrying.running(world, check_others(wanted, around, run))
            cluster, ended = go_on(run, reader, ResumedIntent(asked.policy), running)
        return by_itself(carrying.answer(cluster, ended), ended)


@contextmanager
def started_again() -> Iterator[None]:
    """What nobody decided about the run does not end it: whoever started the process is to start it again.

    Raises:
        Unreachable: the journal could not be read or written just now.
        KeyboardInterrupt: told to end while nobody knew whose the lock was.
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
    """A run of this id that knows a process which is told to end from a run that is."""
    keeping = around.edges.keeping(run, wanted.namespace, around.environ)
    face = partial(RunOutput, around, run, because=TOLD_TO_END)
    given = {"run": run} if resumed else wanted.plan.given
    return RunInvocation(NEW_RUN_COMMAND, around, keeping, wanted.hooks, given, wanted.limits, resumed, face)


def by_itself(answer: CommandAnswer, ended: DrainRunEnd) -> CommandAnswer:
    """With the exit code of a process that was interrupted where that is all: whoever started it starts it again."""
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
    """Before anything is typed: else the run that is begun is refused at once.

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
    """A `screen_ports.ScreenRunController`. Mutable. `reach` says how the cluster is reached, when that is asked
    first; `speed`: so many seconds of it pass in one of ours."""

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
        """`count`: of nodes, as it is typed, where more than those are given back; without `run` one is begun."""

        def begin() -> ActiveRun:
            new = run or self.around.edges.new_run_id(self.around.now())
            keeping = self._request().keeping(self.around, new)
            self._check_free()
            doing = partial(carry, keeping)

            def overrule() -> None:
                """What others asked of it holds no more; where they cannot be told it goes on here all the same."""
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
    """What other runs left on the nodes that are drained: giving this one back leaves it as it is now."""
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
    """Mutable. In the place of the streams of a process whose terminal belongs to the screens: what commands note is
    `said`, line by line. Signals are for the screens, too."""

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
