"""The drain plan for all formats: sorted rows, indexes that join them, and the commands that plan again or run it.

Also the symbols of verdicts, and short texts for codes and verdicts.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from kubectl_eksdoc import __version__
from kubectl_eksdoc.frozen import CachedProperties, frozen
from kubectl_eksdoc.model import options
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import Code, Finding, Status, for_target, sort_findings
from kubectl_eksdoc.model.kinds import KindRead
from kubectl_eksdoc.model.nodes import ControllerOwner, NodeOwner, Pod
from kubectl_eksdoc.model.options import default_flag_values
from kubectl_eksdoc.report.text import Tone

from ..nodes import natural_key
from ..outcome import (
    HOLDING_VERDICTS,
    BudgetVerdict,
    DrainTarget,
    Eviction,
    NotEvictedPod,
    PodVerdict,
    TargetVerdict,
)
from ..plan_changes import PlanComparison
from ..policy import DrainPolicy, Targeting
from ..result import DrainPlan, Headroom
from ..rollover_offers import NodeGroupRollover
from ..run.stall_timeouts import Soak
from ..timeline import NodeSpan

SYNC_FAILED = "SyncFailed"
_JOURNAL = "--journal-namespace"


@frozen
class DrainView(CachedProperties):
    """A plan, the facts it was made from, and the options as given (JSON values by name).

    `connection_args`: the command-line arguments that lead to the same cluster or dump, without secrets; None: unknown.
    `aws`: the AWS profile that the user gave. `comparison`: with an earlier saved plan, or None. `soak`: what a run
    adds to the estimate. The sorted rows and the indexes are built once, on first use.
    """

    plan: DrainPlan
    cluster: Cluster
    options: Mapping[str, object] = field(default_factory=dict)
    tool_version: str = __version__
    connection_args: tuple[str, ...] | None = None
    aws: tuple[str, ...] = ()
    comparison: PlanComparison | None = None
    soak: Soak | None = None

    @cached_property
    def targets(self) -> tuple[DrainTarget, ...]:
        """In the order of draining, then those that are not drained, by name."""
        return tuple(sorted(self.plan.targets, key=lambda t: (t.order == 0, t.order, natural_key(t.node.name))))

    @property
    def drained(self) -> list[str]:
        """The names of the targets that are drained, in their order."""
        return [target.node.name for target in self.targets if target.order]

    @property
    def undrained(self) -> list[DrainTarget]:
        return [target for target in self.targets if not target.order]

    @property
    def not_read(self) -> list[KindRead]:
        return [read for read in self.cluster.reads if not read.known]

    @cached_property
    def evictions(self) -> tuple[Eviction, ...]:
        return tuple(sorted(self.plan.evictions, key=lambda e: e.position))

    @cached_property
    def left(self) -> tuple[NotEvictedPod, ...]:
        return tuple(sorted(self.plan.left, key=lambda r: (r.node, r.pod.namespace, r.pod.name, r.pod.uid)))

    @cached_property
    def budgets(self) -> tuple[Headroom, ...]:
        return tuple(sorted(self.plan.budgets, key=lambda h: (h.budget.namespace, h.budget.name)))

    @cached_property
    def handoffs(self) -> tuple[NodeGroupRollover, ...]:
        handoffs = (each.for_cluster(self.command_target) for each in self.plan.handoffs)
        return tuple(sorted(handoffs, key=lambda h: (list(NodeOwner).index(h.owner), h.group)))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return sort_findings(for_target(each, self.command_target) for each in self.plan.findings)

    @cached_property
    def command_target(self) -> CommandTarget:
        """The arguments with which commands reach the cluster; kubectl has none for a dump or the demo."""
        eksdoc_args = (*_connection_args(self), *self.aws)
        return CommandTarget(eksdoc_args, self.kubectl_args or (), eksdoc_args, self.aws)

    @property
    def kubectl_args(self) -> tuple[str, ...] | None:
        """The arguments with which kubectl reaches a live cluster, without the journal namespace, which kubectl does
        not know."""
        if self.cluster.source is not Source.LIVE or self.connection_args is None:
            return None
        index = self.connection_args.index(_JOURNAL) if _JOURNAL in self.connection_args else len(self.connection_args)
        return (*self.connection_args[:index], *self.connection_args[index + 2 :])

    @cached_property
    def blockers(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.status is Status.FAIL)

    @cached_property
    def unknowns(self) -> tuple[Finding, ...]:
        """All unknown findings, including those that the user accepts."""
        return tuple(f for f in self.findings if f.status is Status.UNKNOWN)

    @cached_property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.status is Status.PASS)

    def blocking(self, target: DrainTarget) -> tuple[NotEvictedPod, ...]:
        """The pods that keep `target` from being drained."""
        return tuple(row for row in self.not_evicted_on.get(target.node.name, ()) if row.verdict in HOLDING_VERDICTS)

    def codes_on(self, target: DrainTarget) -> list[str]:
        """The distinct codes that keep `target` from being drained."""
        return list(dict.fromkeys(code for row in self.blocking(target) for code in row.codes))

    def blocked_nodes(self, finding: Finding) -> tuple[str, ...]:
        """The targets that `finding` blocks through a pod, sorted; a node's finding blocks that node."""
        subject = finding.subject
        if subject.kind == "Node":
            return (subject.name,)
        rows = self.not_evicted_for(finding.code.name)
        if subject.kind == "Pod":
            pods = {r.node for r in rows if (r.pod.namespace, r.pod.name) == (subject.namespace, subject.name)}
            return tuple(sorted(pods))
        budget = self._budget_by_key.get((subject.namespace, subject.name))
        if subject.kind == "PodDisruptionBudget" and budget:
            blocked_rows = (
                r for r in rows if budget.namespace == r.pod.namespace and budget.selector.matches(r.pod.labels)
            )
            return tuple(sorted({r.node for r in blocked_rows}))
        name = f"{subject.kind}/{subject.name}"
        return tuple(sorted({r.node for r in rows if r.pod.namespace == subject.namespace and self.app(r.pod) == name}))

    def not_evicted_for(self, code: str) -> Sequence[NotEvictedPod]:
        """The pods on targets that are not evicted because of `code`, possibly among other codes."""
        return self._not_evicted_by_code.get(code, ())

    def app(self, pod: Pod) -> str:
        """``Deployment/web``: the outermost known owner of `pod`, or "" for a bare pod."""
        owner = pod.owner
        while owner:
            parent = self._owner_by_uid.get(owner.uid)
            if parent is None:
                return f"{owner.kind}/{owner.name}"
            owner = parent
        return ""

    def pod(self, namespace: str, name: str) -> Pod | None:
        """The pod on a target by that name."""
        return self._pod_by_key.get((namespace, name))

    def grace(self, pod: Pod) -> int:
        """The grace period of `pod` under this plan, in seconds."""
        return self.plan.policy.grace_period_of(pod)

    @cached_property
    def spans(self) -> dict[str, NodeSpan]:
        """When each drained node is cordoned, empty and done, in the run that takes the p50."""
        return {} if self.plan.estimate is None else {span.node: span for span in self.plan.estimate.spans}

    @property
    def p95_done_s(self) -> Mapping[str, float]:
        """When each node is done in the run that takes the p95, in seconds."""
        return {} if self.plan.estimate is None else self.plan.estimate.slow_s

    @cached_property
    def wave_of(self) -> dict[str, int]:
        """The wave or generation of each drained node."""
        return {target.node.name: target.wave for target in self.targets if target.wave}

    @cached_property
    def evicted_at(self) -> dict[str, float]:
        """When each pod is evicted in the p50 run, in seconds by pod UID; empty where that is not estimated."""
        return {} if self.plan.estimate is None else {move.uid: move.evicted_s for move in self.plan.estimate.moves}

    @cached_property
    def not_evicted_on(self) -> dict[str, list[NotEvictedPod]]:
        rows: dict[str, list[NotEvictedPod]] = defaultdict(list)
        for row in self.left:
            rows[row.node].append(row)
        return rows

    @cached_property
    def _not_evicted_by_code(self) -> dict[str, list[NotEvictedPod]]:
        rows: dict[str, list[NotEvictedPod]] = defaultdict(list)
        for row in self.left:
            for code in row.codes:
                rows[code].append(row)
        return rows

    @cached_property
    def _budget_by_key(self) -> dict[tuple[str, str], Budget]:
        return {(b.namespace, b.name): b for b in self.cluster.budgets} | {
            (h.budget.namespace, h.budget.name): h.budget for h in self.plan.budgets
        }

    @cached_property
    def _owner_by_uid(self) -> dict[str, ControllerOwner]:
        return {w.uid: w.owner for w in self.cluster.workloads if w.owner}

    @cached_property
    def _pod_by_key(self) -> dict[tuple[str, str], Pod]:
        pods = [row.pod for row in self.plan.left] + [eviction.pod for eviction in self.plan.evictions]
        return {(pod.namespace, pod.name): pod for pod in pods}


