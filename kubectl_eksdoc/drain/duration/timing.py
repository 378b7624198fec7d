"""Start times of replacements, learned from running pods, and stop times, learned from earlier runs; scheduling bounds.

Unknown times are assumed, and the assumptions are reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from math import inf, sqrt
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.nodes import Pod

MIN_SAMPLES = 3
"""Fewer starts of a workload than this say little about the next one: the cluster's own are used with them."""

LONGEST_START_S = 3600.0
"""A pod that became Ready later than this had another problem: its start did not take so long."""

RESOLUTION_S = 1.0
"""Times in the API have whole seconds: a start may have taken this much longer or less."""

FLAPPING = 5.0
"""A start this many times the median of its siblings is taken for a pod that lost and regained readiness."""

ASSUMED_START_S = (30.0, 120.0)
"""p50 and p95 of a start where too few pods of the cluster tell."""

SHORTEST_STOP_S = 1.0
"""Minimum of a stop time that was not measured; the maximum is the grace period. No facts of the API tell it."""

SLOWER = 1.5
"""With fewer stops than `MIN_SAMPLES`, the next may exceed the slowest by this factor."""


@frozen
class StartTime:
    """Seconds from scheduling to Ready. `samples`: observed starts; `is_assumed`: too few, so others' are used.
    `fastest_s`: the fastest observed start, minus the resolution; 0 where too few were observed."""

    p50_s: float
    p95_s: float
    samples: int
    assumed: bool = False
    least_s: float = 0.0


@frozen
class StartTimes:
    """Create it with `learn_start_times`. `pooled`: the start time of all pods of the cluster together."""

    by_workload: Mapping[str, StartTime]
    pooled: StartTime

    def of(self, workload: str) -> StartTime:
        return self.by_workload.get(workload, self.pooled)


def learn(pods: Iterable[Pod], workload_of: Callable[[Pod], str]) -> StartTimes:
    """Start times by workload. `workload_of_pod`: a name that replicas share, "" for none.

    Pods that restarted are left out, and pods that became Ready far later than their siblings.
    """
    seen: dict[str, list[float]] = defaultdict(list)
    of_owner: dict[str, list[float]] = {}  # the same lists by owner uid, for speed
    for pod in pods:
        took = start_of(pod)
        if took is not None:
            uid = pod.owner.uid if pod.owner is not None else ""
            found = of_owner.get(uid)
            if found is None:
                found = of_owner[uid] = seen[workload_of(pod)]
            found.append(took)
    kept = {workload: _steady(found) for workload, found in seen.items()}
    everyone = sorted(took for found in kept.values() for took in found)
    pooled = _assumed(everyone)
    return StartTimes(
        {
            workload: StartTime(
                _at(found, 0.5), _at(found, 0.95), len(found), least_s=max(0.0, found[0] - RESOLUTION_S)
            )
            if len(found) >= MIN_SAMPLES
            else StartTime(max(_at(found, 0.5), 0.0), max(found[-1], pooled.p95_s), len(found), assumed=True)
            for workload, found in kept.items()
            if workload
        },
        pooled,
    )


def start_of(pod: Pod) -> float | None:
    """Seconds this pod took from scheduling to Ready, None where that is not known."""
    if not pod.ready or pod.restarted or pod.scheduled_at is None or pod.ready_at is None:
        return None
    took = (pod.ready_at - pod.scheduled_at).total_seconds()
    return took if 0 <= took <= LONGEST_START_S else None


def stop_of(pod: Pod, grace_s: float, seen: Sequence[float] = ()) -> tuple[float, float]:
    """p50 and p95 seconds from eviction to gone; the grace period is the maximum. `observed`: sorted stops of its kind.
    Without any, the pod stops at `MIN_STOP_S` after its preStop hook's sleep at the earliest; half of all stops are
    faster than the hook plus the geometric mean of `MIN_STOP_S` and the rest of the grace period."""
    if pod.finished:
        return 0.0, 0.0
    if not seen:
        left_s = max(grace_s - pod.pre_stop_s, 0.0)
        return grace_s - left_s + sqrt(min(SHORTEST_STOP_S, left_s) * left_s), float(grace_s)
    slow_s = _at(seen, 0.95) * (SLOWER if len(seen) < MIN_SAMPLES else 1.0)
    return min(_at(seen, 0.5), float(grace_s)), min(slow_s, float(grace_s))


def least_stop_s(p50_s: float, p95_s: float) -> float:
    """The minimum stop time, where `stop_quantiles` returned these two for a pod without observed stops."""
    # The remaining grace period solves p95 - p50 = remaining - sqrt(shortest * remaining); the rest of p95 is the hook.
    root = sqrt(SHORTEST_STOP_S)
    left_s = ((root + sqrt(SHORTEST_STOP_S + 4 * max(p95_s - p50_s, 0.0))) / 2) ** 2
    return min(max(p95_s - left_s, 0.0) + SHORTEST_STOP_S, p50_s)


def template_of(pod: Pod) -> str:
    """``shop/ReplicaSet/web-5f7c9d``: a name for all pods of one template; "" for a pod without an owner."""
    return f"{pod.namespace}/{pod.owner.kind}/{pod.owner.name}" if pod.owner is not None else ""


