"""[5] The run as it goes, and [6] its log with what came of it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.tui.run import sheets, words
from kubectl_eksdoc.tui.run.state import RunState
from kubectl_eksdoc.tui.run.summary import summary
from kubectl_eksdoc.tui.widgets.line_table import LineTable
from kubectl_eksdoc.tui.widgets.panel import Prose
from kubectl_eksdoc.tui.widgets.titled import Titled


class RunPage(Vertical):
    """Its tables are shown from the state, and follow the cursor."""

    def show(self, state: RunState) -> None:
        raise NotImplementedError

    @property
    def table(self) -> LineTable:
        """The one that has the focus when the page is opened."""
        return self.query(LineTable).first()

    def said(self, text: str) -> str:
        """For the frame of a part: without markup."""
        return words.plain(text, Look(ascii=getattr(self.app, "only_ascii", False)))


class LivePage(RunPage):
    def compose(self) -> ComposeResult:
        with Horizontal(id="run-top"):
            yield LineTable(id="run-nodes", classes="framed")
            with Vertical(id="run-beside"):
                yield LineTable(id="run-pods", classes="framed")
                yield Prose(id="run-why")
        with Horizontal(id="run-below"):
            yield LineTable(id="run-budgets", classes="framed")
            yield LineTable(id="run-tail", classes="framed")

    def on_mount(self) -> None:
        for name, title in (
            ("run-nodes", "[5] Nodes"),
            ("run-pods", "Pods"),
            ("run-why", "why it waits"),
            ("run-budgets", "PDBs in use now"),
            ("run-tail", "[6] Log"),
        ):
            for each in self.query(f"#{name}"):  # none while it is being closed
                assert isinstance(each, Titled), name
                each.entitle(self.said(title))

    def show(self, state: RunState) -> None:
        self.set_class(state.over, "-over")
        self.set_class(not state.drains, "-giving-back")
        if not state.drains:
            self.table.show(sheets.GIVING_BACK)
            told = self.query_one("#run-why", Prose)
            told.entitle(self.said("Summary" if state.over else "what is given back"))
            told.show(summary(state))
            return
        self.table.show(sheets.nodes(state))
        self.beside(state)
        budgets = self.query_one("#run-budgets", LineTable)
        budgets.show(sheets.budgets(state))
        if not budgets.has_focus:
            budgets.to_start()
        tail = self.query_one("#run-tail", LineTable)
        # No more than are seen: then it is never scrolled, and of the lines that move up only what differs is drawn.
        tail.show(sheets.log(state.chronicle.moments, state.live.began_at, last=tail.room))
        if not tail.has_focus:
            tail.to_end()

    def opens_node(self) -> None:
        """Its pods; where there is no room for both, in the place of the nodes."""
        self.add_class("-beside")
        self.query_one("#run-pods", LineTable).focus()

    def closes_node(self) -> bool:
        """Whether one was open."""
        if not self.has_class("-beside"):
            return False
        self.remove_class("-beside")
        self.table.focus()
        return True

    def beside(self, state: RunState) -> None:
        """What depends on the cursor."""
        node = self.table.key
        pods = self.query_one("#run-pods", LineTable)
        pods.entitle(self.said(node or "Pods"))
        pods.show(sheets.pods(state, node))
        if not pods.has_focus:
            pods.to_start()  # those that need a look come first, and change
        why = self.query_one("#run-why", Prose)
        why.entitle(self.said("Summary" if state.over else "why it waits"))
        why.show(summary(state) if state.over else sheets.why(state, node, pods.key))


class LogPage(RunPage):
    """Mutable: what of the log is shown, and whether it follows what is new."""

    follows = True
    only_wrong = False
    wanted = ""

    def compose(self) -> ComposeResult:
        yield LineTable(id="run-log", classes="framed")
        yield Prose(id="run-summary")

    def on_mount(self) -> None:
        self.query_one("#run-summary", Titled).entitle(self.said("Summary"))

    def show(self, state: RunState) -> None:
        table = self.table
        table.entitle(self.said("[6] Log"))
        shows = [*(["only what went wrong"] if self.only_wrong else []), *([f"/{self.wanted}"] if self.wanted else [])]
        table.subtitle(self.said(", ".join([*shows, "following" if self.follows else "f follows"])))
        table.show(sheets.log(state.chronicle.moments, state.live.began_at, self.only_wrong, self.wanted))
        if self.follows:
            table.to_end()
        self.query_one("#run-summary", Prose).show(summary(state))


def toned(text: str, tone: Tone | None) -> str:
    """As markup of the theme's colour, to its end: behind a backslash a closing tag would be text. `text` is without
    markup already."""
    return text if tone is None or not text else f"[$st-{tone.name.lower()}]{text}"
