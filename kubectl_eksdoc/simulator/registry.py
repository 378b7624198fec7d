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
from kubectl_eksdoc.kubernetes.api.resources import Served, by_name
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at, with_value, without
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.placing import Claim, CSINode, PersistentVolume, StorageClass, VolumeAttachment
from kubectl_eksdoc.model.workloads import Workload

from .controllers import VirtualTime
from .store import NAMESPACES, PODS, Key, Names, Stale, Store, StoredItem, later, rfc3339

DEFAULT_GRACE_S = 30

FINALIZERS = ("metadata", "finalizers")


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
class Deleted:
    """`item` after the deletion: with `is_gone` False it still exists, until a kubelet or the owner of a finalizer
    releases it."""

    item: StoredItem
    gone: bool


class Registry:
    """Writes objects into a store by the API server's rules. A dry run writes nothing."""

    def __init__(self, store: Store, agenda: VirtualTime, names: Names) -> None:
        self.store = store
        self.agenda = agenda
        self.names = names
        self.served = by_name()  # custom resources are added

    @property
    def now(self) -> str:
        """The current time as in metadata: whole seconds."""
        return rfc3339(self.agenda.now)

    @property
    def time(self) -> datetime:
        return self.agenda.now

    @property
    def seconds(self) -> float:
        return self.agenda.seconds

    def find(self, resource: str, key: Key) -> StoredItem | None:
        return self.store.get(resource, key)

    def get(self, resource: str, key: Key) -> StoredItem:
        """
        Raises:
            ApiRefusal: 404.
        """
        found = self.store.get(resource, key)
        if found is None:
            raise resources.not_found(self.served[resource], key[1])
        return found

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
            said = "Required value: name or generateName is required"
            raise resources.invalid(served, "", [resources.StatusCause("FieldValueRequired", said, "metadata.name")])
        self.check_namespace(resource, namespace, name)
        for unset in ("resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"):
            meta.pop(unset, None)
        meta |= {"name": name, "uid": self.names.uid(), "creationTimestamp": self.now}
        if served.namespaced:
            meta["namespace"] = namespace
        if served.counts:
            meta["generation"] = 1
        key = (namespace, name)
        made = {**doc, "metadata": meta}
        if self.store.get(resource, key) is not None:
            raise resources.already_exists(served, name)
        return StoredItem(resource, key, 0, made) if dry_run else self.store.add(resource, key, made)

    def update(self, item: StoredItem, doc: Doc, *, status: bool = False, dry_run: bool = False) -> StoredItem:
        """Replace `item` by `doc`; metadata.resourceVersion is a precondition if it is there.

        `status`: a write of the status subresource, which keeps all other fields; otherwise the status is kept.

        Raises:
            ApiRefusal: 404 or 409.
        """
        served = self.served[item.resource]
        there = self.store.get(item.resource, item.key)
        asked = at(doc, "metadata", "resourceVersion")
        if there is None:
            raise resources.not_found(served, item.key[1])
        if asked not in (None, "", str(there.version)) or there.version != item.version:
            raise resources.modified(served, item.key[1])
        uid = at(doc, "metadata", "uid")
        if uid not in (None, "", item.uid):
            raise resources.precondition_failed(served, item.key[1], "UID", str(uid), item.uid)
        made = _kept(served, item.doc, doc, status)
        if made == item.doc:
            return item
        if item.leaving and _let_go(made) and not (item.resource == PODS and _grace(made)):
            return item if dry_run else self.store.remove(self.store.replace(item, made))
        return StoredItem(item.resource, item.key, item.version, made) if dry_run else self.store.replace(item, made)

    def put(self, item: StoredItem, path: tuple[str, ...], value: object, *, status: bool = False) -> StoredItem:
        """Write `item` with `value` at `path`. Raises: as `update`."""
        return self.update(item, with_value(item.doc, path, value), status=status)

    def let_go(self, item: StoredItem, finalizer: str) -> StoredItem:
        """Write `item` without that finalizer. Raises: as `update`."""
        return self.put(item, FINALIZERS, [each for each in item.finalizers if each != finalizer])

    def delete(self, item: StoredItem, options: DeleteOptions = DeleteOptions()) -> Deleted:
        """Delete the object, or mark it for deletion if a kubelet must stop it or a finalizer must be removed first.

        Raises:
            ApiRefusal: 409 where a precondition does not hold.
        """
        served = self.served[item.resource]
        name = item.key[1]
        if options.uid is not None and options.uid != item.uid:
            raise resources.precondition_failed(served, name, "UID", options.uid, item.uid)
        if options.resource_version is not None and options.resource_version != str(item.version):
            there = str(item.version)
            raise resources.precondition_failed(served, name, "ResourceVersion", options.resource_version, there)
        doc = _with_propagation(item.doc, options.propagation)
        grace_s = _grace_of(item, options) if item.resource == PODS else 0
        marked = self._marked(served, doc, item, grace_s)
        stays = grace_s > 0 or not _let_go(marked)
        if options.dry_run:
            return Deleted(StoredItem(item.resource, item.key, item.version, marked), not stays)
        try:
            written = self.store.replace(item, marked) if stays or item.resource == PODS else item
            return Deleted(written if stays else self.store.remove(written), not stays)
        except Stale as stale:
            raise resources.modified(served, name) from stale

    def _marked(self, served: Served, doc: Doc, item: StoredItem, grace_s: int) -> Doc:
        """`doc` as an object that is being deleted. A running grace period can only be shortened."""
        meta = doc["metadata"]
        if item.resource == NAMESPACES:
            doc = with_value(doc, ("status", "phase"), "Terminating")
        if item.leaving:
            if grace_s >= int(meta.get("deletionGracePeriodSeconds") or 0):
                return doc
        elif served.counts:
            doc = with_value(doc, ("metadata", "generation"), int(meta.get("generation") or 0) + 1)
        deadline = rfc3339(later(self.agenda.now, grace_s))
        doc = with_value(doc, ("metadata", "deletionTimestamp"), deadline)
        if item.resource == NAMESPACES:
            return doc
        return with_value(doc, ("metadata", "deletionGracePeriodSeconds"), grace_s)

    def _free_name(self, resource: str, namespace: str, base: str) -> str:
        name = self.names.after(base)
        while self.store.get(resource, (namespace, name)) is not None:
            name = self.names.after(base)
        return name

    def check_namespace(self, resource: str, namespace: str, name: str) -> None:
        """No object is created in a namespace that does not exist or is being deleted (NamespaceLifecycle).

        Raises:
            ApiRefusal: 404 and 403.
        """
        served = self.served[resource]
        if not served.namespaced:
            return
        held = self.store.get(NAMESPACES, ("", namespace))
        if held is None:
            raise resources.not_found(kinds.NAMESPACES, namespace)
        if held.leaving:
            raise resources.terminating(served, name, namespace)


