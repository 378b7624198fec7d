"""History of every node and pod of a drain, computed from events: the same for a run, a rehearsal and a journal."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from statistics import median

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.nodes import Pod

from ..duration.timing import pod_template
from ..policy import EvictionMethod
from ..result import DrainPlan
from .engine import Engine
from .events import REMOVAL_EVENTS, THE_DRAIN, DrainEvent, DrainEventKind
from .journal import drained_nodes

_NOT_A_NODE_NAME = re.compile(r"[^-a-z0-9.]")
"""No node name contains such a character; the name of a leader does, as in ``ann@host/1/run``, and so does "the
drain"."""


class PodState(str, Enum):
    WAITING = "waiting"  # its removal was not requested yet
    REFUSED = "refused"
    STOPPING = "leaving"  # its removal was requested and not refused
    GONE = "gone"
    KEPT = "kept"  # it stays until a user changes something


class NodeState(str, Enum):
    """The last four are final."""

    QUEUED = "queued"
    CORDONED = "cordoned"
    EVICTING = "evicting"
    EMPTY = "empty"  # not confirmed yet: the node is listed twice
    DRAINED_BY_OTHERS = "by others"  # another client drains it
    DONE = "drained"
    EMPTIED_BY_OTHERS = "emptied by others"
    GONE = "gone"  # the node itself; its pods may still exist
    LEFT_ALONE = "left alone"


FINAL_STATES = frozenset((NodeState.DONE, NodeState.EMPTIED_BY_OTHERS, NodeState.GONE, NodeState.LEFT_ALONE))


class PodHistory:
    """Mutable. `pod` is ns/name; `since_s`: when it entered its state; `reason`: of a refusal, or of a pod that is
    kept; `refusals`: number of refusals."""

    __slots__ = ("pod", "reason", "refusals", "since_s", "state")

    def __init__(self, pod: str) -> None:
        self.pod = pod
        self.state = PodState.WAITING
        self.since_s = 0.0
        self.reason = ""
        self.refusals = 0


class NodeHistory:
    """Mutable. `pods` by ns/name in the plan's order, later pods behind them; `gone`: number of pods that have gone.
    `started_s` is None until its first eviction may be requested, `ended_s` until it has ended."""

    def __init__(self, planned: PlannedNode) -> None:
        self.node = planned.node
        self.wave = planned.wave
        self.pods = {pod: PodHistory(pod) for pod in planned.pods}
        self.state = NodeState.QUEUED
        self.started_s: float | None = None
        self.ended_s: float | None = None
        self.reason = ""
        self.gone = 0


@frozen
class PlannedNode:
    """A drained node with the pods (ns/name) to evict, as far as known. `wave` from 1, 0 if there are no waves."""

    node: str
    wave: int
    pods: tuple[str, ...] = ()


def planned_nodes(plan: DrainPlan) -> tuple[PlannedNode, ...]:
    """Return the nodes in drain order, each with its pods in eviction order."""
    pods: dict[str, list[str]] = {}
    for eviction in plan.evictions:
        pods.setdefault(eviction.node, []).append(eviction.pod.key)
    return tuple(
        PlannedNode(planned_node.node, planned_node.wave, tuple(pods.get(planned_node.node, ())))
        for planned_node in drained_nodes(plan)
    )


_NODE_STATES: Mapping[DrainEventKind, NodeState] = {
    DrainEventKind.CORDONED: NodeState.CORDONED,
    DrainEventKind.BEGUN: NodeState.EVICTING,
    DrainEventKind.EMPTY: NodeState.EMPTY,
    DrainEventKind.DONE: NodeState.DONE,
    DrainEventKind.LEFT_ALONE: NodeState.LEFT_ALONE,
    DrainEventKind.LOST: NodeState.GONE,
    DrainEventKind.ADOPTED: NodeState.DRAINED_BY_OTHERS,
}

_POD_STATES: Mapping[DrainEventKind, PodState] = {
    **dict.fromkeys(REMOVAL_EVENTS, PodState.STOPPING),
    DrainEventKind.REFUSED: PodState.REFUSED,
    DrainEventKind.FINISHED: PodState.GONE,
    DrainEventKind.GONE: PodState.GONE,
    DrainEventKind.KEPT: PodState.KEPT,
}


