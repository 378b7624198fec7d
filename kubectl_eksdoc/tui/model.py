"""State of the screens: the facts that were read, the user's selection, and the plan if there is one.

Also the state of reading the cluster: the time of the last read, the watch, failures, and the next read.

Frozen, with transitions that return the next state. All times are of one clock; a clock that goes backwards prolongs no
wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from textual.app import App
from textual.message import Message

from kubectl_eksdoc.drain.plan import PlanPreview
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.model.snapshots import LastView
from kubectl_eksdoc.report.text import format_age, pluralize

from .tables.nodes import (
    NodeFacts,
    SortOrder,
    faulty_nodes,
    matching_nodes,
    node_facts_of_view,
    sort_nodes,
)

CHANGED_INTERVAL_S, CHANGED_COST_FACTOR = 10.0, 50
"""After a change, the cluster is read again at most every `CHANGED_INTERVAL_S`, and reading takes at most
1/`CHANGED_COST_FACTOR` of the time."""

WATCHED_INTERVAL_S, WATCHED_COST_FACTOR = 120.0, 400
"""The same while the cluster is watched and nothing has changed: some kinds are not watched."""

UNWATCHED_INTERVAL_S, UNWATCHED_COST_FACTOR = 30.0, 100
"""The same while the cluster cannot be watched."""

_ADDRESS = re.compile(r"(?P<of>of )?https?://\S+( through the proxy \S+)? ")

_SLOW_READ = timedelta(seconds=10)

FIRST_RETRY_S, MAX_RETRY_S = 4.0, 60.0


class WatchState(str, Enum):
    NONE = "none"  # not watched: not yet, or not permitted
    ON = "on"
    LOST = "away"  # the watch is interrupted


@frozen
class ScreenReads:
    """State of reading the cluster. `live`: the facts may change; those of a dump or the demo do not. `started_at`:
    start of the current read, which has read `count` objects of `kind`. `completed_at`: start of the last successful
    read, which took `duration_s`. `changed_at`: a relevant change since then. `failures`: consecutive failures, the
    last at `failed_at` for this `reason`, with a `remedy`. `lost_at`: the watch is interrupted since then;
    `watch_message` says why."""

    live: bool = False
    started_at: datetime | None = None
    kind: str = ""
    count: int = 0
    completed_at: datetime | None = None
    duration_s: float = 0.0
    changed_at: datetime | None = None
    failures: int = 0
    failed_at: datetime | None = None
    reason: str = ""
    remedy: str = ""
    watch: WatchState = WatchState.NONE
    lost_at: datetime | None = None
    watch_message: str = ""

    # Events

    def read_started(self, now: datetime) -> ScreenReads:
        return replace(self, started_at=now, kind="", count=0)

    def read_progressed(self, kind: str, count: int) -> ScreenReads:
        return replace(self, kind=kind, count=count)

    def read_succeeded(self, now: datetime) -> ScreenReads:
        """The read may miss changes after its start. The first read is not measured: it mostly loads code."""
        started_at = self.started_at or now
        changed_at = self.changed_at if self.changed_at is not None and self.changed_at >= started_at else None
        duration_s = 0.0 if self.completed_at is None else max((now - started_at).total_seconds(), 0.0)
        lost_at = self.lost_at if self.lost_at is not None and self.lost_at > started_at else None
        without_failure = replace(self, failures=0, failed_at=None, reason="", remedy="", lost_at=lost_at)
        return replace(
            without_failure, started_at=None, completed_at=started_at, duration_s=duration_s, changed_at=changed_at
        )

    def read_failed(self, now: datetime, reason: str, remedy: str) -> ScreenReads:
        return replace(self, started_at=None, failures=self.failures + 1, failed_at=now, reason=reason, remedy=remedy)

    def cluster_changed(self, now: datetime) -> ScreenReads:
        """The watch reported a relevant change."""
        return replace(self, changed_at=now)

    def watch_started(self) -> ScreenReads:
        return replace(self, watch=WatchState.ON, lost_at=None, watch_message="")

    def watch_ended(self, message: str = "") -> ScreenReads:
        """The watch ended, for good or until the next attempt."""
        return replace(self, watch=WatchState.NONE, lost_at=None, watch_message=message)

    def watch_lost(self, now: datetime, message: str) -> ScreenReads:
        return replace(self, watch=WatchState.LOST, lost_at=self.lost_at or now, watch_message=message)

    # Derived values

    @property
    def is_failing(self) -> bool:
        return self.failures > 0

    @property
    def next_due(self) -> datetime | None:
        """The time of the next automatic read; None if there is none in this state."""
        if not self.live or self.started_at is not None:
            return None
        if self.failed_at is not None:
            return self.failed_at + timedelta(seconds=min(FIRST_RETRY_S * 2 ** (self.failures - 1), MAX_RETRY_S))
        if self.completed_at is None:
            return None
        if self.changed_at is not None:
            pause_s = max(CHANGED_INTERVAL_S, CHANGED_COST_FACTOR * self.duration_s)
        elif self.watch is WatchState.ON:
            pause_s = max(WATCHED_INTERVAL_S, WATCHED_COST_FACTOR * self.duration_s)
        else:
            pause_s = max(UNWATCHED_INTERVAL_S, UNWATCHED_COST_FACTOR * self.duration_s)
        return self.completed_at + timedelta(seconds=pause_s)

    def is_due(self, now: datetime) -> bool:
        due_at = self.next_due
        last_at = self.failed_at or self.completed_at
        return due_at is not None and last_at is not None and not last_at <= now < due_at

    def stale_since(self) -> datetime | None:
        """The time since which the facts may be outdated; None if they are current."""
        stale_times = [each for each in (self.lost_at, self.failed_at and self.completed_at) if each is not None]
        return min(stale_times) if stale_times else None

    def retry_text(self, now: datetime) -> str:
        """``retry in 6s``, ``trying now``, "" without an automatic retry."""
        if self.started_at is not None:
            return "trying now"
        due_at = self.next_due
        return "" if due_at is None else f"retry in {max(int((due_at - now).total_seconds()), 0)}s"

    def age_text(self, now: datetime) -> str:
        """``live, read 40s ago``, or ``! stale 48s, retry in 6s: cannot be reached: the connection is refused``."""
        since = self.stale_since()
        if since is None:
            slow = self.started_at is not None and now - self.started_at >= _SLOW_READ
            reading = (
                f", being read for {format_age(now - self.started_at)}" if self.started_at is not None and slow else ""
            )
            return f"live, read {format_age(now - self.completed_at) if self.completed_at else '?'} ago{reading}"
        retry = self.retry_text(now) if self.is_failing else ""
        return (
            f"! stale {', '.join(filter(None, (format_age(now - since), retry)))}: "
            f"{without_address(self.reason or self.watch_message)}"
        )

    def tries_text(self, now: datetime) -> str:
        """``3 tries, retry in 8s``."""
        return ", ".join(filter(None, (pluralize(self.failures, "try", "tries"), self.retry_text(now))))


def without_address(message: str, replacement: str = "") -> str:
    """`message` with `replacement` in the place of the server's address: the head of the screen names the cluster."""
    return _ADDRESS.sub(lambda found: f"{found['of'] or ''}{replacement}" if replacement else "", message)


