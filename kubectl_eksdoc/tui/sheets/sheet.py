"""A table as a widget takes it: a row is made when it is drawn, because of thousands only a screenful is seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Concatenate, ParamSpec, TypeVar

from rich.cells import cell_len, chop_cells

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.render.drain.plan import DrainView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.tui.knobs import KNOBS

# How much room text takes on a terminal: Korean, Chinese and Japanese signs take two columns each.


def cells(text: str) -> int:
    """In columns of the terminal. Most text is ASCII, of which that is the number of signs."""
    return len(text) if text.isascii() else cell_len(text)


def padded(text: str, room: int) -> str:
    """With spaces behind it, so that it takes at least `room` columns."""
    return text + " " * (room - cells(text))


def wrapped(text: str, room: int) -> list[str]:
    """Lines of at most `room` columns, broken at spaces; a word that is too long is broken."""
    lines, line = [], ""
    for word in text.split(" "):
        if line and cells(line) + 1 + cells(word) > room:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
        if cells(line) > room:
            *full, line = chop_cells(line, room)
            lines += full
    return [*lines, line]


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


# What is made of a plan is made once: a key that is pressed must not go through thousands of budgets again.


_LAST = 2
"""One plan is shown while the next one is prepared. Nothing is kept at the view itself: what is made of it leads back
to it, and such a ring is freed only by the garbage collector, which runs seldom."""

P = ParamSpec("P")
T = TypeVar("T")


def once_a_view(make: Callable[Concatenate[DrainView, P], T]) -> Callable[Concatenate[DrainView, P], T]:
    """`make`, which for the views it was asked for last says what it said; from any thread."""
    kept: list[tuple[DrainView, object, T]] = []

    def found(view: DrainView, /, *args: P.args, **named: P.kwargs) -> T:
        asked = (args, tuple(sorted(named.items())))
        for of, how, made in tuple(kept):
            if of is view and how == asked:
                return made
        made = make(view, *args, **named)
        alike = [each for each in kept if each[1] == asked]
        others = [each for each in kept if each[1] != asked]
        kept[:] = [*others, *alike[1 - _LAST :], (view, asked, made)]
        return made

    update_wrapper(found, make)
    return found


# The knobs of a plan: what each is at, the flag that says the same, and what it does.


_DOES = max(len(knob.does) for knob in KNOBS)
COLUMNS = (Column("KNOB"), Column("VALUE"), Column("FLAG", drop=2), Column("WHAT IT DOES", drop=1, floor=_DOES))
"""What it does is seen whole, or below the table."""


def sheet(policy: DrainPolicy) -> Sheet:
    """The key of a row is the knob's id; one that is not as it comes is marked."""
    fresh = DrainPolicy()
    rows: list[tuple[str, Cells]] = []
    for knob in KNOBS:
        said = knob.said(policy)
        moved = said != knob.said(fresh)
        value = Cell(f"< {said} >{' !' if moved else ''}", Tone.WARN if moved else None)
        rows.append((knob.id, [knob.name, value, Cell(knob.flag, Tone.FAINT), knob.does]))
    return of_rows(COLUMNS, rows, fill=len(COLUMNS) - 1)
