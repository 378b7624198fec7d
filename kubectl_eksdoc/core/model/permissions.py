"""What somebody may do by RBAC: a verb on a resource, in one namespace or everywhere."""

from __future__ import annotations

from typing import NamedTuple

from kubectl_eksdoc.core.model.kinds import Resource


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


class Need(NamedTuple):
    """A right that something rests on; `lost`: what is not known, or not done, without it."""

    permission: Permission
    lost: str = ""


class Needs(NamedTuple):
    """What a plan rests on, and what a run of it does besides."""

    plan: tuple[Need, ...] = ()
    run: tuple[Need, ...] = ()


class Review(NamedTuple):
    """What the server says of a right: `allowed` None where it does not say, and `why` not."""

    permission: Permission
    allowed: bool | None
    why: str = ""
