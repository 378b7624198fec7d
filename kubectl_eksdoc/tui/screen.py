"""The screen with all pages: what keys do to the choice, and to what is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from textual import events, on
from textual.widgets import Input, Static

from kubectl_eksdoc.render.drain.invocation import again
from kubectl_eksdoc.tui import details, edits, marking
from kubectl_eksdoc.tui.help import HelpScreen
from kubectl_eksdoc.tui.keys import KEYS, Key, Page
from kubectl_eksdoc.tui.learning import LearningScreen
from kubectl_eksdoc.tui.opening import Opening
from kubectl_eksdoc.tui.pages.blockers import BlockersPage
from kubectl_eksdoc.tui.reasons import why_not
from kubectl_eksdoc.tui.shell import plain
from kubectl_eksdoc.tui.widgets.line_table import LineTable
from kubectl_eksdoc.tui.wishes import OtherContexts, ReadAnew


class PlanScreen(LearningScreen):
    """Mutable: whether the next key says what is marked, and where a range of marks begins."""

    def __init__(self, opening: Opening, read: Callable[[], object]) -> None:
        super().__init__(opening, read)
        self._marking = False
        self._range_from: str | None = None

    def action_do(self, name: str) -> None:
        """A key that is not available says why."""
        if self._marking:
            return
        key = next(each for each in KEYS if each.id == name)
        reason = why_not(key, self.model, self.page)
        if reason:
            self.notify(f"{key.shown}: {reason}", timeout=4, markup=False)
        elif key.action in edits.EDITS:
            self._edit(key)
        else:
            method = getattr(self, f"do_{key.action}")
            method(*(() if key.given is None else (key.given,)))

    # What it does to the choice

    def _edit(self, key: Key) -> None:
        at = edits.At(self._node, self._range_from)
        edited = edits.EDITS[key.action](self.model, at, key.given if isinstance(key.given, int) else 0)
        if isinstance(edited, str):
            self.notify(f"{key.shown}: {edited}", timeout=4, markup=False)
        else:
            self._choose(edited)
        if key.action == "mark":
            self._range_from = at.node
            if self.page is Page.PLAN:
                self._of(self.page).table.action_move(1)

    def do_mark_more(self) -> None:
        self._marking = True
        self.query_one("#foot", Static).update(plain(marking.MENU))

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
        self.post_message(ReadAnew())

    def do_context(self) -> None:
        self.post_message(OtherContexts())

    def do_help(self) -> None:
        self.app.push_screen(HelpScreen(self.page))

    def do_back(self) -> None:
        if self.model.filter and self.page is Page.PLAN:
            self.model = replace(self.model, filter="")
            self.show()
        else:
            self.back()

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
