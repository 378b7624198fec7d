"""Terminal text: escaping of untrusted text, wrapping and truncation, tables.

Messages, annotations and paths are untrusted: any client of the cluster may have written them. A terminal obeys escape
sequences in them: they could hide lines, change the window title or reorder text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import NamedTuple, TypeAlias, TypeVar

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.quantities import format_duration

# Appearance of text: width, colour, characters. It is determined once at the boundary and passed to every format.


MIN_COLUMNS = 60
"""In narrower layouts, names would be truncated too much; a narrower terminal wraps the lines itself."""


class Tone(str, Enum):
    """The meaning of a colour. A symbol or a word always repeats it, so no information is lost without colour."""

    GOOD = "36"
    WARN = "33"
    BAD = "1;31"
    UNKNOWN = "35"
    TITLE = "1"
    FAINT = "2"


_ASCII = {
    "✓": "+",
    "✗": "x",
    "○": "o",
    "·": "-",
    "…": "...",
    "–": "-",
    "—": "-",
    "→": "->",
    "←": "<-",
    "≥": ">=",
    "≤": "<=",
    "×": "x",
    "█": "#",
    "▓": "=",
    "░": ".",
    "▒": "=",
    "▇": "#",
    "▆": "=",
    "▅": "+",
    "▄": "-",
    "▃": ":",
    "▂": ".",
    "▁": "_",
    "─": "-",
    "▌": ">",
    "▲": "^",
    "▼": "v",
    "●": "*",
    "⊘": "/",
    "»": ">",
    "↓": "down",
    "↑": "up",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "\N{NO-BREAK SPACE}": " ",
}


@frozen
class Appearance:
    """`width`: columns of the terminal; `ascii`: only ASCII characters may be printed; `headers`: False with
    ``--no-headers``."""

    width: int = 120
    colour: bool = False
    ascii: bool = False
    headers: bool = True

    @property
    def columns(self) -> int:
        return max(self.width, MIN_COLUMNS)

    @property
    def ellipsis(self) -> str:
        return "..." if self.ascii else "…"

    def transliterate(self, text: str) -> str:
        """`text` in the characters that may be printed; a character without an ASCII equivalent becomes a backslash
        escape."""
        if not self.ascii or text.isascii():
            return text
        plain = "".join(_ASCII.get(char, char) for char in text)
        return plain.encode("ascii", "backslashreplace").decode("ascii")

    def paint(self, text: str, tone: Tone | None) -> str:
        """`text` in the tone's colour, if colours are on. `text` must be clean already."""
        return f"\x1b[{tone.value}m{text}\x1b[0m" if self.colour and tone and text else text


_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories: control, format (bidirectional marks, zero width), lone surrogate, line and paragraph
separator."""


def is_unsafe(char: str) -> bool:
    """True for a character that a terminal or an editor interprets instead of showing it."""
    return unicodedata.category(char) in _UNSAFE


def clean(text: str) -> str:
    """`text` on one line; every character that a terminal would interpret becomes an escape such as ``\\x1b[2J``."""
    if text.isprintable():  # no unsafe character is printable
        return text
    return "".join(_escape(char) if is_unsafe(char) else char for char in text)


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def printable(text: str, appearance: Appearance) -> str:
    """`text` that is safe to print: escaped by `clean`, in the characters that `appearance` allows."""
    return appearance.transliterate(clean(text))


def truncate(text: str, width: int, appearance: Appearance, in_middle: bool = False) -> str:
    """`text` in at most `width` columns; an ellipsis marks the removed part, at the end or in the middle."""
    if len(text) <= width:
        return text
    ellipsis = appearance.ellipsis
    kept_length = width - len(ellipsis)
    if kept_length <= 0:
        return text[: max(width, 0)]
    if not in_middle:
        return text[:kept_length].rstrip() + ellipsis
    head = (kept_length + 1) // 2
    return text[:head] + ellipsis + text[len(text) - (kept_length - head) :]


def wrap(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """`text` in lines of at most `width` columns, wrapped at spaces. A word that is too long is split, after a dot if
    it has one.

    `first` is the prefix of the first line and `rest` that of the other lines (by default as many spaces).
    """
    rest = " " * len(first) if rest is None else rest
    lines: list[str] = []
    line, has_words = first, False
    for word in text.split(" "):
        if has_words and len(line) + 1 + len(word) > width:
            lines.append(line)
            line, has_words = rest, False
        if has_words:
            line += " "
        while len(line) + len(word) > width and width > len(rest):
            split_at = width - len(line)
            split_at = word.rfind(".", 0, split_at) + 1 or split_at
            lines.append(line + word[:split_at])
            word, line = word[split_at:], rest
        line += word
        has_words = True
    return [*lines, line]


def wrap_printable(text: str, appearance: Appearance, first: str = "", rest: str | None = None) -> list[str]:
    """`text` made `printable`, in lines that fit the width of `appearance` (`wrap`)."""
    return wrap(printable(text, appearance), appearance.columns, first, rest)


_Item = TypeVar("_Item")


def first_items(items: Sequence[_Item], max_items: int) -> Sequence[_Item]:
    """The first `max_items`; if only one more would be omitted, all items."""
    return items if len(items) <= max_items + 1 else items[:max_items]


def join_sentences(*texts: str) -> str:
    """Join sentences with spaces, each ending with exactly one stop; empty texts are skipped."""
    non_empty = (text.rstrip() for text in texts if text.strip())
    return " ".join(text if text[-1] in _STOPS else f"{text}." for text in non_empty)


_STOPS = ".!?…"


def list_names(names: Iterable[str], max_names: int, appearance: Appearance, separator: str = ", ") -> str:
    """``a, b, c … and 31 more``: the first `max_names`; if only one more would be omitted, all names."""
    all_names = list(names)
    if len(all_names) <= max_names + 1:
        return separator.join(all_names)
    return f"{separator.join(all_names[:max_names])} {appearance.ellipsis} and {len(all_names) - max_names} more"


def pluralize(count: int, noun: str, plural: str = "") -> str:
    """``1 node``, ``2 nodes``."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def join_words(parts: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


# Timestamps, ages and durations in readable form.


_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def rfc3339(timestamp: datetime) -> str:
    """``2026-11-20T08:51:00Z``: UTC, whole seconds. A timestamp without a time zone is taken as UTC."""
    aware = timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=timezone.utc)
    return aware.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def time_between(earlier: datetime, later: datetime) -> timedelta:
    """`later` - `earlier`; a timestamp without a time zone is taken as UTC."""
    first, second = (m if m.tzinfo else m.replace(tzinfo=timezone.utc) for m in (earlier, later))
    return second - first


