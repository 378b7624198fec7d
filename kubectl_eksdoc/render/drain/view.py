"""What all formats are made from: the plan's rows in their one order, and what joins them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kubectl_eksdoc import __version__
from kubectl_eksdoc.drain.comparison.changes import Comparison
from kubectl_eksdoc.drain.course import Span
from kubectl_eksdoc.drain.handoff.offers import HandOff
from kubectl_eksdoc.drain.nodes import natural
from kubectl_eksdoc.drain.outcome import HOLDS, Eviction, Left, Target
from kubectl_eksdoc.drain.result import DrainPlan, Headroom
from kubectl_eksdoc.drain.run.patience import Soak
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Finding, Status, in_order
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.model.pods import Owner, Pod

SYNC_FAILED = "SyncFailed"


@dataclass(frozen=True)
class DrainView:
    """A plan, the facts it was made from, and the options as given (JSON values by name).

    `reached_by` are the words of the command line that lead to the same cluster or dump again, without
    secrets; None where they are not known. `comparison` is with a plan saved earlier, None where none was
    asked for. `soak` is what a run adds to the estimate. Without slots, because the sorted rows and the indexes
    are made once, when first asked for.
    """

    plan: DrainPlan
    cluster: Cluster
    options: Mapping[str, object] = field(default_factory=dict)
    tool_version: str = __version__
    reached_by: tuple[str, ...] | None = None
    comparison: Comparison | None = None
    soak: Soak | None = None

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """In the order of draining, then those that are not drained by name."""
        return tuple(sorted(self.plan.targets, key=lambda t: (t.order == 0, t.order, natural(t.node.name))))

    @cached_property
    def evictions(self) -> tuple[Eviction, ...]:
        return tuple(sorted(self.plan.evictions, key=lambda e: e.position))

    @cached_property
    def left(self) -> tuple[Left, ...]:
        return tuple(sorted(self.plan.left, key=lambda r: (r.node, r.pod.namespace, r.pod.name, r.pod.uid)))

    @cached_property
    def budgets(self) -> tuple[Headroom, ...]:
        return tuple(sorted(self.plan.budgets, key=lambda h: (h.budget.namespace, h.budget.name)))

    @cached_property
    def handoffs(self) -> tuple[HandOff, ...]:
        return tuple(sorted(self.plan.handoffs, key=lambda h: (list(NodeOwner).index(h.owner), h.group)))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return in_order(self.plan.findings)

    @cached_property
    def blockers(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.status is Status.FAIL)

    @cached_property
    def unknowns(self) -> tuple[Finding, ...]:
        """All that could not be judged, what the user accepts included."""
        return tuple(f for f in self.findings if f.status is Status.UNKNOWN)

    @cached_property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.status is Status.PASS)

    def blocking(self, target: Target) -> tuple[Left, ...]:
        """The pods that keep `target` from being drained."""
        return tuple(row for row in self._left_on.get(target.node.name, ()) if row.verdict in HOLDS)

    def holds_up(self, finding: Finding) -> tuple[str, ...]:
        """The targets on which `finding` is about some pod, sorted; a node's finding is about itself."""
        subject = finding.subject
        if subject.kind == "Node":
            return (subject.name,)
        rows = self._left_by_code.get(finding.code.name, ())
        if subject.kind == "Pod":
            pods = {r.node for r in rows if (r.pod.namespace, r.pod.name) == (subject.namespace, subject.name)}
            return tuple(sorted(pods))
        budget = self._budget_by_key.get((subject.namespace, subject.name))
        if subject.kind == "PodDisruptionBudget" and budget:
            return tuple(sorted({r.node for r in rows if _selects(budget, r.pod)}))
        name = f"{subject.kind}/{subject.name}"
        return tuple(sorted({r.node for r in rows if r.pod.namespace == subject.namespace and self.app(r.pod) == name}))

    def app(self, pod: Pod) -> str:
        """``Deployment/web``: the outermost known owner of `pod`, "" for a bare pod."""
        owner = pod.owner
        while owner:
            above = self._owner_of.get(owner.uid)
            if above is None:
                return f"{owner.kind}/{owner.name}"
            owner = above
        return ""

    def pod(self, namespace: str, name: str) -> Pod | None:
        """The pod on a target by that name."""
        return self._pod_by_key.get((namespace, name))

    def grace(self, pod: Pod) -> int:
        """Seconds `pod` gets to stop under this plan."""
        return self.plan.policy.grace_of(pod)

    @cached_property
    def spans(self) -> dict[str, Span]:
        """When each drained node is cordoned, empty and done, in the run that takes the p50."""
        return {} if self.plan.estimate is None else {span.node: span for span in self.plan.estimate.spans}

    @property
    def slow_s(self) -> Mapping[str, float]:
        """When each is done in the run that takes the p95."""
        return {} if self.plan.estimate is None else self.plan.estimate.slow_s

    @cached_property
    def wave_of(self) -> dict[str, int]:
        """The wave or generation of each drained node."""
        return {target.node.name: target.wave for target in self.targets if target.wave}

    @cached_property
    def evicted_at(self) -> dict[str, float]:
        """When each pod is evicted in that run, by its uid, in seconds; empty where that is not estimated."""
        return {} if self.plan.estimate is None else {move.uid: move.evicted_s for move in self.plan.estimate.moves}

    @cached_property
    def _left_on(self) -> dict[str, list[Left]]:
        rows: dict[str, list[Left]] = defaultdict(list)
        for row in self.left:
            rows[row.node].append(row)
        return rows

    @cached_property
    def _left_by_code(self) -> dict[str, list[Left]]:
        rows: dict[str, list[Left]] = defaultdict(list)
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
    def _owner_of(self) -> dict[str, Owner]:
        return {w.uid: w.owner for w in self.cluster.workloads if w.owner}

    @cached_property
    def _pod_by_key(self) -> dict[tuple[str, str], Pod]:
        pods = [row.pod for row in self.plan.left] + [eviction.pod for eviction in self.plan.evictions]
        return {(pod.namespace, pod.name): pod for pod in pods}


def _selects(budget: Budget, pod: Pod) -> bool:
    return budget.namespace == pod.namespace and budget.selector.matches(pod.labels)


def status_of(budget: Budget) -> BudgetStatus | None:
    """The status numbers, or None where the controller never computed them or says that it cannot.

    A failed sync only sets the allowed disruptions to 0 (pkg/controller/disruption/disruption.go:failSafe);
    what stands beside is from before, or the 0 of a field nobody wrote.
    """
    never = budget.generation > 0 and budget.observed_generation == 0
    return None if never or budget.condition_reason == SYNC_FAILED else budget.status
