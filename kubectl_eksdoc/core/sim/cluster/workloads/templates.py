"""Pods from the templates of their controllers, and hashes by which templates are told apart.

Source: pkg/controller/controller_utils.go (GetPodFromTemplate, ComputeHash), apimachinery pkg/util/rand
(SafeEncodeString), Kubernetes v1.36. The hash function is another one: upstream's depends on Go's memory layout.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.rules.api.defaults import of_pods
from kubectl_eksdoc.core.sim.cluster.names import ALPHABET
from kubectl_eksdoc.core.sim.cluster.pod_admission import PRIORITY_CLASSES, admitted, first_status
from kubectl_eksdoc.core.sim.cluster.store import Item, Store
from kubectl_eksdoc.core.sim.cluster.workloads.owning import reference_to

_MOST = 10_000


class Templates:
    """Mutable: remembers what became of a template. All pods of one share its spec, which is a value."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made: dict[int, tuple[Doc, int, Doc, Doc]] = {}
        self._classes = 0  # changes of priority classes so far
        store.listen(self._note)

    def pod(self, template: Doc, owner: Item, kind: Resource) -> Doc:
        """A pod of `owner`, without a name but with generateName.

        Raises:
            Refusal: admission says no.
        """
        spec, status = self._admitted(template)
        given = template.get("metadata") or {}
        meta: Doc = {"generateName": owner.key[1] + "-", "ownerReferences": [reference_to(owner, kind)]}
        meta |= {part: given[part] for part in ("labels", "annotations", "finalizers") if given.get(part)}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}

    def _admitted(self, template: Doc) -> tuple[Doc, Doc]:
        held = self._made.get(id(template))
        if held is not None and held[1] == self._classes:
            return held[2], held[3]
        if len(self._made) >= _MOST:
            self._made.clear()
        spec = admitted(of_pods(template.get("spec") or {}), self._store)
        status = first_status(spec)
        self._made[id(template)] = (template, self._classes, spec, status)
        return spec, status

    def _note(self, change: Any) -> None:
        if change.item.resource == PRIORITY_CLASSES:
            self._classes += 1


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


class Texts:
    """Mutable: the canonical text of documents, made once for each."""

    def __init__(self, besides: str = "") -> None:
        """Of templates, a label of that key is left out."""
        self._besides = besides
        self._made: dict[int, tuple[Doc, str]] = {}

    def of(self, template: Doc) -> str:
        held = self._made.get(id(template))
        if held is not None:
            return held[1]
        if len(self._made) >= _MOST:
            self._made.clear()
        text = canonical(self._plain(template))
        self._made[id(template)] = (template, text)
        return text

    def _plain(self, template: Doc) -> Doc:
        """Without what is no part of a pod: the label, and what a stored patch says of itself."""
        meta = {key: value for key, value in (template.get("metadata") or {}).items() if key != "creationTimestamp"}
        labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != self._besides}
        plain = {key: value for key, value in template.items() if key != "$patch"}
        return {**plain, "metadata": {**meta, "labels": labels}}


def _empty(value: Any) -> bool:
    return value is None or value == {} or value == []
