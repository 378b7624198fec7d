"""What somebody may do by RBAC: a verb on a resource, in one namespace or everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen

from .kinds import Resource


class Permission(NamedTuple):
    """`namespace` "": in all of them, or of what is in none."""

    verb: str
    resource: Resource
    subresource: str = ""
    namespace: str = ""

    @property
    def is_url(self) -> bool:
        """A path of the server itself, as ``/metrics``: in RBAC under nonResourceURLs, of a ClusterRole alone."""
        return self.resource.plural.startswith("/")

    @property
    def of(self) -> str:
        """As kubectl and RBAC name it: ``poddisruptionbudgets.policy``, ``pods/eviction``, ``/metrics``."""
        return f"{self.resource.full_name}/{self.subresource}" if self.subresource else self.resource.full_name

    @property
    def right(self) -> str:
        """``create pods/eviction``, wherever it is."""
        return f"{self.verb} {self.of}"

    @property
    def said(self) -> str:
        """``create pods/eviction``, ``create leases.coordination.k8s.io in namespace kube-system``."""
        return f"{self.right}{f' in namespace {self.namespace}' if self.namespace else ''}"


class NeededPermission(NamedTuple):
    """A right that something rests on; `lost`: what is not known, or not done, without it; `unknown`: the finding codes
    whose answer is."""

    permission: Permission
    lost: str = ""
    unknown: tuple[str, ...] = ()


class PlanPermissions(NamedTuple):
    """What a plan rests on, and what a run of it does besides."""

    plan: tuple[NeededPermission, ...] = ()
    run: tuple[NeededPermission, ...] = ()


class Review(NamedTuple):
    """What the server says of a right: `allowed` None where it does not say, and `why` not."""

    permission: Permission
    allowed: bool | None
    why: str = ""


# Rights that an administrator grants only by name, each with its risk.
#
# Sources: kubernetes.io, RBAC Good Practices (listing secrets, workload creation, pods/proxy past the API's own
# checks); the ClusterRole `view` of Kubernetes has `pods/log` and none of these.


@frozen
class OptIn:
    """`rights` as they are printed; `risk`: what else they allow, a clause without a subject. `skippable`: a command
    that only reads can leave it out of its scope (``--without``)."""

    name: str
    rights: tuple[str, ...]
    risk: str
    skippable: bool = False

    @property
    def said(self) -> str:
        """``proxy (get pods/proxy) sends HTTP GET requests …``."""
        return f"{self.name} ({', '.join(self.rights)}) {self.risk}"


HELM_RELEASES = OptIn(
    "helm-releases",
    ("get secrets", "list secrets"),
    "reads every Secret in the cluster, because RBAC cannot limit it to the releases of Helm",
    skippable=True,
)
PROXY = OptIn("proxy", ("get pods/proxy",), "sends HTTP GET requests to every port of every pod there", skippable=True)
DELETE_PODS = OptIn("delete-pods", ("delete pods",), "deletes pods against their PodDisruptionBudgets")
PATCH_WORKLOADS = OptIn(
    "patch-workloads",
    ("patch deployments.apps",),
    "changes any Deployment there, and so runs any image with any ServiceAccount of its namespace",
)
ALL = (DELETE_PODS, HELM_RELEASES, PATCH_WORKLOADS, PROXY)
NAMES = tuple(each.name for each in ALL)
SKIPPABLE = tuple(each.name for each in ALL if each.skippable)


def opt_in_of(right: str) -> OptIn | None:
    """That of ``get secrets``; None of a right that is granted without being named."""
    return next((each for each in ALL if right in each.rights), None)


def opt_ins_of(rights: Iterable[str]) -> tuple[OptIn, ...]:
    """Each once, sorted by name."""
    there = frozenset(rights)
    return tuple(each for each in ALL if not there.isdisjoint(each.rights))


def how_to(right: str, command: str = "COMMAND") -> str:
    """What to do about such a right that `command` lacks, "" about any other: a sentence, or two."""
    found = opt_in_of(right)
    if found is None:
        return ""
    skip = f" To leave it out of the scope: --without {found.name}." if found.skippable else ""
    return f"It is an opt-in, which {found.risk}: kubectl eksdoc permissions {command} --with {found.name}.{skip}"
