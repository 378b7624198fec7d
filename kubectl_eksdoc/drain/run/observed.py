"""Observed state of nodes and pods, and the phases that follow from it: observation outranks any response. Also handles
responses to the actions of a run, and pods that came after the plan was made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.drain_filters import foreign_drain
from kubectl_eksdoc.kubernetes.news import AllPods, AttachedVolumes, News, PodGone, PodIs, PodsFound, RequestAnswered
from kubectl_eksdoc.model.actions import (
    Cordon,
    Delete,
    Evict,
    Exclude,
    ListPods,
    Look,
    OfPod,
    Protect,
    Release,
    Restart,
)
from kubectl_eksdoc.model.journal import UNCORDONED
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.quantities import duration

from ..outcome import Eviction, NotEvictedPod, PodVerdict
from ..result import DrainPlan
from .actions import Excluding, VolumeDetaching
from .answers import ACCEPTED, error_of, made_for, meaning
from .events import Happened
from .eviction_requests import EvictionRequests
from .guards import RunHolds
from .pod_evictions import PodPursuit, PodStep
from .replacements import Protecting
from .stall_timeouts import Stopping, alarm, is_stuck, said_of
from .state import ENDS, DrainedNode, DrainRunState, NodePhase


class Observations:
    """Mutable by its parts. `partial`: a node with pods that cannot be evicted is still emptied of the others. `run`:
    the run id in the notes on the nodes that this run changes, "" if there is none."""

    def __init__(
        self,
        board: DrainRunState,
        asking: EvictionRequests,
        detaching: VolumeDetaching,
        stopping: Stopping,
        partial: bool,
        run: str,
    ) -> None:
        self._run = run
        self._board = board
        self._asking = asking
        self._detaching = detaching
        self._stopping = stopping
        self._partial = partial

    def look(self, node: DrainedNode, now_s: float) -> None:
        if node.phase not in ENDS:
            self._look_at_itself(node, now_s)
        for pursuit in node.pursuits.values():
            before = pursuit.step
            pursuit.look(self._board.seen, now_s)
            if before is PodStep.ACCEPTED and pursuit.step in (PodStep.WAITING, PodStep.KEPT):
                self._board.stir(self._asking.free(pursuit))
            if pursuit.step in (PodStep.LEAVING, PodStep.GONE) and pursuit.step is not before:
                self._asking.patience.goes(pursuit, now_s)
            self._board.tell_pod(pursuit, before, now_s)
        self._stopping.look(node, now_s)
        if is_stuck(node):
            self._board.leave_alone(node, now_s, _why_kept(node))
        elif self._stopping.is_abandoned(node, now_s):
            self._board.leave_alone(node, now_s, self._stopping.why_abandoned(node))
        elif node.phase is NodePhase.GOING and node.empty:
            self._board.end(node, NodePhase.LOST, now_s)
        elif node.phase is NodePhase.ACTIVE and node.kept and (node.empty or not self._partial):
            self._board.leave_alone(node, now_s, _why_kept(node))
        elif node.phase is NodePhase.ACTIVE and node.empty:
            node.to(NodePhase.EMPTY, now_s)
            node.empty_s = now_s
            self._board.tell(now_s, Happened.EMPTY, node.name)
        self._detaching.look(node, now_s)

    def _look_at_itself(self, node: DrainedNode, now_s: float) -> None:
        """Update the phase of the node itself. It may be cordoned now, or drained by another client: the run does not
        compete with that client, and only waits for the pods."""
        if node.phase is NodePhase.GOING:
            return
        board = self._board
        there = board.seen.nodes.get(node.name)
        if there is None or there.uid != node.target.node.uid:
            node.to(NodePhase.GOING, now_s)
            board.tell(now_s, Happened.LOST, node.name, why="it is not in the cluster any more")
        elif foreign := foreign_drain(there):
            node.to(NodePhase.GOING, now_s)
            board.tell(now_s, Happened.ADOPTED, node.name, why=foreign.said)
        elif why := self._whose_else(node, there):
            board.leave_alone(node, now_s, why)
        elif node.phase is NodePhase.OPEN and there.unschedulable and self._is_noted(there):
            node.to(NodePhase.CORDONED, now_s)
            board.may_begin = True
            board.tell(now_s, Happened.CORDONED_ONLY if node.cordon_only else Happened.CORDONED, node.name)
        elif node.phase is not NodePhase.OPEN and not there.unschedulable:
            board.leave_alone(node, now_s, f"{UNCORDONED}: it is not cordoned again without being asked")

    def _is_noted(self, there: Node) -> bool:
        """Whether the note of this run is on the node. A node that another client cordoned before is noted as well."""
        return not self._run or (there.note is not None and there.note.run == self._run and there.note.drains)

    def _whose_else(self, node: DrainedNode, there: Node) -> str:
        """Return why the node belongs to another run of this tool; "" if it does not. A note that existed when the plan
        was made no longer counts."""
        note, before = there.note, node.target.node.note
        if not self._run or note is None or note.run == self._run or (before is not None and note.run == before.run):
            return ""
        where = f" (its journal is in namespace {note.journal})" if note.journal else ""
        return f"another run of this tool has it, {note.run}{where}"


def _why_kept(node: DrainedNode) -> str:
    return "; ".join(f"{pursuit.pod.key}: {pursuit.said}" for pursuit in node.kept)


# Pods that were scheduled onto a node after the plan was made: before its cordon, through a toleration, or by another
# scheduler.
#
# A new plan decides whether, when and under which limits they are evicted. If an owner puts pods onto the same node
# again and again, they are kept and the node is left alone. The same applies to a pod that this run's own restart
# created: the user asked for no downtime, and another restart in the same run has no effect.


RETURNS = 2
"""Pods of one owner that are rescheduled onto the same node are evicted again this many times."""

_EMPTIED = (NodePhase.ACTIVE, NodePhase.EMPTY, NodePhase.DETACHING)


class LatePods:
    """Mutable. Pods that were scheduled onto drained nodes after the plan was made."""

    def __init__(self, board: DrainRunState, asking: EvictionRequests, brakes: RunHolds, partial: bool) -> None:
        self._board = board
        self._asking = asking
        self._brakes = brakes
        self._partial = partial
        self._found: dict[str, set[str]] = defaultdict(set)  # UIDs by node
        self._returned: Counter[tuple[str, str]] = Counter()  # by node and owner
        self._last = max((p.eviction.position for p in board.pursuits.values()), default=0)

    @property
    def on(self) -> dict[str, tuple[str, ...]]:
        """UIDs of late pods by node, for nodes that are being emptied, or are empty except for them."""
        phases = {name: self._board.nodes[name].phase for name, uids in self._found.items() if uids}
        emptied = [name for name, phase in phases.items() if phase in _EMPTIED]
        return {name: tuple(sorted(self._found[name])) for name in emptied}

    def take(self, news: News) -> None:
        """Handle an update that `observed` already contains."""
        seen = self._board.seen
        match news:
            case PodIs(pod, _):
                self._look(seen.pod(pod.uid))
            case PodGone(uid, _):
                for uids in self._found.values():
                    uids.discard(uid)
            case AllPods():
                self._found.clear()
                for pod in seen.pods():
                    self._look(pod)
            case PodsFound(ListPods(), pods):
                for pod in pods:
                    self._look(seen.pod(pod.uid))

    def _look(self, pod: Pod | None) -> None:
        node = self._board.nodes.get(pod.node) if pod is not None else None
        if pod is None or node is None or node.cordon_only:
            return
        if node.is_unknown(pod):
            self._found[node.name].add(pod.uid)
        else:
            self._found[node.name].discard(pod.uid)

    def extend(self, plan: DrainPlan, now_s: float) -> None:
        """Evict the late pods as `plan` says, after everything planned before; the rest of `plan` is ignored."""
        going = {eviction.pod.uid: eviction for eviction in plan.evictions}
        staying = {left.pod.uid: left for left in plan.left}
        drained = {target.node.name: target for target in plan.targets}
        for name, uids in self.on.items():
            node, target = self._board.nodes[name], drained.get(name)
            if target is None:
                continue
            if not target.order:
                self._board.leave_alone(node, now_s, "; ".join(target.why))
                continue
            left = [staying[uid] for uid in uids if uid in staying]
            evictions = [going[uid] for uid in uids if uid in going]
            left += self._not_again(node, evictions)
            kept = {each.pod.uid for each in left}
            self._leave(node, left, now_s)
            if not node.over:
                self._go(node, [each for each in evictions if each.pod.uid not in kept], plan.slots, now_s)
        self._last += max((eviction.position for eviction in plan.evictions), default=0)

    def _not_again(self, node: DrainedNode, evictions: Iterable[Eviction]) -> list[NotEvictedPod]:
        """Return the pods that were rescheduled too often; count one more return for the others."""
        owners = {(node.name, _owner(each.pod)): None for each in evictions}
        tired = {key for key in owners if self._returned[key] >= RETURNS}
        self._returned.update(key for key in owners if key not in tired)
        # Namespace and name of the workloads that this run has restarted.
        asked = (p for p in self._board.pursuits.values() if p.step is not PodStep.WAITING)
        ours = {(p.pod.namespace, p.eviction.manner.restarts.name) for p in asked if p.eviction.manner.restarts}
        found = []
        for pod in (each.pod for each in evictions):
            if pod.owner is not None and (pod.namespace, made_for(pod.owner)) in ours:
                why = "this run has restarted its workload already, and the new pod came to a drained node"
                found.append(NotEvictedPod(pod, node.name, PodVerdict.BLOCKED, (), why))
            elif (node.name, _owner(pod)) in tired:
                why = f"{_owner(pod)} puts pods on this node again and again"
                found.append(NotEvictedPod(pod, node.name, PodVerdict.BLOCKED, (), why))
        return found

    def _leave(self, node: DrainedNode, left: Iterable[NotEvictedPod], now_s: float) -> None:
        """Keep these pods. A pod with verdict STAY is ignored. For a pod that should be evicted and cannot be, the node
        is left alone, or only the pod if `partial`."""
        held = [each for each in left if each.verdict is not PodVerdict.STAY]
        node.stays |= {each.pod.uid for each in left}
        node.held += tuple(each.pod.key for each in held)
        self._found[node.name] -= {each.pod.uid for each in left}
        for each in held:
            self._board.tell(now_s, Happened.KEPT, each.pod.key, node.name, each.reason)
        if held and not self._partial:
            self._board.leave_alone(node, now_s, "; ".join(f"{each.pod.key}: {each.reason}" for each in held))

    def _go(self, node: DrainedNode, evictions: list[Eviction], slots: Mapping[str, int], now_s: float) -> None:
        if not evictions:
            return
        for eviction in evictions:
            pursuit = PodPursuit(eviction._replace(position=self._last + eviction.position))
            node.pursuits[eviction.pod.uid] = self._board.pursuits[eviction.pod.uid] = pursuit
            pursuit.begin(now_s)
            self._found[node.name].discard(eviction.pod.uid)
        self._asking.expect(evictions, slots)
        self._brakes.guards.expect(evictions)
        if node.phase is not NodePhase.ACTIVE:
            node.to(NodePhase.ACTIVE, now_s)
            node.listed = 0
        came = ", ".join(eviction.pod.key for eviction in evictions)
        self._board.tell(now_s, Happened.REPLANNED, node.name, why=f"came to it after the plan was made: {came}")
        self._board.stir((node.name,))


def _owner(pod: Pod) -> str:
    return f"{pod.owner.kind} {pod.namespace}/{pod.owner.name}" if pod.owner is not None else f"pod {pod.key}"


LOOK_S = 90.0
"""Duration of a failing read: a minute of retries and the pause after it."""

CORDON_TRIES = 5
"""A node is left alone after this many refusals of its cordon (refusals as such, not conflicts or throttling)."""

PATIENT = 2
"""Errors on one node's cordon are tolerated this many times as long as errors that stop the whole drain."""


