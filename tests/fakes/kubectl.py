"""What kubectl drain, kubectl cordon and the disruption controller conclude and send: a stand-in for those clients,
held against upstream's tables and recordings. The package has no use for it, as it sends its own requests.

Source: staging/src/k8s.io/kubectl/pkg/drain/{drain,cordon,filters}.go, pkg/controller/disruption/disruption.go
(getScaleController, implementsScale), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum

from kubectl_eksdoc.kubernetes.drain_filters import Decision, DrainFilterOutcome
from kubectl_eksdoc.kubernetes.replacement import NoScale
from kubectl_eksdoc.model.nodes import Node, Pod

# What clients conclude from discovery.


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


# How kubectl drain removes pods: by eviction or by deletion, and what it does with each answer.


RETRY_AFTER = timedelta(seconds=5)
"""How long kubectl sleeps before it asks again; it looks at no Retry-After."""

NAMESPACE_TERMINATING = "NamespaceTerminating"


@dataclass(frozen=True, slots=True)
class RemovalOptions:
    """kubectl drain's flags. A negative `grace_seconds` leaves each pod its own; 0 kills at once."""

    grace_seconds: int = -1
    disable_eviction: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Removal:
    """One request. `eviction_version` is the Eviction's apiVersion, "" where it is a plain DELETE.

    `grace_seconds` None sends none. kubectl sends no UID: whoever has the name when it arrives goes.
    """

    namespace: str
    name: str
    eviction_version: str = ""
    grace_seconds: int | None = None
    dry_run: bool = False

    @property
    def evicts(self) -> bool:
        return bool(self.eviction_version)


class Next(str, Enum):
    """What follows an answer to an eviction."""

    WAIT = "wait"  # it goes: wait until it is gone
    GONE = "gone"
    RETRY = "retry"  # in RETRY_AFTER, with the pod as it is then
    FAILED = "failed"  # the pod, and with it its node; the other pods go on


def removals(pods: Iterable[Pod], options: RemovalOptions, eviction_version: str) -> tuple[Removal, ...]:
    """The requests for `pods`; `eviction_version` is what discovery offers (`eviction_version`)."""
    version = "" if options.disable_eviction else eviction_version
    # Whatever else a server offers, kubectl knows two versions, and the older one is its fallback.
    known = version if version in ("", "policy/v1") else "policy/v1beta1"
    grace = options.grace_seconds if options.grace_seconds >= 0 else None
    return tuple(Removal(p.namespace, p.name, known, grace, options.dry_run) for p in pods)


def after_eviction(code: int, causes: Collection[str], deleting: bool) -> Next:
    """What kubectl does after an eviction was answered with HTTP `code`.

    `causes` are the reasons of the Status' causes; `deleting` says whether the pod, as it was last read,
    has a deletionTimestamp. A namespace that is being deleted refuses every eviction of its pods, and
    deletes them itself: kubectl asks until the pod is marked, and then only waits.
    """
    if 200 <= code < 300:
        return Next.WAIT
    if code == 404:
        return Next.GONE
    if code == 429:
        return Next.RETRY
    if code == 403 and NAMESPACE_TERMINATING in causes:
        return Next.WAIT if deleting else Next.RETRY
    return Next.FAILED


def timed_out_text(pod: Pod, timeout: str) -> str:
    """kubectl's error for a pod it could not evict before --timeout, which is written as Go writes it (1m30s)."""
    return f'error when evicting pods/"{pod.name}" -n "{pod.namespace}": global timeout reached: {timeout}'


# Cordoning.


def can_be_cordoned(api_version: str, kind: str) -> bool:
    """Only a node can, whatever else has a spec.unschedulable."""
    return (api_version, kind) == ("v1", "Node")


def needs_update(node: Node, unschedulable: bool) -> bool:
    """Whether a patch is sent at all; kubectl prints ``already cordoned`` where it is not."""
    return node.unschedulable != unschedulable


def after_patch(node: Node, unschedulable: bool, accepted: bool) -> Node:
    """The node as the client knows it after it sent the patch: unchanged where the server refused."""
    return replace(node, unschedulable=unschedulable) if accepted else node


# What it prints about the pods of a node.


def warning_of(decision: Decision) -> str:
    """What is printed after ``Warning:`` for this pod, "" for nothing."""
    said = decision.decisive
    return (
        said.message
        if said is not None and said.outcome in (DrainFilterOutcome.DELETE, DrainFilterOutcome.SKIP)
        else ""
    )


def error_of(decision: Decision) -> str:
    """The error for which the node is not drained, "" for none."""
    said = decision.decisive
    return said.message if said is not None and said.outcome is DrainFilterOutcome.ERROR else ""


def warning_text(decisions: Iterable[Decision]) -> str:
    """kubectl's one line of warnings (``PodDeleteList.Warnings``), groups by first pod: ``text: ns/a, ns/b; …``."""
    grouped = _grouped((warning_of(d), d.pod) for d in decisions)
    return "; ".join(f"{text}: {', '.join(keys)}" for text, keys in grouped.items())


def error_texts(decisions: Iterable[Decision]) -> tuple[str, ...]:
    """kubectl's errors; if there is any, no pod of the node is evicted (``PodDeleteList.errors``)."""
    grouped = _grouped((error_of(d), d.pod) for d in decisions)
    return tuple(
        f"{text if text.lower().startswith('cannot delete') else f'cannot delete {text}'}: {', '.join(keys)}"
        for text, keys in grouped.items()
    )


def _grouped(said: Iterable[tuple[str, Pod]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for text, pod in said:
        if text:
            groups.setdefault(text, []).append(pod.key)
    return groups
