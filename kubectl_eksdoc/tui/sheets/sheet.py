"""A table as a widget takes it: a row is made when it is drawn, because of thousands only a screenful is seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.tui.sheets.cells import cells

Cells = Sequence[str | Cell]

Line = str | tuple[str, Tone]
"""Of prose."""

_ASCII = Look(ascii=True)


@dataclass(frozen=True, slots=True)
class Sheet:
    """`keys` name the rows in their order; `cells` gives those of a key, of as many as there are columns. `widths` of
    the columns on a terminal, as wide as the widest text in them, titles aside, and `ascii_widths` of the same in ASCII
    (none: as `widths`); the column `fill` gets what is left of the line, and `filled` its cell for so much room (None:
    as `cells` has it)."""

    columns: Sequence[Column]
    widths: Sequence[int]
    keys: Sequence[str]
    cells: Callable[[str], Cells]
    fill: int | None = None
    filled: Callable[[str, int], Cell | str] | None = None
    empty: str = ""  # what is said where there is no row
    head: Callable[[int], str] | None = None  # the title of the column `fill`, for so much room
    full: Callable[[], int] | None = None  # the widest text in the column `fill`; None: `widths` has it
    ascii_widths: Sequence[int] = ()

    @property
    def can_be_wide(self) -> bool:
        """Not where something is drawn for just the room that there is."""
        return self.head is None and bool(self.columns)


EMPTY = Sheet((), (), (), lambda key: ())


def text_sheet(lines: Sequence[str]) -> Sheet:
    """Only words."""
    return Sheet((Column(""),), (max(map(cells, lines)),), (), lambda key: (), empty="\n".join(lines))


def text_of(cell: str | Cell) -> str:
    return cell if isinstance(cell, str) else cell.text


@dataclass
class Widths:
    """Mutable: the widest text of each column so far."""

    columns: Sequence[Column]
    widest: list[int] = field(default_factory=list)
    in_ascii: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.widest = [0 for _ in self.columns]
        self.in_ascii = list(self.widest)

    def see(self, row: Cells) -> None:
        for at, cell in enumerate(row):
            text = cell if isinstance(cell, str) else cell.text
            self.widest[at] = max(self.widest[at], cells(text))
            self.in_ascii[at] = max(self.in_ascii[at], len(text if text.isascii() else _ASCII.signs(text)))


def of_rows(
    columns: Sequence[Column], rows: Sequence[tuple[str, Cells]], empty: str = "", fill: int | None = None
) -> Sheet:
    """Of rows that are made already: few enough of them."""
    widths = Widths(columns)
    for _, row in rows:
        widths.see(row)
    by_key = dict(rows)
    found = by_key.__getitem__
    return Sheet(columns, widths.widest, tuple(by_key), found, fill, empty=empty, ascii_widths=widths.in_ascii)
