"""Loads the objects of a dump into a simulated cluster: every built-in kind, and kinds that a definition in the dump
declares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.defaults import prepare_for_create
from kubectl_eksdoc.kubernetes.api.shapes import find_mismatches, resource_shape
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value
from kubectl_eksdoc.model.cluster import Cluster, InvalidEntry
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.collector import placeholder_uid
from kubectl_eksdoc.objects.single import FactDecoder, InvalidJson, RawObjects, encode
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.scheduling import SCALED_KINDS
from kubectl_eksdoc.simulator.store import ObjectKey, StoredItem

from . import catalogue
from .catalogue import DEFINITION, DEFINITIONS, Catalogue, missing_definition_fields
from .serving.validation import missing_fields, validation_problems

# UIDs for documents of a dump without UIDs, and for the references between them.
#
# The simulated cluster identifies objects by UID; without UIDs all of them would be one.


_Name = tuple[str, str, str]
"""Kind, namespace and name."""


def with_uids(docs: Iterable[Doc]) -> list[Doc]:
    """Return `docs` unchanged if each has a UID. Otherwise add the missing UIDs, and resolve references by name."""
    docs = list(docs)
    if all(nested_field(doc, "metadata", "uid") for doc in docs):
        return docs
    uids = {
        _object_name(doc): str(nested_field(doc, "metadata", "uid") or placeholder_uid(*_object_name(doc)))
        for doc in docs
    }
    return [_with_resolved_uids(doc, uids) for doc in docs]


def _with_resolved_uids(doc: Doc, uids: dict[_Name, str]) -> Doc:
    namespace = _object_name(doc)[1]
    document = with_value(doc, ("metadata", "uid"), uids[_object_name(doc)])
    owners = nested_field(doc, "metadata", "ownerReferences")
    if isinstance(owners, list):
        document = with_value(
            document, ("metadata", "ownerReferences"), [_resolved_reference(each, namespace, uids) for each in owners]
        )
    return document


def _resolved_reference(reference: Any, namespace: str, uids: dict[_Name, str]) -> Any:
    """Return `reference` with the UID of the named object: in its namespace, else cluster-wide, else a UID that no
    object has."""
    if not isinstance(reference, dict):
        return reference
    kind, name = str(reference.get("kind") or ""), str(reference.get("name") or "")
    namespace = str(reference.get("namespace") or namespace)
    known_uid = uids.get((kind, namespace, name)) or uids.get((kind, "", name))
    return {**reference, "uid": known_uid or reference.get("uid") or placeholder_uid(kind, namespace, name)}


def _object_name(doc: Doc) -> _Name:
    return (
        str(doc.get("kind") or ""),
        str(nested_field(doc, "metadata", "namespace") or ""),
        str(nested_field(doc, "metadata", "name") or ""),
    )


# Facts of stored objects, decoded once for each version: the `FactDecoder` of the simulated cluster.


_WORKLOADS = {resource.full_name: resource for resource in SCALED_KINDS}


def _facts_method(resource: Resource) -> Any:
    """A method of `StoredFacts`, typed by `FactSource`."""
    return lambda self, item: self._of(resource, item)


class StoredFacts:
    """A `FactSource`: caches the facts of the latest version of every requested object."""

    def __init__(self) -> None:
        self._facts = FactDecoder()
        self._known: dict[tuple[str, ObjectKey], tuple[StoredItem, Any]] = {}

    pod = _facts_method(kinds.PODS)
    node = _facts_method(kinds.NODES)
    budget = _facts_method(kinds.BUDGETS)
    claim = _facts_method(kinds.CLAIMS)
    volume = _facts_method(kinds.VOLUMES)
    storage_class = _facts_method(kinds.STORAGE_CLASSES)
    csi_node = _facts_method(kinds.CSI_NODES)
    attachment = _facts_method(kinds.VOLUME_ATTACHMENTS)

    def workload(self, item: StoredItem) -> Any:
        return self._of(_WORKLOADS[item.resource], item)

    def _of(self, resource: Resource, item: StoredItem) -> Any:
        name = item.resource, item.key
        cached = self._known.get(name)
        if cached is not None and cached[0] is item:
            return cached[1]
        fact = self._facts.fact(resource, encode(item.doc))
        if cached is None or cached[0].version <= item.version:
            self._known[name] = item, fact
        return fact


@frozen
class LoadedCluster:
    """Number of objects of each kind (``apiVersion Kind``) that were not loaded: `undeclared`, because no definition
    declares the kind; `malformed`, because an API server could not have stored them; `duplicates`, because the name
    existed already. `invalid`: objects of the kinds that this tool reads that a server could not have stored."""

    plane: ControlPlane
    undeclared: Mapping[str, int]
    malformed: Mapping[str, int]
    duplicates: Mapping[str, int]
    invalid: tuple[InvalidEntry, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for users. Duplicates of kinds that this tool reads are reported when they are read."""
        doubled = {kind: count for kind, count in self.duplicates.items() if kind not in _READ_KINDS}
        reasons_with_counts = (
            (self.undeclared, "no CustomResourceDefinition in the dump declares their kind"),
            (self.malformed, "they are no objects as a server has them"),
            (doubled, "another one of that name is there"),
        )
        return tuple(
            f"left out of the simulated cluster, as {reason}: {_counts_text(counts)}"
            for counts, reason in reasons_with_counts
            if counts
        )


