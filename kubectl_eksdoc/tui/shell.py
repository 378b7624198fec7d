"""The screen with its pages: which one is seen, what it shows of the model, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Input, Static
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.text import shown
from kubectl_eksdoc.tui import keymap, words
from kubectl_eksdoc.tui.keymap import KEYS
from kubectl_eksdoc.tui.keymap import TYPED_AFTER
from kubectl_eksdoc.tui.keymap import Page
from kubectl_eksdoc.tui.keymap import Place
from kubectl_eksdoc.tui.keymap import foot
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.opening import Opening
from kubectl_eksdoc.tui.pages import BlockersPage
from kubectl_eksdoc.tui.pages import HeadroomPage
from kubectl_eksdoc.tui.pages import PageOf
from kubectl_eksdoc.tui.pages import PlanPage
from kubectl_eksdoc.tui.pages import BudgetPage
from kubectl_eksdoc.tui.pages import PodsPage
from kubectl_eksdoc.tui.pages import WavesPage
from kubectl_eksdoc.tui.pages import WhatIfPage
from kubectl_eksdoc.tui.reading import Reads
from kubectl_eksdoc.tui.widgets.panel import AskLine
import threading
from collections.abc import Callable
from typing import ClassVar
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static
from typing import ClassVar
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.text import shown
from kubectl_eksdoc.tui import unreached
from kubectl_eksdoc.tui.help import AS_IT_COMES
from kubectl_eksdoc.tui.help import HelpScreen
from kubectl_eksdoc.tui.keymap import KEYS
from kubectl_eksdoc.tui.keymap import Page
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.opening import Opening
from kubectl_eksdoc.tui.reader import NotRead
from kubectl_eksdoc.tui.sheets.sheet import Line
from kubectl_eksdoc.tui.widgets.panel import Prose
from kubectl_eksdoc.tui.wishes import LookAway, OtherContexts, ReadAnew


_PAGES: dict[Page, type[PageOf]] = {
    Page.PLAN: PlanPage,
    Page.HEADROOM: HeadroomPage,
    Page.WAVES: WavesPage,
    Page.BLOCKERS: BlockersPage,
    Page.WHAT_IF: WhatIfPage,
    Page.PODS: PodsPage,
    Page.BUDGET: BudgetPage,
}


class Shell(Screen[None]):
    """Mutable: the model as it is now, the page that is shown, those that were shown before it, and `after` it: from
    which one went back; the head as it reads."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]

    def __init__(self, opening: Opening, read: Callable[[], object]) -> None:
        """`read`: the cluster is to be read anew."""
        super().__init__()
        self._opening = opening
        read_keys = keymap.read(keymap.of_plans(opening.keys))
        self.keymap = replace(read_keys, wrong=(*opening.wrong, *read_keys.wrong))
        for key in self.keymap.keys:
            first = key.action in TYPED_AFTER
            self._bindings.bind(key.keys, f"do('{key.id}')", key.words, show=False, priority=first)
        self._read = read
        self.model = Model(reads=Reads(live=opening.live is not None), context=opening.context)
        self.page = Page.PLAN
        self.before: list[Place] = []
        self.after: list[Place] = []
        self._head = ""

    def compose(self) -> ComposeResult:
        yield Static(id="identity")
        yield Static(id="line")
        with ContentSwitcher(initial=_id(Page.PLAN), id="pages"):
            for page, kind in _PAGES.items():
                yield kind(id=_id(page))
        yield AskLine("/", "text, !text for those without it, -l key=value,key2!=x", id="filter")
        yield AskLine(":", "nodes, pdb, waves, blockers, what-if, help, quit", id="prompt")
        yield Static(id="foot")

    def on_mount(self) -> None:
        self._of(Page.PLAN).table.focus()
        for wrong in self.keymap.wrong:
            self.notify(shown(wrong, Look(ascii=self._opening.ascii)), severity="warning", timeout=30, markup=False)
        self.show()

    def show(self) -> None:
        """All that depends on the model, of the page that is seen."""
        if not self.query(f"#{_id(self.page)} LineTable"):
            return  # it is being closed
        self.show_age()
        self.show_line()
        self._say("foot", foot(self.page, self.keymap.keys))
        self.set_class(self.model.seen.headless, "-headless")
        self.set_class(bool(self.model.trouble), "-troubled")
        self._of(self.page).show(self.model)

    def show_line(self) -> None:
        """What is known of the plan."""
        self._say("line", words.plan_line(self.model))

    def show_age(self) -> None:
        """Whose cluster it is, and how old what is shown: nothing is drawn where that reads as it did."""
        reads = self.model.reads
        self.set_class(self.model.old or reads.lost is not None or bool(reads.failures), "-doubtful")
        stage = getattr(self.app, "run_stage", "")
        notice = f"{stage} (5 shows the run)" if stage else "READ-ONLY" if self._opening.no_desk else ""
        text = words.identity(self.model, self._opening.now(), notice)
        if text != self._head:
            self._head = text
            self._say("identity", text)

    def _say(self, name: str, text: str) -> None:
        look = Look(ascii=self._opening.ascii)
        for each in self.query(f"#{name}").results(Static):  # none while it is being closed
            each.update(plain(shown(text, look)), layout=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is typed, the letters are letters."""
        typing = action == "do" and isinstance(self.focused, Input)
        if typing and any(key.id in parameters for key in KEYS if key.action in TYPED_AFTER):
            return False
        return super().check_action(action, parameters)

    def _of(self, page: Page) -> PageOf:
        return self.query_one(f"#{_id(page)}", PageOf)

    def _go(self, page: Page, about: str = "") -> None:
        """`about`: what of, where there is such a page of more than one."""
        to = Place(page, about)
        if to != self.place:
            self.before.append(self.place)
            self.after.clear()
            self._show_place(to)

    @property
    def place(self) -> Place:
        return Place(self.page, self.model.about)

    def visit(self, by: int) -> bool:
        """To what was seen before (-1), or after it (1). False: there is nothing more there."""
        there, here = (self.before, self.after) if by < 0 else (self.after, self.before)
        if not there:
            return False
        here.append(self.place)
        self._show_place(there.pop())
        return True

    def back(self) -> None:
        self.visit(-1)

    def _show_place(self, to: Place) -> None:
        node = self._of(self.page).node
        self.page = to.page
        self.model = replace(self.model, about=to.about)
        self.query_one("#pages", ContentSwitcher).current = _id(to.page)
        self.show()
        table = self._of(to.page).table
        table.focus()
        if node is not None:
            table.go_to(node)

    @property
    def _node(self) -> str | None:
        """Under the cursor; None where a row is no node."""
        return self._of(self.page).node


def _id(page: Page) -> str:
    return f"page-{page.name.lower().replace('_', '-')}"


def plain(text: str) -> str:
    return text.replace("[", r"\[")


# What is painted first: the frame of the screens, while all that they are made of is loaded behind it.


class FirstScreen(Screen[None]):
    """Made of next to nothing, because every import before the first paint is waited for by somebody."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "app.quit", "quit", show=False)]

    def __init__(self, load: Callable[[], object], loaded: Callable[[], object]) -> None:
        """`load` is called in a thread once this is seen, and then `loaded` by the app."""
        super().__init__()
        self._load = load
        self._loaded = loaded

    def compose(self) -> ComposeResult:
        yield Static("eksdoc  reading the cluster…", id="identity")
        yield Static(id="line", markup=False)
        nodes = Static(id="nodes", classes="framed")
        nodes.border_title = r"\[1] Nodes"
        yield nodes
        yield Static("q quit", id="foot")

    def on_mount(self) -> None:
        app = self.app  # which may be over by the time when it is asked
        self.call_after_refresh(threading.Thread(target=self._work, args=(app,), name="loader", daemon=True).start)

    def on_key(self, event: events.Key) -> None:
        """It comes too early for what it does, and is not silent about it."""
        if event.is_printable and event.key != "q":
            self.query_one("#line", Static).update(f"{event.character}: nothing is read yet")

    def _work(self, app: App[object]) -> None:
        try:
            self._load()
        finally:  # whatever went wrong is raised again by whoever wants to use it
            if app.is_running:
                app.call_from_thread(app.call_later, self._loaded)


# The screen where nothing could be read: it says why, tries again by itself, and leads to other clusters.


_HERE = ("t", "o", "q", "x", "ctrl+r", "question_mark", "escape")


class OfflineScreen(Screen[None]):
    """Mutable: what was told last. It is shown over the screen that waits to be read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t,ctrl+r", "try", show=False),
        Binding("x", "contexts", show=False),
        Binding("o,escape", "look", show=False),
        Binding("q", "leave", show=False),
        Binding("question_mark", "help", show=False),
        *(
            Binding(each, f"refuse('{key.id}')", show=False)
            for key in KEYS
            for each in key.keys.split(",")
            if each not in _HERE
        ),
    ]

    def __init__(self, opening: Opening, told: NotRead, model: Model) -> None:
        super().__init__()
        self._opening = opening
        self._told = told
        self._model = model
        self._lines: list[Line] = []

    def compose(self) -> ComposeResult:
        yield Static(id="identity")
        yield Prose(id="unreached")
        yield Static(id="foot")

    def on_mount(self) -> None:
        self.query_one("#unreached").border_title = plain(self._said("No cluster"))
        self.query_one("#unreached").focus()
        self.show(self._told, self._model)

    def show(self, told: NotRead, model: Model) -> None:
        """What reads as it did is not drawn anew, and stays where it was scrolled to."""
        self._told, self._model = told, model
        if not self.query("#unreached Static"):
            return  # it is being closed
        now = self._opening.now()
        self.query_one("#identity", Static).update(plain(self._said(unreached.head(model, told.what, now))))
        lines = unreached.lines(model, told.where, told.what, now)
        if lines != self._lines:
            self._lines = lines
            self.query_one("#foot", Static).update(plain(self._said(unreached.foot(model, now))))
            self.query_one("#unreached", Prose).show(lines)

    def tick(self, model: Model) -> None:
        """Time has passed."""
        self.show(self._told, model)

    def _said(self, text: str) -> str:
        return shown(text, Look(ascii=self._opening.ascii))

    def action_try(self) -> None:
        self.post_message(ReadAnew())

    def action_contexts(self) -> None:
        if self._model.reads.live:
            self.post_message(OtherContexts())
        else:
            self.notify("x: a dump and the demo have no other contexts", timeout=4)

    def action_look(self) -> None:
        if self._model.old:
            self.post_message(LookAway())
        else:
            self.notify("o: this cluster was never seen on this machine: there is no last view", timeout=4)

    async def action_leave(self) -> None:
        """A run may be under way."""
        await self.app.action_quit()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(Page.PLAN, AS_IT_COMES))

    def action_refuse(self, name: str) -> None:
        self.notify(f"{AS_IT_COMES.of(name).shown}: nothing is read yet", timeout=4, markup=False)
