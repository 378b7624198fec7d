"""Where every node and pod of a run stands, what has happened to them, and which of them are to be looked at again."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import Enum
from math import inf

from kubectl_eksdoc.kubernetes.replacement import comes_back_to_its_node
from kubectl_eksdoc.model.nodes import Pod

from ..outcome import DrainTarget
from ..result import DrainPlan
from .events import Happened, RunMoment
from .pod_evictions import BELIEVED_S, ObservedState, PodPursuit, PodStep

# One node that is drained, or only cordoned: where it stands, and the pods of it that have to go.


APART_S = 5.0
"""A node is listed so long after its last pod has gone, and again after that: one may have been on its way to it."""


class NodePhase(Enum):
    """The last three are ends."""

    OPEN = "open"  # not cordoned yet
    CORDONED = "cordoned"  # the end of one that is only cordoned
    ACTIVE = "active"
    EMPTY = "empty"  # seen empty, not listed twice yet
    DETACHING = "detaching"  # listed empty twice, with volumes of its pods still attached
    GOING = "going"  # somebody else empties it, or it is not in the cluster any more: its pods are waited for
    DONE = "done"
    LEFT_ALONE = "left-alone"
    LOST = "lost"


ENDS = frozenset((NodePhase.DONE, NodePhase.LEFT_ALONE, NodePhase.LOST))


class DrainedNode:
    """Mutable. `pursuits` by UID, in the plan's order; `stays`: UIDs of the pods that the plan leaves on it; `held`:
    pods (ns/name) that came later and cannot go.

    `since_s`: when it came to its phase, or was listed or cordoned last; `empty_s`: when all that was asked for had
    gone; `listed`: so often it was found empty, `unlisted`: so often in a row nobody could list what is on it;
    `answered`: its cordon was, and is asked for again after a time, `tries`: so often it was refused as such,
    `failing_s`: since when only with errors of the server, `unseen_s`: since when without being seen
    cordoned; `asked`: a cordon or a list is under way; `looked_s`: when its attached volumes were listed last.
    """

    def __init__(self, target: DrainTarget, pursuits: dict[str, PodPursuit], stays: frozenset[str]) -> None:
        self.target = target
        self.pursuits = pursuits
        self.stays = stays
        self.held: tuple[str, ...] = ()
        self.phase = NodePhase.OPEN
        self.since_s = 0.0
        self.empty_s = 0.0
        self.looked_s = -inf
        self.listed = 0
        self.unlisted = 0
        self.answered = False
        self.tries = 0
        self.failing_s: float | None = None
        self.unseen_s: float | None = None
        self.asked = False

    @property
    def name(self) -> str:
        return self.target.node.name

    @property
    def cordon_only(self) -> bool:
        """Whether nothing is evicted from it."""
        return self.target.cordon_only

    @property
    def over(self) -> bool:
        return self.phase in ENDS or (self.cordon_only and self.phase is NodePhase.CORDONED)

    @property
    def empty(self) -> bool:
        return all(pursuit.over for pursuit in self.pursuits.values())

    @property
    def kept(self) -> list[PodPursuit]:
        return [pursuit for pursuit in self.pursuits.values() if pursuit.step is PodStep.KEPT]

    @property
    def left(self) -> tuple[str, ...]:
        """The pods (ns/name) that have not gone."""
        return (*(p.pod.key for p in self.pursuits.values() if p.step is not PodStep.GONE), *self.held)

    def to(self, phase: NodePhase, now_s: float) -> None:
        self.phase, self.since_s = phase, now_s
        if phase is NodePhase.ACTIVE:
            for pursuit in self.pursuits.values():
                pursuit.begin(now_s)

    def turn(self) -> Iterator[PodPursuit]:
        """The pods that may be asked for: those waiting of the first tier of which not all are gone."""
        left = [p for p in self.pursuits.values() if not p.over]
        tier = min((p.eviction.tier for p in left), default=0)
        return (p for p in left if p.eviction.tier == tier and p.step is PodStep.WAITING)

    def is_strange(self, pod: Pod) -> bool:
        """Whether a pod should not be on this node once it is empty: one that came, or one that has not gone yet."""
        if pod.mirror or comes_back_to_its_node(pod):
            return False
        return pod.deleting or not (pod.uid in self.stays or pod.finished)

    def is_unknown(self, pod: Pod) -> bool:
        """Whether a pod on this node is none of the plan's, and would have to be: it came later."""
        return self.is_strange(pod) and not pod.deleting and pod.uid not in self.pursuits

    def next_s(self, now_s: float) -> float:
        """When there is something to do for it though nothing is told; infinity where there is not."""
        if self.over:
            return inf
        times = [self.since_s + APART_S] if self.phase in (NodePhase.OPEN, NodePhase.EMPTY) else []
        if self.phase is NodePhase.ACTIVE:
            for pursuit in self.pursuits.values():
                if pursuit.step is PodStep.ACCEPTED:
                    times.append(pursuit.since_s + BELIEVED_S)
                elif pursuit.step is PodStep.REPLACED:
                    times.append(pursuit.since_s + pursuit.replaced_s)
                elif pursuit.step in (PodStep.WAITING, PodStep.IN_DOUBT):
                    times.append(pursuit.not_before_s)
        return min((each for each in times if each > now_s), default=inf)


