"""The garbage collector: deletes objects whose owners are all gone, in the background or foreground, or orphans them.

An owner of an unknown kind, or of a kind of which no object was ever seen, never counts as missing: where a kind was
not read, the absence of its objects proves nothing.
Source: pkg/controller/garbagecollector/{garbagecollector,graph_builder}.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value

from ..disruptions import with_disruption_target
from ..registry import DeleteOptions, Registry
from ..store import (
    CLAIMS,
    NAMESPACES,
    NODES,
    PODS,
    ObjectKey,
    StoreChange,
    StoreChangeKind,
    StoredItem,
)
from .ownership import ObjectController, ObjectIndex, is_missing

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"

_OWNERS = ("metadata", "ownerReferences")


class GarbageCollector(ObjectController):
    """A `Controller` whose keys are ("", UID). It gets the changes of all kinds that the registry knows."""

    def __init__(self, registry: Registry, index: ObjectIndex) -> None:
        super().__init__(registry, index)
        self.resources = registry.served.keys()

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        owners = change.item.owners
        if change.is_deletion:
            deleted_uid = change.item.uid
            yield from (("", item.uid) for item in self._index.dependents(deleted_uid))
            yield from (("", owner["uid"]) for owner in owners)  # the owner may have waited for this object
        elif change.item.deleting:
            if change.item.finalizers:
                yield ("", change.item.uid)
            if owners and (change.before is None or not change.before.deleting):
                yield from (("", owner["uid"]) for owner in owners)
        elif owners and (change.before is None or change.before.owners != owners):
            yield ("", change.item.uid)

    def reconcile(self, key: ObjectKey) -> float | None:
        item = self._index.by_uid(key[1])
        if item is None:
            return None
        if item.deleting and ORPHAN in item.finalizers:
            # Its dependents lose it as an owner; then it may be removed.
            for dependent in self._index.dependents(item.uid):
                self._remove_owners(dependent, {item.uid})
            self._remove_finalizer(item, ORPHAN)
        elif _waits_for_dependents(item):
            self._collect_dependents(item)
        else:
            self._collect(item)
        return None

    def _collect_dependents(self, item: StoredItem) -> None:
        """Delete its dependents; it is removed when no dependent blocks it."""
        for dependent in self._index.dependents(item.uid):
            self._collect(dependent)
        if not any(_blocks(dependent, item.uid) for dependent in self._index.dependents(item.uid)):
            self._remove_finalizer(item, FOREGROUND)

    def _collect(self, item: StoredItem) -> None:
        """Delete an object without a remaining owner; an object with some remaining owners only loses the others."""
        owners = item.owners
        if not owners or (item.deleting and not _waits_for_dependents(item)):
            return
        missing = {owner["uid"] for owner in owners if is_missing(self._registry, self._index, owner, item.key[0])}
        waiting = {owner["uid"] for owner in owners if self._is_waiting(owner)}
        if any(owner["uid"] not in missing | waiting for owner in owners):
            if missing | waiting:
                self._remove_owners(item, missing | waiting)
        elif waiting and self._index.dependents(item.uid):
            self._delete(item, "Foreground")
        elif not item.deleting:
            self._delete(item, _requested_propagation(item))

    def _is_waiting(self, owner: Doc) -> bool:
        owner_item = self._index.by_uid(owner["uid"])
        return owner_item is not None and _waits_for_dependents(owner_item)

    def _remove_owners(self, item: StoredItem, uids: set[str]) -> None:
        current = self._registry.get(item.resource, item.key)
        remaining = [each for each in current.owners if each["uid"] not in uids]
        self._registry.set_value(current, _OWNERS, remaining)

    def _delete(self, item: StoredItem, propagation: str) -> None:
        current = self._registry.get(item.resource, item.key)
        if propagation != "Foreground" or not _waits_for_dependents(current):
            self._registry.delete(current, DeleteOptions(uid=item.uid, propagation=propagation))

    def _remove_finalizer(self, item: StoredItem, finalizer: str) -> None:
        current = self._registry.get(item.resource, item.key)
        self._registry.remove_finalizer(current, finalizer)


def _waits_for_dependents(item: StoredItem) -> bool:
    """Whether it is being deleted and waits for its dependents to be removed first."""
    return item.deleting and FOREGROUND in item.finalizers


def _blocks(item: StoredItem, uid: str) -> bool:
    return any(each["uid"] == uid and each.get("blockOwnerDeletion") for each in item.owners)


def _requested_propagation(item: StoredItem) -> str:
    """The propagation that its own finalizers request."""
    if ORPHAN in item.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in item.finalizers else "Background"


# The pod garbage collector: pods on missing nodes are failed and deleted by force, whatever their budgets.
#
# Source: pkg/controller/podgc/gc_controller.go (gcOrphaned, markFailedAndDeletePodWithCondition), Kubernetes v1.36.
# Finished pods beyond the threshold of 12,500 are not deleted.


PERIOD_S = 20.0
"""Interval of its checks (gcCheckPeriod)."""

QUARANTINE_S = 40.0
"""A node must be missing for this long since it was first missed (quarantineTime)."""

REASON, MESSAGE = "DeletionByPodGC", "PodGC: node no longer exists"


class PodGarbageCollector(ObjectController):
    """A `Controller` whose keys are ("", node name). Without any node in the store none is missing."""

    resources = (NODES, PODS)

    def __init__(self, registry: Registry, index: ObjectIndex) -> None:
        super().__init__(registry, index)
        self._due_s: dict[str, float] = {}

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        if change.resource == NODES:
            return (change.key,) if change.change_kind is not StoreChangeKind.MODIFIED else ()
        node = change.item.node
        if change.is_deletion or not node or self._node_exists(node):
            return ()
        before = change.before
        return (("", node),) if before is None or before.node != node else ()

    def reconcile(self, key: ObjectKey) -> float | None:
        node = key[1]
        if self._node_exists(node) or not self._index.has_seen(NODES):
            self._due_s.pop(node, None)
            return None
        now_s = self._registry.seconds
        due_s = self._due_s.setdefault(node, now_s + (-now_s % PERIOD_S) + QUARANTINE_S)
        if now_s < due_s:
            return due_s - now_s
        del self._due_s[node]
        for pod in self._index.on_node(node):
            self._force_delete(pod)
        return None

    def _node_exists(self, node: str) -> bool:
        return self._registry.find(NODES, ("", node)) is not None

    def _force_delete(self, pod: StoredItem) -> None:
        if not pod.finished:
            doc = with_disruption_target(pod, REASON, MESSAGE, self._registry.timestamp)
            pod = self._registry.update(pod, with_value(doc, ("status", "phase"), "Failed"), status=True)
        self._registry.delete(pod, DeleteOptions(grace_s=0))


# The namespace controller: deletes all objects of a terminating namespace, pods first, and then the namespace.
#
# Source: pkg/controller/namespace/deletion/namespaced_resources_deleter.go, Kubernetes v1.36
# (OrderedNamespaceDeletion).


NAMESPACE_FINALIZER = "kubernetes"


class NamespaceController:
    """A `Controller` whose keys are those of Namespaces."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.resources = registry.served.keys()

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        if change.resource == NAMESPACES:
            return (change.key,) if change.item.deleting else ()
        namespace = ("", change.key[0])
        if not change.is_deletion or not namespace[1]:
            return ()
        namespace_item = self._registry.find(NAMESPACES, namespace)
        return (namespace,) if namespace_item is not None and namespace_item.deleting else ()

    def reconcile(self, key: ObjectKey) -> float | None:
        item = self._registry.find(NAMESPACES, key)
        if item is None or not item.deleting:
            return None
        pods = self._content((PODS,), key[1])
        contents = pods or self._content(self._registry.served, key[1])
        for content_item in contents:
            if not content_item.deleting:
                self._registry.delete(content_item)
        if not self._content(self._registry.served, key[1]):
            self._finalize(item)
        elif pods and not self._content((PODS,), key[1]):
            return 0.0
        return None

    def _content(self, resources: Iterable[str], namespace: str) -> list[StoredItem]:
        store, served = self._registry.store, self._registry.served
        return [item for name in resources if served[name].namespaced for item in store.list(name, namespace)]

    def _finalize(self, item: StoredItem) -> None:
        remaining = [each for each in nested_field(item.spec, "finalizers") or () if each != NAMESPACE_FINALIZER]
        self._registry.set_value(item, ("spec", "finalizers"), remaining)


