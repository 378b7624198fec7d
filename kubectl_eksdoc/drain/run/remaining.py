"""Remaining time of a run: a simulation of the rest in virtual time, with the stop and start times that the run has
measured.

A requested pod counts twice: as a pod that is on its node until it is gone, and as a slot of its budget that is taken
until the replacement is Ready.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import sqrt
from statistics import fmean, median
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.replacement import Replacement
from kubectl_eksdoc.model.journal import Cause
from kubectl_eksdoc.model.nodes import Pod

from ..course import Move, Reserved, Timeline
from ..duration.estimate import MedianRun
from ..duration.generations import LAG_S
from ..duration.node_times import Nodes
from ..duration.timing import SHORTEST_STOP_S, template_of
from ..policy import Means
from ..result import DrainPlan
from ..simulation import simulate
from .engine import Engine
from .history import MeasuredStopTimes
from .pod_evictions import PodPursuit, PodStep
from .state import DrainedNode, NodePhase

AGAIN_S = 2.0
"""Minimum delay between two estimates if no pod has gone meanwhile."""

EACH_SECOND = 2000
"""The delay between two estimates is one second per this many evictions."""

OVERDUE = 1.2
"""A stop counts as unusual if it takes this many times as long as the longest before."""

SEEN_S = 1.0
"""How long after an eviction its replacement may not have been observed."""

LATE = 0.1
"""A delayed step is expected to take this share of the elapsed time longer."""


class _Left(NamedTuple):
    """Remaining seconds. `slow_seconds`: if pods of the `unmeasured` workloads, of which none has stopped in this run
    or an earlier one, use all of their grace periods. `nodes`: until each is drained."""

    seconds: float
    slow_s: float
    unmeasured: int = 0
    nodes: tuple[tuple[str, float], ...] = ()


class Remaining:
    """Mutable: the remaining time of a run by its plan's p50, and by the measured times."""

    def __init__(self, plan: DrainPlan) -> None:
        estimate = plan.estimate
        self._rerun = estimate.rerun if estimate is not None else None
        self._grace_of = plan.policy.grace_of
        self.planned_s = estimate.p50_s if estimate is not None else None
        self.measured = MeasuredStopTimes(plan)
        ends = tuple((span.node, span.done_s) for span in estimate.spans) if estimate is not None else ()
        self._left = _Left(estimate.p50_s, estimate.p95_s, 0, ends) if estimate is not None else None
        self._at_s = 0.0
        self._gone = 0

    def look(self, engine: Engine, now_s: float) -> None:
        """Learn from new events; at intervals estimate the remaining time again."""
        self.measured.look(engine.moments)
        gone = len(self.measured.gone_s)
        again_s = len(engine.plan.evictions) / EACH_SECOND + (AGAIN_S if gone == self._gone else 0.0)
        if self._rerun is None or self.planned_s is None or now_s < self._at_s + again_s:
            return
        if not gone and now_s < self.planned_s / 5:
            return  # no measurement is available yet
        self._gone = gone
        self.measured.see(engine)
        left = _Rest(engine, self._rerun, self.measured, now_s).timed()
        if left is not None:
            self._left, self._at_s = left, now_s

    def left(self, now_s: float) -> _Left | None:
        """Return the remaining time; None if unknown."""
        if self._left is None:
            return None
        seconds, slow_s, unmeasured, nodes = self._left
        passed_s = now_s - self._at_s
        ends = tuple((node, max(0.0, end_s - passed_s)) for node, end_s in nodes)
        return _Left(max(0.0, seconds - passed_s), max(0.0, slow_s - passed_s), unmeasured, ends)

    def causes(self, engine: Engine, took_s: float, held_s: float) -> dict[Cause, float]:
        """Return the seconds by which each cause made the run longer than its plan's p50, given that it took
        `duration_s` and was held for `held_s`. The plan's order is simulated again with the stop times of this run,
        then also with its start times, then also with the times until its replacements had nodes."""
        if self._rerun is None or self.planned_s is None:
            return {}
        self.measured.look(engine.moments)
        self.measured.see(engine)
        measured, pods = self.measured, [each.pod for each in engine.plan.evictions]
        stops = {pod.uid: seconds for pod in pods if (seconds := measured.stop_s(pod)) is not None}
        starts = {pod.uid: fmean(found) for pod in pods if (found := measured.starts.get(_owner(pod)))}
        later = {uid: starts[uid] + fmean(measured.pending[_owner(pod)]) for pod in pods if (uid := pod.uid) in starts}
        known = [self.planned_s]
        for given in (dict[str, float](), starts, later):
            again_s = self._rerun.takes_s(stops, given)
            known.append(known[-1] if again_s is None else again_s)
        found_s = {
            Cause.STOPPING: known[1] - known[0],
            Cause.STARTING: known[2] - known[1],
            Cause.SCHEDULING: known[3] - known[2],
            Cause.HOLDS: held_s,
        }
        return {**found_s, Cause.BUDGETS: took_s - self.planned_s - sum(found_s.values())}


