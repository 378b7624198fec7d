"""JSON and YAML result of an upgrade check, as ``-o json`` and ``-o yaml`` print it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from kubectl_eksdoc.amazon.versions import format_version
from kubectl_eksdoc.baseline.report import SinceResult
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.report.command_result import CommandResult, metadata
from kubectl_eksdoc.report.result import (
    Code,
    Count,
    FindingResult,
    Lines,
    Meta,
    PositiveCount,
    Printed,
    RemedyResult,
    SubjectResult,
    Text,
    Texts,
    Timestamp,
    UnsetType,
)

from .. import plan, steps, symptoms
from ..checking import Area, Gate, RootCause, UpgradePath
from .verdict import GateLookup, cause_reason, count_by_status, gate_lookup, summary

_Minor = Annotated[str, Meta(pattern=r"^1\.[0-9]+$")]


class _Finding(FindingResult):
    """A finding, and the step that waits for it."""

    gate: Gate | None


class _UpgradePath(Printed):
    now: _Minor
    target: _Minor
    steps: tuple[_Minor, ...]
    """Every version that the control plane goes through; none where it is at the target."""
    told_by: Text
    """The source of the control plane's version."""
    assumed: bool
    """The version has no source, and is that of the newest kubelet."""

    @classmethod
    def of(cls, facts: UpgradePath) -> _UpgradePath:
        now, *path = map(format_version, (facts.now, *facts.steps))
        return cls.from_facts(facts, now=now, target=format_version(facts.target), steps=path)


class _AtGate(Printed):
    gate: Gate
    fail: Count
    unknown: Count


class _Check(Printed):
    codes: Annotated[tuple[Code, ...], Meta(min_length=1)]
    area: Area
    gate: Gate | None
    """The step of the upgrade that waits for it; null: no step does."""
    status: Status

    @classmethod
    def of(cls, facts: plan.JudgedFindings) -> _Check:
        return cls.from_facts(facts.check, codes=sorted(code.name for code in facts.check.codes), status=facts.status)


class _Waiting(Printed):
    """A finding, with its subject."""

    called = {"code": "code.name"}

    code: Text
    status: Literal["fail", "unknown"]
    subject: SubjectResult


class _RuleSource(Printed):
    """A document, and its confidence."""

    document: Text
    confidence: Confidence


class _StepForm(Printed):
    """The step for users of a tool that manages the resource."""

    tool: Text
    text: Text
    commands: Texts


class _Step(Printed):
    """One step of the upgrade."""

    number: PositiveCount
    phase: steps.Phase
    at: _Minor | None
    """The minor version that the control plane has or gets then."""
    title: Text
    why: Text
    commands: Texts
    """One after the other; none where only people can do it."""
    done_when: Text | None
    verify: Text | None
    """The command that verifies it."""
    gate: Gate | None
    """The gate whose findings it waits for."""
    waits_for: tuple[_Waiting, ...]
    """Findings to be fixed before it."""
    source: _RuleSource | None
    """The source of the rule, null for advice."""
    forms: tuple[_StepForm, ...]
    """Used instead of the commands, where another tool manages the resource."""


class _Suspect(Printed):
    """A possible cause, its remedy, and the rollback."""

    what: Text
    code: Text
    """A finding code, or node-excluded."""
    severity: Literal["critical", "high", "medium", "low"]
    subject: SubjectResult
    because: Text
    evidence: Lines
    do: RemedyResult | None
    undo: Text


class _Diagnosis(Printed):
    """Causes of a symptom, the likeliest first."""

    symptom: symptoms.Symptom
    suspects: tuple[_Suspect, ...]
    unknown: tuple[_Finding, ...]
    elsewhere: tuple[RemedyResult, ...]
    """Where to look next."""


class _Change(Printed):
    """A recent change."""

    at: Timestamp
    subject: SubjectResult
    what: Text
    source: Text
    """What shows it: nodes, pods, revisions, events, EKS."""


