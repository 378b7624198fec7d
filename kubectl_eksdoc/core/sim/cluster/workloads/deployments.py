"""The deployment controller: a ReplicaSet for each template, the new one growing as the old ones shrink.

Source: pkg/controller/deployment/{deployment_controller,sync,rolling,recreate,progress}.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.core.sim.cluster.conditions import condition
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key, What
from kubectl_eksdoc.core.sim.cluster.workloads import deployment_status as statuses
from kubectl_eksdoc.core.sim.cluster.workloads import pods
from kubectl_eksdoc.core.sim.cluster.workloads.generations import REVISION, Generations
from kubectl_eksdoc.core.sim.cluster.workloads.index import Index
from kubectl_eksdoc.core.sim.cluster.workloads.owning import claimed, controller_of, keys_of_owner, may_be_adopted
from kubectl_eksdoc.core.sim.cluster.workloads.replica_sets import REPLICA_SETS, wanted
from kubectl_eksdoc.core.sim.cluster.workloads.rollout_sizes import (
    DESIRED,
    Limits,
    Sizes,
    counted,
    limits_of,
    noted,
    rolled,
    scaled_sizes,
)
from kubectl_eksdoc.core.sim.cluster.workloads.selecting import Selectors

DEPLOYMENTS = kinds.DEPLOYMENTS.full_name


class Deployments:
    """A `Controller`; keys are those of Deployments."""

    resources = (DEPLOYMENTS, REPLICA_SETS, pods.PODS)

    def __init__(self, registry: Registry, index: Index) -> None:
        self._registry = registry
        self._index = index
        self._selectors = Selectors()
        self._generations = Generations(registry)
        self._writing = False

    def touched(self, change: Change) -> Iterable[Key]:
        if change.item.resource == DEPLOYMENTS:
            return () if self._writing else (change.item.key,)
        if change.item.resource == pods.PODS:
            return self._waiting_for(change) if change.what is What.DELETED else ()
        owners = keys_of_owner(change, kinds.DEPLOYMENTS)
        return (*owners, *self._would_adopt(change.item)) if may_be_adopted(change) else owners

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(DEPLOYMENTS, key)
        if item is None:
            return None
        selector = self._selectors.of(item.doc["spec"].get("selector"))
        own = claimed(self._registry, self._index, item, kinds.DEPLOYMENTS, selector, REPLICA_SETS)
        new, old = self._generations.told_apart(item, own)
        limits = limits_of(item.doc)
        if item.leaving:
            self._write(item, statuses.status_of(item.doc, new, old, limits, self._registry.now))
            return None
        item = self._with_pause(item)
        if item.doc["spec"].get("paused") or self._was_scaled(item, new, old):
            self._scale(item, new, old, limits)
            return None
        if limits.rolling:
            return self._roll(item, new, old, limits)
        return self._recreate(item, new, old, limits)

    def _waiting_for(self, change: Change) -> Iterable[Key]:
        """Deployments that begin anew only when their last pod is gone."""
        for namespace, name in keys_of_owner(change, kinds.REPLICA_SETS):
            parent = self._registry.store.get(REPLICA_SETS, (namespace, name))
            owner = controller_of(parent.doc) if parent is not None else None
            if owner is not None and owner["kind"] == kinds.DEPLOYMENTS.kind:
                held = self._registry.store.get(DEPLOYMENTS, (namespace, owner["name"]))
                if held is not None and not limits_of(held.doc).rolling:
                    yield held.key

    def _would_adopt(self, item: Item) -> Iterable[Key]:
        labels = pods.labels_of(item.doc)
        for each in self._registry.store.list(DEPLOYMENTS, item.key[0]):
            if self._selectors.of(each.doc["spec"].get("selector")).matches(labels):
                yield each.key

    def _with_pause(self, item: Item) -> Item:
        """With a Progressing condition that says that it is paused, or goes on."""
        held = condition(item.doc, statuses.PROGRESSING)
        reason = held.get("reason") if held else ""
        paused = bool(item.doc["spec"].get("paused"))
        if statuses.deadline_of(item.doc) is None or reason == statuses.TIMED_OUT:
            return item
        if paused == (reason == "DeploymentPaused"):
            return item
        word = ("DeploymentPaused", "paused") if paused else ("DeploymentResumed", "resumed")
        return self._conditioned(item, statuses.progressing("Unknown", word[0], f"Deployment is {word[1]}"))

    def _was_scaled(self, item: Item, new: Item | None, old: Sequence[Item]) -> bool:
        replicas = wanted(item.doc)
        every = [*old, *((new,) if new is not None else ())]
        return any(noted(each, DESIRED) not in (None, replicas) for each in every if wanted(each.doc))

    def _scale(self, item: Item, new: Item | None, old: list[Item], limits: Limits) -> None:
        """Only sizes change: no new ReplicaSet is made."""
        if new is not None:
            new = self._generations.synced(item, new, old)
            item = self._revised(item, new)
        sizes = scaled_sizes(limits, new, old, counted(item, "replicas"))
        new, old = self._resized(limits, sizes, new, old, note=len(sizes) > 1)
        if item.doc["spec"].get("paused"):
            self._generations.clean_up(item, old)
        self._write(item, statuses.status_of(item.doc, new, old, limits, self._registry.now))

    def _roll(self, item: Item, new: Item | None, old: list[Item], limits: Limits) -> float | None:
        item, there = self._latest(item, new, old, limits)
        steps = rolled(limits, there, old)
        latest, old = self._resized(limits, steps, there, old)
        if not steps:
            self._generations.clean_up(item, old)
        return self._report(item, latest, old, limits)

    def _recreate(self, item: Item, new: Item | None, old: list[Item], limits: Limits) -> float | None:
        """The old pods must be gone before the new ones are made."""
        running = [each for each in old if wanted(each.doc)]
        if running:
            new, old = self._resized(limits, [(each, 0) for each in running], new, old)
            return self._report(item, new, old, limits)
        if any(counted(each, "replicas") or self._runs(each) for each in old):
            return self._report(item, new, old, limits)
        item, there = self._latest(item, new, old, limits)
        latest, old = self._resized(limits, [(there, limits.replicas)], there, old)
        if statuses.complete(item.doc, statuses.status_of(item.doc, latest, old, limits, self._registry.now)):
            self._generations.clean_up(item, old)
        return self._report(item, latest, old, limits)

    def _runs(self, item: Item) -> bool:
        return any(not pods.is_finished(pod.doc) for pod in self._index.controlled(item.uid, pods.PODS))

    def _latest(self, item: Item, new: Item | None, old: Sequence[Item], limits: Limits) -> tuple[Item, Item]:
        """The deployment and the ReplicaSet of its template, made if it is missing."""
        if new is not None:
            new = self._generations.synced(item, new, old)
            item = self._revised(item, new)
            if statuses.deadline_of(item.doc) is not None and condition(item.doc, statuses.PROGRESSING) is None:
                text = f'Found new replica set "{new.key[1]}"'
                item = self._conditioned(item, statuses.progressing("True", "FoundNewReplicaSet", text))
            return item, new
        new, collisions = self._generations.create(item, old, limits)
        item = self._revised(item, new)
        if collisions != int(at(item.doc, "status", "collisionCount") or 0):
            item = self._written(item, with_value(item.doc, ("status", "collisionCount"), collisions))
        if statuses.deadline_of(item.doc) is not None:
            text = f'Created new replica set "{new.key[1]}"'
            item = self._conditioned(item, statuses.progressing("True", "NewReplicaSetCreated", text))
        return item, new

    def _resized(
        self, limits: Limits, sizes: Sizes, new: Item | None, old: Sequence[Item], note: bool = False
    ) -> tuple[Item | None, list[Item]]:
        """Both as they are after that; `note`: what the deployment wants is noted where the size stays, too."""
        made = {each.uid: (each, size) for each, size in sizes if note or wanted(each.doc) != size}
        written = {uid: self._generations.resize(each, size, limits) for uid, (each, size) in made.items()}
        return written.get(new.uid, new) if new is not None else None, [written.get(each.uid, each) for each in old]

    def _revised(self, item: Item, new: Item) -> Item:
        """With the revision of its newest ReplicaSet."""
        revision = pods.annotations_of(new.doc).get(REVISION)
        if revision is None or pods.annotations_of(item.doc).get(REVISION) == revision:
            return item
        annotations = {**pods.annotations_of(item.doc), REVISION: revision}
        return self._written(item, with_value(item.doc, ("metadata", "annotations"), annotations))

    def _conditioned(self, item: Item, new: Doc) -> Item:
        held = at(item.doc, "status", "conditions") or []
        made = statuses.with_condition(held, new, self._registry.now)
        return self._written(item, with_value(item.doc, ("status", "conditions"), made))

    def _report(self, item: Item, new: Item | None, old: Sequence[Item], limits: Limits) -> float | None:
        status = statuses.status_of(item.doc, new, old, limits, self._registry.now)
        now = self._registry.agenda.now
        status = statuses.with_progress(item.doc, status, new, old, now, self._registry.now)
        self._write(item, status)
        return statuses.looked_at_again_s(item.doc, status, now)

    def _write(self, item: Item, status: Doc) -> None:
        if status != item.doc.get("status"):
            self._written(item, {**item.doc, "status": status})

    def _written(self, item: Item, doc: Doc) -> Item:
        """It need not look again at what it wrote itself."""
        self._writing = True
        try:
            return self._registry.update(item, doc, status=True)
        finally:
            self._writing = False