def _owner_of(template: str) -> str:
    """The owner of templates: ReplicaSets and the Jobs of a CronJob have its name with a suffix."""
    return template.rpartition("-")[0] if "/ReplicaSet/" in template or "/Job/" in template else template


@frozen
class StopTimes:
    """Observed stop times in seconds, sorted; create it with `learn_stop_times`."""

    by_template: Mapping[str, Sequence[float]] = field(default_factory=dict)
    by_owner: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def of(self, pod: Pod) -> Sequence[float]:
        """Those of its template, else of its owner; empty where none were observed."""
        if not self.by_owner:
            return ()
        template = template_of(pod)
        return self.by_template.get(template) or self.by_owner.get(_owner_of(template), ())


def learn_stops(seen: Iterable[tuple[str, float]]) -> StopTimes:
    """`observed`: (template, seconds)."""
    by_template: dict[str, list[float]] = defaultdict(list)
    by_owner: dict[str, list[float]] = defaultdict(list)
    for template, seconds in sorted(seen):
        by_template[template].append(seconds)
        by_owner[_owner_of(template)].append(seconds)
    return StopTimes(by_template, {owner: sorted(stops) for owner, stops in by_owner.items()})


def _steady(found: Sequence[float]) -> list[float]:
    """Sorted, without values that look like flapping."""
    ordered = sorted(found)
    limit = FLAPPING * max(_at(ordered, 0.5), 1.0)
    return [took for took in ordered if took <= limit]


def _assumed(everyone: Sequence[float]) -> StartTime:
    if len(everyone) < MIN_SAMPLES:
        return StartTime(*ASSUMED_START_S, samples=len(everyone), assumed=True)
    return StartTime(_at(everyone, 0.5), _at(everyone, 0.95), len(everyone), assumed=True)


def _at(ordered: Sequence[float], share: float) -> float:
    """The nearest-rank quantile of a sorted, non-empty list."""
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 100) * len(ordered) // 100) - 1))]


# Lower bounds for jobs that share slots, whatever their order.
#
# The problem is P | heads, tails | Cmax of scheduling theory: every job takes one of some equal slots for a time (its
# hold), not before a time of its own (its head), and the whole ends no earlier than a time after the job started (its
# tail, which may be shorter or longer than the hold). All bounds hold for every schedule, also for those that wait on
# purpose. Areas: J. Carlier, "The one-machine sequencing problem", EJOR 11 (1982), and the same for parallel machines;
# turns: the pigeonhole argument of S. Martello and P. Toth for bin packing.


class TimedEviction(NamedTuple):
    """Seconds: start not before `head`, a slot for `hold` (infinite: permanently), end not before start + `tail`."""

    head: float
    hold: float
    tail: float


def chain_s(jobs: Sequence[TimedEviction], slots: int, apart_s: float = 0.0) -> float:
    """No schedule of `jobs` on `slots` ends earlier than this (seconds; infinite: there is none).

    `min_interval_s`: minimum time between two starts.
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
    if slots > 1:  # on one slot the area bounds are as good
        best = max(best, _turns(jobs, slots))
    later = [job for job in jobs if job.head > 0]
    if later:
        best = max(best, _by_heads(jobs, slots))
        if 1 < slots < len(later) < len(jobs):
            best = max(best, _turns(later, slots))
    return best


def paced_s(jobs: Sequence[TimedEviction], apart_s: float, burst: float = 1.0) -> float:
    """The same if only starts keep an interval, and slots are plenty. In any time `burst` more may start than the
    interval allows."""
    if not jobs:
        return 0.0
    soonest, shortest = min(job.head for job in jobs), min(job.tail for job in jobs)
    tails = sorted([job.tail for job in jobs], reverse=True)
    best = soonest + max(max(0.0, i + 1 - burst) * apart_s + tail for i, tail in enumerate(tails))
    later = sorted([job.head for job in jobs if job.head > soonest], reverse=True)
    return max([best, *(head + max(0.0, i + 1 - burst) * apart_s + shortest for i, head in enumerate(later))])


def _equal(job: TimedEviction, count: int, slots: int, apart_s: float) -> float:
    """The same for `count` equal jobs, in one step."""
    head, hold, tail = job
    if count <= slots:
        return head + tail + apart_s * (count - 1)
    waits = max(hold * ((count - 1) // slots), hold * (count - slots) / slots + apart_s * (slots - 1))
    return head + waits + tail


def _finite(jobs: Sequence[TimedEviction]) -> list[TimedEviction]:
    """A slot that is never released has its job last; a hold longer than all others gives the same bound."""
    long = max((job.hold for job in jobs if job.hold < inf), default=0.0) + max(job.tail for job in jobs)
    return [job if job.hold < inf else job._replace(hold=long) for job in jobs]


def _by_tails(jobs: Iterable[TimedEviction], slots: int, apart_s: float) -> float:
    """The largest average end of the slots, over the sets of jobs whose tail exceeds their hold the most.

    A set of at least `slots` jobs can be seen as using every slot. On each slot the last job starts after all others
    have held it, and the end is a tail later: the sum of the `slots` ends is at least the first starts + all holds -
    (hold - tail) of the last jobs. First starts, and last ones, keep their interval.
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


def _by_heads(jobs: Iterable[TimedEviction], slots: int) -> float:
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


def _turns(jobs: Sequence[TimedEviction], slots: int) -> float:
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
