"""A simulated cluster from the objects of a dump: every kind that is built in, or that a definition in it declares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.embedded.api import catalogue
from kubectl_eksdoc.embedded.api.resources import Served
from kubectl_eksdoc.embedded.facts import StoredFacts

DEFINITION = "CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class Loaded:
    """`left_out`: how many objects of each kind (``apiVersion Kind``) were not taken, since nothing declares it; and
    `doubled` those of a name that was there already."""

    plane: ControlPlane
    left_out: Mapping[str, int]
    doubled: Mapping[str, int]


def load(docs: Iterable[Doc], now: datetime, seed: int = 0) -> Loaded:
    """All of `docs` as they are, at `now`; nobody works on them yet (see `ControlPlane.start`).

    Namespaces that objects are in are there, whether the dump has them or not.
    """
    docs = list(docs)
    plane = ControlPlane(now, StoredFacts(), seed)
    docs += _implied(docs)
    served = catalogue.of(doc for doc in docs if doc.get("kind") == DEFINITION)
    left_out: Counter[str] = Counter()
    doubled: Counter[str] = Counter()
    for doc in docs:
        kind = f"{doc.get('apiVersion', '')} {doc.get('kind', '')}".strip()
        found = served.of_kind(str(doc.get("apiVersion", "")), str(doc.get("kind", "")))
        name = at(doc, "metadata", "name")
        if found is None or not name:
            left_out[kind] += 1
            continue
        namespace = str(at(doc, "metadata", "namespace") or "") if found.namespaced else ""
        if plane.store.get(_resource(found), (namespace, str(name))) is not None:
            doubled[kind] += 1
            continue
        plane.store.add(_resource(found), (namespace, str(name)), doc)
    _add_namespaces(plane, docs)
    return Loaded(plane, dict(left_out), dict(doubled))


def _implied(docs: Iterable[Doc]) -> list[Doc]:
    """The definitions of custom kinds that this tool knows, and of which there are objects, but no definition."""
    there = {(str(doc.get("apiVersion", "")), doc.get("kind")) for doc in docs}
    defined = {at(doc, "metadata", "name") for doc in docs if doc.get("kind") == DEFINITION}
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


def _resource(served: Served) -> str:
    return f"{served.plural}.{served.group}" if served.group else served.plural


def _add_namespaces(plane: ControlPlane, docs: Iterable[Doc]) -> None:
    named = {str(at(doc, "metadata", "namespace") or "") for doc in docs} | {"default", "kube-system"}
    for name in sorted(named - {""}):
        if plane.store.get("namespaces", ("", name)) is None:
            meta = {"name": name, "labels": {"kubernetes.io/metadata.name": name}}
            doc = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta, "spec": {"finalizers": ["kubernetes"]}}
            plane.registry.create("namespaces", {**doc, "status": {"phase": "Active"}})
