"""API server writes: names, resourceVersions, generations, preconditions and graceful deletion of objects.

Source: apiserver pkg/registry/generic/registry/store.go (Create, Update, Delete), pkg/registry/rest/create.go,
update.go, delete.go (BeforeCreate, BeforeUpdate, BeforeDelete), pkg/registry/core/pod/strategy.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api import resources
from kubectl_eksdoc.kubernetes.api.resources import ServedResource, resources_by_name
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value, without_path
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.placement import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from kubectl_eksdoc.model.workloads import Workload

from .controllers import VirtualTime
from .store import NAMESPACES, PODS, NameGenerator, ObjectKey, StaleItem, Store, StoredItem, add_seconds, rfc3339

DEFAULT_GRACE_S = 30

FINALIZERS_PATH = ("metadata", "finalizers")


@frozen
class DeleteOptions:
    """`grace_s` None: the object's own; 0: at once, without asking the kubelet. `propagation`: Background (None),
    Foreground or Orphan."""

    grace_s: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    propagation: str | None = None
    dry_run: bool = False


@frozen
class DeleteResult:
    """`item` after the deletion: with `is_gone` False it still exists, until a kubelet or the owner of a finalizer
    releases it."""

    item: StoredItem
    is_gone: bool


class Registry:
    """Writes objects into a store by the API server's rules. A dry run writes nothing."""

    def __init__(self, store: Store, virtual_time: VirtualTime, names: NameGenerator) -> None:
        self.store = store
        self.virtual_time = virtual_time
        self.names = names
        self.served = resources_by_name()  # custom resources are added

    @property
    def timestamp(self) -> str:
        """The current time as in metadata: whole seconds."""
        return rfc3339(self.virtual_time.now)

    @property
    def current_time(self) -> datetime:
        return self.virtual_time.now

    @property
    def seconds(self) -> float:
        return self.virtual_time.seconds

    def find(self, resource: str, key: ObjectKey) -> StoredItem | None:
        return self.store.get(resource, key)

    def get(self, resource: str, key: ObjectKey) -> StoredItem:
        """
        Raises:
            ApiRefusal: 404.
        """
        item = self.store.get(resource, key)
        if item is None:
            raise resources.not_found(self.served[resource], key[1])
        return item

    def create(self, resource: str, doc: Doc, namespace: str = "", *, dry_run: bool = False) -> StoredItem:
        """Create an object; fields that only the server may set are set.

        Raises:
            ApiRefusal: 409 if the name exists, 404 and 403 of its namespace, 422 without a name.
        """
        served = self.served[resource]
        meta = dict(doc.get("metadata") or {})
        name = meta.get("name") or ""
        if not name and meta.get("generateName"):
            name = self._free_name(resource, namespace, str(meta["generateName"]))
        if not name:
            message = "Required value: name or generateName is required"
            raise resources.invalid(served, "", [resources.StatusCause("FieldValueRequired", message, "metadata.name")])
        self.check_namespace(resource, namespace, name)
        for server_field in (
            "resourceVersion",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
            "generation",
        ):
            meta.pop(server_field, None)
        meta |= {"name": name, "uid": self.names.uid(), "creationTimestamp": self.timestamp}
        if served.namespaced:
            meta["namespace"] = namespace
        if served.has_generation:
            meta["generation"] = 1
        key = (namespace, name)
        new_doc = {**doc, "metadata": meta}
        if self.store.get(resource, key) is not None:
            raise resources.already_exists(served, name)
        return StoredItem(resource, key, 0, new_doc) if dry_run else self.store.add(resource, key, new_doc)

    def update(self, item: StoredItem, doc: Doc, *, status: bool = False, dry_run: bool = False) -> StoredItem:
        """Replace `item` by `doc`; metadata.resourceVersion is a precondition if it is there.

        `status`: a write of the status subresource, which keeps all other fields; otherwise the status is kept.

        Raises:
            ApiRefusal: 404 or 409.
        """
        served = self.served[item.resource]
        stored = self.store.get(item.resource, item.key)
        requested_version = nested_field(doc, "metadata", "resourceVersion")
        if stored is None:
            raise resources.not_found(served, item.key[1])
        if requested_version not in (None, "", str(stored.version)) or stored.version != item.version:
            raise resources.modified(served, item.key[1])
        uid = nested_field(doc, "metadata", "uid")
        if uid not in (None, "", item.uid):
            raise resources.precondition_failed(served, item.key[1], "UID", str(uid), item.uid)
        new_doc = _with_fixed_fields(served, item.doc, doc, status)
        if new_doc == item.doc:
            return item
        if item.deleting and _is_released(new_doc) and not (item.resource == PODS and _grace_seconds(new_doc)):
            return item if dry_run else self.store.remove(self.store.replace(item, new_doc))
        return (
            StoredItem(item.resource, item.key, item.version, new_doc) if dry_run else self.store.replace(item, new_doc)
        )

    def set_value(self, item: StoredItem, path: tuple[str, ...], value: object, *, status: bool = False) -> StoredItem:
        """Write `item` with `value` at `path`. Raises: as `update`."""
        return self.update(item, with_value(item.doc, path, value), status=status)

    def remove_finalizer(self, item: StoredItem, finalizer: str) -> StoredItem:
        """Write `item` without that finalizer. Raises: as `update`."""
        return self.set_value(item, FINALIZERS_PATH, [each for each in item.finalizers if each != finalizer])

    def delete(self, item: StoredItem, options: DeleteOptions = DeleteOptions()) -> DeleteResult:
        """Delete the object, or mark it for deletion if a kubelet must stop it or a finalizer must be removed first.

        Raises:
            ApiRefusal: 409 where a precondition does not hold.
        """
        served = self.served[item.resource]
        name = item.key[1]
        if options.uid is not None and options.uid != item.uid:
            raise resources.precondition_failed(served, name, "UID", options.uid, item.uid)
        if options.resource_version is not None and options.resource_version != str(item.version):
            actual_version = str(item.version)
            raise resources.precondition_failed(
                served, name, "ResourceVersion", options.resource_version, actual_version
            )
        doc = _with_propagation(item.doc, options.propagation)
        grace_s = _grace_seconds_for(item, options) if item.resource == PODS else 0
        marked_doc = self._marked_for_deletion(served, doc, item, grace_s)
        stays = grace_s > 0 or not _is_released(marked_doc)
        if options.dry_run:
            return DeleteResult(StoredItem(item.resource, item.key, item.version, marked_doc), not stays)
        try:
            written = self.store.replace(item, marked_doc) if stays or item.resource == PODS else item
            return DeleteResult(written if stays else self.store.remove(written), not stays)
        except StaleItem as stale:
            raise resources.modified(served, name) from stale

    def _marked_for_deletion(self, served: ServedResource, doc: Doc, item: StoredItem, grace_s: int) -> Doc:
        """`doc` as an object that is being deleted. A running grace period can only be shortened."""
        meta = doc["metadata"]
        if item.resource == NAMESPACES:
            doc = with_value(doc, ("status", "phase"), "Terminating")
        if item.deleting:
            if grace_s >= int(meta.get("deletionGracePeriodSeconds") or 0):
                return doc
        elif served.has_generation:
            doc = with_value(doc, ("metadata", "generation"), int(meta.get("generation") or 0) + 1)
        deadline = rfc3339(add_seconds(self.virtual_time.now, grace_s))
        doc = with_value(doc, ("metadata", "deletionTimestamp"), deadline)
        if item.resource == NAMESPACES:
            return doc
        return with_value(doc, ("metadata", "deletionGracePeriodSeconds"), grace_s)

    def _free_name(self, resource: str, namespace: str, base: str) -> str:
        name = self.names.generate_name(base)
        while self.store.get(resource, (namespace, name)) is not None:
            name = self.names.generate_name(base)
        return name

    def check_namespace(self, resource: str, namespace: str, name: str) -> None:
        """No object is created in a namespace that does not exist or is being deleted (NamespaceLifecycle).

        Raises:
            ApiRefusal: 404 and 403.
        """
        served = self.served[resource]
        if not served.namespaced:
            return
        namespace_item = self.store.get(NAMESPACES, ("", namespace))
        if namespace_item is None:
            raise resources.not_found(kinds.NAMESPACES, namespace)
        if namespace_item.deleting:
            raise resources.terminating(served, name, namespace)


