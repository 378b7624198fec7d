"""A table that draws only visible lines: with 20,000 rows the first paint is as fast as with 20.

Textual's DataTable measures every cell; this table uses the line API and requests a row's cells only when its line is
drawn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from kubectl_eksdoc.report.text import Appearance, Cell, Tone, printable

from .keymap import appearance_of
from .paint import thumb_position
from .panel import GAP, ColumnLayout, FramedLineView, lay_out, lay_out_wide
from .tables.pods import EMPTY_SHEET, Sheet, text_of_cell, wrap_cells

_MARK_WIDTH = 2
_SCROLL_STEP = 8
"""Terminal columns of one step sideways."""
_TITLE_ROW = -1
"""The place of the title row."""
_MAX_STRIPS = 2000
_TONES = {
    Tone.GOOD: "good",
    Tone.WARN: "warn",
    Tone.BAD: "bad",
    Tone.UNKNOWN: "unknown",
    Tone.TITLE: "title",
    Tone.FAINT: "faint",
}


_BOLD_STYLES = frozenset({"bad", "title", "head"})
_STATUS_STYLES = frozenset({"good", "warn", "bad", "unknown"})


class LineTable(FramedLineView, can_focus=True):
    """The cursor stays on its key when the rows change. `wide`: every column in full width; the user scrolls sideways,
    and the first column stays visible."""

    BINDINGS = [
        ("down,j", "move(1)"),
        ("up,k", "move(-1)"),
        ("g,home", "move_to(0)"),
        ("G,end", "move_to(-1)"),
        ("pagedown,ctrl+f", "page(1.0)"),
        ("pageup,ctrl+b", "page(-1.0)"),
        ("ctrl+d", "page(0.5)"),
        ("ctrl+u", "page(-0.5)"),
        ("left,h", "sideways(-1)"),
        ("right,l", "sideways(1)"),
        ("enter", "open"),
    ]

    @dataclass
    class Moved(Message):
        """The cursor moved to another row."""

        table: LineTable
        key: str

    @dataclass
    class Opened(Message):
        """Enter, or a double click."""

        table: LineTable
        key: str

    def __init__(self, *, has_marks: bool = False, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.sheet = EMPTY_SHEET
        self.marked: Collection[str] = frozenset()
        self.wide = False
        self._scrolled_columns = 0
        self._has_marks = has_marks
        self._cursor_row = 0
        self._appearance: Appearance | None = None
        self._drawn_window = (0, 0)  # while drawing: its width, and the first visible row
        self._cached_layout: ColumnLayout | None = None

    @property
    def key(self) -> str | None:
        """The key of the row under the cursor; None without rows."""
        return self.sheet.keys[self._cursor_row] if self.sheet.keys else None

    @property
    def appearance(self) -> Appearance:
        """The appearance is cached: each cell needs it, and looking it up takes longer than drawing."""
        if self._appearance is None:
            self._appearance = appearance_of(self)
        return self._appearance

    @property
    def _visible_size(self) -> Size:
        """The size without the scroll bar."""
        return self.scrollable_content_region.size

    @property
    def visible_rows(self) -> int:
        """Number of visible rows."""
        return max(self._visible_size.height - 1, 1)

    def shows_column(self, title: str) -> bool:
        """Whether this column fits."""
        return any(
            self.sheet.columns[index].title == title
            for index in self._column_layout(self._visible_size.width).shown_columns
        )

    def show(self, sheet: Sheet, marked: Collection[str] = frozenset()) -> None:
        """Show these rows; only lines that differ are redrawn."""
        previous_key, previous_row = self.key, self._cursor_row
        same_keys = sheet.keys is self.sheet.keys or sheet.keys == self.sheet.keys
        same_length = bool(sheet.keys) and len(sheet.keys) == len(self.sheet.keys)
        old_strips, self._strips = self._strips, {}
        self.sheet, self.marked = sheet, marked
        if not same_keys:
            row_of_key = {key: place for place, key in enumerate(sheet.keys)}
            self._cursor_row = row_of_key.get(previous_key or "", min(previous_row, max(len(sheet.keys) - 1, 0)))
        self._cached_layout = None
        self._set_virtual_size(self._visible_size.width, len(sheet.keys) + 1)
        if not same_keys:
            self._scroll_to_cursor()
        if same_length and old_strips:
            top, end = int(self.scroll_offset.y), len(sheet.keys)
            visible_places = range(top, min(top + self._visible_size.height, end))
            lines = ((0, _TITLE_ROW), *((place - top + 1, place) for place in visible_places))
            self._refresh_changed(old_strips, self._visible_size.width, lines)
        else:
            self.refresh()
        if self.key != previous_key:
            self._post_moved()

    def go_to(self, key: str) -> None:
        """Move the cursor to a row; nothing happens if it does not exist."""
        if key in self.sheet.keys:
            self._move_cursor(self.sheet.keys.index(key))

    def to_end(self) -> None:
        """Move the cursor to the last row and scroll to it."""
        self._move_cursor(len(self.sheet.keys) - 1)
        self.call_after_refresh(self._scroll_to_cursor)  # new rows are not laid out yet

    def to_start(self) -> None:
        self._move_cursor(0)

    def action_move(self, by: int) -> None:
        self._move_cursor(self._cursor_row + by)

    def action_move_to(self, place: int) -> None:
        self._move_cursor(place if place >= 0 else len(self.sheet.keys) - 1)

    def action_page(self, pages: float) -> None:
        if not self._visible_size.height:  # shown by the previous key and not laid out yet
            self.screen._refresh_layout()
        self._move_cursor(self._cursor_row + int((self._visible_size.height - 1) * pages))

    def action_sideways(self, by: int) -> None:
        self._scrolled_columns = max(min(self._scrolled_columns + by * _SCROLL_STEP, self._max_scroll), 0)
        self._strips.clear()
        self.refresh()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """If the whole table is visible, its sideways keys are free for other bindings."""
        return self._is_wide if action == "sideways" else super().check_action(action, parameters)

    def action_open(self) -> None:
        if self.key is not None:
            self.post_message(self.Opened(self, self.key))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and 0 < offset.y <= len(self.sheet.keys) - int(self.scroll_offset.y):
            self._move_cursor(int(self.scroll_offset.y) + offset.y - 1)
            if event.chain == 2:
                self.action_open()

    def on_resize(self) -> None:
        if any(width != self._visible_size.width for _, width in self._strips):
            self._strips.clear()
        self._set_virtual_size(self._visible_size.width, len(self.sheet.keys) + 1)
        self._scroll_to_cursor()

    def watch_has_focus(self, has_focus: bool) -> None:
        """The row of the cursor has another style with focus."""
        self._refresh_row(self._cursor_row)
        super().watch_has_focus(has_focus)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Textual redraws the scroll bar for each row, though among thousands of rows its thumb does not move."""
        bar = self.vertical_scrollbar
        if thumb_position(bar, old_value) == thumb_position(bar, new_value):
            bar.set_reactive(ScrollBar.position, new_value)
        super().watch_scroll_y(old_value, new_value)

    def _move_cursor(self, place: int) -> None:
        previous_row = self._cursor_row
        self._cursor_row = min(max(place, 0), max(len(self.sheet.keys) - 1, 0))
        if self._cursor_row == previous_row:
            return
        self._refresh_row(previous_row)
        self._refresh_row(self._cursor_row)
        self._scroll_to_cursor()
        self._post_moved()

    def _post_moved(self) -> None:
        """Post directly to the screen: details of the row are painted together with the row."""
        if self.key is not None:
            self.screen.post_message(self.Moved(self, self.key))

    def _scroll_to_cursor(self) -> None:
        """Scroll so that the cursor is visible."""
        row_count, top = max(self._visible_size.height - 1, 1), int(self.scroll_offset.y)
        if self._cursor_row < top:
            self.scroll_to(y=self._cursor_row, animate=False, immediate=True)
        elif self._cursor_row >= top + row_count:
            self.scroll_to(y=self._cursor_row - row_count + 1, animate=False, immediate=True)

    def _refresh_row(self, place: int) -> None:
        self._strips.pop((place, self._visible_size.width), None)
        y = place - int(self.scroll_offset.y) + 1
        if 0 < y < self._visible_size.height:
            self.refresh(Region(0, y, self._visible_size.width, 1))

    # Drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        self._drawn_window = self._visible_size.width, int(self.scroll_offset.y)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width, top = self._drawn_window
        place = y - 1 + top if y else _TITLE_ROW
        if place < len(self.sheet.keys):
            return self._strip_at(place, width)
        empty_lines = () if self.sheet.keys else self._empty_lines(width - 2)
        text = empty_lines[y - 1] if y <= len(empty_lines) else ""
        return self._build_strip([(f" {text}", "faint")], width, "")

    def _empty_lines(self, width: int) -> list[str]:
        """The text shown without rows."""
        return [
            line
            for paragraph in self.sheet.empty_text.split("\n")
            for line in wrap_cells(printable(paragraph, self.appearance), max(width, 10))
        ]

    def _strip_at(self, place: int, width: int) -> Strip:
        """The strip of a row, cached for scrolling."""
        strip = self._strips.get((place, width))
        if strip is None:
            if len(self._strips) > _MAX_STRIPS:
                self._strips.clear()
            strip = self._title_strip(width) if place == _TITLE_ROW else self._row_strip(place, width)
            self._strips[place, width] = strip
        return strip

    def _title_strip(self, width: int) -> Strip:
        layout, texts = self._column_layout(width), []
        for index, column_width in zip(layout.shown_columns, layout.widths, strict=True):
            column = self.sheet.columns[index]
            is_fill = self.sheet.fill_title is not None and index == self.sheet.fill_column
            title = (
                self.sheet.fill_title(column_width)
                if is_fill and self.sheet.fill_title is not None
                else layout.titles[index]
            )
            texts.append((self._fit_text(title, column_width, column.align_right), "head"))
        return self._line_strip([(" " * self._margin, "")], texts, width, "")

    def _row_strip(self, place: int, width: int) -> Strip:
        key = self.sheet.keys[place]
        layout = self._column_layout(width)
        cells = self.sheet.cells(key)
        texts = []
        for index, column_width in zip(layout.shown_columns, layout.widths, strict=True):
            column = self.sheet.columns[index]
            cell = cells[index]
            if index == self.sheet.fill_column and self.sheet.fill_cell is not None:
                cell = self.sheet.fill_cell(key, column_width)
            tone = cell.tone if isinstance(cell, Cell) else None
            text = self._fit_text(text_of_cell(cell), column_width, column.align_right, column.cut_middle)
            texts.append((text, _TONES[tone] if tone is not None else ""))
        is_highlighted = place == self._cursor_row and (self.has_focus or self.has_class("-chosen"))
        gutter = ("▌" if place == self._cursor_row else " ", "" if is_highlighted else "faint")
        mark_text = (("● " if key in self.marked else "  "), "good") if self._has_marks else ("", "")
        return self._line_strip([gutter, mark_text], texts, width, "cursor" if is_highlighted else "")

    def _line_strip(
        self, prefix: Sequence[tuple[str, str]], cells: Sequence[tuple[str, str]], width: int, base_style: str
    ) -> Strip:
        """`prefix` and the first cell stay in place during sideways scrolling."""
        if not self._is_wide or not cells:
            return self._build_strip([*prefix, *self._with_gaps(cells)], width, base_style)
        fixed_strip = self._build_strip([*prefix, cells[0]], self._fixed_width, base_style)
        scrolled = self._build_strip(
            [(" " * GAP, ""), *self._with_gaps(cells[1:])], self._scrolled_columns + width, base_style
        )
        offset = min(self._scrolled_columns, self._max_scroll)
        return Strip.join([fixed_strip, scrolled.crop(offset, offset + max(width - self._fixed_width, 0))]).crop(
            0, width
        )

    @property
    def _is_wide(self) -> bool:
        return self.wide and self.sheet.can_be_wide

    @property
    def _fixed_width(self) -> int:
        """Width of the part that does not scroll sideways."""
        return self._margin + self._column_layout(self._visible_size.width).widths[0]

    @property
    def _max_scroll(self) -> int:
        """The maximum scroll offset, at which the end of the lines is visible."""
        widths = self._column_layout(self._visible_size.width).widths
        return max(self._margin + sum(widths) + GAP * (len(widths) - 1) - self._visible_size.width, 0)

    @property
    def _margin(self) -> int:
        return 1 + (_MARK_WIDTH if self._has_marks else 0)

    @staticmethod
    def _with_gaps(texts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        joined: list[tuple[str, str]] = []
        for each in texts:
            joined += [(" " * GAP, "")] if joined else []
            joined.append(each)
        return joined

    def _fit_text(self, text: str, width: int, align_right: bool, cut_middle: bool = False) -> str:
        """`text` in exactly `width` columns of the terminal."""
        text = printable(text, self.appearance)
        size = len(text) if text.isascii() else cell_len(text)
        if size > width:
            ellipsis = self.appearance.ellipsis
            if cut_middle and width > 8:
                head = (width - len(ellipsis) + 1) // 2
                tail = width - len(ellipsis) - head
                end_text = text[len(text) - tail :] if cell_len(text) == len(text) else ""
                if end_text:
                    return text[:head] + ellipsis + end_text
            return set_cell_size(text, max(width - len(ellipsis), 0)) + ellipsis[:width]
        return " " * (width - size) + text if align_right else text + " " * (width - size)

    def _build_strip(self, texts: Sequence[tuple[str, str]], width: int, base_style: str) -> Strip:
        """Merge texts of the same style into one segment: the escape sequences of a style are longer than most
        texts."""
        base_rich_style, transliterate = self._style_of(base_style), self.appearance.transliterate
        if base_style:  # colours are hard to read on this background; symbol and word say the same
            segments = [Segment(transliterate("".join(text for text, _ in texts)), base_rich_style)]
        else:
            segments = [Segment(transliterate(text), self._style_of(name)) for name, text in _merge_styles(texts)]
        return Strip(segments).adjust_cell_length(width, base_rich_style).crop(0, width)

    def _style_of(self, name: str) -> Style:
        """The style of a tone, of the titles (`head`) or of the cursor row. It is computed from the theme here: for
        component classes, Textual would match all rules against each of them whenever the focus moves."""
        style = self._styles.get(name)
        if style is None:
            style = self.rich_style
            if name == "cursor" and self.app.has_class("-plain"):
                style += Style(bold=True, reverse=True)
            elif name == "cursor":
                colours = self.app.theme_variables
                style += Style(bold=True, color=colours["foreground"], bgcolor=colours["st-cursor"])
            elif name:
                tone = "faint" if name == "head" or (name in _STATUS_STYLES and self.has_class("-old")) else name
                colour = self.app.theme_variables.get(f"st-{tone}")
                style += Style(bold=name in _BOLD_STYLES or None, color=colour)
            self._styles[name] = style
        return style

    def _column_layout(self, width: int) -> ColumnLayout:
        if self._cached_layout is None or self._cached_layout.width != width:
            sheet = self.sheet
            if self.appearance.ascii and sheet.ascii_widths:
                sheet = replace(sheet, widths=sheet.ascii_widths)
            wide_layout = lay_out_wide(sheet, width) if self._is_wide else None
            self._cached_layout = wide_layout or lay_out(sheet, width, width - self._margin)
        return self._cached_layout


def _merge_styles(texts: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Yield (style, text); a gap has the style of the text before it."""
    merged_text, current_style = "", ""
    for text, name in texts:
        if name != current_style and (name or text.strip()):
            if merged_text:
                yield current_style, merged_text
            merged_text, current_style = "", name
        merged_text += text
    yield current_style, merged_text