_READ_KINDS = frozenset(f"{resource.api_version} {resource.kind}" for resource in kinds.ALL)


def _counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))


def load_observed(observed: Cluster, raw: RawObjects) -> LoadedCluster:
    """Load the objects of an observed cluster, at the time of the observation.

    Raises:
        SnapshotError: an object cannot be loaded.
    """
    try:
        return load_documents(raw.documents(), observed.observed_at)
    except InvalidJson as error:
        message = f"cannot make a simulated cluster: an object that was read is no JSON: {error}"
        raise SnapshotError(message, "Make the dump again with kubectl.") from error


def load_documents(docs: Iterable[Doc], now: datetime, seed: int = 0) -> LoadedCluster:
    """Load all of `docs` unchanged, at `now`; no controller is running yet (see `ControlPlane.start`).

    Namespaces of objects are created if the dump does not contain them. Objects without a UID get one.
    """
    docs = with_uids(docs)
    docs += _implied_definitions(docs)
    loader = _Loading(
        ControlPlane(now, StoredFacts(), seed), catalogue.build_catalogue(d for d in docs if _is_valid_definition(d))
    )
    for doc in docs:
        loader.add(doc)
    _add_namespaces(loader.plane, docs)
    return LoadedCluster(
        loader.plane, dict(loader.undeclared), dict(loader.malformed), dict(loader.duplicates), tuple(loader.invalid)
    )


class _Loading:
    """Mutable, and private to one call of `load_documents`."""

    def __init__(self, plane: ControlPlane, served: Catalogue) -> None:
        self.plane = plane
        self.undeclared: Counter[str] = Counter()
        self.invalid: list[InvalidEntry] = []
        self.malformed: Counter[str] = Counter()
        self.duplicates: Counter[str] = Counter()
        self._served = {f"{each.api_version} {each.kind}": each for each in reversed(served.served)}

    def add(self, doc: Doc) -> None:
        kind = f"{doc.get('apiVersion') or ''} {doc.get('kind') or ''}".strip()
        served = self._served.get(kind)
        if served is None:
            self.undeclared[kind] += 1
            return
        resource = served.full_name
        name = nested_field(doc, "metadata", "name")
        if problem := _storage_problem(resource, doc):
            read = next((each for each in kinds.ALL if each.full_name == resource), None)
            if read is None:
                self.malformed[kind] += 1
            else:
                node = nested_field(doc, "spec", "nodeName")
                self.invalid.append(
                    InvalidEntry(read, _object_message(doc, problem), str(node or "") if read is kinds.PODS else None)
                )
            return
        key = (str(nested_field(doc, "metadata", "namespace") or "") if served.namespaced else "", str(name))
        if self.plane.store.get(resource, key) is not None:
            self.duplicates[kind] += 1
            return
        self.plane.registry.served.setdefault(resource, served)
        self.plane.store.add(resource, key, doc)


