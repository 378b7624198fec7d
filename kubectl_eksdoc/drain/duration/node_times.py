"""Minimum time of one node if all others waited for it, and what that leaves each of its pods."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.replacement import Replacement

from ..course import DrainTerms, Move, apart_s, hold_s
from .timing import TimedEviction, chain_s, paced_s

Nodes = Sequence[tuple[str, Sequence[Move]]]


@frozen
class Drained:
    """The minimum time of one node. `jobs` belong to `moves` one by one; `seconds`: from its cordon until it is done.

    A job's head is the time that must pass before the pod on its node, its tail lasts until the node is done. `limit`:
    the limit on which its pods take turns if that decides, else "".
    """

    name: str
    moves: tuple[Move, ...]
    jobs: tuple[TimedEviction, ...]
    seconds: float
    limit: str


def timed(name: str, moves: Sequence[Move], terms: DrainTerms, soonest: bool = False) -> Drained:
    """The node `name` by itself: system-critical pods wait until all others are gone. `fastest`: with
    `PodMove.with_fastest_times`."""
    lag, settle = terms.lag_s, terms.settle_s
    aside = [move for move in moves if move.critical or move.waits_s]
    if soonest and aside:
        return timed(name, [move.soonest for move in moves], terms)
    critical = [move for move in aside if move.critical]
    if not critical:
        job = _soonest_job if soonest else _usual_job
        jobs = tuple([job(move, lag, settle) for move in moves])
        seconds, limit = _tier(jobs, moves, terms)
        return Drained(name, tuple(moves), jobs, seconds or settle, limit)
    ordinary = [move for move in moves if not move.critical]
    first, limit = _tier([_job(hold_s(m, lag), m.stop_s, m.waits_s) for m in ordinary], ordinary, terms)
    then, second_limit = _tier([_job(hold_s(m, lag), m.stop_s) for m in critical], critical, terms)
    limit = limit if first >= then else second_limit
    before = _before(ordinary, critical, terms)
    jobs = tuple(
        TimedEviction(max([first, m.waits_s, *(before[x] for x in m.limits)]), hold_s(m, lag), m.stop_s + settle)
        if m.critical
        else _job(hold_s(m, lag), m.stop_s + then + settle, m.waits_s)
        for m in moves
    )
    seconds = first + then + settle
    both, shared = _tier(jobs, moves, terms)
    if both > seconds:
        seconds, limit = both, shared
    return Drained(name, tuple(moves), jobs, seconds, limit)


def _usual_job(move: Move, lag_s: float, settle_s: float) -> TimedEviction:
    return _job(hold_s(move, lag_s), move.stop_s + settle_s, move.waits_s)


def _soonest_job(move: Move, lag_s: float, settle_s: float) -> TimedEviction:
    """Like `_typical_job` of `move.with_fastest_times`, without creating that."""
    after, start_s = move.after, move.least_start_s
    hold = inf if after is Replacement.NEVER else start_s + lag_s
    return _job(hold, start_s + settle_s if after is Replacement.FIRST else settle_s)


@lru_cache(maxsize=1 << 14)
def _job(hold: float, tail: float, head: float = 0.0) -> TimedEviction:
    """Replicas share one object, which is faster to get and to compare."""
    return TimedEviction(head, hold, tail)


def _before(ordinary: Sequence[Move], critical: Sequence[Move], terms: DrainTerms) -> dict[str, float]:
    """Limit → when a critical pod can have a slot at the earliest, as all ordinary pods of its node come first.

    By then its own slot was released and the last ordinary pod of every other slot has at least started, so at most
    `slots` - 1 of them, minus those that keep theirs permanently, are still being replaced.
    """
    before: dict[str, float] = {}
    for limit in {limit for move in critical for limit in move.limits}:
        slots = terms.slots[limit]
        holds = sorted(hold_s(move, terms.lag_s) for move in ordinary if limit in move.limits)
        for_good = holds.count(inf)
        finite = holds[: max(0, len(holds) - max(for_good, slots - 1))]
        before[limit] = inf if for_good >= slots else max([sum(finite) / slots, *finite[-1:]])
    return before


def _tier(jobs: Sequence[TimedEviction], moves: Sequence[Move], terms: DrainTerms) -> tuple[float, str]:
    """Seconds until all of `jobs` are over, and the limit on which they take turns, "" if none decides."""
    if not jobs:
        return 0.0, ""
    best, decides = max([head + tail for head, _, tail in jobs]), ""
    if terms.between_s and len(jobs) > 1:
        best = max(best, paced_s(jobs, terms.between_s, terms.burst))
    used = [limit for move in moves for limit in move.limits]
    if len(set(used)) == len(used):
        return best, decides  # most nodes: no two of its pods share a limit
    crowded = {limit for limit, number in Counter(used).items() if number > terms.slots[limit]}
    users: dict[str, list[TimedEviction]] = defaultdict(list)
    for job, move in zip(jobs, moves, strict=True):
        for limit in crowded.intersection(move.limits):
            users[limit].append(job)
    for limit in sorted(users):
        seconds = chain_s(users[limit], terms.slots[limit], apart_s(terms))
        if seconds > best:
            best, decides = seconds, limit
    return best, decides


# When waves can start at the earliest, as each waits for the one before and finds only the slots that it leaves.


def waves_s(
    waves: Sequence[Sequence[Drained]], terms: DrainTerms, alone_s: Callable[[Sequence[Drained]], float]
) -> float:
    """Lower bound in seconds until the last of `waves`, in their order, is done. `wave_bound_s`: the bound of a wave
    alone.

    Pods of later waves are evicted after those of earlier ones, so a limit's slots are taken wave by wave. All holds of
    a limit within a wave count as its shortest one there: then taking the slot that is free first is best.
    """
    free: dict[str, list[float]] = {}  # limit → when each of its slots is free, as a heap
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
"""Slots of a limit that are tracked; with more of them pods hardly wait."""


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
