"""What a budget's status says during a drain: each write of the eviction endpoint and of the disruption controller.

Made from the moves of a timeline, so that headroom over time can be shown, and held against what a real
control plane wrote. One eviction that a budget counts makes these writes, as far as they change anything:

1. the endpoint grants it: one disruption fewer is allowed, and the pod is listed as disrupted;
2. the controller sees the grant: the pod is not healthy any more;
3. it sees the pod's deletion: the pod is not listed any more;
4. the replacement is created, and 5. the old pod is gone: an absolute minAvailable expects a pod more or fewer;
6. the replacement is Ready: one healthy pod and one allowed disruption more.

A controller that is late sees several of these at once and leaves out what lies between; it writes no others.

Sources: pkg/registry/core/pod/storage/eviction.go (checkAndDecrement), pkg/controller/disruption/disruption.go
(trySync, updatePdbStatus), Kubernetes v1.36.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from kubectl_eksdoc.core.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.budgets import Computed, disruptions_allowed, expected_and_desired
from kubectl_eksdoc.core.rules.evictions import uses_up
from kubectl_eksdoc.core.rules.replacement import Replacement, replacement
from kubectl_eksdoc.core.sim.course import Moved


@dataclass(frozen=True, slots=True)
class Watched:
    """A budget when the drain begins: the pods it selects, and what the controller computes for them."""

    budget: Budget
    pods: tuple[Pod, ...]
    start: Computed


class StatusWrite(NamedTuple):
    """The status from `at_s` on, and how many pods status.disruptedPods lists.

    `status.allowed` below 0: the timeline evicts a pod that the endpoint would have refused.
    """

    at_s: float
    status: BudgetStatus
    disrupted: int


def status_writes(
    budgets: Iterable[Watched], moves: Sequence[Moved], lag_s: float = 0.0
) -> dict[str, tuple[StatusWrite, ...]]:
    """By budget (its key) its status at 0 s and every write after that.

    `moves` are in the order of eviction, as a timeline has them; pods that are not moved stay as they are.
    `lag_s` is from a replacement's readiness to the budget showing it, as in the terms of the simulation.
    """
    runs = [_Run(watched, lag_s) for watched in budgets]
    members: dict[str, list[tuple[_Run, Pod]]] = {}
    for run in runs:
        for pod in run.watched.pods:
            members.setdefault(pod.uid, []).append((run, pod))
    for moved in moves:
        for run, pod in members.get(moved.uid, ()):
            run.move(moved, pod)
    return {run.watched.budget.key: run.to_the_end() for run in runs}


def headroom(writes: Sequence[StatusWrite]) -> tuple[tuple[float, int], ...]:
    """(second, disruptions allowed from then on) wherever it changes; of several writes of one moment the last."""
    last = {write.at_s: write.status.allowed for write in writes}
    line: list[tuple[float, int]] = []
    for at_s, allowed in last.items():
        if not line or line[-1][1] != allowed:
            line.append((at_s, allowed))
    return tuple(line)


class _Later(NamedTuple):
    """What the controller sees at `at_s`. Of one moment it sees what is gone, what was created, what is Ready."""

    at_s: float
    healthy: int
    selected: int


class _Run:
    """One budget through the drain. Mutable, and private to one call of `status_writes`."""

    def __init__(self, watched: Watched, lag_s: float) -> None:
        self.watched = watched
        self._lag_s = lag_s
        self._scale = sum(c.replicas for c in watched.start.controllers)
        self._selected = len(watched.pods)
        self._healthy = watched.start.status.current
        self._disrupted = len(watched.start.disrupted)
        self._later: list[_Later] = []
        self._writes = [StatusWrite(0.0, watched.start.status, self._disrupted)]

    def move(self, moved: Moved, pod: Pod) -> None:
        """Everything up to this eviction, the eviction itself, and what follows from it later."""
        self._until(moved.evicted_s)
        now = self._writes[-1].status
        listed = pod.name in self.watched.start.disrupted
        budget = self.watched.budget
        # The status counts only where the pod is not Ready, and replacing it takes most of the time.
        if uses_up(pod, budget if pod.ready else replace(budget, status=now)):
            self._disrupted += not listed
            self._write(moved.evicted_s, BudgetStatus(now.allowed - 1, now.current, now.desired, now.expected))
            self._healthy -= pod.ready and not listed
            self._sync(moved.evicted_s)
            self._disrupted -= 1
            self._sync(moved.evicted_s)
        self._follow(moved, replacement(pod) is Replacement.AFTER_GONE)

    def _follow(self, moved: Moved, after_gone: bool) -> None:
        if moved.ready_s is not None and not after_gone:
            self._selected += 1
            self._sync(moved.evicted_s)
        self._at(moved.gone_s, selected=-1)
        if moved.ready_s is None:
            return
        if after_gone:
            self._at(moved.gone_s, selected=1)
        self._at(moved.ready_s + self._lag_s, healthy=1)

    def to_the_end(self) -> tuple[StatusWrite, ...]:
        self._until(inf)
        return tuple(self._writes)

    def _at(self, at_s: float, healthy: int = 0, selected: int = 0) -> None:
        heapq.heappush(self._later, _Later(at_s, healthy, selected))

    def _until(self, at_s: float) -> None:
        while self._later and self._later[0].at_s <= at_s:
            seen = heapq.heappop(self._later)
            self._healthy += seen.healthy
            self._selected += seen.selected
            self._sync(seen.at_s)

    def _sync(self, at_s: float) -> None:
        expected, desired = expected_and_desired(self.watched.budget, self._selected, self._scale)
        allowed = disruptions_allowed(expected, self._healthy, desired)
        self._write(at_s, BudgetStatus(allowed, self._healthy, desired, expected))

    def _write(self, at_s: float, status: BudgetStatus) -> None:
        """As the controller does: a status that is the same as before is not written."""
        written = StatusWrite(at_s, status, self._disrupted)
        if self._writes[-1][1:] != written[1:]:
            self._writes.append(written)
