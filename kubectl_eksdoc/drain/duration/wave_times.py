"""When waves can begin at the earliest, since each waits for the one before and finds what that left of the slots."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import inf

from kubectl_eksdoc.drain.course import DrainTerms
from kubectl_eksdoc.drain.duration.node_times import Drained
from kubectl_eksdoc.drain.duration.timing import TimedEviction


def waves_s(
    waves: Sequence[Sequence[Drained]], terms: DrainTerms, alone_s: Callable[[Sequence[Drained]], float]
) -> float:
    """Seconds until the last of `waves`, given in their order, is done. `alone_s` bounds a wave with nothing before it.

    Pods of later waves are evicted after those of earlier ones, so a limit's slots are taken wave by wave. All
    holds of a limit within a wave count as its shortest one there: then taking the slot that is free first is best.
    """
    free: dict[str, list[float]] = {}  # by limit: when each of its slots is free, as a heap
    now = 0.0
    for wave in waves:
        end = now + alone_s(wave)
        if end == inf:
            return inf
        for limit, jobs in _by_limit(wave).items():
            slots = free.setdefault(limit, [0.0] * min(terms.slots[limit], _MOST))
            if len(slots) == terms.slots[limit]:
                end = max(end, _take(slots, jobs, now))
        now = end
    return now


_MOST = 1000
"""Slots of a limit that are followed; with more of them it hardly makes anyone wait."""


def _by_limit(wave: Sequence[Drained]) -> dict[str, list[TimedEviction]]:
    users: dict[str, list[TimedEviction]] = defaultdict(list)
    for node in wave:
        for job, move in zip(node.jobs, node.moves, strict=True):
            for limit in move.limits:
                users[limit].append(job)
    return users


def _take(free: list[float], jobs: Sequence[TimedEviction], now: float) -> float:
    """Book `jobs` on the slots from `now` on; returns when the last of them can be over."""
    hold = min(job.hold for job in jobs)
    now += min(job.head for job in jobs)
    start = now
    for _ in jobs:
        start = max(now, free[0])
        heapq.heapreplace(free, start + hold)
    return start + min(job.tail for job in jobs)
