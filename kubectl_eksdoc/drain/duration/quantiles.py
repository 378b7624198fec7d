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

from ..course import DrainTerms, Move, ReplacedPod, Reserved, Span, Timeline, made
from ..policy import two_normals
from ..simulation import simulate
from .bounds import longest_part
from .generations import Time
from .node_times import Nodes
from .timing import least_stop_s

MOST_RUNS = 41
"""With this many runs, 9 times in 10 the sampled p50 is between the 38th and the 62nd percentile, p95 between the 85th
and the 98th (a Beta distribution, as of every order statistic)."""

FEWEST_RUNS = 11
"""With fewer runs a p95 means little."""

MOST_EVICTIONS = 40_000
"""Simulated evictions in all runs together: about a quarter of a second."""

ALONE = 3
"""Most evictions of a part are alone on their node, and take this many times as long to simulate."""

NEARLY = 0.98
"""A part represents the whole if its typical duration is at least this share of the whole's, and exceeds it by no more
than the inverse."""

_NEW_NODES = crc32(b"new nodes")
"""The counter for the random time of new nodes; a pod's counter follows from its uid."""


class RunPace(NamedTuple):
    """The input of runs: the evictions with their typical and slow times, and the terms with both."""

    nodes: Nodes
    terms: DrainTerms
    slow_terms: DrainTerms


class Quantiles(NamedTuple):
    """Seconds from the first cordon to the last node done. `runs`: how many were sampled; 0 if that would take too
    long: then p50 is the typical run, and p95 the one in which every pod is slow. `sampled_part`: number of sampled
    evictions, 0: all."""

    p50_s: float
    p95_s: float
    runs: int
    part: int = 0

    @property
    def said(self) -> str:
        """How they were computed, as a clause."""
        if not self.runs:
            return "p50: every pod as usual; p95: every pod slow at once (too many evictions to sample)"
        of = f" of the {self.part} evictions that take longest" if self.part else ""
        return f"p50 and p95 are of {self.runs} simulated runs{of}, with new random times for each pod"


class Levels(NamedTuple):
    """Runs in which all pods are equally slow: one takes the p50, one the p95. `level`: how slow every pod is in the
    p50 run, as a draw of the normal distribution; `slow_s`: node → when it is done in the p95 run. `pace` and
    `timeline` are those of the p50 run."""

    level: float
    pace: RunPace
    timeline: Timeline
    slow_s: Mapping[str, float]


def levels(pace: RunPace, usual: Timeline, found: Quantiles, needs: Mapping[str, Sequence[str]]) -> Levels:
    """The levels of the drain whose typical run is `typical_timeline`. Only one timeline is shown, and it ends at the
    p50; where not every run is sampled it is the typical one, stretched."""
    if not found.runs or found.part:
        timeline = _stretched(usual, found.p50_s)
        by = found.p95_s / found.p50_s if found.p50_s else 1.0
        return Levels(0.0, pace, timeline, {span.node: span.done_s * by for span in timeline.nodes})
    alike = _Alike(pace, needs, usual.makespan_s)
    level, slow = alike.level(found.p50_s), alike.level(found.p95_s)
    typical = alike.pace(level)
    slow_pace = alike.pace(max(level, slow))
    timeline = simulate(typical.nodes, typical.terms, Reserved(needs)) if level else usual
    slow_run = simulate(slow_pace.nodes, slow_pace.terms, Reserved(needs), brief=True)
    return Levels(level, typical, timeline, {span.node: span.done_s for span in slow_run.nodes})


def _stretched(timeline: Timeline, seconds: float) -> Timeline:
    by = seconds / timeline.makespan_s if timeline.makespan_s else 1.0
    if by == 1.0:
        return timeline
    moves = tuple(
        [
            made(ReplacedPod, (uid, node, at * by, gone * by, None if ready is None else ready * by))
            for uid, node, at, gone, ready in timeline.moves
        ]
    )
    nodes = tuple([Span(node, *(each * by for each in times)) for node, *times in timeline.nodes])
    return replace(timeline, moves=moves, nodes=nodes)


class _Alike:
    """Mutable: runs in which every pod, and every new node, is equally slow."""

    def __init__(self, pace: RunPace, needs: Mapping[str, Sequence[str]], usual_s: float) -> None:
        self._drawn = _Drawn(pace)
        self._slow_terms = pace.slow_terms
        self._needs = needs
        self._known = {0.0: usual_s}

    def pace(self, level: float) -> RunPace:
        return RunPace(self._drawn.alike(level), self._drawn.terms_at(level), self._slow_terms)

    def level(self, aim_s: float) -> float:
        """The level at which the drain takes about `target_s`, by false position; 0 where nothing varies."""
        low = high = 0.0
        if self._known[0.0] > aim_s:
            low = -FAR
        elif self._known[0.0] < aim_s:
            high = FAR
        for _ in range(TRIES):
            low_s, high_s = self._takes_s(low), self._takes_s(high)
            if low_s >= aim_s or high_s <= aim_s or high_s - low_s < CLOSE * aim_s:
                break
            level = low + (high - low) * (aim_s - low_s) / (high_s - low_s)
            if self._takes_s(level) < aim_s:
                low = level
            else:
                high = level
        return min(self._known, key=lambda level: (abs(self._known[level] - aim_s), abs(level)))

    def _takes_s(self, level: float) -> float:
        if level not in self._known:
            pace = self.pace(level)
            seconds = _makespan_s(pace.nodes, pace.terms, self._needs)
            self._known[level] = inf if seconds is None else seconds
        return self._known[level]


FAR, TRIES, CLOSE = 2.5, 5, 0.01
"""Levels are searched this far from the median, in so many steps, until durations differ by less than this share."""


