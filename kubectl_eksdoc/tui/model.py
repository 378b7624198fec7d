"""All that the screens show, in one place: what was read, what was chosen, and the plan of it if there is one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.plan.drain.what_if import Preview
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.tui.choice import Ask, Choice
from kubectl_eksdoc.tui.seen import Seen
from kubectl_eksdoc.tui.sheets.nodes import NodeFacts
from kubectl_eksdoc.tui.sheets.order import in_order


@dataclass(frozen=True, slots=True)
class Facts:
    """What was read, and what was made of it once."""

    cluster: Cluster
    nodes: NodeFacts


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan of `ask`."""

    ask: Ask
    view: DrainView


@dataclass(frozen=True, slots=True)
class Model:
    """`planned` may be of an earlier choice: then `stale`. `preview`: what is known at once of the choice as it is.
    `pinned`: the plan that it is compared with. `trouble`: why there is no plan, or nothing was read;
    then `remedy` says what to do."""

    facts: Facts | None = None
    choice: Choice = field(default_factory=Choice)
    planned: Planned | None = None
    preview: Preview | None = None
    pinned: Planned | None = None
    trouble: str = ""
    remedy: str = ""
    reading: str = ""
    filter: str = ""
    seen: Seen = field(default_factory=Seen)

    @property
    def stale(self) -> bool:
        """A plan of the choice as it is, is being made."""
        return bool(self.choice.ask.marked) and (self.planned is None or self.planned.ask != self.choice.ask)

    @property
    def view(self) -> DrainView | None:
        """The last plan; None without one, or when nothing is marked."""
        return self.planned.view if self.planned is not None and self.choice.ask.marked else None

    @property
    def shown_nodes(self) -> tuple[str, ...]:
        """The names of those that the filter lets through, in the order that was asked for."""
        if self.facts is None:
            return ()
        texts, wanted = self.facts.nodes.texts, self.filter.lower()
        inverse, word = wanted.startswith("!"), wanted.lstrip("!")
        kept = (name for name, cells in texts.items() if (word in " ".join(cells).lower()) is not inverse)
        return in_order(kept if wanted else texts, self.seen.order, self.facts.nodes, self.view)

    def chosen(self, choice: Choice) -> Model:
        return replace(self, choice=choice, preview=None, trouble="")

    def with_plan(self, planned: Planned) -> Model:
        """It is of the choice as it is."""
        return replace(self, planned=planned, preview=None, trouble="")
