"""A plan just made, reduced to the same outline that a saved one is read as."""

from __future__ import annotations

from kubectl_eksdoc.core.model.baseline import BudgetOutline, Outline, TargetOutline, TimesOutline
from kubectl_eksdoc.core.model.earlier import FindingOutline
from kubectl_eksdoc.core.plan.drain.duration.estimate import Estimate
from kubectl_eksdoc.core.plan.drain.result import DrainPlan

_DECIMALS = 3
"""A saved plan holds seconds to the millisecond."""


def outline(plan: DrainPlan) -> Outline:
    """Equal to what the plan's own document is read as."""
    return Outline(
        targets=tuple(TargetOutline(t.node.name, t.verdict.value, t.why) for t in plan.targets),
        budgets=tuple(BudgetOutline(h.budget.key, h.verdict.value, h.per_round) for h in plan.budgets),
        findings=tuple(FindingOutline(f.code.name, f.subject, f.severity, f.status, f.message) for f in plan.findings),
        evictions=len(plan.evictions),
        left=len(plan.left),
        rounds=plan.rounds,
        waves=len({t.wave for t in plan.targets if t.wave}),
        times=_times(plan.estimate),
        stops=frozenset((code, row.node) for row in plan.left for code in row.codes),
    )


def _times(estimate: Estimate | None) -> TimesOutline | None:
    if estimate is None:
        return None
    binds = estimate.bounds[0] if estimate.bounds else None
    return TimesOutline(
        p50_s=round(estimate.p50_s, _DECIMALS),
        p95_s=round(estimate.p95_s, _DECIMALS),
        peak_away=estimate.peak_away,
        bound_s=round(estimate.least[0].seconds, _DECIMALS) if estimate.least else None,
        binds=f"{binds.name.value} {binds.subject}".rstrip() if binds is not None else "",
        gap=estimate.gap,
    )
