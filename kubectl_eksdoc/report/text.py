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
from kubectl_eksdoc.model.quantities import duration

# Appearance of text: width, colour, characters. It is determined once at the boundary and passed to every format.


NARROWEST = 60
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
class Look:
    """`width`: columns of the terminal; `ascii`: only ASCII characters may be printed; `headers`: False with
    ``--no-headers``."""

    width: int = 120
    colour: bool = False
    ascii: bool = False
    headers: bool = True

    @property
    def columns(self) -> int:
        return max(self.width, NARROWEST)

    @property
    def ellipsis(self) -> str:
        return "..." if self.ascii else "…"

    def signs(self, text: str) -> str:
        """`text` in the characters that may be printed; a character without an ASCII equivalent becomes a backslash
        escape."""
        if not self.ascii or text.isascii():
            return text
        plain = "".join(_ASCII.get(char, char) for char in text)
        return plain.encode("ascii", "backslashreplace").decode("ascii")

    def paint(self, text: str, tone: Tone | None) -> str:
        """`text` in the tone's colour, if colours are on. `text` must be clean already."""
        return f"\x1b[{tone.value}m{text}\x1b[0m" if self.colour and tone and text else text


_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories: control, format (bidirectional marks, zero width), lone surrogate, line and paragraph
separator."""


def unsafe(char: str) -> bool:
    """True for a character that a terminal or an editor interprets instead of showing it."""
    return unicodedata.category(char) in _UNSAFE


def clean(text: str) -> str:
    """`text` on one line; every character that a terminal would interpret becomes an escape such as ``\\x1b[2J``."""
    if text.isprintable():  # no unsafe character is printable
        return text
    return "".join(_escape(char) if unsafe(char) else char for char in text)


def _escape(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def shown(text: str, look: Look) -> str:
    """`text` that is safe to print: escaped by `clean`, in the characters that `appearance` allows."""
    return look.signs(clean(text))


def cut(text: str, room: int, look: Look, middle: bool = False) -> str:
    """`text` in at most `width` columns; an ellipsis marks the removed part, at the end or in the middle."""
    if len(text) <= room:
        return text
    mark = look.ellipsis
    rest = room - len(mark)
    if rest <= 0:
        return text[: max(room, 0)]
    if not middle:
        return text[:rest].rstrip() + mark
    head = (rest + 1) // 2
    return text[:head] + mark + text[len(text) - (rest - head) :]


def wrap(text: str, room: int, first: str = "", rest: str | None = None) -> list[str]:
    """`text` in lines of at most `width` columns, wrapped at spaces. A word that is too long is split, after a dot if
    it has one.

    `first` is the prefix of the first line and `rest` that of the other lines (by default as many spaces).
    """
    rest = " " * len(first) if rest is None else rest
    lines: list[str] = []
    line, opened = first, False
    for word in text.split(" "):
        if opened and len(line) + 1 + len(word) > room:
            lines.append(line)
            line, opened = rest, False
        if opened:
            line += " "
        while len(line) + len(word) > room and room > len(rest):
            fits = room - len(line)
            fits = word.rfind(".", 0, fits) + 1 or fits
            lines.append(line + word[:fits])
            word, line = word[fits:], rest
        line += word
        opened = True
    return [*lines, line]


def wrapped(text: str, look: Look, first: str = "", rest: str | None = None) -> list[str]:
    """`text` made `printable`, in lines that fit the width of `appearance` (`wrap`)."""
    return wrap(shown(text, look), look.columns, first, rest)


_T = TypeVar("_T")


def few(every: Sequence[_T], most: int) -> Sequence[_T]:
    """The first `max_items`; if only one more would be omitted, all items."""
    return every if len(every) <= most + 1 else every[:most]


def sentences(*texts: str) -> str:
    """Join sentences with spaces, each ending with exactly one stop; empty texts are skipped."""
    kept = (text.rstrip() for text in texts if text.strip())
    return " ".join(text if text[-1] in _STOPS else f"{text}." for text in kept)


_STOPS = ".!?…"


def listing(names: Iterable[str], most: int, look: Look, comma: str = ", ") -> str:
    """``a, b, c … and 31 more``: the first `max_names`; if only one more would be omitted, all names."""
    every = list(names)
    if len(every) <= most + 1:
        return comma.join(every)
    return f"{comma.join(every[:most])} {look.ellipsis} and {len(every) - most} more"


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 node``, ``2 nodes``."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def joined(parts: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


# Timestamps, ages and durations in readable form.


_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def rfc3339(moment: datetime) -> str:
    """``2026-11-20T08:51:00Z``: UTC, whole seconds. A timestamp without a time zone is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return aware.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def between(earlier: datetime, later: datetime) -> timedelta:
    """`later` - `earlier`; a timestamp without a time zone is taken as UTC."""
    first, second = (m if m.tzinfo else m.replace(tzinfo=timezone.utc) for m in (earlier, later))
    return second - first


def age(span: timedelta) -> str:
    """One unit, the largest of which there are at least two, as kubectl prints ages: ``90s``, ``12d``."""
    seconds = max(0, int(span.total_seconds()))
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def short(moment: float) -> str:
    """A duration without zero parts: ``5m``, ``1m30s``, ``2h``. It keeps axis labels short enough for a phone."""
    said = duration(moment)
    for rest in ("m00s", "h00m"):
        said = said.removesuffix(rest) + rest[0] if said.endswith(rest) else said
    return said


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
    right: bool = False
    drop: int = 0
    floor: int = 0
    middle: bool = False
    lines: int = 1
    short: str = ""
    least: int = 4


def columns_of(*titles: str | Column) -> list[Column]:
    """A title alone becomes a column with default settings."""
    return [Column(each) if isinstance(each, str) else each for each in titles]


def number_column(title: str, drop: int = 0, short: str = "") -> Column:
    """A column of numbers, aligned right."""
    return Column(title, True, drop, short=short)


def name_column(title: str, floor: int = 0, drop: int = 0) -> Column:
    """A column of names, truncated in the middle so that both ends stay visible."""
    return Column(title, drop=drop, floor=floor, middle=True)


def text_column(title: str, floor: int, lines: int = 1, drop: int = 0) -> Column:
    """A column of text, truncated to `min_width` where the width is short, in at most `max_lines` lines."""
    return Column(title, drop=drop, floor=floor, lines=lines)


@frozen
class Cell:
    """Text with a tone; a plain `str` or number is a cell without a tone."""

    text: str
    tone: Tone | None = None


Row = Sequence[str | int | Cell]


def text_of(cell: str | int | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell if isinstance(cell, str) else str(cell)


def plain(columns: Sequence[Column], rows: Sequence[Row], look: Look, indent: int = 0, fit: bool = True) -> list[str]:
    """The lines of a table without borders. With `fit`, no line is wider than the columns of `appearance`; numbers are
    right-aligned.

    A table without rows has no lines, not even a header.
    """
    if not rows:
        return []
    texts = [[shown(text_of(cell), look) for cell in row] for row in rows]
    tones = [[cell.tone if isinstance(cell, Cell) else None for cell in row] for row in rows]
    titles = [column.title if look.headers else "" for column in columns]
    widths = _widths(titles, texts)
    kept = list(range(len(columns)))
    room = look.columns - indent
    if fit and look.headers and sum(widths) + _GAP * (len(widths) - 1) > room:
        titles = [column.short or column.title for column in columns]
        widths = _widths(titles, texts)
    if fit:
        kept, widths = fitted(columns, widths, room)
    body = [
        [look.paint(_cut(row[i], widths[i], look, columns[i]), tone[i]) for i in kept]
        for row, tone in zip(texts, tones, strict=True)
    ]
    if look.headers:
        # The header is passed as a row: tabulate's own headers make some columns wider than necessary.
        body.insert(0, [look.paint(cut(titles[i], widths[i], look), Tone.FAINT) for i in kept])
    return [" " * indent + line for line in _drawn(body, [columns[i].right for i in kept])]


def _widths(titles: Sequence[str], texts: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(title), *(len(row[i]) for row in texts)) for i, title in enumerate(titles)]


def _cut(text: str, room: int, look: Look, column: Column) -> str:
    if column.lines == 1 or len(text) <= room:
        return cut(text, room, look, column.middle)
    lines = wrap(text, room)
    kept = lines[: column.lines]
    if len(lines) > len(kept):
        kept[-1] = cut(" ".join(lines[column.lines - 1 :]), room, look)
    return "\n".join(kept)


def fitted(columns: Sequence[Column], widths: Sequence[int], room: int, gap: int = _GAP) -> tuple[list[int], list[int]]:
    """The indexes of the columns that fit into `available` columns of the terminal with `gap` between two, and the new
    width of each column."""
    kept, new = list(range(len(columns))), list(widths)

    def excess() -> int:
        return sum(new[i] for i in kept) + gap * (len(kept) - 1) - room

    floors = {i: columns[i].floor or new[i] for i in kept}
    for drop in sorted({columns[i].drop for i in kept if columns[i].drop}, reverse=True):
        least = sum(min(new[i], floors[i]) for i in kept) + gap * (len(kept) - 1)
        if least <= room:
            break
        kept = [i for i in kept if columns[i].drop != drop]
    for floor_of in (floors, {i: columns[i].least for i in kept}):
        while excess() > 0:
            wide = max(kept, key=lambda i: new[i] - floor_of[i])
            spare = new[wide] - floor_of[wide]
            if spare <= 0:
                break
            new[wide] -= min(spare, excess())
    return kept, new


def _drawn(rows: list[list[str]], right: Sequence[bool]) -> list[str]:
    from tabulate import tabulate

    align = ["right" if r else "left" for r in right]
    text = tabulate(rows, tablefmt="plain", disable_numparse=True, colalign=align)
    return [line.rstrip() for line in text.splitlines()]


# Sections on a terminal: a title in capitals, and a table or sentences below it.


MOST_ROWS = 30

MARGIN = "  "

Drawn: TypeAlias = tuple[Sequence[Column], Sequence[Row]]
"""Columns and rows of a table, independent of the backend."""


class Title(NamedTuple):
    """A section title. A terminal shows `caption` in capitals, so that sections are easy to find."""

    head: str
    rest: str = ""

    @property
    def screen(self) -> str:
        return self.head.upper() + self.rest

    @property
    def heading(self) -> str:
        return self.head + self.rest


def titled(title: Title | str, lines: Sequence[str], look: Look) -> list[str]:
    text = title.upper() if isinstance(title, str) else title.screen
    head = [look.paint(shown(text, look), Tone.TITLE)] if text else []
    return [*head, *lines] if lines else []


def more(count: int, look: Look) -> list[str]:
    """The line with the number of omitted rows; no line if there are none."""
    return [f"{MARGIN}{look.ellipsis} and {count} more (-o wide)"] if count > 0 else []
