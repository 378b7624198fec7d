"""A framed part of the screen whose title has the key that leads there, and text that can be scrolled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.console import Console, ConsoleOptions
from rich.style import Style
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from kubectl_eksdoc.render.tables import fitted
from kubectl_eksdoc.render.text import Look, Tone, shown
from kubectl_eksdoc.tui.sheets.pods import Line, Sheet, cells, wrapped

# Titles of a frame that draw it anew only when they change: Textual does so whenever they are given.


class Titled(Widget):
    """Mutable: the titles as they were given last, as markup."""

    _title = ""
    _subtitle = ""

    def entitle(self, title: str) -> None:
        if title != self._title:
            self._title = self.border_title = title

    def subtitle(self, subtitle: str) -> None:
        if subtitle != self._subtitle:
            self._subtitle = self.border_subtitle = subtitle


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


# One line to type in at the foot of the screen: opened by a key, left by esc or enter.


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


# Which part of a line is new: the colours of the rest need not be sent once more.


def where_it_differs(before: Strip | None, now: Strip) -> tuple[int, int]:
    """From which column of the terminal to which (exclusive) two lines look otherwise; the same twice where they do
    not. Where it is not worth to look closely it is the whole line."""
    length = now.cell_length
    if before is None or before.cell_length != length:
        return 0, length
    if before == now:
        return 0, 0
    old, new = _cells(before), _cells(now)
    if len(old) != length or len(new) != length:  # a sign is wider than one column
        return 0, length
    start = next((at for at in range(length) if old[at] != new[at]), length)
    end = next((at for at in range(length, start, -1) if old[at - 1] != new[at - 1]), start)
    return start, end


def _cells(strip: Strip) -> list[tuple[str, Style | None]]:
    return [(sign, segment.style) for segment in strip for sign in segment.text]


# Which columns of a sheet there is room for, and how wide they are.


GAP = 1
_LEAST_FILL = 16


class ColumnLayout(NamedTuple):
    """Which columns are kept in so much room, and their widths; the titles are of all columns."""

    width: int
    kept: tuple[int, ...]
    widths: tuple[int, ...]
    titles: tuple[str, ...]


def laid(sheet: Sheet, width: int, room: int) -> ColumnLayout:
    bodies = list(sheet.widths)
    if sheet.fill is not None:
        bodies[sheet.fill] = sheet.columns[sheet.fill].floor or min(bodies[sheet.fill], _LEAST_FILL)
    titles = [column.title for column in sheet.columns]
    wanted = _with(titles, bodies)
    if sum(wanted) + GAP * (len(wanted) - 1) > room:
        titles = [column.short or column.title for column in sheet.columns]
        wanted = _with(titles, bodies)
    kept, new = fitted(sheet.columns, wanted, room, GAP)
    if sheet.fill in kept:
        spare = room - sum(new[at] for at in kept) - GAP * (len(kept) - 1)
        new[sheet.fill] += max(spare, 0)
    return ColumnLayout(width, tuple(kept), tuple(new[at] for at in kept), tuple(titles))


def laid_wide(sheet: Sheet, width: int) -> ColumnLayout:
    bodies = list(sheet.widths)
    if sheet.fill is not None and sheet.full is not None:
        bodies[sheet.fill] = sheet.full()
    titles = tuple(column.title for column in sheet.columns)
    return ColumnLayout(width, tuple(range(len(titles))), tuple(_with(titles, bodies)), titles)


def _with(titles: Sequence[str], bodies: Sequence[int]) -> list[int]:
    return [max(len(title), body) for title, body in zip(titles, bodies, strict=True)]