def quantiles(
    pace: RunPace, usual_s: float, needs: Mapping[str, Sequence[str]], most_evictions: int = MOST_EVICTIONS
) -> Quantiles | None:
    """The quantiles of the drain whose typical run takes `typical_s`; None if it does not always end.

    `needs` as for `ReservedPlacement`.
    """
    if _evictions(pace.nodes) * FEWEST_RUNS <= most_evictions:
        return _sampled(pace, needs, most_evictions)
    found = _of_a_part(pace, usual_s, most_evictions)
    if found is not None:
        return found
    slow = [(node, [move.slowed for move in moves]) for node, moves in pace.nodes]
    slow_s = _makespan_s(slow, pace.slow_terms, needs)
    return None if slow_s is None else Quantiles(usual_s, max(usual_s, slow_s), 0)


def _of_a_part(pace: RunPace, usual_s: float, most_evictions: int) -> Quantiles | None:
    """None where no part represents the whole."""
    part = longest_part(pace.nodes, pace.terms, most_evictions // MOST_RUNS // ALONE)
    if part is None or _evictions(part.nodes) * FEWEST_RUNS > most_evictions:
        return None
    alone_s = _makespan_s(part.nodes, pace.terms, {}) or 0.0
    if not NEARLY * usual_s <= alone_s <= usual_s / NEARLY:
        return None  # something else decides: room, nodes at once, the order
    found = _sampled(pace._replace(nodes=part.nodes), {}, most_evictions)
    if found is None or part.rest_s >= found.p50_s:
        return None  # the evictions that are left out may take longer
    return found._replace(part=_evictions(part.nodes))


def _sampled(pace: RunPace, needs: Mapping[str, Sequence[str]], most_evictions: int) -> Quantiles | None:
    drawn = _Drawn(pace)
    found = []
    for run in range(min(MOST_RUNS, most_evictions // max(1, _evictions(pace.nodes)))):
        seconds = _makespan_s(drawn.nodes(run), drawn.terms(run), needs)
        if seconds is None:
            return None
        found.append(seconds)
    found.sort()
    return Quantiles(_nearest_rank(found, 50), _nearest_rank(found, 95), len(found))


def _evictions(nodes: Nodes) -> int:
    return sum(len(moves) for _, moves in nodes)


def _makespan_s(nodes: Nodes, terms: DrainTerms, needs: Mapping[str, Sequence[str]]) -> float | None:
    timeline = simulate(nodes, terms, Reserved(needs), brief=True)
    return None if timeline.stuck else timeline.makespan_s


def _nearest_rank(ordered: Sequence[float], percent: int) -> float:
    return ordered[-(-percent * len(ordered) // 100) - 1]


class _Drawn:
    """Runs in which every pod has its own random times."""

    def __init__(self, pace: RunPace) -> None:
        self._terms = pace.terms
        self._nodes = [(node, [_luck(move) for move in moves]) for node, moves in pace.nodes]
        self._renewal: Time | None = None
        if pace.terms.renewed_after_s is not None and pace.slow_terms.renewed_after_s is not None:
            self._renewal = Time.of(pace.terms.renewed_after_s, pace.slow_terms.renewed_after_s)
        self._new_node = Time.of(pace.terms.new_node_s, pace.slow_terms.new_node_s)

    def nodes(self, run: int) -> Nodes:
        return [
            (
                node,
                [
                    _drawn(move, stop, start, two_normals(run, kin)[0], two_normals(run, counter)[1])
                    if counter is not None
                    else move
                    for move, stop, start, counter, kin in luck
                ],
            )
            for node, luck in self._nodes
        ]

    def alike(self, normal: float) -> Nodes:
        """Every pod is equally slow."""
        return [
            (
                node,
                [
                    move if counter is None else _drawn(move, stop, start, normal, normal)
                    for move, stop, start, counter, _ in luck
                ],
            )
            for node, luck in self._nodes
        ]

    def terms(self, run: int) -> DrainTerms:
        """In one run all new nodes take equally long, as the terms have one time for all of them."""
        return self.terms_at(two_normals(run, _NEW_NODES)[0])

    def terms_at(self, normal: float) -> DrainTerms:
        renewed_s = None if self._renewal is None else self._renewal.drawn(normal)
        return replace(self._terms, renewed_after_s=renewed_s, new_node_s=self._new_node.drawn(normal))


_Luck = tuple[Move, Time, Time, int | None, int]
"""An eviction, the random times of its stop and of its replacement's start, and the counters of the pod (None: its
times are constant) and of its stop group."""


def _luck(move: Move) -> _Luck:
    # No stop is longer than the grace period, which is the time of a slow stop.
    least_s = least_stop_s(move.stop_s, move.slow_stop_s) if move.kin else 0.0
    stop = Time.of(move.stop_s, move.slow_stop_s, max(move.stop_s, move.slow_stop_s), least_s)
    start = Time.of(move.start_s, move.slow_start_s)
    counter = crc32(move.uid.encode())
    kin = crc32(move.kin.encode()) if move.kin else counter
    return move, stop, start, counter if stop.spread or start.spread else None, kin


def _drawn(move: Move, stop: Time, start: Time, stops: float, starts: float) -> Move:
    uid, limits, _, _, after, critical, late, turn, waits_for, _, _, waits_s, kin, least_s = move
    stop_s, start_s = stop.drawn(stops), start.drawn(starts)
    if after is Replacement.FIRST:
        stop_s = max(stop_s, start_s)
    by_turn = critical, late, turn, waits_for
    return made(Move, (uid, limits, stop_s, start_s, after, *by_turn, 0.0, 0.0, waits_s, kin, least_s))
