"""History of every node and pod of a drain, computed from events: the same for a run, a rehearsal and a journal."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from statistics import median

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.nodes import Pod

from ..duration.timing import template_of
from ..policy import Means
from ..result import DrainPlan
from .engine import Engine
from .events import ASKED, THE_DRAIN, Happened, RunMoment
from .journal import aims_of

_NO_NODE = re.compile(r"[^-a-z0-9.]")
"""No node name contains such a character; the name of a leader does, as in ``ann@host/1/run``, and so does "the
drain"."""


class PodState(str, Enum):
    WAITING = "waiting"  # its removal was not requested yet
    REFUSED = "refused"
    LEAVING = "leaving"  # its removal was requested and not refused
    GONE = "gone"
    KEPT = "kept"  # it stays until a user changes something


class NodeState(str, Enum):
    """The last four are final."""

    QUEUED = "queued"
    CORDONED = "cordoned"
    EVICTING = "evicting"
    EMPTY = "empty"  # not confirmed yet: the node is listed twice
    FOREIGN = "by others"  # another client drains it
    DONE = "drained"
    THEIRS = "emptied by others"
    GONE = "gone"  # the node itself; its pods may still exist
    ALONE = "left alone"


ENDS = frozenset((NodeState.DONE, NodeState.THEIRS, NodeState.GONE, NodeState.ALONE))


class PodCourse:
    """Mutable. `pod` is ns/name; `since_s`: when it entered its state; `reason`: of a refusal, or of a pod that is
    kept; `refusals`: number of refusals."""

    __slots__ = ("pod", "refused", "since_s", "state", "why")

    def __init__(self, pod: str) -> None:
        self.pod = pod
        self.state = PodState.WAITING
        self.since_s = 0.0
        self.why = ""
        self.refused = 0


class NodeCourse:
    """Mutable. `pods` by ns/name in the plan's order, later pods behind them; `gone`: number of pods that have gone.
    `started_s` is None until its first eviction may be requested, `ended_s` until it has ended."""

    def __init__(self, aimed: PlannedNode) -> None:
        self.node = aimed.node
        self.wave = aimed.wave
        self.pods = {pod: PodCourse(pod) for pod in aimed.pods}
        self.state = NodeState.QUEUED
        self.begun_s: float | None = None
        self.ended_s: float | None = None
        self.why = ""
        self.gone = 0


@frozen
class PlannedNode:
    """A drained node with the pods (ns/name) to evict, as far as known. `wave` from 1, 0 if there are no waves."""

    node: str
    wave: int
    pods: tuple[str, ...] = ()


def aimed_by(plan: DrainPlan) -> tuple[PlannedNode, ...]:
    """Return the nodes in drain order, each with its pods in eviction order."""
    pods: dict[str, list[str]] = {}
    for eviction in plan.evictions:
        pods.setdefault(eviction.node, []).append(eviction.pod.key)
    return tuple(PlannedNode(aim.node, aim.wave, tuple(pods.get(aim.node, ()))) for aim in aims_of(plan))


_NODES: Mapping[Happened, NodeState] = {
    Happened.CORDONED: NodeState.CORDONED,
    Happened.BEGUN: NodeState.EVICTING,
    Happened.EMPTY: NodeState.EMPTY,
    Happened.DONE: NodeState.DONE,
    Happened.LEFT_ALONE: NodeState.ALONE,
    Happened.LOST: NodeState.GONE,
    Happened.ADOPTED: NodeState.FOREIGN,
}

_PODS: Mapping[Happened, PodState] = {
    **dict.fromkeys(ASKED, PodState.LEAVING),
    Happened.REFUSED: PodState.REFUSED,
    Happened.FINISHED: PodState.GONE,
    Happened.GONE: PodState.GONE,
    Happened.KEPT: PodState.KEPT,
}


