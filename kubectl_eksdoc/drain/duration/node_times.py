"""Minimum time of one node if all others waited for it, and what that leaves each of its pods."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.replacement import Replacement

from ..timeline import DrainTerms, PodMove, min_interval_s, slot_hold_s
from .timing import TimedEviction, rate_bound_s, slot_bound_s

MovesByNode = Sequence[tuple[str, Sequence[PodMove]]]


@frozen
class NodeTime:
    """The minimum time of one node. `jobs` belong to `moves` one by one; `seconds`: from its cordon until it is done.

    A job's head is the time that must pass before the pod on its node, its tail lasts until the node is done. `limit`:
    the limit on which its pods take turns if that decides, else "".
    """

    name: str
    moves: tuple[PodMove, ...]
    jobs: tuple[TimedEviction, ...]
    seconds: float
    limit: str


def node_time(name: str, moves: Sequence[PodMove], terms: DrainTerms, fastest: bool = False) -> NodeTime:
    """The node `name` by itself: system-critical pods wait until all others are gone. `fastest`: with
    `PodMove.with_fastest_times`."""
    budget_lag_s, node_settle_s = terms.budget_lag_s, terms.node_settle_s
    special_moves = [move for move in moves if move.critical or move.waits_s]
    if fastest and special_moves:
        return node_time(name, [move.with_fastest_times for move in moves], terms)
    critical = [move for move in special_moves if move.critical]
    if not critical:
        make_job = _fastest_job if fastest else _typical_job
        jobs = tuple([make_job(move, budget_lag_s, node_settle_s) for move in moves])
        seconds, limit = _tier_seconds(jobs, moves, terms)
        return NodeTime(name, tuple(moves), jobs, seconds or node_settle_s, limit)
    ordinary = [move for move in moves if not move.critical]
    ordinary_s, limit = _tier_seconds(
        [_job(slot_hold_s(pod_move, budget_lag_s), pod_move.stop_s, pod_move.waits_s) for pod_move in ordinary],
        ordinary,
        terms,
    )
    critical_s, critical_limit = _tier_seconds(
        [_job(slot_hold_s(pod_move, budget_lag_s), pod_move.stop_s) for pod_move in critical], critical, terms
    )
    limit = limit if ordinary_s >= critical_s else critical_limit
    critical_heads = _critical_heads(ordinary, critical, terms)
    jobs = tuple(
        TimedEviction(
            max([ordinary_s, pod_move.waits_s, *(critical_heads[used_limit] for used_limit in pod_move.limits)]),
            slot_hold_s(pod_move, budget_lag_s),
            pod_move.stop_s + node_settle_s,
        )
        if pod_move.critical
        else _job(slot_hold_s(pod_move, budget_lag_s), pod_move.stop_s + critical_s + node_settle_s, pod_move.waits_s)
        for pod_move in moves
    )
    seconds = ordinary_s + critical_s + node_settle_s
    combined_s, shared_limit = _tier_seconds(jobs, moves, terms)
    if combined_s > seconds:
        seconds, limit = combined_s, shared_limit
    return NodeTime(name, tuple(moves), jobs, seconds, limit)


def _typical_job(move: PodMove, budget_lag_s: float, node_settle_s: float) -> TimedEviction:
    return _job(slot_hold_s(move, budget_lag_s), move.stop_s + node_settle_s, move.waits_s)


def _fastest_job(move: PodMove, budget_lag_s: float, node_settle_s: float) -> TimedEviction:
    """Like `_typical_job` of `move.with_fastest_times`, without creating that."""
    replacement, fastest_s = move.replacement, move.fastest_start_s
    hold = inf if replacement is Replacement.NEVER else fastest_s + budget_lag_s
    return _job(hold, fastest_s + node_settle_s if replacement is Replacement.SURGE else node_settle_s)


@lru_cache(maxsize=1 << 14)
def _job(hold: float, tail: float, head: float = 0.0) -> TimedEviction:
    """Replicas share one object, which is faster to get and to compare."""
    return TimedEviction(head, hold, tail)


def _critical_heads(ordinary: Sequence[PodMove], critical: Sequence[PodMove], terms: DrainTerms) -> dict[str, float]:
    """Limit → when a critical pod can have a slot at the earliest, as all ordinary pods of its node come first.

    By then its own slot was released and the last ordinary pod of every other slot has at least started, so at most
    `slots` - 1 of them, minus those that keep theirs permanently, are still being replaced.
    """
    heads: dict[str, float] = {}
    for limit in {limit for move in critical for limit in move.limits}:
        slots = terms.slots[limit]
        holds = sorted(slot_hold_s(move, terms.budget_lag_s) for move in ordinary if limit in move.limits)
        permanent_count = holds.count(inf)
        finite = holds[: max(0, len(holds) - max(permanent_count, slots - 1))]
        heads[limit] = inf if permanent_count >= slots else max([sum(finite) / slots, *finite[-1:]])
    return heads


def _tier_seconds(jobs: Sequence[TimedEviction], moves: Sequence[PodMove], terms: DrainTerms) -> tuple[float, str]:
    """Seconds until all of `jobs` are over, and the limit on which they take turns, "" if none decides."""
    if not jobs:
        return 0.0, ""
    max_seconds, deciding_limit = max([head + tail for head, _, tail in jobs]), ""
    if terms.eviction_interval_s and len(jobs) > 1:
        max_seconds = max(max_seconds, rate_bound_s(jobs, terms.eviction_interval_s, terms.burst))
    used_limits = [limit for move in moves for limit in move.limits]
    if len(set(used_limits)) == len(used_limits):
        return max_seconds, deciding_limit  # most nodes: no two of its pods share a limit
    contended = {limit for limit, number in Counter(used_limits).items() if number > terms.slots[limit]}
    users: dict[str, list[TimedEviction]] = defaultdict(list)
    for job, move in zip(jobs, moves, strict=True):
        for limit in contended.intersection(move.limits):
            users[limit].append(job)
    for limit in sorted(users):
        seconds = slot_bound_s(users[limit], terms.slots[limit], min_interval_s(terms))
        if seconds > max_seconds:
            max_seconds, deciding_limit = seconds, limit
    return max_seconds, deciding_limit


# When waves can start at the earliest, as each waits for the one before and finds only the slots that it leaves.


def waves_bound_s(
    waves: Sequence[Sequence[NodeTime]], terms: DrainTerms, wave_bound_s: Callable[[Sequence[NodeTime]], float]
) -> float:
    """Lower bound in seconds until the last of `waves`, in their order, is done. `wave_bound_s`: the bound of a wave
    alone.

    Pods of later waves are evicted after those of earlier ones, so a limit's slots are taken wave by wave. All holds of
    a limit within a wave count as its shortest one there: then taking the slot that is free first is best.
    """
    free_at: dict[str, list[float]] = {}  # limit → when each of its slots is free, as a heap
    now = 0.0
    for wave in waves:
        wave_end = now + wave_bound_s(wave)
        if wave_end == inf:
            return inf
        for limit, jobs in _jobs_by_limit(wave).items():
            slots = free_at.setdefault(limit, [0.0] * min(terms.slots[limit], _MAX_SLOTS))
            if len(slots) == terms.slots[limit]:
                wave_end = max(wave_end, _book_slots(slots, jobs, now))
        now = wave_end
    return now


_MAX_SLOTS = 1000
"""Slots of a limit that are tracked; with more of them pods hardly wait."""


def _jobs_by_limit(wave: Sequence[NodeTime]) -> dict[str, list[TimedEviction]]:
    users: dict[str, list[TimedEviction]] = defaultdict(list)
    for node in wave:
        for job, move in zip(node.jobs, node.moves, strict=True):
            for limit in move.limits:
                users[limit].append(job)
    return users


def _book_slots(free_at: list[float], jobs: Sequence[TimedEviction], now: float) -> float:
    """Book `jobs` on the slots from `now` on; returns when the last of them can be over."""
    hold = min(job.hold for job in jobs)
    now += min(job.head for job in jobs)
    start = now
    for _ in jobs:
        start = max(now, free_at[0])
        heapq.heapreplace(free_at, start + hold)
    return start + min(job.tail for job in jobs)
