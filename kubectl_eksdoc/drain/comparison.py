"""Comparison of this plan with a saved one: every figure of both, and new, fixed or changed findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum

from kubectl_eksdoc.baseline.changes import (
    ChangedOption,
    ResultComparison,
    changed_options,
    incomparable_reason,
)
from kubectl_eksdoc.baseline.side import (
    ResultSide,
    SameClusterAnswer,
    Scope,
    SnapshotOrigin,
    compare_findings,
    complete_kinds,
    kinds_by_code,
    same_cluster,
    uids_of,
)
from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.baseline import (
    Baseline,
    BudgetOutline,
    DurationOutline,
    FindingOutline,
    PlanOutline,
    SavedResult,
    TargetOutline,
)
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Status

from .duration.estimate import Estimate
from .nodes import natural_key
from .outcome import BudgetVerdict, TargetVerdict
from .plan_changes import (
    BudgetChange,
    FigureValue,
    Measure,
    PlanComparison,
    PlanFigure,
    TargetChange,
)
from .result import DrainPlan

# A new plan, reduced to the same outline that a saved one is read as.


_DECIMALS = 3
"""A saved plan has seconds with three decimals."""


def plan_outline(plan: DrainPlan) -> PlanOutline:
    """Equal to the outline that is read from the plan's own document."""
    return PlanOutline(
        targets=tuple(TargetOutline(t.node.name, t.verdict.value, t.why) for t in plan.targets),
        budgets=tuple(BudgetOutline(h.budget.key, h.verdict.value, h.per_round) for h in plan.budgets),
        findings=tuple(FindingOutline(f.code.name, f.subject, f.severity, f.status, f.message) for f in plan.findings),
        evictions=len(plan.evictions),
        left=len(plan.left),
        rounds=plan.rounds,
        waves=len({t.wave for t in plan.targets if t.wave}),
        times=_times_outline(plan.estimate),
        stops=frozenset((code, row.node) for row in plan.left for code in row.codes),
    )


def _times_outline(estimate: Estimate | None) -> DurationOutline | None:
    if estimate is None:
        return None
    binding = estimate.bounds[0] if estimate.bounds else None
    return DurationOutline(
        p50_s=round(estimate.p50_s, _DECIMALS),
        p95_s=round(estimate.p95_s, _DECIMALS),
        peak_away=estimate.peak_away,
        bound_s=round(estimate.lower_bounds[0].seconds, _DECIMALS) if estimate.lower_bounds else None,
        binds=f"{binding.name.value} {binding.subject}".rstrip() if binding is not None else "",
        gap=estimate.gap,
    )


# The findings that a plan could judge: a missing finding counts only where the plan could judge it.


_NEEDS = kinds_by_code(Code.of_areas("drain"))
_CLUSTER_KIND = "Cluster"
"""Subject kind of a finding that could not be judged for any object."""

_NODE_KIND = "Node"


@frozen
class JudgeableScope:
    """The part of a cluster that a plan could judge. `known_kinds`: kinds that were read; `unanswered_codes`: codes
    that stayed unknown for the whole cluster. `open_nodes`: the targets that could not be judged; `nodes_by_code`: code
    → nodes with a pod that has it."""

    known_kinds: frozenset[str]
    unanswered_codes: frozenset[str]
    open_nodes: frozenset[str]
    nodes_by_code: Mapping[str, frozenset[str]]

    def could_not_judge(self, finding: FindingOutline, other: JudgeableScope) -> bool:
        """True when this plan could not judge `finding`, which the plan of `other` has and could judge."""
        subject = finding.subject
        if subject.kind == _CLUSTER_KIND and finding.status is Status.UNKNOWN:
            return False  # it is the unknown finding itself
        needs = _NEEDS.get(finding.code, frozenset())
        subject_nodes = (
            {subject.name} if subject.kind == _NODE_KIND else other.nodes_by_code.get(finding.code, frozenset())
        )
        return (
            finding.code in self.unanswered_codes
            or bool((needs & other.known_kinds) - self.known_kinds)
            or bool(self.open_nodes & (subject_nodes - other.open_nodes))
        )


def judgeable_scope(plan: PlanOutline, known_kinds: frozenset[str]) -> JudgeableScope:
    nodes_by_code: dict[str, set[str]] = {}
    for code, node in plan.stops:
        nodes_by_code.setdefault(code, set()).add(node)
    return JudgeableScope(
        known_kinds=known_kinds,
        unanswered_codes=frozenset(
            f.code for f in plan.findings if f.status is Status.UNKNOWN and f.subject.kind == _CLUSTER_KIND
        ),
        open_nodes=frozenset(t.name for t in plan.targets if t.verdict == TargetVerdict.UNKNOWN.value),
        nodes_by_code={code: frozenset(names) for code, names in nodes_by_code.items()},
    )


