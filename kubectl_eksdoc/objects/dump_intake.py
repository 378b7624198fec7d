"""Intake of a dump: sorts its items by resource, and records of which resources it contains a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches

import msgspec

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.kinds import ReadState, Resource

from .collector import DECODE_ERRORS, FactCollector, InvalidAnswer, object_label
from .karpenter import BY_RESOURCE
from .single import RawObjects
from .stream import ListHeader, StreamItem
from .structs import LeanStruct, ObjectMeta

CRD_KIND, CRD_PLURAL = "CustomResourceDefinition", "customresourcedefinitions"
REPORT_EVERY = 1000

_SIMILARITY = 0.8
"""Minimum similarity of two kinds for one to count as a typing error of the other; ServiceAccount and Service have
0.67."""
_KNOWN_KINDS = frozenset(
    (each.group, each.kind) for each in (*BY_RESOURCE, *kinds.READ_BY_NAME, kinds.CONTROLLER_REVISIONS)
)

_SHORT_NAMES = {
    "no": "nodes",
    "po": "pods",
    "pdb": "poddisruptionbudgets",
    "deploy": "deployments",
    "rs": "replicasets",
    "sts": "statefulsets",
    "ds": "daemonsets",
    "rc": "replicationcontrollers",
    "pv": "persistentvolumes",
    "pvc": "persistentvolumeclaims",
    "sc": "storageclasses",
    "ns": "namespaces",
    "pc": "priorityclasses",
    "hpa": "horizontalpodautoscalers",
    "svc": "services",
    "cj": "cronjobs",
    "crd": CRD_PLURAL,
    "crds": CRD_PLURAL,
}
"""kubectl's short names, which users use as file names."""


class KindComesLater(Exception):
    """An item without a kind, in a List that has not named its kind yet."""


class _MetadataOnly(LeanStruct):
    metadata: ObjectMeta | None = None


_decode_named = msgspec.json.Decoder(_MetadataOnly).decode


