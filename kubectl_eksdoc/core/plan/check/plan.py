"""The whole answer: what each check finds, what of it is suppressed, what blocks which step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.commands import Reach
from kubectl_eksdoc.core.model.findings import Finding, Severity, Status, in_order, reached
from kubectl_eksdoc.core.plan.check.areas import Area, Gate
from kubectl_eksdoc.core.plan.check.checking import Check
from kubectl_eksdoc.core.plan.check.facts import CheckFacts

_RANK = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Wish:
    """`only`: finding codes, none for all; `gate`: of one step, or of all. `fail_on`: what is less severe blocks
    nothing, and may be unknown."""

    only: frozenset[str] = frozenset()
    gate: Gate | None = None
    fail_on: Severity = Severity.LOW


@dataclass(frozen=True, slots=True)
class Judged:
    """`findings`: in order; none where all is well."""

    check: Check
    findings: tuple[Finding, ...]

    @property
    def status(self) -> Status:
        """The worst: what fails, then what is not known."""
        found = {each.status for each in self.findings}
        return Status.FAIL if Status.FAIL in found else Status.UNKNOWN if Status.UNKNOWN in found else Status.PASS


@dataclass(frozen=True, slots=True)
class CheckPlan:
    facts: CheckFacts
    wish: Wish
    judged: tuple[Judged, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of all checks, worst first."""
        return in_order(finding for each in self.judged for finding in each.findings)

    def counts(self, finding: Finding) -> bool:
        """Whether it is severe enough."""
        return _RANK[finding.severity] <= _RANK[self.wish.fail_on]

    def of(self, gate: Gate | None, status: Status) -> tuple[Finding, ...]:
        """What counts at a gate (None: at none), with that status."""
        found = (finding for each in self.judged if each.check.gate is gate for finding in each.findings)
        return in_order(finding for finding in found if finding.status is status and self.counts(finding))

    def in_area(self, area: Area) -> tuple[Judged, ...]:
        return tuple(each for each in self.judged if each.check.area is area)


def plan_check(facts: CheckFacts, checks: Sequence[Check], wish: Wish, reach: Reach = Reach()) -> CheckPlan:
    """`reach`: by which words the commands lead to the cluster that was read."""
    return CheckPlan(facts, wish, tuple(_judged(facts, check, wish, reach) for check in checks))


def _judged(facts: CheckFacts, check: Check, wish: Wish, reach: Reach) -> Judged:
    found: Iterable[Finding] = check.judge(facts)
    kept = (each for each in found if not wish.only or each.code.name in wish.only)
    return Judged(check, tuple(reached(each, reach) for each in in_order(kept)))
