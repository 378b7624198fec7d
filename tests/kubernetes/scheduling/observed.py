"""Read API objects of the recorded cases as facts with the tool's own reader, completed as a server would do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from kubectl_eksdoc.kubernetes.scheduling.volumes import Storage
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.selectors import Labels
from kubectl_eksdoc.objects.collector import FactCollector

READ = {
    "nodes": kinds.NODES,
    "pods": kinds.PODS,
    "namespaces": kinds.NAMESPACES,
    "persistentVolumeClaims": kinds.CLAIMS,
    "persistentVolumes": kinds.VOLUMES,
    "storageClasses": kinds.STORAGE_CLASSES,
    "csiNodes": kinds.CSI_NODES,
    "volumeAttachments": kinds.VOLUME_ATTACHMENTS,
    "podDisruptionBudgets": kinds.BUDGETS,
}


def cluster(given: Mapping[str, Iterable[Mapping[str, Any]]]) -> Cluster:
    """The facts of objects by their plural, from the case tables."""
    gathered = FactCollector(Source.SNAPSHOT)
    for plural, resource in READ.items():
        for number, raw in enumerate(given.get(plural) or ()):
            body = json.dumps(_filled_in(raw, resource, number)).encode()
            gathered.add_item(resource, body, "case")
    return gathered.cluster(Identity(), None)


def storage(held: Cluster) -> Storage:
    return Storage.of(held.claims, held.volumes, held.storage_classes, True, held.csi_nodes, held.volume_attachments)


def namespaces(held: Cluster) -> dict[str, Labels]:
    return {n.name: n.labels for n in held.namespaces}


def _filled_in(raw: Mapping[str, Any], resource: Resource, number: int) -> dict[str, Any]:
    """The object with a name, a namespace, a spec, and the phase of a claim that has its volume."""
    meta = {"name": f"nameless-{number}", **(raw.get("metadata") or {})}
    if resource.namespaced:
        meta.setdefault("namespace", "default")
    made = {**raw, "metadata": meta}
    if resource is kinds.PODS:
        made["spec"] = raw.get("spec") or {}
    if resource is kinds.CLAIMS and (raw.get("spec") or {}).get("volumeName"):
        made["status"] = {"phase": "Bound"}
    return made
