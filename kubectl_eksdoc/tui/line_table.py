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

from kubectl_eksdoc.report.text import Cell, Look, Tone, shown

from .keymap import look_of
from .paint import thumb
from .panel import GAP, ColumnLayout, FramedLineView, laid, laid_wide
from .tables.pods import EMPTY, Sheet, text_of, wrapped

_MARK = 2
_STEP = 8
"""Terminal columns of one step sideways."""
_HEAD = -1
"""The place of the title row."""
_MOST_DRAWN = 2000
_TONES = {
    Tone.GOOD: "good",
    Tone.WARN: "warn",
    Tone.BAD: "bad",
    Tone.UNKNOWN: "unknown",
    Tone.TITLE: "title",
    Tone.FAINT: "faint",
}


_BOLD = frozenset({"bad", "title", "head"})
_COLOURED = frozenset({"good", "warn", "bad", "unknown"})


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

    def __init__(self, *, marks: bool = False, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.sheet = EMPTY
        self.marked: Collection[str] = frozenset()
        self.wide = False
        self._across = 0
        self._marks = marks
        self._cursor = 0
        self._look: Look | None = None
        self._window = (0, 0)  # while drawing: its width, and the first visible row
        self._laid: ColumnLayout | None = None

    @property
    def key(self) -> str | None:
        """The key of the row under the cursor; None without rows."""
        return self.sheet.keys[self._cursor] if self.sheet.keys else None

    @property
    def look(self) -> Look:
        """The appearance is cached: each cell needs it, and looking it up takes longer than drawing."""
        if self._look is None:
            self._look = look_of(self)
        return self._look

    @property
    def _seen(self) -> Size:
        """The size without the scroll bar."""
        return self.scrollable_content_region.size

    @property
    def room(self) -> int:
        """Number of visible rows."""
        return max(self._seen.height - 1, 1)

    def sees(self, title: str) -> bool:
        """Whether this column fits."""
        return any(self.sheet.columns[at].title == title for at in self._layout(self._seen.width).kept)

    def show(self, sheet: Sheet, marked: Collection[str] = frozenset()) -> None:
        """Show these rows; only lines that differ are redrawn."""
        was, at = self.key, self._cursor
        same = sheet.keys is self.sheet.keys or sheet.keys == self.sheet.keys
        as_many = bool(sheet.keys) and len(sheet.keys) == len(self.sheet.keys)
        before, self._drawn = self._drawn, {}
        self.sheet, self.marked = sheet, marked
        if not same:
            where = {key: place for place, key in enumerate(sheet.keys)}
            self._cursor = where.get(was or "", min(at, max(len(sheet.keys) - 1, 0)))
        self._laid = None
        self._resize(self._seen.width, len(sheet.keys) + 1)
        if not same:
            self._follow()
        if as_many and before:
            top, end = int(self.scroll_offset.y), len(sheet.keys)
            places = range(top, min(top + self._seen.height, end))
            lines = ((0, _HEAD), *((place - top + 1, place) for place in places))
            self._refresh_what_differs(before, self._seen.width, lines)
        else:
            self.refresh()
        if self.key != was:
            self._tell()

    def go_to(self, key: str) -> None:
        """Move the cursor to a row; nothing happens if it does not exist."""
        if key in self.sheet.keys:
            self._to(self.sheet.keys.index(key))

    def to_end(self) -> None:
        """Move the cursor to the last row and scroll to it."""
        self._to(len(self.sheet.keys) - 1)
        self.call_after_refresh(self._follow)  # new rows are not laid out yet

    def to_start(self) -> None:
        self._to(0)

    def action_move(self, by: int) -> None:
        self._to(self._cursor + by)

    def action_move_to(self, place: int) -> None:
        self._to(place if place >= 0 else len(self.sheet.keys) - 1)

    def action_page(self, pages: float) -> None:
        if not self._seen.height:  # shown by the previous key and not laid out yet
            self.screen._refresh_layout()
        self._to(self._cursor + int((self._seen.height - 1) * pages))

    def action_sideways(self, by: int) -> None:
        self._across = max(min(self._across + by * _STEP, self._most_across), 0)
        self._drawn.clear()
        self.refresh()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """If the whole table is visible, its sideways keys are free for other bindings."""
        return self._is_wide if action == "sideways" else super().check_action(action, parameters)

    def action_open(self) -> None:
        if self.key is not None:
            self.post_message(self.Opened(self, self.key))

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is not None and 0 < at.y <= len(self.sheet.keys) - int(self.scroll_offset.y):
            self._to(int(self.scroll_offset.y) + at.y - 1)
            if event.chain == 2:
                self.action_open()

    def on_resize(self) -> None:
        if any(width != self._seen.width for _, width in self._drawn):
            self._drawn.clear()
        self._resize(self._seen.width, len(self.sheet.keys) + 1)
        self._follow()

    def watch_has_focus(self, has_focus: bool) -> None:
        """The row of the cursor has another style with focus."""
        self._refresh_row(self._cursor)
        super().watch_has_focus(has_focus)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Textual redraws the scroll bar for each row, though among thousands of rows its thumb does not move."""
        bar = self.vertical_scrollbar
        if thumb(bar, old_value) == thumb(bar, new_value):
            bar.set_reactive(ScrollBar.position, new_value)
        super().watch_scroll_y(old_value, new_value)

    def _to(self, place: int) -> None:
        before = self._cursor
        self._cursor = min(max(place, 0), max(len(self.sheet.keys) - 1, 0))
        if self._cursor == before:
            return
        self._refresh_row(before)
        self._refresh_row(self._cursor)
        self._follow()
        self._tell()

    def _tell(self) -> None:
        """Post directly to the screen: details of the row are painted together with the row."""
        if self.key is not None:
            self.screen.post_message(self.Moved(self, self.key))

    def _follow(self) -> None:
        """Scroll so that the cursor is visible."""
        room, top = max(self._seen.height - 1, 1), int(self.scroll_offset.y)
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False, immediate=True)
        elif self._cursor >= top + room:
            self.scroll_to(y=self._cursor - room + 1, animate=False, immediate=True)

    def _refresh_row(self, place: int) -> None:
        self._drawn.pop((place, self._seen.width), None)
        y = place - int(self.scroll_offset.y) + 1
        if 0 < y < self._seen.height:
            self.refresh(Region(0, y, self._seen.width, 1))

    # Drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        self._window = self._seen.width, int(self.scroll_offset.y)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width, top = self._window
        place = y - 1 + top if y else _HEAD
        if place < len(self.sheet.keys):
            return self._drawn_at(place, width)
        told = () if self.sheet.keys else self._told(width - 2)
        said = told[y - 1] if y <= len(told) else ""
        return self._strip([(f" {said}", "faint")], width, "")

    def _told(self, width: int) -> list[str]:
        """The text shown without rows."""
        return [
            line for words in self.sheet.empty.split("\n") for line in wrapped(shown(words, self.look), max(width, 10))
        ]

    def _drawn_at(self, place: int, width: int) -> Strip:
        """The strip of a row, cached for scrolling."""
        drawn = self._drawn.get((place, width))
        if drawn is None:
            if len(self._drawn) > _MOST_DRAWN:
                self._drawn.clear()
            drawn = self._head(width) if place == _HEAD else self._row(place, width)
            self._drawn[place, width] = drawn
        return drawn

    def _head(self, width: int) -> Strip:
        laid, texts = self._layout(width), []
        for at, room in zip(laid.kept, laid.widths, strict=True):
            column = self.sheet.columns[at]
            over = self.sheet.head is not None and at == self.sheet.fill
            title = self.sheet.head(room) if over and self.sheet.head is not None else laid.titles[at]
            texts.append((self._sized(title, room, column.right), "head"))
        return self._line([(" " * self._margin, "")], texts, width, "")

    def _row(self, place: int, width: int) -> Strip:
        key = self.sheet.keys[place]
        laid = self._layout(width)
        cells = self.sheet.cells(key)
        texts = []
        for at, room in zip(laid.kept, laid.widths, strict=True):
            column = self.sheet.columns[at]
            cell = cells[at]
            if at == self.sheet.fill and self.sheet.filled is not None:
                cell = self.sheet.filled(key, room)
            tone = cell.tone if isinstance(cell, Cell) else None
            text = self._sized(text_of(cell), room, column.right, column.middle)
            texts.append((text, _TONES[tone] if tone is not None else ""))
        here = place == self._cursor and (self.has_focus or self.has_class("-chosen"))
        gutter = ("▌" if place == self._cursor else " ", "" if here else "faint")
        mark = (("● " if key in self.marked else "  "), "good") if self._marks else ("", "")
        return self._line([gutter, mark], texts, width, "cursor" if here else "")

    def _line(self, lead: Sequence[tuple[str, str]], cells: Sequence[tuple[str, str]], width: int, under: str) -> Strip:
        """`prefix` and the first cell stay in place during sideways scrolling."""
        if not self._is_wide or not cells:
            return self._strip([*lead, *self._joined(cells)], width, under)
        fixed = self._strip([*lead, cells[0]], self._fixed, under)
        rest = self._strip([(" " * GAP, ""), *self._joined(cells[1:])], self._across + width, under)
        across = min(self._across, self._most_across)
        return Strip.join([fixed, rest.crop(across, across + max(width - self._fixed, 0))]).crop(0, width)

    @property
    def _is_wide(self) -> bool:
        return self.wide and self.sheet.can_be_wide

    @property
    def _fixed(self) -> int:
        """Width of the part that does not scroll sideways."""
        return self._margin + self._layout(self._seen.width).widths[0]

    @property
    def _most_across(self) -> int:
        """The maximum scroll offset, at which the end of the lines is visible."""
        widths = self._layout(self._seen.width).widths
        return max(self._margin + sum(widths) + GAP * (len(widths) - 1) - self._seen.width, 0)

    @property
    def _margin(self) -> int:
        return 1 + (_MARK if self._marks else 0)

    @staticmethod
    def _joined(texts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        joined: list[tuple[str, str]] = []
        for each in texts:
            joined += [(" " * GAP, "")] if joined else []
            joined.append(each)
        return joined

    def _sized(self, text: str, room: int, right: bool, middle: bool = False) -> str:
        """`text` in exactly `width` columns of the terminal."""
        text = shown(text, self.look)
        size = len(text) if text.isascii() else cell_len(text)
        if size > room:
            mark = self.look.ellipsis
            if middle and room > 8:
                head = (room - len(mark) + 1) // 2
                tail = room - len(mark) - head
                kept = text[len(text) - tail :] if cell_len(text) == len(text) else ""
                if kept:
                    return text[:head] + mark + kept
            return set_cell_size(text, max(room - len(mark), 0)) + mark[:room]
        return " " * (room - size) + text if right else text + " " * (room - size)

    def _strip(self, texts: Sequence[tuple[str, str]], width: int, under: str) -> Strip:
        """Merge texts of the same style into one segment: the escape sequences of a style are longer than most
        texts."""
        base, signs = self._style(under), self.look.signs
        if under:  # colours are hard to read on this background; symbol and word say the same
            segments = [Segment(signs("".join(text for text, _ in texts)), base)]
        else:
            segments = [Segment(signs(text), self._style(name)) for name, text in _alike(texts)]
        return Strip(segments).adjust_cell_length(width, base).crop(0, width)

    def _style(self, name: str) -> Style:
        """The style of a tone, of the titles (`head`) or of the cursor row. It is computed from the theme here: for
        component classes, Textual would match all rules against each of them whenever the focus moves."""
        found = self._styles.get(name)
        if found is None:
            found = self.rich_style
            if name == "cursor" and self.app.has_class("-plain"):
                found += Style(bold=True, reverse=True)
            elif name == "cursor":
                colours = self.app.theme_variables
                found += Style(bold=True, color=colours["foreground"], bgcolor=colours["st-cursor"])
            elif name:
                tone = "faint" if name == "head" or (name in _COLOURED and self.has_class("-old")) else name
                colour = self.app.theme_variables.get(f"st-{tone}")
                found += Style(bold=name in _BOLD or None, color=colour)
            self._styles[name] = found
        return found

    def _layout(self, width: int) -> ColumnLayout:
        if self._laid is None or self._laid.width != width:
            sheet = self.sheet
            if self.look.ascii and sheet.ascii_widths:
                sheet = replace(sheet, widths=sheet.ascii_widths)
            made = laid_wide(sheet, width) if self._is_wide else None
            self._laid = made or laid(sheet, width, width - self._margin)
        return self._laid


def _alike(texts: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Yield (style, text); a gap has the style of the text before it."""
    same, last = "", ""
    for text, name in texts:
        if name != last and (name or text.strip()):
            if same:
                yield last, same
            same, last = "", name
        same += text
    yield last, same
