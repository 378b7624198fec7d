"""Findings of one step in a few lines each: what is so, and what to do first. Evidence is in ``-o wide``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.tables import MARGIN, SIGNS, Mark, Title, more, titled, unmarked
from kubectl_eksdoc.render.text import counted, shown, wrap

MOST = 8
"""Findings of one step that a page shows."""


def brief(found: Sequence[Finding], of: str, look: Look, mark: Mark = unmarked) -> list[str]:
    """`of`: which, behind the title."""
    lines = [line for each in found[:MOST] for line in _finding(each, look, mark)]
    return titled(Title("Findings", of), [*lines, *more(len(found) - MOST, look)], look)


def _finding(found: Finding, look: Look, mark: Mark) -> Iterator[str]:
    sign, tone = SIGNS[found.status]
    how = f"{found.severity.value}{mark(found)}"
    said = f"{sign} {how}: {found.subject.kind} {found.subject}: {found.message} [{found.code.name}]"
    head = wrap(shown(said, look), look.columns, MARGIN, MARGIN * 2)
    yield look.paint(head[0], tone)
    yield from head[1:]
    for remedy in found.remedy[:1]:
        when = "" if remedy.when.value == "tonight" else f"{remedy.when.value}: "
        yield from wrap(shown(f"→ {when}{remedy.text}", look), look.columns, MARGIN * 2, MARGIN * 3)
        if remedy.command:
            line = f"{MARGIN * 3}{shown(remedy.command, look)}"
            yield line if len(line) <= look.columns else f"{MARGIN * 3}(its command: -o wide)"


def of_aws(plan: CheckPlan, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Those that are unknown for the one reason that nothing of AWS is known."""
    eks = plan.facts.eks
    if not isinstance(eks, Unknown):
        return ()
    return tuple(each for each in found if each.status is Status.UNKNOWN and eks.why in each.message)


def blind(plan: CheckPlan, found: Sequence[Finding], look: Look) -> list[str]:
    """They are said at once: the same reason twenty times hides what can be mended."""
    eks = plan.facts.eks
    if not found or not isinstance(eks, Unknown):
        return []
    codes = sorted({each.code.name for each in found})
    lines = [
        *wrap(shown(f"? {eks.why}.", look), look.columns, MARGIN, MARGIN * 2),
        *wrap(shown(f"Unknown by that: {', '.join(codes)}.", look), look.columns, MARGIN * 2, MARGIN * 2),
    ]
    if eks.missing:
        lines += wrap(shown(f"→ Allow {eks.missing}, or have somebody look who may.", look), look.columns, MARGIN * 2)
    return titled(Title("AWS is not known", f", and with it {counted(len(found), 'answer')}"), lines, look)
