"""The causes on a page: those that decide with what to do, the others in a line each; and the areas as a traffic
light."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.causes import AWS, DECIDING, RootCause
from kubectl_eksdoc.check.plan import CheckPlan, JudgedFindings
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.findings import Finding, Severity, Status, When
from kubectl_eksdoc.render.check import verdict
from kubectl_eksdoc.render.check.verdict import counts, too_slight
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.report import Line, Lines, ReportFigure, Section, hidden
from kubectl_eksdoc.render.tables import MARGIN, SIGNS, Cell, Column, Drawn, Mark, Row, Title, more, titled
from kubectl_eksdoc.render.text import counted, cut, shown, wrap

MOST = 12
"""Causes of one step that a page shows in a line each."""
_LONGEST = max(len(severity) for severity in ("critical", "unknown"))
_OF_NAME = 0.38
"""Of a line's room, at most, for what a cause is; the rest is for what is so."""


def deciding(plan: CheckPlan, mark: Mark) -> Section:
    """What the next step waits for first, and with which command to begin."""
    found = plan.causes[:DECIDING]
    gates = {each.gate for each in found}
    one = f" {verdict.before(plan, found[0].gate)}" if len(gates) == 1 else ""
    lines: list[Line] = []
    for number, each in enumerate(found, 1):
        sign, tone = SIGNS[each.status]
        waits = "" if one else f" ({verdict.before(plan, each.gate)})"
        how = f"{each.severity.value}{mark(each.first)} {each.first.code.name}{waits}"
        said = f"{number}. {sign} {how}: {verdict.cause(each)}: {verdict.because(plan, each)}"
        when = f"{each.do.when.value}: " if each.do.when is When.LATER else ""
        rest = len(f"{number}. ")
        lines += [
            Line(said, 2, rest, tone),
            Line(f"→ {when}{each.do.text}", rest + 2),
            Line(each.do.command, rest + 4, whole=True),
        ]
    return Lines(Title("Causes" if gates == {None} else "What decides", one), lines)


def others(plan: CheckPlan, mark: Mark) -> Section:
    """By the step that waits for them, those that are not among what decides."""

    def draw(look: Look, _: bool) -> list[str]:
        return [line for gate in (*Gate, None) for line in _at(plan, gate, look, mark)]

    return ReportFigure(None, draw)


def _at(plan: CheckPlan, gate: Gate | None, look: Look, mark: Mark) -> list[str]:
    """None: those for which no step waits."""
    found = [each for each in plan.causes[DECIDING:] if each.gate is gate]
    some_above = any(each.gate is gate for each in plan.causes[:DECIDING])
    head = Title("More causes" if some_above else "Causes", f" {verdict.before(plan, gate)}")
    kept = found if len(found) <= MOST + 1 else found[:MOST]
    return titled(head, [*_lines(plan, kept, look, mark), *more(len(found) - len(kept), look)], look)


def _lines(plan: CheckPlan, found: Sequence[RootCause], look: Look, mark: Mark) -> Iterator[str]:
    """In columns: how bad it is, what it is, and what is so."""
    room = int(look.columns * _OF_NAME)
    names = [_name(each, room, look) for each in found]
    width = max(map(len, names), default=0)
    for each, name in zip(found, names, strict=True):
        sign, tone = SIGNS[each.status]
        text = f"{mark(each.first).strip()} {verdict.because(plan, each)}".strip()
        line = f"{MARGIN}{sign} {each.severity.value:<{_LONGEST}}  {name:<{width}}  {shown(text, look)}"
        yield look.paint(cut(look.signs(line), look.columns, look), tone)


def _name(of: RootCause, room: int, look: Look) -> str:
    """Without its kind where there is no room for it."""
    whole = shown(verdict.cause(of), look)
    return whole if len(whole) <= room else cut(shown(str(of.subject), look), room, look, middle=True)


_MANIFESTS = frozenset({"api-in-manifest", "api-in-helm"})
_MOST_LATER = 6


