"""Owner references, and which objects a controller takes for its own: it adopts what matches and releases what not.

Source: pkg/controller/controller_ref_manager.go (ClaimObject), apimachinery pkg/apis/meta/v1/controller_ref.go,
Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.api_objects import Doc, with_value
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key
from kubectl_eksdoc.core.sim.cluster.workloads.index import Index
from kubectl_eksdoc.core.sim.cluster.workloads.selecting import Matcher

_OWNERS = ("metadata", "ownerReferences")


def controller_of(doc: Doc) -> Doc | None:
    """The owner reference with ``controller: true``."""
    for owner in doc["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            found: Doc = owner
            return found
    return None


def reference_to(item: Item, resource: Resource) -> Doc:
    """An owner reference to `item` as the one that controls."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": item.key[1],
        "uid": item.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def keys_of_owner(change: Change, resource: Resource) -> Iterable[Key]:
    """Keys of the objects of that kind that control the changed object, or did before."""
    found: dict[Key, None] = {}
    for item in (change.item, change.before):
        owner = None if item is None else controller_of(item.doc)
        if owner is not None and owner["kind"] == resource.kind and _group(owner) == resource.group:
            found[change.item.key[0], owner["name"]] = None
    return found


def may_be_adopted(change: Change) -> bool:
    """Whether an object without a controller came, lost its controller or got other labels."""
    if controller_of(change.item.doc) is not None:
        return False
    if change.before is None:
        return True
    labels = change.item.doc["metadata"].get("labels")
    return controller_of(change.before.doc) is not None or change.before.doc["metadata"].get("labels") != labels


def claimed(
    registry: Registry, index: Index, owner: Item, kind: Resource, selector: Matcher, resource: str
) -> list[Item]:
    """Objects of `resource` that belong to `owner`, after those that match were adopted and others released.

    Raises:
        Refusal: one of them could not be written.
    """
    kept = []
    for item in index.controlled(owner.uid, resource):
        if selector.matches(item.doc["metadata"].get("labels") or {}):
            kept.append(item)
        elif not owner.leaving:
            _release(registry, item, owner.uid)
    if owner.leaving:
        return kept
    for item in index.orphans(resource, owner.key[0]):
        if not item.leaving and selector.matches(item.doc["metadata"].get("labels") or {}):
            kept.append(_adopt(registry, item, owner, kind))
    return kept


def _adopt(registry: Registry, item: Item, owner: Item, kind: Resource) -> Item:
    others = [each for each in item.doc["metadata"].get("ownerReferences") or () if each["uid"] != owner.uid]
    return registry.update(item, with_value(item.doc, _OWNERS, [*others, reference_to(owner, kind)]))


def _release(registry: Registry, item: Item, uid: str) -> None:
    others = [each for each in item.doc["metadata"].get("ownerReferences") or () if each["uid"] != uid]
    registry.update(item, with_value(item.doc, _OWNERS, others))


def _group(owner: Doc) -> str:
    group, slash, _ = str(owner.get("apiVersion", "")).partition("/")
    return group if slash else ""
