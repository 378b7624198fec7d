"""The stateful set controller: one pod for each ordinal, made again under its name only when the old one is gone.

Source: pkg/controller/statefulset/{stateful_set,stateful_set_control,stateful_set_utils}.go, Kubernetes v1.36.
MaxUnavailableStatefulSet is off in 1.36.2: it counts only where the spec has rollingUpdate.maxUnavailable.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key
from kubectl_eksdoc.core.sim.cluster.workloads import pods
from kubectl_eksdoc.core.sim.cluster.workloads.index import Index
from kubectl_eksdoc.core.sim.cluster.workloads.ordinals import identified, labelled, ordinal_of, ordinals
from kubectl_eksdoc.core.sim.cluster.workloads.owning import claimed, keys_of_owner, may_be_adopted
from kubectl_eksdoc.core.sim.cluster.workloads.revisions import Revisions, template_of
from kubectl_eksdoc.core.sim.cluster.workloads.selecting import Selectors
from kubectl_eksdoc.core.sim.cluster.workloads.set_claims import SetClaims
from kubectl_eksdoc.core.sim.cluster.workloads.set_rollout import to_update
from kubectl_eksdoc.core.sim.cluster.workloads.set_status import revision_of, runs_available, status_of
from kubectl_eksdoc.core.sim.cluster.workloads.templates import Templates

STATEFUL_SETS = kinds.STATEFUL_SETS.full_name


class StatefulSets:
    """A `Controller`; keys are those of StatefulSets."""

    resources = (STATEFUL_SETS, pods.PODS)

    def __init__(self, registry: Registry, index: Index) -> None:
        self._registry = registry
        self._index = index
        self._selectors = Selectors()
        self._templates = Templates(registry.store)
        self._revisions = Revisions(registry, index, kinds.STATEFUL_SETS)
        self._claims = SetClaims(registry)

    def touched(self, change: Change) -> Iterable[Key]:
        if change.item.resource == STATEFUL_SETS:
            return (change.item.key,)
        owners = keys_of_owner(change, kinds.STATEFUL_SETS)
        if not may_be_adopted(change):
            return owners
        parent, _, _ = change.item.key[1].rpartition("-")
        return (*owners, (change.item.key[0], parent))

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(STATEFUL_SETS, key)
        if item is None:
            return None
        selector = self._selectors.of(item.doc["spec"].get("selector"))
        held = self._revisions.of(item, selector)
        update = self._revisions.latest(item, held, _known_hash(item))
        named = at(item.doc, "status", "currentRevision")
        current = next((each for each in held if each.key[1] == named), update)
        own = claimed(self._registry, self._index, item, kinds.STATEFUL_SETS, selector, pods.PODS)
        numbered = {number: pod for pod in own if (number := ordinal_of(item, pod)) is not None}
        marked = 0 if item.leaving else self._sync(item, numbered, current, update)
        status, again_s = status_of(item, numbered.values(), current, update, marked, self._registry.agenda.now)
        written = self._registry.get(STATEFUL_SETS, key)
        self._registry.update(written, {**written.doc, "status": status}, status=True)
        live = {current.key[1], update.key[1], *(revision_of(pod.doc) for pod in own)}
        self._revisions.truncate(item, held, live)
        return again_s

    def _sync(self, item: Item, numbered: dict[int, Item], current: Item, update: Item) -> int:
        """Make, delete and update pods as far as the set's management allows now.

        Returns how many pods of the current revision were deleted for the update.
        """
        in_order = item.doc["spec"].get("podManagementPolicy") != "Parallel"
        wanted = ordinals(item)
        for number in wanted:
            if self._blocks(item, numbered.get(number), number, current, update) and in_order:
                return 0
        condemned = sorted((number for number in numbered if number not in wanted), reverse=True)
        if not self._condemn(item, numbered, condemned, in_order) and in_order:
            return 0
        gone = to_update(item, [numbered.get(number) for number in wanted], update, self._registry.agenda.now)
        for pod in gone:
            self._registry.delete(pod)
        return len(gone)

    def _blocks(self, item: Item, pod: Item | None, number: int, current: Item, update: Item) -> bool:
        """See to the pod of that ordinal; whether those after it must wait for it."""
        if pod is None:
            self._create(item, number, current, update)
            return True
        if pods.is_finished(pod.doc):
            if not pod.leaving:
                self._registry.delete(pod)
            return True
        if pods.phase(pod.doc) == "Pending":
            self._claims.create_missing(item, number)
        if pod.leaving or not runs_available(item, pod, self._registry.agenda.now):
            return True
        doc = labelled(pod, number)
        if doc is not pod.doc:
            self._registry.update(pod, doc)
        return False

    def _create(self, item: Item, number: int, current: Item, update: Item) -> None:
        revision = current if _keeps_current(item, number) else update
        template = template_of(revision)
        self._claims.create_missing(item, number)
        pod = self._templates.pod(template, item, kinds.STATEFUL_SETS)
        self._registry.create(pods.PODS, identified(pod, item, number, revision.key[1]), item.key[0])

    def _condemn(self, item: Item, numbered: dict[int, Item], condemned: list[int], in_order: bool) -> bool:
        """Delete the pods beyond the wanted, the last first; whether there was none."""
        now = self._registry.agenda.now
        ailing = [number for number in condemned if not runs_available(item, numbered[number], now)]
        for number in condemned:
            pod = numbered[number]
            if in_order and (pod.leaving or (ailing and number in ailing and number != ailing[-1])):
                return False
            if not pod.leaving:
                self._claims.let_go_with(item, pod, number)
                self._registry.delete(pod)
                if in_order:
                    return False
        return not condemned


def _keeps_current(item: Item, number: int) -> bool:
    """Whether a pod of that ordinal is made from the current revision, not from the one it is updated to."""
    strategy: Doc = item.doc["spec"].get("updateStrategy") or {}
    first = ordinals(item).start
    rolling = strategy.get("rollingUpdate")
    if rolling is not None:
        return number < first + int(rolling.get("partition") or 0)
    replicas = int(at(item.doc, "status", "currentReplicas") or 0)
    return strategy.get("type", "RollingUpdate") == "RollingUpdate" and number < first + replicas


def _known_hash(item: Item) -> str:
    """By which the controller that was here before called the template, if it has seen it as it is now."""
    status = item.doc.get("status") or {}
    if status.get("observedGeneration") != item.doc["metadata"].get("generation"):
        return ""
    return str(status.get("updateRevision") or "").removeprefix(item.key[1] + "-")
