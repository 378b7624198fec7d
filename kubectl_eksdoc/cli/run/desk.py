"""The desk of the screens: it plans, checks, begins, goes on with and gives back runs as the commands do, and keeps the
one that is under way in a thread of this process."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from kubectl_eksdoc.cli import confirming, opening
from kubectl_eksdoc.cli.confirming import check_writable
from kubectl_eksdoc.cli.drain import PlanRequest
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.run import new_run, rest, rollback
from kubectl_eksdoc.cli.run.allowed import check_allowed
from kubectl_eksdoc.cli.run.carrying import RunInvocation, reached_by
from kubectl_eksdoc.cli.run.face import FaceOf
from kubectl_eksdoc.cli.run.live import LiveRun
from kubectl_eksdoc.cli.run.new_run import NewRun
from kubectl_eksdoc.cli.run.request import RunRequest
from kubectl_eksdoc.cli.run.rest import RemainingPlan
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.drain.comparison.changes import check_drift, promise_of
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.journal import replay
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.errors import EksdocError, UsageError
from kubectl_eksdoc.flows.run.running import DryRunResult, try_first
from kubectl_eksdoc.model.cluster import Cluster, Identity
from kubectl_eksdoc.model.journal import ROLLED_BACK, RunPhase, RunSummary
from kubectl_eksdoc.render.drain.plan import DrainView
from kubectl_eksdoc.render.run.report import Outcome as Came
from kubectl_eksdoc.render.run.report import RunReport, against_plan, verdict
from kubectl_eksdoc.session.sources import SourceChoice
from kubectl_eksdoc.tui.run.state import ActiveRun, PreparedRun, RunKind, RunSummaryView
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE, Hooks, JournalLocation, open_trial


@dataclass(eq=False)
class RunController:
    """A `tui.run.state.ScreenRunController`. Mutable. `reach` says how the cluster is reached, when that is asked
    first; `speed`: so many seconds of it pass in one of ours."""

    around: CommandContext
    reach: Callable[[], GlobalOptions]
    speed: float = 1.0
    live: LiveRun | None = None

    def try_first(self, shown: DrainView) -> DryRunResult:

        with opening.explaining(new_run.COMMAND):
            return try_first(shown.plan, open_trial(self.reach().connection))

    def runs(self) -> Sequence[RunSummary]:

        listed = self._request().runs(self.around).all()
        return [run for run in listed if run.said != ROLLED_BACK]

    def prepare(self, targeting: Targeting, policy: DrainPolicy, shown: DrainView) -> PreparedRun:

        self._check_free()
        check_writable(self.around.environ, new_run.COMMAND)
        if policy.assume_fixed or policy.assume_budgets:
            raise UsageError("this plan assumes fixes that are not made (--assume-…): it cannot be run")
        notes = _Notes(self.around)
        plan = PlanRequest(self.reach(), SourceChoice(), targeting, policy)
        wanted = NewRun(plan, JOURNAL_NAMESPACE, RunLimits())
        read = new_run.read_and_plan(wanted, notes.around)
        check_drift(promise_of(shown.plan), read.plan, "this plan was made", "ctrl+r reads it again.")
        if not read.nodes:
            raise UsageError("no node of the plan can be drained", "[4] says what is in the way, and what helps.")
        new_run.check_others(wanted, notes.around)(read.cluster, read.plan)
        check_allowed(new_run.COMMAND, plan.options.connection, JOURNAL_NAMESPACE, notes.around, read.plan)
        notes.said += _earlier(read.cluster, read.plan)
        view = replace(shown, plan=read.plan, cluster=read.cluster)

        def carry(keeping: JournalLocation, face_of: FaceOf) -> RunSummaryView:
            limits, around = wanted.limits, notes.around
            carrying = RunInvocation(
                new_run.COMMAND, around, plan.options, keeping, wanted.hooks, plan.given, limits, face_of=face_of
            )
            fresh, ended = new_run.carried_out(wanted, read, carrying, around)
            return _outcome(carrying.report(fresh.cluster, ended), carrying.recorded_in)

        who, also = read.cluster.identity, read.past_budgets
        prepared = self._prepared(RunKind.DRAIN, who, tuple(view.drained), carry, notes, view, also=also)
        return replace(prepared, limits=wanted.limits)

    def prepare_going_on(self, run: str) -> PreparedRun:

        self._check_free()
        check_writable(self.around.environ, rest.COMMAND)
        notes, request = _Notes(self.around), self._request(run)
        with opening.explaining(rest.COMMAND):
            runs = request.runs(self.around)
            if (held := runs.lock()).led:
                at = f" (at {held.renewed:%H:%M:%S} UTC)" if held.renewed is not None else ""
                raise UsageError(
                    f"{held.holder} leads a run of this cluster",
                    f"If that process has ended, its lock expires a minute after its last renewal{at}: try again then.",
                )
            left = RemainingPlan.of(run, replay(runs.entries(run)), request, notes.around)
        if not left.plan.targets and left.finished:
            raise UsageError(f"nothing is left of run {run}: every node of it is done or gone")
        left.check(run, request, notes.around)
        limits, hooks = left.limits({}), left.hooks(Hooks(), without=not left.plan.targets)
        words = reached_by(request.options, JOURNAL_NAMESPACE, left.cluster.identity.context)
        view = DrainView(left.plan, left.cluster, {}, reached_by=words)

        def carry(keeping: JournalLocation, face_of: FaceOf) -> RunSummaryView:
            around, given = notes.around, {"run": run}
            carrying = RunInvocation(
                rest.COMMAND, around, request.options, keeping, hooks, given, limits, True, face_of
            )
            return _outcome(carrying.report(*rest.gone_on(left, request, carrying, around)), carrying.recorded_in)

        who, also = left.cluster.identity, left.past_budgets
        prepared = self._prepared(RunKind.GO_ON, who, tuple(view.drained), carry, notes, view, run, also)
        return replace(prepared, limits=limits)

    def prepare_giving_back(self, run: str) -> PreparedRun:
        self._check_free()
        check_writable(self.around.environ, rollback.COMMAND)
        notes, request = _Notes(self.around), self._request(run)
        with opening.explaining(rollback.COMMAND):
            runs = request.runs(self.around)
            cluster = request.nodes(self.around)
            which = rollback.to_give_back_of(runs, cluster.nodes, request, notes.around)
            if which.nodes:
                check_allowed(rollback.COMMAND, request.options.connection, JOURNAL_NAMESPACE, notes.around)
        if not which.nodes:
            raise UsageError(f"run {run} has changed no node that is not given back")
        if which.drained != len(which.nodes):
            drains = confirming.NODES.said(which.drained)
            notes.said.append(f"the plan of run {run} drains {drains}: this is the number to type")
        if which.there is not None and which.there.phase != RunPhase.ENDED.value and (held := runs.lock()).led:
            notes.said.append(f"it is under way, led by {held.holder} ({which.there.said}): this stops it first")

        def carry(keeping: JournalLocation, face_of: FaceOf) -> RunSummaryView:
            around = notes.around
            rollback.ask_to_end(which, runs, request, around)
            carrying = RunInvocation(
                rollback.COMMAND, around, request.options, keeping, Hooks(), {}, RunLimits(), face_of=face_of
            )
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
            return self._begin(keeping.run, kind, view, partial(carry, keeping))

        name = who.cluster or self.reach().cluster_name or confirming.name_of(who)
        typed = (f"{name} {len(nodes) if count is None else count}".strip(), *also)
        return PreparedRun(kind, name, nodes, typed, begin, tuple(notes.said), view, run)

    def _begin(
        self, run: str, kind: RunKind, view: DrainView | None, carry: Callable[[FaceOf], RunSummaryView]
    ) -> LiveRun:

        self._check_free()
        now = self.around.now()
        self.live = LiveRun(run, kind, view, now, carry, lambda: self._overrule(run), self.speed)
        self.live.start()
        return self.live

    def _overrule(self, run: str) -> None:
        """What others asked of it holds no more."""
        request = self._request(run)
        keeping = request.keeping(self.around)
        try:
            request.runs(self.around).ask(run, RunPhase.RUNNING, f"{keeping.who}@{keeping.host}")
        except EksdocError:
            return  # it goes on here all the same; whoever looks from elsewhere sees that it does

    def _check_free(self) -> None:
        if self.live is not None and not self.live.over:
            raise UsageError(f"run {self.live.run} is under way here", "One at a time: [5] shows it.")

    def _request(self, run: str = "") -> RunRequest:
        return RunRequest(self.reach(), JOURNAL_NAMESPACE, run)


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
    return RunSummaryView(verdict(view), against_plan(view), view, view.outcome is not Came.DONE, doubt, events)
