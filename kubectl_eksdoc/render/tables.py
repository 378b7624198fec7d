"""Plain tables as kubectl draws them; columns for which there is no room are dropped or cut by rule.

`tabulate` is imported when the first table is drawn: loading it costs more than all of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.findings import Finding, Remedy, Status, When
from kubectl_eksdoc.render.text import Look, Tone, cut, shown, wrap, wrapped

_GAP = 2


@frozen
class Column:
    """`drop`: where room is short, columns go in descending order of it; 0 stays.

    `floor`: it may be cut to so many characters once nothing is left to drop; 0 is never cut, until the
    table fits in no other way, and then to `least`. `middle` cuts there, so that both ends of a name are
    seen. `lines` is how many lines its text may take before it is cut. `short` is the title where room is
    short.
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
    """Of a title alone, a column without anything else."""
    return [Column(each) if isinstance(each, str) else each for each in titles]


def number_column(title: str, drop: int = 0, short: str = "") -> Column:
    """Of figures: these stand at the right."""
    return Column(title, True, drop, short=short)


def name_column(title: str, floor: int = 0, drop: int = 0) -> Column:
    """Of names: both ends of them are seen."""
    return Column(title, drop=drop, floor=floor, middle=True)


def text_column(title: str, floor: int, lines: int = 1, drop: int = 0) -> Column:
    """Of clauses, cut to so many characters where room is short, in at most so many lines."""
    return Column(title, drop=drop, floor=floor, lines=lines)


@frozen
class Cell:
    """Text with a tone; a plain `str` or number is a cell without one."""

    text: str
    tone: Tone | None = None


Row = Sequence[str | int | Cell]


def text_of(cell: str | int | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell if isinstance(cell, str) else str(cell)


def plain(columns: Sequence[Column], rows: Sequence[Row], look: Look, indent: int = 0, fit: bool = True) -> list[str]:
    """Lines without borders. With `fit` none is wider than the look's columns; numbers are right-aligned.

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
        # As a row: tabulate makes a column wider than its header for no visible reason.
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


# The sections of a page on a screen: a title in capitals, and a table or sentences below it.


MOST_ROWS = 30

MARGIN = "  "

Drawn: TypeAlias = tuple[Sequence[Column], Sequence[Row]]
"""A table: its columns and rows, whatever draws them."""


class Title(NamedTuple):
    """`head` is in capitals on a screen, so that sections are found at a glance."""

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
    """The line that says how many are not shown; none where all are."""
    return [f"{MARGIN}{look.ellipsis} and {count} more (-o wide)"] if count > 0 else []


# Findings on a screen: each in a line or two, and below it what shows it and what to do.


SIGNS = {Status.FAIL: ("✗", Tone.BAD), Status.UNKNOWN: ("?", Tone.UNKNOWN), Status.PASS: ("!", Tone.WARN)}


Mark = Callable[[Finding], str]
"""What is said of a finding behind its severity, ``" (new)"``; "" for nothing."""


def unmarked(_: Finding) -> str:
    return ""


def finding_lines(found: Finding, look: Look, full: bool, named: bool, mark: Mark) -> list[str]:
    """`named`: its subject is named."""
    sign, tone = SIGNS[found.status]
    what = f"{found.subject.kind} {found.subject}: {found.message}" if named else found.message
    head = wrapped(f"{sign} {found.severity.value}{mark(found)}: {what}", look, MARGIN, MARGIN * 2)
    lines = [look.paint(head[0], tone), *head[1:]]
    evidence = found.evidence if full else found.evidence[:2]
    for text in evidence:
        lines += wrapped(f"- {text}", look, MARGIN * 2, MARGIN * 3)
    if len(evidence) < len(found.evidence):
        lines.append(f"{MARGIN * 2}{look.ellipsis} and {len(found.evidence) - len(evidence)} more")
    if found.missing and found.missing not in found.evidence:
        lines += wrapped(f"missing: {found.missing}", look, MARGIN * 2)
    for each in found.remedy if full else _first(found.remedy, named):
        lines += wrapped(f"→ {each.said}", look, MARGIN * 2, MARGIN * 3)
        if each.command:
            lines.append(f"{MARGIN * 3}{shown(each.command, look)}")
    return lines


def _first(remedies: Sequence[Remedy], named: bool) -> Sequence[Remedy]:
    """What is done first; where it is a command for now, what is done later as well, so that it does not stay
    the only thing."""
    if not named or not remedies or remedies[0].when is When.LATER or not remedies[0].command:
        return remedies[:1]
    return (remedies[0], *[each for each in remedies if each.when is When.LATER][:1])
