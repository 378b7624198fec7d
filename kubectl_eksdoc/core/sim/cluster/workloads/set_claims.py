"""The claims of a StatefulSet's pods: made where they are missing, and whose they are when pods or set go.

Source: pkg/controller/statefulset/{stateful_pod_control,stateful_set_utils}.go, Kubernetes v1.36
(StatefulSetAutoDeletePVC); plugin/pkg/admission/storage/storageobjectinuseprotection (the finalizer of new claims).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.workloads.claim_protection import FINALIZER
from kubectl_eksdoc.core.sim.cluster.workloads.ordinals import claim_names
from kubectl_eksdoc.core.sim.cluster.workloads.owning import reference_to

CLAIMS = kinds.CLAIMS.full_name


class SetClaims:
    """What the StatefulSet controller does with claims."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def create_missing(self, owner: Item, ordinal: int) -> None:
        """
        Raises:
            Refusal: one could not be made.
        """
        templates = owner.doc["spec"].get("volumeClaimTemplates") or ()
        names = claim_names(owner, ordinal)
        for template in templates:
            name = names[template["metadata"]["name"]]
            if self._registry.store.get(CLAIMS, (owner.key[0], name)) is None:
                self._registry.create(CLAIMS, _claim(template, name, owner), owner.key[0])

    def let_go_with(self, owner: Item, pod: Item, ordinal: int) -> None:
        """Where claims are deleted when the set is scaled down: the pod that goes takes its claims with it."""
        if _policy(owner, "whenScaled") == "Delete":
            for claim in self._of(owner, ordinal):
                self._own(claim, pod, kinds.PODS)

    def _of(self, owner: Item, ordinal: int) -> Iterator[Item]:
        for name in claim_names(owner, ordinal).values():
            held = self._registry.store.get(CLAIMS, (owner.key[0], name))
            if held is not None:
                yield held

    def _own(self, claim: Item, owner: Item, kind: Resource) -> None:
        held = at(claim.doc, "metadata", "ownerReferences") or []
        if not any(each["uid"] == owner.uid for each in held):
            owners = [*held, reference_to(owner, kind)]
            self._registry.update(claim, with_value(claim.doc, ("metadata", "ownerReferences"), owners))


def _claim(template: Doc, name: str, owner: Item) -> Doc:
    given = template["metadata"]
    labels = {**(given.get("labels") or {}), **(at(owner.doc, "spec", "selector", "matchLabels") or {})}
    meta: Doc = {"name": name, "labels": labels, "finalizers": [FINALIZER]}
    if given.get("annotations"):
        meta["annotations"] = given["annotations"]
    if _policy(owner, "whenDeleted") == "Delete":
        meta["ownerReferences"] = [reference_to(owner, kinds.STATEFUL_SETS)]
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {**kind, "metadata": meta, "spec": template.get("spec") or {}, "status": {"phase": "Pending"}}


def _policy(owner: Item, when: str) -> str:
    return str(at(owner.doc, "spec", "persistentVolumeClaimRetentionPolicy", when) or "Retain")
