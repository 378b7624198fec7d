"""Pods from the templates of their controllers, and hashes by which templates are told apart.

Source: pkg/controller/controller_utils.go (GetPodFromTemplate, ComputeHash), apimachinery pkg/util/rand
(SafeEncodeString), Kubernetes v1.36. The hash function is another one: upstream's depends on Go's memory layout.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from zlib import crc32

from kubectl_eksdoc.kubernetes.api.defaults import of_pods
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.simulator.disruptions import PRIORITY_CLASSES, admitted, first_status
from kubectl_eksdoc.simulator.registry import Registry
from kubectl_eksdoc.simulator.store import ALPHABET, Store, StoredItem
from kubectl_eksdoc.simulator.workloads.owning import Index, Matcher, OncePerDocument, claimed, reference_to


class PodTemplates:
    """Mutable: remembers what became of a template. All pods of one share its spec, which is a value."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._admitted = OncePerDocument(self._admit)
        store.listen(self._note)

    def pod(self, template: Doc, owner: StoredItem, kind: Resource) -> Doc:
        """A pod of `owner`, without a name but with generateName.

        Raises:
            Refusal: admission says no.
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
    """One text for equal values: members by name, and what is null or empty left out, as Go's types do."""
    if isinstance(value, dict):
        inner = ",".join(f"{key!r}:{canonical(value[key])}" for key in sorted(value) if not _empty(value[key]))
        return "{" + inner + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(each) for each in value) + "]"
    return repr(value)


def text_of(template: Doc, besides: str = "") -> str:
    """Its canonical text without what is no part of a pod: the label of that key, and what a stored patch says of
    itself."""
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
    """Those of one kind of owner."""

    def __init__(self, registry: Registry, index: Index, kind: Resource) -> None:
        self._registry = registry
        self._index = index
        self._kind = kind
        self._texts = OncePerDocument(text_of)

    def of(self, owner: StoredItem, selector: Matcher) -> list[StoredItem]:
        """Oldest first.

        Raises:
            Refusal: one of them could not be adopted or released.
        """
        own = claimed(self._registry, self._index, owner, self._kind, selector, REVISIONS)
        return sorted(own, key=lambda item: (number_of(item), item.key[1]))

    def latest(self, owner: StoredItem, held: list[StoredItem], known_hash: str = "") -> StoredItem:
        """That of the template as it is now; it is made, or made the newest again, and then put into `held`.

        `known_hash` is what the template's is called where no revision is held: they may not have been read.

        Raises:
            Refusal: it could not be written.
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
        """Delete the oldest that are not `live` (by name), beyond as many as are to be kept."""
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
    """What pods of a DaemonSet are labelled with."""
    return item.labels.get(HASH_LABEL, "")
