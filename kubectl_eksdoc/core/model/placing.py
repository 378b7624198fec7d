"""Objects that are put into a cluster: which kinds, how one is named to people, and why one was not taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc, text_at
from kubectl_eksdoc.core.model.kinds import Resource

RBAC = "rbac.authorization.k8s.io"
_CLUSTER_ROLES = Resource("ClusterRole", "clusterroles", RBAC, namespaced=False)
_CLUSTER_BINDINGS = Resource("ClusterRoleBinding", "clusterrolebindings", RBAC, namespaced=False)
_ROLES = Resource("Role", "roles", RBAC)
_BINDINGS = Resource("RoleBinding", "rolebindings", RBAC)

PLACED = (
    kinds.SERVICE_ACCOUNTS,
    _CLUSTER_ROLES,
    _CLUSTER_BINDINGS,
    _ROLES,
    _BINDINGS,
    kinds.CONFIG_MAPS,
    kinds.JOBS,
    kinds.CRON_JOBS,
)
"""In the order in which they are created."""

OF_KIND: Mapping[str, Resource] = {each.kind: each for each in PLACED}


def called(doc: Doc) -> str:
    """``configmap/eksdoc-drain-1 in kube-system``; the kind as kubectl takes it."""
    resource, where = OF_KIND[doc["kind"]], text_at(doc, "metadata", "namespace")
    word = f"{resource.kind.lower()}.{resource.group}" if resource.group else resource.kind.lower()
    return f"{word}/{text_at(doc, 'metadata', 'name')}" + (f" in {where}" if where else "")


@dataclass(frozen=True, slots=True)
class NotPlaced:
    """`why` in a clause; `missing`: the right without which it is not, "" if that is not why. `taken`: something of
    that name is there; `lacking`: something that it names is not. `maybe`: nobody knows, as no answer came."""

    why: str
    missing: str = ""
    taken: bool = False
    lacking: bool = False
    maybe: bool = False
