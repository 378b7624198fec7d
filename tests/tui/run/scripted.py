"""A fake run controller and fake runs: events follow a script, and requests are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from threading import Event

from kubectl_eksdoc.drain.command.screen_ports import (
    PreparedRun,
    RunKind,
    RunSummaryView,
    RunUpdate,
)
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.drain.report.record import DrainResultView
from kubectl_eksdoc.drain.report.run import Outcome as Came
from kubectl_eksdoc.drain.report.run import RunReport, plan_differences, run_summary
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.history import PlannedNode, planned_nodes
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.loop import RunRequest
from kubectl_eksdoc.drain.run.progress import RunProgress
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.model.journal import RunSummary
from tests.rehearsed import Rehearsed, rehearsed_demo

BEGAN = datetime(2026, 11, 20, 9, 0, tzinfo=timezone.utc)
RUN = "20261120-090000-7f3a"
NAME = "demo-shop"


class ScriptedLive:
    """A `tui.run.state.ActiveRun`. `to` lets virtual time pass; `wishes` and `alone` are the received requests.
    Mutable."""

    def __init__(
        self,
        drain: Rehearsed | None = None,
        run: str = RUN,
        kind: RunKind = RunKind.DRAIN,
        view: DrainView | None = None,
    ) -> None:
        self.drain = drain if drain is not None else rehearsed_demo()
        self.run = run
        self.kind = kind
        drains = kind is not RunKind.ROLLBACK
        plain_view = DrainView(self.drain.plan, self.drain.cluster, connection_args=("--demo",))
        self.view: DrainView | None = view if view is not None else (plain_view if drains else None)
        self.planned_nodes: tuple[PlannedNode, ...] = planned_nodes(self.drain.plan) if drains else ()
        self.started_at = BEGAN
        self.speed = 1.0
        self.wishes: list[RunRequest] = []
        self.alone: list[str] = []
        self.at_s = -1.0
        self._untold: list[DrainEvent] = []
        self._standing: RunProgress | None = None
        self._outcome: RunSummaryView | None = None

    def take_update(self) -> RunUpdate:
        untold, self._untold = self._untold, []
        return RunUpdate(untold, self._standing, self._outcome)

    @property
    def outcome(self) -> RunSummaryView | None:
        return self._outcome

    def submit(self, wish: RunRequest) -> None:
        self.wishes.append(wish)

    def leave_alone(self, node: str) -> None:
        self.alone.append(node)

    # Events

    def to(self, at_s: float) -> None:
        """Emit all events of the script until then."""
        for step in self.drain.upto(at_s):
            if step.at_s > self.at_s:
                self._untold += step.moments
                self._standing = step.standing
        self.at_s = at_s

    def stands(self, **changed: object) -> None:
        """Set state that differs from the script."""
        assert self._standing is not None, "time has passed"
        self._standing = replace(self._standing, **changed)  # type: ignore[arg-type]

    def happens(self, what: DrainEventKind, subject: str = "the drain", node: str = "", why: str = "") -> None:
        self._untold.append(DrainEvent(max(self.at_s, 0.0), what, subject, node, why))

    def ends(self, outcome: RunSummaryView | None = None) -> None:
        """End the run by itself, after all events of the script."""
        if outcome is None:
            self.to(self.drain.record.ended_s)
        self._outcome = outcome or outcome_of(self.drain, self.run)

    def stops(self, why: str = "the user stopped it") -> None:
        """Stop the run in the middle."""
        self.happens(DrainEventKind.STOPPED, why=why)
        self.stands(stop_reason=why, remaining_s=None)
        seen = [moment for step in self.drain.upto(self.at_s) for moment in step.moments]
        left = self._left(seen)
        record = replace(self.drain.record, moments=tuple(seen), ended_s=self.at_s, drained_s=None, undone=left)
        self._outcome = outcome_of(replace(self.drain, record=record, stopped=why), self.run)

    def _left(self, seen: Sequence[DrainEvent]) -> dict[str, tuple[str, ...]]:
        """By node, the pods that are not gone."""
        gone = {moment.subject for moment in seen if moment.what is DrainEventKind.GONE}
        left: dict[str, tuple[str, ...]] = {}
        for eviction in self.drain.plan.evictions:
            if eviction.pod.key not in gone:
                left[eviction.node] = (*left.get(eviction.node, ()), eviction.pod.key)
        return left


def outcome_of(drain: Rehearsed, run: str = RUN) -> RunSummaryView:
    view = RunReport(
        run,
        DrainResultView(drain.record, drain.cluster, {"nodegroup": ["blue"]}),
        BEGAN,
        BEGAN + timedelta(seconds=drain.record.ended_s),
        "ann",
        "laptop",
        drain.stopped,
        connection_args=("--context", "demo"),
    )
    return RunSummaryView(run_summary(view), plan_differences(view), view, has_failed=view.outcome is not Came.DONE)


class ScriptedDesk:
    """A `tui.run.state.ScreenRunController`. `asked`: prepared runs; `begun`: started runs; `refuses`: the error of the
    preparation; `fails`: the error of the start; `may_answer`: the preparation waits for it. Mutable."""

    def __init__(
        self,
        *lives: ScriptedLive,
        also: Sequence[str] = (),
        notes: Sequence[str] = (),
        refuses: EksdocError | None = None,
        fails: Exception | None = None,
        runs: Sequence[RunSummary] = (),
    ) -> None:
        self._lives = list(lives) or [ScriptedLive()]
        self._also = tuple(also)
        self._notes = tuple(notes)
        self.refuses = refuses
        self.fails = fails
        self._runs = runs
        self.may_answer = Event()
        self.may_answer.set()
        self.asked: list[tuple[RunKind, str]] = []
        self.begun: list[ScriptedLive] = []

    @property
    def live(self) -> ScriptedLive | None:
        return self.begun[-1] if self.begun else None

    def runs(self) -> Sequence[RunSummary]:
        if self.refuses is not None:
            raise self.refuses
        return self._runs

    def prepare(self, targeting: Targeting, policy: DrainPolicy, shown: DrainView) -> PreparedRun:
        nodes = tuple(target.node.name for target in shown.targets if target.order)
        return self._prepared(RunKind.DRAIN, "", nodes, shown)

    def prepare_resume(self, run: str) -> PreparedRun:
        live = self._lives[0]
        return self._prepared(RunKind.RESUME, run, ("blue-5",), live.view)

    def prepare_rollback(self, run: str) -> PreparedRun:
        return self._prepared(RunKind.ROLLBACK, run, ("blue-1", "blue-2"), None)

    def _prepared(self, kind: RunKind, run: str, nodes: tuple[str, ...], view: DrainView | None) -> PreparedRun:
        self.asked.append((kind, run))
        assert self.may_answer.wait(30), "nobody lets it go on"
        if self.refuses is not None:
            raise self.refuses
        typed = (f"{NAME} {len(nodes)}", *self._also)
        return PreparedRun(kind, NAME, nodes, typed, self._begins(kind), self._notes, view, run, RunLimits())

    def _begins(self, kind: RunKind) -> Callable[[], ScriptedLive]:
        def begin() -> ScriptedLive:
            if self.fails is not None:
                raise self.fails
            live = self._lives.pop(0) if self._lives else ScriptedLive(kind=kind)
            self.begun.append(live)
            return live

        return begin
