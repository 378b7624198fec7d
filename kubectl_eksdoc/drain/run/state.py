"""State of every node and pod of a run, its events, and which nodes changed."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import Enum
from math import inf

from kubectl_eksdoc.kubernetes.replacement import returns_as_daemon_set_pod
from kubectl_eksdoc.model.nodes import Pod

from ..outcome import DrainTarget
from ..result import DrainPlan
from .events import THE_DRAIN, DrainEvent, DrainEventKind
from .pod_evictions import STOP_VISIBLE_S, ObservedState, PodEviction, PodStep

# State of one node that is drained, or only cordoned, and of its pods to evict.


LISTING_INTERVAL_S = 5.0
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


FINAL_PHASES = frozenset((NodePhase.DONE, NodePhase.LEFT_ALONE, NodePhase.LOST))


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

    def __init__(self, target: DrainTarget, evictions: dict[str, PodEviction], staying_uids: frozenset[str]) -> None:
        self.target = target
        self.evictions = evictions
        self.staying_uids = staying_uids
        self.blocked_late_pods: tuple[str, ...] = ()
        self.phase = NodePhase.OPEN
        self.since_s = 0.0
        self.empty_since_s = 0.0
        self.volumes_listed_s = -inf
        self.empty_listings = 0
        self.failed_listings = 0
        self.cordon_answered = False
        self.cordon_refusals = 0
        self.cordon_failing_since_s: float | None = None
        self.cordon_unseen_since_s: float | None = None
        self.request_pending = False

    @property
    def name(self) -> str:
        return self.target.node.name

    @property
    def cordon_only(self) -> bool:
        """Whether no pod is evicted from it."""
        return self.target.cordon_only

    @property
    def has_ended(self) -> bool:
        return self.phase in FINAL_PHASES or (self.cordon_only and self.phase is NodePhase.CORDONED)

    @property
    def is_empty(self) -> bool:
        return all(eviction.has_ended for eviction in self.evictions.values())

    @property
    def kept_evictions(self) -> list[PodEviction]:
        return [eviction for eviction in self.evictions.values() if eviction.step is PodStep.KEPT]

    @property
    def remaining_pods(self) -> tuple[str, ...]:
        """The pods (ns/name) that have not gone."""
        return (*(p.pod.key for p in self.evictions.values() if p.step is not PodStep.GONE), *self.blocked_late_pods)

    def set_phase(self, phase: NodePhase, now_s: float) -> None:
        self.phase, self.since_s = phase, now_s
        if phase is NodePhase.ACTIVE:
            for eviction in self.evictions.values():
                eviction.start(now_s)

    def due_evictions(self) -> Iterator[PodEviction]:
        """Return the pods that may be evicted now: the waiting ones of the first tier that has remaining pods."""
        remaining = [p for p in self.evictions.values() if not p.has_ended]
        tier = min((p.planned.tier for p in remaining), default=0)
        return (p for p in remaining if p.planned.tier == tier and p.step is PodStep.WAITING)

    def is_unexpected(self, pod: Pod) -> bool:
        """Whether a pod must not be on this node when it is empty: it was scheduled later, or has not gone yet."""
        if pod.is_mirror or returns_as_daemon_set_pod(pod):
            return False
        return pod.deleting or not (pod.uid in self.staying_uids or pod.finished)

    def is_unplanned(self, pod: Pod) -> bool:
        """Whether a pod on this node should be in the plan and is not: it was scheduled later."""
        return self.is_unexpected(pod) and not pod.deleting and pod.uid not in self.evictions

    def next_s(self, now_s: float) -> float:
        """When there is something to do for the node even without an update; infinity if there is not."""
        if self.has_ended:
            return inf
        times = [self.since_s + LISTING_INTERVAL_S] if self.phase in (NodePhase.OPEN, NodePhase.EMPTY) else []
        if self.phase is NodePhase.ACTIVE:
            for eviction in self.evictions.values():
                if eviction.step is PodStep.ACCEPTED:
                    times.append(eviction.since_s + STOP_VISIBLE_S)
                elif eviction.step is PodStep.REPLACED:
                    times.append(eviction.since_s + eviction.replaced_s)
                elif eviction.step in (PodStep.WAITING, PodStep.IN_DOUBT):
                    times.append(eviction.not_before_s)
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


class DrainRunState:
    """Mutable: the state that the parts of an engine share; it decides nothing. `nodes` by name, in the plan's order,
    followed by nodes that are only cordoned, including the targets `skipped` when the run started; `evictions` by UID;
    `timers` of nodes; `may_start_nodes`: whether another node may be startable."""

    def __init__(self, plan: DrainPlan, observed: ObservedState, skipped: Iterable[DrainTarget] = ()) -> None:
        self.observed = observed
        evictions_by_node: dict[str, dict[str, PodEviction]] = defaultdict(dict)
        for eviction in sorted(plan.evictions, key=lambda each: each.position):
            evictions_by_node[eviction.node][eviction.pod.uid] = PodEviction(eviction)
        staying: dict[str, set[str]] = defaultdict(set)
        for not_evicted in plan.left:
            staying[not_evicted.node].add(not_evicted.pod.uid)
        targets = (*(target for target in plan.targets if target.order), *plan.cordoned_only, *skipped)
        self.nodes = {
            t.node.name: DrainedNode(t, evictions_by_node[t.node.name], frozenset(staying[t.node.name]))
            for t in targets
        }
        self.evictions = {
            uid: pod_eviction for node in self.nodes.values() for uid, pod_eviction in node.evictions.items()
        }
        self.timers = Timers()
        self.may_start_nodes = False
        self.events: list[DrainEvent] = []
        self._order = {name: place for place, name in enumerate(self.nodes)}
        self._changed = set(self.nodes)

    @property
    def drained(self) -> list[DrainedNode]:
        """The nodes without those that are only cordoned."""
        return [node for node in self.nodes.values() if not node.cordon_only]

    # Changes

    @property
    def has_changes(self) -> bool:
        return bool(self._changed)

    def mark_changed(self, names: Iterable[str]) -> None:
        """Mark nodes as changed; nodes that are not of this run are ignored."""
        self._changed.update(name for name in names if name in self.nodes)

    def mark_all_changed(self) -> None:
        self._changed.update(self.nodes)

    def mark_pod_changed(self, uid: str) -> None:
        if uid in self.evictions:
            self.mark_changed((self.evictions[uid].planned.node,))

    def take_changed(self) -> list[DrainedNode]:
        """Return and forget the changed nodes, in the plan's order."""
        changed = [self.nodes[name] for name in sorted(self._changed, key=self._order.__getitem__)]
        self._changed = set()
        return changed

    # Events

    def record_event(
        self, at_s: float, kind: DrainEventKind, subject: str = THE_DRAIN, node: str = "", reason: str = ""
    ) -> None:
        self.events.append(DrainEvent(at_s, kind, subject, node, reason))

    def record_pod_end(self, eviction: PodEviction, previous_step: PodStep, now_s: float) -> None:
        """Record an event if the pod has ended since it was at the step `previous_step`."""
        kinds = {PodStep.GONE: DrainEventKind.GONE, PodStep.KEPT: DrainEventKind.KEPT}
        if eviction.step is not previous_step and eviction.step in kinds:
            kind = DrainEventKind.FINISHED if eviction.finished else kinds[eviction.step]
            self.record_event(now_s, kind, eviction.pod.key, eviction.planned.node, eviction.message)

    def end_node(self, node: DrainedNode, phase: NodePhase, now_s: float) -> None:
        node.set_phase(phase, now_s)
        self.may_start_nodes = True

    def leave_alone(self, node: DrainedNode, now_s: float, reason: str) -> None:
        self.end_node(node, NodePhase.LEFT_ALONE, now_s)
        self.record_event(now_s, DrainEventKind.LEFT_ALONE, node.name, reason=reason)
