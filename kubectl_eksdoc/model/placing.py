"""Objects that are put into a cluster: which kinds, how one is named to people, and why one was not taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, text_at
from kubectl_eksdoc.model.kinds import Resource

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


# Short-lived pods that ask something for us from where it matters, and the object that owns them.


@dataclass(frozen=True, slots=True)
class ProbeLabels:
    """By what pods of one errand are found: the label on all that is made, which carries the errand's id, and
    the container that is ours (others may be put beside it). `log_bytes`: so much of a log is read at most."""

    label: str
    container: str
    log_bytes: int = 1 << 16


@dataclass(frozen=True, slots=True)
class PodStand:
    """How one of our pods stands, as the API tells it. `reason` and `message` of the pod itself; `waiting` and its
    words of the container that has not started, `running` once it has; `ended` is the container's exit code, None while
    it has none, `ended_by` what else the kubelet says of that."""

    name: str
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    waiting: str = ""
    waiting_message: str = ""
    ended: int | None = None
    ended_by: str = ""
    running: bool = False


@dataclass(frozen=True, slots=True)
class ProbeOwner:
    """What owns a probe's pods, as it is in the cluster; `age_s` by the server's own clock."""

    probe: str
    name: str
    uid: str
    age_s: float = 0.0


@dataclass(frozen=True, slots=True)
class NotMade:
    """Something was not created or done. `why` in a clause; `missing`: the right without which it is not, "" if that is
    not why. `maybe`: nobody knows, as no answer came; `later`: it may be taken in when it is asked again (429)."""

    why: str
    missing: str = ""
    maybe: bool = False
    later: bool = False
