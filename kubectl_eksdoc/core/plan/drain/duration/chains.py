"""How early things that take turns can be over: lower bounds for jobs on slots, whatever their order.

The problem is P | heads, tails | Cmax of scheduling theory: every job takes one of some equal slots for a while
(its hold), not before a moment of its own (its head), and the whole is not over until some time after the job
began (its tail, which may be shorter or longer than the hold). All bounds here speak of every schedule, also of
those that wait on purpose. Areas: J. Carlier, "The one-machine sequencing problem", EJOR 11 (1982), and the same
for parallel machines; turns: the pigeonhole argument of S. Martello and P. Toth for bin packing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple


class Job(NamedTuple):
    """Seconds: not before `head`, a slot for `hold` (infinite: for good), nothing over before start + `tail`."""

    head: float
    hold: float
    tail: float


def chain_s(jobs: Sequence[Job], slots: int, apart_s: float = 0.0) -> float:
    """No schedule of `jobs` on `slots` is over earlier than this (seconds; infinite: there is none).

    `apart_s` is the least time between two starts.
    """
    if not jobs:
        return 0.0
    if slots < 1:
        return inf
    if jobs.count(jobs[0]) == len(jobs):
        return _equal(jobs[0], len(jobs), slots, apart_s)
    longest = max(head + tail for head, _, tail in jobs)
    if len(jobs) <= slots or longest == inf:
        return longest
    for_good = sum(job.hold == inf for job in jobs)
    if for_good > slots:
        return inf
    if for_good:
        jobs = _finite(jobs)
    best = max(longest, _by_tails(jobs, slots, apart_s))
    if slots > 1:  # on one slot the areas say as much
        best = max(best, _turns(jobs, slots))
    later = [job for job in jobs if job.head > 0]
    if later:
        best = max(best, _by_heads(jobs, slots))
        if 1 < slots < len(later) < len(jobs):
            best = max(best, _turns(later, slots))
    return best


def paced_s(jobs: Sequence[Job], apart_s: float, burst: float = 1.0) -> float:
    """The same if only starts keep their distance, and slots are plenty. In any time `burst` more may start than the
    distance allows."""
    if not jobs:
        return 0.0
    soonest, shortest = min(job.head for job in jobs), min(job.tail for job in jobs)
    tails = sorted([job.tail for job in jobs], reverse=True)
    best = soonest + max(max(0.0, i + 1 - burst) * apart_s + tail for i, tail in enumerate(tails))
    later = sorted([job.head for job in jobs if job.head > soonest], reverse=True)
    return max([best, *(head + max(0.0, i + 1 - burst) * apart_s + shortest for i, head in enumerate(later))])


def _equal(job: Job, count: int, slots: int, apart_s: float) -> float:
    """The same for `count` equal jobs, in one step."""
    head, hold, tail = job
    if count <= slots:
        return head + tail + apart_s * (count - 1)
    waits = max(hold * ((count - 1) // slots), hold * (count - slots) / slots + apart_s * (slots - 1))
    return head + waits + tail


def _finite(jobs: Sequence[Job]) -> list[Job]:
    """What is never given back goes last on its slot; a hold that is longer than all others says the same."""
    long = max((job.hold for job in jobs if job.hold < inf), default=0.0) + max(job.tail for job in jobs)
    return [job if job.hold < inf else job._replace(hold=long) for job in jobs]


def _by_tails(jobs: Iterable[Job], slots: int, apart_s: float) -> float:
    """The largest average end of the slots, over the sets of jobs whose tail outlasts their hold the most.

    A set of at least `slots` jobs can be seen as using every slot. On each of them the last job starts when all
    others have held it, and the end is a tail later: `slots` ends are no less than the first starts + all holds
    - (hold - tail) of the last jobs. First starts, and last ones, keep their distance.
    """
    order = sorted(jobs, key=lambda job: job.hold - job.tail)
    spread = apart_s * (slots - 1) / 2
    best = work = over = longest = 0.0
    soonest = shortest = inf
    for i, (head, hold, tail) in enumerate(order):
        work += hold
        over += hold - tail
        soonest = min(soonest, head)
        shortest = min(shortest, tail)
        longest = max(longest, hold)
        if i < slots:
            continue
        gone = order[i - slots]
        over -= gone.hold - gone.tail
        best = max(best, soonest + spread + max((work - over) / slots, work / slots - longest + shortest + spread))
    return best


def _by_heads(jobs: Iterable[Job], slots: int) -> float:
    """The same over the sets of jobs that can start latest."""
    order = sorted(jobs, key=lambda job: -job.head)
    best = work = heads = 0.0
    over = -inf
    for i, (head, hold, tail) in enumerate(order):
        work += hold
        heads += head
        over = max(over, hold - tail)
        if i >= slots:
            heads -= order[i - slots].head
            best = max(best, (work + heads) / slots - over)
    return best


def _turns(jobs: Sequence[Job], slots: int) -> float:
    """Of `slots` * k + 1 jobs one slot takes k + 1: the last of those waits for k others, the shortest at best."""
    order = sorted(jobs, key=lambda job: -job.hold)
    sums = [0.0]
    for job in order:
        sums.append(sums[-1] + job.hold)
    soonest = min(job.head for job in order)
    best = 0.0
    shortest = outlasts = inf
    for i, (_, hold, tail) in enumerate(order):
        shortest = min(shortest, tail)
        outlasts = min(outlasts, tail - hold)
        waits, over = divmod(i, slots)
        if not over and waits:
            others = sums[i + 1] - sums[i + 1 - waits]
            best = max(best, others + max(shortest, order[i - waits].hold + outlasts))
    return soonest + best
