"""Single objects, and lists of a few kinds, out of all that a reader reads: what was asked for is kept as it is."""

from __future__ import annotations

from collections.abc import Collection

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.model.named import Named, named
from kubectl_eksdoc.objects.raw_objects import RawObjects, each_of
from kubectl_eksdoc.objects.single import document


class HeldObjects(RawObjects):
    """A `flows.ports.Objects` and a `flows.ports.Histories` over what a reader has read into it. Mutable. `where`:
    ``the snapshot x``; `lists` are kept as a whole, in the namespaces of the objects that are `wanted`."""

    def __init__(self, wanted: Collection[Named], where: str, lists: Collection[Resource] = ()) -> None:
        super().__init__()
        self._wanted = frozenset(wanted)
        self._namespaces = {of.namespace for of in wanted}
        self._whole = {resource.kind for resource in lists}
        self._kinds = {of.kind for of in wanted} | self._whole
        self._lists: dict[tuple[str, str], list[Doc]] = {}
        self._where = where
        self._kept: dict[Named, Doc] = {}
        self._seen: set[tuple[str, str]] = set()

    @property
    def resources(self) -> tuple[Resource, ...]:
        """What a reader must be asked for, so that it comes by: of other kinds it comes by itself."""
        return tuple(resource for resource in kinds.ALL if resource.kind in self._kinds)

    def add_page(self, resource: Resource, body: bytes) -> None:
        if resource.kind in self._kinds:
            for raw in each_of(body):
                self.add_item(resource, raw)

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        self._keep(resource.kind, resource.api_version, raw)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        self._keep(kind, api_version, raw)

    def _keep(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        if kind not in self._kinds:
            return
        doc = document(raw)
        if doc is not None:
            whole = {**doc, "kind": kind, "apiVersion": api_version}
            where = kind, named(whole).namespace
            self._seen.add(where)
            if kind in self._whole and where[1] in self._namespaces:
                self._lists.setdefault(where, []).append(whole)
            if named(whole) in self._wanted:
                self._kept[named(whole)] = whole

    def one(self, of: Named) -> Doc | Absent | Unknown:
        """As `flows.ports.Objects.one`; of a kind without any object of the namespace nothing is known."""
        found = self._kept.get(of)
        if found is not None:
            return found
        if (of.kind, of.namespace) in self._seen:
            return Absent(f"{self._where} has no {of}")
        return Unknown(f"{self._where} holds no {of.kind}" + (f" of namespace {of.namespace}" if of.namespace else ""))

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        """As `flows.ports.Histories.listed`; of a kind without any object of the namespace nothing is known."""
        found = self._lists.get((resource.kind, namespace))
        if found is None:
            return Unknown(f"{self._where} holds no {resource.kind} of namespace {namespace}")
        return tuple(found)