class DumpIntake:
    """Collects the facts of one dump. `progress` receives a resource's plural and its number of objects so far; `raw`
    receives the objects."""

    def __init__(
        self,
        resources: Sequence[Resource],
        progress: Callable[[str, int], None] | None = None,
        raw: RawObjects | None = None,
    ) -> None:
        self._resources = tuple(resources)
        self._by_kind = {r.kind: r for r in resources}
        self._by_lower = {r.kind.lower(): r for r in resources}
        self._mistyped: dict[tuple[str, str, str], Resource | None] = {}
        self._by_group = {(r.group, r.kind): r for r in resources}
        self._by_stem = {stem: r for r in resources for stem in (r.plural, r.full_name, r.kind.lower())}
        self._progress = progress
        self._collector = FactCollector(Source.SNAPSHOT, raw)
        self._raw = raw
        self._counts = dict.fromkeys(resources, 0)
        self._reported_counts = dict.fromkeys(resources, 0)
        self._open_lists: dict[Resource, ListHeader] = {}
        self._closed_lists: set[Resource] = set()
        self._definitions: set[str] | None = None
        self.resources_found: set[Resource] = set()

    def is_requested(self, kind: str) -> bool:
        return kind in self._by_kind

    def add_item(self, item: StreamItem, origin: str, stem: str, list_header: ListHeader | None) -> None:
        """Add one object; objects of other kinds are passed to `raw` unchanged.

        `stem` is the name of the file, the last source for the kind; `list_header` is the List's header if the whole
        List was read before.

        Raises:
            KindComesLater: its kind depends on fields of the List after its items.
            InvalidAnswer: it is invalid.
        """
        kind, api_version = self._kind_and_version(item, list_header, stem)
        if kind == "List" or (kind.endswith("List") and kind[:-4] in self._by_kind):
            raise InvalidAnswer(f"{origin}: an item of the List is a {kind} itself")
        if kind == CRD_KIND:
            self._add_definition(item)
        resource = self._resource(kind, api_version)
        if resource is not None:
            self._collector.add_item(resource, item.raw, origin)
            self.resources_found.add(resource)
            self._counts[resource] += 1
            if self._counts[resource] % REPORT_EVERY == 0:
                self._report_progress()
            return
        mistyped_resource = self._mistyped_resource(kind, api_version, stem)
        if mistyped_resource is not None:
            label = object_label(bytes(item.raw), mistyped_resource)
            self._collector.add_invalid(
                mistyped_resource, f"{origin}: {label} has apiVersion {api_version!r} and kind {kind!r}"
            )
            self.resources_found.add(mistyped_resource)
            return
        if not kind:
            raise InvalidAnswer(f"{origin}: item {item.within.items} of the List has no kind")
        if self._raw is not None:
            self._raw.add_other(kind, api_version, item.raw)

    def end_list(self, header: ListHeader, stem: str) -> None:
        """End of a List: its resource was in the dump even if the List was empty."""
        self._report_progress()
        kind = header.kind.removesuffix("List")
        named_by_file = not kind and header.items == 0
        resource = self._resource_of_file(stem) if named_by_file else self._resource(kind, header.api_version)
        if kind == CRD_KIND or (named_by_file and _plural_of_file(stem) == CRD_PLURAL):
            self._definitions = self._definitions or set()
        if resource is None:
            return
        self.resources_found.add(resource)
        if header.continue_token:
            self._open_lists[resource] = header
        else:
            self._closed_lists.add(resource)

    def incomplete_reason(self, resource: Resource) -> str:
        """Why the list of `resource` is incomplete, or ""."""
        header = self._open_lists.get(resource)
        if header is None or resource in self._closed_lists:
            return ""
        remaining = f", {header.remaining:,} objects more" if header.remaining else ""
        return f"its list of {resource.plural} has a continue token, so pages are missing{remaining}"

    def cluster(self) -> Cluster:
        """All facts; `reads` says which resources the dump does not contain."""
        for resource in self._resources:
            self._collector.set_state(resource, *self._read_state(resource))
        return self._collector.cluster(self._collector.nodes_identity(), None)

    def _read_state(self, resource: Resource) -> tuple[ReadState, str]:
        if resource in self.resources_found:
            reason = self.incomplete_reason(resource)
            return (ReadState.FAILED, reason) if reason else (ReadState.READ, "")
        if resource.custom and self._definitions is not None and resource.full_name not in self._definitions:
            return ReadState.NOT_SERVED, f"the cluster has no CustomResourceDefinition {resource.full_name}"
        return ReadState.NOT_HELD, f"the snapshot has no {resource.plural}"

    def _kind_and_version(self, item: StreamItem, list_header: ListHeader | None, stem: str) -> tuple[str, str]:
        """(kind, apiVersion) of the item: its own, else its List's, else that of the file name."""
        if item.kind:
            return item.kind, item.api_version
        header = list_header or item.within
        if list_header is None and not (header.kind and header.api_version):
            raise KindComesLater
        if header.kind in ("", "List"):
            resource = self._resource_of_file(stem)
            return (resource.kind, resource.api_version) if resource else ("", "")
        return header.kind.removesuffix("List"), header.api_version

    def _resource(self, kind: str, api_version: str) -> Resource | None:
        """By group and kind; the version is ignored, because the fields read here are the same in all versions."""
        if not api_version:
            return self._by_kind.get(kind)
        return self._by_group.get((api_version.rpartition("/")[0], kind))

    def _mistyped_resource(self, kind: str, api_version: str, stem: str) -> Resource | None:
        """The requested resource that an object with a mistyped kind or apiVersion probably belongs to."""
        key = kind, api_version, stem
        if key not in self._mistyped:
            file_resource = self._resource_of_file(stem)
            similar_kinds = get_close_matches(kind.lower(), self._by_lower, 1, _SIMILARITY)
            self._mistyped[key] = next(
                (
                    resource
                    for resource in (file_resource, self._by_lower[similar_kinds[0]] if similar_kinds else None)
                    if resource is not None and _is_probably(resource, kind, api_version, resource is file_resource)
                ),
                None,
            )
        return self._mistyped[key]

    def _resource_of_file(self, stem: str) -> Resource | None:
        return self._by_stem.get(_plural_of_file(stem))

    def _add_definition(self, item: StreamItem) -> None:
        try:
            meta = _decode_named(item.raw).metadata
        except DECODE_ERRORS:
            return
        self._definitions = (self._definitions or set()) | {(meta.name if meta else None) or ""}

    def _report_progress(self) -> None:
        """Report the counts that have changed."""
        for resource, count in self._counts.items():
            if self._progress is not None and self._reported_counts[resource] != count:
                self._reported_counts[resource] = count
                self._progress(resource.plural, count)


def _is_probably(resource: Resource, kind: str, api_version: str, named_by_file: bool) -> bool:
    """Whether an object with this `kind` is probably one of `resource`.

    Groups without a dot belong to Kubernetes; no other project has kinds in them."""
    group = api_version.rpartition("/")[0]
    if (group, kind) in _KNOWN_KINDS:
        return False
    if kind == resource.kind:
        return named_by_file or "." not in group
    similar_kinds = get_close_matches(kind.lower(), (resource.kind.lower(),), 1, _SIMILARITY)
    return group == resource.group and bool(similar_kinds or (named_by_file and group))


def _plural_of_file(stem: str) -> str:
    return _SHORT_NAMES.get(stem, stem)
