"""The areas of a check as a traffic light, whatever draws it, and which step waits for a finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.plan import CheckPlan, Judged
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.render.check.words import figures, too_slight
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import MARGIN, Cell, Column, Drawn, Row
from kubectl_eksdoc.render.text import shown, wrap

GateOf = Callable[[Finding], Gate | None]


def gates(plan: CheckPlan) -> GateOf:
    """Of what is suppressed, by its code: which check has found it is not kept."""
    by_finding = {found: each.check.gate for each in plan.judged for found in each.findings}
    by_code: dict[str, Gate | None] = {}
    for each in plan.judged:
        for code in each.check.codes:
            by_code.setdefault(code.name, each.check.gate)

    def of(found: Finding) -> Gate | None:
        return by_finding[found] if found in by_finding else by_code.get(found.code.name)

    return of


_SIGNS = {
    Status.PASS: Cell("✓", Tone.GOOD),
    Status.FAIL: Cell("✗", Tone.BAD),
    Status.UNKNOWN: Cell("?", Tone.UNKNOWN),
}
_PASSED_OVER = Cell("○", Tone.FAINT)
"""Nothing counts, for --fail-on alone: nobody is to take that for well."""


_JOINED = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class _Light:
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
    slight = any(each.slight for each in lights)
    titles = ("CHECKS", "CAUSES", "UNKNOWN", *(("LESS SEVERE",) if slight else ()))
    columns = [Column(""), Column("AREA"), *(Column(title, right=True) for title in titles)]
    figures = ((each, (each.checks, each.fails, each.unknown, each.slight)) for each in lights)
    rows: list[Row] = [[each.sign, each.area.value, *map(_n, told)][: len(columns)] for each, told in figures]
    return columns, rows


def in_line(plan: CheckPlan, look: Look) -> list[str]:
    """``✗ APIs 1 · ✓ DNS``: the same where room is short."""
    said = (f"{each.sign.text} {each.area.value}{_figures(each)}" for each in _lights(plan))
    lights = [light.replace(" ", _JOINED) for light in said]
    lines = wrap(shown(f"AREAS: {' · '.join(lights)}", look), look.columns, "", MARGIN) if lights else []
    return [line.replace(_JOINED, " ") for line in lines]


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


def _light(plan: CheckPlan, area: Area, judged: Sequence[Judged]) -> _Light:
    """Accepted unknowns are unknown all the same."""
    found = [each for one in judged for each in one.findings if plan.counts(each)]
    statuses = {each.status for each in found}
    fails, unknown = counts(plan, found)
    slight = sum(too_slight(plan, each) for one in judged for each in one.findings)
    status = next((each for each in (Status.FAIL, Status.UNKNOWN) if each in statuses), Status.PASS)
    sign = _PASSED_OVER if status is Status.PASS and slight else _SIGNS[status]
    return _Light(area, len(judged), sign, fails, unknown, slight)


def counts(plan: CheckPlan, found: Sequence[Finding]) -> tuple[int, int]:
    """How many causes begin with one of `found` and fail, and how many are not known or accepted so."""
    some = set(map(id, found))
    fails, unknown = figures(each for each in plan.causes if id(each.first) in some)
    accepted = sum(each.status is Status.UNKNOWN and each.code.name in plan.wish.accepted for each in found)
    return fails, unknown + accepted


def _n(count: int) -> str:
    return str(count) if count else "-"