def later(plan: CheckPlan) -> Section:
    """What manifests have that goes on no step of this way."""
    told = (each for each in plan.findings if each.code.name in _MANIFESTS and each.status is Status.PASS)
    found = [f"! {each.subject.kind} {each.subject}: {each.message}" for each in told if each.severity is Severity.LOW]
    title = Title("Later", ": deprecated now, and served up to the target")
    return Lines(title, [*found[:_MOST_LATER], *hidden(len(found) - _MOST_LATER)])


def of_aws(plan: CheckPlan) -> tuple[Finding, ...]:
    """What is unknown for the one reason that nothing of AWS is known."""
    return next((each.findings for each in plan.causes if each.subject == AWS), ())


def blind(plan: CheckPlan) -> Section | None:
    """All of it at once."""
    eks, found = plan.facts.eks, of_aws(plan)
    if not found or not isinstance(eks, Unknown):
        return None
    codes = ", ".join(sorted({each.code.name for each in found}))
    lines = [Line(f"? {eks.why}."), Line(f"Unknown by that: {codes}.", 4, 0)]
    if eks.missing:
        lines.append(Line(f"→ Allow {eks.missing}, or ask a person who has it.", 4, 0))
    return Lines(Title("AWS is not known", f", and with it {counted(len(found), 'answer')}"), lines)


# The areas.


_SIGNS = {
    Status.PASS: Cell("✓", Tone.GOOD),
    Status.FAIL: Cell("✗", Tone.BAD),
    Status.UNKNOWN: Cell("?", Tone.UNKNOWN),
}
_PASSED_OVER = Cell("○", Tone.FAINT)
"""Nothing counts, for --fail-on alone: nobody is to take that for well."""
_JOINED = "\N{NO-BREAK SPACE}"


class _Light(NamedTuple):
    """An area in which something was looked at: how many causes fail in it, are not known, and are too slight. A cause
    counts where its first finding is."""

    area: Area
    checks: int
    sign: Cell
    fails: int
    unknown: int
    slight: int


def areas(plan: CheckPlan) -> Drawn:
    """Those in which something was looked at."""
    lights = _lights(plan)
    titles = ("CHECKS", "CAUSES", "UNKNOWN", *(("LESS SEVERE",) if any(each.slight for each in lights) else ()))
    columns = [Column(""), Column("AREA"), *(Column(title, right=True) for title in titles)]
    figures = ((each, (each.checks, each.fails, each.unknown, each.slight)) for each in lights)
    rows: list[Row] = [
        [each.sign, each.area.value, *(str(count or "-") for count in told)][: len(columns)] for each, told in figures
    ]
    return columns, rows


def in_line(plan: CheckPlan) -> Section:
    """``✗ APIs 1 · ✓ DNS``: the same where room is short."""
    said = (f"{each.sign.text} {each.area.value}{_figures(each)}" for each in _lights(plan))
    lights = " · ".join(light.replace(" ", _JOINED) for light in said)

    def draw(look: Look, _: bool) -> list[str]:
        lines = wrap(shown(f"AREAS: {lights}", look), look.columns, "", MARGIN) if lights else []
        return [line.replace(_JOINED, " ") for line in lines]

    return ReportFigure(None, draw)


def _figures(of: _Light) -> str:
    parts = (
        str(of.fails) if of.fails else "",
        f"{of.unknown} unknown" if of.unknown else "",
        f"{of.slight} less severe" if of.slight and of.sign is _PASSED_OVER else "",
    )
    told = ", ".join(filter(None, parts))
    return f" {told}" if told else ""


def _lights(plan: CheckPlan) -> list[_Light]:
    return [_light(plan, area, judged) for area in Area if (judged := plan.in_area(area))]


def _light(plan: CheckPlan, area: Area, judged: Sequence[JudgedFindings]) -> _Light:
    """Accepted unknowns are unknown all the same."""
    found = [each for one in judged for each in one.findings if plan.counts(each)]
    statuses = {each.status for each in found}
    fails, unknown = counts(plan, found)
    slight = sum(too_slight(plan, each) for one in judged for each in one.findings)
    status = next((each for each in (Status.FAIL, Status.UNKNOWN) if each in statuses), Status.PASS)
    sign = _PASSED_OVER if status is Status.PASS and slight else _SIGNS[status]
    return _Light(area, len(judged), sign, fails, unknown, slight)
