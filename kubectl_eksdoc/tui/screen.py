"""The screen with all pages: what keys do to the choice, and what is shown of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Input, Static

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.plan.drain.policy import Targeting
from kubectl_eksdoc.core.plan.drain.targets import natural, select
from kubectl_eksdoc.core.plan.drain.verdicts.assuming import with_assumed_budgets
from kubectl_eksdoc.core.plan.drain.what_if import WhatIf
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.render.drain.given import as_given
from kubectl_eksdoc.render.drain.invocation import again
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.text import shown
from kubectl_eksdoc.tui import details, edits, marking, words
from kubectl_eksdoc.tui.choice import Ask, Choice
from kubectl_eksdoc.tui.help import HelpScreen
from kubectl_eksdoc.tui.keys import KEYS, Page, foot
from kubectl_eksdoc.tui.model import Facts, Model, Planned
from kubectl_eksdoc.tui.opening import Opening
from kubectl_eksdoc.tui.pages.blockers import BlockersPage
from kubectl_eksdoc.tui.pages.headroom import HeadroomPage
from kubectl_eksdoc.tui.pages.page import PageOf
from kubectl_eksdoc.tui.pages.plan import PlanPage
from kubectl_eksdoc.tui.pages.waves import WavesPage
from kubectl_eksdoc.tui.pages.what_if import WhatIfPage
from kubectl_eksdoc.tui.planning import Glimpse, News, Planner
from kubectl_eksdoc.tui.reasons import why_not
from kubectl_eksdoc.tui.widgets.line_table import LineTable

_PAGES: dict[Page, type[PageOf]] = {
    Page.PLAN: PlanPage,
    Page.HEADROOM: HeadroomPage,
    Page.WAVES: WavesPage,
    Page.BLOCKERS: BlockersPage,
    Page.WHAT_IF: WhatIfPage,
}


class PlanScreen(Screen[None]):
    """Mutable: the model as it is now, the page that is shown, and those that were shown before it."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key.keys, f"do('{key.id}')", key.words, id=key.id, show=False) for key in KEYS),
    ]

    def __init__(self, opening: Opening, read: Callable[[], object]) -> None:
        """`read`: the cluster is to be read anew."""
        super().__init__()
        self._opening = opening
        self._read = read
        self.model = Model()
        self.page = Page.PLAN
        self.before: list[Page] = []
        self._planner: Planner | None = None
        self._marking = False
        self._range_from: str | None = None
        self._given = Targeting()

    def compose(self) -> ComposeResult:
        yield Static(id="identity")
        yield Static(id="line")
        with ContentSwitcher(initial=_id(Page.PLAN), id="pages"):
            for page, kind in _PAGES.items():
                yield kind(id=_id(page))
        yield Input(id="filter", placeholder="filter: text, !text for those without it")
        yield Static(id="foot")

    def on_mount(self) -> None:
        self.query_one("#filter").display = False
        self._of(Page.PLAN).table.focus()
        self.show()

    def on_unmount(self) -> None:
        if self._planner is not None:
            self._planner.close()

    # What is shown

    def show(self) -> None:
        """All that depends on the model, of the page that is seen."""
        look = Look(ascii=self._opening.ascii)
        for name, text in (
            ("identity", words.identity(self.model, self._opening.now())),
            ("line", words.plan_line(self.model)),
            ("foot", foot(self.page)),
        ):
            self.query_one(f"#{name}", Static).update(_plain(shown(text, look)))
        self._of(self.page).show(self.model)

    def _of(self, page: Page) -> PageOf:
        return self.query_one(f"#{_id(page)}", PageOf)

    def _go(self, page: Page, remember: bool = True) -> None:
        if page is self.page:
            return
        if remember:
            self.before.append(self.page)
        node = self._of(self.page).node
        self.page = page
        self.query_one("#pages", ContentSwitcher).current = _id(page)
        self.show()
        table = self._of(page).table
        table.focus()
        if node is not None:
            table.go_to(node)

    # What is told from elsewhere

    def progressed(self, kind: str, count: int) -> None:
        self.model = replace(self.model, reading=f"reading: {count} {kind}")
        self.show()

    def read(self, facts: Facts) -> None:
        """Marks stay where their nodes still are; the first time those that were named are marked."""
        first = self.model.facts is None
        self.model = replace(self.model, facts=facts, planned=None, preview=None, trouble="")
        if self._planner is not None:
            self._planner.close()
        self._planner = Planner(facts.cluster, self._view_of, self._told)
        if first:
            self._mark_what_was_named(facts.cluster)
        else:
            there = self.model.choice.ask.marked & facts.nodes.nodes.keys()
            self._choose(self.model.choice.marked_are(there, "nodes that are gone are marked no more"), anew=True)

    def not_read(self, why: str, remedy: str) -> None:
        """What was read before stays."""
        told = "nothing could be read: ctrl+r tries again"
        self.model = replace(self.model, trouble=why, remedy=remedy, reading=told)
        self.notify(shown(f"{why}. {remedy}", Look(ascii=self._opening.ascii)), severity="error", markup=False)
        self.show()

    def _mark_what_was_named(self, cluster: Cluster) -> None:
        self._given = self._opening.targeting()
        try:
            marked = self._named(cluster)
        except EksdocError as error:
            marked = frozenset()
            self.notify(f"{error.message}. {error.hint}", severity="warning", timeout=20, markup=False)
        self._choose(replace(self.model.choice, ask=Ask(marked)), anew=True)

    def _named(self, cluster: Cluster) -> frozenset[str]:
        """The nodes that were named when it was opened. Raises UsageError: one of them is not there."""
        if self._given.empty:
            return frozenset()
        return frozenset(n.name for n in select(cluster.nodes, self._given, (pool.name for pool in cluster.node_pools)))

    def _view_of(self, cluster: Cluster, ask: Ask, kept: WhatIf) -> DrainView:
        """In the planner's thread."""
        options = as_given(self._targeting_of(cluster, ask), ask.policy)
        assumed = with_assumed_budgets(cluster, ask.policy)
        return DrainView(kept.plan, assumed, options, reached_by=self._opening.reached_by(cluster))

    def _targeting_of(self, cluster: Cluster, ask: Ask) -> Targeting:
        """As it was given at the start while it still means the same nodes; else by name."""
        try:
            if ask.marked and self._named(cluster) == ask.marked:
                return self._given
        except EksdocError:
            pass  # what was named is gone: those that are there are named one by one
        return Targeting(names=tuple(sorted(ask.marked, key=natural)))

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
            self.model = replace(self.model, preview=news.preview)
        else:
            self.model = replace(self.model, trouble=news.why, planned=None, preview=None)
        self.show()

    # What keys do

    def action_do(self, name: str) -> None:
        """A key that is not available says why."""
        if self._marking:
            return
        key = next(each for each in KEYS if each.id == name)
        reason = why_not(key, self.model, self.page)
        if reason:
            self.notify(f"{key.shown}: {reason}", timeout=4, markup=False)
            return
        method = getattr(self, f"do_{key.action}")
        method(*(() if key.given is None else (key.given,)))

    def do_mark(self) -> None:
        node = self._node
        self._edit("space", edits.marked(self.model, node))
        if self.page is Page.PLAN:
            self._of(self.page).table.action_move(1)
        self._range_from = node

    def do_mark_more(self) -> None:
        self._marking = True
        self.query_one("#foot", Static).update(_plain(marking.MENU))

    def do_mark_range(self) -> None:
        self._edit("ctrl+space", edits.marked_up_to(self.model, self._range_from, self._node))

    def do_mark_none(self) -> None:
        self._edit("ctrl+\\", edits.unmarked(self.model))

    def do_parallel(self, by: int) -> None:
        self._edit("{ }", edits.parallel(self.model, by))

    def do_grace(self, by: int) -> None:
        self._edit("( )", edits.grace(self.model, by))

    def do_move_node(self, by: int) -> None:
        self._edit("J K", edits.moved(self.model, self._node, by))

    def do_pin(self) -> None:
        self._edit("p", edits.pinned(self.model, self._node))

    def do_pin_last(self) -> None:
        self._edit("P", edits.pinned_last(self.model, self._node))

    def do_undo(self) -> None:
        said = self.model.choice.past[-1].words
        self._choose(self.model.choice.undone())
        self.notify(f"undone: {said}", timeout=3, markup=False)

    def do_redo(self) -> None:
        said = self.model.choice.future[-1].words
        self._choose(self.model.choice.redone())
        self.notify(f"done again: {said}", timeout=3, markup=False)

    def do_compare(self) -> None:
        """The first time it pins; on its own page it pins anew."""
        if self.model.pinned is None or self.page is Page.WHAT_IF:
            self.model = replace(self.model, pinned=self.model.planned)
            self.notify("this plan is A now: what you change is compared with it", timeout=4)
        if self.page is Page.WHAT_IF:
            self.show()
        else:
            self._go(Page.WHAT_IF)

    def do_filter(self) -> None:
        field = self.query_one("#filter", Input)
        field.display = True
        field.value = self.model.filter
        field.focus()

    def do_copy(self) -> None:
        page = self._of(Page.BLOCKERS)
        group = page.group if isinstance(page, BlockersPage) else None
        command = details.command_of(group) if group is not None else ""
        if not command:
            self.notify("y: there is no command for this one, a person must decide", timeout=5)
            return
        self.app.copy_to_clipboard(command)
        self.notify(f"copied: {command}", timeout=6, markup=False)

    def do_command(self) -> None:
        view = self.model.view
        if view is None or self.model.stale:
            self.notify("C: the plan is still being made", timeout=4)
            return
        command = again(view)
        self.app.copy_to_clipboard(command)
        self.notify(f"copied: {command}", timeout=10, markup=False)

    def do_page(self, page: Page) -> None:
        self._go(page)

    def do_reload(self) -> None:
        self.notify("the cluster is read anew", timeout=3)
        self._read()

    def do_help(self) -> None:
        self.app.push_screen(HelpScreen(self.page))

    def do_back(self) -> None:
        if self.model.filter and self.page is Page.PLAN:
            self.model = replace(self.model, filter="")
            self.show()
        elif self.before:
            self._go(self.before.pop(), remember=False)

    def do_leave(self) -> None:
        if self.before:
            self.do_back()
        else:
            self.app.exit(0)

    # Which key follows m, and what is typed after /

    def on_key(self, event: events.Key) -> None:
        if not self._marking:
            return
        self._marking = False
        event.stop()
        event.prevent_default()
        node = self._node
        self.show()
        if self.model.facts is None or event.key == "escape":
            return
        found = marking.marked(event.key, self.model, node)
        if isinstance(found, str):
            self.notify(found, timeout=5, markup=False)
        else:
            self._choose(self.model.choice.marked_are(*found))

    @on(Input.Changed, "#filter")
    def _filtering(self, event: Input.Changed) -> None:
        self.model = replace(self.model, filter=event.value)
        self.show()

    @on(Input.Submitted, "#filter")
    def _filtered(self, event: Input.Submitted) -> None:
        event.input.display = False
        self._of(Page.PLAN).table.focus()

    @on(LineTable.Moved)
    def _moved(self, event: LineTable.Moved) -> None:
        page = self._of(self.page)
        if event.table in page.query(LineTable):
            page.moved(event.table, event.key, self.model)

    @on(LineTable.Opened)
    def _opened(self, event: LineTable.Opened) -> None:
        """Enter opens, and never does anything."""
        where = {"nodes": Page.WAVES, "budgets": Page.HEADROOM, "waves": Page.WAVES, "waves-now": Page.WAVES}
        to = where.get(event.table.id or "")
        if to is not None:
            key = event.key
            self._go(to)
            self._of(to).table.go_to(key)

    # The choice

    @property
    def _node(self) -> str | None:
        return self._of(self.page).node

    def _edit(self, key: str, edited: edits.Edited) -> None:
        if isinstance(edited, str):
            self.notify(f"{key}: {edited}", timeout=4, markup=False)
        else:
            self._choose(edited)

    def _choose(self, choice: Choice, anew: bool = False) -> None:
        if choice.ask == self.model.choice.ask and not anew:
            return
        self.model = self.model.chosen(choice)
        if self._planner is not None:
            self._planner.ask(choice.ask)
        self.show()


def _id(page: Page) -> str:
    return f"page-{page.name.lower().replace('_', '-')}"


def _plain(text: str) -> str:
    return text.replace("[", r"\[")
