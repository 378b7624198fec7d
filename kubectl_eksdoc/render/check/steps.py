"""The way as a checklist on a screen: a line for each step, or all of it with reasons and commands."""

from __future__ import annotations

from itertools import groupby

from kubectl_eksdoc.check.checklist.steps import Step
from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import MARGIN, Title, titled
from kubectl_eksdoc.render.text import counted, joined, shown, wrap

_TITLE = Title("The way", " (each with its reason and its commands: -o wide)")
_FULL = Title("The way")
_WIDTH = 3
"""Of a step's number."""


def checklist(plan: CheckPlan, look: Look, full: bool) -> list[str]:
    """With a line for each phase; none where no checklist was made."""
    lines: list[str] = []
    for phase, steps in groupby(plan.checklist, key=lambda step: step.phase):
        lines.append(look.paint(f"{MARGIN}{shown(phase.value, look)}", Tone.FAINT))
        for step in steps:
            lines += _step(plan, step, look, full)
    return titled(_FULL if full else _TITLE, lines, look)


def _step(plan: CheckPlan, step: Step, look: Look, full: bool) -> list[str]:
    begin = f"{MARGIN}{step.number:>{_WIDTH}}. "
    rest = " " * len(begin)
    waiting = waits(plan, step)
    text = f"{step.title} ({waiting})" if waiting else step.title
    lines = wrap(shown(text, look), look.columns, begin, rest)
    if waiting:
        lines = [look.paint(lines[0], Tone.BAD), *lines[1:]]
    return [*lines, *_details(step, look, rest)] if full else lines


def _details(step: Step, look: Look, margin: str) -> list[str]:
    lines = wrap(shown(f"Why: {why(step)}", look), look.columns, margin, margin + MARGIN)
    lines += [f"{margin}{MARGIN}{shown(command, look)}" for command in step.commands]
    if step.done_when:
        lines += wrap(shown(f"Done when: {step.done_when}.", look), look.columns, margin, margin + MARGIN)
    if step.verify:
        lines.append(f"{margin}{MARGIN}{shown(step.verify, look)}")
    return lines


def why(step: Step) -> str:
    """With where it is from."""
    if step.source is None:
        return f"{step.why}."
    return f"{step.why} [{', '.join(filter(None, (step.source.document, step.source.doubt)))}]"


def waits(plan: CheckPlan, step: Step) -> str:
    """``2 findings and 1 unknown first``; "" where nothing is in its way."""
    found = plan.waiting(step)
    fails = [each for each in found if each.status is Status.FAIL]
    return _first(fails, len(found) - len(fails))


def _first(fails: list[Finding], unsure: int) -> str:
    parts = [counted(len(fails), "finding")] if fails else []
    parts += [f"{unsure} unknown"] if unsure else []
    return f"{joined(parts)} first" if parts else ""
