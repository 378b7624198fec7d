"""The drain's time as it is in half of all cases, and in 19 of 20: run many times, each pod's times drawn anew.

The median of a sum of times that have a long tail is more than the sum of their medians, so a run in which every pod
takes its median is too fast to be called p50; and one in which every pod is slow at once hardly ever happens. A pod's
time is drawn from the lognormal distribution whose median is the usual time and whose 95th percentile is the slow one:
times of starting and stopping are skewed like that, and two figures are all that is known of them. In a run of the same
number a pod has the same luck whatever the order is, so that plans of the same pods can be compared.

Of a drain that is too large for that a part is sampled, if that alone takes as long as the whole: the evictions of the
budgets that take longest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import exp, inf, log
from typing import NamedTuple
from zlib import crc32

from kubectl_eksdoc.core.plan.drain.chance import two_normals
from kubectl_eksdoc.core.plan.drain.duration.node_times import Nodes
from kubectl_eksdoc.core.sim.activation import Reserved
from kubectl_eksdoc.core.sim.course import Move, Terms, hold_s
from kubectl_eksdoc.core.sim.drain import simulate

MOST_RUNS = 41
"""Of so many, 9 times in 10 the sampled p50 is between the 38th and the 62nd percentile, p95 between the 85th and the
98th (a Beta distribution, as of every order statistic)."""

FEWEST_RUNS = 11
"""With fewer a p95 means little."""

MOST_EVICTIONS = 40_000
"""So many are simulated for it, in all runs together: about a quarter of a second."""

NEARLY = 0.98
"""A part that takes this much of the whole's time, at the usual pace, tells how long the whole takes."""

_Z95 = 1.6448536269514722
"""The 95th percentile of the normal distribution."""

_NEW_NODES = crc32(b"new nodes")
"""The counter from which the time of new nodes is drawn, as a pod's is from its uid."""


class Pace(NamedTuple):
    """What one run is made of: every pod's times, and the terms."""

    nodes: Nodes
    terms: Terms


Slowly = Callable[[Nodes], Pace]
"""The pace of the same nodes and evictions when every pod is slow."""


class Quantiles(NamedTuple):
    """Seconds from the first cordon to the last node done. `runs`: so many were sampled, 0 if it would take too long:
    then they are the usual run, and the one in which every pod is slow. `part`: only so many evictions were sampled,
    0: all."""

    p50_s: float
    p95_s: float
    runs: int
    part: int = 0

    @property
    def said(self) -> str:
        """How they came about, as a clause."""
        if not self.runs:
            return "p50: every pod as usual; p95: every pod slow at once (too many evictions to sample)"
        of = f" of the {self.part} evictions that take longest" if self.part else ""
        return f"p50 and p95 are of {self.runs} simulated runs{of}, each pod's times drawn anew"


