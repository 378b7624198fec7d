"""All that the screens show, in one place: what was read, what was chosen, and the plan of it if there is one.

How reading the cluster goes: when it was read, whether it is watched, what went wrong, and when it is read next.

Frozen, with transitions that return the next state. All times are moments of one clock; one that goes backwards makes
nothing wait for longer.
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
"""After a change it is read anew at most so often: every `SOONEST_S`, and reading takes 1/`COSTS` of the time."""

WATCHED_S, WATCHED_COSTS = 120.0, 400
"""While it is watched and nothing has changed, for the sake of what is not watched."""

UNWATCHED_S, UNWATCHED_COSTS = 30.0, 100
"""Where it cannot be watched."""

_ADDRESS = re.compile(r"(?P<of>of )?https?://\S+( through the proxy \S+)? ")

_SLOW = timedelta(seconds=10)

FIRST_RETRY_S, LONGEST_RETRY_S = 4.0, 60.0


class WatchState(str, Enum):
    NONE = "none"  # it is not watched: not yet, or it may not be
    ON = "on"
    AWAY = "away"  # nobody answers


@frozen
class ScreenReads:
    """`live`: what is read may change; a dump and the demo do not. `begun`: a read is under way since then, and
    `count` objects of `kind` are there. `done`: the last one that worked began then, and took `cost_s`. `changed`:
    since then something has changed that matters. `failures` in a row, the last one at `failed`; `why`, and what to do
    (`remedy`). `lost`: since then nobody answers whoever watches; `said`: why."""

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

    # What happens

    def begins(self, now: datetime) -> ScreenReads:
        return replace(self, begun=now, kind="", count=0)

    def progressed(self, kind: str, count: int) -> ScreenReads:
        return replace(self, kind=kind, count=count)

    def succeeded(self, now: datetime) -> ScreenReads:
        """What changed after it had begun may be missing from it. What the first one costs is mostly loading code."""
        begun = self.begun or now
        changed = self.changed if self.changed is not None and self.changed >= begun else None
        cost_s = 0.0 if self.done is None else max((now - begun).total_seconds(), 0.0)
        lost = self.lost if self.lost is not None and self.lost > begun else None
        mended = replace(self, failures=0, failed=None, why="", remedy="", lost=lost)
        return replace(mended, begun=None, done=begun, cost_s=cost_s, changed=changed)

    def went_wrong(self, now: datetime, why: str, remedy: str) -> ScreenReads:
        return replace(self, begun=None, failures=self.failures + 1, failed=now, why=why, remedy=remedy)

    def was_told(self, now: datetime) -> ScreenReads:
        """Whoever watches saw a change that matters."""
        return replace(self, changed=now)

    def watched(self) -> ScreenReads:
        return replace(self, watch=WatchState.ON, lost=None, said="")

    def unwatched(self, said: str = "") -> ScreenReads:
        """For good, or until it is tried anew."""
        return replace(self, watch=WatchState.NONE, lost=None, said=said)

    def lost_sight(self, now: datetime, said: str) -> ScreenReads:
        return replace(self, watch=WatchState.AWAY, lost=self.lost or now, said=said)

    # What follows from it

    @property
    def failing(self) -> bool:
        return self.failures > 0

    @property
    def next_due(self) -> datetime | None:
        """When it is read without being asked; None: never, or not while it is as it is."""
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
        """Since when what is shown is known to be perhaps old; None while it is not."""
        since = [each for each in (self.lost, self.failed and self.done) if each is not None]
        return min(since) if since else None

    def retry_in(self, now: datetime) -> str:
        """``retry in 6s``, ``trying now``, "" where nobody tries by itself."""
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
    """`why` with `who` in the place of the server's address: the head of the screen says whose cluster it is."""
    return _ADDRESS.sub(lambda found: f"{found['of'] or ''}{who}" if who else "", why)


# What the user has chosen, and every step back: frozen, with transitions that return the next one.


MOST_STEPS = 200
"""So many edits can be taken back."""


@frozen
class PlanInput:
    """What a plan is made from: the nodes that are marked, by name, and what a drain may do."""

    marked: frozenset[str] = frozenset()
    policy: DrainPolicy = field(default_factory=DrainPolicy)


@frozen
class _Step:
    """An edit that was made: what was asked before it, and in words what it did."""

    before: PlanInput
    words: str


