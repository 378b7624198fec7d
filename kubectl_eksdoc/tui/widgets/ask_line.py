"""One line to type in at the foot of the screen: opened by a key, left by esc or enter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class AskLine(Horizontal):
    """`sign` is the key that opens it, and stands before what is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "leave", show=False)]

    @dataclass
    class Of(Message):
        """A message of this line; handlers are for those that follow, which are no kinds of each other."""

        line: AskLine
        text: str

        @property
        def control(self) -> AskLine:
            return self.line

    @dataclass
    class Changed(Of):
        """What is typed so far."""

    @dataclass
    class Said(Of):
        """Enter."""

    @dataclass
    class Left(Of):
        """Esc."""

    def __init__(self, sign: str, placeholder: str, *, id: str) -> None:
        super().__init__(id=id, classes="ask")
        self._sign = sign
        self._placeholder = placeholder

    def compose(self) -> ComposeResult:
        yield Static(self._sign)
        yield Input(placeholder=self._placeholder, compact=True, select_on_focus=False)

    def on_mount(self) -> None:
        self.display = False

    def open(self, text: str = "") -> None:
        """At once: the next key is typed into it, however fast it comes."""
        self.display = True
        field = self.query_one(Input)
        field.value = text
        field.cursor_position = len(text)
        self.screen.set_focus(field)

    def action_leave(self) -> None:
        self.display = False
        self.post_message(self.Left(self, ""))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Changed(self, event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.display = False
        self.post_message(self.Said(self, event.value))