# When something is to be looked at again though nothing is told about it.


class Timers:
    """Mutable: of each name the earliest time that was asked for."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, str]] = []
        self._due: dict[str, float] = {}

    @property
    def next_s(self) -> float:
        """The earliest of all; infinity without one."""
        return self._heap[0][0] if self._heap else inf

    def set(self, name: str, when: float) -> None:
        """At `when` at the latest; infinity: not at all."""
        if when < self._due.get(name, inf):
            self._due[name] = when
            heapq.heappush(self._heap, (when, name))

    def due(self, now_s: float) -> Iterator[str]:
        """Those whose time has come; they are forgotten."""
        while self._heap and self._heap[0][0] <= now_s:
            when, name = heapq.heappop(self._heap)
            if self._due.get(name) == when:
                del self._due[name]
                yield name


THE_RUN = "the drain"


class DrainRunState:
    """Mutable: what the parts of an engine have in common; it decides nothing. `nodes` by name, in the plan's order,
    those behind them that are only cordoned, the targets `skipped` when the run began among these;
    `pursuits` by UID; `timers` of nodes; `may_begin`: whether a node may have become the next one."""

    def __init__(self, plan: DrainPlan, seen: ObservedState, skipped: Iterable[DrainTarget] = ()) -> None:
        self.seen = seen
        going: dict[str, dict[str, PodPursuit]] = defaultdict(dict)
        for eviction in sorted(plan.evictions, key=lambda each: each.position):
            going[eviction.node][eviction.pod.uid] = PodPursuit(eviction)
        stays: dict[str, set[str]] = defaultdict(set)
        for left in plan.left:
            stays[left.node].add(left.pod.uid)
        targets = (*(target for target in plan.targets if target.order), *plan.cordoned_only, *skipped)
        self.nodes = {t.node.name: DrainedNode(t, going[t.node.name], frozenset(stays[t.node.name])) for t in targets}
        self.pursuits = {uid: pursuit for node in self.nodes.values() for uid, pursuit in node.pursuits.items()}
        self.timers = Timers()
        self.may_begin = False
        self.moments: list[RunMoment] = []
        self._rank = {name: place for place, name in enumerate(self.nodes)}
        self._stirred = set(self.nodes)

    @property
    def drained(self) -> list[DrainedNode]:
        """Without those that are only cordoned."""
        return [node for node in self.nodes.values() if not node.cordon_only]

    # What is new

    @property
    def is_stirred(self) -> bool:
        return bool(self._stirred)

    def stir(self, names: Iterable[str]) -> None:
        """Something is new about these nodes; others than the run's are none of its business."""
        self._stirred.update(name for name in names if name in self.nodes)

    def stir_all(self) -> None:
        self._stirred.update(self.nodes)

    def stir_pod(self, uid: str) -> None:
        if uid in self.pursuits:
            self.stir((self.pursuits[uid].eviction.node,))

    def stirred(self) -> list[DrainedNode]:
        """The nodes about which something is new, in the plan's order; they are forgotten."""
        found = [self.nodes[name] for name in sorted(self._stirred, key=self._rank.__getitem__)]
        self._stirred = set()
        return found

    # What has happened

    def tell(self, at_s: float, what: Happened, subject: str = THE_RUN, node: str = "", why: str = "") -> None:
        self.moments.append(RunMoment(at_s, what, subject, node, why))

    def tell_pod(self, pursuit: PodPursuit, before: PodStep, now_s: float) -> None:
        """If it has come to an end since it was at `before`."""
        told = {PodStep.GONE: Happened.GONE, PodStep.KEPT: Happened.KEPT}
        if pursuit.step is not before and pursuit.step in told:
            what = Happened.FINISHED if pursuit.finished else told[pursuit.step]
            self.tell(now_s, what, pursuit.pod.key, pursuit.eviction.node, pursuit.said)

    def end(self, node: DrainedNode, phase: NodePhase, now_s: float) -> None:
        node.to(phase, now_s)
        self.may_begin = True

    def leave_alone(self, node: DrainedNode, now_s: float, why: str) -> None:
        self.end(node, NodePhase.LEFT_ALONE, now_s)
        self.tell(now_s, Happened.LEFT_ALONE, node.name, why=why)
