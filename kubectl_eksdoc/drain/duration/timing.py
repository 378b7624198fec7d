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

MAX_START_S = 3600.0
"""A pod that became Ready later than this had another problem: its start did not take so long."""

RESOLUTION_S = 1.0
"""Times in the API have whole seconds: a start may have taken this much longer or less."""

FLAPPING_FACTOR = 5.0
"""A start this many times the median of its siblings is taken for a pod that lost and regained readiness."""

ASSUMED_START_S = (30.0, 120.0)
"""p50 and p95 of a start where too few pods of the cluster tell."""

MIN_STOP_S = 1.0
"""Minimum of a stop time that was not measured; the maximum is the grace period. No facts of the API tell it."""

FEW_SAMPLES_FACTOR = 1.5
"""With fewer stops than `MIN_SAMPLES`, the next may exceed the slowest by this factor."""


@frozen
class StartTime:
    """Seconds from scheduling to Ready. `samples`: observed starts; `is_assumed`: too few, so others' are used.
    `fastest_s`: the fastest observed start, minus the resolution; 0 where too few were observed."""

    p50_s: float
    p95_s: float
    samples: int
    is_assumed: bool = False
    fastest_s: float = 0.0


@frozen
class StartTimes:
    """Create it with `learn_start_times`. `pooled`: the start time of all pods of the cluster together."""

    by_workload: Mapping[str, StartTime]
    pooled: StartTime

    def for_workload(self, workload: str) -> StartTime:
        return self.by_workload.get(workload, self.pooled)


def learn_start_times(pods: Iterable[Pod], workload_of_pod: Callable[[Pod], str]) -> StartTimes:
    """Start times by workload. `workload_of_pod`: a name that replicas share, "" for none.

    Pods that restarted are left out, and pods that became Ready far later than their siblings.
    """
    seconds_by_workload: dict[str, list[float]] = defaultdict(list)
    seconds_by_owner: dict[str, list[float]] = {}  # the same lists by owner uid, for speed
    for pod in pods:
        seconds = start_seconds(pod)
        if seconds is not None:
            uid = pod.owner.uid if pod.owner is not None else ""
            samples = seconds_by_owner.get(uid)
            if samples is None:
                samples = seconds_by_owner[uid] = seconds_by_workload[workload_of_pod(pod)]
            samples.append(seconds)
    steady_samples = {workload: _without_flapping(samples) for workload, samples in seconds_by_workload.items()}
    all_samples = sorted(seconds for samples in steady_samples.values() for seconds in samples)
    pooled = _pooled_start(all_samples)
    return StartTimes(
        {
            workload: StartTime(
                _quantile(samples, 0.5),
                _quantile(samples, 0.95),
                len(samples),
                fastest_s=max(0.0, samples[0] - RESOLUTION_S),
            )
            if len(samples) >= MIN_SAMPLES
            else StartTime(
                max(_quantile(samples, 0.5), 0.0), max(samples[-1], pooled.p95_s), len(samples), is_assumed=True
            )
            for workload, samples in steady_samples.items()
            if workload
        },
        pooled,
    )


def start_seconds(pod: Pod) -> float | None:
    """Seconds this pod took from scheduling to Ready, None where that is not known."""
    if not pod.ready or pod.restarted or pod.scheduled_at is None or pod.ready_at is None:
        return None
    seconds = (pod.ready_at - pod.scheduled_at).total_seconds()
    return seconds if 0 <= seconds <= MAX_START_S else None


def stop_quantiles(pod: Pod, grace_s: float, observed: Sequence[float] = ()) -> tuple[float, float]:
    """p50 and p95 seconds from eviction to gone; the grace period is the maximum. `observed`: sorted stops of its kind.
    Without any, the pod stops at `MIN_STOP_S` after its preStop hook's sleep at the earliest; half of all stops are
    faster than the hook plus the geometric mean of `MIN_STOP_S` and the rest of the grace period."""
    if pod.finished:
        return 0.0, 0.0
    if not observed:
        remaining_s = max(grace_s - pod.pre_stop_s, 0.0)
        return grace_s - remaining_s + sqrt(min(MIN_STOP_S, remaining_s) * remaining_s), float(grace_s)
    slow_s = _quantile(observed, 0.95) * (FEW_SAMPLES_FACTOR if len(observed) < MIN_SAMPLES else 1.0)
    return min(_quantile(observed, 0.5), float(grace_s)), min(slow_s, float(grace_s))


