"""What an auditor wants besides: which checks were made and how each ended, what was read, what was asked for, what was
accepted, and what became of findings since an earlier answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubectl_eksdoc.baseline.changes import Became, Since
from kubectl_eksdoc.check.plan import CheckPlan, Judged
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.render.check import words
from kubectl_eksdoc.render.check.page.shown import MOST_ALIKE, Shown, about
from kubectl_eksdoc.render.drain.rows import NONE
from kubectl_eksdoc.render.html import Html, el, folded, lines, more, put, table
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.since.screen import WORDS, counts, remarks, told
from kubectl_eksdoc.render.tables import Cell, Column, Row
from kubectl_eksdoc.render.text import counted

_MOST = MOST_ALIKE * 10


def accepted(plan: CheckPlan) -> Html:
    """Nothing where nothing is suppressed and no decision is out of date."""
    columns = [Column("FINDING"), Column("REASON"), Column("UNTIL"), Column("WHERE", drop=1)]
    rows: list[Row] = [
        [
            put(
                el("b", f"{each.finding.severity.value} {each.finding.code.name}"),
                f": {about(each.finding)}: {each.finding.message}",
            ),
            each.by.reason,
            each.by.until.isoformat(),
            each.by.where,
        ]
        for each in plan.suppressed[:_MOST]
    ]
    notes = put(el("h3", "Out of date"), el("ul", *(el("li", each) for each in plan.notes))) if plan.notes else ""
    return lines([table(columns, rows), more(len(plan.suppressed) - len(rows)), notes])


_OPEN = (Became.NEW, Became.CHANGED, Became.FIXED)
"""What somebody must see without a click."""


def beside(since: Since | None) -> Html:
    """Nothing where no earlier answer was given."""
    if since is None:
        return put()
    said = (el("p", remark, class_="note") for remark in remarks(since))
    return put(el("p", counts(since)), *said, *_each(since))


def _each(since: Since) -> Iterator[Html]:
    for became, word in WORDS.items():
        found = since.of(became)
        if found:
            listed = el("ul", *(el("li", told(change)) for change in found))
            yield folded(f"{word.capitalize()} ({len(found)})", listed, open_=became in _OPEN)


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
