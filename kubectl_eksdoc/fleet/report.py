"""Report of a fleet, in every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import JudgedMember, Source, UnjudgedMember
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.report.command_result import ClusterResult
from kubectl_eksdoc.report.report import CommandReport, Foot, Head, Line, Lines, Section, Table
from kubectl_eksdoc.report.result import Count, KindResult, Meta, Moment, Printed, Text, UnsetType
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Drawn,
    Tone,
    columns_of,
    counted,
    name_column,
    number_column,
    text_column,
)
from kubectl_eksdoc.report.text import Row as Cells

from .clusters import FleetPlan, Row, Standing

# Sentences


_STANDINGS = {
    Standing.NOT_JUDGED: "not judged",
    Standing.FAILS: "with findings that fail",
    Standing.UNKNOWN: "with unknown answers",
    Standing.CLEAN: "clean",
}


def in_short(plan: FleetPlan) -> str:
    """``30 clusters: 2 not judged, 20 with findings that fail, 8 clean.``"""
    counts = [f"{plan.standing(each)} {_STANDINGS[each]}" for each in Standing if plan.standing(each)]
    return f"{counted(len(plan.rows), 'cluster')}: {', '.join(counts)}."


def first(row: Row) -> str:
    """Describe the first obstacle; "" if there is none."""
    if isinstance(row.outcome, UnjudgedMember):
        return row.outcome.reason
    if row.first is not None:
        return f"{row.first.subject}: {row.first.message}"
    return "" if row.standing is Standing.CLEAN else row.outcome.verdict


# Tables


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
    """One row per cluster, the worst first. `full`: with context, observation time and exit code."""
    names = _names(plan, full)
    return columns_of(
        "",
        name_column("CLUSTER", _LONGEST_NAME),
        Column("ACCOUNT", drop=3),
        Column("REGION", drop=4),
        Column("VERSION", drop=2),
        "VERDICT",
        *(Column(each.value.upper(), True, _DROPPED.get(each, 0), short=_SHORT[each]) for each in _COUNTED),
        number_column("UNKNOWN", short="UNKN"),
        *((number_column("EXIT"), "CONTEXT", "OBSERVED") if full else ()),
        text_column("FIRST OBSTACLE", _LEAST_SAID),
    ), [_cells(row, names[row.member.name], full) for row in plan.rows]


def _names(plan: FleetPlan, full: bool) -> dict[str, str]:
    """Return the names in a table: of an ARN only the cluster's own name, if it is unique."""
    short = {row.member.name: row.member.name.rpartition(":cluster/")[2] for row in plan.rows}
    every = list(short.values())
    return {name: name if full or every.count(cut) > 1 else cut for name, cut in short.items()}


def _cells(row: Row, name: str, full: bool) -> Cells:
    outcome, who, fails = row.outcome, row.outcome.who, row.fails
    answered = isinstance(outcome, JudgedMember)
    seen = outcome.observed_at if isinstance(outcome, JudgedMember) else ""
    return [
        _SIGNS[row.standing],
        name,
        who.account or NOTHING,
        who.region or NOTHING,
        who.server_version or NOTHING,
        row.standing.value.replace("-", " "),
        *(_count(fails[each]) for each in _COUNTED),
        _count(row.unknown) if answered else NOTHING,
        *((str(outcome.exit_code), who.context or row.member.context or NOTHING, seen or NOTHING) if full else ()),
        first(row) or NOTHING,
    ]


def _count(number: int) -> str:
    return str(number) if number else NOTHING


@frozen
class FleetReport(CommandReport):
    """`command`: the command that checked each cluster."""

    of = "a fleet"

    plan: FleetPlan
    command: str

    def sections(self, full: bool) -> Iterator[Section]:
        """Every cluster has its row, however many there are."""
        plan = self.plan
        yield Head(in_short(plan))
        yield Table("Clusters", clusters(plan, full), "clusters", len(plan.rows))
        yield Lines("Not judged", list(_reasons(plan, full)))
        yield Foot(f"One of them alone: kubectl eksdoc {self.command} {_alone(plan)}. For a program: -o json")

    def result(self) -> object:
        plan, options = self.plan, {key: self.options[key] for key in sorted(self.options)}
        return FleetResult.filled(
            plan,
            metadata=_FleetMetadata.filled(self, observed_at=plan.observed_at, options=options),
            verdict=in_short(plan),
            standing={each.value: plan.standing(each) for each in Standing},
            findings=(found for row in plan.rows for found in _findings(row)),
        )

    @property
    def origin(self) -> str:
        seen = f"oldest observation {self.plan.observed_at} · " if self.plan.observed_at else ""
        return f"{seen}kubectl eksdoc {self.tool_version}"


def _alone(plan: FleetPlan) -> str:
    return "--snapshot FILE" if all(row.member.snapshot for row in plan.rows) else "--context NAME"


def _reasons(plan: FleetPlan, full: bool) -> Iterator[Line]:
    """Yield why clusters could not be judged, in full: a table row truncates it."""
    for row in plan.rows:
        if isinstance(row.outcome, UnjudgedMember):
            said = f"✗ {row.member.name}: {row.outcome.reason} (exit code {row.outcome.exit_code})"
            yield Line(said, tone=Tone.BAD)
            if row.outcome.hint and full:
                yield Line(f"→ {row.outcome.hint}", indent=4)