def current_status(budget: Budget) -> BudgetStatus | None:
    """The budget's status, or None where its controller never computed it or reports a failed sync.

    A failed sync only sets the allowed disruptions to 0 (pkg/controller/disruption/disruption.go:failSafe); the other
    numbers are from before, or 0 because they were never written.
    """
    never_computed = budget.generation > 0 and budget.observed_generation == 0
    return None if never_computed or budget.condition_reason == SYNC_FAILED else budget.status


# Command lines that make this plan again with another flag or format, to be copied into a shell.


DRAIN = ("kubectl", "eksdoc", "drain")

DUMP = "DUMP"
"""Stands for the dump's path where it is unknown."""

_DEFAULTS: Mapping[str, object] = default_flag_values(DrainPolicy)
_ACCEPT_UNKNOWN = "accept-unknown"


class NextStep(NamedTuple):
    """One sentence without its full stop, and its command line, or ""."""

    text: str
    command: str = ""


def plan_command(view: DrainView, *flags: str, accept: Iterable[str] = ()) -> str:
    """The command line that was given, plus `flags` and the codes of `accept`, quoted for a POSIX shell.

    Where the connection is unknown, a live cluster is named by its context, so that the command cannot reach another
    one.
    """
    args = [*DRAIN, "plan", *option_args(view.options, frozenset(accept)), *_connection_args(view), *flags]
    return shlex.join(args)


