"""What an auditor wants besides: which checks were made and how each ended, what was read, what was asked for."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.check.plan import Judged
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.render.check import words
from kubectl_eksdoc.render.check.page.shown import Shown
from kubectl_eksdoc.render.drain.rows import NONE
from kubectl_eksdoc.render.html import Html, el, folded, lines, table
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.tables import Cell, Column, Row
from kubectl_eksdoc.render.text import counted

_ENDS: Mapping[Status, Cell] = {
    Status.PASS: Cell("✓ pass", Tone.GOOD),
    Status.FAIL: Cell("✗ fail", Tone.BAD),
    Status.UNKNOWN: Cell("? unknown", Tone.UNKNOWN),
}


def judged(shown: Shown) -> Html:
    return lines([_checks(shown), _read(shown), _asked(shown)])


def _checks(shown: Shown) -> Html:
    columns = [Column("RESULT"), Column("AREA"), Column("CODES"), Column("HAS TO BE SO", drop=1)]
    rows = [_check(shown, each) for part in shown.parts for each in part.judged]
    return folded(f"{counted(len(rows), 'check')}, and how each ended", table(columns, rows))


def _check(shown: Shown, of: Judged) -> Row:
    before = NONE if of.check.gate is None else words.before(shown.plan, of.check.gate)
    codes = ", ".join(sorted(code.name for code in of.check.codes))
    return [_ENDS[of.status], of.check.area.value, codes, before]


def _read(shown: Shown) -> Html:
    columns = [Column("KIND"), Column("STATE"), Column("OBJECTS", right=True)]
    reads = shown.plan.facts.cluster.reads
    rows: list[Row] = [
        [each.resource.full_name, each.state.value, str(each.count) if each.known else "unknown"] for each in reads
    ]
    return folded(f"{counted(len(rows), 'list')} of the cluster, and how many objects each has", table(columns, rows))


def _asked(shown: Shown) -> Html:
    """The options as given."""
    given = shown.view.options
    if not given:
        return el("p", "No option was given that changes what is judged.", class_="soft")
    items = (el("li", f"--{name} {_said(value)}") for name, value in given.items())
    return folded(f"{counted(len(given), 'option')} as given", el("ul", *items))


def _said(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else "" if value is True else str(value)