@frozen
class _Flight:
    """A pod whose removal was requested: how long ago, and since when it is gone."""

    move: Move
    pursuit: PodPursuit
    since_s: float
    gone_since_s: float | None


class _Rest:
    """The rest of a run at one time."""

    def __init__(self, engine: Engine, rerun: MedianRun, measured: MeasuredStopTimes, now_s: float) -> None:
        self._engine = engine
        self._rerun = rerun
        self._measured = measured
        self._now_s = now_s
        self._moves = {move.uid: move for _, moves in rerun.nodes for move in moves}
        self._nodes = {node.name: node for node in engine.nodes}
        self._pursuits = {uid: each for node in self._nodes.values() for uid, each in node.pursuits.items()}
        self._flights = sorted(self._in_flight(), key=lambda flight: flight.since_s)
        self._stops = self._expected_stops()

    def timed(self) -> _Left | None:
        """Return the remaining time; None if the simulation does not end."""
        timeline = self._timeline(self._stops)
        if timeline is None:
            return None
        seconds = timeline.makespan_s * self._rerun.by
        ends = tuple((span.node, span.done_s * self._rerun.by) for span in timeline.nodes)
        unknown = {uid for uid, move in self._moves.items() if move.kin} & self._stops.keys()
        pods = {uid: self._pursuits[uid].pod for uid in unknown}
        unknown = {uid for uid in unknown if template_of(pods[uid]) not in self._measured.stops}
        if not unknown:
            return _Left(seconds, seconds, 0, ends)
        slow = {**self._stops, **{uid: float(self._grace_s(pods[uid])) for uid in unknown}}
        late = self._timeline(slow)
        slow_s = seconds if late is None else max(seconds, late.makespan_s * self._rerun.by)
        return _Left(seconds, slow_s, len({template_of(pods[uid]) for uid in unknown}), ends)

    def _timeline(self, stops: Mapping[str, float]) -> Timeline | None:
        nodes = self._left(stops)
        empty_for_s = {
            name: self._now_s - node.empty_s
            for name, node in self._nodes.items()
            if node.phase in (NodePhase.EMPTY, NodePhase.DETACHING)
        }
        ground = Reserved(self._rerun.needs)
        for name, node in self._nodes.items():
            if node.over:
                ground.renew(name)
        lag_s = LAG_S if self._measured.lag_s is None else self._measured.lag_s
        terms = replace(self._rerun.terms, empty_for_s=empty_for_s, lag_s=lag_s)
        timeline = simulate(nodes, terms, ground, brief=True)
        return None if timeline.stuck else timeline

    def _left(self, stops: Mapping[str, float]) -> Nodes:
        """Return the nodes that have not ended, with their remaining pods; taken slots come first."""
        found: list[tuple[str, list[Move]]] = []
        begun = -1
        for name, _ in self._rerun.nodes:
            node = self._nodes.get(name)
            if node is None or node.over:
                continue
            is_begun = node.phase not in (NodePhase.OPEN, NodePhase.CORDONED)
            if is_begun and begun < 0:
                begun = len(found)
            found.append((name, list(self._on(node, is_begun, stops))))
        if found:
            name, moves = found[max(begun, 0)]
            found[max(begun, 0)] = name, [*self._slots(stops), *moves]
        return found

    def _on(self, node: DrainedNode, is_begun: bool, stops: Mapping[str, float]) -> Iterator[Move]:
        for uid, pursuit in node.pursuits.items():
            if pursuit.over:
                continue
            move = self._move(uid)
            stop_s = stops[uid]
            if pursuit.step is PodStep.WAITING:
                start_s = self._start_s(pursuit.pod, move)
                yield move._replace(stop_s=stop_s, start_s=start_s, waits_s=self._waits_s(pursuit, move, is_begun))
            else:
                since_s = self._measured.asked_s.get(uid, pursuit.since_s)
                yield Move("", (), _still(stop_s, self._now_s - since_s), critical=move.critical)

    def _slots(self, stops: Mapping[str, float]) -> Iterator[Move]:
        """Yield the budget slots that are taken by requested pods while their replacements are not Ready."""
        free = dict(self._rerun.terms.slots)
        missing, unready = self._missing()
        for flight in self._flights:
            move, never = flight.move, flight.move.after is Replacement.NEVER
            hold_s = 0.0 if never else self._holds_s(flight, stops, missing, unready)
            if hold_s is None or any(free.get(limit, 0) <= 0 for limit in move.limits):
                continue
            for limit in move.limits:
                free[limit] -= 1
            yield Move("", move.limits, 0.0, hold_s, move.after if never else Replacement.AT_ONCE, turn=-1)

    def _missing(self) -> tuple[Counter[str], Counter[str]]:
        """Return how many replacements are not Ready, by the UID of their owner, and how many of them exist already."""
        missing = Counter(_owner(flight.pursuit.pod) for flight in self._flights if _is_replaced(flight))
        missing.subtract(each.owner for each in self._engine.arrivals.values() if each.ready_s is not None)
        return missing, Counter(_owner(pod) for pod in self._engine.unready)

    def _holds_s(
        self, flight: _Flight, stops: Mapping[str, float], missing: Counter[str], unready: Counter[str]
    ) -> float | None:
        """Return how long the slot is taken; None if its replacement is Ready: the latest requests are counted as those
        without one."""
        move, pod = flight.move, flight.pursuit.pod
        start_s, owner = self._start_s(pod, move), _owner(pod)
        if not _is_replaced(flight):
            stop_s = _still(stops.get(pod.uid, move.stop_s), flight.since_s)
            return stop_s + (start_s if move.after is Replacement.AFTER_GONE else 0.0)
        if missing[owner] <= 0:
            return None
        missing[owner] -= 1
        waited_s = flight.since_s if flight.gone_since_s is None else flight.gone_since_s
        before = missing[owner] - unready[owner] + 1
        if before > 0 and waited_s >= SEEN_S:
            return start_s * (before + 0.5)  # an ordered StatefulSet creates it when those before it are Ready
        return _still(start_s, waited_s if move.after is Replacement.AFTER_GONE else flight.since_s)

    def _in_flight(self) -> Iterator[_Flight]:
        for uid, pursuit in self._pursuits.items():
            move = self._move(uid)
            if not move.limits or uid not in self._measured.asked_s:
                continue
            gone_s = self._measured.gone_s.get(uid)
            gone_since_s = None if gone_s is None else self._now_s - gone_s
            yield _Flight(move, pursuit, self._now_s - self._measured.asked_s[uid], gone_since_s)

    def _waits_s(self, pursuit: PodPursuit, move: Move, is_begun: bool) -> float:
        """Return how long the pod cannot be requested."""
        held_s = self._engine.seen.hold_s(pursuit.eviction.budget, self._now_s) if pursuit.eviction.budget else 0.0
        if not is_begun:
            return max(move.waits_s, held_s - self._now_s)
        return max(0.0, pursuit.begun_s - self._now_s, held_s - self._now_s)

    def _start_s(self, pod: Pod, move: Move) -> float:
        """Return the expected start time; the planned value counts as one more measurement."""
        starts = self._measured.starts.get(pod.owner.uid, ()) if pod.owner is not None else ()
        return fmean([move.start_s, *starts])

    def _expected_stops(self) -> dict[str, float]:
        """Seconds from eviction to gone, by UID, of the existing pods.

        Pods of a measured template stop alike, until one takes far longer: then they may take up to the grace period.
        For other stopping pods a value between the elapsed time and the grace period is assumed; pods without any
        measurement stop like all others.
        """
        found: dict[str, float] = {}
        others: list[tuple[str, PodPursuit]] = []
        typical: list[float] = []
        for template, there in self._by_template().items():
            seen = self._measured.stops.get(template, [])
            passed = {uid: self._now_s - self._measured.asked_s[uid] for uid, _ in there if self._is_leaving(uid)}
            known = [each for uid, _ in there if not (each := self._move(uid)).kin]
            grace_s = max(self._grace_s(pursuit.pod) for _, pursuit in there)
            if seen:
                expected = fmean(seen)
                overdue = sorted(uid for uid, passed_s in passed.items() if passed_s > OVERDUE * max(seen))
                spread = _spread(len(overdue), max((passed[uid] for uid in overdue), default=0.0), grace_s)
                later = dict(zip(overdue, spread, strict=True))
                expected = fmean([*seen, *later.values()])
            elif known:
                expected, later = fmean(move.stop_s for move in known), {}
            elif passed:
                longest_s = max(SHORTEST_STOP_S, *passed.values())
                expected, later = sqrt(longest_s * max(longest_s, grace_s)), {}
            else:
                others += there
                continue
            typical.append(expected)
            for uid, pursuit in there:
                found[uid] = later.get(uid, min(expected, max(self._grace_s(pursuit.pod), passed.get(uid, 0.0))))
        for uid, pursuit in others:
            planned_s = self._move(uid).stop_s
            found[uid] = min(median(typical), self._grace_s(pursuit.pod)) if typical else planned_s
        return found | self._as_planned()

    def _by_template(self) -> dict[str, list[tuple[str, PodPursuit]]]:
        """Return the pods that are evicted and have not gone, by template."""
        found: dict[str, list[tuple[str, PodPursuit]]] = defaultdict(list)
        for uid, pursuit in self._pursuits.items():
            if not pursuit.over and pursuit.eviction.manner.means is Means.EVICTION:
                found[template_of(pursuit.pod) or uid].append((uid, pursuit))
        return found

    def _as_planned(self) -> dict[str, float]:
        """Return the planned stop times of pods that are removed in other ways than an eviction; nothing is learned
        from them."""
        return {
            uid: self._move(uid).stop_s
            for uid, pursuit in self._pursuits.items()
            if not pursuit.over and (pursuit.eviction.manner.means is not Means.EVICTION or pursuit.pod.finished)
        }

    def _is_leaving(self, uid: str) -> bool:
        return uid in self._measured.asked_s and uid not in self._measured.gone_s

    def _move(self, uid: str) -> Move:
        """Return the planned move of a pod; a pod that is not in the plan has no limits, as far as is known."""
        return self._moves.get(uid) or Move(uid)

    def _grace_s(self, pod: Pod) -> float:
        return float(self._engine.plan.policy.grace_of(pod))


def _is_replaced(flight: _Flight) -> bool:
    """Whether its replacement has been created, or is the next thing to be created."""
    return flight.gone_since_s is not None or flight.move.after not in (Replacement.AFTER_GONE, Replacement.FIRST)


def _owner(pod: Pod) -> str:
    return pod.owner.uid if pod.owner is not None else ""


def _still(seconds: float, passed_s: float) -> float:
    """Return the remaining time of a started step with this expected duration. A step that is late already gets
    later."""
    return max(seconds - passed_s, LATE * passed_s)


def _spread(count: int, least_s: float, most_s: float) -> list[float]:
    """Return `count` values spread evenly between both: their expected values if each time is equally likely."""
    most_s = max(least_s, most_s)
    return [least_s + (most_s - least_s) * (place + 1) / (count + 1) for place in range(count)]
