"""What clients conclude from discovery: whether pods can be evicted, and whether a resource can be scaled.

Source: staging/src/k8s.io/kubectl/pkg/drain/drain.go (CheckEvictionSupport),
pkg/controller/disruption/disruption.go (getScaleController, implementsScale), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kubectl_eksdoc.kubernetes.replacement import NoScale

_SCALE_VERSIONS = frozenset(
    {("autoscaling", "v1"), ("extensions", "v1beta1"), ("apps", "v1beta1"), ("apps", "v1beta2")}
)


@dataclass(frozen=True, slots=True)
class Served:
    """One entry of an APIResourceList: `name` is ``pods`` or ``pods/eviction``.

    `group` and `version` are those of the entry itself, "" where it has those of its list.
    """

    name: str
    kind: str
    group: str = ""
    version: str = ""


def eviction_version(core_v1: Iterable[Served]) -> str:
    """The apiVersion for evictions by what ``/api/v1`` serves, ``policy/v1``; "" where pods cannot be evicted."""
    for served in core_v1:
        if served.name == "pods/eviction" and served.kind == "Eviction" and served.group and served.version:
            return f"{served.group}/{served.version}"
    return ""


def implements_scale(plural: str, served: Iterable[Served]) -> bool:
    """Whether `plural` has a scale subresource in a form that the disruption controller reads."""
    return any(
        s.name == f"{plural}/scale" and s.kind == "Scale" and (s.group, s.version) in _SCALE_VERSIONS for s in served
    )


def scale_not_found(plural: str, group: str, served: Iterable[Served]) -> NoScale | None:
    """What a 404 for an owner's scale means: None, there is no such object; `NoScale`, its kind has no scale.

    `served` is the discovery of the owner's group and version. Only the second fails the budget's sync at once.
    """
    if implements_scale(plural, served):
        return None
    return NoScale(f"{f'{plural}.{group}' if group else plural} does not implement the scale subresource")