def run_command(view: DrainView) -> str:
    """The command line that runs this plan; it shows the plan again first."""
    options = {key: value for key, value in view.options.items() if key not in ("since", "baseline")}
    return shlex.join([*DRAIN, "run", *option_args(options), *_connection_args(view)])


def dump_folder(view: DrainView) -> str:
    """The folder of the dump, quoted; ``DUMP`` where it is an archive or unknown."""
    args = list(view.connection_args or ())
    path = args[args.index("--snapshot") + 1] if "--snapshot" in args[:-1] else DUMP
    archive = path == "-" or path.endswith((".tar", ".tgz", ".gz", ".zip", ".json", ".yaml"))
    return shlex.quote(DUMP if archive else path.rstrip("/") or "/")


def option_args(options: Mapping[str, object], accept: frozenset[str] = frozenset()) -> list[str]:
    """The command-line arguments for these options (JSON values by flag name)."""
    args = [str(name) for name in _as_sequence(options.get("nodes"))]
    for key, value in options.items():
        if key in ("nodes", _ACCEPT_UNKNOWN) or value == _DEFAULTS.get(key, False):
            continue
        args += _flag_args(key, value)
    accepted = sorted(accept | {str(code) for code in _as_sequence(options.get(_ACCEPT_UNKNOWN))})
    return args + (_flag_args(_ACCEPT_UNKNOWN, ",".join(accepted)) if accepted else [])


