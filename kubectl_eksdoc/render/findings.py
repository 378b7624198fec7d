"""Findings on a screen: each in a line or two, and below it what shows it and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, When
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.sections import MARGIN, Title, titled
from kubectl_eksdoc.render.text import shown, wrap

SIGNS = {Status.FAIL: ("✗", Tone.BAD), Status.UNKNOWN: ("?", Tone.UNKNOWN), Status.PASS: ("!", Tone.WARN)}


Mark = Callable[[Finding], str]
"""What is said of a finding behind its severity, ``" (new)"``; "" for nothing."""


def unmarked(_: Finding) -> str:
    return ""


def findings(
    found: Sequence[Finding], of: str, look: Look, full: bool, named: bool = False, mark: Mark = unmarked
) -> list[str]:
    """Those of a mode, ``" with NONE"``, or of something else that is named so. `named`: they are of several subjects,
    each is named, and what does a remedy is shown."""
    shown_ones = [each for each in found if full or each.severity is not Severity.INFO]
    lines = [line for each in shown_ones for line in _finding(each, look, full, named, mark)]
    return titled(Title("Findings", of), lines, look)


def _finding(found: Finding, look: Look, full: bool, named: bool, mark: Mark) -> list[str]:
    sign, tone = SIGNS[found.status]
    what = f"{found.subject.kind} {found.subject}: {found.message}" if named else found.message
    head = wrap(shown(f"{sign} {found.severity.value}{mark(found)}: {what}", look), look.columns, MARGIN, MARGIN * 2)
    lines = [look.paint(head[0], tone), *head[1:]]
    evidence = found.evidence if full else found.evidence[:2]
    for text in evidence:
        lines += wrap(shown(f"- {text}", look), look.columns, MARGIN * 2, MARGIN * 3)
    if len(evidence) < len(found.evidence):
        lines.append(f"{MARGIN * 2}{look.ellipsis} and {len(found.evidence) - len(evidence)} more")
    if found.missing and found.missing not in found.evidence:
        lines += wrap(shown(f"missing: {found.missing}", look), look.columns, MARGIN * 2)
    for each in found.remedy if full else _first(found.remedy, named):
        when = f"{each.when.value}: " if each.when is When.TOMORROW else ""
        lines += wrap(shown(f"→ {when}{each.text}", look), look.columns, MARGIN * 2, MARGIN * 3)
        if named and each.command:
            lines.append(f"{MARGIN * 3}{shown(each.command, look)}")
    return lines


def _first(remedies: Sequence[Remedy], named: bool) -> Sequence[Remedy]:
    """What is done first; where it is a command for tonight, what is done tomorrow as well, so that it does not stay
    the only thing."""
    if not named or not remedies or remedies[0].when is When.TOMORROW or not remedies[0].command:
        return remedies[:1]
    return (remedies[0], *[each for each in remedies if each.when is When.TOMORROW][:1])
