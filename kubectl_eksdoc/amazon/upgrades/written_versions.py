"""In which API version an object was written, by what it says of itself: kubectl's annotation, and its managedFields.

An API server hands out every object in every version that it serves: that one is listed as ``policy/v1beta1`` is no
proof of anything. What was written stays written down for long, too, so each sign comes with what else may explain it.

Sources: kubectl pkg/util/apply.go (GetOriginalConfiguration); apimachinery meta/v1 ManagedFieldsEntry (an entry each
for manager, operation, apiVersion and subresource); public listings of EKS
clusters for the objects that EKS brings (confidence: medium).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.amazon.upgrades.removed_apis import RemovedApi, removed_api
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.api_usage import Written, WrittenBy
from kubectl_eksdoc.model.asked import Confidence
from kubectl_eksdoc.model.knowledge import KnowledgeSource

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def row_of(sign: Written) -> RemovedApi | None:
    """What the table of removed APIs has of it."""
    return removed_api(sign.api_version, sign.kind)


def written(found: Doc, last_applied: Any = None) -> tuple[Written, ...]:
    """Of an object as an API server shows it, with its managedFields. `last_applied`: what its annotation
    `LAST_APPLIED` holds, decoded; None where there is none, and anything that is no object says nothing."""
    return (*_applied(last_applied), *_managed(found))


def _applied(last: Any) -> Iterator[Written]:
    if isinstance(last, dict):
        version, kind = last.get("apiVersion"), last.get("kind")
        if isinstance(version, str) and version and isinstance(kind, str) and kind:
            yield Written(WrittenBy.LAST_APPLIED, version, kind)


def _managed(found: Doc) -> Iterator[Written]:
    kind, entries = found.get("kind"), at(found, "metadata", "managedFields")
    if not isinstance(kind, str) or not kind or not isinstance(entries, list):
        return
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        version, manager, operation, time, sub = (
            value if isinstance(value := entry.get(name), str) else ""
            for name in ("apiVersion", "manager", "operation", "time", "subresource")
        )
        if version:
            yield Written(WrittenBy.MANAGED_FIELDS, version, kind, manager, operation, time, sub)


@dataclass(frozen=True, slots=True)
class NoChangeNeeded:
    """`why` nobody has to change anything, in a clause."""

    why: str
    source: KnowledgeSource


_APF = NoChangeNeeded(
    "the API server's own API Priority and Fairness writes it, and will write the version that it serves",
    KnowledgeSource("apiserver pkg/server/flowcontrol, managers api-priority-and-fairness-config-*", Confidence.MEDIUM),
)
_EKS = NoChangeNeeded(
    "EKS writes it and brings its own objects along at an upgrade",
    KnowledgeSource("EKS best practices, scale-control-plane; public listings of EKS clusters", Confidence.MEDIUM),
)
_OF_KUBERNETES = NoChangeNeeded(
    "a controller of the control plane wrote it, and is upgraded with it",
    KnowledgeSource("kubernetes cmd/kube-controller-manager, kube-scheduler", Confidence.MEDIUM),
)
_EKS_OWN = {
    "PodSecurityPolicy": ("eks.privileged",),
    "FlowSchema": ("eks-exempt", "eks-leader-election", "eks-monitoring", "eks-workload-high"),
    "PriorityLevelConfiguration": ("eks-monitoring",),
}
_EKS_MANAGERS = ("eks", "eks-internal")
_CONTROL_PLANE = ("kube-controller-manager", "kube-scheduler", "kube-apiserver", "cloud-controller-manager")
KEPT_BY_SERVER = "apf.kubernetes.io/autoupdate-spec"
"""Annotation of the FlowSchemas and PriorityLevelConfigurations that the API server brings and keeps ("true")."""


def innocent(sign: Written, name: str, annotations: Mapping[str, str] | None = None) -> NoChangeNeeded | None:
    """Why this sign on the object of that name is none of the user's manifests or clients; None where it may be."""
    kept = (annotations or {}).get(KEPT_BY_SERVER) == "true" and sign.api_version.startswith("flowcontrol.")
    if kept or sign.manager.startswith("api-priority-and-fairness-config-"):
        return _APF
    if sign.manager in _EKS_MANAGERS or name in _EKS_OWN.get(sign.kind, ()):
        return _EKS
    if sign.manager in _CONTROL_PLANE:
        return _OF_KUBERNETES
    return None


STAYS = (
    "both stay until the same manager writes again: the annotation until the next kubectl apply, an entry of"
    " managedFields for as long as its manager owns a field in that version, also after its manifest was changed"
)
"""Why a sign may be of long ago; the entry's time tells when it wrote last."""
