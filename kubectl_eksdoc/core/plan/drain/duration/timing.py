"""How long replacements take to start, learned from the pods that run now, and pods to stop, learned from earlier runs.

What is not known is assumed and said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

from kubectl_eksdoc.core.model.pods import Pod

MIN_SAMPLES = 3
"""Fewer starts of a workload than this say little about the next one: the cluster's own are used with them."""

LONGEST_START_S = 3600.0
"""A pod that became Ready later than this did not take so long to start: it was ill in between."""

RESOLUTION_S = 1.0
"""Times in the API are cut to whole seconds: a start may have taken so much longer or less than they say."""

FLAPPING = 5.0
"""A start this many times the median of its siblings is taken for a pod that lost and regained readiness."""

ASSUMED_START_S = (30.0, 120.0)
"""p50 and p95 of a start where no pod of the whole cluster tells."""

SHORTEST_STOP_S = 1.0
"""The least that a stop is taken for which nobody measured; the most is the grace period. Nothing in the API tells."""

SLOWER = 1.5
"""Of fewer stops than `MIN_SAMPLES` the slowest may still be exceeded by so much."""


@dataclass(frozen=True, slots=True)
class StartTime:
    """Seconds from scheduling to Ready. `samples` starts were seen; `assumed`: too few, so others' are used. `least_s`:
    none of them was faster; 0 where too few were seen."""

    p50_s: float
    p95_s: float
    samples: int
    assumed: bool = False
    least_s: float = 0.0


@dataclass(frozen=True, slots=True)
class StartTimes:
    """Build it with `learn`. `pooled` is what all pods of the cluster together tell."""

    by_workload: Mapping[str, StartTime]
    pooled: StartTime

    def of(self, workload: str) -> StartTime:
        return self.by_workload.get(workload, self.pooled)


def learn(pods: Iterable[Pod], workload_of: Callable[[Pod], str]) -> StartTimes:
    """Start times by workload. `workload_of` names what replicas of one kind share, "" for none.

    Pods that restarted are left out, and of the others those that became Ready far later than their siblings.
    """
    seen: dict[str, list[float]] = defaultdict(list)
    of_owner: dict[str, list[float]] = {}  # the same lists, by uid: asking for the workload of each pod takes longer
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
    """Seconds this pod took from scheduling to Ready, None where that cannot be told."""
    if not pod.ready or pod.restarted or pod.scheduled_at is None or pod.ready_at is None:
        return None
    took = (pod.ready_at - pod.scheduled_at).total_seconds()
    return took if 0 <= took <= LONGEST_START_S else None


def stop_of(pod: Pod, grace_s: float, seen: Sequence[float] = ()) -> tuple[float, float]:
    """p50 and p95 seconds from eviction to gone: the grace period is the longest it can be. `seen`: sorted stops of its
    kind; without any it may be anything from `SHORTEST_STOP_S` on, half of all below the geometric mean of both."""
    if pod.finished:
        return 0.0, 0.0
    if not seen:
        return sqrt(min(SHORTEST_STOP_S, grace_s) * grace_s), float(grace_s)
    slow_s = _at(seen, 0.95) * (SLOWER if len(seen) < MIN_SAMPLES else 1.0)
    return min(_at(seen, 0.5), float(grace_s)), min(slow_s, float(grace_s))


def template_of(pod: Pod) -> str:
    """``shop/ReplicaSet/web-5f7c9d``: what was made from one template; "" for a pod without an owner."""
    return f"{pod.namespace}/{pod.owner.kind}/{pod.owner.name}" if pod.owner is not None else ""


def _owner_of(template: str) -> str:
    """What makes the templates: the names of ReplicaSets and of a CronJob's Jobs are its own with a suffix."""
    return template.rpartition("-")[0] if "/ReplicaSet/" in template or "/Job/" in template else template


@dataclass(frozen=True, slots=True)
class StopTimes:
    """Seconds, sorted, that pods were seen to stop; build it with `learn_stops`."""

    by_template: Mapping[str, Sequence[float]] = field(default_factory=dict)
    by_owner: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def of(self, pod: Pod) -> Sequence[float]:
        """Those of its template, else of its owner; none where nobody saw any."""
        if not self.by_owner:
            return ()
        template = template_of(pod)
        return self.by_template.get(template) or self.by_owner.get(_owner_of(template), ())


def learn_stops(seen: Iterable[tuple[str, float]]) -> StopTimes:
    """Of stops by template."""
    by_template: dict[str, list[float]] = defaultdict(list)
    by_owner: dict[str, list[float]] = defaultdict(list)
    for template, seconds in sorted(seen):
        by_template[template].append(seconds)
        by_owner[_owner_of(template)].append(seconds)
    return StopTimes(by_template, {owner: sorted(stops) for owner, stops in by_owner.items()})


def _steady(found: Sequence[float]) -> list[float]:
    """Sorted, without those that look like flapping."""
    ordered = sorted(found)
    limit = FLAPPING * max(_at(ordered, 0.5), 1.0)
    return [took for took in ordered if took <= limit]


def _assumed(everyone: Sequence[float]) -> StartTime:
    if len(everyone) < MIN_SAMPLES:
        return StartTime(*ASSUMED_START_S, samples=len(everyone), assumed=True)
    return StartTime(_at(everyone, 0.5), _at(everyone, 0.95), len(everyone), assumed=True)


def _at(ordered: Sequence[float], share: float) -> float:
    """The nearest-rank quantile of what is sorted and not empty."""
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 100) * len(ordered) // 100) - 1))]
