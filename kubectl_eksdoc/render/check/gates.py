"""Which step waits for a finding: that of the check that has found it, as several checks may find the same code."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.check.areas import Gate
from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.model.findings import Finding

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
