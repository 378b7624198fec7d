"""Loads the objects of a dump into a simulated cluster: every built-in kind, and kinds that a definition in the dump
declares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.defaults import begun
from kubectl_eksdoc.kubernetes.api.shapes import misfits, of_resource
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.model.cluster import Cluster, LeftOut
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.collector import identity_of
from kubectl_eksdoc.objects.single import FactDecoder, NoJson, RawObjects, encode
from kubectl_eksdoc.simulator.plane import ControlPlane
from kubectl_eksdoc.simulator.scheduling import SCALED
from kubectl_eksdoc.simulator.store import Key, StoredItem

from . import catalogue
from .catalogue import DEFINITION, DEFINITIONS, Catalogue, missing
from .serving.validation import lacking, problems

# UIDs for documents of a dump without UIDs, and for the references between them.
#
# The simulated cluster identifies objects by UID; without UIDs all of them would be one.


_Name = tuple[str, str, str]
"""Kind, namespace and name."""


def identified(docs: Iterable[Doc]) -> list[Doc]:
    """Return `docs` unchanged if each has a UID. Otherwise add the missing UIDs, and resolve references by name."""
    docs = list(docs)
    if all(at(doc, "metadata", "uid") for doc in docs):
        return docs
    uids = {_name_of(doc): str(at(doc, "metadata", "uid") or identity_of(*_name_of(doc))) for doc in docs}
    return [_linked(doc, uids) for doc in docs]


def _linked(doc: Doc, uids: dict[_Name, str]) -> Doc:
    namespace = _name_of(doc)[1]
    made = with_value(doc, ("metadata", "uid"), uids[_name_of(doc)])
    owners = at(doc, "metadata", "ownerReferences")
    if isinstance(owners, list):
        made = with_value(made, ("metadata", "ownerReferences"), [_meant(each, namespace, uids) for each in owners])
    return made


def _meant(reference: Any, namespace: str, uids: dict[_Name, str]) -> Any:
    """Return `reference` with the UID of the named object: in its namespace, else cluster-wide, else a UID that no
    object has."""
    if not isinstance(reference, dict):
        return reference
    kind, name = str(reference.get("kind") or ""), str(reference.get("name") or "")
    namespace = str(reference.get("namespace") or namespace)
    there = uids.get((kind, namespace, name)) or uids.get((kind, "", name))
    return {**reference, "uid": there or reference.get("uid") or identity_of(kind, namespace, name)}


def _name_of(doc: Doc) -> _Name:
    return (
        str(doc.get("kind") or ""),
        str(at(doc, "metadata", "namespace") or ""),
        str(at(doc, "metadata", "name") or ""),
    )


# Facts of stored objects, decoded once for each version: the `FactDecoder` of the simulated cluster.


_WORKLOADS = {resource.full_name: resource for resource in SCALED}


def _facts_of(resource: Resource) -> Any:
    """A method of `StoredFacts`, typed by `FactSource`."""
    return lambda self, item: self._of(resource, item)


class StoredFacts:
    """A `FactSource`: caches the facts of the latest version of every requested object."""

    def __init__(self) -> None:
        self._facts = FactDecoder()
        self._known: dict[tuple[str, Key], tuple[StoredItem, Any]] = {}

    pod = _facts_of(kinds.PODS)
    node = _facts_of(kinds.NODES)
    budget = _facts_of(kinds.BUDGETS)
    claim = _facts_of(kinds.CLAIMS)
    volume = _facts_of(kinds.VOLUMES)
    storage_class = _facts_of(kinds.STORAGE_CLASSES)
    csi_node = _facts_of(kinds.CSI_NODES)
    attachment = _facts_of(kinds.VOLUME_ATTACHMENTS)

    def workload(self, item: StoredItem) -> Any:
        return self._of(_WORKLOADS[item.resource], item)

    def _of(self, resource: Resource, item: StoredItem) -> Any:
        name = item.resource, item.key
        held = self._known.get(name)
        if held is not None and held[0] is item:
            return held[1]
        fact = self._facts.fact(resource, encode(item.doc))
        if held is None or held[0].version <= item.version:
            self._known[name] = item, fact
        return fact


@frozen
class Loaded:
    """Number of objects of each kind (``apiVersion Kind``) that were not loaded: `undeclared`, because no definition
    declares the kind; `malformed`, because an API server could not have stored them; `duplicates`, because the name
    existed already. `invalid`: objects of the kinds that this tool reads that a server could not have stored."""

    plane: ControlPlane
    left_out: Mapping[str, int]
    misshapen: Mapping[str, int]
    doubled: Mapping[str, int]
    invalid: tuple[LeftOut, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for users. Duplicates of kinds that this tool reads are reported when they are read."""
        doubled = {kind: count for kind, count in self.doubled.items() if kind not in _READ}
        told = (
            (self.left_out, "no CustomResourceDefinition in the dump declares their kind"),
            (self.misshapen, "they are no objects as a server has them"),
            (doubled, "another one of that name is there"),
        )
        return tuple(f"left out of the simulated cluster, as {why}: {_named(counts)}" for counts, why in told if counts)


_READ = frozenset(f"{resource.api_version} {resource.kind}" for resource in kinds.ALL)


def _named(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))


def load_observed(observed: Cluster, raw: RawObjects) -> Loaded:
    """Load the objects of an observed cluster, at the time of the observation.

    Raises:
        SnapshotError: an object cannot be loaded.
    """
    try:
        return load(raw.documents(), observed.observed_at)
    except NoJson as error:
        message = f"cannot make a simulated cluster: an object that was read is no JSON: {error}"
        raise SnapshotError(message, "Make the dump again with kubectl.") from error