def _object_message(doc: Doc, problem: str) -> str:
    namespace, name = (str(nested_field(doc, "metadata", key) or "") for key in ("namespace", "name"))
    return f"{doc.get('kind')} {f'{namespace}/' if namespace else ''}{name}: {problem}"


def _storage_problem(resource: str, doc: Doc) -> str:
    """Return why an API server would not have stored the object, "" if it would have."""
    if misfit := next(find_mismatches(resource_shape(resource), doc), None):
        return f"{'.'.join(misfit.path)} is a {misfit.found}, not a {misfit.expected}"
    if fields := [*_missing_fields(resource, doc), *missing_fields(resource, doc)]:
        return f"it has no {fields[0]}"
    return next((f"{each.field}: {each.message}" for each in validation_problems(resource, None, doc)), "")


_KINDS_WITH_SPEC = frozenset(
    ("pods", "services", "jobs.batch", "cronjobs.batch", "replicationcontrollers", "poddisruptionbudgets.policy")
)
_REQUIRED_IN_LISTS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    *(("", ("metadata", "ownerReferences"), name) for name in ("kind", "name", "uid")),
    ("", ("status", "conditions"), "type"),
    ("", ("status", "conditions"), "status"),
    ("services", ("spec", "ports"), "port"),
    ("pods", ("spec", "containers", "ports"), "containerPort"),
    ("pods", ("spec", "initContainers", "ports"), "containerPort"),
    ("jobs.batch", ("spec", "podFailurePolicy", "rules", "onExitCodes"), "values"),
)
"""Required fields of list entries, of one resource or ("") of all."""


def _missing_fields(resource: str, doc: Doc) -> Iterator[str]:
    """Yield missing fields that controllers rely on, because validation lets nothing be stored without them."""
    if not nested_field(doc, "metadata", "name"):
        yield "metadata.name"
    if resource in _KINDS_WITH_SPEC and not isinstance(doc.get("spec"), dict):
        yield "spec"
    for required_resource, path, name in _REQUIRED_IN_LISTS:
        if required_resource in ("", resource) and any(each.get(name) is None for each in _objects_at(doc, path)):
            yield f"{'.'.join(path)}.{name}"


def _objects_at(value: Any, path: tuple[str, ...]) -> Iterator[Doc]:
    """Yield the objects at a path, also those in lists on the way."""
    for each in value if isinstance(value, list) else (value,):
        if isinstance(each, dict) and path:
            yield from _objects_at(each.get(path[0]), path[1:])
        elif isinstance(each, dict):
            yield each


def _is_valid_definition(doc: Doc) -> bool:
    return (
        doc.get("kind") == DEFINITION
        and not any(find_mismatches(resource_shape(DEFINITIONS), doc))
        and not missing_definition_fields(doc)
    )


def _implied_definitions(docs: Iterable[Doc]) -> list[Doc]:
    """Return definitions of known custom kinds whose objects are in the dump without their definition."""
    present_kinds = {(str(doc.get("apiVersion", "")), doc.get("kind")) for doc in docs}
    defined = {str(nested_field(doc, "metadata", "name")) for doc in docs if doc.get("kind") == DEFINITION}
    return [
        _definition(resource)
        for resource in kinds.ALL
        if resource.custom
        and (resource.api_version, resource.kind) in present_kinds
        and resource.full_name not in defined
    ]


def _definition(resource: Resource) -> Doc:
    names = {"plural": resource.plural, "singular": resource.kind.lower(), "kind": resource.kind}
    version = {"name": resource.version, "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": DEFINITION,
        "metadata": {"name": resource.full_name, "uid": f"implied-{resource.full_name}"},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    }


def _add_namespaces(plane: ControlPlane, docs: Iterable[Doc]) -> None:
    named = {str(nested_field(doc, "metadata", "namespace") or "") for doc in docs} | {"default", "kube-system"}
    for name in sorted(named - {""}):
        if plane.store.get("namespaces", ("", name)) is None:
            doc: Doc = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            plane.registry.create("namespaces", prepare_for_create(doc))
