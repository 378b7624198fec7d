"""The plan screen: actions of keys on the selection and on the view."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from textual import on

from kubectl_eksdoc.drain.command.screen_ports import RunKind
from kubectl_eksdoc.drain.report.plan import plan_command
from kubectl_eksdoc.report.text import Appearance, printable

from . import base_app as framed
from . import edits, keymap
from .base_app import SCREENS_CSS
from .help import HelpScreen
from .keymap import Hint, KeyBinding, ScreenPage
from .knobs_screen import KnobsScreen
from .line_table import LineTable
from .model import ChooseContext, EditHistory, InspectPod, ReadAgain, TableView
from .opening import Opening
from .pages import COPY_FIX
from .panel import AskLine
from .planning import PlanDataScreen
from .rights import unavailable_reason

if TYPE_CHECKING:
    from .run.following import FollowedRun
ENTER_TARGETS: dict[str, tuple[ScreenPage, bool]] = {
    "nodes": (ScreenPage.PODS, True),
    "budgets": (ScreenPage.HEADROOM, False),
    "waves": (ScreenPage.WAVES, False),
    "waves-now": (ScreenPage.WAVES, False),
    "all-budgets": (ScreenPage.BUDGET, True),
    "all-waves": (ScreenPage.PODS, True),
}
"""The page that enter opens, by table; and whether the page is about the row."""


_FULL_MENU_COLUMNS = 75
"""Minimum columns for the menu after m in full words."""

_ROW_ACTIONS = frozenset({"mark", "allow"})
"""Actions that have an effect only on some rows."""

_RUN_ACTIONS = frozenset({"dry_run", "run", "runs", "show_run"})
"""Actions that need a run controller."""


class PlanScreen(PlanDataScreen):
    """Mutable: whether the next key selects what is marked, and where a range of marks begins."""

    CSS_PATH = SCREENS_CSS

    def __init__(self, opening: Opening, read: Callable[[], object], followed_run: Callable[[], FollowedRun]) -> None:
        super().__init__(opening, read)
        self._followed_run = followed_run
        self._is_marking = False
        self._range_from: str | None = None

    def action_do(self, name: str) -> None:
        """Run the action of a key; a key without effect says why."""
        key = self.keymap.by_id(name)
        if reason := self.refusal(key):
            self.notify(f"{key.shown}: {reason}", timeout=6, markup=False)
        elif key.action in edits.EDITS:
            cursor_place, cause = self._cursor_place, self._cursor_place.cause
            result = edits.EDITS[key.action](self.model, cursor_place, key.given if isinstance(key.given, int) else 0)
            self._apply_edit(key.shown, result)
            if key.action == "mark" and cause is None:
                self._range_from = cursor_place.node
                if self.page is ScreenPage.PLAN:
                    self._page_widget(self.page).table.action_move(1)
        else:
            method = getattr(self, f"do_{key.action}")
            method(*(() if key.given is None else (key.given,)))

    # Edits of the selection

    def refusal(self, key: KeyBinding) -> str:
        reason = (
            self._opening.read_only_reason
            if self._opening.run_controller is None and key.action in _RUN_ACTIONS
            else ""
        ) or unavailable_reason(key, self.model, self.page)
        if (
            not reason
            and key.action in _ROW_ACTIONS
            and (self._cursor_node is None or self.page is ScreenPage.BLOCKERS)
        ):
            result = edits.EDITS[key.action](self.model, self._cursor_place, 0)
            reason = result if isinstance(result, str) else ""
        return reason

    @property
    def _cursor_place(self) -> edits.CursorPlace:
        cause = self._page_widget(self.page).cause if self.page is ScreenPage.BLOCKERS else None
        return edits.CursorPlace(self._cursor_node, self._range_from, cause)

    def _apply_edit(self, key: str, result: edits.EditResult) -> None:
        if isinstance(result, str):
            self.notify(f"{key}: {result}", timeout=4, markup=False)
        else:
            self._set_choice(result)

    def do_knobs(self) -> None:
        def turn(knob: str, by: int) -> None:
            self._apply_edit("o", edits.turn_knob(self.model, knob, by))

        self.app.push_screen(KnobsScreen(self.model, turn, self.action_do, self.keymap))

    def show(self) -> None:
        super().show()
        if isinstance(self.app.screen, KnobsScreen):
            self.app.screen.show(self.model)

    def do_mark_more(self) -> None:
        """The next key says which nodes to mark."""
        self._is_marking = True
        key = self.keymap.by_id("mark-more")
        is_narrow = self.size.width < _FULL_MENU_COLUMNS
        groups = [
            Hint(menu_key, brief if is_narrow else description, (f"mark_by('{menu_key}')",))
            for menu_key, description, brief in edits.MARK_MENU
        ]
        self._foot_bar.show(groups if is_narrow else [Hint(key.shown, key.words), *groups])

    def action_mark_by(self, key: str) -> None:
        """A click on a group of the menu."""
        self._is_marking = False
        self._mark_by(key)

    def _show_foot_text(self, text: str) -> None:
        self._foot_bar.show([Hint(text, "")])

    def do_undo(self) -> None:
        choice = self.model.choice
        self._apply_choice(choice.undo(), f"undone: {choice.past[-1].description}")

    def do_redo(self) -> None:
        choice = self.model.choice
        self._apply_choice(choice.redo(), f"done again: {choice.future[-1].description}")

    def _apply_choice(self, choice: EditHistory, message: str) -> None:
        self._set_choice(choice)
        self.notify(message, timeout=3, markup=False)

    def do_compare(self) -> None:
        """Open the comparison. The current plan is pinned as A where none is pinned yet, and on the page of the
        comparison itself."""
        if self.model.pinned_plan is None or self.page is ScreenPage.WHAT_IF:
            self.model = replace(self.model, pinned_plan=self.model.latest_plan)
            self.notify("this plan is A now: what you change is compared with it", timeout=4)
        if self.page is ScreenPage.WHAT_IF:
            self.show()
        else:
            self._go_to(ScreenPage.WHAT_IF)

    def mark_next(self, drained: Collection[str]) -> None:
        """After a run: mark the next outdated group, without nodes that were drained."""
        group = (
            edits.next_outdated_group(self.model, drained) if self.model.facts is not None else "nothing is read yet"
        )
        if isinstance(group, str):
            self.notify(f"N: {group}", timeout=8, markup=False)
        else:
            self._set_choice(self.model.choice.with_marks(*group))
            self.notify(group[1], timeout=6, markup=False)

    def do_filter(self) -> None:
        self.query_one("#filter", AskLine).open(self.model.filter)

    def do_prompt(self) -> None:
        self.query_one("#prompt", AskLine).open()
        self._show_foot_text("  ".join(keymap.command_candidates("")))

    def do_sort(self, column: str) -> None:
        self._set_table_view(replace(self.model.table_view, order=self.model.table_view.order.by_column(column)))

    def do_sort_next(self) -> None:
        self._set_table_view(replace(self.model.table_view, order=self.model.table_view.order.next_column()))

    def do_toggle(self, name: str) -> None:
        self._set_table_view(self.model.table_view.toggled(name))

    def _set_table_view(self, table_view: TableView) -> None:
        self.model = replace(self.model, table_view=table_view)
        self.show()

    def do_copy(self) -> None:
        """Copy the fix that the foot names; pressing the key again copies the next one. Fixes are shown in full,
        budgets for unguarded workloads only by number."""
        page = self._page_widget(self.page)
        copy_texts = page.copy_texts
        if not copy_texts:
            self.notify("y: nothing to copy: this row has no command that fixes it", timeout=5)
            return
        index = (copy_texts.index(self.app.clipboard) + 1) % len(copy_texts) if self.app.clipboard in copy_texts else 0
        self.app.copy_to_clipboard(copy_texts[index])
        position_text = f" {index + 1} of {len(copy_texts)} (y: the next)" if len(copy_texts) > 1 else ""
        copied_text = copy_texts[index] if page.copy_label == COPY_FIX else "as YAML, for kubectl apply -f"
        self.notify(
            printable(f"copied{position_text}: {copied_text}", Appearance(ascii=self._opening.ascii)),
            timeout=6,
            markup=False,
        )

    def do_inspect(self) -> None:
        pod = self._page_widget(self.page).pod
        if pod:
            cast("Any", self.app).on_inspect_pod(InspectPod(pod))  # synchronously: the next key is for that panel
        else:
            self.notify("d: no pod is under the cursor", timeout=4)

    def do_command(self) -> None:
        view = self.model.view
        if view is None or self.model.is_stale:
            self.notify("C: the plan is still being made", timeout=4)
            return
        command = plan_command(view)
        self.app.copy_to_clipboard(command)
        self.notify(f"copied: {command}", timeout=10, markup=False)

    def do_page(self, page: str) -> None:
        self._go_to(ScreenPage(page))

    def do_visited(self, by: int) -> None:
        if not self.visit_page(by):
            self.notify(f"there is no page {'before' if by < 0 else 'after'} this one", timeout=3)

    def do_last_page(self) -> None:
        """Switch between the last two pages."""
        if self.back_stack:
            last = self.back_stack[-1]
            self._go_to(last.page, last.subject)
        else:
            self.notify("-: no other page was seen yet", timeout=3)

    def do_reload(self) -> None:
        self.notify("the cluster is read again", timeout=3)
        self.post_message(ReadAgain())

    def do_rights(self) -> None:
        cast("Any", self.app).show_rights()

    def do_context(self) -> None:
        self.post_message(ChooseContext())

    def do_run(self) -> None:
        run_controller, view, plan_input = self._opening.run_controller, self.model.view, self.model.choice.plan_input
        assert run_controller is not None, "_no_run_by has looked"
        if self._followed_run().is_running:
            self.notify("r: a run is under way: 5 shows it", timeout=6)
        elif view is not None and self.model.facts is not None:
            targeting = self._selection.targeting_of(self.model.facts.cluster, plan_input)
            self._followed_run().confirm(
                RunKind.DRAIN, lambda: run_controller.prepare(targeting, plan_input.policy, view)
            )

    def do_dry_run(self) -> None:
        if self.model.view is not None:
            self._followed_run().dry_run(self.model.view)

    def do_by_hand(self, verb: str) -> None:
        """Copy the kubectl command: these screens change the cluster only by a run."""
        node, facts = self._cursor_node, self.model.facts
        if node is None or facts is None:
            self.notify(f"{verb}: the row under the cursor is no node", timeout=4)
            return
        if self._opening.live is None:
            self.notify(f"{verb}: there is no cluster for kubectl here; a run cordons by itself", timeout=5)
            return
        command = shlex.join(["kubectl", verb, node, *self._opening.connection_args(facts.cluster)])
        self.app.copy_to_clipboard(command)
        self.notify(f"copied: {command} (a run cordons by itself)", timeout=8, markup=False)

    def do_show_run(self) -> None:
        if self._followed_run().state is not None:
            self._followed_run().show()
        else:
            self.do_runs()

    def do_runs(self) -> None:
        """Show the runs of the cluster, started by any user."""
        facts = self.model.facts
        if self._followed_run().is_running:
            self.notify("L: a run is under way: 5 shows it", timeout=6)
        else:
            connection_args = self._opening.connection_args(facts.cluster) if facts is not None else ()
            self._followed_run().choose_run(self._opening.now, connection_args)

    def do_help(self) -> None:
        self.app.push_screen(HelpScreen(self.page, self.keymap))

    def do_back(self) -> None:
        if (self.model.filter or self.model.table_view.faults) and self.page is ScreenPage.PLAN:
            self.model = replace(self.model, filter="", table_view=replace(self.model.table_view, faults=False))
            self.show()
        else:
            self.go_back()

    def do_leave(self) -> None:
        """Back to the nodes, then leave, without stepping through the visited pages."""
        if self.page is not ScreenPage.PLAN:
            self.do_back()
        else:
            self.app.run_worker(self.app.action_quit())

    # The key after m, and the filter

    def handles_key(self, key: str) -> bool:
        """Handle m and the key after it, whose own binding must not run."""
        if self._is_marking:
            self._is_marking = False
            self._mark_by(key)
        elif self._is_mark_prefix(key):
            self.do_mark_more()
        else:
            return False
        return True

    def _is_mark_prefix(self, pressed: str) -> bool:
        """Whether the key starts marking. On another page it says why not, as any key does. Before the first read it
        still takes the next key, and then reports the reason."""
        key = self.keymap.by_id("mark-more")
        return pressed in key.keys.split(",") and self.page in key.pages

    def _mark_by(self, key: str) -> None:
        node = self._cursor_node
        self.show()
        if key == "escape":
            return
        reason = unavailable_reason(self.keymap.by_id("mark-more"), self.model, self.page)
        if reason:
            self.notify(f"{self.keymap.by_id('mark-more').shown} {key}: {reason}", timeout=5, markup=False)
            return
        group = edits.mark_group(key, self.model, node)
        if isinstance(group, str):
            self.notify(group, timeout=5, markup=False)
        else:
            self._set_choice(self.model.choice.with_marks(*group))

    @on(AskLine.Changed, "#filter")
    def _filter_changed(self, event: AskLine.Changed) -> None:
        self.model = replace(self.model, filter=event.text)
        self.show()

    @on(AskLine.Submitted, "#filter")
    def _filter_submitted(self, event: AskLine.Submitted) -> None:
        self.set_focus(self._page_widget(self.page).table)
        self.show_foot()

    @on(AskLine.Cancelled, "#filter")
    def _filter_cancelled(self, event: AskLine.Cancelled) -> None:
        self.model = replace(self.model, filter="")
        self.set_focus(self._page_widget(self.page).table)
        self.show()

    # The prompt after the colon

    @on(AskLine.Changed, "#prompt")
    def _prompt_changed(self, event: AskLine.Changed) -> None:
        self._show_foot_text("  ".join(keymap.command_candidates(event.text)) or str(keymap.parse_command(event.text)))

    @on(AskLine.Cancelled, "#prompt")
    def _prompt_cancelled(self, event: AskLine.Cancelled) -> None:
        self.set_focus(self._page_widget(self.page).table)
        self.show()

    @on(AskLine.Submitted, "#prompt")
    def _prompt_submitted(self, event: AskLine.Submitted) -> None:
        self._prompt_cancelled(AskLine.Cancelled(event.line, ""))
        typed_command = keymap.parse_command(event.text)
        if isinstance(typed_command, str):
            self.notify(typed_command, timeout=6, markup=False)
        elif typed_command.command.key == "compare" and self.page is ScreenPage.WHAT_IF:
            self.notify("what-if is this page", timeout=3)
        elif "theme" in typed_command.command.names:
            self.app.theme = framed.THEMES_BY_NAME[typed_command.value]
            self.call_after_refresh(self.show)
        else:
            self.action_do(typed_command.command.key)

    @on(LineTable.Moved)
    def _cursor_moved(self, event: LineTable.Moved) -> None:
        event.stop()
        page = self._page_widget(self.page)
        if page in event.table.ancestors and event.key == event.table.key:  # otherwise the cursor has already moved on
            page.cursor_moved(event.table, event.key, self.model)
            self.show_foot()

    @on(LineTable.Opened)
    def _opened(self, event: LineTable.Opened) -> None:
        """Enter only opens pages; it never changes anything."""
        target, is_about_row = ENTER_TARGETS.get(event.table.id or "", (None, False))
        if target is None:
            return
        self._go_to(target, event.key if is_about_row else "")
        if not is_about_row:
            self._page_widget(target).table.go_to(event.key)
