"""Owner references: which objects a controller owns; it adopts matching objects and releases others.

Source: pkg/controller/controller_ref_manager.go (ClaimObject), apimachinery pkg/apis/meta/v1/controller_ref.go,
Kubernetes v1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar
from zlib import crc32

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.defaults import pod_spec_defaults
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.selectors import NOTHING, Selector, from_document

from ..disruptions import PRIORITY_CLASSES, initial_status, with_admission_defaults
from ..registry import Registry
from ..store import NAME_ALPHABET, PODS, ObjectKey, Store, StoreChange, StoredItem

# An index that follows the store: objects by owner, orphans by namespace, pods by node and by label.
#
# Without it a controller would scan all objects of a kind, which costs more the larger the cluster is.


T = TypeVar("T")

_IndexKey = tuple[str, ...]
_ItemKey = tuple[str, ObjectKey]


class ObjectIndex:
    """Mutable: follows `store` from now on. Create it before the controllers that use it."""

    def __init__(self, store: Store) -> None:
        self._items_at: dict[_IndexKey, dict[_ItemKey, StoredItem]] = defaultdict(dict)
        self._keys_of_item: dict[_ItemKey, tuple[_IndexKey, ...]] = {}
        self._seen_resources: set[str] = set()
        for resource in store.resources():
            for item in store.list(resource):
                self._add(item)
        store.listen(self._on_change)

    def controlled(self, uid: str, resource: str) -> list[StoredItem]:
        """Objects whose controller has that UID, in the order in which they got it."""
        return self._list_at(("controlled", uid, resource))

    def orphans(self, resource: str, namespace: str) -> list[StoredItem]:
        """Objects without a controller."""
        return self._list_at(("orphan", resource, namespace))

    def dependents(self, uid: str) -> list[StoredItem]:
        """Objects of any kind with an owner reference to that UID."""
        return self._list_at(("owned", uid))

    def by_uid(self, uid: str) -> StoredItem | None:
        return next(iter(self._list_at(("uid", uid))), None)

    def has_seen(self, resource: str) -> bool:
        """Whether the store has, or had, any object of the resource: of other resources nothing is known, and no object
        of them counts as missing."""
        return resource in self._seen_resources

    def on_node(self, node: str) -> list[StoredItem]:
        """Pods that are assigned to the node; "" for pods without a node."""
        return self._list_at(("node", node))

    def labelled(self, namespace: str, labels: dict[str, str]) -> Iterator[StoredItem]:
        """Pods of the namespace that have all these labels (at least one is required)."""
        buckets = [self._items_at.get(("label", namespace, key, value), {}) for key, value in labels.items()]
        smallest = min(buckets, key=len)
        others = [bucket for bucket in buckets if bucket is not smallest]
        return (item for ref, item in smallest.items() if all(ref in bucket for bucket in others))

    def _list_at(self, index_key: _IndexKey) -> list[StoredItem]:
        return list(self._items_at.get(index_key, {}).values())

    def _on_change(self, change: StoreChange) -> None:
        if change.is_deletion:
            item_key = (change.item.resource, change.item.key)
            self._remove(item_key, iter(self._keys_of_item.pop(item_key, ())))
        else:
            self._add(change.item)

    def _add(self, item: StoredItem) -> None:
        item_key = (item.resource, item.key)
        self._seen_resources.add(item.resource)
        index_keys, before = _index_keys(item), self._keys_of_item.get(item_key, ())
        if index_keys != before:
            self._remove(item_key, (index_key for index_key in before if index_key not in index_keys))
            self._keys_of_item[item_key] = index_keys
        for index_key in index_keys:
            self._items_at[index_key][item_key] = item

    def _remove(self, item_key: _ItemKey, index_keys: Iterator[_IndexKey]) -> None:
        for index_key in index_keys:
            bucket = self._items_at[index_key]
            bucket.pop(item_key, None)
            if not bucket:
                del self._items_at[index_key]


def _index_keys(item: StoredItem) -> tuple[_IndexKey, ...]:
    index_keys: list[_IndexKey] = [("uid", item.uid)]
    controller = ""
    for owner in item.owners:
        index_keys.append(("owned", owner["uid"]))
        if owner.get("controller"):
            controller = owner["uid"]
    if controller:
        index_keys.append(("controlled", controller, item.resource))
    else:
        index_keys.append(("orphan", item.resource, item.key[0]))
    if item.resource == PODS:
        index_keys.append(("node", item.spec.get("nodeName") or ""))
        namespace = item.key[0]
        index_keys.extend(("label", namespace, key, value) for key, value in item.labels.items())
    return tuple(index_keys)


# Label selectors of documents, parsed once for each document.
#
# Source: apimachinery pkg/apis/meta/v1/helpers.go (LabelSelectorAsSelector), Kubernetes v1.36.


_MAX_CACHED = 20_000


@frozen
class Matcher:
    """`equal`: labels that must be present with these values; `others`: the rest of the selector, None without."""

    equal: dict[str, str]
    others: Selector | None = None

    def matches(self, labels: dict[str, str]) -> bool:
        return self.equal.items() <= labels.items() and (self.others is None or self.others.matches(labels))


MATCHES_NOTHING = Matcher({}, NOTHING)


class DocumentCache(Generic[T]):
    """Mutable: caches the result of `make` for each document. A document is immutable, so the result is always the
    same."""

    def __init__(self, make: Callable[[Doc], T]) -> None:
        self._make = make
        self._cached: dict[int, tuple[Doc, T]] = {}

    def get(self, doc: Doc) -> T:
        entry = self._cached.get(id(doc))
        if entry is None:
            if len(self._cached) >= _MAX_CACHED:
                self.clear()
            entry = self._cached[id(doc)] = doc, self._make(doc)  # keeps the document, so that its id is not reused
        return entry[1]

    def clear(self) -> None:
        self._cached.clear()


def read_selector(selector: Doc) -> Matcher:
    parsed_selector = from_document(selector)
    if not parsed_selector.valid:
        return MATCHES_NOTHING
    equal = {key: value or "" for key, value in (selector.get("matchLabels") or {}).items()}
    others = parsed_selector.requirements[len(equal) :]
    return Matcher(equal, Selector(others) if others else None)


_OWNERS = ("metadata", "ownerReferences")


def is_missing(registry: Registry, index: ObjectIndex, owner: Doc, namespace: str) -> bool:
    """Whether the owner certainly does not exist."""
    stored = index.by_uid(owner["uid"])
    if stored is not None:
        return stored.key[0] not in ("", namespace) or stored.key[1] != owner["name"]
    group_and_kind = (api_group(owner), owner["kind"])
    resource = next((name for name, each in registry.served.items() if (each.group, each.kind) == group_and_kind), "")
    return bool(resource) and index.has_seen(resource)


def reference_to(item: StoredItem, resource: Resource) -> Doc:
    """A controller owner reference to `item`."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": item.key[1],
        "uid": item.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def keys_of_owner(change: StoreChange, resource: Resource) -> Iterable[ObjectKey]:
    """Keys of the objects of that kind that control the changed object, or did before."""
    keys: dict[ObjectKey, None] = {}
    for item in (change.item, change.before):
        owner = None if item is None else item.controller
        if owner is not None and owner["kind"] == resource.kind and api_group(owner) == resource.group:
            keys[change.key[0], owner["name"]] = None
    return keys