class Replies:
    """Mutable by its parts. `blocked_s`: how long to wait for unexpected pods on an empty node, and for a cordon
    without effect; `failing_s`: how long to retry a server that answers only with errors."""

    def __init__(
        self,
        board: DrainRunState,
        asking: EvictionRequests,
        excluding: Excluding,
        detaching: VolumeDetaching,
        protecting: Protecting,
        blocked_s: float,
        failing_s: float,
    ) -> None:
        self._board = board
        self._asking = asking
        self._excluding = excluding
        self._detaching = detaching
        self._protecting = protecting
        self._blocked_s = blocked_s
        self._failing_s = failing_s

    def take(self, news: RequestAnswered | PodsFound | AttachedVolumes, now_s: float) -> None:
        board = self._board
        match news:
            case RequestAnswered(Cordon(name), answer):
                self._cordon(board.nodes[name], answer, now_s)
            case RequestAnswered(Evict() | Restart() | Delete() as act, answer):
                self._pod(board.pursuits[act.pod.uid], act, answer, now_s)
            case PodsFound(Look(pod), pods):
                self._found(board.pursuits[pod.uid], next(iter(pods), None), now_s)
            case RequestAnswered(Look(pod), answer):
                # The read is repeated; the pod is given up when reads fail for too long.
                pursuit = board.pursuits[pod.uid]
                said = said_of(answer)
                before = pursuit.step
                pursuit.not_found(said, self._looks, now_s)
                if pursuit.step is PodStep.KEPT:
                    self._board.stir(self._asking.free(pursuit))
                self._board.tell_pod(pursuit, before, now_s)
                self._board.stir((pursuit.eviction.node,))
            case RequestAnswered(ListPods(name), answer):
                self._not_listed(board.nodes[name], said_of(answer), now_s)
            case PodsFound(ListPods(name), pods):
                self._listed(board.nodes[name], pods, now_s)
            case RequestAnswered(Exclude() as act, answer):
                self._excluding.answered(act, answer, now_s)
            case RequestAnswered(Protect() | Release() as act, answer):
                self._protecting.answered(act, answer, now_s)
            case AttachedVolumes():
                self._detaching.take(news, now_s)

    def _cordon(self, node: DrainedNode, answer: ApiStatus | LostAnswer, now_s: float) -> None:
        """Handle the response to a cordon. Success alone is not enough: the node is started when it is observed
        unschedulable."""
        node.asked, node.answered, node.since_s = False, True, now_s
        self._board.stir((node.name,))
        node.unseen_s = now_s if node.unseen_s is None else node.unseen_s
        if isinstance(answer, ApiStatus) and answer.ok:
            if now_s - node.unseen_s >= self._blocked_s:
                so_long = duration(self._blocked_s)
                self._board.leave_alone(node, now_s, f"its cordon is accepted, and not seen on it for {so_long}")
            return
        said = said_of(answer)
        self._board.tell(now_s, Happened.REFUSED, node.name, why=said)
        if self._is_hopeless(node, answer, now_s):
            self._board.leave_alone(node, now_s, f"it cannot be cordoned: {said}")

    def _is_hopeless(self, node: DrainedNode, answer: ApiStatus | LostAnswer, now_s: float) -> bool:
        """Whether this response to the cordon was the last one accepted. Server errors that also affect other nodes
        stop the whole drain before this limit is reached."""
        if error_of(answer):
            node.failing_s = now_s if node.failing_s is None else node.failing_s
            return now_s - node.failing_s >= PATIENT * self._failing_s
        node.failing_s = None
        if isinstance(answer, ApiStatus) and answer.code not in (409, 429):
            node.tries += 1
        return node.tries >= CORDON_TRIES or (node.unseen_s is not None and now_s - node.unseen_s >= self._blocked_s)

    def _pod(self, pursuit: PodPursuit, act: OfPod, answer: ApiStatus | LostAnswer, now_s: float) -> None:
        eviction, before = pursuit.eviction, pursuit.step
        reading = meaning(act, answer)
        pursuit.answered(reading, now_s)
        self._asking.pace.answered(reading, now_s)
        if pursuit.step in (PodStep.WAITING, PodStep.KEPT):
            self._board.stir(self._asking.free(pursuit))
            self._asking.patience.waits(pursuit, now_s)
            self._board.tell(now_s, Happened.REFUSED, pursuit.pod.key, eviction.node, pursuit.said or reading.said)
        elif isinstance(answer, ApiStatus) and answer.ok:
            self._asking.patience.goes(pursuit, now_s)
            self._board.tell(now_s, ACCEPTED[eviction.manner.means], pursuit.pod.key, eviction.node)
        if not (pursuit.over or pursuit.alarmed) and (why := alarm(pursuit, now_s, self._blocked_s)):
            pursuit.alarmed = True
            self._board.tell(now_s, Happened.WARNED, pursuit.pod.key, eviction.node, why)
        self._board.tell_pod(pursuit, before, now_s)
        self._board.stir((eviction.node,))

    def _found(self, pursuit: PodPursuit, pod: Pod | None, now_s: float) -> None:
        before = pursuit.step
        pursuit.found(pod, self._board.seen, now_s)
        if pursuit.step is PodStep.WAITING and before is not PodStep.WAITING:
            self._board.stir(self._asking.free(pursuit))
            self._asking.patience.waits(pursuit, now_s)
        self._board.tell_pod(pursuit, before, now_s)
        self._board.stir((pursuit.eviction.node,))

    def _not_listed(self, node: DrainedNode, said: str, now_s: float) -> None:
        node.asked, node.since_s = False, now_s
        node.unlisted += 1
        self._board.stir((node.name,))
        if node.phase is NodePhase.EMPTY and node.unlisted >= self._looks:
            self._board.leave_alone(node, now_s, f"which pods are on it cannot be listed: {said}")

    @property
    def _looks(self) -> int:
        """Number of failed reads that are too many: each takes a minute."""
        return max(2, int(self._blocked_s / LOOK_S))

    def _listed(self, node: DrainedNode, pods: Sequence[Pod], now_s: float) -> None:
        node.asked, node.since_s, node.unlisted = False, now_s, 0
        self._board.stir((node.name,))
        if node.phase is not NodePhase.EMPTY:
            return
        strange = sorted(pod.key for pod in pods if node.is_strange(pod))
        node.listed = 0 if strange else node.listed + 1
        if strange and now_s - node.empty_s >= self._blocked_s:
            node.held += tuple(strange)
            self._board.leave_alone(node, now_s, f"still on it: {', '.join(strange)}")
        if node.listed == 2 and not self._detaching.begin(node, pods, now_s):
            self._board.end(node, NodePhase.DONE, now_s)
            self._board.tell(now_s, Happened.DONE, node.name)
