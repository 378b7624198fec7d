"""Eviction of one pod: requested, stopping, gone, or stuck; how responses and observations change it. Also the observed
state of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from math import inf
from typing import NamedTuple

from kubectl_eksdoc.kubernetes.budgets import Hold, same_name_holds
from kubectl_eksdoc.kubernetes.news import (
    AllBudgets,
    AllNodes,
    AllPods,
    BudgetGone,
    BudgetIs,
    News,
    NodeGone,
    NodeIs,
    PodGone,
    PodIs,
    PodsFound,
)
from kubectl_eksdoc.model.actions import ListPods
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.quantities import duration

from ..outcome import Eviction
from ..policy import Means
from .answers import REFUSED_WHO_S, SLOWLY_S, SOON_S, Next, Reading, RunTrouble, right_for

# Observed state of pods, budgets and nodes, as of the latest update of each.


class ObservedState:
    """Mutable. Updates may come twice or late: an update older than the known version changes nothing. `first`: the
    cluster as it was first read; facts without updates remain as they were then."""

    def __init__(self, cluster: Cluster) -> None:
        self.first = cluster
        self.nodes: dict[str, Node] = {node.name: node for node in cluster.nodes}
        self.budgets: dict[str, Budget] = {budget.key: budget for budget in cluster.budgets}
        self._pods: dict[str, Pod] = {pod.uid: pod for pod in cluster.pods}
        self._uids = {(pod.namespace, pod.name): pod.uid for pod in cluster.pods}  # of the latest pod of each name
        self._versions: dict[str, int] = {}  # of pods by UID, of budgets by key

    def take(self, news: News) -> None:
        match news:
            case PodIs(pod, version):
                if self._is_newer(pod.uid, version):
                    if pod.uid not in self._pods:
                        self._uids[pod.namespace, pod.name] = pod.uid
                    self._pods[pod.uid] = pod
            case PodGone(uid, version):
                if self._is_newer(uid, version):
                    self._pods.pop(uid, None)
            case BudgetIs(budget, version):
                if self._is_newer(budget.key, version):
                    self.budgets[budget.key] = budget
            case BudgetGone(key):
                self.budgets.pop(key, None)
            case AllPods(pods, version):
                self._all_pods(pods, version)
            case AllBudgets(budgets, version):
                for budget, told in budgets:
                    self.take(BudgetIs(budget, told))
                there = {budget.key for budget, _ in budgets}
                self.budgets = {key: each for key, each in self.budgets.items() if key in there}
            case AllNodes(nodes):
                self.nodes = {node.name: node for node in nodes}
            case NodeIs(node):
                self.nodes[node.name] = node
            case PodsFound(ListPods(), pods):  # it has no version: a watched update of a pod takes precedence
                for pod in pods:
                    if pod.uid not in self._versions:
                        self._pods.setdefault(pod.uid, pod)
            case NodeGone(name):
                self.nodes.pop(name, None)

    def pod(self, uid: str) -> Pod | None:
        return self._pods.get(uid)

    def pods(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def holds(self, budget: str, now_s: float) -> tuple[Hold, ...]:
        """Return the budget's same-name holds; the clock is the cluster's at the first read, and runs on."""
        known = self.budgets.get(budget)
        if known is None or not known.disrupted:
            return ()
        uids = (self._uids.get((known.namespace, name), "") for name in known.disrupted)
        pods = [pod for uid in uids if (pod := self._pods.get(uid)) is not None]
        return same_name_holds(known, pods, self.first.observed_at + timedelta(seconds=now_s))

    def hold_s(self, budget: str, now_s: float) -> float:
        """Return when the last of its same-name holds ends, in seconds since the run started; 0 without one."""
        holds = self.holds(budget, now_s)
        return (holds[-1].until - self.first.observed_at).total_seconds() if holds else 0.0

    def now(self, facts: Cluster, passed_s: float) -> Cluster:
        """Return `facts` as of `elapsed_s` seconds later, with the observations since."""
        return replace(
            facts,
            observed_at=facts.observed_at + timedelta(seconds=passed_s),
            nodes=tuple(sorted(self.nodes.values(), key=lambda node: node.name)),
            pods=tuple(sorted(self.pods(), key=lambda pod: (pod.namespace, pod.name))),
            budgets=tuple(sorted(self.budgets.values(), key=lambda budget: budget.key)),
        )

    def version(self, of: str) -> int:
        """Return the latest observed version of a pod (by UID) or a budget (by key), 0 if it was only read."""
        return self._versions.get(of, 0)

    def _all_pods(self, pods: Sequence[tuple[Pod, int]], version: int) -> None:
        for pod, told in pods:
            self.take(PodIs(pod, told))
        there = {pod.uid for pod, _ in pods}
        for uid in [uid for uid in self._pods if uid not in there]:
            self.take(PodGone(uid, version))

    def _is_newer(self, of: str, version: int) -> bool:
        if version <= self._versions.get(of, 0):
            return False
        self._versions[of] = version
        return True


BELIEVED_S = 10.0
"""A pod whose eviction was accepted must be observed stopping within this time: some webhooks return success and change
nothing."""

FAKES = 3
"""An accepted eviction may have no effect this many times until the pod counts as kept."""

FAKE_PAUSE_S = 30.0

REFUSED_S = 60.0
"""How long the refusal of an unchanged budget is trusted."""

COUNTED_S = 120.0
"""How long a budget counts an eviction that was granted and did not happen (DeletionTimeout, disruption.go)."""

RIGHTS = 4
"""Number of "forbidden" responses in a row until the permission counts as missing."""


class _Row(NamedTuple):
    """Consecutive responses with the same trouble: their number, and the time of the first, `since_s`."""

    trouble: RunTrouble = RunTrouble.NONE
    times: int = 0
    since_s: float = 0.0

    def then(self, trouble: RunTrouble, now_s: float) -> _Row:
        return self._replace(times=self.times + 1) if trouble is self.trouble else _Row(trouble, 1, now_s)


class PodStep(Enum):
    WAITING = "waiting"  # to be requested
    ASKED = "asked"  # no response yet
    ACCEPTED = "accepted"
    IN_DOUBT = "in-doubt"  # evicted or not: unknown
    REPLACED = "replaced"  # its workload was restarted: it goes when the new pod is Ready
    LEAVING = "leaving"  # it has a deletionTimestamp
    GONE = "gone"
    KEPT = "kept"  # it stays until a user changes something


class PodPursuit:
    """Mutable. `since_s`: when it entered this step; `not_before_s`: when it may be requested, or read, again.

    `budget_version` is the budget's version when the eviction was requested: until a newer one is known, a refusal by
    the budget stands, for at most `REFUSAL_TRUSTED_S`, because the refusal may come from something other than a budget.
    `evictable_from_s`: from when the pod may be evicted, after the time to finish by itself. `finished`: it did.
    `read_pending`: a read of the pod is in flight; `failed_reads`: number of failed reads in a row. `grace_ends_s`:
    when the grace period of a stopping pod ends; `overdue`: it was reported as still there after that. `responses`: its
    latest consecutive equal responses; `alarm_reported`: it was reported that they are too many, or continue for too
    long.
    """

    def __init__(self, eviction: Eviction) -> None:
        self.eviction = eviction
        self.step = PodStep.WAITING
        self.since_s = 0.0
        self.not_before_s = 0.0
        self.begun_s = 0.0
        self.trouble = RunTrouble.NONE
        self.said = ""
        self.fakes = 0
        self.version = -1
        self.finished = False
        self.looked_for = False
        self.unlooked = 0
        self.ends_s = inf
        self.late = False
        self.row = _Row()
        self.alarmed = False

    @property
    def pod(self) -> Pod:
        return self.eviction.pod

    @property
    def over(self) -> bool:
        return self.step in (PodStep.GONE, PodStep.KEPT)

    @property
    def spared(self) -> bool:
        """Whether it is never evicted, however long it takes."""
        return self.eviction.manner.means is Means.PATIENCE

    @property
    def replaced_s(self) -> float:
        """How long after the restart of its workload the new pod should be Ready and this one gone."""
        restarts = self.eviction.manner.restarts
        return float(restarts.progress_s + self.pod.grace_seconds) if restarts is not None else 0.0

    def begin(self, now_s: float) -> None:
        """Start: its node was started, or it was scheduled onto a started node. From now on it has the time to finish
        by itself."""
        self.begun_s = now_s + self.eviction.manner.waits_s
        self.not_before_s = max(self.not_before_s, self.begun_s) if self.step is PodStep.WAITING else self.not_before_s

    def may_finish(self, now_s: float) -> bool:
        """Whether it still has time to finish by itself."""
        return bool(self.eviction.manner.waits_s) and now_s < self.begun_s

    def to(self, step: PodStep, now_s: float) -> None:
        self.step, self.since_s = step, now_s

    def asked(self, budget_version: int, now_s: float) -> None:
        self.to(PodStep.ASKED, now_s)
        self.version = budget_version
        self.trouble, self.said = RunTrouble.NONE, ""

    def answered(self, reading: Reading, now_s: float) -> None:
        if self.step is not PodStep.ASKED:
            return  # a newer observation takes precedence
        self.trouble, self.said = reading.trouble, reading.said
        self.not_before_s = now_s + reading.after_s
        self.row = self.row.then(reading.trouble, now_s)
        self.alarmed = self.alarmed and self.row.times > 1
        match reading.next:
            case Next.LEAVES:
                self.to(PodStep.ACCEPTED if self.eviction.manner.restarts is None else PodStep.REPLACED, now_s)
            case Next.GONE:
                self.to(PodStep.GONE, now_s)
            case Next.LOOK:
                self.to(PodStep.IN_DOUBT, now_s)
            case Next.NEVER:
                self.to(PodStep.KEPT, now_s)
            case Next.BUDGET | Next.AGAIN:
                self.to(PodStep.WAITING, now_s)
        if reading.trouble is RunTrouble.RIGHT:
            self._was_forbidden(now_s)

    def look(self, seen: ObservedState, now_s: float) -> None:
        """Update the step by observation, which outranks any response."""
        if self.over:
            return
        pod = seen.pod(self.pod.uid)
        if pod is None:
            self.to(PodStep.GONE, now_s)
        elif pod.deleting and self.step is not PodStep.LEAVING:
            self.to(PodStep.LEAVING, now_s)
            self.trouble, self.said = RunTrouble.NONE, ""
        elif pod.finished and self.step is PodStep.WAITING and self.eviction.manner.waits_s:
            self.to(PodStep.GONE, now_s)  # a finished pod does not occupy a node
            self.finished, self.said = True, f"it has ended by itself ({pod.phase})"
        elif self.step is PodStep.REPLACED and now_s - self.since_s >= self.replaced_s:
            self.keep(f"its workload was restarted, and no new pod is Ready after {duration(self.replaced_s)}", now_s)
        elif self.step is PodStep.ACCEPTED and now_s - self.since_s >= BELIEVED_S:
            self._was_swallowed(now_s)

    def found(self, pod: Pod | None, seen: ObservedState, now_s: float) -> None:
        """Handle a read of the pod, which was made because it was unknown whether it had been evicted."""
        self.looked_for, self.unlooked = False, 0
        if self.step is not PodStep.IN_DOUBT:
            return
        if pod is None or pod.uid != self.pod.uid:
            self.to(PodStep.GONE, now_s)
        elif pod.deleting:
            self.to(PodStep.LEAVING, now_s)
        elif self._is_counted(seen) and now_s - self.since_s < COUNTED_S:
            self.not_before_s = now_s + BELIEVED_S  # another request would count it twice
        else:
            self.to(PodStep.WAITING, now_s)
            self.not_before_s = max(self.not_before_s, self.begun_s, now_s + self._pause_s())

    def not_found(self, said: str, most: int, now_s: float) -> None:
        """Handle a failed read; after `max_failures` failures in a row the pod is given up."""
        self.looked_for = False
        if self.step is not PodStep.IN_DOUBT:
            return
        self.unlooked += 1
        self.not_before_s = now_s + SLOWLY_S
        if self.unlooked >= most:
            self.said = f"whether it was evicted cannot be found out: {said}"
            self.to(PodStep.KEPT, now_s)

    def _pause_s(self) -> float:
        """Return the pause before the next request: it grows with each uncertain response, so that other pods of its
        budget go first."""
        doubts = self.row.times if self.row.trouble is RunTrouble.SERVER else 0
        return min(SOON_S * 2.0 ** (doubts - 1), SLOWLY_S) if doubts > 1 else 0.0

    def _is_counted(self, seen: ObservedState) -> bool:
        budget = seen.budgets.get(self.eviction.budget)
        return budget is not None and self.pod.name in budget.disrupted

    def stays_refused(self, budget_version: int, now_s: float) -> bool:
        """Whether its budget would refuse again."""
        if self.trouble is not RunTrouble.BUDGET or self.version != budget_version:
            return False
        return now_s - self.since_s < REFUSED_S

    def keep(self, why: str, now_s: float) -> None:
        """Give up the pod: it stays until a user changes something."""
        self.said = self.said or why
        self.to(PodStep.KEPT, now_s)

    def _was_forbidden(self, now_s: float) -> None:
        what = f"no right to {right_for(self.eviction)}"
        if self.row.times < RIGHTS:
            again = f"it is asked for again in {REFUSED_WHO_S:g} s, {RIGHTS} times in all"
            self.said = f"{what}: {self.said}; {again}"
            return
        self.said = f"{what}, {RIGHTS} times within {duration(now_s - self.row.since_s)}: {self.said}"
        self.to(PodStep.KEPT, now_s)

    def _was_swallowed(self, now_s: float) -> None:
        self.fakes += 1
        self.trouble = RunTrouble.SWALLOWED
        self.said = f"its eviction was accepted {self.fakes} times, and nothing happened: a webhook may be in between"
        self.not_before_s = now_s + FAKE_PAUSE_S
        self.to(PodStep.KEPT if self.fakes >= FAKES else PodStep.WAITING, now_s)