def may_be_adopted(change: StoreChange) -> bool:
    """Whether an object without a controller was added, lost its controller or got other labels."""
    if change.item.controller is not None:
        return False
    if change.before is None:
        return True
    return change.before.controller is not None or change.before.labels != change.item.labels


def claim_objects(
    registry: Registry, index: ObjectIndex, owner: StoredItem, kind: Resource, selector: Matcher, resource: str
) -> list[StoredItem]:
    """Objects of `resource` that belong to `owner`, after matching ones were adopted and others released.

    Raises:
        ApiRefusal: one of them could not be written.
    """
    owned = []
    for item in index.controlled(owner.uid, resource):
        if selector.matches(item.labels):
            owned.append(item)
        elif not owner.deleting:
            others = [each for each in item.owners if each["uid"] != owner.uid]
            registry.set_value(item, _OWNERS, others)
    if owner.deleting:
        return owned
    for item in index.orphans(resource, owner.key[0]):
        if not item.deleting and selector.matches(item.labels):
            owned.append(_adopt_object(registry, item, owner, kind))
    return owned


class ObjectController:
    """A `Controller` whose keys are those of the objects of the first of its `resources`."""

    resources: Collection[str] = ()

    def __init__(self, registry: Registry, index: ObjectIndex) -> None:
        self._registry = registry
        self._index = index
        self._is_writing = False

    def reconcile(self, key: ObjectKey) -> float | None:
        item = self._registry.find(next(iter(self.resources)), key)
        return None if item is None else self.manage(item)

    def manage(self, item: StoredItem) -> float | None:
        """Like `reconcile`, for an existing object."""
        raise NotImplementedError

    def _write_status(self, item: StoredItem, status: Doc) -> None:
        """Write the status into the current version of the object."""
        current = self._registry.get(item.resource, item.key)
        self._update_status(current, {**current.doc, "status": status})

    def _update_status(self, item: StoredItem, doc: Doc) -> StoredItem:
        """Write the status of `doc`; controllers need not reconcile after their own write (`_is_writing`)."""
        self._is_writing = True
        try:
            return self._registry.update(item, doc, status=True)
        finally:
            self._is_writing = False


