"""Framed panels with a title, scrollable text, and input lines."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from kubectl_eksdoc.errors import EksdocError, Forbidden, as_bug
from kubectl_eksdoc.report.text import Tone, fitted, shown

from .keymap import look_of
from .paint import FramedLines
from .tables.pods import Line, Sheet, cells, wrapped

# Base class of panels that are drawn line by line.


class FramedLineView(ScrollView):
    """Mutable: the titles of the frame as markup; and the strips drawn last."""

    _title = ""
    _subtitle = ""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._styles_cache = FramedLines()
        self._styled: object = None  # the style for which styles and strips are cached
        self._styles: dict[object, Style] = {}
        self._drawn: dict[tuple[int, int], Strip] = {}  # by place and width: cached strips

    def entitle(self, title: str) -> None:
        if title != self._title:
            self._title = self.border_title = title

    def subtitle(self, subtitle: str) -> None:
        if subtitle != self._subtitle:
            self._subtitle = self.border_subtitle = subtitle

    def notify_style_update(self) -> None:
        """Usually only the style of the frame changes."""
        super().notify_style_update()
        app = self.app
        styled = app.theme, app.has_class("-plain"), self.rich_style, self.has_class("-old")
        if styled != self._styled:
            self._styled = styled
            self._styles.clear()
            self._drawn.clear()

    def _resize(self, width: int, height: int) -> None:
        """Set the size of the content. Textual would lay out the whole screen; here only the scroll bar is updated."""
        size, before = Size(width, height), self.virtual_size
        if size != before:
            self.set_reactive(FramedLineView.virtual_size, size)
            self._scroll_update(size)
        if width != before.width:
            self.refresh()

    def _scroll_update(self, virtual_size: Size) -> None:
        """Textual moves the thumb only while the bar is visible: when shown again, the bar would have its old
        position."""
        super()._scroll_update(virtual_size)
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = self.scroll_y

    def _drawn_at(self, place: int, width: int) -> Strip:
        """The strip of a line, cached."""
        raise NotImplementedError

    def _refresh_what_differs(
        self, before: Mapping[tuple[int, int], Strip], width: int, lines: Iterable[tuple[int, int]]
    ) -> None:
        """Redraw those of `lines` (screen row and place) that differ from `old_strips`: usually little changes, and
        fewer bytes are transmitted faster."""
        ends = ((y, *where_it_differs(before.get((at, width)), self._drawn_at(at, width))) for y, at in lines)
        if regions := [Region(start, y, end - start, 1) for y, start, end in ends if start < end]:
            self.refresh(*regions)


_LABEL = re.compile(r" *\S+(?: \S+)* {2,}|[✗✓!?·»] | +")
"""The label before the text of a line, as in ``Will not  delete nodes`` and ``✓ all is well``: wrapped lines are
indented by its width."""


class Prose(FramedLineView, can_focus=True):
    """Text lines; long lines are wrapped. Drawn line by line, as tables are: only the visible part of a long text.
    Mutable."""

    BINDINGS = [
        ("down,j", "scroll_down"),
        ("up,k", "scroll_up"),
        ("pagedown,ctrl+f", "page_down"),
        ("pageup,ctrl+b", "page_up"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: list[Line] = []
        self._wrapped: dict[int, list[tuple[str, Tone | None]]] = {}

    def show(self, lines: list[Line]) -> None:
        """Show lines from the top, unless they are already shown."""
        if lines == self._shown:
            return
        before, self._drawn = self._drawn, {}
        self._shown = lines
        self._wrapped.clear()
        self._fit()
        if self.styles.auto_dimensions:
            self.refresh(layout=True)
        self.scroll_home(animate=False, immediate=True)
        self._refresh_what_differs(before, self.virtual_size.width, ((y, y) for y in range(self.content_region.height)))

    def lines(self, width: int) -> list[tuple[str, Tone | None]]:
        """The lines wrapped to `width` columns."""
        if width not in self._wrapped:
            look = look_of(self)
            told = ((each, None) if isinstance(each, str) else each for each in self._shown)
            self._wrapped[width] = [
                (part, tone)
                for words, tone in told
                for line in shown(words, look).split("\n")
                for part in hanging(line, max(width, 1))
            ]
        return self._wrapped[width]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines(width))

    def _fit(self) -> None:
        """Use all columns, unless the lines do not fit and a scroll bar is needed."""
        room = self.content_region
        fits = len(self._shown) <= room.height and len(self.lines(room.width)) <= room.height
        width = room.width - (0 if fits else self.styles.scrollbar_size_vertical)
        self._resize(width, len(self.lines(width)))

    def on_resize(self) -> None:
        self._fit()

    def render_line(self, y: int) -> Strip:
        return self._drawn_at(y + int(self.scroll_offset.y), self.virtual_size.width)

    def _drawn_at(self, place: int, width: int) -> Strip:
        if (place, width) not in self._drawn:
            lines = self.lines(width)
            text, tone = lines[place] if place < len(lines) else ("", None)
            drawn = Strip([Segment(text, self._style(tone))])
            self._drawn[place, width] = drawn.adjust_cell_length(width, self._style(None))
        return self._drawn[place, width]

    def _style(self, tone: Tone | None) -> Style:
        if tone not in self._styles:
            colour = self.app.theme_variables.get(f"st-{tone.name.lower()}") if tone is not None else None
            self._styles[tone] = self.rich_style + Style(bold=tone is Tone.TITLE or None, color=colour)
        return self._styles[tone]


@dataclass
class Answered(Message):
    """The answer of a background question; `lines` say why there is none."""

    answer: object = None
    lines: Sequence[Line] = ()


def refusal(error: EksdocError) -> list[Line]:
    helps = ["", "! on the plan lists these rights; y copies there the roles that allow them."]
    more = helps if isinstance(error, Forbidden) else []
    return [(f"✗ {error.message}", Tone.BAD), "", *error.hint.splitlines(), *more]


def ask(screen: Widget, name: str, question: Callable[[], object]) -> None:
    """Ask in a thread. `screen` always gets an `Answered`: a bug must not leave a dialog that waits for ever."""

    def work() -> None:
        try:
            answered = Answered(question())
        except EksdocError as error:
            answered = Answered(lines=refusal(error))
        except Exception as error:
            answered = Answered(lines=[(f"✗ {as_bug(error)}", Tone.BAD)])
        screen.post_message(answered)

    threading.Thread(target=work, name=name, daemon=True).start()


def hanging(line: str, room: int) -> list[str]:
    """Lines of at most `width` columns; continuation lines are indented by the label."""
    if cells(line) <= room:
        return [line]
    match = _LABEL.match(line)
    label = match.group() if match is not None and cells(match.group()) <= room // 2 else ""
    wide = cells(label)
    first, *rest = wrapped(line[len(label) :], room - wide)
    return [label + first, *(" " * wide + part for part in rest)]


# An input line at the foot of the screen: opened by a key, closed by esc or enter.


class AskLine(Horizontal):
    """`key` opens the line, and is shown before the input."""

    BINDINGS = [("escape", "leave")]

    @dataclass
    class Of(Message):
        """Base class of the messages of this line; handlers use its subclasses."""

        line: AskLine
        text: str

        @property
        def control(self) -> AskLine:
            return self.line

    @dataclass
    class Changed(Of):
        """The text typed so far."""

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
        """Open synchronously: even a fast next key goes into the line."""
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


# Changed part of a line: unchanged text and colours are not sent again.


def where_it_differs(before: Strip | None, now: Strip) -> tuple[int, int]:
    """The columns (start, exclusive end) in which two lines differ; equal numbers if they do not. Where a comparison is
    not worthwhile, the whole line."""
    length = now.cell_length
    if before is None or before.cell_length != length:
        return 0, length
    if before == now:
        return 0, 0
    old, new = _cells(before), _cells(now)
    if len(old) != length or len(new) != length:  # a character is wider than one column
        return 0, length
    start = next((at for at in range(length) if old[at] != new[at]), length)
    end = next((at for at in range(length, start, -1) if old[at - 1] != new[at - 1]), start)
    return start, end


def _cells(strip: Strip) -> list[tuple[str, Style | None]]:
    return [(sign, segment.style) for segment in strip for sign in segment.text]


# Layout of the columns of a sheet: which fit, and their widths.


GAP = 1
_LEAST_FILL = 16


class ColumnLayout(NamedTuple):
    """The columns that fit into `width`, and their widths; `titles` are of all columns."""

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
