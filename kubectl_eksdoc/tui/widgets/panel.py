"""A framed part of the screen whose title has the key that leads there, and text that can be scrolled."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import shown
from kubectl_eksdoc.tui.sheets.sheet import Line
from kubectl_eksdoc.tui.widgets.titled import Titled

_STYLES = {Tone.TITLE: "bold", Tone.FAINT: "dim"}


class Prose(VerticalScroll, Titled, can_focus=True):
    """Lines of text, as many as there are; long ones are wrapped. Mutable."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll_down", show=False),
        Binding("up,k", "scroll_up", show=False),
        Binding("pagedown,ctrl+f", "page_down", show=False),
        Binding("pageup,ctrl+b", "page_up", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(Static(id=f"{id}-text"), id=id)
        self._shown: list[Line] | None = None

    def show(self, lines: list[Line]) -> None:
        """From its begin, unless it is there already."""
        if lines == self._shown:
            return
        self._shown = lines
        look = Look(ascii=getattr(self.app, "only_ascii", False))
        text = Text()
        colours = self.app.theme_variables
        for line in lines:
            words, tone = line if isinstance(line, tuple) else (line, None)
            style = "" if tone is None else _STYLES.get(tone) or colours.get(f"st-{tone.name.lower()}", "")
            text.append(shown(words, look) + "\n", style=style)
        self.query_one(Static).update(text)
        self.scroll_home(animate=False)