def load(docs: Iterable[Doc], now: datetime, seed: int = 0) -> Loaded:
    """Load all of `docs` unchanged, at `now`; no controller is running yet (see `ControlPlane.start`).

    Namespaces of objects are created if the dump does not contain them. Objects without a UID get one.
    """
    docs = identified(docs)
    docs += _implied(docs)
    loading = _Loading(ControlPlane(now, StoredFacts(), seed), catalogue.of(d for d in docs if _defines(d)))
    for doc in docs:
        loading.take(doc)
    _add_namespaces(loading.plane, docs)
    return Loaded(
        loading.plane, dict(loading.left_out), dict(loading.misshapen), dict(loading.doubled), tuple(loading.invalid)
    )


class _Loading:
    """Mutable, and private to one call of `load_documents`."""

    def __init__(self, plane: ControlPlane, served: Catalogue) -> None:
        self.plane = plane
        self.left_out: Counter[str] = Counter()
        self.invalid: list[LeftOut] = []
        self.misshapen: Counter[str] = Counter()
        self.doubled: Counter[str] = Counter()
        self._served = {f"{each.api_version} {each.kind}": each for each in reversed(served.served)}

    def take(self, doc: Doc) -> None:
        kind = f"{doc.get('apiVersion') or ''} {doc.get('kind') or ''}".strip()
        served = self._served.get(kind)
        if served is None:
            self.left_out[kind] += 1
            return
        resource = served.full_name
        name = at(doc, "metadata", "name")
        if said := _against(resource, doc):
            read = next((each for each in kinds.ALL if each.full_name == resource), None)
            if read is None:
                self.misshapen[kind] += 1
            else:
                node = at(doc, "spec", "nodeName")
                self.invalid.append(LeftOut(read, _said(doc, said), str(node or "") if read is kinds.PODS else None))
            return
        key = (str(at(doc, "metadata", "namespace") or "") if served.namespaced else "", str(name))
        if self.plane.store.get(resource, key) is not None:
            self.doubled[kind] += 1
            return
        self.plane.registry.served.setdefault(resource, served)
        self.plane.store.add(resource, key, doc)


def _said(doc: Doc, said: str) -> str:
    namespace, name = (str(at(doc, "metadata", key) or "") for key in ("namespace", "name"))
    return f"{doc.get('kind')} {f'{namespace}/' if namespace else ''}{name}: {said}"


def _against(resource: str, doc: Doc) -> str:
    """Return why an API server would not have stored the object, "" if it would have."""
    if misfit := next(misfits(of_resource(resource), doc), None):
        return f"{'.'.join(misfit.path)} is a {misfit.found}, not a {misfit.wanted}"
    if fields := [*_missing(resource, doc), *lacking(resource, doc)]:
        return f"it has no {fields[0]}"
    return next((f"{each.field}: {each.said}" for each in problems(resource, None, doc)), "")


_SPECIFIED = frozenset(
    ("pods", "services", "jobs.batch", "cronjobs.batch", "replicationcontrollers", "poddisruptionbudgets.policy")
)
_IN_LISTS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    *(("", ("metadata", "ownerReferences"), name) for name in ("kind", "name", "uid")),
    ("", ("status", "conditions"), "type"),
    ("", ("status", "conditions"), "status"),
    ("services", ("spec", "ports"), "port"),
    ("pods", ("spec", "containers", "ports"), "containerPort"),
    ("pods", ("spec", "initContainers", "ports"), "containerPort"),
    ("jobs.batch", ("spec", "podFailurePolicy", "rules", "onExitCodes"), "values"),
)
"""Required fields of list entries, of one resource or ("") of all."""


def _missing(resource: str, doc: Doc) -> Iterator[str]:
    """Yield missing fields that controllers rely on, because validation lets nothing be stored without them."""
    if not at(doc, "metadata", "name"):
        yield "metadata.name"
    if resource in _SPECIFIED and not isinstance(doc.get("spec"), dict):
        yield "spec"
    for of, path, name in _IN_LISTS:
        if of in ("", resource) and any(each.get(name) is None for each in _below(doc, path)):
            yield f"{'.'.join(path)}.{name}"


def _below(value: Any, path: tuple[str, ...]) -> Iterator[Doc]:
    """Yield the objects at a path, also those in lists on the way."""
    for each in value if isinstance(value, list) else (value,):
        if isinstance(each, dict) and path:
            yield from _below(each.get(path[0]), path[1:])
        elif isinstance(each, dict):
            yield each


def _defines(doc: Doc) -> bool:
    return doc.get("kind") == DEFINITION and not any(misfits(of_resource(DEFINITIONS), doc)) and not missing(doc)


def _implied(docs: Iterable[Doc]) -> list[Doc]:
    """Return definitions of known custom kinds whose objects are in the dump without their definition."""
    there = {(str(doc.get("apiVersion", "")), doc.get("kind")) for doc in docs}
    defined = {str(at(doc, "metadata", "name")) for doc in docs if doc.get("kind") == DEFINITION}
    return [
        _definition(resource)
        for resource in kinds.ALL
        if resource.custom and (resource.api_version, resource.kind) in there and resource.full_name not in defined
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
    named = {str(at(doc, "metadata", "namespace") or "") for doc in docs} | {"default", "kube-system"}
    for name in sorted(named - {""}):
        if plane.store.get("namespaces", ("", name)) is None:
            doc: Doc = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            plane.registry.create("namespaces", begun(doc))
