"""The screen of a run: its page and log, and the keys that pause and stop it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Protocol

from textual import on
from textual.app import ComposeResult
from textual.widgets import ContentSwitcher, Input

from kubectl_eksdoc.drain.run.history import FINAL_STATES
from kubectl_eksdoc.drain.run.loop import RunRequest
from kubectl_eksdoc.report.text import Appearance

from .. import keymap
from ..base_app import SCREENS_CSS
from ..help import HelpScreen
from ..keymap import TYPING_HINTS, FootBar, HeadLine, Hint, KeyBinding, ScreenPage, appearance_of
from ..line_table import LineTable
from ..model import InspectPod
from ..paint import PaintedScreen
from ..panel import AskLine
from . import tables as sheets
from .confirm import EntryScreen
from .pages import LivePage, LogPage, RunPage, StopChoice, StopScreen, markdown_summary
from .state import RunState

# The keys of a run: Enter has no effect, and keys that stop or roll back ask first.


_PLAN_KEYS = tuple(
    replace(key, id=f"run-{key.id}", keys=number, shown=number, action="plan", words=f"the plan: {key.words}")
    for key in keymap.PLAN_KEYS
    for number in key.shown[:1]
    if key.action == "page"
)
_RUN_ONLY_KEYS = keymap.load_keys("run")
RUN_KEYS = (*_RUN_ONLY_KEYS[:-2], *_PLAN_KEYS, *_RUN_ONLY_KEYS[-2:])
"""Help and back are last."""


def unavailable_reason(key: KeyBinding, state: RunState, page: ScreenPage) -> str:
    """One clause; "" if the key has its effect."""
    if other_pages := key.other_pages_only(page):
        return other_pages
    if key.action in ("pause", "hold"):
        return _no_pause_reason(state) or ("it is paused already" if key.action == "hold" and state.is_paused else "")
    if key.action == "stop" and (state.is_over or state.request is RunRequest.LEAVE):
        return "it is over" if state.is_over else "it leaves at once already"
    if key.action == "leave_alone" and (state.is_over or not state.is_drain):
        return "it is over" if state.is_over else "nothing is drained"
    if key.action == "give_back" and not state.is_drain:
        return "this gives nodes back already"
    if key.action in ("next_group", "check"):
        return (
            ""
            if state.is_over and state.is_drain and not (state.outcome and state.outcome.has_failed)
            else _NOT_DRAINED
        )
    if key.action == "go_on":
        if not state.is_over:
            return "it is not over"
        return (
            ""
            if state.outcome is not None and state.outcome.has_failed and state.is_drain
            else "it has nothing left to resume"
        )
    if key.action == "others" and not state.is_over:
        return "this run is under way"
    if key.action in ("ticket", "save", "html") and not state.is_over:
        return "it is not over yet"
    return ""


_NOT_DRAINED = "first this run has to end with every node drained"


def _no_pause_reason(state: RunState) -> str:
    if state.is_over:
        return "it is over"
    if not state.is_drain:
        return "giving nodes back is not paused: it takes a moment"
    return "it is stopping, and asks for nothing more" if state.request in (RunRequest.STOP, RunRequest.LEAVE) else ""


def run_hints(
    state: RunState, page: ScreenPage, keys: Sequence[KeyBinding] = RUN_KEYS, labels: Mapping[str, str] | None = None
) -> tuple[Hint, ...]:
    """``space pause  a stop…``: the most useful first; keys without effect are omitted. `labels`: descriptions of some
    actions in this state."""
    all_labels = {"pause": "go on" if state.is_paused else "pause", **(labels or {})}
    other_keys = (key for key in keys if not (key.action == "page" and key.given == page.value))
    shown_keys = sorted(
        (key for key in other_keys if key.foot and not unavailable_reason(key, state, page)), key=lambda key: key.foot
    )
    by_id = {key.id: key for key in keys}
    back_hints = [keymap.key_hint([by_id["run-back"]], "back")] if state.is_over else []
    plan_hint = keymap.key_hint([by_id["run-plan"]], "plan the next nodes" if state.is_over else "the plan")
    return (*(keymap.key_hint([key], all_labels.get(key.action, "")) for key in shown_keys), plan_hint, *back_hints)


_NO_REMEDY = "nothing is waited for that a command would show"

_PAGE_IDS = {ScreenPage.RUN: "page-run", ScreenPage.LOG: "page-log"}


class _NextStep(Protocol):
    """Actions for a finished run."""

    def roll_back(self, run: str) -> None: ...

    def resume(self, run: str) -> None: ...

    def roll_back_when_over(self) -> None: ...

    def list_runs(self) -> None: ...

    def show_plan(self, page: ScreenPage) -> None: ...

    def next_group(self) -> None:
        """Mark the next nodes to drain, and show their plan."""
        ...


class RunScreen(PaintedScreen):
    """Mutable: the visible page. The run continues regardless of the visible screen."""

    CSS_PATH = SCREENS_CSS
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]
    KEYS: ClassVar[tuple[KeyBinding, ...]] = RUN_KEYS
    PRIORITY: ClassVar[frozenset[str]] = frozenset()
    """Ids of keys that take precedence over the bindings of a table."""

    def __init__(
        self,
        state: RunState,
        cluster_name: str,
        next_step: _NextStep | None,
        keys: Mapping[str, str],
        production: bool = False,
    ) -> None:
        """`cluster_name` may be a `production` cluster; `next_step`: None if no key may act on a finished run; `keys`:
        the user's keys by action name."""
        super().__init__()
        self.keymap = keymap.apply_user_keys(keymap.run_screen_keys(keys), self.KEYS)
        for key in self.keymap.keys:
            self._bindings.bind(key.keys, f"do('{key.id}')", key.words, show=False, priority=key.id in self.PRIORITY)
        self._next_step_or_none = next_step
        self.state = state
        self.page = ScreenPage.RUN
        self._cluster_name = cluster_name
        self._is_production = production

    @property
    def _next_step(self) -> _NextStep:
        assert self._next_step_or_none is not None, "why_not has looked"
        return self._next_step_or_none

    def compose(self) -> ComposeResult:
        yield HeadLine(id="identity")
        yield HeadLine(id="line")
        yield HeadLine(id="notice")
        yield HeadLine(id="half")
        with ContentSwitcher(initial=_PAGE_IDS[ScreenPage.RUN], id="pages"):
            yield LivePage(id=_PAGE_IDS[ScreenPage.RUN])
            yield LogPage(id=_PAGE_IDS[ScreenPage.LOG])
        yield AskLine("/", "look for", id="filter")
        yield FootBar(id="foot")

    def on_mount(self) -> None:
        self._current_page.table.focus()
        for problem in self.keymap.problems:
            self._notify_user(problem, 20)
        self.show()

    def on_resize(self) -> None:
        """The log shows as many lines as fit; a paused replay would not add lines by itself."""
        self.call_after_refresh(self.show)

    @property
    def appearance(self) -> Appearance:
        return appearance_of(self)

    @property
    def _current_page(self) -> RunPage:
        return self.query_one(f"#{_PAGE_IDS[self.page]}", RunPage)

    def show(self) -> None:
        """Update all visible parts; unchanged parts are not redrawn."""
        if not self.query("#identity"):
            return  # it is being closed
        head = self.head()
        self.query_one("#identity", HeadLine).show(head.identity)
        for name, parts in (("line", head.line), ("notice", (head.notice,)), ("half", head.stop_effect)):
            self.query_one(f"#{name}", HeadLine).show(parts, " · ")
        self.query_one("#foot", FootBar).show(TYPING_HINTS if isinstance(self.focused, Input) else self.foot())
        self._current_page.show(self.state)

    def head(self) -> sheets.RunHead:
        return sheets.RunHead(
            sheets.identity_texts(self.state, self._cluster_name, self._is_production),
            sheets.progress_texts(self.state),
            sheets.notice_text(self.state),
            sheets.stop_effect_texts(self.state),
        )

    def foot(self) -> tuple[Hint, ...]:
        keys = tuple(key for key in self.keymap.keys if not self.why_not(key))
        log = self.query_one(LogPage)
        labels = {"level": "all" if log.only_failures else "only what went wrong"}
        labels["follow"] = "stop following" if log.is_following else "follow what is new"
        return run_hints(self.state, self.page, keys, labels)

    def why_not(self, key: KeyBinding) -> str:
        """One clause; "" if the key has its effect."""
        no_remedy = _NO_REMEDY if key.action == "copy" and not self._remedy else ""
        return unavailable_reason(key, self.state, self.page) or no_remedy

    @property
    def _remedy(self) -> str:
        """The command that shows more of what the node under the cursor waits for, "" for none."""
        live = self.query_one(LivePage)
        node, pod = live.table.key, live.query_one("#run-pods", LineTable).key
        reasons = sheets.wait_reasons(self.state, node or "", pod)
        return next((each.remedy for each in reasons if each.remedy), "")

    def _notify_user(self, text: str, timeout_s: float = 5) -> None:
        self.notify(text, timeout=timeout_s, markup=False)

    # Actions of keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the user types, letters are not bindings, and esc belongs to the input line."""
        return False if action == "do" and isinstance(self.focused, Input) else super().check_action(action, parameters)

    def action_do(self, name: str) -> None:
        key = self.keymap.by_id(name)
        reason = self.why_not(key)
        if reason:
            self._notify_user(f"{key.shown}: {reason}")
            return
        getattr(self, f"do_{key.action}")(*(() if key.given is None else (key.given,)))

    def do_pause(self) -> None:
        self._request(RunRequest.RESUME if self.state.is_paused else RunRequest.PAUSE)

    def do_hold(self) -> None:
        """Pause regardless of the displayed state: this key never resumes a run."""
        self._request(RunRequest.PAUSE)

    def do_stop(self) -> None:
        self.app.push_screen(StopScreen(self.state), self._stop_chosen)

    def do_give_back(self) -> None:
        if self.state.is_over:
            self._next_step.roll_back(self.state.live.run)
        else:
            self.app.push_screen(StopScreen(self.state), self._stop_chosen)

    def do_next_group(self) -> None:
        self._next_step.next_group()

    def do_check(self) -> None:
        command = shlex.join(["kubectl", "eksdoc", "check", *self._connection_args])
        self.app.copy_to_clipboard(command)
        self._notify_user(f"copied: {command}", 10)

    def do_others(self) -> None:
        self._next_step.list_runs()

    def do_go_on(self) -> None:
        self._next_step.resume(self.state.live.run)

    def do_leave_alone(self) -> None:
        node = self.query_one(LivePage).table.key
        node_course = self.state.history.nodes.get(node or "")
        if node is None or node_course is None or node_course.state in FINAL_STATES:
            self._notify_user(f"n: {node or 'no node'} is done with already")
            return

        def on_chosen(choice: StopChoice | None) -> None:
            if choice is StopChoice.LEAVE_ALONE and not self.state.is_over:
                self.state.live.leave_alone(node)
                self._notify_user(f"{node} is left alone: nothing more is asked for on it, and it stays cordoned")

        self.app.push_screen(StopScreen(self.state, node), on_chosen)

    def _stop_chosen(self, choice: StopChoice | None) -> None:
        if choice is StopChoice.PAUSE:
            self.action_do("run-pause")
        elif choice is StopChoice.FINISH_WAVE:
            self._request(RunRequest.FINISH_WAVE)
        elif choice is StopChoice.STOP:
            self._request(RunRequest.STOP)
        elif choice is StopChoice.LEAVE:
            self._request(RunRequest.LEAVE)
        elif choice is StopChoice.GIVE_BACK:
            self._request(RunRequest.STOP)
            self._next_step.roll_back_when_over()
            self._notify_user(
                "it stops; once that is so, what gives nodes back is shown, and asks for what must be typed", 8
            )

    def _request(self, request: RunRequest) -> None:
        if self.state.is_over:
            return
        if not self.state.may_request(request):
            self._notify_user("it is stopping: what was wished before holds")
            return
        self.state.request = request
        self.state.live.submit(request)
        self.show()

    def do_follow(self) -> None:
        page = self.query_one(LogPage)
        page.is_following = not page.is_following
        self.show()

    def do_level(self) -> None:
        page = self.query_one(LogPage)
        page.only_failures = not page.only_failures
        self.show()

    def do_filter(self) -> None:
        self.query_one("#filter", AskLine).open(self.query_one(LogPage).search_text)

    @on(AskLine.Changed, "#filter")
    @on(AskLine.Cancelled, "#filter")
    def _filter_changed(self, event: AskLine.LineMessage) -> None:
        self.query_one(LogPage).search_text = event.text
        self.show()

    @on(AskLine.Submitted, "#filter")
    @on(AskLine.Cancelled, "#filter")
    def _filter_closed(self) -> None:
        self.set_focus(self._current_page.table)
        self.show()

    def do_ticket(self) -> None:
        self.app.copy_to_clipboard(self._ticket())
        self._notify_user("copied as markdown; where the terminal forbids that, ctrl+s saves it in a file")

    def do_save(self) -> None:
        self._save("md", self.state.live.run, self._ticket())

    def do_html(self) -> None:
        from kubectl_eksdoc.drain.report.run_page import page

        view = self.state.live.view
        planned = view.spans if view is not None else {}
        self._save("html", self.state.live.run, page(self.state.recording, self.appearance, planned))

    def _save(self, kind: str, run: str, text: str) -> None:
        path = f"drain-{run}.{kind}"
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            self._notify_user(f"{path} is there already")
        except OSError as error:
            self._notify_user(f"{path} cannot be written: {error.strerror or error}", 10)
        else:
            self._notify_user(f"saved: {path}", 8)

    def _ticket(self) -> str:
        outcome = self.state.outcome
        assert outcome is not None, "why_not has looked"
        if outcome.report is None:
            return markdown_summary(self.state, self._cluster_name, self._status_command())
        return outcome.report.render("markdown", self.appearance)

    def do_copy(self) -> None:
        """Copy the command beside the node under the cursor."""
        self.app.copy_to_clipboard(self._remedy)
        self._notify_user(f"copied: {self._remedy}")

    def do_inspect(self) -> None:
        """Inspect the pod under the cursor; while the cursor is on the nodes, the first waiting pod."""
        pod = self.query_one(LivePage).query_one("#run-pods", LineTable).key
        if pod:
            self.post_message(InspectPod(pod))
        else:
            self._notify_user("d: no pod is under the cursor")

    def do_command(self) -> None:
        outcome = self.state.outcome
        replay = (
            shlex.join(["kubectl", "eksdoc", "--replay", outcome.events_file])
            if outcome and outcome.events_file
            else ""
        )
        command = replay or self._status_command()
        self.app.copy_to_clipboard(command)
        demo_note = "; the file goes when these screens are left" if replay and self.state.live.speed != 1 else ""
        self._notify_user(f"copied: {command}{demo_note}", 10)

    def _status_command(self) -> str:
        """The command that prints the status of the run."""
        outcome, run = self.state.outcome, self.state.live.run
        view_command = outcome.report.command("status") if outcome is not None and outcome.report is not None else ""
        return view_command or shlex.join(["kubectl", "eksdoc", "drain", "status", run, *self._connection_args])

    @property
    def _connection_args(self) -> tuple[str, ...]:
        """The flags for the same cluster."""
        view = self.state.live.view
        return tuple((view.connection_args if view is not None else None) or ())

    def do_page(self, page: str) -> None:
        self.page = ScreenPage(page)
        self.query_one("#pages", ContentSwitcher).current = _PAGE_IDS[self.page]
        self.show()
        self.set_focus(self._current_page.table)  # immediately: the next key may open the input line

    def do_plan(self, page: ScreenPage) -> None:
        self._next_step.show_plan(page)

    def do_help(self) -> None:
        self.app.push_screen(HelpScreen(self.page, self.keymap))

    def do_back(self) -> None:
        """Never leaves an active run."""
        log = self.query_one(LogPage)
        if self.page is ScreenPage.LOG and log.search_text:
            log.search_text = ""
            self.show()
        elif self.page is ScreenPage.LOG:
            self.do_page(ScreenPage.RUN)
        elif self.query_one(LivePage).close_node():
            return
        elif self.state.is_over:
            self.app.pop_screen()
        else:
            self.do_stop()

    # Cursor

    @on(LineTable.Opened)
    def _row_opened(self, event: LineTable.Opened) -> None:
        """Enter shows a node's pods, or a log entry in full; it never does more."""
        if event.table.id == "run-nodes":
            self.query_one(LivePage).open_node()
        elif event.table.id in ("run-log", "run-tail"):
            self.app.push_screen(EntryScreen(self.state, int(event.key)))

    @on(LineTable.Moved)
    def _cursor_moved(self, event: LineTable.Moved) -> None:
        page = self.query_one(LivePage)
        if event.table.id in ("run-nodes", "run-pods"):
            page.show_cursor_details(self.state)
        log = self.query_one(LogPage)
        if event.table is log.table and event.table.has_focus:
            at_end = event.key == event.table.sheet.keys[-1]
            if at_end is not log.is_following:
                log.is_following = at_end
                self.show()
