"""Report of a fleet, in every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import JudgedMember, Source, UnjudgedMember
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.report.command_result import ClusterResult
from kubectl_eksdoc.report.report import CommandReport, Footer, Heading, Line, Section, Table, TextBlock
from kubectl_eksdoc.report.result import Count, KindResult, Meta, Printed, Text, Timestamp, UnsetType
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    TableData,
    Tone,
    as_columns,
    name_column,
    number_column,
    pluralize,
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


def summary(plan: FleetPlan) -> str:
    """``30 clusters: 2 not judged, 20 with findings that fail, 8 clean.``"""
    counts = [f"{plan.standing_count(each)} {_STANDINGS[each]}" for each in Standing if plan.standing_count(each)]
    return f"{pluralize(len(plan.rows), 'cluster')}: {', '.join(counts)}."


def obstacle_text(row: Row) -> str:
    """Describe the first obstacle; "" if there is none."""
    if isinstance(row.outcome, UnjudgedMember):
        return row.outcome.reason
    if row.first_obstacle is not None:
        return f"{row.first_obstacle.subject}: {row.first_obstacle.message}"
    return "" if row.standing is Standing.CLEAN else row.outcome.verdict


# Tables


EMPTY_CELL = "-"
_SYMBOLS = {
    Standing.NOT_JUDGED: Cell("✗", Tone.BAD),
    Standing.FAILS: Cell("✗", Tone.BAD),
    Standing.UNKNOWN: Cell("?", Tone.UNKNOWN),
    Standing.CLEAN: Cell("✓", Tone.GOOD),
}
_COUNTED_SEVERITIES = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM, Severity.LOW)
_SHORT = {Severity.CRITICAL: "CRIT", Severity.HIGH: "HIGH", Severity.MEDIUM: "MED", Severity.LOW: "LOW"}
_DROP_ORDER = {Severity.LOW: 6, Severity.MEDIUM: 5}
_LONGEST_NAME, _LEAST_SAID = 24, 20


def clusters(plan: FleetPlan, full: bool) -> TableData:
    """One row per cluster, the worst first. `full`: with context, observation time and exit code."""
    names = _names(plan, full)
    return as_columns(
        "",
        name_column("CLUSTER", _LONGEST_NAME),
        Column("ACCOUNT", drop_order=3),
        Column("REGION", drop_order=4),
        Column("VERSION", drop_order=2),
        "VERDICT",
        *(
            Column(each.value.upper(), True, _DROP_ORDER.get(each, 0), short_title=_SHORT[each])
            for each in _COUNTED_SEVERITIES
        ),
        number_column("UNKNOWN", short_title="UNKN"),
        *((number_column("EXIT"), "CONTEXT", "OBSERVED") if full else ()),
        text_column("FIRST OBSTACLE", _LEAST_SAID),
    ), [_cells(row, names[row.member.name], full) for row in plan.rows]


def _names(plan: FleetPlan, full: bool) -> dict[str, str]:
    """Return the names in a table: of an ARN only the cluster's own name, if it is unique."""
    short_names = {row.member.name: row.member.name.rpartition(":cluster/")[2] for row in plan.rows}
    every = list(short_names.values())
    return {name: name if full or every.count(cut) > 1 else cut for name, cut in short_names.items()}


def _cells(row: Row, name: str, full: bool) -> Cells:
    outcome, identity, fails = row.outcome, row.outcome.who, row.fails
    answered = isinstance(outcome, JudgedMember)
    observed_at = outcome.observed_at if isinstance(outcome, JudgedMember) else ""
    return [
        _SYMBOLS[row.standing],
        name,
        identity.account or EMPTY_CELL,
        identity.region or EMPTY_CELL,
        identity.server_version or EMPTY_CELL,
        row.standing.value.replace("-", " "),
        *(_count(fails[each]) for each in _COUNTED_SEVERITIES),
        _count(row.unknown) if answered else EMPTY_CELL,
        *(
            (str(outcome.exit_code), identity.context or row.member.context or EMPTY_CELL, observed_at or EMPTY_CELL)
            if full
            else ()
        ),
        obstacle_text(row) or EMPTY_CELL,
    ]


def _count(number: int) -> str:
    return str(number) if number else EMPTY_CELL


@frozen
class FleetReport(CommandReport):
    """`command`: the command that checked each cluster."""

    noun_phrase = "a fleet"

    plan: FleetPlan
    command: str

    def sections(self, full: bool) -> Iterator[Section]:
        """Every cluster has its row, however many there are."""
        plan = self.plan
        yield Heading(summary(plan))
        yield Table("Clusters", clusters(plan, full), "clusters", len(plan.rows))
        yield TextBlock("Not judged", list(_reasons(plan, full)))
        yield Footer(
            f"One of them alone: kubectl eksdoc {self.command} {_single_cluster_flag(plan)}. For a program: -o json"
        )

    def result(self) -> object:
        plan, options = self.plan, {key: self.options[key] for key in sorted(self.options)}
        return FleetResult.from_facts(
            plan,
            metadata=_FleetMetadata.from_facts(self, observed_at=plan.observed_at, options=options),
            verdict=summary(plan),
            standing={each.value: plan.standing_count(each) for each in Standing},
            findings=(finding for row in plan.rows for finding in _findings(row)),
        )

    @property
    def origin(self) -> str:
        observed_text = f"oldest observation {self.plan.observed_at} · " if self.plan.observed_at else ""
        return f"{observed_text}kubectl eksdoc {self.tool_version}"


def _single_cluster_flag(plan: FleetPlan) -> str:
    return "--snapshot FILE" if all(row.member.snapshot for row in plan.rows) else "--context NAME"


def _reasons(plan: FleetPlan, full: bool) -> Iterator[Line]:
    """Yield why clusters could not be judged, in full: a table row truncates it."""
    for row in plan.rows:
        if isinstance(row.outcome, UnjudgedMember):
            message = f"✗ {row.member.name}: {row.outcome.reason} (exit code {row.outcome.exit_code})"
            yield Line(message, tone=Tone.BAD)
            if row.outcome.hint and full:
                yield Line(f"→ {row.outcome.hint}", indent=4)


# JSON and YAML output


_ExitCode = Literal[0, 1, 2, 3, 4, 5, 70]
_NAMES_OF_STANDINGS = [each.value for each in Standing]


class _FleetMetadata(Printed):
    tool_version: Text
    command: Literal["check", "addon-diff", "imds-probe"]
    observed_at: Timestamp | None
    """The oldest observation, UTC; null: no cluster answered."""
    options: Annotated[dict[str, Any], Meta(extra_json_schema={"required": ["fleet"]})]
    """The options as given on the command line."""


class _FailsBySeverity(Printed):
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
    observed_at: Timestamp | None
    standing: Standing
    exit_code: _ExitCode
    """Exit code of the command for this cluster alone."""
    reason: Text | None
    """Why it could not be judged; null: it was."""
    hint: Text | None
    """What to try in that case."""
    fail: _FailsBySeverity | None
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
        return cls.from_facts(
            outcome,
            ClusterResult.of(outcome.who),
            None,  # nothing else is known about a cluster that was not judged
            name=facts.member.name,
            context=outcome.who.context or facts.member.context,
            standing=facts.standing,
            fail=_FailsBySeverity.from_facts(**{each.value: count for each, count in facts.fails.items()})
            if judged
            else None,
            unknown=facts.unknown if judged else None,
            first=obstacle_text(facts),
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
        for finding in row.outcome.document.get("findings") or ():
            if isinstance(finding, dict):
                yield {"member": row.member.name, **finding}
