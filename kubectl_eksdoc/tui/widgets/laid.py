"""Which columns of a sheet there is room for, and how wide they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kubectl_eksdoc.render.tables import fitted
from kubectl_eksdoc.tui.sheets.sheet import Sheet

GAP = 1
_LEAST_FILL = 16


class Laid(NamedTuple):
    """Which columns are kept in so much room, and their widths; the titles are of all columns."""

    width: int
    kept: tuple[int, ...]
    widths: tuple[int, ...]
    titles: tuple[str, ...]


def laid(sheet: Sheet, width: int, room: int) -> Laid:
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
    return Laid(width, tuple(kept), tuple(new[at] for at in kept), tuple(titles))


def laid_wide(sheet: Sheet, width: int) -> Laid:
    bodies = list(sheet.widths)
    if sheet.fill is not None and sheet.full is not None:
        bodies[sheet.fill] = sheet.full()
    titles = tuple(column.title for column in sheet.columns)
    return Laid(width, tuple(range(len(titles))), tuple(_with(titles, bodies)), titles)


def _with(titles: Sequence[str], bodies: Sequence[int]) -> list[int]:
    return [max(len(title), body) for title, body in zip(titles, bodies, strict=True)]
