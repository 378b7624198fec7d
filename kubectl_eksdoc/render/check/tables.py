"""The tables by which an upgrade is judged, with their age: a line for each, or with ``-o wide`` each row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from kubectl_eksdoc.check.tables import TableOutline
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.tables import Column, Row, Title, drawn, plain
from kubectl_eksdoc.render.text import counted


def short(found: Sequence[TableOutline], today: date, look: Look) -> str:
    columns = [
        Column("TABLE"),
        Column("ROWS", right=True),
        Column("READ"),
        Column("AGE", right=True),
        Column("KUBERNETES", drop=2),
        Column("PROMISE", drop=1),
        Column("WHAT", floor=20),
    ]
    rows: list[Row] = [
        [
            each.name,
            str(len(each.rows)),
            each.oldest.isoformat() if each.oldest == each.newest else f"{each.oldest} to {each.newest}",
            _age(each.oldest, today),
            f"to {each.read_to}" if each.read_to else "",
            each.promises,
            each.about,
        ]
        for each in found
    ]
    return "\n".join((*plain(columns, rows, look), "", _END)) + "\n"


_END = "Each row with its source: -o wide. Rows of your own: check --tables FILE."


def wide(found: Sequence[TableOutline], today: date, look: Look) -> str:
    sections = [
        drawn(
            Title(each.name, f": {each.about} ({counted(len(each.rows), 'row')})"),
            (
                [Column("ROW"), Column("READ"), Column("AGE", right=True), Column("SURE"), Column("SOURCE")],
                [
                    [
                        f"{row.name}{f' ({row.promise})' if row.promise else ''}",
                        row.read.isoformat(),
                        _age(row.read, today),
                        row.confidence,
                        row.document,
                    ]
                    for row in each.rows
                ],
            ),
            look,
            full=True,
        )
        for each in found
    ]
    return "\n\n".join("\n".join(lines) for lines in sections) + "\n"


def _age(read: date, today: date) -> str:
    return f"{max(0, (today - read).days)}d"
