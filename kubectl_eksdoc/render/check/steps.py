"""The way as a checklist on a screen: a line for each step, or all of it with reasons and commands."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from kubectl_eksdoc.check.checklist.steps import Phase, Step
from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.render.check import words
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import MARGIN, Title, titled
from kubectl_eksdoc.render.text import counted, cut, shown, wrap

_FULL = Title("The way")
_MOST_LINES = 2
"""Of a phase, where not all is asked for."""
_WIDTH = 3
"""Of a step's number."""


def checklist(plan: CheckPlan, look: Look, full: bool) -> list[str]:
    """With a line for each phase; none where no checklist was made."""
    if not full:
        return titled(Title("The way", f" in {_counted_steps(plan)}"), list(_in_short(plan, look)), look)
    lines: list[str] = []
    for phase, steps in groupby(plan.checklist, key=lambda step: step.phase):
        lines.append(look.paint(f"{MARGIN}{shown(phase.value, look)}", Tone.FAINT))
        for step in steps:
            lines += _step(plan, step, look)
    return titled(_FULL, lines, look)


def _counted_steps(plan: CheckPlan) -> str:
    return f"{counted(len(plan.checklist), 'step')} (each with its reason and its commands: -o wide)"


def _in_short(plan: CheckPlan, look: Look) -> Iterator[str]:
    """A few lines for each phase. What prepares is alike for all clusters."""
    for phase, steps in groupby(plan.checklist, key=lambda step: step.phase):
        told = "; ".join(f"{step.number}. {_titled(plan, step)}" for step in steps)
        lines = wrap(shown(f"{phase.value}: {told}", look), look.columns, MARGIN, MARGIN * 2)
        most = 1 if phase is Phase.PREPARE else _MOST_LINES
        yield from lines[: most - 1]
        if len(lines) <= most:
            yield from lines[most - 1 :]
        else:
            rest = " ".join(line.strip() for line in lines[most - 1 :])
            yield cut(f"{MARGIN * min(most, 2)}{rest}", look.columns, look)


def _titled(plan: CheckPlan, step: Step) -> str:
    waiting = waits(plan, step)
    return f"{step.title} ({waiting})" if waiting else step.title


def _step(plan: CheckPlan, step: Step, look: Look) -> list[str]:
    begin = f"{MARGIN}{step.number:>{_WIDTH}}. "
    rest = " " * len(begin)
    lines = wrap(shown(_titled(plan, step), look), look.columns, begin, rest)
    if waits(plan, step):
        lines = [look.paint(lines[0], Tone.BAD), *lines[1:]]
    return [*lines, *_details(step, look, rest)]


def _details(step: Step, look: Look, margin: str) -> list[str]:
    lines = wrap(shown(f"Why: {why(step)}", look), look.columns, margin, margin + MARGIN)
    lines += [f"{margin}{MARGIN}{shown(command, look)}" for command in step.commands]
    for form in step.forms:
        lines += wrap(shown(f"With {form.tool}: {form.text}", look), look.columns, margin, margin + MARGIN)
        lines += [f"{margin}{MARGIN}{shown(command, look)}" for command in form.commands]
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
    """``2 causes and 1 unknown first``; "" where nothing is in its way."""
    whole = step.gate is not None and not step.codes and not step.about
    said = words.at_gate(plan, step.gate) if whole else words.causes(plan.causes_of(plan.waiting(step)))
    return f"{said} first" if said else ""