class OwnerClaims:
    """Objects of one `kind`, which own others by their selectors."""

    def __init__(self, registry: Registry, index: ObjectIndex, kind: Resource) -> None:
        self._registry = registry
        self._index = index
        self._kind = kind
        self._matchers = DocumentCache(read_selector)

    def matcher(self, owner: StoredItem) -> Matcher:
        """A missing selector matches nothing, an empty one everything, an invalid one nothing."""
        selector = owner.spec.get("selector")
        if self._kind == kinds.REPLICATION_CONTROLLERS:  # their selector is a map of labels
            return Matcher(selector) if selector else MATCHES_NOTHING
        return MATCHES_NOTHING if selector is None else self._matchers.get(selector)

    def owner_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        """The owners of the changed object, and those that would adopt it."""
        owners = keys_of_owner(change, self._kind)
        if not may_be_adopted(change):
            return owners
        namespace, labels = change.key[0], change.item.labels
        candidates = self._registry.store.list(self._kind.full_name, namespace)
        return (*owners, *(each.key for each in candidates if self.matcher(each).matches(labels)))

    def claim(self, owner: StoredItem, resource: str) -> list[StoredItem]:
        """See `claim_objects`."""
        return claim_objects(self._registry, self._index, owner, self._kind, self.matcher(owner), resource)


def _adopt_object(registry: Registry, item: StoredItem, owner: StoredItem, kind: Resource) -> StoredItem:
    others = [each for each in item.owners if each["uid"] != owner.uid]
    return registry.set_value(item, _OWNERS, [*others, reference_to(owner, kind)])


def api_group(owner: Doc) -> str:
    group, slash, _ = str(owner.get("apiVersion", "")).partition("/")
    return group if slash else ""


# Pods from the templates of their controllers, and hashes that distinguish templates.


class PodTemplates:
    """Mutable: caches the admitted spec of a template. All pods of a template share its spec, which is immutable."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._admitted_specs = DocumentCache(self._admit)
        store.listen(self._on_change)

    def build_pod(self, template: Doc, owner: StoredItem, kind: Resource) -> Doc:
        """A pod of `owner`, without a name but with generateName.

        Raises:
            ApiRefusal: admission refuses it.
        """
        spec, status = self._admitted_specs.get(template)
        template_metadata = template.get("metadata") or {}
        metadata: Doc = {"generateName": owner.key[1] + "-", "ownerReferences": [reference_to(owner, kind)]}
        metadata |= {
            field: template_metadata[field]
            for field in ("labels", "annotations", "finalizers")
            if template_metadata.get(field)
        }
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}

    def _admit(self, template: Doc) -> tuple[Doc, Doc]:
        spec = with_admission_defaults(pod_spec_defaults(template.get("spec") or {}), self._store)
        return spec, initial_status(spec)

    def _on_change(self, change: Any) -> None:
        if change.resource == PRIORITY_CLASSES:
            self._admitted_specs.clear()


def short_hash(doc: Doc, collisions: int = 0) -> str:
    """Up to ten letters and digits that are the same for equal documents."""
    number = crc32(canonical(doc).encode("utf-8"), collisions)
    return "".join(NAME_ALPHABET[ord(digit) % len(NAME_ALPHABET)] for digit in str(number))


def canonical(value: Any) -> str:
    """One text for equal values: members by name; null and empty values are left out, as in Go's types."""
    if isinstance(value, dict):
        inner = ",".join(f"{key!r}:{canonical(value[key])}" for key in sorted(value) if not _empty(value[key]))
        return "{" + inner + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(each) for each in value) + "]"
    return repr(value)


