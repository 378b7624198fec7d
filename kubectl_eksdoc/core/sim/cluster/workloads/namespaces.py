"""The namespace controller: everything in a namespace that is being deleted goes, pods first, and then the namespace.

Source: pkg/controller/namespace/deletion/namespaced_resources_deleter.go, Kubernetes v1.36 (OrderedNamespaceDeletion).
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import at, with_value
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key, What

NAMESPACES, PODS = kinds.NAMESPACES.full_name, kinds.PODS.full_name
FINALIZER = "kubernetes"


class Namespaces:
    """A `Controller`; keys are those of Namespaces."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.resources = registry.traits.keys()

    def touched(self, change: Change) -> Iterable[Key]:
        if change.item.resource == NAMESPACES:
            return (change.item.key,) if change.item.leaving else ()
        namespace = ("", change.item.key[0])
        if change.what is not What.DELETED or not namespace[1]:
            return ()
        held = self._registry.store.get(NAMESPACES, namespace)
        return (namespace,) if held is not None and held.leaving else ()

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(NAMESPACES, key)
        if item is None or not item.leaving:
            return None
        pods = self._content((PODS,), key[1])
        left = pods or self._content(self._registry.traits, key[1])
        for each in left:
            if not each.leaving:
                self._registry.delete(each)
        if not self._content(self._registry.traits, key[1]):
            self._finalize(item)
        elif pods and not self._content((PODS,), key[1]):
            return 0.0
        return None

    def _content(self, resources: Iterable[str], namespace: str) -> list[Item]:
        store, traits = self._registry.store, self._registry.traits
        return [item for name in resources if traits[name].namespaced for item in store.list(name, namespace)]

    def _finalize(self, item: Item) -> None:
        kept = [each for each in at(item.doc, "spec", "finalizers") or () if each != FINALIZER]
        self._registry.update(item, with_value(item.doc, ("spec", "finalizers"), kept))
