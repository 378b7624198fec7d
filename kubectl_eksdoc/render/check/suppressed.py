"""What does not count because somebody decided so, on a screen."""

from __future__ import annotations

from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.tables import MARGIN, Title, titled, told
from kubectl_eksdoc.render.text import counted, shown, wrap


def suppressed(plan: CheckPlan, look: Look, full: bool) -> list[str]:
    """All with reason and last day where all is asked for, else how many; and decisions that are out of date."""
    lines: list[str] = []
    for each in plan.suppressed if full else ():
        found, by = each.finding, each.by
        text = f"- {found.severity.value} {found.code.name}: {found.subject.kind} {found.subject}: {found.message}"
        lines += wrap(shown(text, look), look.columns, MARGIN, MARGIN * 2)
        why = f"until {by.until.isoformat()}: {by.reason} ({by.where})"
        lines += wrap(shown(why, look), look.columns, MARGIN * 2)
    if plan.suppressed and not full:
        count = counted(len(plan.suppressed), "finding")
        lines = wrap(shown(f"{count} suppressed: -o wide lists them", look), look.columns, MARGIN)
    listed = titled(Title("Suppressed"), lines, look)
    notes = told(Title("Suppressions that are out of date"), plan.notes, look)
    return [*listed, *([""] if listed and notes else []), *notes]
