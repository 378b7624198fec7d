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

from kubectl_eksdoc.errors import EksdocError, Forbidden, bug_text
from kubectl_eksdoc.report.text import Tone, fit_columns, printable

from .keymap import appearance_of
from .paint import FramedLines
from .tables.pods import Line, Sheet, cell_width, wrap_cells

# Base class of panels that are drawn line by line.


class FramedLineView(ScrollView):
    """Mutable: the titles of the frame as markup; and the strips drawn last."""

    _frame_title = ""
    _frame_subtitle = ""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._styles_cache = FramedLines()
        self._style_key: object = None  # the style for which styles and strips are cached
        self._styles: dict[object, Style] = {}
        self._strips: dict[tuple[int, int], Strip] = {}  # by place and width: cached strips

    def set_title(self, title: str) -> None:
        if title != self._frame_title:
            self._frame_title = self.border_title = title

    def set_subtitle(self, subtitle: str) -> None:
        if subtitle != self._frame_subtitle:
            self._frame_subtitle = self.border_subtitle = subtitle

    def notify_style_update(self) -> None:
        """Usually only the style of the frame changes."""
        super().notify_style_update()
        app = self.app
        style_key = app.theme, app.has_class("-plain"), self.rich_style, self.has_class("-old")
        if style_key != self._style_key:
            self._style_key = style_key
            self._styles.clear()
            self._strips.clear()

    def _set_virtual_size(self, width: int, height: int) -> None:
        """Set the size of the content. Textual would lay out the whole screen; here only the scroll bar is updated."""
        size, old_size = Size(width, height), self.virtual_size
        if size != old_size:
            self.set_reactive(FramedLineView.virtual_size, size)
            self._scroll_update(size)
        if width != old_size.width:
            self.refresh()

    def _scroll_update(self, virtual_size: Size) -> None:
        """Textual moves the thumb only while the bar is visible: when shown again, the bar would have its old
        position."""
        super()._scroll_update(virtual_size)
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = self.scroll_y

    def _strip_at(self, place: int, width: int) -> Strip:
        """The strip of a line, cached."""
        raise NotImplementedError

    def _refresh_changed(
        self, old_strips: Mapping[tuple[int, int], Strip], width: int, lines: Iterable[tuple[int, int]]
    ) -> None:
        """Redraw those of `lines` (screen row and place) that differ from `old_strips`: usually little changes, and
        fewer bytes are transmitted faster."""
        changed_ranges = (
            (y, *changed_columns(old_strips.get((place, width)), self._strip_at(place, width))) for y, place in lines
        )
        if regions := [Region(start, y, end - start, 1) for y, start, end in changed_ranges if start < end]:
            self.refresh(*regions)


_LINE_LABEL = re.compile(r" *\S+(?: \S+)* {2,}|[✗✓!?·»] | +")
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
        self._lines: list[Line] = []
        self._wrapped: dict[int, list[tuple[str, Tone | None]]] = {}

    def show(self, lines: list[Line]) -> None:
        """Show lines from the top, unless they are already shown."""
        if lines == self._lines:
            return
        old_strips, self._strips = self._strips, {}
        self._lines = lines
        self._wrapped.clear()
        self._fit_width()
        if self.styles.auto_dimensions:
            self.refresh(layout=True)
        self.scroll_home(animate=False, immediate=True)
        self._refresh_changed(old_strips, self.virtual_size.width, ((y, y) for y in range(self.content_region.height)))

    def wrapped_lines(self, width: int) -> list[tuple[str, Tone | None]]:
        """The lines wrapped to `width` columns."""
        if width not in self._wrapped:
            appearance = appearance_of(self)
            toned_lines = ((each, None) if isinstance(each, str) else each for each in self._lines)
            self._wrapped[width] = [
                (wrapped_line, tone)
                for text, tone in toned_lines
                for line in printable(text, appearance).split("\n")
                for wrapped_line in hang_lines(line, max(width, 1))
            ]
        return self._wrapped[width]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.wrapped_lines(width))

    def _fit_width(self) -> None:
        """Use all columns, unless the lines do not fit and a scroll bar is needed."""
        room = self.content_region
        fits = len(self._lines) <= room.height and len(self.wrapped_lines(room.width)) <= room.height
        width = room.width - (0 if fits else self.styles.scrollbar_size_vertical)
        self._set_virtual_size(width, len(self.wrapped_lines(width)))

    def on_resize(self) -> None:
        self._fit_width()

    def render_line(self, y: int) -> Strip:
        return self._strip_at(y + int(self.scroll_offset.y), self.virtual_size.width)

    def _strip_at(self, place: int, width: int) -> Strip:
        if (place, width) not in self._strips:
            lines = self.wrapped_lines(width)
            text, tone = lines[place] if place < len(lines) else ("", None)
            strip = Strip([Segment(text, self._style_of(tone))])
            self._strips[place, width] = strip.adjust_cell_length(width, self._style_of(None))
        return self._strips[place, width]

    def _style_of(self, tone: Tone | None) -> Style:
        if tone not in self._styles:
            colour = self.app.theme_variables.get(f"st-{tone.name.lower()}") if tone is not None else None
            self._styles[tone] = self.rich_style + Style(bold=tone is Tone.TITLE or None, color=colour)
        return self._styles[tone]


@dataclass
class Answered(Message):
    """The answer of a background question; `lines` say why there is none."""

    answer: object = None
    lines: Sequence[Line] = ()


def error_lines(error: EksdocError) -> list[Line]:
    rights_hint = ["", "! on the plan lists these rights; y copies there the roles that allow them."]
    extra_lines = rights_hint if isinstance(error, Forbidden) else []
    return [(f"✗ {error.message}", Tone.BAD), "", *error.hint.splitlines(), *extra_lines]


