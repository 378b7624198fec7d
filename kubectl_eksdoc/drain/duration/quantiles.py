"""p50 and p95 of a drain's duration: many simulated runs, with new random times for each pod.

The median of a sum of times with a long tail is more than the sum of their medians, so a run in which every pod takes
its median is too fast for a p50; and a run in which every pod is slow at once hardly ever happens. A pod's time is
drawn from the lognormal distribution whose median is the typical time and whose 95th percentile is the slow one: start
and stop times are skewed like that, and only these two figures are known. Where the stop time of a template is not
known, its pods stop alike: their time is drawn once in a run. In a run with the same number a pod has the same random
values whatever the order is, so plans of the same pods can be compared.

Of a drain that is too large for that, a part is sampled where one represents the whole (see `find_longest_part`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple
from zlib import crc32

from kubectl_eksdoc.kubernetes.replacement import Replacement

from ..policy import random_normals
from ..simulation import simulate
from ..timeline import DrainTerms, NodeSpan, PodMove, ReplacedPod, ReservedPlacement, Timeline, build_tuple
from .bounds import find_longest_part
from .generations import RandomTime
from .node_times import MovesByNode
from .timing import min_stop_s

MAX_RUNS = 41
"""With this many runs, 9 times in 10 the sampled p50 is between the 38th and the 62nd percentile, p95 between the 85th
and the 98th (a Beta distribution, as of every order statistic)."""

MIN_RUNS = 11
"""With fewer runs a p95 means little."""

MAX_EVICTIONS = 40_000
"""Simulated evictions in all runs together: about a quarter of a second."""

PART_COST_FACTOR = 3
"""Most evictions of a part are alone on their node, and take this many times as long to simulate."""

PART_TOLERANCE = 0.98
"""A part represents the whole if its typical duration is at least this share of the whole's, and exceeds it by no more
than the inverse."""

_NEW_NODE_COUNTER = crc32(b"new nodes")
"""The counter for the random time of new nodes; a pod's counter follows from its uid."""


class RunPace(NamedTuple):
    """The input of runs: the evictions with their typical and slow times, and the terms with both."""

    nodes: MovesByNode
    terms: DrainTerms
    slow_terms: DrainTerms


class Quantiles(NamedTuple):
    """Seconds from the first cordon to the last node done. `runs`: how many were sampled; 0 if that would take too
    long: then p50 is the typical run, and p95 the one in which every pod is slow. `sampled_part`: number of sampled
    evictions, 0: all."""

    p50_s: float
    p95_s: float
    runs: int
    sampled_part: int = 0

    @property
    def description(self) -> str:
        """How they were computed, as a clause."""
        if not self.runs:
            return "p50: every pod as usual; p95: every pod slow at once (too many evictions to sample)"
        part_text = f" of the {self.sampled_part} evictions that take longest" if self.sampled_part else ""
        return f"p50 and p95 are of {self.runs} simulated runs{part_text}, with new random times for each pod"


class PaceLevels(NamedTuple):
    """Runs in which all pods are equally slow: one takes the p50, one the p95. `level`: how slow every pod is in the
    p50 run, as a draw of the normal distribution; `slow_s`: node → when it is done in the p95 run. `pace` and
    `timeline` are those of the p50 run."""

    level: float
    pace: RunPace
    timeline: Timeline
    slow_s: Mapping[str, float]


def find_levels(
    pace: RunPace, typical_timeline: Timeline, quantile_result: Quantiles, needs: Mapping[str, Sequence[str]]
) -> PaceLevels:
    """The levels of the drain whose typical run is `typical_timeline`. Only one timeline is shown, and it ends at the
    p50; where not every run is sampled it is the typical one, stretched."""
    if not quantile_result.runs or quantile_result.sampled_part:
        p50_timeline = _stretch(typical_timeline, quantile_result.p50_s)
        slow_factor = quantile_result.p95_s / quantile_result.p50_s if quantile_result.p50_s else 1.0
        return PaceLevels(
            0.0, pace, p50_timeline, {span.node: span.done_s * slow_factor for span in p50_timeline.nodes}
        )
    equal_runs = _EqualLevelRuns(pace, needs, typical_timeline.makespan_s)
    level, slow_level = equal_runs.find_level(quantile_result.p50_s), equal_runs.find_level(quantile_result.p95_s)
    p50_pace = equal_runs.pace_at(level)
    slow_pace = equal_runs.pace_at(max(level, slow_level))
    p50_timeline = simulate(p50_pace.nodes, p50_pace.terms, ReservedPlacement(needs)) if level else typical_timeline
    slow_run = simulate(slow_pace.nodes, slow_pace.terms, ReservedPlacement(needs), spans_only=True)
    return PaceLevels(level, p50_pace, p50_timeline, {span.node: span.done_s for span in slow_run.nodes})