@frozen
class EditHistory:
    """`past` and `future` are the steps that can be undone and redone, the nearest last."""

    ask: PlanInput = PlanInput()
    past: tuple[_Step, ...] = ()
    future: tuple[_Step, ...] = ()

    def edited(self, ask: PlanInput, words: str) -> EditHistory:
        """Whatever was undone cannot be redone after it; an edit that changes nothing is none."""
        if ask == self.ask:
            return self
        return replace(self, ask=ask, past=(*self.past, _Step(self.ask, words))[-MOST_STEPS:], future=())

    def toggled(self, node: str) -> EditHistory:
        if node in self.ask.marked:
            return self.marked_are(self.ask.marked - {node}, f"{node} is marked no more")
        return self.marked_are(self.ask.marked | {node}, f"{node} is marked")

    def marked_are(self, nodes: Iterable[str], words: str) -> EditHistory:
        """A node that is marked no more is pinned no more: pins name nodes of the plan, here as on a command line."""
        marked = frozenset(nodes)
        policy = self.ask.policy
        pins = tuple((node, wave) for node, wave in policy.pins if node in marked)
        return self.edited(replace(self.ask, marked=marked, policy=replace(policy, pins=pins)), words)

    def with_policy(self, policy: DrainPolicy, words: str) -> EditHistory:
        return self.edited(replace(self.ask, policy=policy), words)

    def undone(self) -> EditHistory:
        """The same where there is nothing to undo."""
        if not self.past:
            return self
        step = self.past[-1]
        return replace(self, ask=step.before, past=self.past[:-1], future=(*self.future, _Step(self.ask, step.words)))

    def redone(self) -> EditHistory:
        """The same where there is nothing to redo."""
        if not self.future:
            return self
        step = self.future[-1]
        return replace(self, ask=step.before, past=(*self.past, _Step(self.ask, step.words)), future=self.future[:-1])


# How the user looks at it: the order of the nodes, and what is taken away to see the rest. It changes no plan.


@frozen
class TableView:
    """`faults`: only nodes that something is the matter with; `wide`: every column in full; `headless`: without the
    lines at the top of the screen."""

    order: SortOrder = SortOrder()
    faults: bool = False
    wide: bool = False
    headless: bool = False

    def toggled(self, name: str) -> TableView:
        """`name` is one of the three that are on or off."""
        on = {"faults": self.faults, "wide": self.wide, "headless": self.headless}
        return replace(self, **{name: not on[name]})  # type: ignore[arg-type]


@frozen
class PlannedCluster:
    """What was read, and what was made of it once. `old`: it is what is remembered of another time, of which nothing is
    planned."""

    cluster: Cluster
    nodes: NodeFacts
    old: bool = False


def remembered(view: LastView) -> PlannedCluster:
    return PlannedCluster(
        Cluster(view.identity, Source.LIVE, view.observed_at, nodes=view.nodes), facts_of_last(view), old=True
    )


@frozen
class PlanOfInput:
    """The plan of `ask`."""

    ask: PlanInput
    view: DrainView


@frozen
class Model:
    """`planned` may be of an earlier choice, or of earlier facts (`planned_of`): then `stale`. `preview`: what is known
    at once of the choice as it is. `pinned`: the plan that it is compared with. `trouble`: why there is no plan, or
    nothing was read. `context`: the one that was chosen on these screens. `reads`: how reading goes."""

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
    about: str = ""  # the node or the budget (ns/name) that the page of pods is of
    reads: ScreenReads = ScreenReads()
    denied: tuple[Permission, ...] | None = None  # of what a run needs; None: it was not asked
    fixed: tuple[tuple[str, str], ...] = ()  # codes that were in the way and are no more, each with what it is about

    @property
    def old(self) -> bool:
        """What is shown is remembered of another time."""
        return self.facts is not None and self.facts.old

    @property
    def drawn(self) -> tuple[object, ...]:
        """What pages are made from."""
        what = (self.facts, self.choice.ask, self.planned, self.planned_of, self.preview, self.pinned)
        return (*what, self.trouble, self.filter, self.seen, self.about)

    @property
    def stale(self) -> bool:
        """A plan of the choice as it is, is being made."""
        return (
            not self.old
            and bool(self.choice.ask.marked)
            and (self.planned is None or self.planned.ask != self.choice.ask)
        )

    @property
    def view(self) -> DrainView | None:
        """The last plan; None without one, or when nothing is marked."""
        return self.planned.view if self.planned is not None and self.choice.ask.marked else None

    @property
    def shown_nodes(self) -> tuple[str, ...]:
        """The names of those that the filter lets through, in the order that was asked for."""
        if self.facts is None:
            return ()
        kept = like(self.facts.nodes, self.filter)
        if self.seen.faults:
            kept = faulty(kept, self.facts.nodes, self.view)
        return in_order(kept, self.seen.order, self.facts.nodes, self.view)

    def chosen(self, choice: EditHistory) -> Model:
        return replace(self, choice=choice, preview=None, trouble="")

    def with_plan(self, planned: PlanOfInput) -> Model:
        """It is of the choice and of the facts as they are."""
        pinned = self.pinned or planned  # the plan that one opened with, until another is pinned
        return replace(self, planned=planned, planned_of=self.facts, preview=None, trouble="", pinned=pinned)


# What screens ask of the application, which reads and opens.


class ReadAnew(Message):
    """The cluster is to be read now, and what goes wrong is to be seen."""


class OtherContexts(Message):
    """Another context is to be chosen."""


class LookAway(Message):
    """From what went wrong, at what is remembered."""


class InspectPod(Message):
    """What the cluster says of a pod (``namespace/name``) is to be seen."""

    def __init__(self, pod: str) -> None:
        super().__init__()
        self.pod = pod


INSPECTS = "d describe, events, logs"


def can_inspect(app: App[Any]) -> bool:
    """Whether there is a cluster that says more of a pod than was read."""
    return getattr(getattr(app, "opening", None), "live", None) is not None


class AskRights(Message):
    """The cluster is to be asked what may be done."""
