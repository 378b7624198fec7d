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

from kubectl_eksdoc.drain.plan import Preview
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.model.snapshots import LastView
from kubectl_eksdoc.report.text import age, counted

from .tables.nodes import (
    NodeFacts,
    SortOrder,
    facts_of_last,
    faulty,
    in_order,
    like,
)

SOONEST_S, COSTS = 10.0, 50
"""After a change, the cluster is read again at most every `CHANGED_INTERVAL_S`, and reading takes at most
1/`CHANGED_COST_FACTOR` of the time."""

WATCHED_S, WATCHED_COSTS = 120.0, 400
"""The same while the cluster is watched and nothing has changed: some kinds are not watched."""

UNWATCHED_S, UNWATCHED_COSTS = 30.0, 100
"""The same while the cluster cannot be watched."""

_ADDRESS = re.compile(r"(?P<of>of )?https?://\S+( through the proxy \S+)? ")

_SLOW = timedelta(seconds=10)

FIRST_RETRY_S, LONGEST_RETRY_S = 4.0, 60.0


class WatchState(str, Enum):
    NONE = "none"  # not watched: not yet, or not permitted
    ON = "on"
    AWAY = "away"  # the watch is interrupted


@frozen
class ScreenReads:
    """State of reading the cluster. `live`: the facts may change; those of a dump or the demo do not. `started_at`:
    start of the current read, which has read `count` objects of `kind`. `completed_at`: start of the last successful
    read, which took `duration_s`. `changed_at`: a relevant change since then. `failures`: consecutive failures, the
    last at `failed_at` for this `reason`, with a `remedy`. `lost_at`: the watch is interrupted since then;
    `watch_message` says why."""

    live: bool = False
    begun: datetime | None = None
    kind: str = ""
    count: int = 0
    done: datetime | None = None
    cost_s: float = 0.0
    changed: datetime | None = None
    failures: int = 0
    failed: datetime | None = None
    why: str = ""
    remedy: str = ""
    watch: WatchState = WatchState.NONE
    lost: datetime | None = None
    said: str = ""

    # Events

    def begins(self, now: datetime) -> ScreenReads:
        return replace(self, begun=now, kind="", count=0)

    def progressed(self, kind: str, count: int) -> ScreenReads:
        return replace(self, kind=kind, count=count)

    def succeeded(self, now: datetime) -> ScreenReads:
        """The read may miss changes after its start. The first read is not measured: it mostly loads code."""
        begun = self.begun or now
        changed = self.changed if self.changed is not None and self.changed >= begun else None
        cost_s = 0.0 if self.done is None else max((now - begun).total_seconds(), 0.0)
        lost = self.lost if self.lost is not None and self.lost > begun else None
        mended = replace(self, failures=0, failed=None, why="", remedy="", lost=lost)
        return replace(mended, begun=None, done=begun, cost_s=cost_s, changed=changed)

    def went_wrong(self, now: datetime, why: str, remedy: str) -> ScreenReads:
        return replace(self, begun=None, failures=self.failures + 1, failed=now, why=why, remedy=remedy)

    def was_told(self, now: datetime) -> ScreenReads:
        """The watch reported a relevant change."""
        return replace(self, changed=now)

    def watched(self) -> ScreenReads:
        return replace(self, watch=WatchState.ON, lost=None, said="")

    def unwatched(self, said: str = "") -> ScreenReads:
        """The watch ended, for good or until the next attempt."""
        return replace(self, watch=WatchState.NONE, lost=None, said=said)

    def lost_sight(self, now: datetime, said: str) -> ScreenReads:
        return replace(self, watch=WatchState.AWAY, lost=self.lost or now, said=said)

    # Derived values

    @property
    def failing(self) -> bool:
        return self.failures > 0

    @property
    def next_due(self) -> datetime | None:
        """The time of the next automatic read; None if there is none in this state."""
        if not self.live or self.begun is not None:
            return None
        if self.failed is not None:
            return self.failed + timedelta(seconds=min(FIRST_RETRY_S * 2 ** (self.failures - 1), LONGEST_RETRY_S))
        if self.done is None:
            return None
        if self.changed is not None:
            pause_s = max(SOONEST_S, COSTS * self.cost_s)
        elif self.watch is WatchState.ON:
            pause_s = max(WATCHED_S, WATCHED_COSTS * self.cost_s)
        else:
            pause_s = max(UNWATCHED_S, UNWATCHED_COSTS * self.cost_s)
        return self.done + timedelta(seconds=pause_s)

    def due(self, now: datetime) -> bool:
        at = self.next_due
        last = self.failed or self.done
        return at is not None and last is not None and not last <= now < at

    def stale_since(self) -> datetime | None:
        """The time since which the facts may be outdated; None if they are current."""
        since = [each for each in (self.lost, self.failed and self.done) if each is not None]
        return min(since) if since else None

    def retry_in(self, now: datetime) -> str:
        """``retry in 6s``, ``trying now``, "" without an automatic retry."""
        if self.begun is not None:
            return "trying now"
        at = self.next_due
        return "" if at is None else f"retry in {max(int((at - now).total_seconds()), 0)}s"

    def said_of(self, now: datetime) -> str:
        """``live, read 40s ago``, or ``! stale 48s, retry in 6s: cannot be reached: the connection is refused``."""
        since = self.stale_since()
        if since is None:
            slow = self.begun is not None and now - self.begun >= _SLOW
            reading = f", being read for {age(now - self.begun)}" if self.begun is not None and slow else ""
            return f"live, read {age(now - self.done) if self.done else '?'} ago{reading}"
        retry = self.retry_in(now) if self.failing else ""
        return f"! stale {', '.join(filter(None, (age(now - since), retry)))}: {brief(self.why or self.said)}"

    def tried(self, now: datetime) -> str:
        """``3 tries, retry in 8s``."""
        return ", ".join(filter(None, (counted(self.failures, "try", "tries"), self.retry_in(now))))