class RunHistory:
    """Mutable. `events` are all events so far; `hold_reason` and `stop_reason`: why no requests are sent, for now or
    for good, "" while they are. Every report of a run uses its counts: requests that the server granted (`granted`, by
    kind of event) and refused (`refusals`), nodes that are `drained`, and the time that this took."""

    def __init__(self, planned: Iterable[PlannedNode]) -> None:
        self.nodes = {aimed.node: NodeHistory(aimed) for aimed in planned}
        self.events: list[DrainEvent] = []
        self.hold_reason = ""
        self.stop_reason = ""
        self.granted: Counter[DrainEventKind] = Counter()
        self.refusals = 0

    @property
    def drained(self) -> int:
        """Number of nodes that were emptied, or are not in the cluster any more."""
        return sum(node.state in (NodeState.DONE, NodeState.GONE) for node in self.nodes.values())

    @property
    def drained_s(self) -> float | None:
        """When the last node ended, None before: an estimate predicts this time. Afterwards the run waits for Ready
        replacements."""
        ends = [node.ended_s for node in self.nodes.values()]
        known_ends = [each for each in ends if each is not None]
        return max(known_ends) if known_ends and len(known_ends) == len(ends) else None

    @property
    def pods(self) -> int:
        """Number of pods to evict in total."""
        return sum(len(node.pods) for node in self.nodes.values())

    @property
    def gone(self) -> int:
        return sum(node.gone for node in self.nodes.values())

    def add(self, events: Iterable[DrainEvent]) -> None:
        """Add events in the order in which they happened."""
        for event in events:
            self.events.append(event)
            self.granted[event.what] += event.what in REMOVAL_EVENTS
            kind = event.what
            if kind is DrainEventKind.HELD:
                self.hold_reason = _hold_reason(event)
            elif kind is DrainEventKind.RELEASED:
                self.hold_reason = ""
            elif kind is DrainEventKind.STOPPED:
                self.stop_reason = _hold_reason(event)
            elif kind in _POD_STATES and event.node in self.nodes:
                self._update_pod(event, self.nodes[event.node], _POD_STATES[kind])
            elif kind in _NODE_STATES and event.subject in self.nodes:
                self._update_node(event, self.nodes[event.subject], _NODE_STATES[kind])
            elif kind is DrainEventKind.ADOPTED and _NOT_A_NODE_NAME.search(event.subject):
                # A new leader adopted the run: nodes that were left alone are tried again.
                self.hold_reason = self.stop_reason = ""
                for node in self.nodes.values():
                    if node.state is NodeState.LEFT_ALONE:
                        node.state, node.reason, node.ended_s = NodeState.CORDONED, "", None

    def _update_node(self, event: DrainEvent, node: NodeHistory, state: NodeState) -> None:
        if node.state in FINAL_STATES or (state is NodeState.CORDONED and node.state is not NodeState.QUEUED):
            return  # its cordon was requested again
        node.state, node.reason = state, event.why
        if state is NodeState.EVICTING and node.started_s is None:
            node.started_s = event.at_s
        if state in FINAL_STATES:
            node.ended_s = event.at_s
        if state is NodeState.DONE:  # no evictable pod is on it any more, even if its removal was not observed
            for pod in node.pods.values():
                if pod.state is not PodState.KEPT:
                    self._set_pod_state(node, pod, PodState.GONE, event.at_s)
        self._end_if_emptied(node, event.at_s)

    def _update_pod(self, event: DrainEvent, node: NodeHistory, state: PodState) -> None:
        pod = node.pods.get(event.subject)
        if pod is None:
            if event.what is DrainEventKind.RESTARTED:
                return  # a journal names the workload, not the pod
            pod = node.pods[event.subject] = PodHistory(event.subject)
        if node.state in (NodeState.QUEUED, NodeState.CORDONED):  # a journal does not say when the node was started
            node.state = NodeState.EVICTING
            node.started_s = event.at_s if node.started_s is None else node.started_s
        if state is PodState.REFUSED:
            self.refusals += 1
            pod.refusals += 1
        pod.reason = event.why
        self._set_pod_state(node, pod, state, event.at_s)
        self._end_if_emptied(node, event.at_s)

    @staticmethod
    def _end_if_emptied(node: NodeHistory, at_s: float) -> None:
        """End a node that another client drains when none of its pods remain; no event reports that."""
        if node.state is NodeState.DRAINED_BY_OTHERS and node.gone == len(node.pods):
            node.state, node.ended_s = NodeState.EMPTIED_BY_OTHERS, at_s

    @staticmethod
    def _set_pod_state(node: NodeHistory, pod: PodHistory, state: PodState, at_s: float) -> None:
        if pod.state is not state:
            node.gone += (state is PodState.GONE) - (pod.state is PodState.GONE)
            pod.state, pod.since_s = state, at_s


def _hold_reason(event: DrainEvent) -> str:
    """Return why no requests are sent, never "": some journal entries have only the requester, or not even that."""
    return event.why or (f"by {event.subject}" if event.subject != THE_DRAIN else "no reason was recorded")


# Measured times of a run: pods to stop, replacements to start, budgets to be updated.


MAX_LAG_S = 10.0
"""A longer lag has causes other than the budget's update."""