# PersistentVolumeClaim protection: a claim that is being deleted stays until no pod on a node uses it.
#
# Source: pkg/controller/volume/pvcprotection/pvc_protection_controller.go (podUsesPVC), Kubernetes v1.36.


CLAIM_PROTECTION_FINALIZER = "kubernetes.io/pvc-protection"


class ClaimProtection(ObjectController):
    """A `Controller` whose keys are those of claims."""

    resources = (CLAIMS, PODS)

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        if change.resource == CLAIMS:
            return (change.key,) if _is_protected(change.item) else ()
        if not change.is_deletion:
            return ()
        return [(change.key[0], name) for name in claim_names_of(change.item.doc)]

    def manage(self, item: StoredItem) -> None:
        if _is_protected(item) and not self._is_used(item.key):
            self._registry.remove_finalizer(item, CLAIM_PROTECTION_FINALIZER)

    def _is_used(self, key: ObjectKey) -> bool:
        """Whether a pod with a node uses it: no kubelet starts a pod whose claim is being deleted."""
        pods = self._registry.store.list(PODS, key[0])
        return any(pod.node and key[1] in claim_names_of(pod.doc) for pod in pods)


def _is_protected(claim: StoredItem) -> bool:
    return claim.deleting and CLAIM_PROTECTION_FINALIZER in claim.finalizers


