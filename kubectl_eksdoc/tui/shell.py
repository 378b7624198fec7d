"""The plan screen with its pages: page switching, back and forward, head and foot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from textual.app import ComposeResult
from textual.widgets import ContentSwitcher, Input

from kubectl_eksdoc.report.identity import is_production
from kubectl_eksdoc.report.text import Look, Tone, shown

from . import keymap, words
from .keymap import (
    KEYS,
    TYPED_AFTER,
    TYPING,
    FootBar,
    HeadLine,
    KeyBinding,
    ScreenPage,
    ScreenPlace,
    foot,
)
from .model import Model, ScreenReads
from .opening import Opening
from .pages import (
    BlockersPage,
    BudgetPage,
    HeadroomPage,
    PageOf,
    PlanPage,
    PodsPage,
    WavesPage,
    WhatIfPage,
)
from .paint import PaintedScreen
from .panel import AskLine
from .words import FittingText

_PAGES: dict[ScreenPage, type[PageOf]] = {
    ScreenPage.PLAN: PlanPage,
    ScreenPage.HEADROOM: HeadroomPage,
    ScreenPage.WAVES: WavesPage,
    ScreenPage.BLOCKERS: BlockersPage,
    ScreenPage.WHAT_IF: WhatIfPage,
    ScreenPage.PODS: PodsPage,
    ScreenPage.BUDGET: BudgetPage,
}


class Shell(PaintedScreen):
    """Mutable: the current model and page, and the stacks of pages for back and forward."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]

    def __init__(self, opening: Opening, read: Callable[[], object]) -> None:
        """`read` starts a new read of the cluster."""
        super().__init__()
        self._opening = opening
        read_keys = keymap.read(keymap.of_plans(opening.keys))
        self.keymap = replace(read_keys, wrong=(*opening.wrong, *read_keys.wrong))
        for key in self.keymap.keys:
            first = key.action in TYPED_AFTER
            self._bindings.bind(key.keys, f"do('{key.id}')", key.words, show=False, priority=first)
        self._read = read
        self.model = Model(reads=ScreenReads(live=opening.live is not None), context=opening.context)
        self.page = ScreenPage.PLAN
        self._identity, self._line, self._foot_bar = HeadLine(id="identity"), HeadLine(id="line"), FootBar(id="foot")
        self._pages = {page: kind(id=_id(page)) for page, kind in _PAGES.items()}
        self.before: list[ScreenPlace] = []
        self.after: list[ScreenPlace] = []

    def compose(self) -> ComposeResult:
        yield self._identity
        yield self._line
        with ContentSwitcher(initial=_id(ScreenPage.PLAN), id="pages"):
            yield from self._pages.values()
        yield AskLine("/", "text, !text for those without it, -l key=value,key2!=x", id="filter")
        yield AskLine(":", "nodes, pdb, waves, blockers, what-if, help, quit", id="prompt")
        yield self._foot_bar

    def on_mount(self) -> None:
        self._of(ScreenPage.PLAN).table.focus()
        for wrong in self.keymap.wrong:
            self.notify(shown(wrong, Look(ascii=self._opening.ascii)), severity="warning", timeout=30, markup=False)
        self.show()

    def show(self) -> None:
        """Update everything that depends on the model, for the visible page."""
        if not self._of(self.page).children:
            return  # it is being closed
        self.show_age()
        self.show_line()
        self.show_foot()
        self.set_class(self.model.seen.headless, "-headless")
        self.set_class(bool(self.model.trouble), "-troubled")
        self._of(self.page).update(self.model)

    def show_foot(self) -> None:
        page = self._of(self.page)
        if isinstance(self.focused, Input):
            if self.query_one("#filter").display:
                self._foot_bar.show(TYPING)
        elif self._foot_bar.is_attached:  # not while it is being closed
            keys = tuple(key for key in self.keymap.keys if key.is_at_foot and not self.refusal(key))
            self._foot_bar.show(foot(self.page, keys, page.copies, page.marks))

    def refusal(self, key: KeyBinding) -> str:
        """Why a key has no effect now, in a clause; "" if it has its effect."""
        return ""

    def show_line(self) -> None:
        """Update the summary of the plan."""
        self._say(self._line, words.plan_line(self.model), " · ")

    def show_age(self) -> None:
        """Update the cluster's identity and the age of the facts."""
        reads = self.model.reads
        self.set_class(self.model.old or reads.lost is not None or bool(reads.failures), "-doubtful")
        self._say(self._identity, words.identity(self.model, self._opening.now(), self._badges()))

    @property
    def is_production(self) -> bool:
        facts = self.model.facts
        return facts is not None and is_production(facts.cluster.identity, self._opening.production)

    def _badges(self) -> list[FittingText]:
        """Essential warnings: production, an active run, or read-only mode."""
        stage = getattr(self.app, "run_stage", "")
        badges = [words.PRODUCTION] if self.is_production else []
        if stage:
            return [*badges, FittingText(f"{stage} (5 shows the run)", tone=Tone.WARN, badge=True)]
        if getattr(self.app, "has_unfinished", False):
            badges.append(words.UNFINISHED)
        if self._opening.no_desk:
            return [*badges, words.READ_ONLY]
        return [*badges, words.rights(self.model.denied), *([words.UNTIL_R] if self._opening.desk is not None else [])]

    def _say(self, line: HeadLine, parts: Sequence[FittingText], gap: str = "  ") -> None:
        if line.is_attached:  # not while it is being closed
            line.show(parts, gap)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the user types, letters are not bindings."""
        typing = action == "do" and isinstance(self.focused, Input)
        if typing and any(key.id in parameters for key in KEYS if key.action in TYPED_AFTER):
            return False
        return super().check_action(action, parameters)

    def _of(self, page: ScreenPage) -> PageOf:
        return self._pages[page]

    def _go(self, page: ScreenPage, about: str = "") -> None:
        """`subject`: the subject of a page that exists for several subjects."""
        to = ScreenPlace(page, about)
        if to != self.place:
            self.before.append(self.place)
            self.after.clear()
            self._show_place(to)

    @property
    def place(self) -> ScreenPlace:
        return ScreenPlace(self.page, self.model.about)

    def visit(self, by: int) -> bool:
        """Go back (-1) or forward (1). False: there is no such page."""
        there, here = (self.before, self.after) if by < 0 else (self.after, self.before)
        if not there:
            return False
        here.append(self.place)
        self._show_place(there.pop())
        return True

    def back(self) -> None:
        self.visit(-1)

    def _show_place(self, to: ScreenPlace) -> None:
        node = self._of(self.page).node
        self.page = to.page
        self.model = replace(self.model, about=to.about)
        self.query_one("#pages", ContentSwitcher).current = _id(to.page)
        self.show()
        table = self._of(to.page).table
        self.set_focus(table, scroll_visible=False)  # immediately: otherwise the page is painted twice
        if node is not None:
            table.go_to(node)

    @property
    def _node(self) -> str | None:
        """The node under the cursor; None on a row without a node."""
        return self._of(self.page).node


def _id(page: ScreenPage) -> str:
    return f"page-{page.name.lower().replace('_', '-')}"


def plain(text: str) -> str:
    return text.replace("[", r"\[")
