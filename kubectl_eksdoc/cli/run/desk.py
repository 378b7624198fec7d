"""The desk of the screens: it plans, checks, begins, goes on with and gives back runs as the commands do, and keeps the
one that is under way in a thread of this process."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import confirming, rights
from kubectl_eksdoc.cli.drain import PlanRequest
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.run import new_run, rest, rollback
from kubectl_eksdoc.cli.run.allowed import check_writable
from kubectl_eksdoc.cli.run.carrying import Carrying, reached_by
from kubectl_eksdoc.cli.run.face import FaceOf
from kubectl_eksdoc.cli.run.live import LiveRun
from kubectl_eksdoc.cli.run.new_run import NewRun
from kubectl_eksdoc.cli.run.request import RunRequest
from kubectl_eksdoc.cli.run.rest import Rest
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.errors import Forbidden, UsageError
from kubectl_eksdoc.model.journal import Phase
from kubectl_eksdoc.session.sources import SourceChoice
from kubectl_eksdoc.tui.run.state import Kind, Live, Outcome, Prepared
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE, Hooks, Keeping

if TYPE_CHECKING:
    from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
    from kubectl_eksdoc.drain.result import DrainPlan
    from kubectl_eksdoc.flows.run.running import Tried
    from kubectl_eksdoc.model.cluster import Cluster, Identity
    from kubectl_eksdoc.model.journal import RunSummary
    from kubectl_eksdoc.render.drain.plan import DrainView
    from kubectl_eksdoc.render.run.report import RunReport


class RunDesk:
    """A `tui.run.state.Desk`. Mutable. `reach` says how the cluster is reached, when that is asked first; `speed`: so
    many seconds of it pass in one of ours."""

    def __init__(
        self,
        around: Surroundings,
        reach: Callable[[], GlobalOptions],
        namespace: str = JOURNAL_NAMESPACE,
        speed: float = 1.0,
    ) -> None:
        self._around = around
        self._reach = reach
        self._namespace = namespace
        self._speed = speed
        self._live: LiveRun | None = None

    @property
    def live(self) -> LiveRun | None:
        return self._live

    def try_first(self, shown: DrainView) -> Tried:
        from kubectl_eksdoc.flows.run.running import try_first

        try:
            return try_first(shown.plan, self._around.edges.open_trial(self._reach().connection))
        except Forbidden as error:
            raise rights.explained(error, new_run.COMMAND) from error

    def runs(self) -> Sequence[RunSummary]:
        from kubectl_eksdoc.model.journal import ROLLED_BACK

        listed = self._around.edges.open_runs(self._reach().connection, self._keeping("")).all()
        return [run for run in listed if run.said != ROLLED_BACK]

    def prepare(self, targeting: Targeting, policy: DrainPolicy, shown: DrainView) -> Prepared:
        from kubectl_eksdoc.drain.comparison.changes import check_drift, promise_of
        from kubectl_eksdoc.drain.run.limits import Limits

        self._check_free()
        check_writable(self._around.environ, new_run.COMMAND)
        if policy.assume_fixed or policy.assume_budgets:
            raise UsageError("this plan assumes fixes that are not made (--assume-…): it cannot be run")
        notes = _Notes(self._around)
        plan = PlanRequest(self._reach(), SourceChoice(), targeting, policy)
        wanted = NewRun(plan, self._namespace, Limits())
        read = new_run.read_and_plan(wanted, notes.around)
        check_drift(promise_of(shown.plan), read.plan, "this plan was made", "ctrl+r reads it again.")
        if not read.nodes:
            raise UsageError("no node of the plan can be drained", "[4] says what is in the way, and what helps.")
        new_run.check_others(wanted, notes.around)(read.cluster, read.plan)
        new_run.check_rights(wanted, read, notes.around)
        notes.said += _earlier(read.cluster, read.plan)
        view = replace(shown, plan=read.plan, cluster=read.cluster)

        def begin() -> Live:
            edges = self._around.edges
            keeping = self._keeping(edges.new_run_id(self._around.now()))

            def carry(face_of: FaceOf) -> Outcome:
                around = notes.around
                carrying = Carrying(new_run.COMMAND, around, plan.options, keeping, wanted.hooks, face_of)
                fresh, ended = new_run.carried_out(wanted, read, carrying, around)
                view = carrying.view(fresh.cluster, ended, new_run.as_given(wanted), wanted.limits)
                return _outcome(view, carrying.recorded_in)

            return self._begin(keeping.run, Kind.DRAIN, view, carry)

        return self._prepared(
            Kind.DRAIN, read.cluster.identity, _drained(view), begin, notes, view, also=read.past_budgets
        )

    def prepare_going_on(self, run: str) -> Prepared:
        from kubectl_eksdoc.drain.run.journal import replay
        from kubectl_eksdoc.render.drain.plan import DrainView

        self._check_free()
        check_writable(self._around.environ, rest.COMMAND)
        notes, request = _Notes(self._around), self._request(run)
        try:
            runs = self._around.edges.open_runs(request.options.connection, self._keeping(""))
            if (held := runs.lock()).led:
                raise UsageError(
                    f"{held.holder} leads a run of this cluster", "Its lock is free a minute after it was renewed last."
                )
            left = Rest.of(run, replay(runs.entries(run)), request, notes.around)
        except Forbidden as error:
            raise rights.explained(error, rest.COMMAND) from error
        if not left.plan.targets and left.finished:
            raise UsageError(f"nothing is left of run {run}: every node of it is done or gone")
        left.check(run, request, notes.around)
        limits, hooks = left.limits({}), left.hooks(Hooks(), without=not left.plan.targets)
        words = reached_by(request.options, self._namespace, left.cluster.identity.context)
        view = DrainView(left.plan, left.cluster, {}, reached_by=words)

        def begin() -> Live:
            def carry(face_of: FaceOf) -> Outcome:
                around, keeping = notes.around, self._keeping(run)
                carrying = Carrying(rest.COMMAND, around, request.options, keeping, hooks, face_of)
                cluster, ended = rest.gone_on(run, left, request, limits, carrying, around)
                view = carrying.view(cluster, ended, {"run": run}, limits, resumed=True)
                return _outcome(view, carrying.recorded_in)

            return self._begin(run, Kind.GO_ON, view, carry)

        who, also = left.cluster.identity, left.past_budgets
        return self._prepared(Kind.GO_ON, who, _drained(view), begin, notes, view, run, also)

    def prepare_giving_back(self, run: str) -> Prepared:
        from kubectl_eksdoc.model import kinds

        self._check_free()
        check_writable(self._around.environ, rollback.COMMAND)
        notes, request = _Notes(self._around), self._request(run)
        try:
            runs = self._around.edges.open_runs(request.options.connection, self._keeping(""))
            reader = self._around.open_reader(SourceChoice(), request.options.connection, None)
            cluster = reader.read((kinds.NODES,))
            which = rollback.to_give_back_of(runs, cluster.nodes, request, notes.around)
            if which.nodes:
                rollback.check_rights(request, notes.around)
        except Forbidden as error:
            raise rights.explained(error, rollback.COMMAND) from error
        if not which.nodes:
            raise UsageError(f"run {run} has changed no node that is not given back")
        if which.drained != len(which.nodes):
            drains = confirming.NODES.said(which.drained)
            notes.said.append(f"the plan of run {run} drains {drains}: this is the number to type")
        if which.there is not None and which.there.phase != Phase.ENDED.value and (held := runs.lock()).led:
            notes.said.append(f"it is under way, led by {held.holder} ({which.there.said}): this stops it first")

        def begin() -> Live:
            def carry(face_of: FaceOf) -> Outcome:
                around, keeping = notes.around, self._keeping(run)
                rollback.ask_to_end(which, runs, request, around)
                carrying = Carrying(rollback.COMMAND, around, request.options, keeping, Hooks(), face_of)
                back = rollback.given_back(which, request, carrying, around)
                said = f"{len(back.restored)} of {len(which.nodes)} nodes are as they were before"
                more = (*rollback.said_of(back), rollback.DO_NOT_MOVE_BACK)
                return Outcome(said, more, bad=bool(back.left))

            return self._begin(run, Kind.GIVE_BACK, None, carry)

        who, count = cluster.identity, which.drained
        return self._prepared(Kind.GIVE_BACK, who, which.nodes, begin, notes, run=run, count=count)

    def _prepared(
        self,
        kind: Kind,
        who: Identity,
        nodes: tuple[str, ...],
        begin: Callable[[], Live],
        notes: _Notes,
        view: DrainView | None = None,
        run: str = "",
        also: tuple[str, ...] = (),
        count: int | None = None,
    ) -> Prepared:
        """`count`: of nodes, as it is typed, where more than those are given back."""
        name = who.cluster or self._reach().cluster_name or confirming.name_of(who)
        typed = (f"{name} {len(nodes) if count is None else count}".strip(), *also)
        return Prepared(kind, name, nodes, typed, begin, tuple(notes.said), view, run)

    def _begin(self, run: str, kind: Kind, view: DrainView | None, carry: Callable[[FaceOf], Outcome]) -> LiveRun:
        from kubectl_eksdoc.drain.run.chronicle import aimed_by

        self._check_free()
        aims = aimed_by(view.plan) if view is not None else ()
        now = self._around.now()
        self._live = LiveRun(run, kind, view, aims, now, carry, lambda: self._overrule(run), self._speed)
        self._live.start()
        return self._live

    def _overrule(self, run: str) -> None:
        """What others asked of it holds no more."""
        from kubectl_eksdoc.errors import EksdocError
        from kubectl_eksdoc.model.journal import Phase

        keeping = self._keeping(run)
        try:
            runs = self._around.edges.open_runs(self._reach().connection, keeping)
            runs.ask(run, Phase.RUNNING, f"{keeping.who}@{keeping.host}")
        except EksdocError:
            return  # it goes on here all the same; whoever looks from elsewhere sees that it does

    def _check_free(self) -> None:
        if self._live is not None and not self._live.over:
            raise UsageError(f"run {self._live.run} is under way here", "One at a time: [5] shows it.")

    def _keeping(self, run: str) -> Keeping:
        return self._around.edges.keeping(run, self._namespace, self._around.environ)

    def _request(self, run: str) -> RunRequest:
        return RunRequest(self._reach(), self._namespace, run)


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


def _drained(view: DrainView) -> tuple[str, ...]:
    return tuple(target.node.name for target in view.targets if target.order)


class _Notes(io.StringIO):
    """Mutable. In the place of the streams of a process whose terminal belongs to the screens: what commands note is
    `said`, line by line. Signals are for the screens, too."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__()
        self.said: list[str] = []
        edges = replace(around.edges, told_to_stop=lambda: nullcontext(lambda: 0))
        self.around = replace(around, stdout=self, stderr=self, run_edges=edges)

    def write(self, text: str) -> int:
        self.said += [line for line in text.splitlines() if line.strip()]
        return len(text)


def _outcome(view: RunReport, events: str) -> Outcome:
    from kubectl_eksdoc.render.run.report import Outcome as Came
    from kubectl_eksdoc.render.run.report import against_plan, verdict

    doubt = bool(view.record.record.pending or view.record.record.coming)
    return Outcome(verdict(view), against_plan(view), view, view.outcome is not Came.DONE, doubt, events)
