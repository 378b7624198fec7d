"""``-o table``: one page: the way, the areas as a traffic light, and what blocks which step with what to do about it.
``-o wide``: all of it, all evidence."""

from __future__ import annotations

from kubectl_eksdoc.check.areas import Gate
from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.render.check import words
from kubectl_eksdoc.render.check.areas import areas
from kubectl_eksdoc.render.check.brief import blind, brief, of_aws
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

_NOTHING = "This command changes nothing. All findings with all evidence: -o wide; for a program: -o json"


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
        [] if full else wrap(_NOTHING, look.columns),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _judged(view: CheckView, look: Look, full: bool) -> list[list[str]]:
    """The areas, and what blocks which step."""
    plan, mark = view.plan, marking(view.since)
    return [
        drawn(Title("Areas"), areas(plan), look, full),
        *(_gate(plan, gate, look, full, mark) for gate in (*Gate, None)),
        [] if full else blind(plan, of_aws(plan, _counting(plan)), look),
        _noted(plan, look, full, mark),
    ]


def _gate(plan: CheckPlan, gate: Gate | None, look: Look, full: bool, mark: Mark) -> list[str]:
    found = (*plan.of(gate, Status.FAIL), *plan.of(gate, Status.UNKNOWN))
    head = f" {words.before(plan, gate)}"
    if full:
        return findings(found, head, look, full, named=True, mark=mark)
    told_at_once = of_aws(plan, found)
    return brief([each for each in found if each not in told_at_once], head, look, mark)


def _counting(plan: CheckPlan) -> list[Finding]:
    return [each for each in plan.findings if plan.counts(each)]


def _noted(plan: CheckPlan, look: Look, full: bool, mark: Mark) -> list[str]:
    """What passes and is worth knowing, and what is too slight to count, where all is asked for."""
    others = tuple(each for each in plan.findings if each.status is Status.PASS or not plan.counts(each))
    if full:
        return findings(others, " that block nothing", look, full, named=True, mark=mark)
    worth = [each for each in others if each.severity is not Severity.INFO]
    if not others:
        return []
    some = f", {len(worth)} of them worth knowing" if worth else ""
    verb = "blocks" if len(others) == 1 else "block"
    return wrap(shown(f"{counted(len(others), 'finding')} that {verb} nothing{some}: -o wide", look), look.columns)