class RunHistory:
    """Mutable. `events` are all events so far; `hold_reason` and `stop_reason`: why no requests are sent, for now or
    for good, "" while they are. Every report of a run uses its counts: requests that the server granted (`granted`, by
    kind of event) and refused (`refusals`), nodes that are `drained`, and the time that this took."""

    def __init__(self, aims: Iterable[PlannedNode]) -> None:
        self.nodes = {aimed.node: NodeCourse(aimed) for aimed in aims}
        self.moments: list[RunMoment] = []
        self.held = ""
        self.stopped = ""
        self.asked: Counter[Happened] = Counter()
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
        known = [each for each in ends if each is not None]
        return max(known) if known and len(known) == len(ends) else None

    @property
    def pods(self) -> int:
        """Number of pods to evict in total."""
        return sum(len(node.pods) for node in self.nodes.values())

    @property
    def gone(self) -> int:
        return sum(node.gone for node in self.nodes.values())

    def take(self, moments: Iterable[RunMoment]) -> None:
        """Add events in the order in which they happened."""
        for moment in moments:
            self.moments.append(moment)
            self.asked[moment.what] += moment.what in ASKED
            what = moment.what
            if what is Happened.HELD:
                self.held = _why(moment)
            elif what is Happened.RELEASED:
                self.held = ""
            elif what is Happened.STOPPED:
                self.stopped = _why(moment)
            elif what in _PODS and moment.node in self.nodes:
                self._pod(moment, self.nodes[moment.node], _PODS[what])
            elif what in _NODES and moment.subject in self.nodes:
                self._node(moment, self.nodes[moment.subject], _NODES[what])
            elif what is Happened.ADOPTED and _NO_NODE.search(moment.subject):
                # A new leader adopted the run: nodes that were left alone are tried again.
                self.held = self.stopped = ""
                for node in self.nodes.values():
                    if node.state is NodeState.ALONE:
                        node.state, node.why, node.ended_s = NodeState.CORDONED, "", None

    def _node(self, moment: RunMoment, node: NodeCourse, state: NodeState) -> None:
        if node.state in ENDS or (state is NodeState.CORDONED and node.state is not NodeState.QUEUED):
            return  # its cordon was requested again
        node.state, node.why = state, moment.why
        if state is NodeState.EVICTING and node.begun_s is None:
            node.begun_s = moment.at_s
        if state in ENDS:
            node.ended_s = moment.at_s
        if state is NodeState.DONE:  # no evictable pod is on it any more, even if its removal was not observed
            for pod in node.pods.values():
                if pod.state is not PodState.KEPT:
                    self._to(node, pod, PodState.GONE, moment.at_s)
        self._yielded(node, moment.at_s)

    def _pod(self, moment: RunMoment, node: NodeCourse, state: PodState) -> None:
        pod = node.pods.get(moment.subject)
        if pod is None:
            if moment.what is Happened.RESTARTED:
                return  # a journal names the workload, not the pod
            pod = node.pods[moment.subject] = PodCourse(moment.subject)
        if node.state in (NodeState.QUEUED, NodeState.CORDONED):  # a journal does not say when the node was started
            node.state = NodeState.EVICTING
            node.begun_s = moment.at_s if node.begun_s is None else node.begun_s
        if state is PodState.REFUSED:
            self.refusals += 1
            pod.refused += 1
        pod.why = moment.why
        self._to(node, pod, state, moment.at_s)
        self._yielded(node, moment.at_s)

    @staticmethod
    def _yielded(node: NodeCourse, at_s: float) -> None:
        """End a node that another client drains when none of its pods remain; no event reports that."""
        if node.state is NodeState.FOREIGN and node.gone == len(node.pods):
            node.state, node.ended_s = NodeState.THEIRS, at_s

    @staticmethod
    def _to(node: NodeCourse, pod: PodCourse, state: PodState, at_s: float) -> None:
        if pod.state is not state:
            node.gone += (state is PodState.GONE) - (pod.state is PodState.GONE)
            pod.state, pod.since_s = state, at_s


def _why(moment: RunMoment) -> str:
    """Return why no requests are sent, never "": some journal entries have only the requester, or not even that."""
    return moment.why or (f"by {moment.subject}" if moment.subject != THE_DRAIN else "no reason was recorded")