def quantiles(
    usual: Pace,
    slowly: Slowly,
    usual_s: float,
    needs: Mapping[str, Sequence[str]],
    most_evictions: int = MOST_EVICTIONS,
) -> Quantiles | None:
    """Of the drain whose run at the `usual` pace takes `usual_s`; None if it does not always come to its end.

    `needs` as for `Reserved`.
    """
    if _evictions(usual.nodes) * FEWEST_RUNS <= most_evictions:
        return _sampled(usual, slowly, needs, most_evictions)
    part = Pace(_longest(usual, most_evictions // MOST_RUNS // 3), usual.terms)
    number = _evictions(part.nodes)
    if 0 < number * FEWEST_RUNS <= most_evictions and (_makespan_s(part, {}) or 0.0) >= NEARLY * usual_s:
        found = _sampled(part, slowly, {}, most_evictions)
        return None if found is None else found._replace(part=number)
    slow_s = _makespan_s(slowly(usual.nodes), needs)
    return None if slow_s is None else Quantiles(usual_s, max(usual_s, slow_s), 0)


def _sampled(usual: Pace, slowly: Slowly, needs: Mapping[str, Sequence[str]], most_evictions: int) -> Quantiles | None:
    runs = min(MOST_RUNS, most_evictions // max(1, _evictions(usual.nodes)))
    drawn = _Drawn(usual, slowly(usual.nodes))
    found = []
    for run in range(runs):
        seconds = _makespan_s(drawn.pace(run), needs)
        if seconds is None:
            return None
        found.append(seconds)
    found.sort()
    return Quantiles(_nearest_rank(found, 50), _nearest_rank(found, 95), runs)


def _evictions(nodes: Nodes) -> int:
    return sum(len(moves) for _, moves in nodes)


def _longest(pace: Pace, most: int) -> Nodes:
    """The evictions of the limits that take longest: of one at least, of more while they are no more than `most`."""
    seconds: Counter[str] = Counter()
    number: Counter[str] = Counter()
    for _, moves in pace.nodes:
        for move in moves:
            for limit in move.limits:
                hold = hold_s(move, pace.terms.lag_s)
                seconds[limit] += 0 if hold == inf else hold / pace.terms.slots[limit]  # type: ignore[assignment]
                number[limit] += 1
    chosen: set[str] = set()
    for limit, _ in seconds.most_common():
        if chosen and number[limit] > most:
            break
        chosen.add(limit)
        most -= number[limit]
    picked = ((node, [move for move in moves if not chosen.isdisjoint(move.limits)]) for node, moves in pace.nodes)
    return [(node, moves) for node, moves in picked if moves]


def _makespan_s(pace: Pace, needs: Mapping[str, Sequence[str]]) -> float | None:
    timeline = simulate(pace.nodes, pace.terms, Reserved(needs), brief=True)
    return None if timeline.stuck else timeline.makespan_s


def _nearest_rank(ordered: Sequence[float], percent: int) -> float:
    return ordered[-(-percent * len(ordered) // 100) - 1]


class _Time(NamedTuple):
    """Seconds: `usual_s` times e to the `spread` times a normal draw, at most `most_s`."""

    usual_s: float
    spread: float
    most_s: float

    def of(self, normal: float) -> float:
        return min(self.usual_s * exp(self.spread * normal), self.most_s) if self.spread else self.usual_s


def _time(usual_s: float, slow_s: float, most_s: float = float("inf")) -> _Time:
    """What takes no time, or always the same, is not drawn."""
    return _Time(usual_s, log(slow_s / usual_s) / _Z95 if slow_s > usual_s > 0 else 0.0, most_s)


class _Drawn:
    """Runs in which every pod has its own luck."""

    def __init__(self, usual: Pace, slow: Pace) -> None:
        self._terms = usual.terms
        self._nodes = [
            (node, [_luck(one, other) for one, other in zip(moves, slower, strict=True)])
            for (node, moves), (_, slower) in zip(usual.nodes, slow.nodes, strict=True)
        ]
        self._renewal: _Time | None = None
        if usual.terms.renewed_after_s is not None and slow.terms.renewed_after_s is not None:
            self._renewal = _time(usual.terms.renewed_after_s, slow.terms.renewed_after_s)
        self._new_node = _time(usual.terms.new_node_s, slow.terms.new_node_s)

    def pace(self, run: int) -> Pace:
        nodes = [
            (
                node,
                [
                    _drawn(move, stop, start, two_normals(run, counter)) if counter is not None else move
                    for move, stop, start, counter in luck
                ],
            )
            for node, luck in self._nodes
        ]
        return Pace(nodes, self._terms_of(run))

    def _terms_of(self, run: int) -> Terms:
        """New nodes take as long as each other in one run: terms know one time for all of them."""
        normal = two_normals(run, _NEW_NODES)[0]
        renewed_s = None if self._renewal is None else self._renewal.of(normal)
        return replace(self._terms, renewed_after_s=renewed_s, new_node_s=self._new_node.of(normal))


_Luck = tuple[Move, _Time, _Time, int | None]
"""An eviction, how its stop and its replacement's start are drawn, and the pod's counter (None: nothing is drawn)."""


def _luck(usual: Move, slow: Move) -> _Luck:
    # Nothing outlasts the grace period, which is what a slow stop takes.
    stop, start = _time(usual.stop_s, slow.stop_s, slow.stop_s), _time(usual.start_s, slow.start_s)
    return usual, stop, start, crc32(usual.uid.encode()) if stop.spread or start.spread else None


def _drawn(move: Move, stop: _Time, start: _Time, normals: tuple[float, float]) -> Move:
    uid, limits, _, _, after, critical, late, turn, waits_for = move
    return Move(uid, limits, stop.of(normals[0]), start.of(normals[1]), after, critical, late, turn, waits_for)
