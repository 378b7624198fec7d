"""The tables of a fleet, whatever draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubectl_eksdoc.core.model.findings import Severity
from kubectl_eksdoc.core.model.fleet import Answered
from kubectl_eksdoc.core.plan.fleet.plan import FleetPlan, Shared
from kubectl_eksdoc.core.plan.fleet.standing import Row, Standing
from kubectl_eksdoc.render.findings import SIGNS
from kubectl_eksdoc.render.fleet import words
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.sections import Drawn
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.render.tables import Row as Cells

NOTHING = "-"
_SIGNS = {
    Standing.NOT_JUDGED: Cell("✗", Tone.BAD),
    Standing.FAILS: Cell("✗", Tone.BAD),
    Standing.UNKNOWN: Cell("?", Tone.UNKNOWN),
    Standing.CLEAN: Cell("✓", Tone.GOOD),
}
_COUNTED = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM, Severity.LOW)
_SHORT = {Severity.CRITICAL: "CRIT", Severity.HIGH: "HIGH", Severity.MEDIUM: "MED", Severity.LOW: "LOW"}
_DROPPED = {Severity.LOW: 6, Severity.MEDIUM: 5}
_LONGEST_NAME, _LEAST_SAID = 24, 20


def clusters(plan: FleetPlan, full: bool) -> Drawn:
    """One row a cluster, the worst first. `full`: with where each was reached, and what its command exits with."""
    figures, names = _figures(plan), _names(plan, full)
    columns = [
        Column(""),
        Column("CLUSTER", floor=_LONGEST_NAME, middle=True),
        Column("ACCOUNT", drop=3),
        Column("REGION", drop=4),
        Column("VERSION", drop=2),
        Column("VERDICT"),
        *(Column(each.value.upper(), True, _DROPPED.get(each, 0), short=_SHORT[each]) for each in _COUNTED),
        Column("UNKNOWN", right=True, short="UNKN"),
        *(Column(title, drop=1, floor=16) for title in figures),
        *((Column("EXIT", right=True), Column("CONTEXT"), Column("OBSERVED")) if full else ()),
        Column("FIRST IN THE WAY", floor=_LEAST_SAID),
    ]
    return columns, [_cells(row, names[row.member.name], figures, full) for row in plan.rows]


def _names(plan: FleetPlan, full: bool) -> dict[str, str]:
    """What they are called in a table: of an ARN the cluster's own name, where no other is called so."""
    short = {row.member.name: row.member.name.rpartition(":cluster/")[2] for row in plan.rows}
    every = list(short.values())
    return {name: name if full or every.count(cut) > 1 else cut for name, cut in short.items()}


def _figures(plan: FleetPlan) -> tuple[str, ...]:
    """The columns that only this command has."""
    found = (each.title for row in plan.rows if isinstance(row.outcome, Answered) for each in row.outcome.figures)
    return tuple(dict.fromkeys(found))


def _cells(row: Row, name: str, figures: tuple[str, ...], full: bool) -> Cells:
    outcome, who, fails = row.outcome, row.outcome.who, row.fails
    answered = isinstance(outcome, Answered)
    told = {each.title: each.text for each in outcome.figures} if isinstance(outcome, Answered) else {}
    seen = outcome.observed_at if isinstance(outcome, Answered) else ""
    return [
        _SIGNS[row.standing],
        name,
        who.account or NOTHING,
        who.region or NOTHING,
        who.server_version or NOTHING,
        words.IN_TABLE[row.standing],
        *(_count(fails[each]) for each in _COUNTED),
        _count(row.unknown) if answered else NOTHING,
        *(told.get(title, NOTHING) for title in figures),
        *((str(outcome.exit_code), who.context or row.member.context or NOTHING, seen or NOTHING) if full else ()),
        words.first(row) or NOTHING,
    ]


def _count(number: int) -> str:
    return str(number) if number else NOTHING


def shared(plan: FleetPlan, full: bool) -> Drawn:
    """What is mended once for many clusters."""
    columns = [
        Column(""),
        Column("CLUSTERS", right=True),
        Column("SEVERITY"),
        Column("CODE"),
        Column("WHAT", floor=24),
        Column("WHERE", floor=24),
    ]
    return columns, [_of_shared(each, _names(plan, full)) for each in plan.shared]


def _of_shared(found: Shared, names: Mapping[str, str]) -> Cells:
    sign, tone = SIGNS[found.status]
    where = _where(found.members, names)
    return [Cell(sign, tone), str(len(found.members)), found.severity.value, found.code, found.title, where]


def lacking(plan: FleetPlan, full: bool) -> Drawn:
    """What one administrator gives once."""
    columns = [Column("CLUSTERS", right=True), Column("RIGHT"), Column("WHERE", floor=24)]
    names = _names(plan, full)
    return columns, [[str(len(each.members)), each.right, _where(each.members, names)] for each in plan.lacking]


def _where(members: Sequence[str], names: Mapping[str, str]) -> str:
    return "all of them" if len(members) == len(names) else ", ".join(names[each] for each in members)