def _flag_args(key: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [f"--{key}" if value else f"--{key}=false"]
    if isinstance(value, (list, tuple)):
        return [word for item in value for word in _flag_args(key, item)]
    text = f"{value:g}" if isinstance(value, float) else str(value)
    name = "-l" if key == "selector" else f"--{key}"
    # A value that begins with a dash has to be joined to its flag.
    return [f"--{key}={text}"] if text.startswith("-") else [name, text]


def _connection_args(view: DrainView) -> Sequence[str]:
    if view.connection_args is not None:
        return view.connection_args
    if view.cluster.source is Source.DEMO:
        return ("--demo",)
    if view.cluster.source is Source.SNAPSHOT:
        return ("--snapshot", DUMP)
    context = view.cluster.identity.context
    return ("--context", context) if context else ()


def _as_sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()


# The options that the user gave, by flag name: for a document's metadata and for command lines.


def given_options(
    targeting: Targeting, policy: DrainPolicy, baseline: str = "", order_file: str = ""
) -> dict[str, object]:
    """The options that the user gave, by flag name; files by their paths."""
    given: dict[str, object] = {
        "nodes": list(targeting.names),
        "selector": str(targeting.selector or ""),
        "nodegroup": list(targeting.nodegroups),
        "older-than": str(targeting.older_than or ""),
        "order-file": order_file,
        "since": baseline,
    }
    return {name: value for name, value in given.items() if value} | options.flag_values(policy)


VerdictSymbol = tuple[str, Tone]

GOOD: VerdictSymbol = ("✓", Tone.GOOD)
WARN: VerdictSymbol = ("!", Tone.WARN)
BAD: VerdictSymbol = ("✗", Tone.BAD)
UNKNOWN_SYMBOL: VerdictSymbol = ("?", Tone.UNKNOWN)

TARGET_SYMBOLS = {
    TargetVerdict.DRAINS: GOOD,
    TargetVerdict.PARTIAL: WARN,
    TargetVerdict.SKIPPED: BAD,
    TargetVerdict.REFUSED: BAD,
    TargetVerdict.UNKNOWN: UNKNOWN_SYMBOL,
}

BUDGET_SYMBOLS = {
    BudgetVerdict.SEVERAL_BUDGETS: BAD,
    BudgetVerdict.BLOCKED_FOREVER: BAD,
    BudgetVerdict.UNHEALTHY: BAD,
    BudgetVerdict.STALE: BAD,
    BudgetVerdict.BLOCKED_NOW: BAD,
    BudgetVerdict.DISAGREES: WARN,
    BudgetVerdict.SERIAL: WARN,
    BudgetVerdict.FITS: GOOD,
}

POD_SYMBOLS = {
    PodVerdict.EVICT: GOOD,
    PodVerdict.STAY: GOOD,
    PodVerdict.HELD: WARN,
    PodVerdict.BLOCKED: BAD,
    PodVerdict.UNKNOWN: UNKNOWN_SYMBOL,
}


def short_code(code: str) -> str:
    """The code's short text of two or three words, or the code where its record has none."""
    record = Code.by_name().get(code)
    return record.brief or code if record is not None else code


_BUDGET_WORDS = {
    BudgetVerdict.SEVERAL_BUDGETS: "several PDBs",
    BudgetVerdict.BLOCKED_FOREVER: "never allows",
    BudgetVerdict.UNHEALTHY: "unhealthy",
    BudgetVerdict.STALE: "old status",
    BudgetVerdict.BLOCKED_NOW: "allows 0 now",
    BudgetVerdict.DISAGREES: "disagrees",
    BudgetVerdict.SERIAL: "in rounds",
    BudgetVerdict.FITS: "fits",
}


def short_budget_verdict(headroom: Headroom) -> str:
    """``never allows``, ``4 rounds``."""
    if headroom.verdict is BudgetVerdict.SERIAL and headroom.rounds > 1:
        return f"{headroom.rounds} rounds"
    return _BUDGET_WORDS[headroom.verdict]
