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
from kubectl_eksdoc.kubernetes.api.defaults import of_pods
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.selectors import NOTHING, Selector, from_document

from ..disruptions import PRIORITY_CLASSES, admitted, first_status
from ..registry import Registry
from ..store import ALPHABET, PODS, Key, Store, StoreChange, StoredItem

# An index that follows the store: objects by owner, orphans by namespace, pods by node and by label.
#
# Without it a controller would scan all objects of a kind, which costs more the larger the cluster is.


T = TypeVar("T")

_Place = tuple[str, ...]
_Ref = tuple[str, Key]


class Index:
    """Mutable: follows `store` from now on. Create it before the controllers that use it."""

    def __init__(self, store: Store) -> None:
        self._at: dict[_Place, dict[_Ref, StoredItem]] = defaultdict(dict)
        self._places: dict[_Ref, tuple[_Place, ...]] = {}
        self._held: set[str] = set()
        for resource in store.resources():
            for item in store.list(resource):
                self._put(item)
        store.listen(self._note)

    def controlled(self, uid: str, resource: str) -> list[StoredItem]:
        """Objects whose controller has that UID, in the order in which they got it."""
        return self._of(("controlled", uid, resource))

    def orphans(self, resource: str, namespace: str) -> list[StoredItem]:
        """Objects without a controller."""
        return self._of(("orphan", resource, namespace))

    def dependents(self, uid: str) -> list[StoredItem]:
        """Objects of any kind with an owner reference to that UID."""
        return self._of(("owned", uid))

    def of_uid(self, uid: str) -> StoredItem | None:
        return next(iter(self._of(("uid", uid))), None)

    def held(self, resource: str) -> bool:
        """Whether the store has, or had, any object of the resource: of other resources nothing is known, and no object
        of them counts as missing."""
        return resource in self._held

    def on_node(self, node: str) -> list[StoredItem]:
        """Pods that are assigned to the node; "" for pods without a node."""
        return self._of(("node", node))

    def labelled(self, namespace: str, labels: dict[str, str]) -> Iterator[StoredItem]:
        """Pods of the namespace that have all these labels (at least one is required)."""
        buckets = [self._at.get(("label", namespace, key, value), {}) for key, value in labels.items()]
        fewest = min(buckets, key=len)
        others = [bucket for bucket in buckets if bucket is not fewest]
        return (item for ref, item in fewest.items() if all(ref in bucket for bucket in others))

    def _of(self, place: _Place) -> list[StoredItem]:
        return list(self._at.get(place, {}).values())

    def _note(self, change: StoreChange) -> None:
        if change.gone:
            ref = (change.item.resource, change.item.key)
            self._leave(ref, iter(self._places.pop(ref, ())))
        else:
            self._put(change.item)

    def _put(self, item: StoredItem) -> None:
        ref = (item.resource, item.key)
        self._held.add(item.resource)
        places, before = _places(item), self._places.get(ref, ())
        if places != before:
            self._leave(ref, (place for place in before if place not in places))
            self._places[ref] = places
        for place in places:
            self._at[place][ref] = item

    def _leave(self, ref: _Ref, places: Iterator[_Place]) -> None:
        for place in places:
            bucket = self._at[place]
            bucket.pop(ref, None)
            if not bucket:
                del self._at[place]


def _places(item: StoredItem) -> tuple[_Place, ...]:
    found: list[_Place] = [("uid", item.uid)]
    controller = ""
    for owner in item.owners:
        found.append(("owned", owner["uid"]))
        if owner.get("controller"):
            controller = owner["uid"]
    if controller:
        found.append(("controlled", controller, item.resource))
    else:
        found.append(("orphan", item.resource, item.key[0]))
    if item.resource == PODS:
        found.append(("node", item.spec.get("nodeName") or ""))
        namespace = item.key[0]
        found.extend(("label", namespace, key, value) for key, value in item.labels.items())
    return tuple(found)


# Label selectors of documents, parsed once for each document.
#
# Source: apimachinery pkg/apis/meta/v1/helpers.go (LabelSelectorAsSelector), Kubernetes v1.36.


_MOST = 20_000


@frozen
class Matcher:
    """`equal`: labels that must be present with these values; `others`: the rest of the selector, None without."""

    equal: dict[str, str]
    others: Selector | None = None

    def matches(self, labels: dict[str, str]) -> bool:
        return self.equal.items() <= labels.items() and (self.others is None or self.others.matches(labels))


NONE = Matcher({}, NOTHING)


class OncePerDocument(Generic[T]):
    """Mutable: caches the result of `make` for each document. A document is immutable, so the result is always the
    same."""

    def __init__(self, make: Callable[[Doc], T]) -> None:
        self._make = make
        self._made: dict[int, tuple[Doc, T]] = {}

    def of(self, doc: Doc) -> T:
        held = self._made.get(id(doc))
        if held is None:
            if len(self._made) >= _MOST:
                self.forget()
            held = self._made[id(doc)] = doc, self._make(doc)  # keeps the document, so that its id is not reused
        return held[1]

    def forget(self) -> None:
        self._made.clear()


