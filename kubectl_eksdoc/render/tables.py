"""Plain tables as kubectl draws them; columns for which there is no room are dropped or cut by rule.

`tabulate` is imported when the first table is drawn: loading it costs more than all of this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import cut, shown, wrap

_GAP = 2


@dataclass(frozen=True, slots=True)
class Column:
    """`drop`: where room is short, columns go in descending order of it; 0 stays.

    `floor`: it may be cut to so many characters once nothing is left to drop; 0 is never cut, until the
    table fits in no other way. `middle` cuts there, so that both ends of a name are seen. `lines` is how
    many lines its text may take before it is cut. `short` is the title where room is short.
    """

    title: str
    right: bool = False
    drop: int = 0
    floor: int = 0
    middle: bool = False
    lines: int = 1
    short: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """Text with a tone; a plain `str` is a cell without one."""

    text: str
    tone: Tone | None = None


Row = Sequence[str | Cell]


def plain(columns: Sequence[Column], rows: Sequence[Row], look: Look, indent: int = 0, fit: bool = True) -> list[str]:
    """Lines without borders. With `fit` none is wider than the look's columns; numbers are right-aligned.

    A table without rows has no lines, not even a header.
    """
    if not rows:
        return []
    texts = [[shown(_text(cell), look) for cell in row] for row in rows]
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
        # As a row: tabulate makes a column wider than its header for no visible reason.
        body.insert(0, [look.paint(cut(titles[i], widths[i], look), Tone.FAINT) for i in kept])
    return [" " * indent + line for line in _drawn(body, [columns[i].right for i in kept])]


def _widths(titles: Sequence[str], texts: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(title), *(len(row[i]) for row in texts)) for i, title in enumerate(titles)]


def _text(cell: str | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell


def _cut(text: str, room: int, look: Look, column: Column) -> str:
    if column.lines == 1 or len(text) <= room:
        return cut(text, room, look, column.middle)
    lines = wrap(text, room)
    kept = lines[: column.lines]
    if len(lines) > len(kept):
        kept[-1] = cut(" ".join(lines[column.lines - 1 :]), room, look)
    return "\n".join(kept)


def fitted(columns: Sequence[Column], widths: Sequence[int], room: int, gap: int = _GAP) -> tuple[list[int], list[int]]:
    """Which columns are kept in so much room, `gap` between two, and the width of each of all columns."""
    kept, new = list(range(len(columns))), list(widths)

    def excess() -> int:
        return sum(new[i] for i in kept) + gap * (len(kept) - 1) - room

    floors = {i: columns[i].floor or new[i] for i in kept}
    for drop in sorted({columns[i].drop for i in kept if columns[i].drop}, reverse=True):
        least = sum(min(new[i], floors[i]) for i in kept) + gap * (len(kept) - 1)
        if least <= room:
            break
        kept = [i for i in kept if columns[i].drop != drop]
    for floor_of in (floors, dict.fromkeys(kept, 4)):
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
