"""The comparison with a saved plan as a part of the plan's result; null is what a plan does not have."""

from __future__ import annotations

from typing import Annotated

from kubectl_eksdoc.drain.comparison import changes
from kubectl_eksdoc.drain.outcome import BudgetVerdict, TargetVerdict
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.earlier import FindingOutline
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.render.command_result import ClusterResult
from kubectl_eksdoc.render.result import Count, Meta, Moment, Printed, SubjectResult, Text, Texts

_Value = Annotated[str, Meta(min_length=1)] | float | None
_Given = str | float | bool | tuple[str, ...] | None


class _Baseline(Printed):
    """The saved plan: its file, what made it, whose cluster it is of and how old its facts are."""

    file: Text
    tool_version: Text
    cluster: ClusterResult
    source: Source
    observed_at: Moment
    """When the facts were read, UTC."""


class _Figure(Printed):
    """One measure of both plans. change is now less baseline, null for words and where one plan has none."""

    what: changes.Measure
    baseline: _Value
    now: _Value
    change: float | None

    @classmethod
    def of(cls, facts: changes.Figure) -> _Figure:
        return cls.filled(facts, baseline=facts.before)


class _AskedOption(Printed):
    """An option by its flag's name; null where it was not given."""

    option: Text
    baseline: _Given
    now: _Given


class _TargetChange(Printed):
    """A node with another verdict; null where it is no target of that plan."""

    name: Text
    baseline: TargetVerdict | None
    now: TargetVerdict | None
    why_baseline: Texts
    why_now: Texts

    @classmethod
    def of(cls, facts: changes.TargetChange) -> _TargetChange:
        before, now = facts.before, facts.now
        return cls.filled(
            facts,
            baseline=before and before.verdict,
            now=now and now.verdict,
            why_baseline=before.why if before else (),
            why_now=now.why if now else (),
        )


class _BudgetOutline(Printed):
    """perRound is how many of its pods may go at once."""

    verdict: BudgetVerdict
    per_round: Count


class _BudgetChange(Printed):
    """A budget (namespace/name) with another verdict or allowance; null where no pod of it is known to be on a
    target."""

    budget: Text
    baseline: _BudgetOutline | None
    now: _BudgetOutline | None

    @classmethod
    def of(cls, facts: changes.BudgetChange) -> _BudgetChange:
        return cls.filled(facts, budget=facts.key, baseline=facts.before)


class _FindingOutline(Printed):
    """What was reported: how bad, and in which words."""

    severity: Severity
    status: Status
    message: Text

    @classmethod
    def of(cls, facts: FindingOutline) -> _FindingOutline:
        return cls.filled(facts)


class _FindingChange(Printed):
    """One code on one subject; null where that plan does not have it. A baseline may have codes of another version."""

    change: changes.Change
    """not-judged-before and not-judged-now: the other plan could not judge it, so that it neither came nor went."""
    code: Text
    subject: SubjectResult
    baseline: _FindingOutline | None
    now: _FindingOutline | None

    @classmethod
    def of(cls, facts: changes.FindingChange) -> _FindingChange:
        return cls.filled(facts, code=facts.either.code, subject=facts.either.subject, baseline=facts.before)


class ComparisonResult(Printed):
    """What differs from a plan saved earlier. baseline and now are the two plans; null is what a plan does not have."""

    baseline: _Baseline
    same_cluster: Annotated[bool, Meta(extra_json_schema={"const": True})] | None
    """null: what is known of both does not tell; plans of two clusters are never compared."""
    read_only_for_baseline: Texts
    """Kinds that were known only when the baseline was made."""
    read_only_now: Texts
    """Kinds that are known only now."""
    figures: tuple[_Figure, ...]
    """Every measure, also those that are equal, always in this order."""
    asked: tuple[_AskedOption, ...]
    """The options that were given differently."""
    targets: tuple[_TargetChange, ...]
    """Nodes with another verdict."""
    budgets: tuple[_BudgetChange, ...]
    """Budgets with another verdict or allowance."""
    findings: tuple[_FindingChange, ...]
    """What came, changed or went, by code and subject."""
    findings_unchanged: Count
    """Codes on subjects that both plans have, of one status and severity."""

    @classmethod
    def of(cls, facts: changes.Comparison) -> ComparisonResult:
        baseline = facts.baseline
        return cls.filled(
            facts,
            baseline=_Baseline.filled(baseline, cluster=baseline.identity),
            same_cluster=None if facts.doubt else True,
            read_only_for_baseline=facts.read_before,
            read_only_now=facts.read_now,
            asked=(_AskedOption.filled(each, baseline=each.before) for each in facts.asked),
            findings_unchanged=facts.unchanged,
        )
