"""``-o table``: one page: the way, the areas as a traffic light, and what blocks which step with what to do about it.
``-o wide``: all of it, all evidence."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from kubectl_eksdoc.check.areas import Gate
from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.render.check import words
from kubectl_eksdoc.render.check.areas import areas, in_line
from kubectl_eksdoc.render.check.brief import blind, deciding, later, others
from kubectl_eksdoc.render.check.diagnosis import diagnosis
from kubectl_eksdoc.render.check.steps import checklist
from kubectl_eksdoc.render.check.view import CheckView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.report import Screen
from kubectl_eksdoc.render.since import screen
from kubectl_eksdoc.render.since.screen import marking
from kubectl_eksdoc.render.tables import MARGIN, Column, Mark, Row, Title, drawn, findings, more, plain, titled, told
from kubectl_eksdoc.render.text import age, between, counted, rfc3339, shown, wrap

if TYPE_CHECKING:
    from kubectl_eksdoc.check.changed import Changed

_MOST = 15
"""Changes that a page shows."""


def changes(found: Changed | None, now: datetime, look: Look, full: bool) -> list[str]:
    """None where nobody asked. `now`: the moment of the observation."""
    if found is None:
        return []
    kept = found.changes if full else found.changes[:_MOST]
    columns = [Column("AT"), Column("AGO", right=True, drop=1), Column("WHAT", floor=24, lines=2)]
    rows: list[Row] = [
        [rfc3339(each.at), age(between(each.at, now)), f"{each.subject.kind} {each.subject}: {each.what}"]
        for each in kept
    ]
    lines = plain(columns, rows, look, indent=len(MARGIN), fit=not full) or [f"{MARGIN}nothing that still shows"]
    lines += more(len(found.changes) - len(kept), look)
    for each in found.unread:
        text = wrap(shown(f"? not known: {each}", look), look.columns, MARGIN, MARGIN * 2)
        lines += [look.paint(text[0], Tone.UNKNOWN), *text[1:]]
    return titled(Title("Changed", f" since {rfc3339(found.since)}"), lines, look)


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


def table(view: CheckView, look: Look) -> str:
    """What somebody must look at."""
    return _text(view, look, full=False)


def wide(view: CheckView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: CheckView, look: Look, full: bool) -> str:
    plan = view.plan
    short = plan.diagnosis is not None and not full
    since = screen.section(view.since, plan.facts.cluster.observed_at, full, view.tool_version)
    sections = [
        [look.paint(line, Tone.TITLE) for line in wrap(shown(words.in_short(plan), look), look.columns)],
        Screen(full).lines(since, look) if since else [],
        diagnosis(plan.diagnosis, look, full),
        changes(plan.changes, plan.facts.cluster.observed_at, look, full),
        *([] if short else _judged(view, look, full)),
        suppressed(plan, look, full),
        checklist(plan, look, full),
        [] if full else wrap(shown(_besides(plan), look), look.columns),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _judged(view: CheckView, look: Look, full: bool) -> list[list[str]]:
    """What decides, the other causes by the step that waits for them, and the areas."""
    plan, mark = view.plan, marking(view.since)
    if full:
        gates = [_gate(plan, gate, look, mark) for gate in (*Gate, None)]
        first = deciding(plan, look, mark) if plan.diagnosis is None else []
        return [first, drawn(Title("Areas"), areas(plan), look, full), *gates, _noted(view, look)]
    more = [line for gate in (*Gate, None) for line in others(plan, gate, look, mark)]
    return [deciding(plan, look, mark), more, later(plan, look), blind(plan, look), in_line(plan, look)]


def _gate(plan: CheckPlan, gate: Gate | None, look: Look, mark: Mark) -> list[str]:
    found = (*plan.of(gate, Status.FAIL), *plan.of(gate, Status.UNKNOWN))
    return findings(found, f" {words.before(plan, gate)}", look, full=True, named=True, mark=mark)


def _noted(view: CheckView, look: Look) -> list[str]:
    """What passes and is worth knowing, and what is too slight to count."""
    mark = marking(view.since)
    return findings(_others(view.plan), " that block nothing", look, full=True, named=True, mark=mark)


def _besides(plan: CheckPlan) -> str:
    """With how much of that there is."""
    found = () if plan.diagnosis is not None else _others(plan)
    verb = "blocks" if len(found) == 1 else "block"
    more = f"{counted(len(found), 'more finding')} {verb} nothing. " if found else ""
    return f"Nothing is changed. {more}Everything: -o wide; for a program: -o json"


def _others(plan: CheckPlan) -> tuple[Finding, ...]:
    return tuple(each for each in plan.findings if each.status is Status.PASS or not plan.counts(each))
