"""``-o table``: one page: the way, the areas as a traffic light, and what blocks which step with what to do about it.
``-o wide``: all of it, all evidence."""

from __future__ import annotations

from kubectl_eksdoc.check.areas import Gate
from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.render.check import words
from kubectl_eksdoc.render.check.areas import areas, in_line
from kubectl_eksdoc.render.check.brief import blind, deciding, later, others
from kubectl_eksdoc.render.check.changes import changes
from kubectl_eksdoc.render.check.diagnosis import diagnosis
from kubectl_eksdoc.render.check.steps import checklist
from kubectl_eksdoc.render.check.suppressed import suppressed
from kubectl_eksdoc.render.check.view import CheckView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.since import screen
from kubectl_eksdoc.render.since.screen import marking
from kubectl_eksdoc.render.tables import Mark, Title, drawn, findings
from kubectl_eksdoc.render.text import counted, shown, wrap


def table(view: CheckView, look: Look) -> str:
    """What somebody must look at."""
    return _text(view, look, full=False)


def wide(view: CheckView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: CheckView, look: Look, full: bool) -> str:
    plan = view.plan
    short = plan.diagnosis is not None and not full
    sections = [
        [look.paint(line, Tone.TITLE) for line in wrap(shown(words.in_short(plan), look), look.columns)],
        screen.section(view.since, plan.facts.cluster.observed_at, look, full, view.tool_version),
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
