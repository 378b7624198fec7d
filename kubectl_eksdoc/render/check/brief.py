"""The causes on a page: those that decide with what to do, the others in a line each. Evidence is in ``-o wide``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.check.areas import Gate
from kubectl_eksdoc.check.causes import AWS, DECIDING, RootCause
from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.findings import Finding, Severity, Status, When
from kubectl_eksdoc.render.check import words
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.tables import MARGIN, SIGNS, Mark, Title, more, titled, unmarked
from kubectl_eksdoc.render.text import counted, cut, shown, wrap

MOST = 12
"""Causes of one step that a page shows in a line each."""
_LONGEST = max(len(severity) for severity in ("critical", "unknown"))
_OF_NAME = 0.38
"""Of a line's room, at most, for what a cause is; the rest is for what is so."""


def deciding(plan: CheckPlan, look: Look, mark: Mark = unmarked) -> list[str]:
    """What the next step waits for first, and with which command to begin."""
    found = plan.causes[:DECIDING]
    gates = {each.gate for each in found}
    one = f" {words.before(plan, found[0].gate)}" if len(gates) == 1 else ""
    head = "Causes" if gates == {None} else "What decides"
    lines: list[str] = []
    for number, each in enumerate(found, 1):
        waits = "" if one else f" ({words.before(plan, each.gate)})"
        lines += _deciding(plan, number, each, waits, look, mark)
    return titled(Title(head, one), lines, look)


def _deciding(plan: CheckPlan, number: int, of: RootCause, waits: str, look: Look, mark: Mark) -> Iterator[str]:
    sign, tone = SIGNS[of.status]
    head = f"{MARGIN}{number}. "
    rest = " " * len(head)
    how = f"{of.severity.value}{mark(of.first)} {of.first.code.name}{waits}"
    said = f"{sign} {how}: {words.cause(of)}: {words.because(plan, of)}"
    first, *others = wrap(shown(said, look), look.columns, head, rest)
    yield look.paint(first, tone)
    yield from others
    when = f"{of.do.when.value}: " if of.do.when is When.LATER else ""
    yield from wrap(shown(f"→ {when}{of.do.text}", look), look.columns, rest, rest + MARGIN)
    yield f"{rest}{MARGIN}{shown(of.do.command, look)}"


def others(plan: CheckPlan, gate: Gate | None, look: Look, mark: Mark = unmarked) -> list[str]:
    """Those of one step that are not among what decides; None: those for which no step waits."""
    found = [each for each in plan.causes[DECIDING:] if each.gate is gate]
    some_above = any(each.gate is gate for each in plan.causes[:DECIDING])
    head = Title("More causes" if some_above else "Causes", f" {words.before(plan, gate)}")
    kept = found if len(found) <= MOST + 1 else found[:MOST]
    return titled(head, [*_lines(plan, kept, look, mark), *more(len(found) - len(kept), look)], look)


def _lines(plan: CheckPlan, found: Sequence[RootCause], look: Look, mark: Mark) -> Iterator[str]:
    """In columns, so that severities and names can be read from top to bottom."""
    room = int(look.columns * _OF_NAME)
    names = [_name(each, room, look) for each in found]
    width = max(map(len, names), default=0)
    for each, name in zip(found, names, strict=True):
        sign, tone = SIGNS[each.status]
        text = f"{mark(each.first).strip()} {words.because(plan, each)}".strip()
        line = f"{MARGIN}{sign} {each.severity.value:<{_LONGEST}}  {name:<{width}}  {shown(text, look)}"
        yield look.paint(cut(look.signs(line), look.columns, look), tone)


def _name(of: RootCause, room: int, look: Look) -> str:
    """Without its kind where there is no room for it."""
    whole = shown(words.cause(of), look)
    return whole if len(whole) <= room else cut(shown(str(of.subject), look), room, look, middle=True)


_MANIFESTS = frozenset({"api-in-manifest", "api-in-helm"})
_MOST_LATER = 6


def later(plan: CheckPlan, look: Look) -> list[str]:
    """What manifests have that goes on no step of this way."""
    told = [each for each in plan.findings if each.code.name in _MANIFESTS and each.status is Status.PASS]
    found = [each for each in told if each.severity is Severity.LOW]
    lines: list[str] = []
    for each in found[:_MOST_LATER]:
        said = f"! {each.subject.kind} {each.subject}: {each.message}"
        lines += wrap(shown(said, look), look.columns, MARGIN, MARGIN * 2)
    head = Title("Later", ": deprecated now, and served up to the target")
    return titled(head, [*lines, *more(len(found) - _MOST_LATER, look)], look)


def of_aws(plan: CheckPlan) -> tuple[Finding, ...]:
    """What is unknown for the one reason that nothing of AWS is known."""
    return next((each.findings for each in plan.causes if each.subject == AWS), ())


def blind(plan: CheckPlan, look: Look) -> list[str]:
    """All of it at once."""
    eks, found = plan.facts.eks, of_aws(plan)
    if not found or not isinstance(eks, Unknown):
        return []
    codes = sorted({each.code.name for each in found})
    lines = [
        *wrap(shown(f"? {eks.why}.", look), look.columns, MARGIN, MARGIN * 2),
        *wrap(shown(f"Unknown by that: {', '.join(codes)}.", look), look.columns, MARGIN * 2, MARGIN * 2),
    ]
    if eks.missing:
        lines += wrap(shown(f"→ Allow {eks.missing}, or ask a person who has it.", look), look.columns, MARGIN * 2)
    return titled(Title("AWS is not known", f", and with it {counted(len(found), 'answer')}"), lines, look)
