"""Differences of two plans as data: the rows that every format shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from typing import TypeAlias

from kubectl_eksdoc.baseline.changes import ResultComparison
from kubectl_eksdoc.errors import Drifted
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.baseline import AcceptedPlan, BudgetOutline, TargetOutline
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Status

from .outcome import TargetVerdict
from .result import DrainPlan

FigureValue: TypeAlias = int | float | str | None
"""A figure of one plan; None where it has none."""

_DECIMALS = 6
"""Differences of floats are rounded, so that 0.3 - 0.1 is 0.2."""


class Measure(str, Enum):
    """The figures of a plan that are compared, in the order in which they are shown."""

    NODES = "nodes"
    DRAINED = "nodes-drained"
    PARTIAL = "nodes-drained-in-part"
    SKIPPED = "nodes-skipped"
    REFUSED = "nodes-refused"
    NOT_JUDGED = "nodes-not-judged"
    EVICTIONS = "evictions"
    LEFT = "pods-left"
    ROUNDS = "rounds"
    WAVES = "waves"
    P50 = "p50-seconds"
    P95 = "p95-seconds"
    BOUND = "lower-bound-seconds"
    BINDS = "lower-bound-binds"
    GAP = "gap"
    PEAK = "peak-away"
    BLOCKERS = "blockers"
    UNKNOWNS = "unknowns"
    WARNINGS = "warnings"


@frozen
class PlanFigure:
    """One measure of both plans."""

    what: Measure
    before: FigureValue
    now: FigureValue

    @property
    def differs(self) -> bool:
        return self.before != self.now

    @property
    def change(self) -> int | float | None:
        """`now` minus `before`; None for words, and where one of the plans has no such figure."""
        if isinstance(self.before, (int, float)) and isinstance(self.now, (int, float)):
            return round(self.now - self.before, _DECIMALS)
        return None


@frozen
class TargetChange:
    """A node with another verdict; None where it is no target of that plan."""

    name: str
    before: TargetOutline | None
    now: TargetOutline | None


@frozen
class BudgetChange:
    """A budget with another verdict or allowance; None where that plan has no pod of it on its targets."""

    key: str
    before: BudgetOutline | None
    now: BudgetOutline | None


@frozen
class PlanComparison:
    """This plan compared with a saved one. `figures` contains every measure, also those that are equal; `targets` and
    `budgets` only what differs. `since`: the saved plan, the options that differ, and the changes of findings."""

    figures: tuple[PlanFigure, ...]
    targets: tuple[TargetChange, ...]
    budgets: tuple[BudgetChange, ...]
    read_before: tuple[str, ...]  # kinds that were known only when the baseline was made
    read_now: tuple[str, ...]  # kinds that are known only now
    since: ResultComparison

    @property
    def is_comparable(self) -> bool:
        """True when both plans are of the same targets and could judge the same; otherwise no change is good or bad."""
        sides = [(change.before, change.now) for change in self.targets]
        has_unknown_target = any(
            each is None or each.verdict == TargetVerdict.UNKNOWN.value for side in sides for each in side
        )
        return not (has_unknown_target or self.read_before or self.read_now)

    @property
    def is_equal(self) -> bool:
        since = self.since
        differences = (
            self.read_before,
            self.read_now,
            since.changed_options,
            self.targets,
            self.budgets,
            since.changes,
        )
        return not any(differences) and not any(figure.differs for figure in self.figures)


# Drift: whether the cluster is still as in the plan that the user read; if it is not, that plan must not be executed.
#
# Pods come and go in any cluster. The same decision is no drift: a pod that is gone, or a new pod of an owner whose
# other pods the plan evicts. Every other difference makes another plan than the one that was read.


_MAX_NAMES = 5


def read_plan_of(plan: DrainPlan) -> AcceptedPlan:
    """The decisions that a user sees in this plan."""
    return AcceptedPlan(
        {target.node.name: (target.node.uid, target.verdict.value) for target in plan.targets},
        {
            eviction.pod.uid: (
                eviction.pod.key,
                eviction.pod.owner.uid if eviction.pod.owner is not None else "",
                eviction.eviction_mode.means.value,
            )
            for eviction in plan.evictions
        },
        {headroom.budget.key: headroom.verdict.value for headroom in plan.budgets},
        frozenset(finding.code.name for finding in plan.findings if finding.status is Status.UNKNOWN),
    )


def check_drift(read_plan: AcceptedPlan, plan: DrainPlan, since: str, next_step: str) -> None:
    """`since`: an event (``the plan was shown``); `next_step`: what to do instead, a sentence.

    Raises:
        Drifted: this plan would do something else than the plan that was read.
    """
    differences = drift(read_plan, read_plan_of(plan))
    if differences:
        lines = "\n".join(f"- {each}" for each in differences)
        raise Drifted(f"the cluster has changed since {since}", f"{lines}\nNothing was done. {next_step}")


def drift(read_plan: AcceptedPlan, current: AcceptedPlan) -> tuple[str, ...]:
    """A sentence without full stop for every decision that differs now; empty if none does."""
    return (*_node_drift(read_plan, current), *_pod_drift(read_plan, current), *_verdict_drift(read_plan, current))


def _node_drift(read_plan: AcceptedPlan, current: AcceptedPlan) -> Iterator[str]:
    for name in sorted(read_plan.nodes.keys() | current.nodes.keys()):
        if name not in current.nodes:
            yield f"node {name} is not there any more, or not selected"
        elif name not in read_plan.nodes:
            yield f"node {name} is selected and was not in the plan"
        elif read_plan.nodes[name][0] != current.nodes[name][0]:
            yield f"node {name} is another one than in the plan: its uid differs"
        elif read_plan.nodes[name][1] != current.nodes[name][1]:
            yield f"node {name} was {read_plan.nodes[name][1]} and is {current.nodes[name][1]} now"


def _pod_drift(read_plan: AcceptedPlan, current: AcceptedPlan) -> Iterator[str]:
    owners = {owner for _, owner, _ in read_plan.evicted.values()} - {""}
    new_keys = sorted(
        key for uid, (key, owner, _) in current.evicted.items() if uid not in read_plan.evicted and owner not in owners
    )
    if new_keys:
        more_text = f" and {len(new_keys) - _MAX_NAMES} more" if len(new_keys) > _MAX_NAMES else ""
        pods_text = "a pod that the plan does not evict" if len(new_keys) == 1 else "pods that the plan does not evict"
        yield f"{pods_text} would be evicted: {', '.join(new_keys[:_MAX_NAMES])}{more_text}"
    for uid in sorted(read_plan.evicted.keys() & current.evicted.keys(), key=lambda each: current.evicted[each]):
        key, _, means = current.evicted[uid]
        if read_plan.evicted[uid][2] != means:
            yield f"{key} was to go by {read_plan.evicted[uid][2]} and goes by {means} now"


def _verdict_drift(read_plan: AcceptedPlan, current: AcceptedPlan) -> Iterator[str]:
    """A budget without pods on the targets may have disappeared with them, which is no drift."""
    for key in sorted(read_plan.budgets.keys() & current.budgets.keys()):
        if read_plan.budgets[key] != current.budgets[key]:
            yield f"budget {key} was {read_plan.budgets[key]} and is {current.budgets[key]} now"
    for key in sorted(current.budgets.keys() - read_plan.budgets.keys()):
        yield f"budget {key} guards pods on the targets and was not in the plan"
    for code in sorted(current.unknown - read_plan.unknown):
        yield f"{code} cannot be judged any more"


# Whether a plan of newly read facts would be the same plan.


def is_unchanged(before: Cluster, after: Cluster) -> bool:
    """Whether all facts are the same that a plan may depend on, without read times and renewal times of leases.

    While pods are being deleted, the plan depends on the time itself.
    """
    if _depends_on_time(before) or _depends_on_time(after) or _protected_uids(before) != _protected_uids(after):
        return False
    return _with_times_of(before, after) == after


def _with_times_of(before: Cluster, after: Cluster) -> Cluster:
    renewed_at = {(lease.namespace, lease.name): lease.renewed_at for lease in after.leases}
    leases = tuple(replace(each, renewed_at=renewed_at.get((each.namespace, each.name))) for each in before.leases)
    return replace(before, observed_at=after.observed_at, leases=leases)


def _depends_on_time(cluster: Cluster) -> bool:
    has_terminating_pods = any(pod.deletion_deadline is not None for pod in cluster.pods)
    return has_terminating_pods or any(
        lock.until is not None for workload in cluster.workloads for lock in workload.reboot_locks
    )


def _protected_uids(cluster: Cluster) -> list[str]:
    """Some pods are protected only for a limited time."""
    return [pod.uid for pod in cluster.pods if pod.annotations and pod.protection_at(cluster.observed_at)]
