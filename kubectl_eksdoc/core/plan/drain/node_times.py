"""How long a node takes at least if all others waited for it, and what that leaves each of its pods."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.plan.drain.chains import Job, chain_s, hold_s
from kubectl_eksdoc.core.sim.drain import Move, Terms

Nodes = Sequence[tuple[str, Sequence[Move]]]


@dataclass(frozen=True, slots=True)
class Drained:
    """`jobs` belong to `moves` one by one; `seconds` from its cordon until it is done, at least.

    A job's head is what must come before the pod on its node, its tail lasts until the node is done. `limit`
    is what its pods take turns on if that decides, else "".
    """

    name: str
    moves: tuple[Move, ...]
    jobs: tuple[Job, ...]
    seconds: float
    limit: str


def timed(name: str, moves: Sequence[Move], terms: Terms) -> Drained:
    """The node `name` by itself: system-critical pods wait for all others to be gone."""
    lag, settle = terms.lag_s, terms.settle_s
    critical = [move for move in moves if move.critical]
    ordinary = [move for move in moves if not move.critical] if critical else moves
    first, limit = _tier([Job(0.0, hold_s(m, lag), m.stop_s) for m in ordinary], ordinary, terms)
    then = 0.0
    if critical:
        then, second_limit = _tier([Job(0.0, hold_s(m, lag), m.stop_s) for m in critical], critical, terms)
        limit = limit if first >= then else second_limit
    jobs = tuple(
        Job(first, hold_s(m, lag), m.stop_s + settle)
        if m.critical
        else Job(0.0, hold_s(m, lag), m.stop_s + then + settle)
        for m in moves
    )
    seconds = first + then + settle
    if critical and ordinary:
        both, shared = _tier(jobs, moves, terms)
        if both > seconds:
            seconds, limit = both, shared
    return Drained(name, tuple(moves), jobs, seconds, limit)


def _tier(jobs: Sequence[Job], moves: Sequence[Move], terms: Terms) -> tuple[float, str]:
    """Seconds until all of `jobs` are over, and the limit they take turns on, "" if none decides."""
    if not jobs:
        return 0.0, ""
    best, decides = max(job.head + job.tail for job in jobs), ""
    if terms.between_s and len(jobs) > 1:
        best = max(best, chain_s([job._replace(hold=terms.between_s) for job in jobs], 1))
    used = Counter(limit for move in moves for limit in move.limits)
    crowded = {limit for limit, number in used.items() if number > terms.slots[limit]}
    if not crowded:
        return best, decides
    users: dict[str, list[Job]] = defaultdict(list)
    for job, move in zip(jobs, moves, strict=True):
        for limit in crowded.intersection(move.limits):
            users[limit].append(job)
    for limit in sorted(users):
        seconds = chain_s(users[limit], terms.slots[limit], terms.between_s)
        if seconds > best:
            best, decides = seconds, limit
    return best, decides
