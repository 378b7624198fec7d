"""ControllerRevisions: the templates that a StatefulSet or DaemonSet has had, newest last.

Source: pkg/controller/history/controller_history.go, pkg/controller/statefulset/stateful_set_control.go
(getStatefulSetRevisions, truncateHistory), pkg/controller/daemon/update.go (constructHistory), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.workloads.index import Index
from kubectl_eksdoc.core.sim.cluster.workloads.owning import claimed, reference_to
from kubectl_eksdoc.core.sim.cluster.workloads.selecting import Matcher
from kubectl_eksdoc.core.sim.cluster.workloads.templates import Texts, hash_of

REVISIONS = kinds.CONTROLLER_REVISIONS.full_name
HASH_LABEL = "controller-revision-hash"
_KEPT = 10


class Revisions:
    """Those of one kind of owner."""

    def __init__(self, registry: Registry, index: Index, kind: Resource) -> None:
        self._registry = registry
        self._index = index
        self._kind = kind
        self._texts = Texts()

    def of(self, owner: Item, selector: Matcher) -> list[Item]:
        """Oldest first.

        Raises:
            Refusal: one of them could not be adopted or released.
        """
        own = claimed(self._registry, self._index, owner, self._kind, selector, REVISIONS)
        return sorted(own, key=lambda item: (number_of(item), item.key[1]))

    def latest(self, owner: Item, held: list[Item], known_hash: str = "") -> Item:
        """That of the template as it is now; it is made, or made the newest again, and then put into `held`.

        `known_hash` is what the template's is called where no revision is held: they may not have been read.

        Raises:
            Refusal: it could not be written.
        """
        template = owner.doc["spec"].get("template") or {}
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

    def truncate(self, owner: Item, held: Sequence[Item], live: Collection[str]) -> None:
        """Delete the oldest that are not `live` (by name), beyond as many as are to be kept."""
        limit = owner.doc["spec"].get("revisionHistoryLimit")
        spare = [item for item in held if item.key[1] not in live]
        for item in spare[: max(0, len(spare) - (_KEPT if limit is None else int(limit)))]:
            self._registry.delete(item)

    def _create(self, owner: Item, template: Doc, number: int, known_hash: str) -> Item:
        namespace, name = owner.key
        chosen, collisions = known_hash or hash_of(template), 0
        while self._registry.store.get(REVISIONS, (namespace, f"{name}-{chosen}")) is not None:
            collisions += 1
            chosen = hash_of(template, collisions)
        labels = {**(at(template, "metadata", "labels") or {}), "controller.kubernetes.io/hash": chosen}
        labels[HASH_LABEL] = chosen
        meta = {"name": f"{name}-{chosen}", "labels": labels, "ownerReferences": [reference_to(owner, self._kind)]}
        data = {"spec": {"template": {**template, "$patch": "replace"}}}
        kind = {"apiVersion": "apps/v1", "kind": "ControllerRevision"}
        return self._registry.create(REVISIONS, {**kind, "metadata": meta, "data": data, "revision": number}, namespace)


def number_of(item: Item) -> int:
    return int(item.doc.get("revision") or 0)


def template_of(item: Item) -> Doc:
    found: Doc = at(item.doc, "data", "spec", "template") or {}
    return found


def hash_in(item: Item) -> str:
    """What pods of a DaemonSet are labelled with."""
    return str(item.doc["metadata"].get("labels", {}).get(HASH_LABEL, ""))