def min_stop_s(p50_s: float, p95_s: float) -> float:
    """The minimum stop time, where `stop_quantiles` returned these two for a pod without observed stops."""
    # The remaining grace period solves p95 - p50 = remaining - sqrt(shortest * remaining); the rest of p95 is the hook.
    root = sqrt(MIN_STOP_S)
    remaining_s = ((root + sqrt(MIN_STOP_S + 4 * max(p95_s - p50_s, 0.0))) / 2) ** 2
    return min(max(p95_s - remaining_s, 0.0) + MIN_STOP_S, p50_s)


def pod_template(pod: Pod) -> str:
    """``shop/ReplicaSet/web-5f7c9d``: a name for all pods of one template; "" for a pod without an owner."""
    return f"{pod.namespace}/{pod.owner.kind}/{pod.owner.name}" if pod.owner is not None else ""


def _template_owner(template: str) -> str:
    """The owner of templates: ReplicaSets and the Jobs of a CronJob have its name with a suffix."""
    return template.rpartition("-")[0] if "/ReplicaSet/" in template or "/Job/" in template else template


@frozen
class StopTimes:
    """Observed stop times in seconds, sorted; create it with `learn_stop_times`."""

    by_template: Mapping[str, Sequence[float]] = field(default_factory=dict)
    by_owner: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def for_pod(self, pod: Pod) -> Sequence[float]:
        """Those of its template, else of its owner; empty where none were observed."""
        if not self.by_owner:
            return ()
        template = pod_template(pod)
        return self.by_template.get(template) or self.by_owner.get(_template_owner(template), ())


def learn_stop_times(observed: Iterable[tuple[str, float]]) -> StopTimes:
    """`observed`: (template, seconds)."""
    by_template: dict[str, list[float]] = defaultdict(list)
    by_owner: dict[str, list[float]] = defaultdict(list)
    for template, seconds in sorted(observed):
        by_template[template].append(seconds)
        by_owner[_template_owner(template)].append(seconds)
    return StopTimes(by_template, {owner: sorted(stops) for owner, stops in by_owner.items()})


def _without_flapping(samples: Sequence[float]) -> list[float]:
    """Sorted, without values that look like flapping."""
    ordered = sorted(samples)
    limit = FLAPPING_FACTOR * max(_quantile(ordered, 0.5), 1.0)
    return [seconds for seconds in ordered if seconds <= limit]


def _pooled_start(samples: Sequence[float]) -> StartTime:
    if len(samples) < MIN_SAMPLES:
        return StartTime(*ASSUMED_START_S, samples=len(samples), is_assumed=True)
    return StartTime(_quantile(samples, 0.5), _quantile(samples, 0.95), len(samples), is_assumed=True)


def _quantile(ordered: Sequence[float], share: float) -> float:
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


def slot_bound_s(jobs: Sequence[TimedEviction], slots: int, min_interval_s: float = 0.0) -> float:
    """No schedule of `jobs` on `slots` ends earlier than this (seconds; infinite: there is none).

    `min_interval_s`: minimum time between two starts.
    """
    if not jobs:
        return 0.0
    if slots < 1:
        return inf
    if jobs.count(jobs[0]) == len(jobs):
        return _equal_jobs_s(jobs[0], len(jobs), slots, min_interval_s)
    longest = max(head + tail for head, _, tail in jobs)
    if len(jobs) <= slots or longest == inf:
        return longest
    permanent_count = sum(job.hold == inf for job in jobs)
    if permanent_count > slots:
        return inf
    if permanent_count:
        jobs = _with_finite_holds(jobs)
    bound = max(longest, _tail_bound(jobs, slots, min_interval_s))
    if slots > 1:  # on one slot the area bounds are as good
        bound = max(bound, _turn_bound(jobs, slots))
    delayed = [job for job in jobs if job.head > 0]
    if delayed:
        bound = max(bound, _head_bound(jobs, slots))
        if 1 < slots < len(delayed) < len(jobs):
            bound = max(bound, _turn_bound(delayed, slots))
    return bound