def brief(why: str, who: str = "") -> str:
    """`message` with `replacement` in the place of the server's address: the head of the screen names the cluster."""
    return _ADDRESS.sub(lambda found: f"{found['of'] or ''}{who}" if who else "", why)


# The user's selection and its undo history: frozen, with transitions that return the next state.


MOST_STEPS = 200
"""Edits that can be undone."""


@frozen
class PlanInput:
    """The input of a plan: the names of the marked nodes, and the drain policy."""

    marked: frozenset[str] = frozenset()
    policy: DrainPolicy = field(default_factory=DrainPolicy)


@frozen
class _Step:
    """An edit: the plan input before it, and its description."""

    before: PlanInput
    words: str


@frozen
class EditHistory:
    """`past` and `future` are the steps that can be undone and redone, the nearest last."""

    ask: PlanInput = PlanInput()
    past: tuple[_Step, ...] = ()
    future: tuple[_Step, ...] = ()

    def edited(self, ask: PlanInput, words: str) -> EditHistory:
        """An edit clears the redo history; an edit without a change is ignored."""
        if ask == self.ask:
            return self
        return replace(self, ask=ask, past=(*self.past, _Step(self.ask, words))[-MOST_STEPS:], future=())

    def toggled(self, node: str) -> EditHistory:
        if node in self.ask.marked:
            return self.marked_are(self.ask.marked - {node}, f"{node} is marked no more")
        return self.marked_are(self.ask.marked | {node}, f"{node} is marked")

    def marked_are(self, nodes: Iterable[str], words: str) -> EditHistory:
        """Set the marks. Unmarked nodes lose their pins: pins name nodes of the plan, as on the command line."""
        marked = frozenset(nodes)
        policy = self.ask.policy
        pins = tuple((node, wave) for node, wave in policy.pins if node in marked)
        return self.edited(replace(self.ask, marked=marked, policy=replace(policy, pins=pins)), words)

    def with_policy(self, policy: DrainPolicy, words: str) -> EditHistory:
        return self.edited(replace(self.ask, policy=policy), words)

    def undone(self) -> EditHistory:
        """Unchanged if there is nothing to undo."""
        if not self.past:
            return self
        step = self.past[-1]
        return replace(self, ask=step.before, past=self.past[:-1], future=(*self.future, _Step(self.ask, step.words)))

    def redone(self) -> EditHistory:
        """Unchanged if there is nothing to redo."""
        if not self.future:
            return self
        step = self.future[-1]
        return replace(self, ask=step.before, past=(*self.past, _Step(self.ask, step.words)), future=self.future[:-1])


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
        on = {"faults": self.faults, "wide": self.wide, "headless": self.headless}
        return replace(self, **{name: not on[name]})  # type: ignore[arg-type]


