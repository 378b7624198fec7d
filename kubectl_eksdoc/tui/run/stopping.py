"""[a] What can be done with a run that is under way: nothing of it happens by Enter."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.run import stands
from kubectl_eksdoc.render.text import shown
from kubectl_eksdoc.tui.run.state import RunState
from kubectl_eksdoc.tui.widgets.panel import Line, Prose


class Choice(Enum):
    PAUSE = "pause"
    STOP = "stop"
    GIVE_BACK = "give back"
    LEAVE = "leave"


_LOOK_S = 0.5


class StopScreen(ModalScreen[Choice | None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,p", "choose('PAUSE')", "pause, or go on", show=False),
        Binding("s", "choose('STOP')", "stop", show=False),
        Binding("R", "choose('GIVE_BACK')", "stop, and give back", show=False),
        Binding("X", "choose('LEAVE')", "leave at once", show=False),
        Binding("escape,q", "dismiss", "close", show=False),
    ]

    def __init__(self, state: RunState) -> None:
        super().__init__()
        self._state = state

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Prose(id="choices")

    def on_mount(self) -> None:
        self.query_one(Prose).focus()
        self._show()
        self.set_interval(_LOOK_S, self._show)

    def _show(self) -> None:
        look = Look(ascii=getattr(self.app, "only_ascii", False))
        title = "Paused: what next?" if self._state.is_paused else "The run goes on. What next?"
        self.query_one("#dialog").border_title = shown("It is over." if self._state.over else title, look)
        self.query_one(Prose).show(lines(self._state))

    def action_choose(self, name: str) -> None:
        self.dismiss(None if self._state.over else Choice[name])


def lines(state: RunState) -> list[Line]:
    """What is half done now, and what each key would do about it."""
    if state.over:
        return ["The run is over meanwhile.", "", "esc closes this."]
    half = stands.stop_in_full(state.standing) if state.standing is not None else "Nothing was done yet."
    begun = [node for node in state.chronicle.nodes.values() if node.state.value not in ("queued",)]
    pause = "go on" if state.is_paused else "pause: nothing more is asked for until space"
    return [
        half,
        "",
        f"space   {pause}",
        "s       stop: ask for nothing more, wait until what leaves has gone; nodes stay cordoned",
        f"R       stop, and give back the {len(begun)} nodes that this run has begun (you type for it)",
        ("X       leave at once: what was asked for comes to its end unseen", Tone.WARN),
        "",
        "A run that was stopped can be gone on with later, from any machine: drain resume.",
        ("Enter does nothing here. esc closes this, and the run stays as it is.", Tone.FAINT),
    ]