def format_age(span: timedelta) -> str:
    """One unit, the largest of which there are at least two, as kubectl prints ages: ``90s``, ``12d``."""
    seconds = max(0, int(span.total_seconds()))
    for unit_seconds, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= 2 * unit_seconds:
            return f"{seconds // unit_seconds}{unit}"
    return f"{seconds}s"


def short_duration(seconds: float) -> str:
    """A duration without zero parts: ``5m``, ``1m30s``, ``2h``. It keeps axis labels short enough for a phone."""
    text = format_duration(seconds)
    for rest in ("m00s", "h00m"):
        text = text.removesuffix(rest) + rest[0] if text.endswith(rest) else text
    return text


# Plain tables in kubectl's style; columns that do not fit are dropped or truncated by rule.
#
# `tabulate` is imported when the first table is drawn: its import takes longer than that of all of this package.


_GAP = 2


@frozen
class Column:
    """A column of a table.

    `drop_order`: where the width is short, columns are dropped in descending order of it; 0 is never dropped.
    `min_width`: the column may be truncated to this width once no column is left to drop; 0 is not truncated unless the
    table fits in no other way, and then down to `hard_min_width`. `cut_middle` truncates in the middle, so that both
    ends of a name stay visible. `max_lines`: lines per cell before the text is truncated. `short_title`: the title
    where the width is short.
    """

    title: str
    align_right: bool = False
    drop_order: int = 0
    min_width: int = 0
    cut_middle: bool = False
    max_lines: int = 1
    short_title: str = ""
    hard_min_width: int = 4


def as_columns(*titles: str | Column) -> list[Column]:
    """A title alone becomes a column with default settings."""
    return [Column(each) if isinstance(each, str) else each for each in titles]


def number_column(title: str, drop_order: int = 0, short_title: str = "") -> Column:
    """A column of numbers, aligned right."""
    return Column(title, True, drop_order, short_title=short_title)


def name_column(title: str, min_width: int = 0, drop_order: int = 0) -> Column:
    """A column of names, truncated in the middle so that both ends stay visible."""
    return Column(title, drop_order=drop_order, min_width=min_width, cut_middle=True)


def text_column(title: str, min_width: int, max_lines: int = 1, drop_order: int = 0) -> Column:
    """A column of text, truncated to `min_width` where the width is short, in at most `max_lines` lines."""
    return Column(title, drop_order=drop_order, min_width=min_width, max_lines=max_lines)


@frozen
class Cell:
    """Text with a tone; a plain `str` or number is a cell without a tone."""

    text: str
    tone: Tone | None = None


Row = Sequence[str | int | Cell]


