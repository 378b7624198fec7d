"""Saved drain plans and saved results of other commands, reduced to the fields that a comparison needs.

Verdicts are plain text here, as in a saved document; the plan defines them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from kubectl_eksdoc.frozen import frozen

from .cluster import Identity, Source
from .findings import Severity, Status, Subject


@frozen
class FindingOutline:
    code: str
    subject: Subject
    severity: Severity
    status: Status
    message: str


@frozen
class SavedResult:
    """A saved result. `file` is the path as given; `options` are JSON values by flag name, as requested.

    `read` are the kinds whose objects were known completely (``pods``, ``deployments.apps``). `codes` are the codes
    that were checked, None if the document does not say; `addons` the target versions of the checked add-ons, by name.
    `way` is ``1.33 → 1.34``, "" if there is none. `uids` are those of its objects: no object of another cluster has one
    of them.
    """

    file: str
    identity: Identity
    source: Source
    observed_at: datetime
    tool_version: str
    options: Mapping[str, object] = field(default_factory=dict)
    read: frozenset[str] = frozenset()
    findings: tuple[FindingOutline, ...] = ()
    suppressed: tuple[FindingOutline, ...] = ()
    codes: frozenset[str] | None = None
    addons: Mapping[str, str] = field(default_factory=dict)
    way: str = ""
    uids: frozenset[str] = frozenset()


@frozen
class TargetOutline:
    """`why`: the reasons why it is not drained, one clause each."""

    name: str
    verdict: str
    why: tuple[str, ...] = ()


@frozen
class BudgetOutline:
    """`key` is namespace/name, `per_round` how many of its pods may be evicted at the same time."""

    key: str
    verdict: str
    per_round: int


@frozen
class DurationOutline:
    """Seconds, with milliseconds. `bound_s` and `gap` (0.03 is 3 %) are None and `binds` is "" without a bound.

    `binds` is the kind of the binding bound and its subject: ``budget-chain shop/web``.
    """

    p50_s: float
    p95_s: float
    peak_away: int
    bound_s: float | None = None
    binds: str = ""
    gap: float | None = None


@frozen
class PlanOutline:
    """`times` is None if the plan has no estimate: it drains nothing, or does not reach its end.

    `stops` are (code, node) for each finding about a pod that stays on that node.
    """

    targets: tuple[TargetOutline, ...]
    budgets: tuple[BudgetOutline, ...]
    findings: tuple[FindingOutline, ...]
    evictions: int
    left: int
    rounds: int
    waves: int
    times: DurationOutline | None
    stops: frozenset[tuple[str, str]] = frozenset()


@frozen
class AcceptedPlan:
    """The changes of a plan that a user has read and accepted.

    `nodes`: UID and verdict of each target, by name; `evicted`: name (namespace/name), owner's UID ("" without one) and
    eviction method of each pod to evict, by UID; `budgets`: their verdicts, by namespace/name; `unknown`: codes of
    findings that could not be checked.
    """

    nodes: Mapping[str, tuple[str, str]]
    evicted: Mapping[str, tuple[str, str, str]]
    budgets: Mapping[str, str]
    unknown: frozenset[str]


@frozen
class Baseline:
    """A saved plan: its inputs, the tool version, and its outline.

    `file` is the path as given; `options` are JSON values by flag name, as requested; `read` are the kinds whose
    objects were known completely (``pods``, ``deployments.apps``); `uids` are those of its nodes and budgets: no object
    of another cluster has one of them.
    """

    file: str
    identity: Identity
    source: Source
    observed_at: datetime
    tool_version: str
    options: Mapping[str, object]
    outline: PlanOutline
    read: frozenset[str]
    uids: frozenset[str] = frozenset()
    promise: AcceptedPlan | None = None
