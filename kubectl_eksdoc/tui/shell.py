"""The plan screen with its pages: page switching, back and forward, head and foot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from textual.app import ComposeResult
from textual.widgets import ContentSwitcher, Input

from kubectl_eksdoc.report.identity import is_production
from kubectl_eksdoc.report.text import Appearance, Tone, printable

from . import keymap, words
from .keymap import (
    PLAN_KEYS,
    PROMPT_ACTIONS,
    TYPING_HINTS,
    FootBar,
    HeadLine,
    KeyBinding,
    ScreenPage,
    ScreenPlace,
    foot_hints,
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

_PAGE_TYPES: dict[ScreenPage, type[PageOf]] = {
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
        user_keymap = keymap.apply_user_keys(keymap.plan_screen_keys(opening.keys))
        self.keymap = replace(user_keymap, problems=(*opening.setting_problems, *user_keymap.problems))
        for key in self.keymap.keys:
            has_priority = key.action in PROMPT_ACTIONS
            self._bindings.bind(key.keys, f"do('{key.id}')", key.words, show=False, priority=has_priority)
        self._start_read = read
        self.model = Model(reads=ScreenReads(live=opening.live is not None), context=opening.context)
        self.page = ScreenPage.PLAN
        self._identity_line, self._plan_line, self._foot_bar = (
            HeadLine(id="identity"),
            HeadLine(id="line"),
            FootBar(id="foot"),
        )
        self._pages = {page: kind(id=_page_id(page)) for page, kind in _PAGE_TYPES.items()}
        self.back_stack: list[ScreenPlace] = []
        self.forward_stack: list[ScreenPlace] = []

    def compose(self) -> ComposeResult:
        yield self._identity_line
        yield self._plan_line
        with ContentSwitcher(initial=_page_id(ScreenPage.PLAN), id="pages"):
            yield from self._pages.values()
        yield AskLine("/", "text, !text for those without it, -l key=value,key2!=x", id="filter")
        yield AskLine(":", "nodes, pdb, waves, blockers, what-if, help, quit", id="prompt")
        yield self._foot_bar

    def on_mount(self) -> None:
        self._page_widget(ScreenPage.PLAN).table.focus()
        for problem in self.keymap.problems:
            self.notify(
                printable(problem, Appearance(ascii=self._opening.ascii)), severity="warning", timeout=30, markup=False
            )
        self.show()

    def show(self) -> None:
        """Update everything that depends on the model, for the visible page."""
        if not self._page_widget(self.page).children:
            return  # it is being closed
        self.show_identity()
        self.show_plan_line()
        self.show_foot()
        self.set_class(self.model.table_view.headless, "-headless")
        self.set_class(bool(self.model.error), "-troubled")
        self._page_widget(self.page).update(self.model)

    def show_foot(self) -> None:
        page = self._page_widget(self.page)
        if isinstance(self.focused, Input):
            if self.query_one("#filter").display:
                self._foot_bar.show(TYPING_HINTS)
        elif self._foot_bar.is_attached:  # not while it is being closed
            keys = tuple(key for key in self.keymap.keys if key.is_at_foot and not self.refusal(key))
            self._foot_bar.show(foot_hints(self.page, keys, page.copy_label, page.mark_label))

    def refusal(self, key: KeyBinding) -> str:
        """Why a key has no effect now, in a clause; "" if it has its effect."""
        return ""

    def show_plan_line(self) -> None:
        """Update the summary of the plan."""
        self._show_parts(self._plan_line, words.plan_texts(self.model), " · ")

    def show_identity(self) -> None:
        """Update the cluster's identity and the age of the facts."""
        reads = self.model.reads
        self.set_class(self.model.is_old or reads.lost_at is not None or bool(reads.failures), "-doubtful")
        self._show_parts(self._identity_line, words.identity_texts(self.model, self._opening.now(), self._badges()))

    @property
    def is_production(self) -> bool:
        facts = self.model.facts
        return facts is not None and is_production(facts.cluster.identity, self._opening.production_pattern)

    def _badges(self) -> list[FittingText]:
        """Essential warnings: production, an active run, or read-only mode."""
        stage = getattr(self.app, "run_stage", "")
        badges = [words.PRODUCTION_BADGE] if self.is_production else []
        if stage:
            return [*badges, FittingText(f"{stage} (5 shows the run)", tone=Tone.WARN, badge=True)]
        if getattr(self.app, "has_unfinished", False):
            badges.append(words.UNFINISHED_BADGE)
        if self._opening.read_only_reason:
            return [*badges, words.READ_ONLY_BADGE]
        return [
            *badges,
            words.rights_text(self.model.denied),
            *([words.READ_ONLY_UNTIL_RUN] if self._opening.run_controller is not None else []),
        ]

    def _show_parts(self, line: HeadLine, parts: Sequence[FittingText], gap: str = "  ") -> None:
        if line.is_attached:  # not while it is being closed
            line.show(parts, gap)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the user types, letters are not bindings."""
        is_typing = action == "do" and isinstance(self.focused, Input)
        if is_typing and any(key.id in parameters for key in PLAN_KEYS if key.action in PROMPT_ACTIONS):
            return False
        return super().check_action(action, parameters)

    def _page_widget(self, page: ScreenPage) -> PageOf:
        return self._pages[page]

    def _go_to(self, page: ScreenPage, subject: str = "") -> None:
        """`subject`: the subject of a page that exists for several subjects."""
        target = ScreenPlace(page, subject)
        if target != self.current_place:
            self.back_stack.append(self.current_place)
            self.forward_stack.clear()
            self._show_place(target)

    @property
    def current_place(self) -> ScreenPlace:
        return ScreenPlace(self.page, self.model.subject)

    def visit_page(self, by: int) -> bool:
        """Go back (-1) or forward (1). False: there is no such page."""
        source_stack, target_stack = (
            (self.back_stack, self.forward_stack) if by < 0 else (self.forward_stack, self.back_stack)
        )
        if not source_stack:
            return False
        target_stack.append(self.current_place)
        self._show_place(source_stack.pop())
        return True

    def go_back(self) -> None:
        self.visit_page(-1)

    def _show_place(self, place: ScreenPlace) -> None:
        node = self._page_widget(self.page).node
        self.page = place.page
        self.model = replace(self.model, subject=place.subject)
        self.query_one("#pages", ContentSwitcher).current = _page_id(place.page)
        self.show()
        table = self._page_widget(place.page).table
        self.set_focus(table, scroll_visible=False)  # immediately: otherwise the page is painted twice
        if node is not None:
            table.go_to(node)

    @property
    def _cursor_node(self) -> str | None:
        """The node under the cursor; None on a row without a node."""
        return self._page_widget(self.page).node


def _page_id(page: ScreenPage) -> str:
    return f"page-{page.name.lower().replace('_', '-')}"


def escape_markup(text: str) -> str:
    return text.replace("[", r"\[")
