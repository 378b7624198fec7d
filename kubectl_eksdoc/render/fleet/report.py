"""Many clusters judged together, in every format.

Belongs here: which columns and sections are shown, in which words; how the document is written.
Never here: how rows are ordered and summed (that is `fleet`), how one cluster is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from kubectl_eksdoc import __version__
from kubectl_eksdoc.fleet import FleetPlan, Row, Shared, Standing
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.fleet import Answered, Unanswered
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.report import Foot, Head, Line, Lines, Points, Report, Section, Table
from kubectl_eksdoc.render.tables import SIGNS, Cell, Column, Drawn, Title
from kubectl_eksdoc.render.tables import Row as Cells
from kubectl_eksdoc.render.text import counted

# A fleet in sentences.


_STANDINGS = {
    Standing.NOT_JUDGED: "not judged",
    Standing.FAILS: "with findings that fail",
    Standing.UNKNOWN: "with unknown answers",
    Standing.CLEAN: "clean",
}
IN_TABLE = {
    Standing.NOT_JUDGED: "not judged",
    Standing.FAILS: "fails",
    Standing.UNKNOWN: "unknown",
    Standing.CLEAN: "clean",
}


def in_short(plan: FleetPlan) -> str:
    """``30 clusters: 2 not judged, 20 with findings that fail, 8 clean.``"""
    counts = [f"{plan.standing(each)} {_STANDINGS[each]}" for each in Standing if plan.standing(each)]
    return f"{counted(len(plan.rows), 'cluster')}: {', '.join(counts)}."


def first(row: Row) -> str:
    """What is in the way first, in words; "" where nothing is."""
    if isinstance(row.outcome, Unanswered):
        return row.outcome.reason
    if row.first is not None:
        return f"{row.first.subject}: {row.first.message}"
    return "" if row.standing is Standing.CLEAN else row.outcome.verdict


# The tables of a fleet, whatever draws them.


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
        IN_TABLE[row.standing],
        *(_count(fails[each]) for each in _COUNTED),
        _count(row.unknown) if answered else NOTHING,
        *(told.get(title, NOTHING) for title in figures),
        *((str(outcome.exit_code), who.context or row.member.context or NOTHING, seen or NOTHING) if full else ()),
        first(row) or NOTHING,
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


MOST_SHARED = 10


@dataclass(frozen=True, slots=True)
class FleetReport(Report):
    """`command`: that judged each of them; `options` as they were given."""

    of: ClassVar[str] = "a fleet"

    plan: FleetPlan
    command: str
    options: Mapping[str, object]
    tool_version: str = __version__

    def sections(self, full: bool) -> Iterator[Section]:
        """Every cluster has its row, however many there are."""
        plan = self.plan
        yield Head(in_short(plan))
        yield Table(Title("Clusters"), clusters(plan, full), "clusters", len(plan.rows))
        yield Lines(Title("Not judged"), list(_reasons(plan, full)))
        yield Table(Title("Findings", " that clusters share"), shared(plan, full), "findings", MOST_SHARED)
        yield Table(
            Title("Rights", " that are missing in several clusters"), lacking(plan, full), "rights", MOST_SHARED
        )
        yield Points(Title("Notes"), plan.notes)
        yield Foot(f"One of them alone: kubectl eksdoc {self.command} {_alone(plan)}. For a program: -o json")

    def result(self) -> object:
        from kubectl_eksdoc.render.fleet.result import FleetResult

        return FleetResult.of(self)

    @property
    def origin(self) -> str:
        seen = f"oldest observation {self.plan.observed_at} · " if self.plan.observed_at else ""
        return f"{seen}kubectl eksdoc {self.tool_version}"


def _alone(plan: FleetPlan) -> str:
    return "--snapshot FILE" if all(row.member.snapshot for row in plan.rows) else "--context NAME"


def _reasons(plan: FleetPlan, full: bool) -> Iterator[Line]:
    """Why some could not be judged, whole: in a row of the table it is cut."""
    for row in plan.rows:
        if isinstance(row.outcome, Unanswered):
            said = f"✗ {row.member.name}: {row.outcome.reason} (exit code {row.outcome.exit_code})"
            yield Line(said, tone=Tone.BAD)
            if row.outcome.hint and full:
                yield Line(f"→ {row.outcome.hint}", indent=4)
