"""What is known of every node and pod of a drain by what happened: the same of a run, a rehearsal and a journal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.journal import aims_of
from kubectl_eksdoc.drain.run.moments import ASKED, THE_DRAIN, Happened, RunMoment

_NO_NODE = re.compile(r"[^-a-z0-9.]")
"""No name of a node has it; of whoever leads a run there is, as in ``ann@host/1/run``, and in "the drain"."""


class PodState(str, Enum):
    WAITING = "waiting"  # it has not been asked to go yet
    REFUSED = "refused"
    LEAVING = "leaving"  # it was asked to go, and nobody refused
    GONE = "gone"
    KEPT = "kept"  # it does not go until somebody changes something


class NodeState(str, Enum):
    """The last four are ends."""

    QUEUED = "queued"
    CORDONED = "cordoned"
    EVICTING = "evicting"
    EMPTY = "empty"  # it is not sure yet: the node is listed twice
    FOREIGN = "by others"  # somebody else drains it
    DONE = "drained"
    THEIRS = "emptied by others"
    GONE = "gone"  # the node itself; its pods may still be there
    ALONE = "left alone"


ENDS = frozenset((NodeState.DONE, NodeState.THEIRS, NodeState.GONE, NodeState.ALONE))


class PodCourse:
    """Mutable. `pod` is ns/name; `since_s`: when it came to its state; `why`: of a refusal, or of one that is kept;
    `refused`: so often in all."""

    __slots__ = ("pod", "refused", "since_s", "state", "why")

    def __init__(self, pod: str) -> None:
        self.pod = pod
        self.state = PodState.WAITING
        self.since_s = 0.0
        self.why = ""
        self.refused = 0


class NodeCourse:
    """Mutable. `pods` by ns/name in the plan's order, those that came later behind them; `gone` of them have.
    `begun_s` is None before its first eviction may be asked for, `ended_s` before its end."""

    def __init__(self, aimed: PlannedNode) -> None:
        self.node = aimed.node
        self.wave = aimed.wave
        self.pods = {pod: PodCourse(pod) for pod in aimed.pods}
        self.state = NodeState.QUEUED
        self.begun_s: float | None = None
        self.ended_s: float | None = None
        self.why = ""
        self.gone = 0


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node that is drained, with the pods (ns/name) that go, as far as that was known before. `wave` from 1, 0
    where there are none."""

    node: str
    wave: int
    pods: tuple[str, ...] = ()


def aimed_by(plan: DrainPlan) -> tuple[PlannedNode, ...]:
    """In the order in which nodes are emptied, and pods are evicted."""
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
    """Mutable. `moments` are all that happened so far; `held` and `stopped`: why nothing more is asked for, for now or
    for good, "" while it is."""

    def __init__(self, aims: Iterable[PlannedNode]) -> None:
        self.nodes = {aimed.node: NodeCourse(aimed) for aimed in aims}
        self.moments: list[RunMoment] = []
        self.held = ""
        self.stopped = ""
        self.refusals = 0

    @property
    def pods(self) -> int:
        """That are to go in all."""
        return sum(len(node.pods) for node in self.nodes.values())

    @property
    def gone(self) -> int:
        return sum(node.gone for node in self.nodes.values())

    def take(self, moments: Iterable[RunMoment]) -> None:
        """In the order in which they happened."""
        for moment in moments:
            self.moments.append(moment)
            self._take(moment)

    def _take(self, moment: RunMoment) -> None:
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
            self._gone_on_with()

    def _gone_on_with(self) -> None:
        """Somebody leads it from now on: what was left alone is taken up again."""
        self.held = self.stopped = ""
        for node in self.nodes.values():
            if node.state is NodeState.ALONE:
                node.state, node.why, node.ended_s = NodeState.CORDONED, "", None

    def _node(self, moment: RunMoment, node: NodeCourse, state: NodeState) -> None:
        if node.state in ENDS or (state is NodeState.CORDONED and node.state is not NodeState.QUEUED):
            return  # its cordon was asked for again
        node.state, node.why = state, moment.why
        if state is NodeState.EVICTING and node.begun_s is None:
            node.begun_s = moment.at_s
        if state in ENDS:
            node.ended_s = moment.at_s
        if state is NodeState.DONE:  # nothing that could go is on it any more, whoever saw it go
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
        if node.state in (NodeState.QUEUED, NodeState.CORDONED):  # a journal does not say when it was begun
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
        """What others drain is over when nothing is left of it, and nobody says so."""
        if node.state is NodeState.FOREIGN and node.gone == len(node.pods):
            node.state, node.ended_s = NodeState.THEIRS, at_s

    @staticmethod
    def _to(node: NodeCourse, pod: PodCourse, state: PodState, at_s: float) -> None:
        if pod.state is not state:
            node.gone += (state is PodState.GONE) - (pod.state is PodState.GONE)
            pod.state, pod.since_s = state, at_s


def _why(moment: RunMoment) -> str:
    """Why nothing more is asked for, never "": a journal says of some only who wanted it so, or not even that."""
    return moment.why or (f"by {moment.subject}" if moment.subject != THE_DRAIN else "no reason was recorded")
