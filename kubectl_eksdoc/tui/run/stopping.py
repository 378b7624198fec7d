"""[a] What can be done with a run that is under way: nothing of it happens by Enter."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from kubectl_eksdoc.core.run.chronicle import NodeState
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.run import stands
from kubectl_eksdoc.render.text import counted, sentences, shown
from kubectl_eksdoc.tui.run import words
from kubectl_eksdoc.tui.run.state import RunState, Stage
from kubectl_eksdoc.tui.sheets.sheet import Line
from kubectl_eksdoc.tui.widgets.panel import Prose


class Choice(Enum):
    PAUSE = "pause"
    FINISH_WAVE = "finish wave"
    STOP = "stop"
    GIVE_BACK = "give back"
    LEAVE = "leave"
    LEAVE_ALONE = "leave alone"  # one node


_LOOK_S = 0.5

_GOES_ON = "The run goes on. What next?"
_TITLES = {
    Stage.PAUSED: "Paused: what next?",
    Stage.PAUSING: "It is about to pause. What next?",
    Stage.HELD: "The run is held. What next?",
    Stage.STOPPING: "It is stopping already. What next?",
    Stage.FINISHING: "It stops after its wave. What next?",
}


class StopScreen(ModalScreen[Choice | None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "choose('PAUSE')", "pause, or go on", show=False),
        Binding("w", "choose('FINISH_WAVE')", "finish the wave, then stop", show=False),
        Binding("s", "choose('STOP')", "stop", show=False),
        Binding("y", "choose('LEAVE_ALONE')", "leave the node alone", show=False),
        Binding("R", "choose('GIVE_BACK')", "stop, and give back", show=False),
        Binding("X", "choose('LEAVE')", "leave at once", show=False),
        Binding("escape,q", "dismiss", "close", show=False),
    ]

    def __init__(self, state: RunState, node: str = "") -> None:
        """`node`: whether that one is left alone is what is asked; "" for what becomes of the run."""
        super().__init__()
        self._state = state
        self._node = node

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Prose(id="choices")

    def on_mount(self) -> None:
        self.query_one(Prose).focus()
        self._show()
        self.set_interval(_LOOK_S, self._show)

    def _show(self) -> None:
        look = Look(ascii=getattr(self.app, "only_ascii", False))
        title = f"Leave {self._node} alone?" if self._node else _TITLES.get(self._state.stage, _GOES_ON)
        self.query_one("#dialog").border_title = shown("It is over." if self._state.over else title, look)
        self.query_one(Prose).show(about_node(self._state, self._node) if self._node else lines(self._state))

    def action_choose(self, name: str) -> None:
        choice = Choice[name]
        if (choice is Choice.LEAVE_ALONE) is not bool(self._node) and not self._state.over:
            return  # a key of the other menu
        if choice is Choice.FINISH_WAVE and not _has_waves(self._state):
            return
        self.dismiss(None if self._state.over else choice)


def lines(state: RunState) -> list[Line]:
    """What is half done now, and what each key would do about it."""
    if state.over:
        return ["The run is over meanwhile.", "", "esc closes this."]
    half = stands.stop_in_full(state.standing) if state.standing is not None else "Nothing was done yet."
    begun = sum(node.state is not NodeState.QUEUED for node in state.chronicle.nodes.values())
    begun += len(state.standing.cordoned_only) if state.standing is not None else 0
    pause = "go on" if state.is_paused else "pause: nothing more is asked for until space"
    held: list[Line] = [(sentences(f"Held: {words.held(state)}"), Tone.WARN)] if state.stage is Stage.HELD else []
    return [
        *held,
        half,
        "",
        f"space   {pause}",
        *(["w       finish the wave that is under way, then stop"] if _has_waves(state) else []),
        "s       stop: ask for nothing more, wait until what leaves has gone; nodes stay cordoned",
        f"R       stop, and give back {counted(begun, 'node')} that this run has cordoned (you type for it)",
        ("X       leave at once: what was asked for comes to its end unseen", Tone.WARN),
        "",
        "A run that was stopped can be gone on with later, from any machine: drain resume.",
        ("Enter does nothing here. esc closes this, and the run stays as it is.", Tone.FAINT),
    ]


def about_node(state: RunState, node: str) -> list[Line]:
    """What it means for one node."""
    if state.over:
        return ["The run is over meanwhile.", "", "esc closes this."]
    course = state.chronicle.nodes[node]
    left = len(course.pods) - course.gone
    return [
        f"{counted(left, 'pod')} of it {'is' if left == 1 else 'are'} left.",
        "",
        "y       leave it alone: nothing more is asked for on it, it stays cordoned, and the others go on",
        "",
        "What was asked to go already goes. The run is not whole then: drain resume takes the node up again.",
        ("Enter does nothing here. esc closes this.", Tone.FAINT),
    ]


def _has_waves(state: RunState) -> bool:
    return len({node.wave for node in state.chronicle.nodes.values()}) > 1
