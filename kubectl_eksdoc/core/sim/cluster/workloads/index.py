"""What belongs to what: objects by owner, orphans by namespace, pods by node and by label, kept as the store changes.

A controller that looked through all objects of a kind would cost more the larger the cluster is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key, Store, What

PODS = kinds.PODS.full_name

_Place = tuple[str, ...]
_Ref = tuple[str, Key]


class Index:
    """Mutable: follows `store` from now on. Make it before the controllers that ask it."""

    def __init__(self, store: Store) -> None:
        self._at: dict[_Place, dict[_Ref, Item]] = defaultdict(dict)
        self._places: dict[_Ref, tuple[_Place, ...]] = {}
        self._held: set[str] = set()
        for resource in store.resources():
            for item in store.list(resource):
                self._put(item)
        store.listen(self._note)

    def controlled(self, uid: str, resource: str) -> list[Item]:
        """Objects whose controller is the one of that UID, in the order in which they came to be so."""
        return self._of(("controlled", uid, resource))

    def controls(self, uid: str, resource: str) -> int:
        """How many there are."""
        return len(self._at.get(("controlled", uid, resource), ()))

    def orphans(self, resource: str, namespace: str) -> list[Item]:
        """Objects without a controller."""
        return self._of(("orphan", resource, namespace))

    def dependents(self, uid: str) -> list[Item]:
        """Objects of any kind that name the one of that UID among their owners."""
        return self._of(("owned", uid))

    def of_uid(self, uid: str) -> Item | None:
        return next(iter(self._of(("uid", uid))), None)

    def held(self, resource: str) -> bool:
        """Whether there is, or was, any object of it: of others nothing is known, and none of them is missing."""
        return resource in self._held

    def on_node(self, node: str) -> list[Item]:
        """Pods that are assigned to it; "" for those that are to no node."""
        return self._of(("node", node))

    def labelled(self, namespace: str, labels: dict[str, str]) -> Iterator[Item]:
        """Pods of the namespace that have all these labels (at least one is asked for)."""
        buckets = [self._at.get(("label", namespace, key, value), {}) for key, value in labels.items()]
        fewest = min(buckets, key=len)
        others = [bucket for bucket in buckets if bucket is not fewest]
        return (item for ref, item in fewest.items() if all(ref in bucket for bucket in others))

    def _of(self, place: _Place) -> list[Item]:
        return list(self._at.get(place, {}).values())

    def _note(self, change: Change) -> None:
        if change.what is What.DELETED:
            self._drop(change.item)
        else:
            self._put(change.item)

    def _put(self, item: Item) -> None:
        ref = (item.resource, item.key)
        self._held.add(item.resource)
        places, before = _places(item), self._places.get(ref, ())
        if places != before:
            self._leave(ref, (place for place in before if place not in places))
            self._places[ref] = places
        for place in places:
            self._at[place][ref] = item

    def _drop(self, item: Item) -> None:
        ref = (item.resource, item.key)
        self._leave(ref, iter(self._places.pop(ref, ())))

    def _leave(self, ref: _Ref, places: Iterator[_Place]) -> None:
        for place in places:
            bucket = self._at[place]
            bucket.pop(ref, None)
            if not bucket:
                del self._at[place]


def _places(item: Item) -> tuple[_Place, ...]:
    meta: Doc = item.doc["metadata"]
    found: list[_Place] = [("uid", str(meta.get("uid", "")))]
    controller = ""
    for owner in meta.get("ownerReferences") or ():
        found.append(("owned", owner["uid"]))
        if owner.get("controller"):
            controller = owner["uid"]
    if controller:
        found.append(("controlled", controller, item.resource))
    else:
        found.append(("orphan", item.resource, item.key[0]))
    if item.resource == PODS:
        found.append(("node", item.doc["spec"].get("nodeName") or ""))
        namespace = item.key[0]
        found.extend(("label", namespace, key, value) for key, value in (meta.get("labels") or {}).items())
    return tuple(found)
