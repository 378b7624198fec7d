"""What does not count because somebody decided so: who reads it must see what was decided, why, and until when."""

from __future__ import annotations

from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.render.check.page.shown import MOST_ALIKE, about
from kubectl_eksdoc.render.html import Html, el, lines, more, put, table
from kubectl_eksdoc.render.tables import Column, Row

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
