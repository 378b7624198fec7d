"""Comparison of this plan with a saved one: every figure of both, and new, fixed or changed findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum

from kubectl_eksdoc.baseline.changes import (
    ChangedOption,
    ResultComparison,
    asked_differently,
    other_question,
)
from kubectl_eksdoc.baseline.side import (
    SameClusterAnswer,
    Scope,
    Side,
    SnapshotOrigin,
    findings_since,
    kinship,
    needs_of,
    read_of,
    uids_of,
)
from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.baseline import (
    Baseline,
    BudgetOutline,
    FindingOutline,
    PlanOutline,
    SavedResult,
    TargetOutline,
    TimesOutline,
)
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Status

from .duration.estimate import Estimate
from .nodes import natural
from .outcome import BudgetVerdict, TargetVerdict
from .plan_changes import (
    BudgetChange,
    Comparison,
    Measure,
    PlanFigure,
    TargetChange,
    Value,
)
from .result import DrainPlan

# A new plan, reduced to the same outline that a saved one is read as.


_DECIMALS = 3
"""A saved plan has seconds with three decimals."""


def outline(plan: DrainPlan) -> PlanOutline:
    """Equal to the outline that is read from the plan's own document."""
    return PlanOutline(
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


# The findings that a plan could judge: a missing finding counts only where the plan could judge it.


_NEEDS = needs_of(Code.of_area("drain"))
_CLUSTER = "Cluster"
"""Subject kind of a finding that could not be judged for any object."""

_NODE = "Node"


@frozen
class ComparedFinding:
    """The part of a cluster that a plan could judge. `known_kinds`: kinds that were read; `unanswered_codes`: codes
    that stayed unknown for the whole cluster. `open_nodes`: the targets that could not be judged; `nodes_by_code`: code
    → nodes with a pod that has it."""

    read: frozenset[str]
    unanswered: frozenset[str]
    open_nodes: frozenset[str]
    nodes: Mapping[str, frozenset[str]]

    def lacks(self, finding: FindingOutline, other: ComparedFinding) -> bool:
        """True when this plan could not judge `finding`, which the plan of `other` has and could judge."""
        subject = finding.subject
        if subject.kind == _CLUSTER and finding.status is Status.UNKNOWN:
            return False  # it is the unknown finding itself
        needs = _NEEDS.get(finding.code, frozenset())
        on = {subject.name} if subject.kind == _NODE else other.nodes.get(finding.code, frozenset())
        return (
            finding.code in self.unanswered
            or bool((needs & other.read) - self.read)
            or bool(self.open_nodes & (on - other.open_nodes))
        )


def sight(plan: PlanOutline, read: frozenset[str]) -> ComparedFinding:
    nodes: dict[str, set[str]] = {}
    for code, node in plan.stops:
        nodes.setdefault(code, set()).add(node)
    return ComparedFinding(
        read=read,
        unanswered=frozenset(
            f.code for f in plan.findings if f.status is Status.UNKNOWN and f.subject.kind == _CLUSTER
        ),
        open_nodes=frozenset(t.name for t in plan.targets if t.verdict == TargetVerdict.UNKNOWN.value),
        nodes={code: frozenset(names) for code, names in nodes.items()},
    )


# The findings of two plans, compared as in every command: new and fixed ones.


_CHOOSING = frozenset({"nodes", "selector", "nodegroup", "older-than"})
"""Options that select nodes."""


def findings_since_then(
    baseline: Baseline,
    now: PlanOutline,
    sights: tuple[ComparedFinding, ComparedFinding],
    asked: Sequence[ChangedOption],
    doubt: str,
    notes: tuple[str, ...],
) -> ResultComparison:
    """`scopes`: what the baseline and this plan could judge. With the same selection of nodes, a finding that
    disappeared with its node is fixed; with another selection, findings on nodes of only one plan are not compared."""
    before, (then, here) = baseline.outline, sights
    alike = not any(each.option in _CHOOSING for each in asked)
    first = Side(
        before.findings, read=then.read, scope=None if alike else _scope(before), hides=_hidden(now, then, here)
    )
    second = Side(
        now.findings,
        codes=frozenset(code.name for code in Code.of_area("drain")),
        read=here.read,
        scope=None if alike else _scope(now),
        hides=_hidden(before, here, then),
    )
    changes, unchanged = findings_since(first, second, other_question(asked, _CHOOSING))
    earlier = SavedResult(
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
    return ResultComparison(earlier, doubt, tuple(asked), changes, unchanged, notes)


def _scope(plan: PlanOutline) -> Scope:
    return frozenset(("Node", each.name) for each in plan.targets if each.verdict != TargetVerdict.UNKNOWN.value)


def _hidden(other: PlanOutline, sight: ComparedFinding, of_other: ComparedFinding) -> dict[FindingOutline, str]:
    return {each: "what it rests on was not read" for each in other.findings if sight.lacks(each, of_other)}


ORDER = "order-file"
"""The option that is compared by the nodes that its file names."""

_OF_NODES = {
    Measure.DRAINED: TargetVerdict.DRAINS,
    Measure.PARTIAL: TargetVerdict.PARTIAL,
    Measure.SKIPPED: TargetVerdict.SKIPPED,
    Measure.REFUSED: TargetVerdict.REFUSED,
    Measure.NOT_JUDGED: TargetVerdict.UNKNOWN,
}

_OF_FINDINGS = {
    Measure.BLOCKERS: Status.FAIL,
    Measure.UNKNOWNS: Status.UNKNOWN,
    Measure.WARNINGS: Status.PASS,
}


def compare(baseline: Baseline, cluster: Cluster, plan: DrainPlan, options: Mapping[str, object]) -> Comparison:
    """Compare `plan` of `cluster`, requested with `options` (JSON values by flag), with `baseline`.

    Raises:
        BaselineError: it is of another cluster, or uses a verdict that this version does not know.
    """
    akin = kinship(baseline, cluster)
    if akin.sameness is SameClusterAnswer.OTHER:
        raise BaselineError(
            f"the baseline {baseline.file} is of another cluster: {akin.why}",
            "Only plans of one cluster are compared: choose the cluster of the baseline, or another baseline.",
        )
    _known(baseline, TargetVerdict, (target.verdict for target in baseline.outline.targets))
    _known(baseline, BudgetVerdict, (budget.verdict for budget in baseline.outline.budgets))
    before, now = baseline.outline, outline(plan)
    read = frozenset(read.resource.full_name for read in cluster.reads if read.known)
    then, here = sight(before, baseline.read), sight(now, read)
    values_then, values_now = _values(before), _values(now)
    asked = tuple(asked_differently(baseline.options, {**options, **named(plan)}))
    targets = tuple(_targets(before, now))
    read_before, read_now = tuple(sorted(then.read - here.read)), tuple(sorted(here.read - then.read))
    notes = tuple(_notes(targets, read_before, read_now))
    return Comparison(
        figures=tuple(PlanFigure(what, values_then[what], values_now[what]) for what in Measure),
        targets=targets,
        budgets=tuple(_budgets(before, now)),
        read_before=read_before,
        read_now=read_now,
        since=findings_since_then(baseline, now, (then, here), asked, akin.why, notes),
    )


def _notes(targets: Sequence[TargetChange], read_before: Sequence[str], read_now: Sequence[str]) -> Iterator[str]:
    only_now, only_then = (sum(getattr(each, side) is None for each in targets) for side in ("before", "now"))
    parts = [f"{count} only {when}" for count, when in ((only_then, "in the baseline"), (only_now, "now")) if count]
    if parts:
        yield f"The plans are of different nodes ({' and '.join(parts)}): what came or went may be theirs."
    for kinds, when, instead in (
        (read_before, "for the baseline", "now"),
        (read_now, "now", "for the baseline"),
    ):
        if kinds:
            yield f"Read only {when}: {', '.join(kinds)}. What hangs on them could not be judged {instead}."


def _known(baseline: Baseline, words: type[Enum], verdicts: Iterable[str]) -> None:
    known = {word.value for word in words}
    strange = next((verdict for verdict in verdicts if verdict not in known), None)
    if strange is not None:
        raise BaselineError(
            f"the baseline {baseline.file} has a verdict that is not known here: {strange[:40]!r}",
            f"It says that kubectl eksdoc {baseline.tool_version[:40]} made it. Make it again with this version.",
        )


def _values(plan: PlanOutline) -> dict[Measure, Value]:
    nodes = Counter(target.verdict for target in plan.targets)
    statuses = Counter(finding.status for finding in plan.findings)
    times = plan.times
    values: dict[Measure, Value] = {
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
    values |= {what: nodes[verdict.value] for what, verdict in _OF_NODES.items()}
    return values | {what: statuses[status] for what, status in _OF_FINDINGS.items()}


def named(plan: DrainPlan) -> dict[str, object]:
    """The content of the order file: the same path may have another file by now."""
    return {ORDER: list(plan.policy.order_nodes)} if plan.policy.order_nodes else {}


def _targets(before: PlanOutline, now: PlanOutline) -> Iterator[TargetChange]:
    then, here = ({target.name: target for target in plan.targets} for plan in (before, now))
    for name in sorted(then.keys() | here.keys(), key=natural):
        old, new = then.get(name), here.get(name)
        if old is None or new is None or old.verdict != new.verdict:
            yield TargetChange(name, old, new)


def _budgets(before: PlanOutline, now: PlanOutline) -> Iterator[BudgetChange]:
    then, here = ({budget.key: budget for budget in plan.budgets} for plan in (before, now))
    for key in sorted(then.keys() | here.keys()):
        if then.get(key) != here.get(key):
            yield BudgetChange(key, then.get(key), here.get(key))


# A new plan from earlier facts, as a baseline.
#
# Nothing of it is left out, so that it is compared like a saved plan. It is no confirmed plan: no user has read it.


def as_baseline(of: SnapshotOrigin, cluster: Cluster, plan: DrainPlan) -> Baseline:
    return Baseline(
        of.file,
        cluster.identity,
        cluster.source,
        cluster.observed_at,
        of.tool_version,
        {**of.options, **named(plan)},
        outline(plan),
        read_of(cluster),
        uids_of(cluster),
    )
