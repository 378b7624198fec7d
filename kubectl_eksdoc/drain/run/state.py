"""State of every node and pod of a run, its events, and which nodes changed."""

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

# State of one node that is drained, or only cordoned, and of its pods to evict.


APART_S = 5.0
"""A node is listed this long after its last pod has gone, and again after the same time: a pod may have been on its way
to it."""


class NodePhase(Enum):
    """The last three are final."""

    OPEN = "open"  # not cordoned yet
    CORDONED = "cordoned"  # final for a node that is only cordoned
    ACTIVE = "active"
    EMPTY = "empty"  # observed empty, not listed twice yet
    DETACHING = "detaching"  # listed empty twice, volumes of its pods still attached
    GOING = "going"  # drained by another client, or not in the cluster any more: its pods are waited for
    DONE = "done"
    LEFT_ALONE = "left-alone"
    LOST = "lost"


ENDS = frozenset((NodePhase.DONE, NodePhase.LEFT_ALONE, NodePhase.LOST))


class DrainedNode:
    """Mutable. `evictions` by UID, in the plan's order; `staying_uids`: UIDs of the pods that the plan leaves on it;
    `blocked_late_pods`: pods (ns/name) that came later and cannot be evicted.

    `since_s`: when it entered its phase, or was last listed or cordoned; `empty_since_s`: when all evicted pods had
    gone; `empty_listings`: number of listings without pods; `failed_listings`: number of failed listings in a row;
    `cordon_answered`: its cordon has a response, and is repeated after a time; `cordon_refusals`: number of refusals of
    it; `cordon_failing_since_s`: since when it gets only server errors; `cordon_unseen_since_s`: since when it was not
    observed cordoned; `request_pending`: a cordon or a listing is in flight; `volumes_listed_s`: when its attached
    volumes were last listed.
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
        """Whether no pod is evicted from it."""
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
        """Return the pods that may be evicted now: the waiting ones of the first tier that has remaining pods."""
        left = [p for p in self.pursuits.values() if not p.over]
        tier = min((p.eviction.tier for p in left), default=0)
        return (p for p in left if p.eviction.tier == tier and p.step is PodStep.WAITING)

    def is_strange(self, pod: Pod) -> bool:
        """Whether a pod must not be on this node when it is empty: it was scheduled later, or has not gone yet."""
        if pod.mirror or comes_back_to_its_node(pod):
            return False
        return pod.deleting or not (pod.uid in self.stays or pod.finished)

    def is_unknown(self, pod: Pod) -> bool:
        """Whether a pod on this node should be in the plan and is not: it was scheduled later."""
        return self.is_strange(pod) and not pod.deleting and pod.uid not in self.pursuits

    def next_s(self, now_s: float) -> float:
        """When there is something to do for the node even without an update; infinity if there is not."""
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


# Timers: when something must be checked even without an update.


class Timers:
    """Mutable: the earliest requested time of each name."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, str]] = []
        self._due: dict[str, float] = {}

    @property
    def next_s(self) -> float:
        """The earliest time; infinity without one."""
        return self._heap[0][0] if self._heap else inf

    def set(self, name: str, when: float) -> None:
        """Set a time, `when` at the latest; infinity has no effect."""
        if when < self._due.get(name, inf):
            self._due[name] = when
            heapq.heappush(self._heap, (when, name))

    def due(self, now_s: float) -> Iterator[str]:
        """Yield and forget the names whose time has come."""
        while self._heap and self._heap[0][0] <= now_s:
            when, name = heapq.heappop(self._heap)
            if self._due.get(name) == when:
                del self._due[name]
                yield name


THE_RUN = "the drain"


class DrainRunState:
    """Mutable: the state that the parts of an engine share; it decides nothing. `nodes` by name, in the plan's order,
    followed by nodes that are only cordoned, including the targets `skipped` when the run started; `evictions` by UID;
    `timers` of nodes; `may_start_nodes`: whether another node may be startable."""

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
        """The nodes without those that are only cordoned."""
        return [node for node in self.nodes.values() if not node.cordon_only]

    # Changes

    @property
    def is_stirred(self) -> bool:
        return bool(self._stirred)

    def stir(self, names: Iterable[str]) -> None:
        """Mark nodes as changed; nodes that are not of this run are ignored."""
        self._stirred.update(name for name in names if name in self.nodes)

    def stir_all(self) -> None:
        self._stirred.update(self.nodes)

    def stir_pod(self, uid: str) -> None:
        if uid in self.pursuits:
            self.stir((self.pursuits[uid].eviction.node,))

    def stirred(self) -> list[DrainedNode]:
        """Return and forget the changed nodes, in the plan's order."""
        found = [self.nodes[name] for name in sorted(self._stirred, key=self._rank.__getitem__)]
        self._stirred = set()
        return found

    # Events

    def tell(self, at_s: float, what: Happened, subject: str = THE_RUN, node: str = "", why: str = "") -> None:
        self.moments.append(RunMoment(at_s, what, subject, node, why))

    def tell_pod(self, pursuit: PodPursuit, before: PodStep, now_s: float) -> None:
        """Record an event if the pod has ended since it was at the step `previous_step`."""
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
