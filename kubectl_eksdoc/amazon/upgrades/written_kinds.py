"""Of which resources the objects are looked at, to find what was written in a version that goes or is gone.

An object is listed in any version that the server serves; the newest that is known comes first, and the older ones
stand beside it. Source of what is served: `removed_apis`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kubectl_eksdoc.amazon.upgrades.removed_apis import ROWS, RemovedApi, gone_on_the_way, instead
from kubectl_eksdoc.amazon.upgrades.sourced import minor_of
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.versions import Version

OLDEST = Version(1, 21)
"""From which an upgrade is looked at: EKS runs none that is older (EKS user guide, versions in extended support, and
what it upgraded by itself)."""

_LATE = Version(1, 99)
_ONLY_ASKED = frozenset(
    (
        "APIGroupDiscovery",
        "Eviction",
        "LocalSubjectAccessReview",
        "SelfSubjectAccessReview",
        "SelfSubjectReview",
        "SelfSubjectRulesReview",
        "SubjectAccessReview",
        "TokenReview",
    )
)
"""Clients send them, and nothing is stored: there is no list of them."""

_MADE_BY_CONTROLLERS = frozenset(
    (
        "CSINode",
        "CSIStorageCapacity",
        "CertificateSigningRequest",
        "ControllerRevision",
        "EndpointSlice",
        "Event",
        "IPAddress",
        "Lease",
        "ReplicaSet",
        "VolumeAttachment",
    )
)
"""Nobody keeps manifests of them, and there may be very many: once their old version is gone, none is looked at."""

_OF_THE_CLUSTER = frozenset(
    (
        "APIService",
        "CSIDriver",
        "CSINode",
        "CertificateSigningRequest",
        "ClusterCIDR",
        "ClusterRole",
        "ClusterRoleBinding",
        "ClusterTrustBundle",
        "CustomResourceDefinition",
        "DeviceClass",
        "DeviceTaintRule",
        "FlowSchema",
        "IPAddress",
        "IngressClass",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "PodSecurityPolicy",
        "PriorityClass",
        "PriorityLevelConfiguration",
        "ResourceSlice",
        "RuntimeClass",
        "ServiceCIDR",
        "StorageClass",
        "StorageVersionMigration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "VolumeAttachment",
        "VolumeAttributesClass",
    )
)
"""Kinds without a namespace (kubernetes/api, ``+genclient:nonNamespaced``)."""


_NOT_LOOKED_AT = _MADE_BY_CONTROLLERS | {"PodSecurityPolicy"}
"""Of the last one nothing is left: no version followed it."""


def going(now: Version, target: Version) -> tuple[Resource, ...]:
    """Those of which a version goes on the way; alpha ones EKS does not serve."""
    rows = (row for row in gone_on_the_way(now, target) if _listed(row) and not row.alpha)
    return tuple(dict.fromkeys(map(resource_of, rows)))


def gone_before(now: Version) -> tuple[Resource, ...]:
    """Those that had a version which `now` does not serve any more, and of which people keep manifests."""
    rows = (
        row
        for row in ROWS
        if not minor_of(now) < row.removed and _listed(row) and not row.alpha and row.kind not in _NOT_LOOKED_AT
    )
    return tuple(sorted(dict.fromkeys(map(resource_of, rows)), key=lambda each: (each.group, each.plural)))


def resource_of(row: RemovedApi) -> Resource:
    """The same for all rows that are about the same objects, in whatever group they were before."""
    group = _home(row)
    versions = tuple(sorted(set(_versions(group, row.kind)), key=_age, reverse=True))
    return Resource(row.kind, row.resource, group, versions[0], row.kind not in _OF_THE_CLUSTER, older=versions[1:])


def _listed(row: RemovedApi) -> bool:
    return bool(row.resource) and row.kind not in _ONLY_ASKED


def _home(row: RemovedApi) -> str:
    """The group that has the objects since Kubernetes 1.16 at the latest."""
    if row.group == "extensions" and row.kind == "PodSecurityPolicy":
        return "policy"
    found = instead(row, _LATE)
    return row.group if isinstance(found, Unknown) or not found else found.rpartition("/")[0]


def _versions(group: str, kind: str) -> Iterator[str]:
    """Of the group, each in which a server has served the kind."""
    for row in _of_kind(kind):
        if row.group == group:
            yield row.version
        found = instead(row, _LATE)
        if not isinstance(found, Unknown) and found.rpartition("/")[0] == group:
            yield found.rpartition("/")[2]


def _of_kind(kind: str) -> Iterable[RemovedApi]:
    return (row for row in ROWS if row.kind == kind)


_VERSION = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?\Z")
_STAGES = {"alpha": 0, "beta": 1}


def _age(version: str) -> tuple[int, int, int]:
    """As API servers order them: stable ones, then beta, then alpha, the highest number first."""
    found = _VERSION.match(version)
    if found is None:
        return -1, 0, 0
    return _STAGES.get(found[2] or "", 2), int(found[1]), int(found[3] or 0)
