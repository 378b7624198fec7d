"""How kubectl drain removes pods: by eviction or by deletion, and what it does with each answer.

Source: staging/src/k8s.io/kubectl/pkg/drain/drain.go (DeleteOrEvictPods, makeDeleteOptions, EvictPod, evictPods),
Kubernetes v1.36. Waiting for pods that were asked to go is in `waiting`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from kubectl_eksdoc.core.model.pods import Pod

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
    """The requests for `pods`; `eviction_version` is what discovery offers (`discovery.eviction_version`)."""
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
