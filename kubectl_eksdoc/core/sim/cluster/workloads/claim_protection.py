"""The protection of claims in use: one that is being deleted stays until no pod on a node uses it.

Source: pkg/controller/volume/pvcprotection/pvc_protection_controller.go (podUsesPVC), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key, What

CLAIMS, PODS = kinds.CLAIMS.full_name, kinds.PODS.full_name
FINALIZER = "kubernetes.io/pvc-protection"


class ClaimProtection:
    """A `Controller`; keys are those of claims."""

    resources = (CLAIMS, PODS)

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def touched(self, change: Change) -> Iterable[Key]:
        if change.item.resource == CLAIMS:
            return (change.item.key,) if _is_held(change.item) else ()
        if change.what is not What.DELETED:
            return ()
        return [(change.item.key[0], name) for name in claims_of(change.item.doc)]

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(CLAIMS, key)
        if item is None or not _is_held(item) or self._is_used(key):
            return None
        kept = [each for each in item.doc["metadata"]["finalizers"] if each != FINALIZER]
        self._registry.update(item, with_value(item.doc, ("metadata", "finalizers"), kept))
        return None

    def _is_used(self, key: Key) -> bool:
        """By a pod that has a node: no kubelet starts one whose claim is being deleted."""
        pods = self._registry.store.list(PODS, key[0])
        return any(at(pod.doc, "spec", "nodeName") and key[1] in claims_of(pod.doc) for pod in pods)


def _is_held(claim: Item) -> bool:
    return claim.leaving and FINALIZER in (at(claim.doc, "metadata", "finalizers") or ())


def claims_of(pod: Doc) -> list[str]:
    """Ephemeral volumes' claims are named after pod and volume."""
    found = []
    for volume in at(pod, "spec", "volumes") or ():
        if volume.get("persistentVolumeClaim"):
            found.append(str(volume["persistentVolumeClaim"].get("claimName") or ""))
        elif volume.get("ephemeral"):
            found.append(f"{pod['metadata']['name']}-{volume.get('name')}")
    return found
