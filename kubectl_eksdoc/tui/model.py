"""All that the screens show, in one place: what was read, what was chosen, and the plan of it if there is one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kubectl_eksdoc.drain.what_if import Preview
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.model.snapshots import LastView
from kubectl_eksdoc.render.drain.plan import DrainView
from kubectl_eksdoc.tui.choice import EditHistory, PlanInput
from kubectl_eksdoc.tui.reading import ScreenReads
from kubectl_eksdoc.tui.seen import TableView
from kubectl_eksdoc.tui.sheets.nodes import NodeFacts, facts_of_last, faulty, in_order, like


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