def _with_fixed_fields(served: ServedResource, before: Doc, doc: Doc, status: bool) -> Doc:
    """`doc` with the fields that this write may not change taken from `before`, and with its generation."""
    old_metadata = before["metadata"]
    if served.has_status and status:
        new_doc = {**before, "status": doc["status"]} if "status" in doc else without_path(before, ("status",))
        meta = dict(doc.get("metadata") or {})
    else:
        new_doc, meta = doc, dict(doc.get("metadata") or {})
        if served.has_status:
            new_doc = {**doc, "status": before["status"]} if "status" in before else without_path(doc, ("status",))
    for fixed_field in _SERVER_FIELDS:
        meta[fixed_field] = old_metadata.get(fixed_field)
    new_doc = {**new_doc, "metadata": {key: value for key, value in meta.items() if value not in (None, {}, [])}}
    if served.has_generation and not status and _spec_fields(new_doc) != _spec_fields(before):
        new_doc["metadata"]["generation"] = int(old_metadata.get("generation") or 0) + 1
    return new_doc


_SERVER_FIELDS = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "generateName",
)
"""Metadata that clients cannot change."""


def _spec_fields(doc: Doc) -> Doc:
    return {key: value for key, value in doc.items() if key not in ("metadata", "status", "kind", "apiVersion")}