class MeasuredStopTimes:
    """Mutable: how long the pods of a plan took to stop in this run, by UID and by template, and how long replacements
    took to get a node (`pending`) and then to start, by their owners' UIDs. `lag_s`: from then until the next pod of
    its budget was evicted."""

    def __init__(self, plan: DrainPlan) -> None:
        self._pods = {each.pod.key: each.pod for each in plan.evictions}
        self._evicted = {each.pod.uid for each in plan.evictions if each.eviction_mode.means is EvictionMethod.EVICT}
        self.requested_s: dict[str, float] = {}  # by UID
        self.gone_s: dict[str, float] = {}  # likewise
        self.stops: dict[str, list[float]] = defaultdict(list)
        self.starts: dict[str, list[float]] = {}
        self.pending: dict[str, list[float]] = {}
        self.lag_s: float | None = None
        self._handled_events = 0
        self._returned: Counter[str] = Counter()

    def add_events(self, events: Sequence[DrainEvent]) -> None:
        for event in events[self._handled_events :]:
            pod = self._pods.get(event.subject)
            if pod is None:
                continue
            if event.what in REMOVAL_EVENTS:
                self.requested_s.setdefault(pod.uid, event.at_s)
            elif event.what is DrainEventKind.GONE and pod.uid not in self.gone_s:
                self.gone_s[pod.uid] = event.at_s
                if (duration_s := self.stop_s(pod)) is not None:
                    self.stops[pod_template(pod)].append(duration_s)
        self._handled_events = len(events)

    def stop_s(self, pod: Pod) -> float | None:
        """Return the time from its eviction until it was gone; None if it was not evicted, has not gone or had finished
        before."""
        if pod.uid not in self._evicted or pod.finished or not self.requested_s.keys() & self.gone_s.keys() & {pod.uid}:
            return None
        return self.gone_s[pod.uid] - self.requested_s[pod.uid]

    def add_replacements(self, engine: Engine) -> None:
        self.starts, self.pending = defaultdict(list), defaultdict(list)
        ready_s: dict[str, list[float | None]] = defaultdict(list)
        for arrival in engine.arrivals.values():
            if arrival.ready_s is not None and arrival.scheduled_s is not None:
                self.starts[arrival.owner].append(arrival.ready_s - arrival.scheduled_s)
                self.pending[arrival.owner].append(arrival.scheduled_s - arrival.since_s)
            ready_s[arrival.owner].append(arrival.ready_s)
        lags = sorted(self._lags(engine, ready_s))
        self.lag_s = median(lags) if lags else None

    def _lags(self, engine: Engine, ready_s: Mapping[str, list[float | None]]) -> Iterator[float]:
        """Yield times from the readiness of a replacement to the next eviction, for budgets that allow one eviction at
        a time."""
        requested_s: dict[str, list[float]] = defaultdict(list)
        owners: dict[str, set[str]] = defaultdict(set)
        for node in engine.nodes:
            for uid, eviction in node.evictions.items():
                budget, owner = eviction.planned.budget, eviction.pod.owner
                if budget and owner is not None:
                    owners[budget].add(owner.uid)
                    if uid in self.requested_s:
                        requested_s[budget].append(self.requested_s[uid])
        one_by_one = {each.budget.key for each in engine.plan.budgets if each.per_round == 1}
        for budget in one_by_one & owners.keys():
            if len(owners[budget]) == 1:
                (only,) = owners[budget]
                for before_s, next_s in zip(ready_s[only], sorted(requested_s[budget])[1:], strict=False):
                    if before_s is not None and 0 <= next_s - before_s <= MAX_LAG_S:
                        yield next_s - before_s

    def unwritten(self) -> Iterator[tuple[str, Sequence[float]]]:
        """Yield stop times by template that were not returned before."""
        for template, stop_times in self.stops.items():
            new_stops = stop_times[self._returned[template] :]
            if template and new_stops:
                self._returned[template] = len(stop_times)
                yield template, new_stops


def hold_spans(events: Iterable[DrainEvent], ended_s: float) -> list[tuple[float, float]]:
    """Return start and end of each time in which the run sent no requests."""
    since_s, spans = None, []
    for event in events:
        if event.what is DrainEventKind.HELD:
            since_s = event.at_s if since_s is None else since_s
        elif event.what is DrainEventKind.RELEASED and since_s is not None:
            spans.append((since_s, event.at_s))
            since_s = None
    return spans if since_s is None else [*spans, (since_s, ended_s)]


def total_hold_s(events: Iterable[DrainEvent], ended_s: float) -> float:
    """Return the total time in which the run sent no requests."""
    return sum(until_s - since_s for since_s, until_s in hold_spans(events, ended_s))
