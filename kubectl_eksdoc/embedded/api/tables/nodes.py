"""Nodes: ready or not, cordoned or not, and what their kubelets report."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.embedded.api.tables import ages
from kubectl_eksdoc.embedded.api.tables.columns import AGE, NAME, Cells, Column, Printer, wide
from kubectl_eksdoc.embedded.api.tables.fields import condition, listed, mapped, name, text
from kubectl_eksdoc.embedded.api.tables.label_text import NONE

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"


def _status(node: Doc) -> str:
    ready = condition(node, "Ready")
    word = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if at(node, "spec", "unschedulable") else word


def _roles(node: Doc) -> str:
    found = mapped(node, "metadata", "labels")
    roles = {key[len(_ROLE_PREFIX) :] for key in found if key.startswith(_ROLE_PREFIX)} | {found.get(_ROLE, "")}
    return ",".join(sorted(roles - {""})) or NONE


def _address(node: Doc, kind: str) -> str:
    found = (a for a in listed(node, "status", "addresses") if a.get("type") == kind)
    return next((text(a, "address") for a in found), NONE)


def _cells(node: Doc, now: datetime) -> Cells:
    info = mapped(node, "status", "nodeInfo")
    architecture = text(info, "architecture")
    kernel = text(info, "kernelVersion") or ages.UNKNOWN
    return [
        name(node),
        _status(node),
        _roles(node),
        ages.age(node, now),
        text(info, "kubeletVersion"),
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        text(info, "osImage") or ages.UNKNOWN,
        f"{kernel} ({architecture})" if architecture else kernel,
        text(info, "containerRuntimeVersion") or ages.UNKNOWN,
    ]


_ADDRESSES = (
    "List of addresses reachable to the node. Queried from cloud provider, if available. More info: "
    "https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but "
    "the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should "
    "instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that "
    "addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be "
    "possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API "
    "(status.hostIP)."
)

NODES = Printer(
    (
        NAME,
        Column("Status", "The status of the node"),
        Column("Roles", "The roles of the node"),
        AGE,
        Column("Version", "Kubelet Version reported by the node."),
        wide("Internal-IP", _ADDRESSES),
        wide("External-IP", _ADDRESSES),
        wide("OS-Image", "OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy))."),
        wide("Kernel-Version", "Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64)."),
        wide(
            "Container-Runtime",
            "ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2).",
        ),
    ),
    _cells,
)