def _stretch(timeline: Timeline, seconds: float) -> Timeline:
    factor = seconds / timeline.makespan_s if timeline.makespan_s else 1.0
    if factor == 1.0:
        return timeline
    moves = tuple(
        [
            build_tuple(
                ReplacedPod,
                (uid, node, evicted_s * factor, gone_s * factor, None if ready_s is None else ready_s * factor),
            )
            for uid, node, evicted_s, gone_s, ready_s in timeline.moves
        ]
    )
    nodes = tuple([NodeSpan(node, *(each * factor for each in times)) for node, *times in timeline.nodes])
    return replace(timeline, moves=moves, nodes=nodes)


class _EqualLevelRuns:
    """Mutable: runs in which every pod, and every new node, is equally slow."""

    def __init__(self, pace: RunPace, needs: Mapping[str, Sequence[str]], typical_s: float) -> None:
        self._random_runs = _RandomRuns(pace)
        self._slow_terms = pace.slow_terms
        self._needs = needs
        self._seconds_by_level = {0.0: typical_s}

    def pace_at(self, level: float) -> RunPace:
        return RunPace(self._random_runs.nodes_at(level), self._random_runs.terms_at(level), self._slow_terms)

    def find_level(self, target_s: float) -> float:
        """The level at which the drain takes about `target_s`, by false position; 0 where nothing varies."""
        low = high = 0.0
        if self._seconds_by_level[0.0] > target_s:
            low = -MAX_LEVEL
        elif self._seconds_by_level[0.0] < target_s:
            high = MAX_LEVEL
        for _ in range(MAX_STEPS):
            low_s, high_s = self._seconds_at(low), self._seconds_at(high)
            if low_s >= target_s or high_s <= target_s or high_s - low_s < LEVEL_TOLERANCE * target_s:
                break
            level = low + (high - low) * (target_s - low_s) / (high_s - low_s)
            if self._seconds_at(level) < target_s:
                low = level
            else:
                high = level
        return min(
            self._seconds_by_level, key=lambda level: (abs(self._seconds_by_level[level] - target_s), abs(level))
        )

    def _seconds_at(self, level: float) -> float:
        if level not in self._seconds_by_level:
            pace = self.pace_at(level)
            seconds = _makespan_s(pace.nodes, pace.terms, self._needs)
            self._seconds_by_level[level] = inf if seconds is None else seconds
        return self._seconds_by_level[level]


MAX_LEVEL, MAX_STEPS, LEVEL_TOLERANCE = 2.5, 5, 0.01
"""Levels are searched this far from the median, in so many steps, until durations differ by less than this share."""


def estimate_quantiles(
    pace: RunPace, typical_s: float, needs: Mapping[str, Sequence[str]], max_evictions: int = MAX_EVICTIONS
) -> Quantiles | None:
    """The quantiles of the drain whose typical run takes `typical_s`; None if it does not always end.

    `needs` as for `ReservedPlacement`.
    """
    if _eviction_count(pace.nodes) * MIN_RUNS <= max_evictions:
        return _sample(pace, needs, max_evictions)
    part_result = _sample_part(pace, typical_s, max_evictions)
    if part_result is not None:
        return part_result
    slow_moves = [(node, [move.with_slow_times for move in moves]) for node, moves in pace.nodes]
    slow_s = _makespan_s(slow_moves, pace.slow_terms, needs)
    return None if slow_s is None else Quantiles(typical_s, max(typical_s, slow_s), 0)


