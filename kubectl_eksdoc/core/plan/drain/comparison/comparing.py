"""This plan against a saved one: every figure of both, and what came, went or changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from kubectl_eksdoc.core.model.baseline import Baseline, Outline
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.findings import Status
from kubectl_eksdoc.core.plan.drain.comparison.changes import (
    BudgetChange,
    Comparison,
    Figure,
    Measure,
    TargetChange,
    Value,
)
from kubectl_eksdoc.core.plan.drain.comparison.findings import finding_changes
from kubectl_eksdoc.core.plan.drain.comparison.outline import outline
from kubectl_eksdoc.core.plan.drain.comparison.sight import sight
from kubectl_eksdoc.core.plan.drain.comparison.since import findings_since_then
from kubectl_eksdoc.core.plan.drain.outcome import BudgetVerdict, TargetVerdict
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.core.plan.drain.targets import natural
from kubectl_eksdoc.core.plan.since.changes import asked_differently
from kubectl_eksdoc.core.plan.since.side import Sameness, kinship
from kubectl_eksdoc.errors import BaselineError

ORDER = "order-file"
"""The option that is compared by the nodes that it names."""

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
    """`plan` of `cluster`, asked for with `options` (JSON values by flag), against `baseline`.

    Raises:
        BaselineError: it is of another cluster, or uses a verdict that this version does not know.
    """
    akin = kinship(baseline, cluster)
    if akin.sameness is Sameness.OTHER:
        raise BaselineError(
            f"the baseline {baseline.file} is of another cluster: {akin.why}",
            "Only plans of one cluster are compared: choose the cluster of the baseline, or another baseline.",
        )
    _known(baseline, TargetVerdict, (target.verdict for target in baseline.outline.targets))
    _known(baseline, BudgetVerdict, (budget.verdict for budget in baseline.outline.budgets))
    before, now = baseline.outline, outline(plan)
    read = frozenset(read.resource.full_name for read in cluster.reads if read.known)
    then, here = sight(before, baseline.read), sight(now, read)
    changes, unchanged = finding_changes(before.findings, now.findings, then, here)
    asked = tuple(asked_differently(baseline.options, {**options, **named(plan)}))
    return Comparison(
        baseline=baseline,
        doubt=akin.why,
        figures=tuple(_figures(before, now)),
        asked=asked,
        targets=tuple(_targets(before, now)),
        budgets=tuple(_budgets(before, now)),
        findings=changes,
        unchanged=unchanged,
        read_before=tuple(sorted(then.read - here.read)),
        read_now=tuple(sorted(here.read - then.read)),
        since=findings_since_then(baseline, now, (then, here), asked, akin.why),
    )


def _known(baseline: Baseline, words: type[Enum], verdicts: Iterable[str]) -> None:
    known = {word.value for word in words}
    strange = next((verdict for verdict in verdicts if verdict not in known), None)
    if strange is not None:
        raise BaselineError(
            f"the baseline {baseline.file} has a verdict that is not known here: {strange[:40]!r}",
            f"It says that kubectl eksdoc {baseline.tool_version[:40]} made it. Make it again with this version.",
        )


def _figures(before: Outline, now: Outline) -> Iterator[Figure]:
    then, here = _values(before), _values(now)
    yield from (Figure(what, then[what], here[what]) for what in Measure)


def _values(plan: Outline) -> dict[Measure, Value]:
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
    """What stood in the file of an order: at the same path there may be another one by now."""
    return {ORDER: list(plan.policy.order_nodes)} if plan.policy.order_nodes else {}


def _targets(before: Outline, now: Outline) -> Iterator[TargetChange]:
    then, here = ({target.name: target for target in plan.targets} for plan in (before, now))
    for name in sorted(then.keys() | here.keys(), key=natural):
        old, new = then.get(name), here.get(name)
        if old is None or new is None or old.verdict != new.verdict:
            yield TargetChange(name, old, new)


def _budgets(before: Outline, now: Outline) -> Iterator[BudgetChange]:
    then, here = ({budget.key: budget for budget in plan.budgets} for plan in (before, now))
    for key in sorted(then.keys() | here.keys()):
        if then.get(key) != here.get(key):
            yield BudgetChange(key, then.get(key), here.get(key))