class _Cause(Printed):
    """The root cause of findings: one API, one node group, one workload, one missing answer."""

    subject: SubjectResult
    severity: Severity
    status: Literal["fail", "unknown"]
    gate: Gate | None
    """The first step that waits for one of its findings; null: no step does."""
    because: Text
    do: RemedyResult
    """The first remedy."""
    findings: tuple[_Waiting, ...]
    """The findings that count, worst first."""

    @classmethod
    def of(cls, facts: tuple[plan.CheckPlan, RootCause]) -> _Cause:
        check_plan, cause = facts
        return cls.from_facts(cause, because=cause_reason(check_plan, cause))


class _Suppressed(Printed):
    """A finding that does not count, and why."""

    reason: Text
    until: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """The last day (UTC)."""
    where: Text | None
    """The file and its entry."""
    finding: _Finding


class CheckResult(CommandResult):
    """Whether a cluster may be upgraded: kubectl eksdoc check -o json."""

    kind: Literal["UpgradeCheck"]
    recognised: Text | None
    """How AWS was verified to describe the cluster that was read; null: AWS is unknown."""
    verdict: Text
    way: _UpgradePath
    aws: Text | None
    """Why AWS is unknown; null: it is known."""
    gates: tuple[_AtGate, ...]
    """How many causes have to be fixed, or to be known, before each step."""
    causes: tuple[_Cause, ...]
    """Root causes of the findings that count: those that the next step waits for first, then the worst."""
    checks: tuple[_Check, ...]
    """The checks that were made, with their worst status."""
    checklist: tuple[_Step, ...]
    """The upgrade steps; empty where only a part of the upgrade was checked."""
    diagnosis: _Diagnosis | None
    """Possible causes of the requested symptom, null without one."""
    changed_since: Timestamp | None
    """The time since which changes are listed, null if not requested."""
    changes: tuple[_Change, ...]
    """The changes since then, the newest first."""
    changes_unread: Texts
    """Clauses about changes that were not requested, or could not be read."""
    since: SinceResult | UnsetType
    suppressed: tuple[_Suppressed, ...]
    """Findings that do not count, because of a suppression with a reason and a last day."""
    notes: Texts
    """Sentences about suppressions that have expired, or match nothing."""
    findings: tuple[_Finding, ...]

    @classmethod
    def of(cls, facts: Any) -> CheckResult:
        check_plan, gate_of = facts.plan, gate_lookup(facts.plan)
        eks, recent_changes = check_plan.facts.eks, check_plan.changes
        return cls.from_facts(
            check_plan,
            metadata=metadata(check_plan.facts.cluster, facts),
            recognised=facts.recognised,
            verdict=summary(check_plan),
            way=check_plan.facts.path,
            aws=eks.why if isinstance(eks, Unknown) else None,
            gates=((gate, *count_by_status(check_plan.causes_by_gate[gate])) for gate in Gate),
            causes=(_Cause.of((check_plan, each)) for each in check_plan.causes),
            checks=check_plan.judged,
            checklist=(
                _Step.from_facts(
                    each, at=each.at and format_version(each.at), waits_for=check_plan.blocking_findings(each)
                )
                for each in check_plan.checklist
            ),
            diagnosis=_diagnosis(check_plan.diagnosis, gate_of),
            changed_since=recent_changes and recent_changes.since,
            changes=recent_changes.changes if recent_changes else (),
            changes_unread=recent_changes.not_read if recent_changes else (),
            since=facts.since,
            suppressed=(
                _Suppressed.from_facts(each.rule, finding=_Finding.from_facts(each.finding, gate=gate_of(each.finding)))
                for each in check_plan.suppressed
            ),
            findings=(_Finding.from_facts(each, gate=gate_of(each)) for each in check_plan.findings),
        )


def _diagnosis(diagnosis: symptoms.SymptomDiagnosis | None, gate_of: GateLookup) -> _Diagnosis | None:
    if diagnosis is None:
        return None
    unknown = (_Finding.from_facts(each, gate=gate_of(each)) for each in diagnosis.unknown)
    return _Diagnosis.from_facts(diagnosis, unknown=unknown)
