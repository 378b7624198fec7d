"""The plan screen: actions of keys on the selection and on the view."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from textual import on

from kubectl_eksdoc.drain.command.screen_ports import RunKind
from kubectl_eksdoc.drain.report.plan import again
from kubectl_eksdoc.report.text import Look, shown

from . import base_app as framed
from . import edits, keymap
from .base_app import SCREENS_CSS
from .help import HelpScreen
from .keymap import Hint, KeyBinding, ScreenPage
from .knobs_screen import KnobsScreen
from .line_table import LineTable
from .model import EditHistory, InspectPod, OtherContexts, ReadAnew, TableView
from .opening import Opening
from .pages import FIX
from .panel import AskLine
from .planning import LearningScreen
from .rights import why_not

if TYPE_CHECKING:
    from .run.following import FollowedRun
OPENS: dict[str, tuple[ScreenPage, bool]] = {
    "nodes": (ScreenPage.PODS, True),
    "budgets": (ScreenPage.HEADROOM, False),
    "waves": (ScreenPage.WAVES, False),
    "waves-now": (ScreenPage.WAVES, False),
    "all-budgets": (ScreenPage.BUDGET, True),
    "all-waves": (ScreenPage.PODS, True),
}
"""The page that enter opens, by table; and whether the page is about the row."""


_ROOMY_MENU = 75
"""Minimum columns for the menu after m in full words."""

_OF_THE_ROW = frozenset({"mark", "allow"})
"""Actions that have an effect only on some rows."""

_AT_THE_DESK = frozenset({"dry_run", "run", "runs", "show_run"})
"""Actions that need a run controller."""


class PlanScreen(LearningScreen):
    """Mutable: whether the next key selects what is marked, and where a range of marks begins."""

    CSS_PATH = SCREENS_CSS

    def __init__(self, opening: Opening, read: Callable[[], object], following: Callable[[], FollowedRun]) -> None:
        super().__init__(opening, read)
        self._following = following
        self._marking = False
        self._range_from: str | None = None

    def action_do(self, name: str) -> None:
        """Run the action of a key; a key without effect says why."""
        key = self.keymap.of(name)
        if reason := self.refusal(key):
            self.notify(f"{key.shown}: {reason}", timeout=6, markup=False)
        elif key.action in edits.EDITS:
            at, cause = self._cursor_place, self._cursor_place.cause
            edited = edits.EDITS[key.action](self.model, at, key.given if isinstance(key.given, int) else 0)
            self._take(key.shown, edited)
            if key.action == "mark" and cause is None:
                self._range_from = at.node
                if self.page is ScreenPage.PLAN:
                    self._of(self.page).table.action_move(1)
        else:
            method = getattr(self, f"do_{key.action}")
            method(*(() if key.given is None else (key.given,)))

    # Edits of the selection

    def refusal(self, key: KeyBinding) -> str:
        reason = (
            self._opening.no_desk if self._opening.desk is None and key.action in _AT_THE_DESK else ""
        ) or why_not(key, self.model, self.page)
        if not reason and key.action in _OF_THE_ROW and (self._node is None or self.page is ScreenPage.BLOCKERS):
            edited = edits.EDITS[key.action](self.model, self._cursor_place, 0)
            reason = edited if isinstance(edited, str) else ""
        return reason

    @property
    def _cursor_place(self) -> edits.CursorPlace:
        cause = self._of(self.page).cause if self.page is ScreenPage.BLOCKERS else None
        return edits.CursorPlace(self._node, self._range_from, cause)

    def _take(self, key: str, edited: edits.Edited) -> None:
        if isinstance(edited, str):
            self.notify(f"{key}: {edited}", timeout=4, markup=False)
        else:
            self._choose(edited)

    def do_knobs(self) -> None:
        def turn(knob: str, by: int) -> None:
            self._take("o", edits.turned(self.model, knob, by))

        self.app.push_screen(KnobsScreen(self.model, turn, self.action_do, self.keymap))

    def show(self) -> None:
        super().show()
        if isinstance(self.app.screen, KnobsScreen):
            self.app.screen.show(self.model)

    def do_mark_more(self) -> None:
        """The next key says which nodes to mark."""
        self._marking = True
        key = self.keymap.of("mark-more")
        in_brief = self.size.width < _ROOMY_MENU
        groups = [Hint(each, brief if in_brief else does, (f"mark_by('{each}')",)) for each, does, brief in edits.MENU]
        self._foot_bar.show(groups if in_brief else [Hint(key.shown, key.words), *groups])

    def action_mark_by(self, key: str) -> None:
        """A click on a group of the menu."""
        self._marking = False
        self._mark_by(key)

    def _foot(self, text: str) -> None:
        self._foot_bar.show([Hint(text, "")])

    def do_undo(self) -> None:
        choice = self.model.choice
        self._changed(choice.undone(), f"undone: {choice.past[-1].words}")

    def do_redo(self) -> None:
        choice = self.model.choice
        self._changed(choice.redone(), f"done again: {choice.future[-1].words}")

    def _changed(self, choice: EditHistory, said: str) -> None:
        self._choose(choice)
        self.notify(said, timeout=3, markup=False)

    def do_compare(self) -> None:
        """Pin the first plan; on its own page, pin the current plan."""
        if self.model.pinned is None or self.page is ScreenPage.WHAT_IF:
            self.model = replace(self.model, pinned=self.model.planned)
            self.notify("this plan is A now: what you change is compared with it", timeout=4)
        if self.page is ScreenPage.WHAT_IF:
            self.show()
        else:
            self._go(ScreenPage.WHAT_IF)

    def mark_next(self, drained: Collection[str]) -> None:
        """After a run: mark the next outdated group, without nodes that were drained."""
        found = edits.next_group(self.model, drained) if self.model.facts is not None else "nothing is read yet"
        if isinstance(found, str):
            self.notify(f"N: {found}", timeout=8, markup=False)
        else:
            self._choose(self.model.choice.marked_are(*found))
            self.notify(found[1], timeout=6, markup=False)

    def do_filter(self) -> None:
        self.query_one("#filter", AskLine).open(self.model.filter)

    def do_prompt(self) -> None:
        self.query_one("#prompt", AskLine).open()
        self._foot("  ".join(keymap.begins("")))

    def do_sort(self, column: str) -> None:
        self._look(replace(self.model.seen, order=self.model.seen.order.by(column)))

    def do_sort_next(self) -> None:
        self._look(replace(self.model.seen, order=self.model.seen.order.next()))

    def do_toggle(self, name: str) -> None:
        self._look(self.model.seen.toggled(name))

    def _look(self, seen: TableView) -> None:
        self.model = replace(self.model, seen=seen)
        self.show()

    def do_copy(self) -> None:
        """Copy the fix that the foot names; pressing the key again copies the next one. Fixes are shown in full,
        budgets for unguarded workloads only by number."""
        page = self._of(self.page)
        fixes = page.copied
        if not fixes:
            self.notify("y: nothing to copy: this row has no command that fixes it", timeout=5)
            return
        at = (fixes.index(self.app.clipboard) + 1) % len(fixes) if self.app.clipboard in fixes else 0
        self.app.copy_to_clipboard(fixes[at])
        which = f" {at + 1} of {len(fixes)} (y: the next)" if len(fixes) > 1 else ""
        said = fixes[at] if page.copies == FIX else "as YAML, for kubectl apply -f"
        self.notify(shown(f"copied{which}: {said}", Look(ascii=self._opening.ascii)), timeout=6, markup=False)

    def do_inspect(self) -> None:
        pod = self._of(self.page).pod
        if pod:
            cast("Any", self.app).on_inspect_pod(InspectPod(pod))  # synchronously: the next key is for that panel
        else:
            self.notify("d: no pod is under the cursor", timeout=4)

    def do_command(self) -> None:
        view = self.model.view
        if view is None or self.model.stale:
            self.notify("C: the plan is still being made", timeout=4)
            return
        command = again(view)
        self.app.copy_to_clipboard(command)
        self.notify(f"copied: {command}", timeout=10, markup=False)

    def do_page(self, page: str) -> None:
        self._go(ScreenPage(page))

    def do_visited(self, by: int) -> None:
        if not self.visit(by):
            self.notify(f"there is no page {'before' if by < 0 else 'after'} this one", timeout=3)

    def do_last_page(self) -> None:
        """Switch between the last two pages."""
        if self.before:
            last = self.before[-1]
            self._go(last.page, last.about)
        else:
            self.notify("-: no other page was seen yet", timeout=3)

    def do_reload(self) -> None:
        self.notify("the cluster is read again", timeout=3)
        self.post_message(ReadAnew())

    def do_rights(self) -> None:
        cast("Any", self.app).show_rights()

    def do_context(self) -> None:
        self.post_message(OtherContexts())

    def do_run(self) -> None:
        desk, view, ask = self._opening.desk, self.model.view, self.model.choice.ask
        assert desk is not None, "_no_run_by has looked"
        if self._following().under_way:
            self.notify("r: a run is under way: 5 shows it", timeout=6)
        elif view is not None and self.model.facts is not None:
            targeting = self._given.targeting_of(self.model.facts.cluster, ask)
            self._following().ask(RunKind.DRAIN, lambda: desk.prepare(targeting, ask.policy, view))

    def do_dry_run(self) -> None:
        if self.model.view is not None:
            self._following().try_first(self.model.view)

    def do_by_hand(self, verb: str) -> None:
        """Copy the kubectl command: these screens change the cluster only by a run."""
        node, facts = self._node, self.model.facts
        if node is None or facts is None:
            self.notify(f"{verb}: the row under the cursor is no node", timeout=4)
            return
        if self._opening.live is None:
            self.notify(f"{verb}: there is no cluster for kubectl here; a run cordons by itself", timeout=5)
            return
        command = shlex.join(["kubectl", verb, node, *self._opening.reached_by(facts.cluster)])
        self.app.copy_to_clipboard(command)
        self.notify(f"copied: {command} (a run cordons by itself)", timeout=8, markup=False)

    def do_show_run(self) -> None:
        if self._following().state is not None:
            self._following().show()
        else:
            self.do_runs()

    def do_runs(self) -> None:
        """Show the runs of the cluster, started by any user."""
        facts = self.model.facts
        if self._following().under_way:
            self.notify("L: a run is under way: 5 shows it", timeout=6)
        else:
            reached_by = self._opening.reached_by(facts.cluster) if facts is not None else ()
            self._following().choose_a_run(self._opening.now, reached_by)

    def do_help(self) -> None:
        self.app.push_screen(HelpScreen(self.page, self.keymap))

    def do_back(self) -> None:
        if (self.model.filter or self.model.seen.faults) and self.page is ScreenPage.PLAN:
            self.model = replace(self.model, filter="", seen=replace(self.model.seen, faults=False))
            self.show()
        else:
            self.back()

    def do_leave(self) -> None:
        """Back to the nodes, then leave, without stepping through the visited pages."""
        if self.page is not ScreenPage.PLAN:
            self.do_back()
        else:
            self.app.run_worker(self.app.action_quit())

    # The key after m, and the filter

    def takes(self, key: str) -> bool:
        """Handle m and the key after it, whose own binding must not run."""
        if self._marking:
            self._marking = False
            self._mark_by(key)
        elif self._begins_to_mark(key):
            self.do_mark_more()
        else:
            return False
        return True

    def _begins_to_mark(self, pressed: str) -> bool:
        """Whether the key starts marking. On another page it says why not, as any key does. Before the first read it
        still takes the next key, and then reports the reason."""
        key = self.keymap.of("mark-more")
        return pressed in key.keys.split(",") and self.page in key.pages

    def _mark_by(self, key: str) -> None:
        node = self._node
        self.show()
        if key == "escape":
            return
        reason = why_not(self.keymap.of("mark-more"), self.model, self.page)
        if reason:
            self.notify(f"{self.keymap.of('mark-more').shown} {key}: {reason}", timeout=5, markup=False)
            return
        found = edits.marked_group(key, self.model, node)
        if isinstance(found, str):
            self.notify(found, timeout=5, markup=False)
        else:
            self._choose(self.model.choice.marked_are(*found))

    @on(AskLine.Changed, "#filter")
    def _filtering(self, event: AskLine.Changed) -> None:
        self.model = replace(self.model, filter=event.text)
        self.show()

    @on(AskLine.Said, "#filter")
    def _filtered(self, event: AskLine.Said) -> None:
        self.set_focus(self._of(self.page).table)
        self.show_foot()

    @on(AskLine.Left, "#filter")
    def _unfiltered(self, event: AskLine.Left) -> None:
        self.model = replace(self.model, filter="")
        self.set_focus(self._of(self.page).table)
        self.show()

    # The prompt after the colon

    @on(AskLine.Changed, "#prompt")
    def _prompting(self, event: AskLine.Changed) -> None:
        self._foot("  ".join(keymap.begins(event.text)) or str(keymap.read_command(event.text)))

    @on(AskLine.Left, "#prompt")
    def _not_prompted(self, event: AskLine.Left) -> None:
        self.set_focus(self._of(self.page).table)
        self.show()

    @on(AskLine.Said, "#prompt")
    def _prompted(self, event: AskLine.Said) -> None:
        self._not_prompted(AskLine.Left(event.line, ""))
        found = keymap.read_command(event.text)
        if isinstance(found, str):
            self.notify(found, timeout=6, markup=False)
        elif found.command.key == "compare" and self.page is ScreenPage.WHAT_IF:
            self.notify("what-if is this page", timeout=3)
        elif "theme" in found.command.names:
            self.app.theme = framed.BY_WORD[found.value]
            self.call_after_refresh(self.show)
        else:
            self.action_do(found.command.key)

    @on(LineTable.Moved)
    def _moved(self, event: LineTable.Moved) -> None:
        event.stop()
        page = self._of(self.page)
        if page in event.table.ancestors and event.key == event.table.key:  # otherwise the cursor has already moved on
            page.moved(event.table, event.key, self.model)
            self.show_foot()

    @on(LineTable.Opened)
    def _opened(self, event: LineTable.Opened) -> None:
        """Enter only opens pages; it never changes anything."""
        to, about = OPENS.get(event.table.id or "", (None, False))
        if to is None:
            return
        self._go(to, event.key if about else "")
        if not about:
            self._of(to).table.go_to(event.key)