# The findings of two plans, compared as in every command: new and fixed ones.


_NODE_SELECTION_OPTIONS = frozenset({"nodes", "selector", "nodegroup", "older-than"})
"""Options that select nodes."""


def compare_plan_findings(
    baseline: Baseline,
    now: PlanOutline,
    scopes: tuple[JudgeableScope, JudgeableScope],
    changed_options: Sequence[ChangedOption],
    doubt: str,
    notes: tuple[str, ...],
) -> ResultComparison:
    """`scopes`: what the baseline and this plan could judge. With the same selection of nodes, a finding that
    disappeared with its node is fixed; with another selection, findings on nodes of only one plan are not compared."""
    before, (scope_before, scope_now) = baseline.outline, scopes
    same_selection = not any(each.option in _NODE_SELECTION_OPTIONS for each in changed_options)
    side_before = ResultSide(
        before.findings,
        complete_kinds=scope_before.known_kinds,
        scope=None if same_selection else _judged_nodes(before),
        hidden_findings=_hidden_findings(now, scope_before, scope_now),
    )
    side_now = ResultSide(
        now.findings,
        codes=frozenset(code.name for code in Code.of_areas("drain")),
        complete_kinds=scope_now.known_kinds,
        scope=None if same_selection else _judged_nodes(now),
        hidden_findings=_hidden_findings(before, scope_now, scope_before),
    )
    changes, unchanged = compare_findings(
        side_before, side_now, incomparable_reason(changed_options, _NODE_SELECTION_OPTIONS)
    )
    saved = SavedResult(
        baseline.file,
        baseline.identity,
        baseline.source,
        baseline.observed_at,
        baseline.tool_version,
        baseline.options,
        baseline.read,
        before.findings,
        uids=baseline.uids,
    )
    return ResultComparison(saved, doubt, tuple(changed_options), changes, unchanged, notes)


def _judged_nodes(plan: PlanOutline) -> Scope:
    return frozenset(("Node", each.name) for each in plan.targets if each.verdict != TargetVerdict.UNKNOWN.value)


def _hidden_findings(
    other: PlanOutline, scope: JudgeableScope, other_scope: JudgeableScope
) -> dict[FindingOutline, str]:
    return {
        finding: "what it rests on was not read"
        for finding in other.findings
        if scope.could_not_judge(finding, other_scope)
    }


ORDER_FILE_OPTION = "order-file"
"""The option that is compared by the nodes that its file names."""

_NODE_MEASURES = {
    Measure.DRAINED: TargetVerdict.DRAINS,
    Measure.PARTIAL: TargetVerdict.PARTIAL,
    Measure.SKIPPED: TargetVerdict.SKIPPED,
    Measure.REFUSED: TargetVerdict.REFUSED,
    Measure.NOT_JUDGED: TargetVerdict.UNKNOWN,
}

_FINDING_MEASURES = {
    Measure.BLOCKERS: Status.FAIL,
    Measure.UNKNOWNS: Status.UNKNOWN,
    Measure.WARNINGS: Status.PASS,
}


def compare_plans(
    baseline: Baseline, cluster: Cluster, plan: DrainPlan, options: Mapping[str, object]
) -> PlanComparison:
    """Compare `plan` of `cluster`, requested with `options` (JSON values by flag), with `baseline`.

    Raises:
        BaselineError: it is of another cluster, or uses a verdict that this version does not know.
    """
    cluster_kinship = same_cluster(baseline, cluster)
    if cluster_kinship.answer is SameClusterAnswer.OTHER:
        raise BaselineError(
            f"the baseline {baseline.file} is of another cluster: {cluster_kinship.why}",
            "Only plans of one cluster are compared: choose the cluster of the baseline, or another baseline.",
        )
    _check_verdicts(baseline, TargetVerdict, (target.verdict for target in baseline.outline.targets))
    _check_verdicts(baseline, BudgetVerdict, (budget.verdict for budget in baseline.outline.budgets))
    before, now = baseline.outline, plan_outline(plan)
    known_kinds = frozenset(known_kinds.resource.full_name for known_kinds in cluster.reads if known_kinds.known)
    scope_before, scope_now = judgeable_scope(before, baseline.read), judgeable_scope(now, known_kinds)
    values_before, values_now = _measure_values(before), _measure_values(now)
    option_changes = tuple(changed_options(baseline.options, {**options, **order_file_option(plan)}))
    targets = tuple(_target_changes(before, now))
    read_before, read_now = (
        tuple(sorted(scope_before.known_kinds - scope_now.known_kinds)),
        tuple(sorted(scope_now.known_kinds - scope_before.known_kinds)),
    )
    notes = tuple(_notes(targets, read_before, read_now))
    return PlanComparison(
        figures=tuple(PlanFigure(measure, values_before[measure], values_now[measure]) for measure in Measure),
        targets=targets,
        budgets=tuple(_budget_changes(before, now)),
        read_before=read_before,
        read_now=read_now,
        since=compare_plan_findings(
            baseline, now, (scope_before, scope_now), option_changes, cluster_kinship.why, notes
        ),
    )


