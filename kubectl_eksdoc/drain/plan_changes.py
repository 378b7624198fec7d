"""Differences of two plans as data: the rows that every format shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from typing import TypeAlias

from kubectl_eksdoc.baseline.changes import ResultComparison
from kubectl_eksdoc.errors import Drifted
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.baseline import BudgetOutline, ReadPlan, TargetOutline
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Status

from .outcome import TargetVerdict
from .result import DrainPlan

Value: TypeAlias = int | float | str | None
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
    before: Value
    now: Value

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
class Comparison:
    """This plan compared with a saved one. `figures` contains every measure, also those that are equal; `targets` and
    `budgets` only what differs. `since`: the saved plan, the options that differ, and the changes of findings."""

    figures: tuple[PlanFigure, ...]
    targets: tuple[TargetChange, ...]
    budgets: tuple[BudgetChange, ...]
    read_before: tuple[str, ...]  # kinds that were known only when the baseline was made
    read_now: tuple[str, ...]  # kinds that are known only now
    since: ResultComparison

    @property
    def like_with_like(self) -> bool:
        """True when both plans are of the same targets and could judge the same; otherwise no change is good or bad."""
        sides = [(change.before, change.now) for change in self.targets]
        opened = any(each is None or each.verdict == TargetVerdict.UNKNOWN.value for side in sides for each in side)
        return not (opened or self.read_before or self.read_now)

    @property
    def nothing_differs(self) -> bool:
        since = self.since
        differing = (self.read_before, self.read_now, since.asked, self.targets, self.budgets, since.changes)
        return not any(differing) and not any(figure.differs for figure in self.figures)


# Drift: whether the cluster is still as in the plan that the user read; if it is not, that plan must not be executed.
#
# Pods come and go in any cluster. The same decision is no drift: a pod that is gone, or a new pod of an owner whose
# other pods the plan evicts. Every other difference makes another plan than the one that was read.


_MOST_NAMES = 5


def promise_of(plan: DrainPlan) -> ReadPlan:
    """The decisions that a user sees in this plan."""
    return ReadPlan(
        {target.node.name: (target.node.uid, target.verdict.value) for target in plan.targets},
        {
            e.pod.uid: (e.pod.key, e.pod.owner.uid if e.pod.owner is not None else "", e.manner.means.value)
            for e in plan.evictions
        },
        {headroom.budget.key: headroom.verdict.value for headroom in plan.budgets},
        frozenset(finding.code.name for finding in plan.findings if finding.status is Status.UNKNOWN),
    )


def check_drift(read: ReadPlan, plan: DrainPlan, since: str, next_step: str) -> None:
    """`since`: an event (``the plan was shown``); `next_step`: what to do instead, a sentence.

    Raises:
        Drifted: this plan would do something else than the plan that was read.
    """
    differs = drift(read, promise_of(plan))
    if differs:
        said = "\n".join(f"- {each}" for each in differs)
        raise Drifted(f"the cluster has changed since {since}", f"{said}\nNothing was done. {next_step}")


def drift(read: ReadPlan, now: ReadPlan) -> tuple[str, ...]:
    """A sentence without full stop for every decision that differs now; empty if none does."""
    return (*_other_nodes(read, now), *_other_pods(read, now), *_other_verdicts(read, now))


def _other_nodes(read: ReadPlan, now: ReadPlan) -> Iterator[str]:
    for name in sorted(read.nodes.keys() | now.nodes.keys()):
        if name not in now.nodes:
            yield f"node {name} is not there any more, or not selected"
        elif name not in read.nodes:
            yield f"node {name} is selected and was not in the plan"
        elif read.nodes[name][0] != now.nodes[name][0]:
            yield f"node {name} is another one than in the plan: its uid differs"
        elif read.nodes[name][1] != now.nodes[name][1]:
            yield f"node {name} was {read.nodes[name][1]} and is {now.nodes[name][1]} now"


def _other_pods(read: ReadPlan, now: ReadPlan) -> Iterator[str]:
    owners = {owner for _, owner, _ in read.evicted.values()} - {""}
    new = sorted(key for uid, (key, owner, _) in now.evicted.items() if uid not in read.evicted and owner not in owners)
    if new:
        more = f" and {len(new) - _MOST_NAMES} more" if len(new) > _MOST_NAMES else ""
        what = "a pod that the plan does not evict" if len(new) == 1 else "pods that the plan does not evict"
        yield f"{what} would be evicted: {', '.join(new[:_MOST_NAMES])}{more}"
    for uid in sorted(read.evicted.keys() & now.evicted.keys(), key=lambda each: now.evicted[each]):
        key, _, means = now.evicted[uid]
        if read.evicted[uid][2] != means:
            yield f"{key} was to go by {read.evicted[uid][2]} and goes by {means} now"


def _other_verdicts(read: ReadPlan, now: ReadPlan) -> Iterator[str]:
    """A budget without pods on the targets may have disappeared with them, which is no drift."""
    for key in sorted(read.budgets.keys() & now.budgets.keys()):
        if read.budgets[key] != now.budgets[key]:
            yield f"budget {key} was {read.budgets[key]} and is {now.budgets[key]} now"
    for key in sorted(now.budgets.keys() - read.budgets.keys()):
        yield f"budget {key} guards pods on the targets and was not in the plan"
    for code in sorted(now.unknown - read.unknown):
        yield f"{code} cannot be judged any more"


# Whether a plan of newly read facts would be the same plan.


def unchanged(before: Cluster, after: Cluster) -> bool:
    """Whether all facts are the same that a plan may depend on, without read times and renewal times of leases.

    While pods are being deleted, the plan depends on the time itself.
    """
    if _passes(before) or _passes(after) or _spared(before) != _spared(after):
        return False
    return _timeless(before, after) == after


def _timeless(before: Cluster, after: Cluster) -> Cluster:
    renewed = {(lease.namespace, lease.name): lease.renewed_at for lease in after.leases}
    leases = tuple(replace(each, renewed_at=renewed.get((each.namespace, each.name))) for each in before.leases)
    return replace(before, observed_at=after.observed_at, leases=leases)


def _passes(cluster: Cluster) -> bool:
    leaving = any(pod.deletion_deadline is not None for pod in cluster.pods)
    return leaving or any(lock.until is not None for each in cluster.workloads for lock in each.reboot_locks)


def _spared(cluster: Cluster) -> list[str]:
    """Some pods are protected only for a limited time."""
    return [pod.uid for pod in cluster.pods if pod.annotations and pod.protected_at(cluster.observed_at)]
