"""Objects of managed add-ons as EKS applied them: their public manifests, each field owned by the field manager eks."""

from __future__ import annotations

import json
from typing import Any

from kubectl_eksdoc.addon_diff.manifests import known_manifests
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.document_diff import fields_of
from kubectl_eksdoc.model.api_objects import Doc

_API = {
    "Deployment": "apps/v1",
    "DaemonSet": "apps/v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
}
_SERVERS_OWN = ("apiVersion", "kind", "status")
"""What an applied object says and nobody owns."""


def applied(addon: str, version: str, registry: str) -> list[Doc]:
    """The objects of the manifest of that version, or of the latest known one; images are those of `version`."""
    known = known_manifests(addon)
    manifest = next((each for each in known if version.startswith(each.version)), known[-1]).with_version(version)
    docs = []
    for of, values in manifest.objects.items():
        kind, _, name = of.partition(" ")
        space = {} if kind.startswith("Cluster") else {"namespace": "kube-system"}
        doc: Doc = {"apiVersion": _API.get(kind, "v1"), "kind": kind, "metadata": {"name": name, **space}}
        for path, value in values.items():
            _put(doc, path, value)
        docs.append(json.loads(json.dumps(doc).replace("%s.dkr.ecr.%s.%s", registry)))
    return docs


def owned_by_eks(doc: Doc) -> Doc:
    """The object with the managedFields of a server-side apply by EKS, and of no other manager."""
    meta = {key: value for key, value in doc["metadata"].items() if key in ("labels", "annotations")}
    said = {**{key: value for key, value in doc.items() if key not in _SERVERS_OWN}, "metadata": meta}
    fields = fields_of(said, schema_of(doc["apiVersion"], doc["kind"]).root)
    entry = {"manager": "eks", "operation": "Apply", "apiVersion": doc["apiVersion"], "time": "2026-02-01T08:00:00Z"}
    owned = [{**entry, "fieldsType": "FieldsV1", "fieldsV1": fields.to_json()}]
    return {**doc, "metadata": {**doc["metadata"], "managedFields": owned}}


def _put(into: Any, path: tuple[str, ...], value: Any) -> None:
    """Set the field that a path of FieldsV1 names."""
    for at, step in enumerate(path):
        if step.startswith("k:"):
            keys = json.loads(step[2:])
            found = next((each for each in into if keys.items() <= each.items()), None)
            if found is None:
                into.append(found := dict(keys))
            into = found
        elif at == len(path) - 1:
            into[step[2:]] = value
        else:
            into = into.setdefault(step[2:], [] if path[at + 1].startswith("k:") else {})
