"""Validate objects strictly against the models of the official client: no unknown field, no value of another type, no
missing required field. The models are generated from the OpenAPI schema of Kubernetes."""

from __future__ import annotations

import re
from typing import Any

from kubernetes import client

from kubectl_eksdoc.model.api_objects import Doc

MODELS = {
    ("v1", "ServiceAccount"): "V1ServiceAccount",
    ("v1", "ConfigMap"): "V1ConfigMap",
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): "V1ClusterRole",
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): "V1ClusterRoleBinding",
    ("rbac.authorization.k8s.io/v1", "Role"): "V1Role",
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): "V1RoleBinding",
    ("batch/v1", "Job"): "V1Job",
    ("batch/v1", "CronJob"): "V1CronJob",
}
_PLAIN: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "bool": bool,
    "float": (int, float),
    "object": object,
    "datetime": str,
}
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def problems(doc: Doc) -> list[str]:
    """The faults of an object, by the path of the field; none if it is valid."""
    return list(_of_model(doc, MODELS[doc["apiVersion"], doc["kind"]], doc["kind"]))


def _of_model(value: Any, name: str, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path} is no object"]
    model = getattr(client, name)
    fields = {written: model.openapi_types[attribute] for attribute, written in model.attribute_map.items()}
    found = [f"{path}.{key} is no field of {name}" for key in value.keys() - fields.keys()]
    for key in value.keys() & fields.keys():
        found += _of_type(value[key], fields[key], f"{path}.{key}")
    try:
        model(**{attribute: value.get(written) for attribute, written in model.attribute_map.items()})
    except ValueError as error:
        found.append(f"{path}: {error}")
    return found


def _of_type(value: Any, kind: str, path: str) -> list[str]:
    many = re.fullmatch(r"list\[(.*)\]", kind)
    if many:
        return [each for i, one in enumerate(value) for each in _of_type(one, many[1], f"{path}[{i}]")]
    mapped = re.fullmatch(r"dict\(str, (.*)\)", kind)
    if mapped:
        return [each for key, one in value.items() for each in _of_type(one, mapped[1], f"{path}.{key}")]
    if kind in _PLAIN:
        wrong = not isinstance(value, _PLAIN[kind]) or (kind == "int" and isinstance(value, bool))
        found = [f"{path} is no {kind}: {value!r}"] if wrong else []
        if path.startswith("ConfigMap.binaryData.") and not _BASE64.fullmatch(str(value)):
            found.append(f"{path} is not base64")
        return found
    return _of_model(value, kind, path)
