"""The differences of two plans as data: the rows that every format shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from kubectl_eksdoc.core.model.baseline import Baseline, BudgetOutline, TargetOutline
from kubectl_eksdoc.core.model.earlier import FindingOutline
from kubectl_eksdoc.core.plan.drain.outcome import TargetVerdict
from kubectl_eksdoc.core.plan.since.changes import Asked, Since

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


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure of both plans."""

    what: Measure
    before: Value
    now: Value

    @property
    def differs(self) -> bool:
        return self.before != self.now

    @property
    def change(self) -> int | float | None:
        """`now` less `before`; None for words, and where one of the plans has no such figure."""
        if isinstance(self.before, (int, float)) and isinstance(self.now, (int, float)):
            return round(self.now - self.before, _DECIMALS)
        return None


@dataclass(frozen=True, slots=True)
class TargetChange:
    """A node with another verdict; None where it is no target of that plan."""

    name: str
    before: TargetOutline | None
    now: TargetOutline | None


@dataclass(frozen=True, slots=True)
class BudgetChange:
    """A budget with another verdict or allowance; None where that plan knows of no pod of it on its targets."""

    key: str
    before: BudgetOutline | None
    now: BudgetOutline | None


class Change(str, Enum):
    """What became of a finding. What one of the plans could not judge has neither come nor gone."""

    NEW = "new"
    NOT_JUDGED_BEFORE = "not-judged-before"  # found now, and the baseline could not answer its question
    CHANGED = "changed"  # of another status or severity
    NOT_JUDGED_NOW = "not-judged-now"  # found then, and this plan cannot answer its question
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class FindingChange:
    """One code on one subject; `before` or `now` is None where that plan does not say it."""

    change: Change
    before: FindingOutline | None
    now: FindingOutline | None

    @property
    def either(self) -> FindingOutline:
        """What is said of it now, else what was said."""
        said = self.now or self.before
        assert said is not None, "a change is of something"
        return said


@dataclass(frozen=True, slots=True)
class Comparison:
    """This plan against `baseline`. `doubt` says why it may be of another cluster, "" when it is of this one.

    `figures` holds every measure, also those that are equal; the other lists only what differs.
    """

    baseline: Baseline
    doubt: str
    figures: tuple[Figure, ...]
    asked: tuple[Asked, ...]
    targets: tuple[TargetChange, ...]
    budgets: tuple[BudgetChange, ...]
    findings: tuple[FindingChange, ...]
    unchanged: int  # findings that both plans have, of one status and severity
    read_before: tuple[str, ...]  # kinds that were known only when the baseline was made
    read_now: tuple[str, ...]  # kinds that are known only now
    since: Since  # the findings as every command tells them

    @property
    def same_nodes(self) -> bool:
        """True when both plans are of the same targets."""
        return all(change.before and change.now for change in self.targets)

    @property
    def like_with_like(self) -> bool:
        """True when both plans are of the same targets and could judge the same: else no change is good or bad."""
        opened = any(
            TargetVerdict.UNKNOWN.value in {side.verdict for side in (change.before, change.now) if side}
            for change in self.targets
        )
        return self.same_nodes and not opened and not self.read_before and not self.read_now

    @property
    def nothing_differs(self) -> bool:
        differing = (self.read_before, self.read_now, self.asked, self.targets, self.budgets, self.findings)
        return not any(differing) and not any(figure.differs for figure in self.figures)