@frozen
class PlannedCluster:
    """The facts of a cluster, and the table data derived from them. `is_old`: a cached view of an earlier time, which
    is not planned from."""

    cluster: Cluster
    nodes: NodeFacts
    old: bool = False


def remembered(view: LastView) -> PlannedCluster:
    return PlannedCluster(
        Cluster(view.identity, Source.LIVE, view.observed_at, nodes=view.nodes), facts_of_last(view), old=True
    )


@frozen
class PlanOfInput:
    """The plan of `plan_input`."""

    ask: PlanInput
    view: DrainView


@frozen
class Model:
    """The state of all pages. `latest_plan` may be of an earlier selection, or of earlier facts (`planned_facts`); then
    `is_stale` is true. `preview`: a quick estimate for the current selection. `pinned_plan`: the plan for comparison.
    `error`: why there is no plan, or no facts. `context`: the kubeconfig context chosen on these screens. `reads`: the
    state of reading."""

    facts: PlannedCluster | None = None
    choice: EditHistory = field(default_factory=EditHistory)
    planned: PlanOfInput | None = None
    planned_of: PlannedCluster | None = None
    preview: Preview | None = None
    pinned: PlanOfInput | None = None
    trouble: str = ""
    filter: str = ""
    context: str = ""
    seen: TableView = field(default_factory=TableView)
    about: str = ""  # the node or the budget (ns/name) of the page of pods
    reads: ScreenReads = ScreenReads()
    denied: tuple[Permission, ...] | None = None  # rights that a run lacks; None: not checked
    fixed: tuple[tuple[str, str], ...] = ()  # (code, subject) of causes that no longer block

    @property
    def old(self) -> bool:
        """Whether the facts are a cached view of an earlier time."""
        return self.facts is not None and self.facts.old

    @property
    def drawn(self) -> tuple[object, ...]:
        """The values that pages are built from."""
        what = (self.facts, self.choice.ask, self.planned, self.planned_of, self.preview, self.pinned)
        return (*what, self.trouble, self.filter, self.seen, self.about)

    @property
    def stale(self) -> bool:
        """Whether a plan of the current selection is still being computed."""
        return (
            not self.old
            and bool(self.choice.ask.marked)
            and (self.planned is None or self.planned.ask != self.choice.ask)
        )

    @property
    def view(self) -> DrainView | None:
        """The latest plan; None without one, or without marked nodes."""
        return self.planned.view if self.planned is not None and self.choice.ask.marked else None

    @property
    def shown_nodes(self) -> tuple[str, ...]:
        """The names of nodes that pass the filter, in the selected order."""
        if self.facts is None:
            return ()
        kept = like(self.facts.nodes, self.filter)
        if self.seen.faults:
            kept = faulty(kept, self.facts.nodes, self.view)
        return in_order(kept, self.seen.order, self.facts.nodes, self.view)

    def chosen(self, choice: EditHistory) -> Model:
        return replace(self, choice=choice, preview=None, trouble="")

    def with_plan(self, planned: PlanOfInput) -> Model:
        """Set the plan of the current selection and facts."""
        pinned = self.pinned or planned  # the first plan, until the user pins another
        return replace(self, planned=planned, planned_of=self.facts, preview=None, trouble="", pinned=pinned)


# Messages from screens to the application, which reads the cluster and opens screens.


class ReadAnew(Message):
    """Read the cluster now, and show errors."""


class OtherContexts(Message):
    """Show other kubeconfig contexts to choose from."""


class LookAway(Message):
    """Leave the error screen and show the cached view."""


class InspectPod(Message):
    """Show details of a pod (``namespace/name``) from the cluster."""

    def __init__(self, pod: str) -> None:
        super().__init__()
        self.pod = pod


INSPECTS = "d describe, events, logs"


def can_inspect(app: App[Any]) -> bool:
    """Whether a live cluster can be queried for more details of a pod."""
    return getattr(getattr(app, "opening", None), "live", None) is not None


class AskRights(Message):
    """Check in the cluster which rights the user has."""
