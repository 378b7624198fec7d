"""[o] All knobs as a form over the page: the plan behind it follows each change."""

from __future__ import annotations

from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from kubectl_eksdoc.report.text import printable

from . import words
from .keymap import FootBar, HeadLine, Hint, Keymap, appearance_of
from .knobs import BY_ID
from .line_table import LineTable
from .model import Model
from .tables import pods

_FOOT_HINTS = (
    Hint("h l", "turn", ("turn(-1)", "turn(1)")),
    Hint("j k", "next"),
    Hint("z", "undo", ("do('undo')",)),
    Hint("Z", "redo", ("do('redo')",)),
    Hint("C", "copy", ("do('command')",)),
    Hint("esc", "back", ("dismiss",)),
)

_KNOB_ACTIONS = frozenset({"parallel", "grace"})
"""Actions of keys that change values of the form."""


class KnobsScreen(ModalScreen[None]):
    """If the table has no room for it, a line describes the knob under the cursor, and its flag.

    `turn` receives the id of a knob and the step; `do` the id of a key that also works here. The other keys of `keymap`
    say why they have no effect.
    """

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    BINDINGS = [
        ("left,h", "turn(-1)"),
        ("right,l", "turn(1)"),
        ("z", "do('undo')"),
        ("Z", "do('redo')"),
        ("C", "do('command')"),
        ("escape,o,q", "dismiss"),
    ]

    def __init__(
        self, model: Model, turn: Callable[[str, int], None], do: Callable[[str], None], keymap: Keymap
    ) -> None:
        super().__init__()
        own_keys = set(self._bindings.key_to_bindings)
        for key in keymap.keys:
            action = "do" if key.action in _KNOB_ACTIONS else "refuse"
            for pressed in set(key.keys.split(",")) - own_keys:
                self._bindings.bind(pressed, f"{action}('{key.id}')", show=False)
        self._keymap = keymap
        self._model = model
        self._turn = turn
        self._do = do

    def compose(self) -> ComposeResult:
        with Vertical(id="form") as box:
            box.border_title = "All knobs of the plan"
            yield LineTable(id="knobs")
            yield Static(id="form-knob")
            yield HeadLine(id="form-line")
            yield FootBar(id="form-foot")

    def on_mount(self) -> None:
        self.show(self._model)
        self.query_one(LineTable).focus()

    def show(self, model: Model) -> None:
        """Show the current selection."""
        self.query_one(LineTable).show(pods.knobs_sheet(model.choice.plan_input.policy))
        self.query_one("#form-line", HeadLine).show(words.plan_texts(model), " · ")
        choice = model.choice
        has_effect = {"z": choice.past, "Z": choice.future, "C": choice.plan_input.marked}
        self.query_one("#form-foot", FootBar).show([each for each in _FOOT_HINTS if has_effect.get(each.key, True)])

    @on(LineTable.Moved)
    def _moved(self, event: LineTable.Moved) -> None:
        knob = BY_ID.get(event.key)
        appearance = appearance_of(self)
        text = printable(f"{knob.flag}: {knob.effect}" if knob is not None else "", appearance)
        self.query_one("#form-knob", Static).update(text.replace("[", r"\["))

    def action_turn(self, by: int) -> None:
        knob = self.query_one(LineTable).key
        if knob is not None:
            self._turn(knob, by)

    def action_do(self, key: str) -> None:
        self._do(key)

    def action_refuse(self, key: str) -> None:
        self.notify(f"{self._keymap.by_id(key).shown}: not from this form, esc closes it", timeout=4, markup=False)
