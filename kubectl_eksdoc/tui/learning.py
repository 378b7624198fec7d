"""The screen as it learns: of the cluster that is read, and of plans that are made of what is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.text import shown
from kubectl_eksdoc.tui.choice import Ask, Choice
from kubectl_eksdoc.tui.given import Given
from kubectl_eksdoc.tui.model import Facts, Planned
from kubectl_eksdoc.tui.opening import Opening
from kubectl_eksdoc.tui.planning import Glimpse, News, Planner
from kubectl_eksdoc.tui.shell import Shell


class LearningScreen(Shell):
    """Mutable: the planner of the cluster that was read last."""

    def __init__(self, opening: Opening, read: Callable[[], object]) -> None:
        super().__init__(opening, read)
        self._given = Given(opening)
        self._planner: Planner | None = None

    def on_unmount(self) -> None:
        if self._planner is not None:
            self._planner.close()

    def progressed(self, kind: str, count: int) -> None:
        self.model = replace(self.model, reading=f"reading: {count} {kind}")
        self.show()

    def read(self, facts: Facts) -> None:
        """Marks stay where their nodes still are; the first time those that were named are marked."""
        first = self.model.facts is None
        self.model = replace(self.model, facts=facts, planned=None, preview=None, trouble="")
        if self._planner is not None:
            self._planner.close()
        self._planner = Planner(facts.cluster, self._given.view_of, self._told)
        if first:
            self._mark_what_was_named(facts)
        else:
            there = self.model.choice.ask.marked & facts.nodes.nodes.keys()
            self._choose(self.model.choice.marked_are(there, "nodes that are gone are marked no more"), anew=True)

    def not_read(self, why: str, remedy: str) -> None:
        """What was read before stays."""
        told = "nothing could be read: ctrl+r tries again"
        self.model = replace(self.model, trouble=why, remedy=remedy, reading=told)
        self.notify(shown(f"{why}. {remedy}", Look(ascii=self._opening.ascii)), severity="error", markup=False)
        self.show()

    def _mark_what_was_named(self, facts: Facts) -> None:
        try:
            marked = self._given.first_marks(facts.cluster)
        except EksdocError as error:
            marked = frozenset()
            self.notify(f"{error.message}. {error.hint}", severity="warning", timeout=20, markup=False)
        self._choose(replace(self.model.choice, ask=Ask(marked)), anew=True)

    def _told(self, news: News) -> None:
        """In the planner's thread."""
        if self.is_attached and self.app.is_running:
            self.app.call_from_thread(self._learn, news)

    def _learn(self, news: News) -> None:
        if news.ask != self.model.choice.ask:
            return
        if isinstance(news, Planned):
            self.model = self.model.with_plan(news)
        elif isinstance(news, Glimpse):
            if not self.model.stale:
                return  # the plan was faster
            self.model = replace(self.model, preview=news.preview)
        else:
            self.model = replace(self.model, trouble=news.why, planned=None, preview=None)
        self.show()

    def _choose(self, choice: Choice, anew: bool = False) -> None:
        if choice.ask == self.model.choice.ask and not anew:
            return
        self.model = self.model.chosen(choice)
        if self._planner is not None:
            self._planner.ask(choice.ask)
        self.show()
