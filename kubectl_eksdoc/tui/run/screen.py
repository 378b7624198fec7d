"""The screen of a run: its page and log, and the keys that pause and stop it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Protocol

from textual import on
from textual.app import ComposeResult
from textual.widgets import ContentSwitcher, Input

from kubectl_eksdoc.drain.run.history import ENDS
from kubectl_eksdoc.drain.run.loop import RunWish
from kubectl_eksdoc.report.text import Look

from .. import keymap
from ..base_app import SCREENS_CSS
from ..help import HelpScreen
from ..keymap import TYPING, FootBar, HeadLine, Hint, KeyBinding, ScreenPage, look_of
from ..line_table import LineTable
from ..model import InspectPod
from ..paint import PaintedScreen
from ..panel import AskLine
from . import tables as sheets
from .confirm import EntryScreen
from .pages import LivePage, LogPage, RunPage, StopChoice, StopScreen, in_markdown
from .state import RunState

# The keys of a run: Enter has no effect, and keys that stop or roll back ask first.


_OF_PLANS = tuple(
    replace(key, id=f"run-{key.id}", keys=number, shown=number, action="plan", words=f"the plan: {key.words}")
    for key in keymap.KEYS
    for number in key.shown[:1]
    if key.action == "page"
)
_OWN = keymap.keys_of("run")
RUN_KEYS = (*_OWN[:-2], *_OF_PLANS, *_OWN[-2:])
"""Help and back are last."""


def why_not(key: KeyBinding, state: RunState, page: ScreenPage) -> str:
    """One clause; "" if the key has its effect."""
    if elsewhere := key.elsewhere(page):
        return elsewhere
    if key.action in ("pause", "hold"):
        return _why_no_pause(state) or ("it is paused already" if key.action == "hold" and state.is_paused else "")
    if key.action == "stop" and (state.over or state.wished is RunWish.LEAVE):
        return "it is over" if state.over else "it leaves at once already"
    if key.action == "leave_alone" and (state.over or not state.drains):
        return "it is over" if state.over else "nothing is drained"
    if key.action == "give_back" and not state.drains:
        return "this gives nodes back already"
    if key.action in ("next_group", "check"):
        return "" if state.over and state.drains and not (state.outcome and state.outcome.bad) else _NOT_DRAINED
    if key.action == "go_on":
        if not state.over:
            return "it is not over"
        return (
            "" if state.outcome is not None and state.outcome.bad and state.drains else "it has nothing left to resume"
        )
    if key.action == "others" and not state.over:
        return "this run is under way"
    if key.action in ("ticket", "save", "html") and not state.over:
        return "it is not over yet"
    return ""


_NOT_DRAINED = "first this run has to end with every node drained"


def _why_no_pause(state: RunState) -> str:
    if state.over:
        return "it is over"
    if not state.drains:
        return "giving nodes back is not paused: it takes a moment"
    return "it is stopping, and asks for nothing more" if state.wished in (RunWish.STOP, RunWish.LEAVE) else ""


def run_foot(
    state: RunState, page: ScreenPage, keys: Sequence[KeyBinding] = RUN_KEYS, said: Mapping[str, str] | None = None
) -> tuple[Hint, ...]:
    """``space pause  a stop…``: the most useful first; keys without effect are omitted. `labels`: descriptions of some
    actions in this state."""
    told = {"pause": "go on" if state.is_paused else "pause", **(said or {})}
    elsewhere = (key for key in keys if not (key.action == "page" and key.given == page.value))
    kept = sorted((key for key in elsewhere if key.foot and not why_not(key, state, page)), key=lambda key: key.foot)
    by_id = {key.id: key for key in keys}
    back = [keymap.hint([by_id["run-back"]], "back")] if state.over else []
    plan = keymap.hint([by_id["run-plan"]], "plan the next nodes" if state.over else "the plan")
    return (*(keymap.hint([key], told.get(key.action, "")) for key in kept), plan, *back)


_NOTHING_WAITS = "nothing is waited for that a command would show"

_IDS = {ScreenPage.RUN: "page-run", ScreenPage.LOG: "page-log"}


class _NextStep(Protocol):
    """Actions for a finished run."""

    def give_back(self, run: str) -> None: ...

    def go_on(self, run: str) -> None: ...

    def give_back_when_over(self) -> None: ...

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
    FIRST: ClassVar[frozenset[str]] = frozenset()
    """Ids of keys that take precedence over the bindings of a table."""

    def __init__(
        self,
        state: RunState,
        name: str,
        next_step: _NextStep | None,
        keys: Mapping[str, str],
        production: bool = False,
    ) -> None:
        """`cluster_name` may be a `production` cluster; `next_step`: None if no key may act on a finished run; `keys`:
        the user's keys by action name."""
        super().__init__()
        self.keymap = keymap.read(keymap.of_runs(keys), self.KEYS)
        for key in self.keymap.keys:
            self._bindings.bind(key.keys, f"do('{key.id}')", key.words, show=False, priority=key.id in self.FIRST)
        self._followed = next_step
        self.state = state
        self.page = ScreenPage.RUN
        self._cluster = name
        self._production = production

    @property
    def _next_step(self) -> _NextStep:
        assert self._followed is not None, "why_not has looked"
        return self._followed

    def compose(self) -> ComposeResult:
        yield HeadLine(id="identity")
        yield HeadLine(id="line")
        yield HeadLine(id="notice")
        yield HeadLine(id="half")
        with ContentSwitcher(initial=_IDS[ScreenPage.RUN], id="pages"):
            yield LivePage(id=_IDS[ScreenPage.RUN])
            yield LogPage(id=_IDS[ScreenPage.LOG])
        yield AskLine("/", "look for", id="filter")
        yield FootBar(id="foot")

    def on_mount(self) -> None:
        self._page.table.focus()
        for wrong in self.keymap.wrong:
            self._tell(wrong, 20)
        self.show()

    def on_resize(self) -> None:
        """The log shows as many lines as fit; a paused replay would not add lines by itself."""
        self.call_after_refresh(self.show)

    @property
    def look(self) -> Look:
        return look_of(self)

    @property
    def _page(self) -> RunPage:
        return self.query_one(f"#{_IDS[self.page]}", RunPage)

    def show(self) -> None:
        """Update all visible parts; unchanged parts are not redrawn."""
        if not self.query("#identity"):
            return  # it is being closed
        head = self.head()
        self.query_one("#identity", HeadLine).show(head.identity)
        for name, parts in (("line", head.line), ("notice", (head.notice,)), ("half", head.half)):
            self.query_one(f"#{name}", HeadLine).show(parts, " · ")
        self.query_one("#foot", FootBar).show(TYPING if isinstance(self.focused, Input) else self.foot())
        self._page.show(self.state)

    def head(self) -> sheets.RunHead:
        return sheets.RunHead(
            sheets.identity(self.state, self._cluster, self._production),
            sheets.line(self.state),
            sheets.notice(self.state),
            sheets.half(self.state),
        )

    def foot(self) -> tuple[Hint, ...]:
        keys = tuple(key for key in self.keymap.keys if not self.why_not(key))
        log = self.query_one(LogPage)
        said = {"level": "all" if log.only_wrong else "only what went wrong"}
        said["follow"] = "stop following" if log.follows else "follow what is new"
        return run_foot(self.state, self.page, keys, said)

    def why_not(self, key: KeyBinding) -> str:
        """One clause; "" if the key has its effect."""
        nothing = _NOTHING_WAITS if key.action == "copy" and not self._remedy else ""
        return why_not(key, self.state, self.page) or nothing

    @property
    def _remedy(self) -> str:
        """The command that shows more of what the node under the cursor waits for, "" for none."""
        live = self.query_one(LivePage)
        node, pod = live.table.key, live.query_one("#run-pods", LineTable).key
        reasons = sheets.reasons_of(self.state, node or "", pod)
        return next((each.remedy for each in reasons if each.remedy), "")

    def _tell(self, text: str, seconds: float = 5) -> None:
        self.notify(text, timeout=seconds, markup=False)

    # Actions of keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the user types, letters are not bindings, and esc belongs to the input line."""
        return False if action == "do" and isinstance(self.focused, Input) else super().check_action(action, parameters)

    def action_do(self, name: str) -> None:
        key = self.keymap.of(name)
        reason = self.why_not(key)
        if reason:
            self._tell(f"{key.shown}: {reason}")
            return
        getattr(self, f"do_{key.action}")(*(() if key.given is None else (key.given,)))

    def do_pause(self) -> None:
        self._wish(RunWish.GO_ON if self.state.is_paused else RunWish.PAUSE)

    def do_hold(self) -> None:
        """Pause regardless of the displayed state: this key never resumes a run."""
        self._wish(RunWish.PAUSE)

    def do_stop(self) -> None:
        self.app.push_screen(StopScreen(self.state), self._chosen)

    def do_give_back(self) -> None:
        if self.state.over:
            self._next_step.give_back(self.state.live.run)
        else:
            self.app.push_screen(StopScreen(self.state), self._chosen)

    def do_next_group(self) -> None:
        self._next_step.next_group()

    def do_check(self) -> None:
        command = shlex.join(["kubectl", "eksdoc", "check", *self._reached_by])
        self.app.copy_to_clipboard(command)
        self._tell(f"copied: {command}", 10)

    def do_others(self) -> None:
        self._next_step.list_runs()

    def do_go_on(self) -> None:
        self._next_step.go_on(self.state.live.run)

    def do_leave_alone(self) -> None:
        node = self.query_one(LivePage).table.key
        course = self.state.chronicle.nodes.get(node or "")
        if node is None or course is None or course.state in ENDS:
            self._tell(f"n: {node or 'no node'} is done with already")
            return

        def chosen(choice: StopChoice | None) -> None:
            if choice is StopChoice.LEAVE_ALONE and not self.state.over:
                self.state.live.leave_alone(node)
                self._tell(f"{node} is left alone: nothing more is asked for on it, and it stays cordoned")

        self.app.push_screen(StopScreen(self.state, node), chosen)

    def _chosen(self, choice: StopChoice | None) -> None:
        if choice is StopChoice.PAUSE:
            self.action_do("run-pause")
        elif choice is StopChoice.FINISH_WAVE:
            self._wish(RunWish.FINISH_WAVE)
        elif choice is StopChoice.STOP:
            self._wish(RunWish.STOP)
        elif choice is StopChoice.LEAVE:
            self._wish(RunWish.LEAVE)
        elif choice is StopChoice.GIVE_BACK:
            self._wish(RunWish.STOP)
            self._next_step.give_back_when_over()
            self._tell("it stops; once that is so, what gives nodes back is shown, and asks for what must be typed", 8)

    def _wish(self, wish: RunWish) -> None:
        if self.state.over:
            return
        if not self.state.may_wish(wish):
            self._tell("it is stopping: what was wished before holds")
            return
        self.state.wished = wish
        self.state.live.wish(wish)
        self.show()

    def do_follow(self) -> None:
        page = self.query_one(LogPage)
        page.follows = not page.follows
        self.show()

    def do_level(self) -> None:
        page = self.query_one(LogPage)
        page.only_wrong = not page.only_wrong
        self.show()

    def do_filter(self) -> None:
        self.query_one("#filter", AskLine).open(self.query_one(LogPage).wanted)

    @on(AskLine.Changed, "#filter")
    @on(AskLine.Left, "#filter")
    def _filtering(self, event: AskLine.Of) -> None:
        self.query_one(LogPage).wanted = event.text
        self.show()

    @on(AskLine.Said, "#filter")
    @on(AskLine.Left, "#filter")
    def _filtered(self) -> None:
        self.set_focus(self._page.table)
        self.show()

    def do_ticket(self) -> None:
        self.app.copy_to_clipboard(self._ticket())
        self._tell("copied as markdown; where the terminal forbids that, ctrl+s saves it in a file")

    def do_save(self) -> None:
        self._save("md", self.state.live.run, self._ticket())

    def do_html(self) -> None:
        from kubectl_eksdoc.drain.report.run_page import page

        view = self.state.live.view
        planned = view.spans if view is not None else {}
        self._save("html", self.state.live.run, page(self.state.recording, self.look, planned))

    def _save(self, kind: str, run: str, text: str) -> None:
        path = f"drain-{run}.{kind}"
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            self._tell(f"{path} is there already")
        except OSError as error:
            self._tell(f"{path} cannot be written: {error.strerror or error}", 10)
        else:
            self._tell(f"saved: {path}", 8)

    def _ticket(self) -> str:
        outcome = self.state.outcome
        assert outcome is not None, "why_not has looked"
        if outcome.view is None:
            return in_markdown(self.state, self._cluster, self._command())
        return outcome.view.render("markdown", self.look)

    def do_copy(self) -> None:
        """Copy the command beside the node under the cursor."""
        self.app.copy_to_clipboard(self._remedy)
        self._tell(f"copied: {self._remedy}")

    def do_inspect(self) -> None:
        """Inspect the pod under the cursor; while the cursor is on the nodes, the first waiting pod."""
        pod = self.query_one(LivePage).query_one("#run-pods", LineTable).key
        if pod:
            self.post_message(InspectPod(pod))
        else:
            self._tell("d: no pod is under the cursor")

    def do_command(self) -> None:
        outcome = self.state.outcome
        replay = shlex.join(["kubectl", "eksdoc", "--replay", outcome.events]) if outcome and outcome.events else ""
        command = replay or self._command()
        self.app.copy_to_clipboard(command)
        of_demo = "; the file goes when these screens are left" if replay and self.state.live.speed != 1 else ""
        self._tell(f"copied: {command}{of_demo}", 10)

    def _command(self) -> str:
        """The command that prints the status of the run."""
        outcome, run = self.state.outcome, self.state.live.run
        words_of = outcome.view.command("status") if outcome is not None and outcome.view is not None else ""
        return words_of or shlex.join(["kubectl", "eksdoc", "drain", "status", run, *self._reached_by])

    @property
    def _reached_by(self) -> tuple[str, ...]:
        """The flags for the same cluster."""
        view = self.state.live.view
        return tuple((view.reached_by if view is not None else None) or ())

    def do_page(self, page: str) -> None:
        self.page = ScreenPage(page)
        self.query_one("#pages", ContentSwitcher).current = _IDS[self.page]
        self.show()
        self.set_focus(self._page.table)  # immediately: the next key may open the input line

    def do_plan(self, page: ScreenPage) -> None:
        self._next_step.show_plan(page)

    def do_help(self) -> None:
        self.app.push_screen(HelpScreen(self.page, self.keymap))

    def do_back(self) -> None:
        """Never leaves an active run."""
        log = self.query_one(LogPage)
        if self.page is ScreenPage.LOG and log.wanted:
            log.wanted = ""
            self.show()
        elif self.page is ScreenPage.LOG:
            self.do_page(ScreenPage.RUN)
        elif self.query_one(LivePage).closes_node():
            return
        elif self.state.over:
            self.app.pop_screen()
        else:
            self.do_stop()

    # Cursor

    @on(LineTable.Opened)
    def _opened(self, event: LineTable.Opened) -> None:
        """Enter shows a node's pods, or a log entry in full; it never does more."""
        if event.table.id == "run-nodes":
            self.query_one(LivePage).opens_node()
        elif event.table.id in ("run-log", "run-tail"):
            self.app.push_screen(EntryScreen(self.state, int(event.key)))

    @on(LineTable.Moved)
    def _moved(self, event: LineTable.Moved) -> None:
        page = self.query_one(LivePage)
        if event.table.id in ("run-nodes", "run-pods"):
            page.beside(self.state)
        log = self.query_one(LogPage)
        if event.table is log.table and event.table.has_focus:
            follows = event.key == event.table.sheet.keys[-1]
            if follows is not log.follows:
                log.follows = follows
                self.show()
