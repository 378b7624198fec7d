"""managedFields of objects that EKS add-ons applied, as a server records them.

The server's rules for any object are in kubernetes/ownership; importing them would take a plan of the demo longer than
building its objects, so this module has only the rules that these objects need, and a test compares the two. Status
fields that controllers own are left out.
"""

from __future__ import annotations

import json
from typing import Any

from tools.demo import aws_node
from tools.demo.meta import Json, ago

_APPLIED = {
    ("DaemonSet", "aws-node"): 49_000,
    ("ConfigMap", "amazon-vpc-cni"): 49_000,
    ("ServiceAccount", "aws-node"): 49_000,
    ("DaemonSet", "kube-proxy"): 48_500,
    ("ConfigMap", "kube-proxy-config"): 90_000,
    ("ServiceAccount", "kube-proxy"): 90_000,
    ("ClusterRole", "aws-node"): 90_000,
    ("ClusterRoleBinding", "aws-node"): 90_000,
    ("ClusterRole", "system:coredns"): 90_000,
    ("ClusterRoleBinding", "system:coredns"): 90_000,
    ("Service", "kube-dns"): 90_000,
    ("Deployment", "coredns"): 48_000,
    ("ConfigMap", "coredns"): 90_000,
    ("ServiceAccount", "coredns"): 90_000,
    ("PodDisruptionBudget", "coredns"): 90_000,
    ("Deployment", "ebs-csi-controller"): 61_000,
    ("DaemonSet", "ebs-csi-node"): 61_000,
    ("ServiceAccount", "ebs-csi-controller"): 61_000,
    ("Deployment", "metrics-server"): 55_000,
    ("ServiceAccount", "metrics-server"): 55_000,
}
"""The objects that EKS applied, in kube-system or cluster-scoped, and minutes since its last change of them."""

# Lists whose items are owned one by one, and the keys that identify them; any other list is owned as one value.
_KEYS = {
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "ports": ("containerPort", "protocol"),
}

# Objects that are owned as one value.
_WHOLE = ("selector", "fieldRef", "requiredDuringSchedulingIgnoredDuringExecution")

# Fields that the server or a controller adds to an applied object.
_ADDED = {
    "dnsPolicy": "ClusterFirst",
    "protocol": "TCP",
    "restartPolicy": "Always",
    "revisionHistoryLimit": 10,
    "schedulerName": "default-scheduler",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "maxSurge": 0,
}

_COUNTED = ("deprecated.daemonset.template.generation", "deployment.kubernetes.io/revision")

_INIT, _BY_HAND = f'k:{{"name":"{aws_node.INIT}"}}', f'k:{{"name":"{aws_node.BY_HAND}"}}'


def with_owners(made: Json) -> Json:
    """`made`, with its managedFields if EKS applied it."""
    name = made["metadata"]["name"]
    since = _APPLIED.get((made["kind"], name))
    if since is None or made["metadata"].get("namespace") not in (None, "kube-system"):
        return made
    metadata = {key: made["metadata"][key] for key in ("labels", "annotations") if key in made["metadata"]}
    metadata["annotations"] = {k: v for k, v in metadata.get("annotations", {}).items() if k not in _COUNTED}
    applied: Json = {key: made[key] for key in ("spec", "data", "rules", "roleRef", "subjects") if key in made}
    owned: Json = _fields({"metadata": {key: value for key, value in metadata.items() if value}, **applied})
    entries = [_entry(made, "eks", "Apply", since, owned)]
    if (made["kind"], name) == ("DaemonSet", aws_node.NAME):
        entries.append(_entry(made, "kubectl-patch", "Update", aws_node.REVISIONS[-1].minutes, _taken(owned)))
    made["metadata"]["managedFields"] = entries
    return made


def _taken(owned: Json) -> Json:
    """Fields that the manual change took from EKS, which keeps the list entry and its name."""
    found = owned["f:spec"]["f:template"]["f:spec"]["f:initContainers"][_INIT]["f:env"][_BY_HAND]
    entry = {_BY_HAND: {"f:value": found.pop("f:value")}}
    return {"f:spec": {"f:template": {"f:spec": {"f:initContainers": {_INIT: {"f:env": entry}}}}}}


def _entry(made: Json, manager: str, operation: str, minutes: int, fields: Json) -> Json:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": made["apiVersion"],
        "time": ago(minutes),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def _fields(value: Json) -> Json:
    """The FieldsV1 form of an applied object."""
    return {f"f:{key}": _field(key, value[key]) for key in sorted(value) if _ADDED.get(key) != value[key]}


def _field(key: str, value: Any) -> Json:
    if isinstance(value, dict):
        return {} if key in _WHOLE else _fields(value)
    if isinstance(value, list) and key in _KEYS:
        return {_item(key, each): {".": {}, **_fields(each)} for each in value}
    return {}


def _item(key: str, each: Json) -> str:
    names = ("port", "protocol") if "port" in each else _KEYS[key]
    return "k:" + json.dumps({name: each[name] for name in names}, separators=(",", ":"))