def run_in_thread(screen: Widget, name: str, question: Callable[[], object]) -> None:
    """Ask in a thread. `screen` always gets an `Answered`: a bug must not leave a dialog that waits for ever."""

    def work() -> None:
        try:
            answered = Answered(question())
        except EksdocError as error:
            answered = Answered(lines=error_lines(error))
        except Exception as error:
            answered = Answered(lines=[(f"✗ {bug_text(error)}", Tone.BAD)])
        screen.post_message(answered)

    threading.Thread(target=work, name=name, daemon=True).start()


def hang_lines(line: str, width: int) -> list[str]:
    """Lines of at most `width` columns; continuation lines are indented by the label."""
    if cell_width(line) <= width:
        return [line]
    match = _LINE_LABEL.match(line)
    label = match.group() if match is not None and cell_width(match.group()) <= width // 2 else ""
    label_width = cell_width(label)
    first, *other_lines = wrap_cells(line[len(label) :], width - label_width)
    return [label + first, *(" " * label_width + part for part in other_lines)]


# An input line at the foot of the screen: opened by a key, closed by esc or enter.


class AskLine(Horizontal):
    """`key` opens the line, and is shown before the input."""

    BINDINGS = [("escape", "leave")]

    @dataclass
    class LineMessage(Message):
        """Base class of the messages of this line; handlers use its subclasses."""

        line: AskLine
        text: str

        @property
        def control(self) -> AskLine:
            return self.line

    @dataclass
    class Changed(LineMessage):
        """The text typed so far."""

    @dataclass
    class Submitted(LineMessage):
        """Enter."""

    @dataclass
    class Cancelled(LineMessage):
        """Esc."""

    def __init__(self, key: str, placeholder: str, *, id: str) -> None:
        super().__init__(id=id, classes="ask")
        self._key = key
        self._placeholder = placeholder

    def compose(self) -> ComposeResult:
        yield Static(self._key)
        yield Input(placeholder=self._placeholder, compact=True, select_on_focus=False)

    def on_mount(self) -> None:
        self.display = False

    def open(self, text: str = "") -> None:
        """Open synchronously: even a fast next key goes into the line."""
        self.display = True
        input_field = self.query_one(Input)
        input_field.value = text
        input_field.cursor_position = len(text)
        self.screen.set_focus(input_field)

    def action_leave(self) -> None:
        self.display = False
        self.post_message(self.Cancelled(self, ""))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Changed(self, event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.display = False
        self.post_message(self.Submitted(self, event.value))


# Changed part of a line: unchanged text and colours are not sent again.


def changed_columns(old_strip: Strip | None, new_strip: Strip) -> tuple[int, int]:
    """The columns (start, exclusive end) in which two lines differ; equal numbers if they do not. Where a comparison is
    not worthwhile, the whole line."""
    length = new_strip.cell_length
    if old_strip is None or old_strip.cell_length != length:
        return 0, length
    if old_strip == new_strip:
        return 0, 0
    old_cells, new_cells = _styled_characters(old_strip), _styled_characters(new_strip)
    if len(old_cells) != length or len(new_cells) != length:  # a character is wider than one column
        return 0, length
    start = next((column for column in range(length) if old_cells[column] != new_cells[column]), length)
    end = next((column for column in range(length, start, -1) if old_cells[column - 1] != new_cells[column - 1]), start)
    return start, end


def _styled_characters(strip: Strip) -> list[tuple[str, Style | None]]:
    return [(sign, segment.style) for segment in strip for sign in segment.text]


# Layout of the columns of a sheet: which fit, and their widths.


GAP = 1
_MIN_FILL = 16


class ColumnLayout(NamedTuple):
    """The columns that fit into `width`, and their widths; `titles` are of all columns."""

    width: int
    shown_columns: tuple[int, ...]
    widths: tuple[int, ...]
    titles: tuple[str, ...]


def lay_out(sheet: Sheet, width: int, available: int) -> ColumnLayout:
    body_widths = list(sheet.widths)
    if sheet.fill_column is not None:
        body_widths[sheet.fill_column] = sheet.columns[sheet.fill_column].min_width or min(
            body_widths[sheet.fill_column], _MIN_FILL
        )
    titles = [column.title for column in sheet.columns]
    desired_widths = _widths_with_titles(titles, body_widths)
    if sum(desired_widths) + GAP * (len(desired_widths) - 1) > available:
        titles = [column.short_title or column.title for column in sheet.columns]
        desired_widths = _widths_with_titles(titles, body_widths)
    shown_columns, widths = fit_columns(sheet.columns, desired_widths, available, GAP)
    if sheet.fill_column in shown_columns:
        spare = available - sum(widths[at] for at in shown_columns) - GAP * (len(shown_columns) - 1)
        widths[sheet.fill_column] += max(spare, 0)
    return ColumnLayout(width, tuple(shown_columns), tuple(widths[at] for at in shown_columns), tuple(titles))


def lay_out_wide(sheet: Sheet, width: int) -> ColumnLayout:
    body_widths = list(sheet.widths)
    if sheet.fill_column is not None and sheet.fill_width is not None:
        body_widths[sheet.fill_column] = sheet.fill_width()
    titles = tuple(column.title for column in sheet.columns)
    return ColumnLayout(width, tuple(range(len(titles))), tuple(_widths_with_titles(titles, body_widths)), titles)


def _widths_with_titles(titles: Sequence[str], body_widths: Sequence[int]) -> list[int]:
    return [max(len(title), body) for title, body in zip(titles, body_widths, strict=True)]
