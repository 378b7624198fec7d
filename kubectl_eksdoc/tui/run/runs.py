"""[5] The runs of this cluster, where none is under way here: to go on with, to give back, or to watch."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen

from kubectl_eksdoc.core.model.journal import RunSummary
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.render.text import sentences, shown
from kubectl_eksdoc.render.times import age, between
from kubectl_eksdoc.tui.run.desk import Desk, Kind
from kubectl_eksdoc.tui.sheets.sheet import Cells, Line, Sheet, of_rows, text_sheet
from kubectl_eksdoc.tui.widgets.line_table import LineTable
from kubectl_eksdoc.tui.widgets.panel import Prose

Chosen = tuple[Kind, str]

NONE = "There is no run to go on with or to give back. r begins one."
_ABOUT: list[Line] = [
    "o   go on with the run under the cursor: what is left is planned anew and shown, and you type for it",
    "R   give back what it changed of nodes: shown, and you type for it",
    "C   copy the command that watches it, whoever leads it",
    ("Enter does nothing here. esc closes this.", Tone.FAINT),
]


class RunsScreen(ModalScreen[Chosen | None]):
    """Mutable: what was found. It gives what is to be done, and with which run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "choose('GO_ON')", "go on", show=False),
        Binding("R", "choose('GIVE_BACK')", "give back", show=False),
        Binding("C", "command", "copy the command that watches it", show=False),
        Binding("escape,q", "dismiss", "close", show=False),
    ]

    class Found(Message):
        def __init__(self, runs: Sequence[RunSummary]) -> None:
            super().__init__()
            self.runs = runs

    class NotFound(Message):
        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    def __init__(self, desk: Desk, now: datetime, reached_by: Sequence[str]) -> None:
        """`reached_by`: the words that lead to the same cluster on a command line."""
        super().__init__()
        self._desk = desk
        self._reached_by = reached_by
        self._now = now

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield LineTable(id="runs")
            yield Prose(id="choices")

    def on_mount(self) -> None:
        look = Look(ascii=getattr(self.app, "only_ascii", False))
        self.query_one("#dialog").border_title = shown("Runs of this cluster", look)
        table = self.query_one(LineTable)
        table.show(text_sheet(("reading the journals of runs…",)))
        table.focus()
        self.query_one(Prose).show(_ABOUT)
        threading.Thread(target=self._work, name="runs", daemon=True).start()

    def _work(self) -> None:
        try:
            self.post_message(self.Found(self._desk.runs()))
        except EksdocError as error:
            self.post_message(self.NotFound(sentences(error.message, error.hint)))
        except Exception as error:  # a bug must not leave a dialog that waits for ever
            self.post_message(self.NotFound(f"this is a bug in kubectl eksdoc, please report it: {error!r}"))

    @on(Found)
    def _found(self, event: Found) -> None:
        self.query_one(LineTable).show(sheet(event.runs, self._now))

    @on(NotFound)
    def _not_found(self, event: NotFound) -> None:
        self.query_one(LineTable).show(text_sheet(("The runs of this cluster cannot be read.",)))
        self.query_one(Prose).show([(f"✗ {event.why}", Tone.BAD)])

    def action_command(self) -> None:
        run = self.query_one(LineTable).key
        if run is not None:
            command = shlex.join(["kubectl", "eksdoc", "drain", "status", run, "--watch", *self._reached_by])
            self.app.copy_to_clipboard(command)
            self.notify(f"copied: {command}", timeout=8, markup=False)

    def action_choose(self, kind: str) -> None:
        run = self.query_one(LineTable).key
        if run is not None:
            self.dismiss((Kind[kind], run))


def sheet(runs: Sequence[RunSummary], now: datetime) -> Sheet:
    """The latest first."""
    columns = (
        Column("RUN", middle=True, floor=20),
        Column("BEGUN", right=True, drop=2),
        Column("PHASE"),
        Column("UPDATED", right=True),
        Column("LED BY", drop=1, middle=True),
        Column("SAID", floor=20),
    )
    return of_rows(columns, [(run.run, _cells(run, now)) for run in runs], NONE, fill=5)


def _cells(run: RunSummary, now: datetime) -> Cells:
    begun = f"{age(between(run.begun, now))} ago" if run.begun is not None else "?"
    phase = Cell(run.phase, Tone.WARN if run.unfinished else Tone.GOOD)
    updated = f"{age(between(run.updated, now))} ago" if run.updated is not None else "?"
    return [run.run, begun, phase, updated, run.leader.split("/")[0] or "nobody", run.said]
