"""A drain plan reduced to what two of them are compared by, and one that was saved earlier.

Verdicts are words here, as a saved document holds them: which words there are is known where plans are made.

An answer of a command that was saved earlier, reduced to what another one is compared with.
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
    """`file` is the path as given; `options` are JSON values by the names of the flags, as it was asked for.

    `read` are the kinds whose objects were known completely (``pods``, ``deployments.apps``). `codes` are those that
    were looked for, None where the document does not tell; `addons` the target versions of those that were looked at,
    by name. `way` is ``1.33 → 1.34``, "" where there is none. `uids` are those of its objects: no object of another
    cluster has one.
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
    """`why` is what keeps it from being drained, one clause each."""

    name: str
    verdict: str
    why: tuple[str, ...] = ()


@frozen
class BudgetOutline:
    """`key` is namespace/name, `per_round` how many of its pods may go at once."""

    key: str
    verdict: str
    per_round: int


@frozen
class TimesOutline:
    """Seconds, to the millisecond. `bound_s` and `gap` (0.03 is 3 %) are None and `binds` is "" without a bound.

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
    """`times` is None where the plan has no estimate: it drains nothing, or does not come to its end.

    `stops` are (code, node) for each finding that is about a pod left on that node.
    """

    targets: tuple[TargetOutline, ...]
    budgets: tuple[BudgetOutline, ...]
    findings: tuple[FindingOutline, ...]
    evictions: int
    left: int
    rounds: int
    waves: int
    times: TimesOutline | None
    stops: frozenset[tuple[str, str]] = frozenset()


@frozen
class ReadPlan:
    """What somebody has read of a plan about what will be done.

    `nodes`: uid and verdict of each target, by name; `evicted`: of each pod that goes its name (ns/name), its owner's
    uid ("" without one) and by what means it goes, by uid; `budgets`: their verdicts, by ns/name; `unknown`: codes of
    findings that could not be judged.
    """

    nodes: Mapping[str, tuple[str, str]]
    evicted: Mapping[str, tuple[str, str, str]]
    budgets: Mapping[str, str]
    unknown: frozenset[str]


@frozen
class Baseline:
    """A saved plan: what it was made of and by, and its outline.

    `file` is the path as given; `options` are JSON values by the names of the flags, as the plan was asked for;
    `read` are the kinds whose objects were known completely (``pods``, ``deployments.apps``);
    `uids` are those of its nodes and budgets: no object of another cluster has one of them.
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
    promise: ReadPlan | None = None