def read(selector: Doc) -> Matcher:
    whole = from_document(selector)
    if not whole.valid:
        return NONE
    equal = {key: value or "" for key, value in (selector.get("matchLabels") or {}).items()}
    others = whole.requirements[len(equal) :]
    return Matcher(equal, Selector(others) if others else None)


_OWNERS = ("metadata", "ownerReferences")


def is_missing(registry: Registry, index: Index, owner: Doc, namespace: str) -> bool:
    """Whether the owner certainly does not exist."""
    held = index.of_uid(owner["uid"])
    if held is not None:
        return held.key[0] not in ("", namespace) or held.key[1] != owner["name"]
    named = (group_of(owner), owner["kind"])
    resource = next((name for name, each in registry.served.items() if (each.group, each.kind) == named), "")
    return bool(resource) and index.held(resource)


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


def keys_of_owner(change: StoreChange, resource: Resource) -> Iterable[Key]:
    """Keys of the objects of that kind that control the changed object, or did before."""
    found: dict[Key, None] = {}
    for item in (change.item, change.before):
        owner = None if item is None else item.controller
        if owner is not None and owner["kind"] == resource.kind and group_of(owner) == resource.group:
            found[change.key[0], owner["name"]] = None
    return found


def may_be_adopted(change: StoreChange) -> bool:
    """Whether an object without a controller was added, lost its controller or got other labels."""
    if change.item.controller is not None:
        return False
    if change.before is None:
        return True
    return change.before.controller is not None or change.before.labels != change.item.labels


def claimed(
    registry: Registry, index: Index, owner: StoredItem, kind: Resource, selector: Matcher, resource: str
) -> list[StoredItem]:
    """Objects of `resource` that belong to `owner`, after matching ones were adopted and others released.

    Raises:
        ApiRefusal: one of them could not be written.
    """
    kept = []
    for item in index.controlled(owner.uid, resource):
        if selector.matches(item.labels):
            kept.append(item)
        elif not owner.leaving:
            others = [each for each in item.owners if each["uid"] != owner.uid]
            registry.put(item, _OWNERS, others)
    if owner.leaving:
        return kept
    for item in index.orphans(resource, owner.key[0]):
        if not item.leaving and selector.matches(item.labels):
            kept.append(_adopt(registry, item, owner, kind))
    return kept


class ObjectController:
    """A `Controller` whose keys are those of the objects of the first of its `resources`."""

    resources: Collection[str] = ()

    def __init__(self, registry: Registry, index: Index) -> None:
        self._registry = registry
        self._index = index
        self._writing = False

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.find(next(iter(self.resources)), key)
        return None if item is None else self.look_after(item)

    def look_after(self, item: StoredItem) -> float | None:
        """Like `reconcile`, for an existing object."""
        raise NotImplementedError

    def _report(self, item: StoredItem, status: Doc) -> None:
        """Write the status into the current version of the object."""
        current = self._registry.get(item.resource, item.key)
        self._written(current, {**current.doc, "status": status})

    def _written(self, item: StoredItem, doc: Doc) -> StoredItem:
        """Write the status of `doc`; controllers need not reconcile after their own write (`_is_writing`)."""
        self._writing = True
        try:
            return self._registry.update(item, doc, status=True)
        finally:
            self._writing = False


class Owners:
    """Objects of one `kind`, which own others by their selectors."""

    def __init__(self, registry: Registry, index: Index, kind: Resource) -> None:
        self._registry = registry
        self._index = index
        self._kind = kind
        self._matchers = OncePerDocument(read)

    def matcher(self, owner: StoredItem) -> Matcher:
        """A missing selector matches nothing, an empty one everything, an invalid one nothing."""
        selector = owner.spec.get("selector")
        if self._kind == kinds.REPLICATION_CONTROLLERS:  # their selector is a map of labels
            return Matcher(selector) if selector else NONE
        return NONE if selector is None else self._matchers.of(selector)

    def of(self, change: StoreChange) -> Iterable[Key]:
        """The owners of the changed object, and those that would adopt it."""
        owners = keys_of_owner(change, self._kind)
        if not may_be_adopted(change):
            return owners
        namespace, labels = change.key[0], change.item.labels
        held = self._registry.store.list(self._kind.full_name, namespace)
        return (*owners, *(each.key for each in held if self.matcher(each).matches(labels)))

    def claimed(self, owner: StoredItem, resource: str) -> list[StoredItem]:
        """See `claim_objects`."""
        return claimed(self._registry, self._index, owner, self._kind, self.matcher(owner), resource)


def _adopt(registry: Registry, item: StoredItem, owner: StoredItem, kind: Resource) -> StoredItem:
    others = [each for each in item.owners if each["uid"] != owner.uid]
    return registry.put(item, _OWNERS, [*others, reference_to(owner, kind)])


def group_of(owner: Doc) -> str:
    group, slash, _ = str(owner.get("apiVersion", "")).partition("/")
    return group if slash else ""


