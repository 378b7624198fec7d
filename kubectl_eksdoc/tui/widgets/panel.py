"""A framed part of the screen whose title has the key that leads there, and text that can be scrolled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from rich.console import Console, ConsoleOptions
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import shown
from kubectl_eksdoc.tui.sheets.cells import cells, wrapped
from kubectl_eksdoc.tui.sheets.sheet import Line
from kubectl_eksdoc.tui.widgets.titled import Titled

_STYLES = {Tone.TITLE: "bold", Tone.FAINT: "dim"}

_LABEL = re.compile(r" *\S+(?: \S+)* {2,}|[✗✓!?·»] | +")
"""What stands before the words of a line, as in ``Will not  delete nodes`` and ``✓ all is well``: they are wrapped
behind it."""


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
        colours = self.app.theme_variables
        told = []
        for line in lines:
            words, tone = line if isinstance(line, tuple) else (line, None)
            style = "" if tone is None else _STYLES.get(tone) or colours.get(f"st-{tone.name.lower()}", "")
            told += [(part, style) for part in shown(words, look).split("\n")]
        for each in self.query(Static):  # none while it is being closed
            each.update(_Wrapped(told))
        self.scroll_home(animate=False)


class _Wrapped:
    """Lines and their styles, in as many columns as there are when they are drawn."""

    def __init__(self, lines: list[tuple[str, str]]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for line, style in self._lines:
            for part in hanging(line, options.max_width):
                yield Text(part, style=style, no_wrap=True)


def hanging(line: str, room: int) -> list[str]:
    """Of at most `room` columns each, all but the first under the words of the first."""
    match = _LABEL.match(line)
    label = match.group() if match is not None and cells(match.group()) <= room // 2 else ""
    wide = cells(label)
    first, *rest = wrapped(line[len(label) :], room - wide)
    return [label + first, *(" " * wide + part for part in rest)]