def _sample_part(pace: RunPace, typical_s: float, max_evictions: int) -> Quantiles | None:
    """None where no part represents the whole."""
    part = find_longest_part(pace.nodes, pace.terms, max_evictions // MAX_RUNS // PART_COST_FACTOR)
    if part is None or _eviction_count(part.nodes) * MIN_RUNS > max_evictions:
        return None
    alone_s = _makespan_s(part.nodes, pace.terms, {}) or 0.0
    if not PART_TOLERANCE * typical_s <= alone_s <= typical_s / PART_TOLERANCE:
        return None  # something else decides: room, nodes at once, the order
    sampled = _sample(pace._replace(nodes=part.nodes), {}, max_evictions)
    if sampled is None or part.rest_s >= sampled.p50_s:
        return None  # the evictions that are left out may take longer
    return sampled._replace(sampled_part=_eviction_count(part.nodes))


def _sample(pace: RunPace, needs: Mapping[str, Sequence[str]], max_evictions: int) -> Quantiles | None:
    random_runs = _RandomRuns(pace)
    makespans = []
    for run in range(min(MAX_RUNS, max_evictions // max(1, _eviction_count(pace.nodes)))):
        seconds = _makespan_s(random_runs.nodes(run), random_runs.terms(run), needs)
        if seconds is None:
            return None
        makespans.append(seconds)
    makespans.sort()
    return Quantiles(_nearest_rank(makespans, 50), _nearest_rank(makespans, 95), len(makespans))


def _eviction_count(nodes: MovesByNode) -> int:
    return sum(len(moves) for _, moves in nodes)


def _makespan_s(nodes: MovesByNode, terms: DrainTerms, needs: Mapping[str, Sequence[str]]) -> float | None:
    timeline = simulate(nodes, terms, ReservedPlacement(needs), spans_only=True)
    return None if timeline.never_evicted else timeline.makespan_s


def _nearest_rank(ordered: Sequence[float], percent: int) -> float:
    return ordered[-(-percent * len(ordered) // 100) - 1]


class _RandomRuns:
    """Runs in which every pod has its own random times."""

    def __init__(self, pace: RunPace) -> None:
        self._terms = pace.terms
        self._nodes = [(node, [_move_times(move) for move in moves]) for node, moves in pace.nodes]
        self._replacement_time: RandomTime | None = None
        if pace.terms.replaced_after_s is not None and pace.slow_terms.replaced_after_s is not None:
            self._replacement_time = RandomTime.from_quantiles(
                pace.terms.replaced_after_s, pace.slow_terms.replaced_after_s
            )
        self._provisioning_time = RandomTime.from_quantiles(pace.terms.provisioning_s, pace.slow_terms.provisioning_s)

    def nodes(self, run: int) -> MovesByNode:
        return [
            (
                node,
                [
                    _draw_move(
                        move, stop, start, random_normals(run, group_counter)[0], random_normals(run, counter)[1]
                    )
                    if counter is not None
                    else move
                    for move, stop, start, counter, group_counter in move_times
                ],
            )
            for node, move_times in self._nodes
        ]

    def nodes_at(self, normal: float) -> MovesByNode:
        """Every pod is equally slow."""
        return [
            (
                node,
                [
                    move if counter is None else _draw_move(move, stop, start, normal, normal)
                    for move, stop, start, counter, _ in move_times
                ],
            )
            for node, move_times in self._nodes
        ]

    def terms(self, run: int) -> DrainTerms:
        """In one run all new nodes take equally long, as the terms have one time for all of them."""
        return self.terms_at(random_normals(run, _NEW_NODE_COUNTER)[0])

    def terms_at(self, normal: float) -> DrainTerms:
        replaced_after_s = None if self._replacement_time is None else self._replacement_time.draw(normal)
        return replace(
            self._terms, replaced_after_s=replaced_after_s, provisioning_s=self._provisioning_time.draw(normal)
        )


_MoveTimes = tuple[PodMove, RandomTime, RandomTime, int | None, int]
"""An eviction, the random times of its stop and of its replacement's start, and the counters of the pod (None: its
times are constant) and of its stop group."""


def _move_times(move: PodMove) -> _MoveTimes:
    # No stop is longer than the grace period, which is the time of a slow stop.
    min_s = min_stop_s(move.stop_s, move.slow_stop_s) if move.stop_group else 0.0
    stop_time = RandomTime.from_quantiles(move.stop_s, move.slow_stop_s, max(move.stop_s, move.slow_stop_s), min_s)
    start_time = RandomTime.from_quantiles(move.start_s, move.slow_start_s)
    counter = crc32(move.uid.encode())
    group_counter = crc32(move.stop_group.encode()) if move.stop_group else counter
    return move, stop_time, start_time, counter if stop_time.spread or start_time.spread else None, group_counter


def _draw_move(
    move: PodMove, stop_time: RandomTime, start_time: RandomTime, stop_normal: float, start_normal: float
) -> PodMove:
    uid, limits, _, _, replacement, critical, late, turn, new_node, _, _, waits_s, stop_group, fastest_start_s = move
    stop_s, start_s = stop_time.draw(stop_normal), start_time.draw(start_normal)
    if replacement is Replacement.SURGE:
        stop_s = max(stop_s, start_s)
    turn_fields = critical, late, turn, new_node
    return build_tuple(
        PodMove,
        (uid, limits, stop_s, start_s, replacement, *turn_fields, 0.0, 0.0, waits_s, stop_group, fastest_start_s),
    )
