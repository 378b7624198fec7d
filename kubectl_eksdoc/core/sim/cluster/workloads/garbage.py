"""The garbage collector: what all its owners have left goes, too, in the background, in the foreground or not at all.

An owner of a kind that is not known, or of which no object was ever seen, is never taken for gone: where a kind was
not read, its absence says nothing.
Source: pkg/controller/garbagecollector/{garbagecollector,graph_builder}.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.api_objects import Doc, with_value
from kubectl_eksdoc.core.sim.cluster.registry import DeleteOptions, Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key, What
from kubectl_eksdoc.core.sim.cluster.workloads.index import Index

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"

_OWNERS = ("metadata", "ownerReferences")
_FINALIZERS = ("metadata", "finalizers")


class Garbage:
    """A `Controller`; keys are ("", UID). It is told of all kinds that the registry knows."""

    def __init__(self, registry: Registry, index: Index) -> None:
        self._registry = registry
        self._index = index
        self.resources = registry.traits.keys()

    def touched(self, change: Change) -> Iterable[Key]:
        meta = change.item.doc["metadata"]
        owners = meta.get("ownerReferences") or ()
        if change.what is What.DELETED:
            gone = change.item.uid
            yield from (("", item.uid) for item in self._index.dependents(gone))
            yield from (("", owner["uid"]) for owner in owners)  # it may have waited for this one
        elif change.item.leaving:
            if meta.get("finalizers"):
                yield ("", change.item.uid)
            if owners and (change.before is None or not change.before.leaving):
                yield from (("", owner["uid"]) for owner in owners)
        elif owners and (change.before is None or change.before.doc["metadata"].get("ownerReferences") != owners):
            yield ("", change.item.uid)

    def reconcile(self, key: Key) -> float | None:
        item = self._index.of_uid(key[1])
        if item is None:
            return None
        if item.leaving and ORPHAN in _finalizers(item):
            self._orphan(item)
        elif _waits(item):
            self._wait(item)
        else:
            self._judge(item)
        return None

    def _orphan(self, item: Item) -> None:
        """Its dependents lose it as an owner; then it may go."""
        for dependent in self._index.dependents(item.uid):
            self._disown(dependent, {item.uid})
        self._let_go(item, ORPHAN)

    def _wait(self, item: Item) -> None:
        """Its dependents are told to go; it goes when none is left that blocks it."""
        for dependent in self._index.dependents(item.uid):
            self._judge(dependent)
        if not any(_blocks(dependent, item.uid) for dependent in self._index.dependents(item.uid)):
            self._let_go(item, FOREGROUND)

    def _judge(self, item: Item) -> None:
        """Delete what no owner keeps; what some still keep only loses the others."""
        owners: list[Doc] = item.doc["metadata"].get("ownerReferences") or []
        if not owners or (item.leaving and not _waits(item)):
            return
        missing = {owner["uid"] for owner in owners if self._missing(owner, item.key[0])}
        waiting = {owner["uid"] for owner in owners if self._waiting(owner)}
        if any(owner["uid"] not in missing | waiting for owner in owners):
            if missing | waiting:
                self._disown(item, missing | waiting)
        elif waiting and self._index.dependents(item.uid):
            self._unblock_circles(item)
            self._delete(item, "Foreground")
        elif not item.leaving:
            self._delete(item, _asked(item))

    def _missing(self, owner: Doc, namespace: str) -> bool:
        """Whether the owner is certainly not there."""
        held = self._index.of_uid(owner["uid"])
        if held is not None:
            return held.key[0] not in ("", namespace) or held.key[1] != owner["name"]
        named = (_group(owner), owner["kind"])
        traits = self._registry.traits.items()
        resource = next((name for name, each in traits if (each.named.group, each.named.kind) == named), "")
        return bool(resource) and self._index.held(resource)

    def _waiting(self, owner: Doc) -> bool:
        held = self._index.of_uid(owner["uid"])
        return held is not None and _waits(held)

    def _unblock_circles(self, item: Item) -> None:
        """Dependents that wait themselves must not keep it: they may wait for it in a circle."""
        for dependent in self._index.dependents(item.uid):
            if _waits(dependent):
                owners = [{**each, "blockOwnerDeletion": False} for each in item.doc["metadata"]["ownerReferences"]]
                self._registry.update(item, with_value(item.doc, _OWNERS, owners))
                return

    def _disown(self, item: Item, uids: set[str]) -> None:
        current = self._registry.get(item.resource, item.key)
        kept = [each for each in current.doc["metadata"].get("ownerReferences") or () if each["uid"] not in uids]
        self._registry.update(current, with_value(current.doc, _OWNERS, kept))

    def _delete(self, item: Item, propagation: str) -> None:
        current = self._registry.get(item.resource, item.key)
        if propagation != "Foreground" or not _waits(current):
            self._registry.delete(current, DeleteOptions(uid=item.uid, propagation=propagation))

    def _let_go(self, item: Item, finalizer: str) -> None:
        current = self._registry.get(item.resource, item.key)
        kept = [each for each in _finalizers(current) if each != finalizer]
        self._registry.update(current, with_value(current.doc, _FINALIZERS, kept))


def _finalizers(item: Item) -> list[str]:
    return item.doc["metadata"].get("finalizers") or []


def _waits(item: Item) -> bool:
    """Whether it is being deleted and waits for its dependents to go first."""
    return item.leaving and FOREGROUND in _finalizers(item)


def _blocks(item: Item, uid: str) -> bool:
    owners = item.doc["metadata"].get("ownerReferences") or ()
    return any(each["uid"] == uid and each.get("blockOwnerDeletion") for each in owners)


def _asked(item: Item) -> str:
    """The way of deletion that its own finalizers ask for."""
    held = _finalizers(item)
    if ORPHAN in held:
        return "Orphan"
    return "Foreground" if FOREGROUND in held else "Background"


def _group(owner: Doc) -> str:
    group, slash, _ = str(owner.get("apiVersion", "")).partition("/")
    return group if slash else ""