def claim_names_of(pod: Doc) -> list[str]:
    """Claims of ephemeral volumes are named after pod and volume."""
    names = []
    for volume in nested_field(pod, "spec", "volumes") or ():
        if volume.get("persistentVolumeClaim"):
            names.append(str(volume["persistentVolumeClaim"].get("claimName") or ""))
        elif volume.get("ephemeral"):
            names.append(f"{pod['metadata']['name']}-{volume.get('name')}")
    return names


# The attach-detach controller, only for detaching: an attachment is deleted once no pod on its node uses it.
#
# Source: pkg/controller/volume/attachdetach/reconciler/reconciler.go, Kubernetes v1.36. Not modelled: new attachments
# (a pod starts without them), and volumes that stay mounted.


ATTACHMENTS = kinds.VOLUME_ATTACHMENTS.full_name

DETACH_S = 3.0
"""From the end of a pod until its volumes are off the node: unmounted by the kubelet, detached by the driver."""


class DetachController(ObjectController):
    """A `Controller` whose keys are those of attachments."""

    resources = (ATTACHMENTS, PODS)

    def __init__(self, registry: Registry, index: ObjectIndex) -> None:
        super().__init__(registry, index)
        self._due_s: dict[ObjectKey, float] = {}

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        if change.resource == ATTACHMENTS:
            return (change.key,) if change.change_kind is StoreChangeKind.ADDED else ()
        node = change.item.node
        if not change.is_deletion or not node or not claim_names_of(change.item.doc):
            return ()
        return [item.key for item in self._registry.store.list(ATTACHMENTS) if item.node == node]

    def reconcile(self, key: ObjectKey) -> float | None:
        item = self._registry.find(ATTACHMENTS, key)
        if item is None or self._is_used(item):
            self._due_s.pop(key, None)
            return None
        now_s = self._registry.seconds
        due_s = self._due_s.setdefault(key, now_s + DETACH_S)
        if now_s < due_s:
            return due_s - now_s
        del self._due_s[key]
        self._registry.delete(item)
        return None

    def _is_used(self, attachment: StoredItem) -> bool:
        """An inline volume has no name here, and counts as used."""
        volume = nested_field(attachment.spec, "source", "persistentVolumeName")
        if not volume:
            return True
        for pod in self._index.on_node(attachment.node):
            for name in claim_names_of(pod.doc):
                claim = self._registry.find(CLAIMS, (pod.key[0], name))
                if claim is not None and nested_field(claim.spec, "volumeName") == volume:
                    return True
        return False