def template_text(template: Doc, besides: str = "") -> str:
    """The canonical text of a pod template without fields that are no part of a pod: the label with the key `besides`,
    and the ``$patch`` of a stored revision."""
    meta = {key: value for key, value in (template.get("metadata") or {}).items() if key != "creationTimestamp"}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != besides}
    plain = {key: value for key, value in template.items() if key != "$patch"}
    return canonical({**plain, "metadata": {**meta, "labels": labels}})


def _empty(value: Any) -> bool:
    return value is None or value == {} or value == []


# ControllerRevisions: the templates that a StatefulSet or DaemonSet has had, newest last.
#
# Source: pkg/controller/history/controller_history.go, pkg/controller/statefulset/stateful_set_control.go
# (getStatefulSetRevisions, truncateHistory), pkg/controller/daemon/update.go (constructHistory), Kubernetes v1.36.


REVISIONS = kinds.CONTROLLER_REVISIONS.full_name
HASH_LABEL = "controller-revision-hash"
_DEFAULT_HISTORY_LIMIT = 10


class Revisions:
    """The ControllerRevisions of one kind of owner."""

    def __init__(self, registry: Registry, index: ObjectIndex, kind: Resource) -> None:
        self._registry = registry
        self._index = index
        self._kind = kind
        self._texts = DocumentCache(template_text)

    def sorted_revisions(self, owner: StoredItem, selector: Matcher) -> list[StoredItem]:
        """Oldest first.

        Raises:
            ApiRefusal: one of them could not be adopted or released.
        """
        owned = claim_objects(self._registry, self._index, owner, self._kind, selector, REVISIONS)
        return sorted(owned, key=lambda item: (revision_number(item), item.key[1]))

    def latest_revision(self, owner: StoredItem, revisions: list[StoredItem], known_hash: str = "") -> StoredItem:
        """The revision of the current template; it is created, or made the newest again, and then added to `revisions`.

        `known_hash`: the hash of the template if there is no revision: revisions may not have been read.

        Raises:
            ApiRefusal: it could not be written.
        """
        template = owner.template
        text = self._texts.get(template)
        equal_revisions = [item for item in revisions if self._texts.get(revision_template(item)) == text]
        number = revision_number(revisions[-1]) + 1 if revisions else 1
        if not equal_revisions:
            revision = self._create_revision(owner, template, number, known_hash if not revisions else "")
        elif equal_revisions[-1] is revisions[-1]:
            return equal_revisions[-1]
        else:
            revision = self._registry.update(equal_revisions[-1], {**equal_revisions[-1].doc, "revision": number})
            revisions.remove(equal_revisions[-1])
        revisions.append(revision)
        return revision

    def truncate(self, owner: StoredItem, revisions: Sequence[StoredItem], live_names: Collection[str]) -> None:
        """Delete the oldest revisions that are not in `live_names`, beyond the history limit."""
        limit = owner.spec.get("revisionHistoryLimit")
        spare = [item for item in revisions if item.key[1] not in live_names]
        for item in spare[: max(0, len(spare) - (_DEFAULT_HISTORY_LIMIT if limit is None else int(limit)))]:
            self._registry.delete(item)

    def _create_revision(self, owner: StoredItem, template: Doc, number: int, known_hash: str) -> StoredItem:
        namespace, name = owner.key
        chosen_hash, collisions = known_hash or short_hash(template), 0
        while self._registry.find(REVISIONS, (namespace, f"{name}-{chosen_hash}")) is not None:
            collisions += 1
            chosen_hash = short_hash(template, collisions)
        labels = {**(nested_field(template, "metadata", "labels") or {}), "controller.kubernetes.io/hash": chosen_hash}
        labels[HASH_LABEL] = chosen_hash
        meta = {"name": f"{name}-{chosen_hash}", "labels": labels, "ownerReferences": [reference_to(owner, self._kind)]}
        data = {"spec": {"template": {**template, "$patch": "replace"}}}
        kind = {"apiVersion": "apps/v1", "kind": "ControllerRevision"}
        return self._registry.create(REVISIONS, {**kind, "metadata": meta, "data": data, "revision": number}, namespace)


def revision_number(item: StoredItem) -> int:
    return int(item.doc.get("revision") or 0)


def revision_template(item: StoredItem) -> Doc:
    template: Doc = nested_field(item.doc, "data", "spec", "template") or {}
    return template


def revision_hash(item: StoredItem) -> str:
    """The hash with which pods of a DaemonSet are labelled."""
    return item.labels.get(HASH_LABEL, "")
