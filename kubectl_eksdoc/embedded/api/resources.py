"""One resource of the API as discovery describes it, and a group version that is announced without resources."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
READ_AND_WRITE = ("get", "patch", "update")
"""The verbs of most subresources."""


_STORED_OTHERWISE = ("autoscaling", "events.k8s.io", "resource.k8s.io")
"""Groups with several versions, or whose objects are another group's."""


@dataclass(frozen=True, slots=True)
class Subresource:
    """``pods/eviction``: `group` and `version` are those of `kind` where they are not the parent's, else empty."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Served:
    """A resource in one version: ``/apis/{group}/{version}/{plural}``.

    `custom` marks those of a CustomResourceDefinition.
    """

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    custom: bool = False

    @property
    def api_version(self) -> str:
        """As objects write it: ``v1``, ``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        """As RBAC, kubectl and the store write it: ``poddisruptionbudgets.policy``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def root(self) -> str:
        """The path of its group version: ``/api/v1``, ``/apis/apps/v1``."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def storage_hash(self) -> str:
        """Of the version in which the objects are stored (apiserver pkg/endpoints/discovery/storageversionhash.go).

        It is told of what is stored as it is served, "" of anything else: clients must not rely on it.
        """
        if self.custom or "watch" not in self.verbs or self.group in _STORED_OTHERWISE:
            return ""
        digest = hashlib.sha256(f"{self.group}/{self.version}/{self.kind}".encode()).digest()
        return base64.b64encode(digest[:8]).decode()

    def subresource(self, name: str) -> Subresource | None:
        return next((s for s in self.subresources if s.name == name), None)


@dataclass(frozen=True, slots=True)
class AnnouncedGroupVersion:
    """A group version that an APIService claims; `remote` where another server is to answer for it.

    A remote one stays in ``/apis`` whether its server can be reached or not (kube-aggregator, handler_apis.go).
    """

    group: str
    version: str
    group_priority: int
    version_priority: int
    remote: bool
