"""A fleet as ``-o json`` and ``-o yaml`` print it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from kubectl_eksdoc.fleet import Row, Standing
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.fleet import Answered
from kubectl_eksdoc.render.command_result import ClusterResult
from kubectl_eksdoc.render.fleet import report
from kubectl_eksdoc.render.fleet.report import FleetReport
from kubectl_eksdoc.render.result import Count, KindResult, Meta, Moment, Printed, Text, Texts, UnsetType

_ExitCode = Literal[0, 1, 2, 3, 4, 5, 70]
_STANDINGS = [each.value for each in Standing]
_Several = Annotated[Texts, Meta(min_length=2, extra_json_schema={"uniqueItems": True})]


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
    """One cluster. What is not known of it is null."""

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
    """Of its row; no two are alike."""
    context: Text | None
    cluster: Text | None
    account: Text | None
    region: Text | None
    version: Text | None
    source: Source | None
    observed_at: Moment | None
    standing: Standing
    exit_code: _ExitCode
    """As the command alone would exit with for it."""
    reason: Text | None
    """Why it could not be judged; null: it was."""
    hint: Text | None
    """What to try then."""
    fail: _Fails | None
    """How many findings fail, by severity."""
    unknown: Count | None
    first: Text | None
    """What is in the way first, in words; null: nothing is."""
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
    """Its own document, as the command alone prints it; its kind has a schema of its own. Null: it could not be
    judged."""
    unverified: (
        Annotated[tuple[Literal["cluster", "region"], ...], Meta(min_length=1, extra_json_schema={"uniqueItems": True})]
        | UnsetType
    )
    """Names that the command line alone says: neither AWS nor what was read confirmed them."""

    @classmethod
    def of(cls, facts: Row) -> _Member:
        outcome = facts.outcome
        judged = outcome if isinstance(outcome, Answered) else None
        refused = None if isinstance(outcome, Answered) else outcome
        return cls.filled(
            ClusterResult.of(outcome.who),
            name=facts.member.name,
            context=outcome.who.context or facts.member.context,
            version=outcome.who.server_version,
            source=judged and judged.source,
            observed_at=judged and judged.observed_at,
            standing=facts.standing,
            exit_code=outcome.exit_code,
            reason=refused and refused.reason,
            hint=refused and refused.hint,
            fail=judged and _Fails.filled(**{each.value: count for each, count in facts.fails.items()}),
            unknown=judged and facts.unknown,
            first=report.first(facts),
            result=judged and judged.document,
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
        """It is of JSON's types already, and may have fields that only its command knows."""
        return facts


class _Shared(Printed):
    code: Text
    title: Text
    severity: Severity
    status: Literal["fail", "unknown"]
    members: _Several


class _Lacking(Printed):
    right: Text
    members: _Several


class FleetResult(KindResult):
    """Many clusters judged together: kubectl eksdoc check, addon-diff or imds-probe with --fleet -o json."""

    kind: Literal["Fleet"]
    metadata: _FleetMetadata
    verdict: Text
    exit_code: _ExitCode
    """The worst of all: 70, then 3, 4 and 2 (a member could not be judged), then 1, 5 and 0."""
    standing: Annotated[
        dict[str, Count], Meta(extra_json_schema={"required": _STANDINGS, "propertyNames": {"enum": _STANDINGS}})
    ]
    """How many members have each standing."""
    members: Annotated[tuple[_Member, ...], Meta(min_length=1)]
    """The worst first."""
    shared: tuple[_Shared, ...]
    """What fails or is unknown in more than one of them; what most have first."""
    lacking: tuple[_Lacking, ...]
    """Rights of RBAC and actions of IAM without which something is unknown in more than one of them."""
    notes: Texts
    findings: tuple[_Finding, ...]
    """Those of all members."""

    @classmethod
    def of(cls, facts: FleetReport) -> FleetResult:
        plan, options = facts.plan, {key: facts.options[key] for key in sorted(facts.options)}
        return cls.filled(
            plan,
            metadata=_FleetMetadata.filled(facts, observed_at=plan.observed_at, options=options),
            verdict=report.in_short(plan),
            standing={each.value: plan.standing(each) for each in Standing},
            members=plan.rows,
            findings=(found for row in plan.rows for found in _findings(row)),
        )


def _findings(row: Row) -> Iterator[dict[str, Any]]:
    """As its own document has them, each with whose it is."""
    if isinstance(row.outcome, Answered):
        for found in row.outcome.document.get("findings") or ():
            if isinstance(found, dict):
                yield {"member": row.member.name, **found}