# The user's selection and its undo history: frozen, with transitions that return the next state.


MAX_UNDO_STEPS = 200
"""Edits that can be undone."""


@frozen
class PlanInput:
    """The input of a plan: the names of the marked nodes, and the drain policy."""

    marked: frozenset[str] = frozenset()
    policy: DrainPolicy = field(default_factory=DrainPolicy)


@frozen
class _EditStep:
    """An edit: the plan input before it, and its description."""

    before: PlanInput
    description: str


@frozen
class EditHistory:
    """`past` and `future` are the steps that can be undone and redone, the nearest last."""

    plan_input: PlanInput = PlanInput()
    past: tuple[_EditStep, ...] = ()
    future: tuple[_EditStep, ...] = ()

    def with_edit(self, plan_input: PlanInput, description: str) -> EditHistory:
        """An edit clears the redo history; an edit without a change is ignored."""
        if plan_input == self.plan_input:
            return self
        return replace(
            self,
            plan_input=plan_input,
            past=(*self.past, _EditStep(self.plan_input, description))[-MAX_UNDO_STEPS:],
            future=(),
        )

    def with_mark_toggled(self, node: str) -> EditHistory:
        if node in self.plan_input.marked:
            return self.with_marks(self.plan_input.marked - {node}, f"{node} is marked no more")
        return self.with_marks(self.plan_input.marked | {node}, f"{node} is marked")

    def with_marks(self, nodes: Iterable[str], description: str) -> EditHistory:
        """Set the marks. Unmarked nodes lose their pins: pins name nodes of the plan, as on the command line."""
        marked = frozenset(nodes)
        policy = self.plan_input.policy
        pins = tuple((node, wave) for node, wave in policy.pins if node in marked)
        return self.with_edit(replace(self.plan_input, marked=marked, policy=replace(policy, pins=pins)), description)

    def with_policy(self, policy: DrainPolicy, description: str) -> EditHistory:
        return self.with_edit(replace(self.plan_input, policy=policy), description)

    def undo(self) -> EditHistory:
        """Unchanged if there is nothing to undo."""
        if not self.past:
            return self
        step = self.past[-1]
        return replace(
            self,
            plan_input=step.before,
            past=self.past[:-1],
            future=(*self.future, _EditStep(self.plan_input, step.description)),
        )

    def redo(self) -> EditHistory:
        """Unchanged if there is nothing to redo."""
        if not self.future:
            return self
        step = self.future[-1]
        return replace(
            self,
            plan_input=step.before,
            past=(*self.past, _EditStep(self.plan_input, step.description)),
            future=self.future[:-1],
        )


