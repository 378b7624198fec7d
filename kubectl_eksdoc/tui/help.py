"""[?] The keys, by what they are for; typing looks for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.tui.keys import KEYS, Key, Page, Part
from kubectl_eksdoc.tui.widgets.panel import Line, Prose

MOTION = (("j k ↓ ↑", "row"), ("g G", "top, bottom"), ("ctrl+f ctrl+b", "page"), ("ctrl+d ctrl+u", "half page"))
MORE = (("tab", "next panel"), ("enter", "look at it, never more: pods of a node, of a budget"))


class HelpScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "close", show=False)]

    def __init__(self, page: Page, keys: Sequence[Key] = KEYS) -> None:
        super().__init__()
        self._page = page
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(id="help") as box:
            box.border_title = "Keys here: type to search, esc closes"
            yield Input(id="search", placeholder="search")
            yield Prose(id="keys")

    def on_mount(self) -> None:
        self.query_one("#search").focus()
        self.query_one("#keys", Prose).show(lines(self._keys, self._page, ""))

    @on(Input.Changed, "#search")
    def _searched(self, event: Input.Changed) -> None:
        self.query_one("#keys", Prose).show(lines(self._keys, self._page, event.value))


def lines(keys: Sequence[Key], page: Page, wanted: str) -> list[Line]:
    """By part; keys of other pages are said to be."""
    found: list[Line] = []
    for part in Part:
        rows = [(key.shown, key.words, key.pages) for key in keys if key.part is part]
        rows += [(shown, words, ()) for shown, words in (MOTION if part is Part.MOVE else ())]
        rows += [(shown, words, ()) for shown, words in (MORE if part is Part.ANYWHERE else ())]
        kept = [row for row in rows if wanted.lower() in f"{row[0]} {row[1]}".lower()]
        if kept:
            found.append((part.value, Tone.TITLE))
        for shown, said, pages in kept:
            elsewhere = "" if not pages or page in pages else f"  (on {', '.join(each.value for each in pages)})"
            found.append(f"  {shown:<16} {said}{elsewhere}")
    return found or [(f"no key has {wanted!r} in it", Tone.FAINT)]
