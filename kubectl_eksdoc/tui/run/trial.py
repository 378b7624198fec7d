"""[D] What the server says of the first round, with nothing done: each cordon and eviction asked for by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen

from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.flows.run.trying import Tried
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import shown
from kubectl_eksdoc.tui.sheets.sheet import Line
from kubectl_eksdoc.tui.widgets.panel import Prose

_MOST = 30
_PROVES = (
    "Nothing was evicted, so this does not show how budgets, replacements and the scheduler react: two pods of one "
    "budget are each let go here. The plan's own simulation shows that."
)


class TrialScreen(ModalScreen[None]):
    """`attempt` is called in a thread of its own: it asks the server."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "close", show=False)]

    class Over(Message):
        def __init__(self, told: list[Line]) -> None:
            super().__init__()
            self.told = told

    def __init__(self, attempt: Callable[[], Tried]) -> None:
        super().__init__()
        self._attempt = attempt

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Prose(id="about")

    def on_mount(self) -> None:
        look = Look(ascii=getattr(self.app, "only_ascii", False))
        self.query_one("#dialog").border_title = shown("A dry run of the first round, on the server", look)
        self.query_one(Prose).show(["The server is asked…"])
        self.query_one(Prose).focus()
        threading.Thread(target=self._work, name="trial", daemon=True).start()

    def _work(self) -> None:
        try:
            told = lines(self._attempt())
        except EksdocError as error:
            told = [(f"✗ {error.message}", Tone.BAD), "", *error.hint.splitlines()]
        except Exception as error:  # a bug must not leave a dialog that waits for ever
            told = [(f"✗ this is a bug in kubectl eksdoc, please report it: {error!r}", Tone.BAD)]
        self.post_message(self.Over(told))

    @on(Over)
    def _over(self, event: Over) -> None:
        self.query_one(Prose).show([*event.told, "", ("esc closes this.", Tone.FAINT)])


def lines(tried: Tried) -> list[Line]:
    would = tried.asked - len(tried.refused)
    sign, tone = ("✗", Tone.BAD) if tried.refused else ("✓", Tone.GOOD)
    told: list[Line] = [(f"{sign} the server would do {would} of {tried.asked} cordons and first evictions", tone), ""]
    told += [(f"✗ {each.subject}: {each.why}", Tone.BAD) for each in tried.refused[:_MOST]]
    if len(tried.refused) > _MOST:
        told.append((f"… and {len(tried.refused) - _MOST} more", Tone.FAINT))
    return [*told, *([""] if tried.refused else []), _PROVES]