# Pods from the templates of their controllers, and hashes that distinguish templates.


class PodTemplates:
    """Mutable: caches the admitted spec of a template. All pods of a template share its spec, which is immutable."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._admitted = OncePerDocument(self._admit)
        store.listen(self._note)

    def pod(self, template: Doc, owner: StoredItem, kind: Resource) -> Doc:
        """A pod of `owner`, without a name but with generateName.

        Raises:
            ApiRefusal: admission refuses it.
        """
        spec, status = self._admitted.of(template)
        given = template.get("metadata") or {}
        meta: Doc = {"generateName": owner.key[1] + "-", "ownerReferences": [reference_to(owner, kind)]}
        meta |= {part: given[part] for part in ("labels", "annotations", "finalizers") if given.get(part)}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}

    def _admit(self, template: Doc) -> tuple[Doc, Doc]:
        spec = admitted(of_pods(template.get("spec") or {}), self._store)
        return spec, first_status(spec)

    def _note(self, change: Any) -> None:
        if change.resource == PRIORITY_CLASSES:
            self._admitted.forget()


def hash_of(doc: Doc, collisions: int = 0) -> str:
    """Up to ten letters and digits that are the same for equal documents."""
    number = crc32(canonical(doc).encode("utf-8"), collisions)
    return "".join(ALPHABET[ord(digit) % len(ALPHABET)] for digit in str(number))


def canonical(value: Any) -> str:
    """One text for equal values: members by name; null and empty values are left out, as in Go's types."""
    if isinstance(value, dict):
        inner = ",".join(f"{key!r}:{canonical(value[key])}" for key in sorted(value) if not _empty(value[key]))
        return "{" + inner + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(each) for each in value) + "]"
    return repr(value)


def text_of(template: Doc, besides: str = "") -> str:
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
_KEPT = 10


class Revisions:
    """The ControllerRevisions of one kind of owner."""

    def __init__(self, registry: Registry, index: Index, kind: Resource) -> None:
        self._registry = registry
        self._index = index
        self._kind = kind
        self._texts = OncePerDocument(text_of)

    def of(self, owner: StoredItem, selector: Matcher) -> list[StoredItem]:
        """Oldest first.

        Raises:
            ApiRefusal: one of them could not be adopted or released.
        """
        own = claimed(self._registry, self._index, owner, self._kind, selector, REVISIONS)
        return sorted(own, key=lambda item: (number_of(item), item.key[1]))

    def latest(self, owner: StoredItem, held: list[StoredItem], known_hash: str = "") -> StoredItem:
        """The revision of the current template; it is created, or made the newest again, and then added to `revisions`.

        `known_hash`: the hash of the template if there is no revision: revisions may not have been read.

        Raises:
            ApiRefusal: it could not be written.
        """
        template = owner.template
        text = self._texts.of(template)
        equal = [item for item in held if self._texts.of(template_of(item)) == text]
        number = number_of(held[-1]) + 1 if held else 1
        if not equal:
            made = self._create(owner, template, number, known_hash if not held else "")
        elif equal[-1] is held[-1]:
            return equal[-1]
        else:
            made = self._registry.update(equal[-1], {**equal[-1].doc, "revision": number})
            held.remove(equal[-1])
        held.append(made)
        return made

    def truncate(self, owner: StoredItem, held: Sequence[StoredItem], live: Collection[str]) -> None:
        """Delete the oldest revisions that are not in `live_names`, beyond the history limit."""
        limit = owner.spec.get("revisionHistoryLimit")
        spare = [item for item in held if item.key[1] not in live]
        for item in spare[: max(0, len(spare) - (_KEPT if limit is None else int(limit)))]:
            self._registry.delete(item)

    def _create(self, owner: StoredItem, template: Doc, number: int, known_hash: str) -> StoredItem:
        namespace, name = owner.key
        chosen, collisions = known_hash or hash_of(template), 0
        while self._registry.find(REVISIONS, (namespace, f"{name}-{chosen}")) is not None:
            collisions += 1
            chosen = hash_of(template, collisions)
        labels = {**(at(template, "metadata", "labels") or {}), "controller.kubernetes.io/hash": chosen}
        labels[HASH_LABEL] = chosen
        meta = {"name": f"{name}-{chosen}", "labels": labels, "ownerReferences": [reference_to(owner, self._kind)]}
        data = {"spec": {"template": {**template, "$patch": "replace"}}}
        kind = {"apiVersion": "apps/v1", "kind": "ControllerRevision"}
        return self._registry.create(REVISIONS, {**kind, "metadata": meta, "data": data, "revision": number}, namespace)


def number_of(item: StoredItem) -> int:
    return int(item.doc.get("revision") or 0)


def template_of(item: StoredItem) -> Doc:
    found: Doc = at(item.doc, "data", "spec", "template") or {}
    return found


def hash_in(item: StoredItem) -> str:
    """The hash with which pods of a DaemonSet are labelled."""
    return item.labels.get(HASH_LABEL, "")
