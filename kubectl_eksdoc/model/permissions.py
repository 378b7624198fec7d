"""RBAC permissions: a verb on a resource, in one namespace or in all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen

from .kinds import Resource


class Permission(NamedTuple):
    """`namespace` "": in all namespaces, or for cluster-scoped resources."""

    verb: str
    resource: Resource
    subresource: str = ""
    namespace: str = ""

    @property
    def is_url(self) -> bool:
        """Whether it is a path of the server, as ``/metrics``: in RBAC under nonResourceURLs, only in a ClusterRole."""
        return self.resource.plural.startswith("/")

    @property
    def resource_name(self) -> str:
        """The name in kubectl and RBAC: ``poddisruptionbudgets.policy``, ``pods/eviction``, ``/metrics``."""
        return f"{self.resource.full_name}/{self.subresource}" if self.subresource else self.resource.full_name

    @property
    def right(self) -> str:
        """``create pods/eviction``, without the namespace."""
        return f"{self.verb} {self.resource_name}"

    @property
    def scoped_right(self) -> str:
        """``create pods/eviction``, ``create leases.coordination.k8s.io in namespace kube-system``."""
        return f"{self.right}{f' in namespace {self.namespace}' if self.namespace else ''}"


class NeededPermission(NamedTuple):
    """A permission that a command needs; `lost`: what is not known, or not done, without it; `unknown`: the finding
    codes whose answer is then unknown."""

    permission: Permission
    lost: str = ""
    unknown: tuple[str, ...] = ()


class PlanPermissions(NamedTuple):
    """The permissions that a plan needs, and those that a run of it needs in addition."""

    plan: tuple[NeededPermission, ...] = ()
    run: tuple[NeededPermission, ...] = ()


class AccessReview(NamedTuple):
    """The server's answer about a permission: `allowed` None if it does not say, with the reason in `why`."""

    permission: Permission
    allowed: bool | None
    why: str = ""


# Opt-in permissions, which an administrator grants by name, each with its risk.
#
# Sources: kubernetes.io, RBAC Good Practices (listing secrets, workload creation, pods/proxy past the API's own
# checks); the ClusterRole `view` of Kubernetes has `pods/log` and none of these.


@frozen
class OptInRight:
    """`rights` as printed; `risk`: what else they allow, a clause without a subject. `skippable`: a read-only command
    can leave it out of its scope (``--without``)."""

    name: str
    rights: tuple[str, ...]
    risk: str
    skippable: bool = False

    @property
    def description(self) -> str:
        """``proxy (get pods/proxy) sends HTTP GET requests …``."""
        return f"{self.name} ({', '.join(self.rights)}) {self.risk}"


HELM_RELEASES = OptInRight(
    "helm-releases",
    ("get secrets", "list secrets"),
    "reads every Secret in the cluster, because RBAC cannot limit it to the releases of Helm",
    skippable=True,
)
PROXY = OptInRight(
    "proxy", ("get pods/proxy",), "sends HTTP GET requests to every port of every pod there", skippable=True
)
DELETE_PODS = OptInRight("delete-pods", ("delete pods",), "deletes pods against their PodDisruptionBudgets")
PATCH_WORKLOADS = OptInRight(
    "patch-workloads",
    ("patch deployments.apps",),
    "changes any Deployment there, and so runs any image with any ServiceAccount of its namespace",
)
OPT_INS = (DELETE_PODS, HELM_RELEASES, PATCH_WORKLOADS, PROXY)
OPT_IN_NAMES = tuple(each.name for each in OPT_INS)
SKIPPABLE_NAMES = tuple(each.name for each in OPT_INS if each.skippable)


def opt_in_for(right: str) -> OptInRight | None:
    """The opt-in of ``get secrets``; None for a right that needs no opt-in."""
    return next((each for each in OPT_INS if right in each.rights), None)


def opt_ins_for(rights: Iterable[str]) -> tuple[OptInRight, ...]:
    """Each opt-in once, sorted by name."""
    right_names = frozenset(rights)
    return tuple(each for each in OPT_INS if not right_names.isdisjoint(each.rights))


def opt_in_hint(right: str, command: str = "COMMAND") -> str:
    """A hint for an opt-in right that `command` lacks, one or two sentences; "" for any other right."""
    opt_in = opt_in_for(right)
    if opt_in is None:
        return ""
    skip_hint = f" To leave it out of the scope: --without {opt_in.name}." if opt_in.skippable else ""
    return (
        f"It is an opt-in, which {opt_in.risk}: kubectl eksdoc permissions {command} --with {opt_in.name}.{skip_hint}"
    )