# Measured times of a run: pods to stop, replacements to start, budgets to be updated.


LONGEST_LAG_S = 10.0
"""A longer lag has causes other than the budget's update."""


class MeasuredStopTimes:
    """Mutable: how long the pods of a plan took to stop in this run, by UID and by template, and how long replacements
    took to get a node (`pending`) and then to start, by their owners' UIDs. `lag_s`: from then until the next pod of
    its budget was evicted."""

    def __init__(self, plan: DrainPlan) -> None:
        self._pods = {each.pod.key: each.pod for each in plan.evictions}
        self._evicted = {each.pod.uid for each in plan.evictions if each.manner.means is Means.EVICTION}
        self.asked_s: dict[str, float] = {}  # by UID
        self.gone_s: dict[str, float] = {}  # likewise
        self.stops: dict[str, list[float]] = defaultdict(list)
        self.starts: dict[str, list[float]] = {}
        self.pending: dict[str, list[float]] = {}
        self.lag_s: float | None = None
        self._looked = 0
        self._written: Counter[str] = Counter()

    def look(self, moments: Sequence[RunMoment]) -> None:
        for moment in moments[self._looked :]:
            pod = self._pods.get(moment.subject)
            if pod is None:
                continue
            if moment.what in ASKED:
                self.asked_s.setdefault(pod.uid, moment.at_s)
            elif moment.what is Happened.GONE and pod.uid not in self.gone_s:
                self.gone_s[pod.uid] = moment.at_s
                if (took_s := self.stop_s(pod)) is not None:
                    self.stops[template_of(pod)].append(took_s)
        self._looked = len(moments)

    def stop_s(self, pod: Pod) -> float | None:
        """Return the time from its eviction until it was gone; None if it was not evicted, has not gone or had finished
        before."""
        if pod.uid not in self._evicted or pod.finished or not self.asked_s.keys() & self.gone_s.keys() & {pod.uid}:
            return None
        return self.gone_s[pod.uid] - self.asked_s[pod.uid]

    def see(self, engine: Engine) -> None:
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
        asked_s: dict[str, list[float]] = defaultdict(list)
        owners: dict[str, set[str]] = defaultdict(set)
        for node in engine.nodes:
            for uid, pursuit in node.pursuits.items():
                budget, owner = pursuit.eviction.budget, pursuit.pod.owner
                if budget and owner is not None:
                    owners[budget].add(owner.uid)
                    if uid in self.asked_s:
                        asked_s[budget].append(self.asked_s[uid])
        one_by_one = {each.budget.key for each in engine.plan.budgets if each.per_round == 1}
        for budget in one_by_one & owners.keys():
            if len(owners[budget]) == 1:
                (only,) = owners[budget]
                for before_s, next_s in zip(ready_s[only], sorted(asked_s[budget])[1:], strict=False):
                    if before_s is not None and 0 <= next_s - before_s <= LONGEST_LAG_S:
                        yield next_s - before_s

    def unwritten(self) -> Iterator[tuple[str, Sequence[float]]]:
        """Yield stop times by template that were not returned before."""
        for template, stops in self.stops.items():
            new = stops[self._written[template] :]
            if template and new:
                self._written[template] = len(stops)
                yield template, new


def holds(moments: Iterable[RunMoment], ended_s: float) -> list[tuple[float, float]]:
    """Return start and end of each time in which the run sent no requests."""
    since_s, spans = None, []
    for moment in moments:
        if moment.what is Happened.HELD:
            since_s = moment.at_s if since_s is None else since_s
        elif moment.what is Happened.RELEASED and since_s is not None:
            spans.append((since_s, moment.at_s))
            since_s = None
    return spans if since_s is None else [*spans, (since_s, ended_s)]


def held_for_s(moments: Iterable[RunMoment], ended_s: float) -> float:
    """Return the total time in which the run sent no requests."""
    return sum(until_s - since_s for since_s, until_s in holds(moments, ended_s))
