"""The DisruptionTarget condition of a pod: who sets it, and when the controller takes it back.

Source: pkg/controller/disruption/disruption.go (nonTerminatingPodHasStaleDisruptionCondition,
syncStalePodDisruption), pkg/registry/core/pod/storage/eviction.go (addConditionAndDeletePod), Kubernetes v1.36.
It decides nothing about evictions: a budget counts its pods by readiness and `status.disruptedPods`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from kubectl_eksdoc.kubernetes.drain_filters import Asked, FilterOptions, deleted_too_long
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placement import CPU, MEMORY, PODS
from kubectl_eksdoc.model.pods import Pod

STALE_AFTER = timedelta(minutes=2)
"""How long a pod may be marked as about to be disrupted without being deleted."""

BY_EVICTION = "EvictionByEvictionAPI"
BY_KUBELET = "TerminationByKubelet"
EVICTING = "Eviction API: evicting"


@dataclass(frozen=True, slots=True)
class DisruptionTarget:
    """The condition. `since` is its lastTransitionTime; without one it counts as set long ago."""

    status: str
    since: datetime | None = None
    reason: str = ""
    message: str = ""
    observed_generation: int = 0

    @property
    def holds(self) -> bool:
        return self.status == "True"


def by_eviction(held: DisruptionTarget | None, now: datetime) -> DisruptionTarget:
    """The condition with which the eviction endpoint marks a pod before it deletes it (not in a dry run)."""
    since = held.since if held is not None and held.holds else now
    return DisruptionTarget("True", since, BY_EVICTION, EVICTING)


def stale_in(
    pod: Pod, held: DisruptionTarget | None, now: datetime, after: timedelta = STALE_AFTER
) -> timedelta | None:
    """How long until the controller takes `held` back: zero is now, None is never.

    Never: the pod is being deleted or finished, or the kubelet set it, which may take as long as it likes.
    """
    if held is None or not held.holds or held.reason == BY_KUBELET or pod.deleting or pod.finished:
        return None
    if held.since is None:
        return timedelta(0)
    return max(timedelta(0), after - (now - held.since))


def after_sync(
    pod: Pod,
    held: DisruptionTarget | None,
    now: datetime,
    *,
    generation: int = 0,
    after: timedelta = STALE_AFTER,
) -> DisruptionTarget | None:
    """The condition after the controller looked at `pod` (whose metadata.generation is `generation`)."""
    if stale_in(pod, held, now, after) == timedelta(0):
        return DisruptionTarget("False", now, observed_generation=generation)
    return held


# Which pods a kubelet refuses that somebody bound to its node past the scheduler: there is no room for them.
#
# Source: pkg/kubelet/lifecycle/predicate.go (InsufficientResourceError), pkg/kubelet/kubelet.go (rejectPod), v1.33;
# pkg/scheduler/framework/plugins/noderesources/fit.go (the order of resources).


@dataclass(frozen=True, slots=True)
class Rejected:
    """As the status of the pod has it, whose phase is Failed."""

    reason: str
    message: str


def rejected(pod: Pod, node: Node, there: Iterable[Pod]) -> Rejected | None:
    """`there`: the other pods of the node; those that have ended take nothing."""
    others = [other for other in there if not other.finished and other.key != pod.key]
    if len(others) + 1 > node.pods_allocatable:
        return _of(PODS, 1, len(others), node.pods_allocatable)
    wanted = pod.placement.requests
    used = [other.placement.requests for other in others]
    for name, asked, taken in (
        (CPU, wanted.cpu, sum(each.cpu for each in used)),
        (MEMORY, wanted.memory, sum(each.memory for each in used)),
    ):
        room = node.allocatable.get(name, 0)
        if asked and taken + asked > room:
            return _of(name, asked, taken, room)
    return None


def _of(resource: str, asked: int, used: int, room: int) -> Rejected:
    text = f"Node didn't have enough resource: {resource}, requested: {asked}, used: {used}, capacity: {room}"
    return Rejected(f"OutOf{resource}", f"Pod was rejected: {text}")


# When a pod that was asked to go counts as gone, and how long kubectl drain waits for it.
#
# Source: staging/src/k8s.io/kubectl/pkg/drain/drain.go (waitForDelete), Kubernetes v1.36.


class Left(str, Enum):
    """GONE: no pod of that name, or another one. GIVEN_UP: past its deadline for too long to wait."""

    GONE = "gone"
    GIVEN_UP = "given-up"
    STILL_THERE = "still-there"


class End(str, Enum):
    """Why waiting ended."""

    ALL_LEFT = "all-left"
    READ_FAILED = "read-failed"
    TIMED_OUT = "timed-out"  # this wait's own limit
    CANCELLED = "cancelled"  # the limit, or the end, of the run it belongs to


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A read that failed with anything but "not found"."""

    error: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The pods still waited for; `end` None while it goes on. Pods are left where it ended too early."""

    pods: tuple[Pod, ...]
    end: End | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """`interval` between two looks; the two moments are None where there is no such limit."""

    interval: timedelta = timedelta(seconds=1)
    times_out_at: datetime | None = None
    cancelled_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """What comes after a look: another one at `until`, or, with `end`, nothing more from then on."""

    until: datetime
    end: End | None = None


def has_left(evicted: Pod, seen: Pod | None, now: datetime, skip_deleting_after: int = 0) -> Left:
    """Judge by what is `seen` under the name of the pod that was `evicted`, None being nothing.

    `skip_deleting_after` is --skip-wait-for-delete-timeout in seconds; 0 waits for ever.
    """
    if seen is None or seen.uid != evicted.uid:
        return Left.GONE
    if deleted_too_long(seen, Asked(FilterOptions(skip_deleting_after=skip_deleting_after), now)):
        return Left.GIVEN_UP
    return Left.STILL_THERE


def look(
    waiting: Waiting, seen: Mapping[str, Pod | Unreadable | None], now: datetime, skip_deleting_after: int = 0
) -> Waiting:
    """One look at every pod still waited for; `seen` maps each one's ``namespace/name`` to what was read.

    The first read that fails ends the waiting, and no pod of that look counts as gone.
    """
    staying = []
    for pod in waiting.pods:
        found = seen[pod.key]
        if isinstance(found, Unreadable):
            return Waiting(waiting.pods, End.READ_FAILED, found.error)
        if has_left(pod, found, now, skip_deleting_after) is Left.STILL_THERE:
            staying.append(pod)
    return Waiting(tuple(staying), None if staying else End.ALL_LEFT)


def pause(now: datetime, limits: Limits) -> Pause:
    """When to look again after a look at `now`; a limit that comes first ends it, without another look."""
    again = now + limits.interval
    ends = [(at, end) for at, end in _limits(limits) if at <= again]
    if not ends:
        return Pause(again)
    at, end = min(ends, key=lambda limit: limit[0])
    return Pause(max(at, now), end)


def _limits(limits: Limits) -> list[tuple[datetime, End]]:
    both = ((limits.times_out_at, End.TIMED_OUT), (limits.cancelled_at, End.CANCELLED))
    return [(at, end) for at, end in both if at is not None]