# JSON and YAML output


_ExitCode = Literal[0, 1, 2, 3, 4, 5, 70]
_NAMES_OF_STANDINGS = [each.value for each in Standing]


class _FleetMetadata(Printed):
    tool_version: Text
    command: Literal["check", "addon-diff", "imds-probe"]
    observed_at: Moment | None
    """The oldest observation, UTC; null: no cluster answered."""
    options: Annotated[dict[str, Any], Meta(extra_json_schema={"required": ["fleet"]})]
    """The options as given on the command line."""


class _Fails(Printed):
    critical: Count
    high: Count
    medium: Count
    low: Count
    info: Count


class _Member(Printed):
    """One cluster. Unknown values are null."""

    called = {"version": "server_version", "result": "document"}

    schema = {
        "if": {"properties": {"standing": {"const": "not-judged"}}},
        "then": {
            "properties": {
                "reason": {"type": "string"},
                "result": {"type": "null"},
                "exitCode": {"enum": [2, 3, 4, 70]},
                "fail": {"type": "null"},
                "unknown": {"type": "null"},
            }
        },
        "else": {
            "properties": {
                "reason": {"type": "null"},
                "result": {"type": "object"},
                "exitCode": {"enum": [0, 1, 5]},
                "fail": {"type": "object"},
                "unknown": {"type": "integer"},
            }
        },
    }

    name: Text
    """Name of its row; names are unique."""
    context: Text | None
    cluster: Text | None
    account: Text | None
    region: Text | None
    version: Text | None
    source: Source | None
    observed_at: Moment | None
    standing: Standing
    exit_code: _ExitCode
    """Exit code of the command for this cluster alone."""
    reason: Text | None
    """Why it could not be judged; null: it was."""
    hint: Text | None
    """What to try in that case."""
    fail: _Fails | None
    """Number of failing findings by severity."""
    unknown: Count | None
    first: Text | None
    """The first obstacle, in words; null: there is none."""
    result: (
        Annotated[
            dict[str, Any],
            Meta(
                extra_json_schema={
                    "required": ["apiVersion", "kind", "metadata", "findings"],
                    "properties": {
                        "apiVersion": {"const": "eksdoc.io/v1alpha1"},
                        "kind": {"enum": ["UpgradeCheck", "AddonDiff", "ImdsProbe"]},
                    },
                }
            ),
        ]
        | None
    )
    """Its own document, as the command for this cluster alone prints it; its kind has its own schema. Null: it could
    not be judged."""
    unverified: (
        Annotated[tuple[Literal["cluster", "region"], ...], Meta(min_length=1, extra_json_schema={"uniqueItems": True})]
        | UnsetType
    )
    """Names that come from the command line alone: neither AWS nor the cluster confirmed them."""

    @classmethod
    def of(cls, facts: Row) -> _Member:
        outcome, judged = facts.outcome, isinstance(facts.outcome, JudgedMember)
        return cls.filled(
            outcome,
            ClusterResult.of(outcome.who),
            None,  # nothing else is known about a cluster that was not judged
            name=facts.member.name,
            context=outcome.who.context or facts.member.context,
            standing=facts.standing,
            fail=_Fails.filled(**{each.value: count for each, count in facts.fails.items()}) if judged else None,
            unknown=facts.unknown if judged else None,
            first=first(facts),
        )


class _Finding(Printed, forbid_unknown_fields=False):
    """As in the document of its member, with the name of the member."""

    member: Text
    code: Text
    title: Text
    severity: Severity
    status: Status
    subject: Any
    message: Text
    evidence: Any
    remedy: Any

    @classmethod
    def of(cls, facts: Any) -> Any:
        """Return the finding unchanged: it has JSON types already, and may have fields that only its command knows."""
        return facts


class FleetResult(KindResult):
    """Many clusters judged together: kubectl eksdoc check, addon-diff or imds-probe with --fleet -o json."""

    called = {"members": "rows"}

    kind: Literal["Fleet"]
    metadata: _FleetMetadata
    verdict: Text
    exit_code: _ExitCode
    """The worst of all: 70, then 3, 4 and 2 (a member could not be judged), then 1, 5 and 0."""
    standing: Annotated[
        dict[str, Count],
        Meta(extra_json_schema={"required": _NAMES_OF_STANDINGS, "propertyNames": {"enum": _NAMES_OF_STANDINGS}}),
    ]
    """How many members have each standing."""
    members: Annotated[tuple[_Member, ...], Meta(min_length=1)]
    """The worst first."""
    findings: tuple[_Finding, ...]
    """The findings of all members."""


def _findings(row: Row) -> Iterator[dict[str, Any]]:
    """Yield the findings of its document, each with the name of the member."""
    if isinstance(row.outcome, JudgedMember):
        for found in row.outcome.document.get("findings") or ():
            if isinstance(found, dict):
                yield {"member": row.member.name, **found}