def _notes(targets: Sequence[TargetChange], read_before: Sequence[str], read_now: Sequence[str]) -> Iterator[str]:
    only_now, only_before = (sum(getattr(each, side) is None for each in targets) for side in ("before", "now"))
    parts = [f"{count} only {when}" for count, when in ((only_before, "in the baseline"), (only_now, "now")) if count]
    if parts:
        yield f"The plans are of different nodes ({' and '.join(parts)}): what came or went may be theirs."
    for kinds, when, instead in (
        (read_before, "for the baseline", "now"),
        (read_now, "now", "for the baseline"),
    ):
        if kinds:
            yield f"Read only {when}: {', '.join(kinds)}. What hangs on them could not be judged {instead}."


def _check_verdicts(baseline: Baseline, verdict_type: type[Enum], verdicts: Iterable[str]) -> None:
    known_values = {member.value for member in verdict_type}
    unknown_verdict = next((verdict for verdict in verdicts if verdict not in known_values), None)
    if unknown_verdict is not None:
        raise BaselineError(
            f"the baseline {baseline.file} has a verdict that is not known here: {unknown_verdict[:40]!r}",
            f"It says that kubectl eksdoc {baseline.tool_version[:40]} made it. Make it again with this version.",
        )


def _measure_values(plan: PlanOutline) -> dict[Measure, FigureValue]:
    nodes = Counter(target.verdict for target in plan.targets)
    statuses = Counter(finding.status for finding in plan.findings)
    times = plan.times
    values: dict[Measure, FigureValue] = {
        Measure.NODES: len(plan.targets),
        Measure.EVICTIONS: plan.evictions,
        Measure.LEFT: plan.left,
        Measure.ROUNDS: plan.rounds,
        Measure.WAVES: plan.waves,
        Measure.P50: times.p50_s if times else None,
        Measure.P95: times.p95_s if times else None,
        Measure.BOUND: times.bound_s if times else None,
        Measure.BINDS: times.binds or None if times else None,
        Measure.GAP: times.gap if times else None,
        Measure.PEAK: times.peak_away if times else None,
    }
    values |= {measure: nodes[verdict.value] for measure, verdict in _NODE_MEASURES.items()}
    return values | {measure: statuses[status] for measure, status in _FINDING_MEASURES.items()}


def order_file_option(plan: DrainPlan) -> dict[str, object]:
    """The content of the order file: the same path may have another file by now."""
    return {ORDER_FILE_OPTION: list(plan.policy.order_nodes)} if plan.policy.order_nodes else {}


def _target_changes(before: PlanOutline, now: PlanOutline) -> Iterator[TargetChange]:
    targets_before, targets_now = ({target.name: target for target in plan.targets} for plan in (before, now))
    for name in sorted(targets_before.keys() | targets_now.keys(), key=natural_key):
        old_target, new_target = targets_before.get(name), targets_now.get(name)
        if old_target is None or new_target is None or old_target.verdict != new_target.verdict:
            yield TargetChange(name, old_target, new_target)


def _budget_changes(before: PlanOutline, now: PlanOutline) -> Iterator[BudgetChange]:
    budgets_before, budgets_now = ({budget.key: budget for budget in plan.budgets} for plan in (before, now))
    for key in sorted(budgets_before.keys() | budgets_now.keys()):
        if budgets_before.get(key) != budgets_now.get(key):
            yield BudgetChange(key, budgets_before.get(key), budgets_now.get(key))


# A new plan from earlier facts, as a baseline.
#
# Nothing of it is left out, so that it is compared like a saved plan. It is no confirmed plan: no user has read it.


def as_baseline(origin: SnapshotOrigin, cluster: Cluster, plan: DrainPlan) -> Baseline:
    return Baseline(
        origin.file,
        cluster.identity,
        cluster.source,
        cluster.observed_at,
        origin.tool_version,
        {**origin.options, **order_file_option(plan)},
        plan_outline(plan),
        complete_kinds(cluster),
        uids_of(cluster),
    )
