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
from kubectl_eksdoc.model.journal import DelayCause
from kubectl_eksdoc.model.nodes import Pod

from ..duration.estimate import MedianRun
from ..duration.generations import BUDGET_LAG_S
from ..duration.node_times import MovesByNode
from ..duration.timing import MIN_STOP_S, pod_template
from ..policy import EvictionMethod
from ..result import DrainPlan
from ..simulation import simulate
from ..timeline import PodMove, ReservedPlacement, Timeline
from .engine import Engine
from .history import MeasuredStopTimes
from .pod_evictions import PodEviction, PodStep
from .state import DrainedNode, NodePhase

ESTIMATE_INTERVAL_S = 2.0
"""Minimum delay between two estimates if no pod has gone meanwhile."""

EVICTIONS_PER_SECOND = 2000
"""The delay between two estimates is one second per this many evictions."""

UNUSUAL_FACTOR = 1.2
"""A stop counts as unusual if it takes this many times as long as the longest before."""

OBSERVATION_DELAY_S = 1.0
"""How long after an eviction its replacement may not have been observed."""

DELAY_SHARE = 0.1
"""A delayed step is expected to take this share of the elapsed time longer."""


class _RemainingTime(NamedTuple):
    """Remaining seconds. `slow_seconds`: if pods of the `unmeasured` workloads, of which none has stopped in this run
    or an earlier one, use all of their grace periods. `nodes`: until each is drained."""

    seconds: float
    slow_seconds: float
    unmeasured: int = 0
    nodes: tuple[tuple[str, float], ...] = ()


class RemainingTime:
    """Mutable: the remaining time of a run by its plan's p50, and by the measured times."""

    def __init__(self, plan: DrainPlan) -> None:
        estimate = plan.estimate
        self._median_run = estimate.median_run if estimate is not None else None
        self._grace_of = plan.policy.grace_period_of
        self.planned_s = estimate.p50_s if estimate is not None else None
        self.measured = MeasuredStopTimes(plan)
        ends = tuple((span.node, span.done_s) for span in estimate.spans) if estimate is not None else ()
        self._estimate = _RemainingTime(estimate.p50_s, estimate.p95_s, 0, ends) if estimate is not None else None
        self._at_s = 0.0
        self._gone = 0

    def update(self, engine: Engine, now_s: float) -> None:
        """Learn from new events; at intervals estimate the remaining time again."""
        self.measured.add_events(engine.events)
        gone = len(self.measured.gone_s)
        interval_s = len(engine.plan.evictions) / EVICTIONS_PER_SECOND + (
            ESTIMATE_INTERVAL_S if gone == self._gone else 0.0
        )
        if self._median_run is None or self.planned_s is None or now_s < self._at_s + interval_s:
            return
        if not gone and now_s < self.planned_s / 5:
            return  # no measurement is available yet
        self._gone = gone
        self.measured.add_replacements(engine)
        new_estimate = _RunRest(engine, self._median_run, self.measured, now_s).remaining_time()
        if new_estimate is not None:
            self._estimate, self._at_s = new_estimate, now_s

    def remaining(self, now_s: float) -> _RemainingTime | None:
        """Return the remaining time; None if unknown."""
        if self._estimate is None:
            return None
        seconds, slow_s, unmeasured, nodes = self._estimate
        elapsed_s = now_s - self._at_s
        ends = tuple((node, max(0.0, end_s - elapsed_s)) for node, end_s in nodes)
        return _RemainingTime(max(0.0, seconds - elapsed_s), max(0.0, slow_s - elapsed_s), unmeasured, ends)

    def causes(self, engine: Engine, duration_s: float, held_s: float) -> dict[DelayCause, float]:
        """Return the seconds by which each cause made the run longer than its plan's p50, given that it took
        `duration_s` and was held for `held_s`. The plan's order is simulated again with the stop times of this run,
        then also with its start times, then also with the times until its replacements had nodes."""
        if self._median_run is None or self.planned_s is None:
            return {}
        self.measured.add_events(engine.events)
        self.measured.add_replacements(engine)
        measured, pods = self.measured, [each.pod for each in engine.plan.evictions]
        stop_times = {pod.uid: seconds for pod in pods if (seconds := measured.stop_s(pod)) is not None}
        starts = {
            pod.uid: fmean(seconds_found) for pod in pods if (seconds_found := measured.starts.get(_owner_uid(pod)))
        }
        with_pending = {
            uid: starts[uid] + fmean(measured.pending[_owner_uid(pod)]) for pod in pods if (uid := pod.uid) in starts
        }
        totals = [self.planned_s]
        for start_times in (dict[str, float](), starts, with_pending):
            simulated_s = self._median_run.makespan_s(stop_times, start_times)
            totals.append(totals[-1] if simulated_s is None else simulated_s)
        by_cause = {
            DelayCause.STOPPING: totals[1] - totals[0],
            DelayCause.STARTING: totals[2] - totals[1],
            DelayCause.SCHEDULING: totals[3] - totals[2],
            DelayCause.HOLDS: held_s,
        }
        return {**by_cause, DelayCause.BUDGETS: duration_s - self.planned_s - sum(by_cause.values())}


