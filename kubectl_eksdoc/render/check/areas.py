"""The areas of a check as a traffic light, whatever draws it."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.check.areas import Area
from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.model.findings import Finding, Status, in_order
from kubectl_eksdoc.render.check.words import too_slight
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.tables import Cell, Column, Drawn, Row

_SIGNS = {
    Status.PASS: Cell("✓", Tone.GOOD),
    Status.FAIL: Cell("✗", Tone.BAD),
    Status.UNKNOWN: Cell("?", Tone.UNKNOWN),
}
_PASSED_OVER = Cell("○", Tone.FAINT)
"""Nothing counts, for --fail-on alone: nobody is to take that for well."""


def areas(plan: CheckPlan) -> Drawn:
    """Those in which something was looked at."""
    columns = [
        Column(""),
        Column("AREA"),
        Column("CHECKS", right=True),
        Column("FAIL", right=True),
        Column("UNKNOWN", right=True),
        Column("WORST", floor=24),
    ]
    rows: list[Row] = []
    for area in Area:
        if judged := plan.in_area(area):
            found = [each for one in judged for each in one.findings if plan.counts(each)]
            fails = [each for each in found if each.status is Status.FAIL]
            unsure = [each for each in found if each.status is Status.UNKNOWN]
            status = Status.FAIL if fails else Status.UNKNOWN if unsure else Status.PASS
            worst = next(iter((*in_order(fails), *in_order(unsure))), None)
            slight = sum(too_slight(plan, each) for one in judged for each in one.findings)
            sign, said = _SIGNS[status], "" if worst is None else f"{worst.subject}: {worst.message}"
            if worst is None and slight:
                sign, said = _PASSED_OVER, f"less severe than --fail-on {plan.wish.fail_on.value}: {slight}"
            rows.append([sign, area.value, str(len(judged)), _n(fails), _n(unsure), said])
    return columns, rows


def _n(found: Sequence[Finding]) -> str:
    return str(len(found)) if found else "-"
