"""[enter] in the log: one entry with all that is known of it, in full."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from kubectl_eksdoc.core.run.moments import WENT_WRONG
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import shown
from kubectl_eksdoc.render.times import duration
from kubectl_eksdoc.tui.run.state import RunState
from kubectl_eksdoc.tui.sheets.sheet import Line
from kubectl_eksdoc.tui.widgets.panel import Prose


class EntryScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "dismiss", "close", show=False)]

    def __init__(self, state: RunState, at: int) -> None:
        """`at`: its place in the chronicle's moments, as they are now."""
        super().__init__()
        self._title = state.chronicle.moments[at].what.value
        self._lines = lines(state, at)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Prose(id="about")

    def on_mount(self) -> None:
        look = Look(ascii=getattr(self.app, "only_ascii", False))
        self.query_one("#dialog").border_title = shown(self._title, look)
        prose = self.query_one(Prose)
        prose.show(self._lines)
        prose.focus()


def lines(state: RunState, at: int) -> list[Line]:
    """A field on each line; what is long is wrapped by whoever shows it."""
    moment = state.chronicle.moments[at]
    when = state.live.began_at + timedelta(seconds=moment.at_s)
    fields = [
        ("when", f"{when:%Y-%m-%d %H:%M:%S}, {duration(moment.at_s)} after the begin"),
        ("what", moment.what.value),
        ("of what", moment.subject),
        ("on node", moment.node),
        ("why", moment.why),
    ]
    wrong: list[Line] = [("! this is something that went wrong", Tone.WARN)] if moment.what in WENT_WRONG else []
    told: list[Line] = [f"{name:<10} {value}" for name, value in fields if value]
    for name, value in state.details(at):
        told += ["", (f"{name:<10} {value}", Tone.TITLE)] if name.startswith("entry") else [f"{name:<10} {value}"]
    return [*wrong, *told, "", ("esc closes this", Tone.FAINT)]