# View settings: order and filter of the nodes. They do not change the plan.


@frozen
class TableView:
    """`faults`: only nodes with a problem; `wide`: every column in full width; `headless`: without the lines at the top
    of the screen."""

    order: SortOrder = SortOrder()
    faults: bool = False
    wide: bool = False
    headless: bool = False

    def toggled(self, name: str) -> TableView:
        """`name` is one of the three boolean settings."""
        states = {"faults": self.faults, "wide": self.wide, "headless": self.headless}
        return replace(self, **{name: not states[name]})  # type: ignore[arg-type]


@frozen
class ScreenFacts:
    """The facts of a cluster, and the table data derived from them. `is_old`: a cached view of an earlier time, which
    is not planned from."""

    cluster: Cluster
    nodes: NodeFacts
    is_old: bool = False


def facts_of_last_view(view: LastView) -> ScreenFacts:
    return ScreenFacts(
        Cluster(view.identity, Source.LIVE, view.observed_at, nodes=view.nodes), node_facts_of_view(view), is_old=True
    )


@frozen
class PlannedInput:
    """The plan of `plan_input`."""

    plan_input: PlanInput
    view: DrainView


@frozen
class Model:
    """The state of all pages. `latest_plan` may be of an earlier selection, or of earlier facts (`planned_facts`); then
    `is_stale` is true. `preview`: a quick estimate for the current selection. `pinned_plan`: the plan for comparison.
    `error`: why there is no plan, or no facts. `context`: the kubeconfig context chosen on these screens. `reads`: the
    state of reading."""

    facts: ScreenFacts | None = None
    choice: EditHistory = field(default_factory=EditHistory)
    latest_plan: PlannedInput | None = None
    planned_facts: ScreenFacts | None = None
    preview: PlanPreview | None = None
    pinned_plan: PlannedInput | None = None
    error: str = ""
    filter: str = ""
    context: str = ""
    table_view: TableView = field(default_factory=TableView)
    subject: str = ""  # the node or the budget (ns/name) of the page of pods
    reads: ScreenReads = ScreenReads()
    denied: tuple[Permission, ...] | None = None  # rights that a run lacks; None: not checked
    fixed_causes: tuple[tuple[str, str], ...] = ()  # (code, subject) of causes that no longer block

    @property
    def is_old(self) -> bool:
        """Whether the facts are a cached view of an earlier time."""
        return self.facts is not None and self.facts.is_old

    @property
    def page_inputs(self) -> tuple[object, ...]:
        """The values that pages are built from."""
        plan_inputs = (
            self.facts,
            self.choice.plan_input,
            self.latest_plan,
            self.planned_facts,
            self.preview,
            self.pinned_plan,
        )
        return (*plan_inputs, self.error, self.filter, self.table_view, self.subject)

    @property
    def is_stale(self) -> bool:
        """Whether a plan of the current selection is still being computed."""
        return (
            not self.is_old
            and bool(self.choice.plan_input.marked)
            and (self.latest_plan is None or self.latest_plan.plan_input != self.choice.plan_input)
        )

    @property
    def view(self) -> DrainView | None:
        """The latest plan; None without one, or without marked nodes."""
        return self.latest_plan.view if self.latest_plan is not None and self.choice.plan_input.marked else None

    @property
    def shown_nodes(self) -> tuple[str, ...]:
        """The names of nodes that pass the filter, in the selected order."""
        if self.facts is None:
            return ()
        names = matching_nodes(self.facts.nodes, self.filter)
        if self.table_view.faults:
            names = faulty_nodes(names, self.facts.nodes, self.view)
        return sort_nodes(names, self.table_view.order, self.facts.nodes, self.view)

    def with_choice(self, choice: EditHistory) -> Model:
        return replace(self, choice=choice, preview=None, error="")

    def with_plan(self, planned: PlannedInput) -> Model:
        """Set the plan of the current selection and facts."""
        pinned_plan = self.pinned_plan or planned  # the first plan, until the user pins another
        return replace(
            self, latest_plan=planned, planned_facts=self.facts, preview=None, error="", pinned_plan=pinned_plan
        )


# Messages from screens to the application, which reads the cluster and opens screens.


class ReadAgain(Message):
    """Read the cluster now, and show errors."""


class ChooseContext(Message):
    """Show other kubeconfig contexts to choose from."""


class ShowLastView(Message):
    """Leave the error screen and show the cached view."""


class InspectPod(Message):
    """Show details of a pod (``namespace/name``) from the cluster."""

    def __init__(self, pod: str) -> None:
        super().__init__()
        self.pod = pod


INSPECT_KEYS = "d describe, events, logs"


def can_inspect(app: App[Any]) -> bool:
    """Whether a live cluster can be queried for more details of a pod."""
    return getattr(getattr(app, "opening", None), "live", None) is not None


class CheckRights(Message):
    """Check in the cluster which rights the user has."""