def cell_text(cell: str | int | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell if isinstance(cell, str) else str(cell)


def format_table(
    columns: Sequence[Column], rows: Sequence[Row], appearance: Appearance, indent: int = 0, fit: bool = True
) -> list[str]:
    """The lines of a table without borders. With `fit`, no line is wider than the columns of `appearance`; numbers are
    right-aligned.

    A table without rows has no lines, not even a header.
    """
    if not rows:
        return []
    texts = [[printable(cell_text(cell), appearance) for cell in row] for row in rows]
    tones = [[cell.tone if isinstance(cell, Cell) else None for cell in row] for row in rows]
    titles = [column.title if appearance.headers else "" for column in columns]
    widths = _widths(titles, texts)
    kept_columns = list(range(len(columns)))
    available = appearance.columns - indent
    if fit and appearance.headers and sum(widths) + _GAP * (len(widths) - 1) > available:
        titles = [column.short_title or column.title for column in columns]
        widths = _widths(titles, texts)
    if fit:
        kept_columns, widths = fit_columns(columns, widths, available)
    body = [
        [appearance.paint(_truncate_cell(row[i], widths[i], appearance, columns[i]), tone[i]) for i in kept_columns]
        for row, tone in zip(texts, tones, strict=True)
    ]
    if appearance.headers:
        # The header is passed as a row: tabulate's own headers make some columns wider than necessary.
        body.insert(0, [appearance.paint(truncate(titles[i], widths[i], appearance), Tone.FAINT) for i in kept_columns])
    return [" " * indent + line for line in _tabulate(body, [columns[i].align_right for i in kept_columns])]


def _widths(titles: Sequence[str], texts: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(title), *(len(row[i]) for row in texts)) for i, title in enumerate(titles)]


def _truncate_cell(text: str, width: int, appearance: Appearance, column: Column) -> str:
    if column.max_lines == 1 or len(text) <= width:
        return truncate(text, width, appearance, column.cut_middle)
    lines = wrap(text, width)
    kept_lines = lines[: column.max_lines]
    if len(lines) > len(kept_lines):
        kept_lines[-1] = truncate(" ".join(lines[column.max_lines - 1 :]), width, appearance)
    return "\n".join(kept_lines)


def fit_columns(
    columns: Sequence[Column], widths: Sequence[int], available: int, gap: int = _GAP
) -> tuple[list[int], list[int]]:
    """The indexes of the columns that fit into `available` columns of the terminal with `gap` between two, and the new
    width of each column."""
    kept_columns, new_widths = list(range(len(columns))), list(widths)

    def excess() -> int:
        return sum(new_widths[i] for i in kept_columns) + gap * (len(kept_columns) - 1) - available

    floors = {i: columns[i].min_width or new_widths[i] for i in kept_columns}
    for drop_order in sorted({columns[i].drop_order for i in kept_columns if columns[i].drop_order}, reverse=True):
        min_total = sum(min(new_widths[i], floors[i]) for i in kept_columns) + gap * (len(kept_columns) - 1)
        if min_total <= available:
            break
        kept_columns = [i for i in kept_columns if columns[i].drop_order != drop_order]
    for min_widths in (floors, {i: columns[i].hard_min_width for i in kept_columns}):
        while excess() > 0:
            widest = max(kept_columns, key=lambda i: new_widths[i] - min_widths[i])
            shrinkable = new_widths[widest] - min_widths[widest]
            if shrinkable <= 0:
                break
            new_widths[widest] -= min(shrinkable, excess())
    return kept_columns, new_widths


def _tabulate(rows: list[list[str]], align_right: Sequence[bool]) -> list[str]:
    from tabulate import tabulate

    align = ["right" if is_right else "left" for is_right in align_right]
    text = tabulate(rows, tablefmt="plain", disable_numparse=True, colalign=align)
    return [line.rstrip() for line in text.splitlines()]


# Sections on a terminal: a title in capitals, and a table or sentences below it.


MAX_ROWS = 30

MARGIN = "  "

TableData: TypeAlias = tuple[Sequence[Column], Sequence[Row]]
"""Columns and rows of a table, independent of the backend."""


class Title(NamedTuple):
    """A section title. A terminal shows `caption` in capitals, so that sections are easy to find."""

    caption: str
    detail: str = ""

    @property
    def screen_title(self) -> str:
        return self.caption.upper() + self.detail

    @property
    def heading(self) -> str:
        return self.caption + self.detail


def with_title(title: Title | str, lines: Sequence[str], appearance: Appearance) -> list[str]:
    text = title.upper() if isinstance(title, str) else title.screen_title
    title_line = [appearance.paint(printable(text, appearance), Tone.TITLE)] if text else []
    return [*title_line, *lines] if lines else []


def omitted_note(count: int, appearance: Appearance) -> list[str]:
    """The line with the number of omitted rows; no line if there are none."""
    return [f"{MARGIN}{appearance.ellipsis} and {count} more (-o wide)"] if count > 0 else []
