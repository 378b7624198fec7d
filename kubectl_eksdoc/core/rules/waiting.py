"""When a pod that was asked to go counts as gone, and how long kubectl drain waits for it.

Source: staging/src/k8s.io/kubectl/pkg/drain/drain.go (waitForDelete), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.drain_filters import Asked, FilterOptions, deleted_too_long


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