@frozen
class _RequestedPod:
    """A pod whose removal was requested: how long ago, and since when it is gone."""

    move: PodMove
    eviction: PodEviction
    since_s: float
    gone_since_s: float | None


class _RunRest:
    """The rest of a run at one time."""

    def __init__(self, engine: Engine, rerun: MedianRun, measured: MeasuredStopTimes, now_s: float) -> None:
        self._engine = engine
        self._median_run = rerun
        self._measured = measured
        self._now_s = now_s
        self._moves = {move.uid: move for _, moves in rerun.nodes for move in moves}
        self._nodes = {node.name: node for node in engine.nodes}
        self._evictions = {uid: each for node in self._nodes.values() for uid, each in node.evictions.items()}
        self._requested = sorted(self._requested_pods(), key=lambda flight: flight.since_s)
        self._stops = self._expected_stops()

    def remaining_time(self) -> _RemainingTime | None:
        """Return the remaining time; None if the simulation does not end."""
        timeline = self._timeline(self._stops)
        if timeline is None:
            return None
        seconds = timeline.makespan_s * self._median_run.factor
        ends = tuple((span.node, span.done_s * self._median_run.factor) for span in timeline.nodes)
        unknown = {uid for uid, move in self._moves.items() if move.stop_group} & self._stops.keys()
        pods = {uid: self._evictions[uid].pod for uid in unknown}
        unknown = {uid for uid in unknown if pod_template(pods[uid]) not in self._measured.stops}
        if not unknown:
            return _RemainingTime(seconds, seconds, 0, ends)
        slow_stops = {**self._stops, **{uid: float(self._grace_s(pods[uid])) for uid in unknown}}
        slow_timeline = self._timeline(slow_stops)
        slow_s = seconds if slow_timeline is None else max(seconds, slow_timeline.makespan_s * self._median_run.factor)
        return _RemainingTime(seconds, slow_s, len({pod_template(pods[uid]) for uid in unknown}), ends)

    def _timeline(self, stop_times: Mapping[str, float]) -> Timeline | None:
        nodes = self._remaining_nodes(stop_times)
        empty_for_s = {
            name: self._now_s - node.empty_since_s
            for name, node in self._nodes.items()
            if node.phase in (NodePhase.EMPTY, NodePhase.DETACHING)
        }
        reservations = ReservedPlacement(self._median_run.needs)
        for name, node in self._nodes.items():
            if node.has_ended:
                reservations.renew(name)
        lag_s = BUDGET_LAG_S if self._measured.lag_s is None else self._measured.lag_s
        terms = replace(self._median_run.terms, empty_for_s=empty_for_s, budget_lag_s=lag_s)
        timeline = simulate(nodes, terms, reservations, spans_only=True)
        return None if timeline.never_evicted else timeline

    def _remaining_nodes(self, stop_times: Mapping[str, float]) -> MovesByNode:
        """Return the nodes that have not ended, with their remaining pods; taken slots come first."""
        nodes: list[tuple[str, list[PodMove]]] = []
        first_started = -1
        for name, _ in self._median_run.nodes:
            node = self._nodes.get(name)
            if node is None or node.has_ended:
                continue
            is_begun = node.phase not in (NodePhase.OPEN, NodePhase.CORDONED)
            if is_begun and first_started < 0:
                first_started = len(nodes)
            nodes.append((name, list(self._moves_on(node, is_begun, stop_times))))
        if nodes:
            name, moves = nodes[max(first_started, 0)]
            nodes[max(first_started, 0)] = name, [*self._taken_slots(stop_times), *moves]
        return nodes

    def _moves_on(self, node: DrainedNode, is_begun: bool, stop_times: Mapping[str, float]) -> Iterator[PodMove]:
        for uid, eviction in node.evictions.items():
            if eviction.has_ended:
                continue
            move = self._move_of(uid)
            stop_s = stop_times[uid]
            if eviction.step is PodStep.WAITING:
                start_s = self._start_s(eviction.pod, move)
                yield move._replace(
                    stop_s=stop_s, start_s=start_s, waits_s=self._not_before_s(eviction, move, is_begun)
                )
            else:
                since_s = self._measured.requested_s.get(uid, eviction.since_s)
                yield PodMove("", (), _remaining_of(stop_s, self._now_s - since_s), critical=move.critical)

    def _taken_slots(self, stop_times: Mapping[str, float]) -> Iterator[PodMove]:
        """Yield the budget slots that are taken by requested pods while their replacements are not Ready."""
        free = dict(self._median_run.terms.slots)
        missing, unready = self._missing()
        for requested_pod in self._requested:
            move, never = requested_pod.move, requested_pod.move.replacement is Replacement.NEVER
            hold_s = 0.0 if never else self._slot_taken_s(requested_pod, stop_times, missing, unready)
            if hold_s is None or any(free.get(limit, 0) <= 0 for limit in move.limits):
                continue
            for limit in move.limits:
                free[limit] -= 1
            yield PodMove("", move.limits, 0.0, hold_s, move.replacement if never else Replacement.AT_ONCE, turn=-1)

    def _missing(self) -> tuple[Counter[str], Counter[str]]:
        """Return how many replacements are not Ready, by the UID of their owner, and how many of them exist already."""
        missing = Counter(
            _owner_uid(requested_pod.eviction.pod) for requested_pod in self._requested if _is_replaced(requested_pod)
        )
        missing.subtract(each.owner for each in self._engine.arrivals.values() if each.ready_s is not None)
        return missing, Counter(_owner_uid(pod) for pod in self._engine.unready)

    def _slot_taken_s(
        self,
        requested_pod: _RequestedPod,
        stop_times: Mapping[str, float],
        missing: Counter[str],
        unready: Counter[str],
    ) -> float | None:
        """Return how long the slot is taken; None if its replacement is Ready: the latest requests are counted as those
        without one."""
        move, pod = requested_pod.move, requested_pod.eviction.pod
        start_s, owner = self._start_s(pod, move), _owner_uid(pod)
        if not _is_replaced(requested_pod):
            stop_s = _remaining_of(stop_times.get(pod.uid, move.stop_s), requested_pod.since_s)
            return stop_s + (start_s if move.replacement is Replacement.AFTER_GONE else 0.0)
        if missing[owner] <= 0:
            return None
        missing[owner] -= 1
        waited_s = requested_pod.since_s if requested_pod.gone_since_s is None else requested_pod.gone_since_s
        ahead = missing[owner] - unready[owner] + 1
        if ahead > 0 and waited_s >= OBSERVATION_DELAY_S:
            return start_s * (ahead + 0.5)  # an ordered StatefulSet creates it when those before it are Ready
        return _remaining_of(start_s, waited_s if move.replacement is Replacement.AFTER_GONE else requested_pod.since_s)

    def _requested_pods(self) -> Iterator[_RequestedPod]:
        for uid, eviction in self._evictions.items():
            move = self._move_of(uid)
            if not move.limits or uid not in self._measured.requested_s:
                continue
            gone_s = self._measured.gone_s.get(uid)
            gone_since_s = None if gone_s is None else self._now_s - gone_s
            yield _RequestedPod(move, eviction, self._now_s - self._measured.requested_s[uid], gone_since_s)

    def _not_before_s(self, eviction: PodEviction, move: PodMove, is_begun: bool) -> float:
        """Return how long the pod cannot be requested."""
        held_s = (
            self._engine.observed.hold_end_s(eviction.planned.budget, self._now_s) if eviction.planned.budget else 0.0
        )
        if not is_begun:
            return max(move.waits_s, held_s - self._now_s)
        return max(0.0, eviction.evictable_from_s - self._now_s, held_s - self._now_s)

    def _start_s(self, pod: Pod, move: PodMove) -> float:
        """Return the expected start time; the planned value counts as one more measurement."""
        starts = self._measured.starts.get(pod.owner.uid, ()) if pod.owner is not None else ()
        return fmean([move.start_s, *starts])

    def _expected_stops(self) -> dict[str, float]:
        """Seconds from eviction to gone, by UID, of the existing pods.

        Pods of a measured template stop alike, until one takes far longer: then they may take up to the grace period.
        For other stopping pods a value between the elapsed time and the grace period is assumed; pods without any
        measurement stop like all others.
        """
        expected_s: dict[str, float] = {}
        unmeasured: list[tuple[str, PodEviction]] = []
        typical: list[float] = []
        for template, evictions in self._by_template().items():
            measured = self._measured.stops.get(template, [])
            elapsed = {
                uid: self._now_s - self._measured.requested_s[uid] for uid, _ in evictions if self._is_leaving(uid)
            }
            measured_moves = [each for uid, _ in evictions if not (each := self._move_of(uid)).stop_group]
            grace_s = max(self._grace_s(eviction.pod) for _, eviction in evictions)
            if measured:
                expected = fmean(measured)
                overdue = sorted(
                    uid for uid, elapsed_s in elapsed.items() if elapsed_s > UNUSUAL_FACTOR * max(measured)
                )
                spread = _spread(len(overdue), max((elapsed[uid] for uid in overdue), default=0.0), grace_s)
                unusual = dict(zip(overdue, spread, strict=True))
                expected = fmean([*measured, *unusual.values()])
            elif measured_moves:
                expected, unusual = fmean(move.stop_s for move in measured_moves), {}
            elif elapsed:
                max_s = max(MIN_STOP_S, *elapsed.values())
                expected, unusual = sqrt(max_s * max(max_s, grace_s)), {}
            else:
                unmeasured += evictions
                continue
            typical.append(expected)
            for uid, eviction in evictions:
                expected_s[uid] = unusual.get(
                    uid, min(expected, max(self._grace_s(eviction.pod), elapsed.get(uid, 0.0)))
                )
        for uid, eviction in unmeasured:
            planned_s = self._move_of(uid).stop_s
            expected_s[uid] = min(median(typical), self._grace_s(eviction.pod)) if typical else planned_s
        return expected_s | self._planned_stops()

    def _by_template(self) -> dict[str, list[tuple[str, PodEviction]]]:
        """Return the pods that are evicted and have not gone, by template."""
        by_template: dict[str, list[tuple[str, PodEviction]]] = defaultdict(list)
        for uid, eviction in self._evictions.items():
            if not eviction.has_ended and eviction.planned.eviction_mode.means is EvictionMethod.EVICT:
                by_template[pod_template(eviction.pod) or uid].append((uid, eviction))
        return by_template

    def _planned_stops(self) -> dict[str, float]:
        """Return the planned stop times of pods that are removed in other ways than an eviction; nothing is learned
        from them."""
        return {
            uid: self._move_of(uid).stop_s
            for uid, eviction in self._evictions.items()
            if not eviction.has_ended
            and (eviction.planned.eviction_mode.means is not EvictionMethod.EVICT or eviction.pod.finished)
        }

    def _is_leaving(self, uid: str) -> bool:
        return uid in self._measured.requested_s and uid not in self._measured.gone_s

    def _move_of(self, uid: str) -> PodMove:
        """Return the planned move of a pod; a pod that is not in the plan has no limits, as far as is known."""
        return self._moves.get(uid) or PodMove(uid)

    def _grace_s(self, pod: Pod) -> float:
        return float(self._engine.plan.policy.grace_period_of(pod))


def _is_replaced(requested_pod: _RequestedPod) -> bool:
    """Whether its replacement has been created, or is the next thing to be created."""
    return requested_pod.gone_since_s is not None or requested_pod.move.replacement not in (
        Replacement.AFTER_GONE,
        Replacement.SURGE,
    )


def _owner_uid(pod: Pod) -> str:
    return pod.owner.uid if pod.owner is not None else ""


def _remaining_of(seconds: float, elapsed_s: float) -> float:
    """Return the remaining time of a started step with this expected duration. A step that is late already gets
    later."""
    return max(seconds - elapsed_s, DELAY_SHARE * elapsed_s)


def _spread(count: int, min_s: float, max_s: float) -> list[float]:
    """Return `count` values spread evenly between both: their expected values if each time is equally likely."""
    max_s = max(min_s, max_s)
    return [min_s + (max_s - min_s) * (position + 1) / (count + 1) for position in range(count)]