def _is_released(doc: Doc) -> bool:
    """Whether nothing holds the object: it has no finalizers, and a namespace has none in its spec either."""
    return not doc["metadata"].get("finalizers") and not (
        doc.get("kind") == "Namespace" and nested_field(doc, "spec", "finalizers")
    )


def _grace_seconds(doc: Doc) -> int:
    return int(doc["metadata"].get("deletionGracePeriodSeconds") or 0)


def _grace_seconds_for(item: StoredItem, options: DeleteOptions) -> int:
    """Seconds a pod has to stop: 0 if it does not run (CheckGracefulDelete)."""
    requested = item.spec.get("terminationGracePeriodSeconds") if options.grace_s is None else options.grace_s
    grace_s = DEFAULT_GRACE_S if requested is None else int(requested)
    if not item.node or item.finished:
        return 0
    return 1 if grace_s < 0 else grace_s


def _with_propagation(doc: Doc, propagation: str | None) -> Doc:
    """With the finalizer that makes the garbage collector handle its dependents first."""
    finalizer = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}.get(propagation or "")
    finalizers = nested_field(doc, "metadata", "finalizers") or []
    if finalizer is None or finalizer in finalizers:
        return doc
    return with_value(doc, ("metadata", "finalizers"), [*finalizers, finalizer])


# Conditions in the status of any object: one of each type, with the time of its last transition.


def put_condition(conditions: Iterable[Doc], new: Doc) -> list[Doc]:
    """`conditions` with `new` in the place of the one with its type, or at the end."""
    merged = list(conditions)
    for i, each in enumerate(merged):
        if each.get("type") == new["type"]:
            merged[i] = new
            return merged
    return [*merged, new]


def with_condition(conditions: Iterable[Doc], new: Doc, now: str) -> list[Doc]:
    """Like `put_condition`, but fields that `new` lacks are kept. `lastTransitionTime` is `now` only if the condition's
    status changes (meta.SetStatusCondition)."""
    conditions = list(conditions)
    old_condition: Doc = next((each for each in conditions if each.get("type") == new["type"]), {})
    since = old_condition.get("lastTransitionTime", now) if old_condition.get("status") == new["status"] else now
    return put_condition(conditions, {**old_condition, **new, "lastTransitionTime": since})


# Facts of stored objects: documents are decoded by an implementation outside of this package.


class FactSource(Protocol):
    """The same item always gives the same fact. Every document that the API server accepts can be decoded."""

    def pod(self, item: StoredItem) -> Pod: ...

    def node(self, item: StoredItem) -> Node: ...

    def budget(self, item: StoredItem) -> Budget: ...

    def workload(self, item: StoredItem) -> Workload: ...

    def claim(self, item: StoredItem) -> PersistentVolumeClaim: ...

    def volume(self, item: StoredItem) -> PersistentVolume: ...

    def storage_class(self, item: StoredItem) -> StorageClass: ...

    def csi_node(self, item: StoredItem) -> CSINode: ...

    def attachment(self, item: StoredItem) -> VolumeAttachment: ...
