"""A fleet in sentences."""

from __future__ import annotations

from kubectl_eksdoc.core.model.fleet import Unanswered
from kubectl_eksdoc.core.plan.fleet.plan import FleetPlan
from kubectl_eksdoc.core.plan.fleet.standing import Row, Standing
from kubectl_eksdoc.render.text import counted

_STANDINGS = {
    Standing.NOT_JUDGED: "not judged",
    Standing.FAILS: "with findings that fail",
    Standing.UNKNOWN: "with unknown answers",
    Standing.CLEAN: "clean",
}
IN_TABLE = {
    Standing.NOT_JUDGED: "not judged",
    Standing.FAILS: "fails",
    Standing.UNKNOWN: "unknown",
    Standing.CLEAN: "clean",
}


def in_short(plan: FleetPlan) -> str:
    """``30 clusters: 2 not judged, 20 with findings that fail, 8 clean.``"""
    counts = [f"{plan.standing(each)} {_STANDINGS[each]}" for each in Standing if plan.standing(each)]
    return f"{counted(len(plan.rows), 'cluster')}: {', '.join(counts)}."


def first(row: Row) -> str:
    """What is in the way first, in words; "" where nothing is."""
    if isinstance(row.outcome, Unanswered):
        return row.outcome.reason
    if row.first is not None:
        return f"{row.first.subject}: {row.first.message}"
    return "" if row.standing is Standing.CLEAN else row.outcome.verdict
