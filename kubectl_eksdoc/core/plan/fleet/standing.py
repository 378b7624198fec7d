"""How one cluster of a fleet stands beside the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.core.model.findings import Severity, Status
from kubectl_eksdoc.core.model.fleet import Answered, Member, Outcome, Said, Unanswered


class Standing(str, Enum):
    """The worst first: of what could not be judged nothing is known."""

    NOT_JUDGED = "not-judged"
    FAILS = "fails"
    UNKNOWN = "unknown"
    CLEAN = "clean"


_STANDING = {0: Standing.CLEAN, 1: Standing.FAILS, 5: Standing.UNKNOWN}
_STANDINGS = {each: rank for rank, each in enumerate(Standing)}
_SEVERITIES = {each: rank for rank, each in enumerate(Severity)}
_GATES = {"before-control-plane": 0, "before-nodes": 1, "after": 2}
"""The steps of an upgrade, in their order: what blocks the first one comes first."""
_NO_GATE = len(_GATES)


@dataclass(frozen=True, slots=True)
class Row:
    """A member, and what came of asking it. `least`: what is less severe does not count (``--fail-on``)."""

    member: Member
    outcome: Outcome
    least: Severity = Severity.INFO

    @property
    def standing(self) -> Standing:
        return Standing.NOT_JUDGED if isinstance(self.outcome, Unanswered) else _STANDING[self.outcome.exit_code]

    @property
    def findings(self) -> tuple[Said, ...]:
        return self.outcome.findings if isinstance(self.outcome, Answered) else ()

    @property
    def fails(self) -> Mapping[Severity, int]:
        """How many findings fail, by their severity; each has a number."""
        found = [each.severity for each in self.findings if each.status is Status.FAIL]
        return {each: found.count(each) for each in Severity}

    @property
    def unknown(self) -> int:
        return sum(each.status is Status.UNKNOWN for each in self.findings)

    @property
    def first(self) -> Said | None:
        """What is in the way first: of what makes it stand so, by step and severity."""
        of = {Standing.FAILS: Status.FAIL, Standing.UNKNOWN: Status.UNKNOWN}.get(self.standing)
        least = _SEVERITIES[self.least]
        found = (each for each in self.findings if each.status is of and _SEVERITIES[each.severity] <= least)
        return min(found, key=lambda each: (_GATES.get(each.gate, _NO_GATE), _SEVERITIES[each.severity]), default=None)

    @property
    def rank(self) -> tuple[object, ...]:
        """Rows are sorted by it, the worst first."""
        fails = self.fails
        return (_STANDINGS[self.standing], *(-fails[each] for each in Severity), -self.unknown, self.member.name)