def _kept(served: Served, before: Doc, doc: Doc, status: bool) -> Doc:
    """`doc` with the fields that this write may not change taken from `before`, and with its generation."""
    was = before["metadata"]
    if served.has_status and status:
        made = {**before, "status": doc["status"]} if "status" in doc else without(before, ("status",))
        meta = dict(doc.get("metadata") or {})
    else:
        made, meta = doc, dict(doc.get("metadata") or {})
        if served.has_status:
            made = {**doc, "status": before["status"]} if "status" in before else without(doc, ("status",))
    for fixed in _THE_SERVERS:
        meta[fixed] = was.get(fixed)
    made = {**made, "metadata": {key: value for key, value in meta.items() if value not in (None, {}, [])}}
    if served.counts and not status and _spec(made) != _spec(before):
        made["metadata"]["generation"] = int(was.get("generation") or 0) + 1
    return made


_THE_SERVERS = (
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


def _spec(doc: Doc) -> Doc:
    return {key: value for key, value in doc.items() if key not in ("metadata", "status", "kind", "apiVersion")}


def _let_go(doc: Doc) -> bool:
    """Whether nothing holds the object: it has no finalizers, and a namespace has none in its spec either."""
    return not doc["metadata"].get("finalizers") and not (
        doc.get("kind") == "Namespace" and at(doc, "spec", "finalizers")
    )


def _grace(doc: Doc) -> int:
    return int(doc["metadata"].get("deletionGracePeriodSeconds") or 0)


def _grace_of(item: StoredItem, options: DeleteOptions) -> int:
    """Seconds a pod has to stop: 0 if it does not run (CheckGracefulDelete)."""
    asked = item.spec.get("terminationGracePeriodSeconds") if options.grace_s is None else options.grace_s
    grace_s = DEFAULT_GRACE_S if asked is None else int(asked)
    if not item.node or item.finished:
        return 0
    return 1 if grace_s < 0 else grace_s


def _with_propagation(doc: Doc, propagation: str | None) -> Doc:
    """With the finalizer that makes the garbage collector handle its dependents first."""
    holder = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}.get(propagation or "")
    there = at(doc, "metadata", "finalizers") or []
    if holder is None or holder in there:
        return doc
    return with_value(doc, ("metadata", "finalizers"), [*there, holder])


# Conditions in the status of any object: one of each type, with the time of its last transition.


def put(conditions: Iterable[Doc], new: Doc) -> list[Doc]:
    """`conditions` with `new` in the place of the one with its type, or at the end."""
    held = list(conditions)
    for i, each in enumerate(held):
        if each.get("type") == new["type"]:
            held[i] = new
            return held
    return [*held, new]


def with_condition(conditions: Iterable[Doc], new: Doc, now: str) -> list[Doc]:
    """Like `put_condition`, but fields that `new` lacks are kept. `lastTransitionTime` is `now` only if the condition's
    status changes (meta.SetStatusCondition)."""
    conditions = list(conditions)
    held: Doc = next((each for each in conditions if each.get("type") == new["type"]), {})
    since = held.get("lastTransitionTime", now) if held.get("status") == new["status"] else now
    return put(conditions, {**held, **new, "lastTransitionTime": since})


# Facts of stored objects: documents are decoded by an implementation outside of this package.


class FactSource(Protocol):
    """The same item always gives the same fact. Every document that the API server accepts can be decoded."""

    def pod(self, item: StoredItem) -> Pod: ...

    def node(self, item: StoredItem) -> Node: ...

    def budget(self, item: StoredItem) -> Budget: ...

    def workload(self, item: StoredItem) -> Workload: ...

    def claim(self, item: StoredItem) -> Claim: ...

    def volume(self, item: StoredItem) -> PersistentVolume: ...

    def storage_class(self, item: StoredItem) -> StorageClass: ...

    def csi_node(self, item: StoredItem) -> CSINode: ...

    def attachment(self, item: StoredItem) -> VolumeAttachment: ...
