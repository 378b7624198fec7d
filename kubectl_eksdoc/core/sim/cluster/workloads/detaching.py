"""The attach-detach controller, as far as volumes leave nodes: an attachment goes once no pod on its node uses it.

Source: pkg/controller/volume/attachdetach/reconciler/reconciler.go, Kubernetes v1.36. Not modelled: new attachments (a
pod starts without them), and volumes that stay mounted.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import at
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key, What
from kubectl_eksdoc.core.sim.cluster.workloads import pods
from kubectl_eksdoc.core.sim.cluster.workloads.claim_protection import CLAIMS, claims_of
from kubectl_eksdoc.core.sim.cluster.workloads.index import Index

ATTACHMENTS = kinds.VOLUME_ATTACHMENTS.full_name

TAKES_S = 3.0
"""From the end of a pod until its volumes are off the node: unmounted by the kubelet, detached by the driver."""


class Detaching:
    """A `Controller`; keys are those of attachments."""

    resources = (ATTACHMENTS, pods.PODS)

    def __init__(self, registry: Registry, index: Index) -> None:
        self._registry = registry
        self._index = index
        self._due: dict[Key, float] = {}

    def touched(self, change: Change) -> Iterable[Key]:
        if change.item.resource == ATTACHMENTS:
            return (change.item.key,) if change.what is What.ADDED else ()
        node = pods.node_of(change.item.doc)
        if change.what is not What.DELETED or not node or not claims_of(change.item.doc):
            return ()
        return [item.key for item in self._registry.store.list(ATTACHMENTS) if at(item.doc, "spec", "nodeName") == node]

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(ATTACHMENTS, key)
        if item is None or self._is_used(item):
            self._due.pop(key, None)
            return None
        now_s = self._registry.agenda.seconds
        due_s = self._due.setdefault(key, now_s + TAKES_S)
        if now_s < due_s:
            return due_s - now_s
        del self._due[key]
        self._registry.delete(item)
        return None

    def _is_used(self, attachment: Item) -> bool:
        """What a pod holds inline has no name here, and counts as used."""
        volume = at(attachment.doc, "spec", "source", "persistentVolumeName")
        if not volume:
            return True
        for pod in self._index.on_node(str(at(attachment.doc, "spec", "nodeName"))):
            for name in claims_of(pod.doc):
                claim = self._registry.store.get(CLAIMS, (pod.key[0], name))
                if claim is not None and at(claim.doc, "spec", "volumeName") == volume:
                    return True
        return False