def rate_bound_s(jobs: Sequence[TimedEviction], min_interval_s: float, burst: float = 1.0) -> float:
    """The same if only starts keep an interval, and slots are plenty. In any time `burst` more may start than the
    interval allows."""
    if not jobs:
        return 0.0
    min_head, min_tail = min(job.head for job in jobs), min(job.tail for job in jobs)
    tails = sorted([job.tail for job in jobs], reverse=True)
    bound = min_head + max(max(0.0, i + 1 - burst) * min_interval_s + tail for i, tail in enumerate(tails))
    delayed_heads = sorted([job.head for job in jobs if job.head > min_head], reverse=True)
    return max(
        [bound, *(head + max(0.0, i + 1 - burst) * min_interval_s + min_tail for i, head in enumerate(delayed_heads))]
    )


def _equal_jobs_s(job: TimedEviction, count: int, slots: int, min_interval_s: float) -> float:
    """The same for `count` equal jobs, in one step."""
    head, hold, tail = job
    if count <= slots:
        return head + tail + min_interval_s * (count - 1)
    wait_s = max(hold * ((count - 1) // slots), hold * (count - slots) / slots + min_interval_s * (slots - 1))
    return head + wait_s + tail


def _with_finite_holds(jobs: Sequence[TimedEviction]) -> list[TimedEviction]:
    """A slot that is never released has its job last; a hold longer than all others gives the same bound."""
    long_hold = max((job.hold for job in jobs if job.hold < inf), default=0.0) + max(job.tail for job in jobs)
    return [job if job.hold < inf else job._replace(hold=long_hold) for job in jobs]


def _tail_bound(jobs: Iterable[TimedEviction], slots: int, min_interval_s: float) -> float:
    """The largest average end of the slots, over the sets of jobs whose tail exceeds their hold the most.

    A set of at least `slots` jobs can be seen as using every slot. On each slot the last job starts after all others
    have held it, and the end is a tail later: the sum of the `slots` ends is at least the first starts + all holds -
    (hold - tail) of the last jobs. First starts, and last ones, keep their interval.
    """
    ordered = sorted(jobs, key=lambda job: job.hold - job.tail)
    spread = min_interval_s * (slots - 1) / 2
    bound = work = excess = max_hold = 0.0
    min_head = min_tail = inf
    for i, (head, hold, tail) in enumerate(ordered):
        work += hold
        excess += hold - tail
        min_head = min(min_head, head)
        min_tail = min(min_tail, tail)
        max_hold = max(max_hold, hold)
        if i < slots:
            continue
        dropped = ordered[i - slots]
        excess -= dropped.hold - dropped.tail
        bound = max(
            bound, min_head + spread + max((work - excess) / slots, work / slots - max_hold + min_tail + spread)
        )
    return bound


def _head_bound(jobs: Iterable[TimedEviction], slots: int) -> float:
    """The same over the sets of jobs that can start latest."""
    ordered = sorted(jobs, key=lambda job: -job.head)
    bound = work = heads = 0.0
    max_excess = -inf
    for i, (head, hold, tail) in enumerate(ordered):
        work += hold
        heads += head
        max_excess = max(max_excess, hold - tail)
        if i >= slots:
            heads -= ordered[i - slots].head
            bound = max(bound, (work + heads) / slots - max_excess)
    return bound


def _turn_bound(jobs: Sequence[TimedEviction], slots: int) -> float:
    """Of `slots` * k + 1 jobs one slot takes k + 1: the last of those waits for k others, the shortest at best."""
    ordered = sorted(jobs, key=lambda job: -job.hold)
    sums = [0.0]
    for job in ordered:
        sums.append(sums[-1] + job.hold)
    min_head = min(job.head for job in ordered)
    bound = 0.0
    min_tail = min_excess = inf
    for i, (_, hold, tail) in enumerate(ordered):
        min_tail = min(min_tail, tail)
        min_excess = min(min_excess, tail - hold)
        turns_before, remainder = divmod(i, slots)
        if not remainder and turns_before:
            waited_s = sums[i + 1] - sums[i + 1 - turns_before]
            bound = max(bound, waited_s + max(min_tail, ordered[i - turns_before].hold + min_excess))
    return min_head + bound
