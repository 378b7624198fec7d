"""Eviction of one pod: requested, stopping, gone, or stuck; how responses and observations change it. Also the observed
state of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from math import inf
from typing import NamedTuple

from kubectl_eksdoc.kubernetes.budgets import SameNameHold, same_name_holds
from kubectl_eksdoc.kubernetes.updates import (
    AllBudgets,
    AllNodes,
    AllPods,
    BudgetChanged,
    BudgetRemoved,
    NodeChanged,
    NodeRemoved,
    PodChanged,
    PodRemoved,
    PodsFound,
    RunUpdate,
)
from kubectl_eksdoc.model.actions import ListPods
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.quantities import format_duration

from ..outcome import Eviction
from ..policy import EvictionMethod
from .answers import (
    CONFLICT_RETRY_S,
    FORBIDDEN_RETRY_S,
    SLOW_RETRY_S,
    FollowUp,
    ResponseMeaning,
    RunTrouble,
    required_permission,
)

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

    def handle(self, update: RunUpdate) -> None:
        match update:
            case PodChanged(pod, version):
                if self._is_newer(pod.uid, version):
                    if pod.uid not in self._pods:
                        self._uids[pod.namespace, pod.name] = pod.uid
                    self._pods[pod.uid] = pod
            case PodRemoved(uid, version):
                if self._is_newer(uid, version):
                    self._pods.pop(uid, None)
            case BudgetChanged(budget, version):
                if self._is_newer(budget.key, version):
                    self.budgets[budget.key] = budget
            case BudgetRemoved(key):
                self.budgets.pop(key, None)
            case AllPods(pods, version):
                self._replace_pods(pods, version)
            case AllBudgets(budgets, version):
                for budget, item_version in budgets:
                    self.handle(BudgetChanged(budget, item_version))
                present = {budget.key for budget, _ in budgets}
                self.budgets = {key: each for key, each in self.budgets.items() if key in present}
            case AllNodes(nodes):
                self.nodes = {node.name: node for node in nodes}
            case NodeChanged(node):
                self.nodes[node.name] = node
            case PodsFound(ListPods(), pods):  # it has no version: a watched update of a pod takes precedence
                for pod in pods:
                    if pod.uid not in self._versions:
                        self._pods.setdefault(pod.uid, pod)
            case NodeRemoved(name):
                self.nodes.pop(name, None)

    def pod(self, uid: str) -> Pod | None:
        return self._pods.get(uid)

    def pods(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def holds(self, budget: str, now_s: float) -> tuple[SameNameHold, ...]:
        """Return the budget's same-name holds; the clock is the cluster's at the first read, and runs on."""
        known_budget = self.budgets.get(budget)
        if known_budget is None or not known_budget.disrupted:
            return ()
        uids = (self._uids.get((known_budget.namespace, name), "") for name in known_budget.disrupted)
        pods = [pod for uid in uids if (pod := self._pods.get(uid)) is not None]
        return same_name_holds(known_budget, pods, self.first.observed_at + timedelta(seconds=now_s))

    def hold_end_s(self, budget: str, now_s: float) -> float:
        """Return when the last of its same-name holds ends, in seconds since the run started; 0 without one."""
        holds = self.holds(budget, now_s)
        return (holds[-1].until - self.first.observed_at).total_seconds() if holds else 0.0

    def as_cluster(self, facts: Cluster, elapsed_s: float) -> Cluster:
        """Return `facts` as of `elapsed_s` seconds later, with the observations since."""
        return replace(
            facts,
            observed_at=facts.observed_at + timedelta(seconds=elapsed_s),
            nodes=tuple(sorted(self.nodes.values(), key=lambda node: node.name)),
            pods=tuple(sorted(self.pods(), key=lambda pod: (pod.namespace, pod.name))),
            budgets=tuple(sorted(self.budgets.values(), key=lambda budget: budget.key)),
        )

    def version(self, key: str) -> int:
        """Return the latest observed version of a pod (by UID) or a budget (by key), 0 if it was only read."""
        return self._versions.get(key, 0)

    def _replace_pods(self, pods: Sequence[tuple[Pod, int]], version: int) -> None:
        for pod, pod_version in pods:
            self.handle(PodChanged(pod, pod_version))
        present = {pod.uid for pod, _ in pods}
        for uid in [uid for uid in self._pods if uid not in present]:
            self.handle(PodRemoved(uid, version))

    def _is_newer(self, key: str, version: int) -> bool:
        if version <= self._versions.get(key, 0):
            return False
        self._versions[key] = version
        return True


STOP_VISIBLE_S = 10.0
"""A pod whose eviction was accepted must be observed stopping within this time: some webhooks return success and change
nothing."""

MAX_INEFFECTIVE = 3
"""An accepted eviction may have no effect this many times until the pod counts as kept."""

INEFFECTIVE_PAUSE_S = 30.0

REFUSAL_TRUSTED_S = 60.0
"""How long the refusal of an unchanged budget is trusted."""

DELETION_TIMEOUT_S = 120.0
"""How long a budget counts an eviction that was granted and did not happen (DeletionTimeout, disruption.go)."""

MAX_FORBIDDEN = 4
"""Number of "forbidden" responses in a row until the permission counts as missing."""


class _ResponseRun(NamedTuple):
    """Consecutive responses with the same trouble: their number, and the time of the first, `since_s`."""

    trouble: RunTrouble = RunTrouble.NONE
    times: int = 0
    since_s: float = 0.0

    def extended(self, trouble: RunTrouble, now_s: float) -> _ResponseRun:
        return self._replace(times=self.times + 1) if trouble is self.trouble else _ResponseRun(trouble, 1, now_s)


class PodStep(Enum):
    WAITING = "waiting"  # to be requested
    REQUESTED = "asked"  # no response yet
    ACCEPTED = "accepted"
    IN_DOUBT = "in-doubt"  # evicted or not: unknown
    REPLACED = "replaced"  # its workload was restarted: it goes when the new pod is Ready
    STOPPING = "leaving"  # it has a deletionTimestamp
    GONE = "gone"
    KEPT = "kept"  # it stays until a user changes something


class PodEviction:
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
        self.planned = eviction
        self.step = PodStep.WAITING
        self.since_s = 0.0
        self.not_before_s = 0.0
        self.evictable_from_s = 0.0
        self.trouble = RunTrouble.NONE
        self.message = ""
        self.ineffective = 0
        self.budget_version = -1
        self.finished = False
        self.read_pending = False
        self.failed_reads = 0
        self.grace_ends_s = inf
        self.overdue = False
        self.responses = _ResponseRun()
        self.alarm_reported = False

    @property
    def pod(self) -> Pod:
        return self.planned.pod

    @property
    def has_ended(self) -> bool:
        return self.step in (PodStep.GONE, PodStep.KEPT)

    @property
    def is_never_evicted(self) -> bool:
        """Whether it is never evicted, however long it takes."""
        return self.planned.eviction_mode.means is EvictionMethod.WAIT

    @property
    def replaced_s(self) -> float:
        """How long after the restart of its workload the new pod should be Ready and this one gone."""
        restarts = self.planned.eviction_mode.restarts
        return float(restarts.progress_deadline_s + self.pod.grace_seconds) if restarts is not None else 0.0

    def start(self, now_s: float) -> None:
        """Start: its node was started, or it was scheduled onto a started node. From now on it has the time to finish
        by itself."""
        self.evictable_from_s = now_s + self.planned.eviction_mode.waits_s
        self.not_before_s = (
            max(self.not_before_s, self.evictable_from_s) if self.step is PodStep.WAITING else self.not_before_s
        )

    def may_finish(self, now_s: float) -> bool:
        """Whether it still has time to finish by itself."""
        return bool(self.planned.eviction_mode.waits_s) and now_s < self.evictable_from_s

    def set_step(self, step: PodStep, now_s: float) -> None:
        self.step, self.since_s = step, now_s

    def mark_requested(self, budget_version: int, now_s: float) -> None:
        self.set_step(PodStep.REQUESTED, now_s)
        self.budget_version = budget_version
        self.trouble, self.message = RunTrouble.NONE, ""

    def handle_response(self, meaning: ResponseMeaning, now_s: float) -> None:
        if self.step is not PodStep.REQUESTED:
            return  # a newer observation takes precedence
        self.trouble, self.message = meaning.trouble, meaning.message
        self.not_before_s = now_s + meaning.retry_after_s
        self.responses = self.responses.extended(meaning.trouble, now_s)
        self.alarm_reported = self.alarm_reported and self.responses.times > 1
        match meaning.follow_up:
            case FollowUp.ACCEPTED:
                self.set_step(
                    PodStep.ACCEPTED if self.planned.eviction_mode.restarts is None else PodStep.REPLACED, now_s
                )
            case FollowUp.GONE:
                self.set_step(PodStep.GONE, now_s)
            case FollowUp.CHECK:
                self.set_step(PodStep.IN_DOUBT, now_s)
            case FollowUp.NEVER:
                self.set_step(PodStep.KEPT, now_s)
            case FollowUp.BUDGET | FollowUp.RETRY:
                self.set_step(PodStep.WAITING, now_s)
        if meaning.trouble is RunTrouble.RIGHT:
            self._handle_forbidden(now_s)

    def update(self, observed: ObservedState, now_s: float) -> None:
        """Update the step by observation, which outranks any response."""
        if self.has_ended:
            return
        pod = observed.pod(self.pod.uid)
        if pod is None:
            self.set_step(PodStep.GONE, now_s)
        elif pod.deleting and self.step is not PodStep.STOPPING:
            self.set_step(PodStep.STOPPING, now_s)
            self.trouble, self.message = RunTrouble.NONE, ""
        elif pod.finished and self.step is PodStep.WAITING and self.planned.eviction_mode.waits_s:
            self.set_step(PodStep.GONE, now_s)  # a finished pod does not occupy a node
            self.finished, self.message = True, f"it has ended by itself ({pod.phase})"
        elif self.step is PodStep.REPLACED and now_s - self.since_s >= self.replaced_s:
            self.keep(
                f"its workload was restarted, and no new pod is Ready after {format_duration(self.replaced_s)}", now_s
            )
        elif self.step is PodStep.ACCEPTED and now_s - self.since_s >= STOP_VISIBLE_S:
            self._handle_ineffective(now_s)

    def handle_read(self, pod: Pod | None, observed: ObservedState, now_s: float) -> None:
        """Handle a read of the pod, which was made because it was unknown whether it had been evicted."""
        self.read_pending, self.failed_reads = False, 0
        if self.step is not PodStep.IN_DOUBT:
            return
        if pod is None or pod.uid != self.pod.uid:
            self.set_step(PodStep.GONE, now_s)
        elif pod.deleting:
            self.set_step(PodStep.STOPPING, now_s)
        elif self._is_counted_by_budget(observed) and now_s - self.since_s < DELETION_TIMEOUT_S:
            self.not_before_s = now_s + STOP_VISIBLE_S  # another request would count it twice
        else:
            self.set_step(PodStep.WAITING, now_s)
            self.not_before_s = max(self.not_before_s, self.evictable_from_s, now_s + self._pause_s())

    def handle_failed_read(self, message: str, max_failures: int, now_s: float) -> None:
        """Handle a failed read; after `max_failures` failures in a row the pod is given up."""
        self.read_pending = False
        if self.step is not PodStep.IN_DOUBT:
            return
        self.failed_reads += 1
        self.not_before_s = now_s + SLOW_RETRY_S
        if self.failed_reads >= max_failures:
            self.message = f"whether it was evicted cannot be found out: {message}"
            self.set_step(PodStep.KEPT, now_s)

    def _pause_s(self) -> float:
        """Return the pause before the next request: it grows with each uncertain response, so that other pods of its
        budget go first."""
        doubts = self.responses.times if self.responses.trouble is RunTrouble.SERVER else 0
        return min(CONFLICT_RETRY_S * 2.0 ** (doubts - 1), SLOW_RETRY_S) if doubts > 1 else 0.0

    def _is_counted_by_budget(self, observed: ObservedState) -> bool:
        budget = observed.budgets.get(self.planned.budget)
        return budget is not None and self.pod.name in budget.disrupted

    def would_be_refused(self, budget_version: int, now_s: float) -> bool:
        """Whether its budget would refuse again."""
        if self.trouble is not RunTrouble.BUDGET or self.budget_version != budget_version:
            return False
        return now_s - self.since_s < REFUSAL_TRUSTED_S

    def keep(self, reason: str, now_s: float) -> None:
        """Give up the pod: it stays until a user changes something."""
        self.message = self.message or reason
        self.set_step(PodStep.KEPT, now_s)

    def _handle_forbidden(self, now_s: float) -> None:
        missing = f"no right to {required_permission(self.planned)}"
        if self.responses.times < MAX_FORBIDDEN:
            retry = f"it is asked for again in {FORBIDDEN_RETRY_S:g} s, {MAX_FORBIDDEN} times in all"
            self.message = f"{missing}: {self.message}; {retry}"
            return
        self.message = (
            f"{missing}, {MAX_FORBIDDEN} times within {format_duration(now_s - self.responses.since_s)}: {self.message}"
        )
        self.set_step(PodStep.KEPT, now_s)

    def _handle_ineffective(self, now_s: float) -> None:
        self.ineffective += 1
        self.trouble = RunTrouble.SWALLOWED
        self.message = (
            f"its eviction was accepted {self.ineffective} times, and nothing happened: a webhook may be in between"
        )
        self.not_before_s = now_s + INEFFECTIVE_PAUSE_S
        self.set_step(PodStep.KEPT if self.ineffective >= MAX_INEFFECTIVE else PodStep.WAITING, now_s)
