"""The disruption controller: it writes the status of budgets.

Source: pkg/controller/disruption/disruption.go (trySync, getPdbForPod, updatePdbStatus), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.budgets import DELETION_TIMEOUT, CannotTell, sync
from kubectl_eksdoc.core.sim.cluster.conditions import with_condition
from kubectl_eksdoc.core.sim.cluster.kubelets import none_is
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.roster import BUDGETS, PODS, Roster, labels_in
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key
from kubectl_eksdoc.core.sim.cluster.times import rfc3339


class DisruptionController:
    """A `Controller` whose keys are budgets'."""

    resources = (PODS, BUDGETS)

    def __init__(self, registry: Registry, roster: Roster, missed: Callable[[Pod], bool] = none_is) -> None:
        """`missed`: pods whose end it does not see before a pod of the same name is there, for it is busy."""
        self._registry = registry
        self._missed = missed
        self._awaited: set[Key] = set()  # pods that it missed, until the next one of that name is there
        self._roster = roster

    def touched(self, change: Change) -> Iterable[Key]:
        """Of a pod under several budgets one is looked at, any one (here the first by name); see getPdbForPod."""
        if change.item.resource == BUDGETS:
            yield change.item.key
            return
        namespace = change.item.key[0]
        for labels in labels_in(change):
            guards = self._roster.guards(namespace, labels)
            if guards:
                yield namespace, guards[0].name

    def unfinished(self, item: Item) -> Iterable[Key]:
        """Statuses are as the real controller left them, stale ones too; those that wait for something go on."""
        if item.resource == BUDGETS:
            budget = self._roster.budget(item.key)
            if budget is not None and (budget.disrupted or budget.observed_generation < budget.generation):
                yield item.key

    def reconcile(self, key: Key) -> float | None:
        """Write what is computed now; again when the first granted eviction has waited too long."""
        budget = self._roster.budget(key)
        if budget is None:
            return None
        now = self._registry.agenda.now
        if self._is_busy(budget):  # it is woken when the next pod of that name is there, too
            first = min(budget.disrupted.values())
            return max(0.0, (first + DELETION_TIMEOUT - now).total_seconds()) + 1.0
        written = sync(budget, self._roster.selected(budget), self._roster.scales, now)
        if not isinstance(written, Budget):
            assert not isinstance(written, CannotTell), "everything there is, is known here"
            return None
        item = self._registry.get(BUDGETS, key)
        self._registry.update(item, with_status(item.doc, written, now), status=True)
        if not written.disrupted:
            return None
        first = min(written.disrupted.values())
        return max(0.0, (first + DELETION_TIMEOUT - now).total_seconds()) + 1.0

    def _is_busy(self, budget: Budget) -> bool:
        """Whether it still misses that a StatefulSet's pod goes: its controller makes one of the same name."""
        there = {pod.name: pod for pod in self._roster.selected(budget)} if budget.disrupted else {}
        now, busy = self._registry.agenda.now, False
        for name, granted in budget.disrupted.items():
            pod, key = there.get(name), (budget.namespace, name)
            if pod is not None and pod.deleting and _comes_back(pod) and self._missed(pod):
                self._awaited.add(key)
            elif pod is not None or granted + DELETION_TIMEOUT <= now:
                self._awaited.discard(key)
            busy = busy or key in self._awaited
        return busy


def _comes_back(pod: Pod) -> bool:
    """Whether the next one has its name."""
    return pod.owner is not None and pod.owner.kind == "StatefulSet"


def with_status(doc: Doc, budget: Budget, now: datetime) -> Doc:
    """The budget's document with the status of the fact `budget`, its condition's time kept while it stays as it is."""
    status: Doc = dict(at(doc, "status") or {})
    status["disruptionsAllowed"] = budget.status.allowed
    status["currentHealthy"] = budget.status.current
    status["desiredHealthy"] = budget.status.desired
    status["expectedPods"] = budget.status.expected
    if budget.observed_generation:
        status["observedGeneration"] = budget.observed_generation
    status.pop("disruptedPods", None)
    if budget.disrupted:
        status["disruptedPods"] = {name: rfc3339(since) for name, since in sorted(budget.disrupted.items())}
    if budget.condition_status:
        status["conditions"] = with_condition(
            status.get("conditions") or [],
            {
                "type": "DisruptionAllowed",
                "status": budget.condition_status,
                "reason": budget.condition_reason,
                "message": budget.condition_message,
                **({"observedGeneration": budget.observed_generation} if budget.observed_generation else {}),
            },
            rfc3339(now),
        )
    return with_value(doc, ("status",), status)
