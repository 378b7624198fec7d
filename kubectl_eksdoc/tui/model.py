"""All that the screens show, in one place: what was read, what was chosen, and the plan of it if there is one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from textual.app import App
from textual.message import Message

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.what_if import Preview
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.model.snapshots import LastView
from kubectl_eksdoc.render.drain.plan import DrainView
from kubectl_eksdoc.tui.reading import ScreenReads
from kubectl_eksdoc.tui.sheets.nodes import NodeFacts, SortOrder, facts_of_last, faulty, in_order, like

# What the user has chosen, and every step back: frozen, with transitions that return the next one.


MOST_STEPS = 200
"""So many edits can be taken back."""


@dataclass(frozen=True, slots=True)
class PlanInput:
    """What a plan is made from: the nodes that are marked, by name, and what a drain may do."""

    marked: frozenset[str] = frozenset()
    policy: DrainPolicy = field(default_factory=DrainPolicy)


@dataclass(frozen=True, slots=True)
class _Step:
    """An edit that was made: what was asked before it, and in words what it did."""

    before: PlanInput
    words: str


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class PlanOfInput:
    """The plan of `ask`."""

    ask: PlanInput
    view: DrainView


@dataclass(frozen=True, slots=True)
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


class ShowRights(Message):
    """What is hidden, and what may not be done."""


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
