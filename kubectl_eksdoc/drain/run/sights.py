"""What is seen of a node and its pods, and what has become of them by that: it counts more than any answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from kubectl_eksdoc.drain.outcome import Eviction, NotEvictedPod, PodVerdict
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.acting import VolumeDetaching
from kubectl_eksdoc.drain.run.answers import made_for
from kubectl_eksdoc.drain.run.asking import EvictionRequests
from kubectl_eksdoc.drain.run.board import ENDS, DrainedNode, DrainRunState, NodePhase
from kubectl_eksdoc.drain.run.guards import RunHolds
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.drain.run.patience import Stopping, is_stuck
from kubectl_eksdoc.drain.run.pursuits import PodPursuit, PodStep
from kubectl_eksdoc.kubernetes.cordon import foreign_drain
from kubectl_eksdoc.kubernetes.news import AllPods, News, PodGone, PodIs, PodsFound
from kubectl_eksdoc.model.acts import ListPods
from kubectl_eksdoc.model.journal import UNCORDONED
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.pods import Pod


class Observations:
    """Mutable by its parts. `partial`: a node with pods that do not go is emptied of the others all the same. `run`:
    the id that is noted on the nodes that we change, "" where none is."""

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
        self._look_at_pods(node, now_s)
        self._stopping.look(node, now_s)
        if is_stuck(node):
            self._board.leave_alone(node, now_s, _why_kept(node))
        elif self._stopping.is_abandoned(node, now_s):
            self._board.leave_alone(node, now_s, self._stopping.why_abandoned(node))
        elif node.phase is NodePhase.GOING and node.empty:
            self._board.end(node, NodePhase.LOST, now_s)
        elif node.phase is NodePhase.ACTIVE and node.kept and not self._partial:
            self._board.leave_alone(node, now_s, _why_kept(node))
        elif node.phase is NodePhase.ACTIVE and node.empty:
            node.to(NodePhase.EMPTY, now_s)
            node.empty_s = now_s
            self._board.tell(now_s, Happened.EMPTY, node.name)
        self._detaching.look(node, now_s)

    def _look_at_pods(self, node: DrainedNode, now_s: float) -> None:
        for pursuit in node.pursuits.values():
            before = pursuit.step
            pursuit.look(self._board.seen, now_s)
            if before is PodStep.ACCEPTED and pursuit.step in (PodStep.WAITING, PodStep.KEPT):
                self._board.stir(self._asking.free(pursuit))
            if pursuit.step in (PodStep.LEAVING, PodStep.GONE) and pursuit.step is not before:
                self._asking.goes(pursuit, now_s)
            self._board.tell_pod(pursuit, before, now_s)

    def _look_at_itself(self, node: DrainedNode, now_s: float) -> None:
        """It may be cordoned now, or in others' hands: then nobody fights for it, and its pods are waited for."""
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
        """Whether everybody can see that it is ours to drain: also what somebody had cordoned before is noted."""
        return not self._run or (there.note is not None and there.note.run == self._run and there.note.drains)

    def _whose_else(self, node: DrainedNode, there: Node) -> str:
        """Why it is another run's of ours; "" if it is not. What was noted on it when it was planned is over."""
        note, before = there.note, node.target.node.note
        if not self._run or note is None or note.run == self._run or (before is not None and note.run == before.run):
            return ""
        where = f" (its journal is in namespace {note.journal})" if note.journal else ""
        return f"another run of this tool has it, {note.run}{where}"


def _why_kept(node: DrainedNode) -> str:
    return "; ".join(f"{pursuit.pod.key}: {pursuit.said}" for pursuit in node.kept)


# Pods that came to a node after the plan was made: before its cordon, by a toleration, or past the scheduler.
#
# Whether they go, when and by which limits is for a plan to say, so a new one is asked for. Who sends pods back to the
# same node again and again is not fought: they are left, and so is the node. So is one that our own restart made: the
# user asked for no downtime, and another restart of the same run does nothing.


RETURNS = 2
"""So often pods of one owner that come back to one node are evicted again."""

_EMPTIED = (NodePhase.ACTIVE, NodePhase.EMPTY, NodePhase.DETACHING)


class LatePods:
    """Mutable."""

    def __init__(self, board: DrainRunState, asking: EvictionRequests, brakes: RunHolds, partial: bool) -> None:
        self._board = board
        self._asking = asking
        self._brakes = brakes
        self._partial = partial
        self._found: dict[str, set[str]] = defaultdict(set)  # by node: UIDs
        self._returned: Counter[tuple[str, str]] = Counter()  # by node and owner
        self._last = max((p.eviction.position for p in board.pursuits.values()), default=0)

    @property
    def on(self) -> dict[str, tuple[str, ...]]:
        """Their UIDs, by the nodes that are being emptied, or are empty but for them."""
        phases = {name: self._board.nodes[name].phase for name, uids in self._found.items() if uids}
        emptied = [name for name, phase in phases.items() if phase in _EMPTIED]
        return {name: tuple(sorted(self._found[name])) for name in emptied}

    def take(self, news: News) -> None:
        """What was told, once it is known to `seen`."""
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
        """They go as `plan` has it, behind all that was planned before; of what it says of others nothing is taken."""
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
        """Those that came back too often; the others have come back once more."""
        owners = {(node.name, _owner(each.pod)): None for each in evictions}
        tired = {key for key in owners if self._returned[key] >= RETURNS}
        self._returned.update(key for key in owners if key not in tired)
        ours = self._restarted()
        found = []
        for pod in (each.pod for each in evictions):
            if pod.owner is not None and (pod.namespace, made_for(pod.owner)) in ours:
                why = "this run has restarted its workload already, and the new pod came to a drained node"
                found.append(NotEvictedPod(pod, node.name, PodVerdict.BLOCKED, (), why))
            elif (node.name, _owner(pod)) in tired:
                why = f"{_owner(pod)} puts pods on this node again and again"
                found.append(NotEvictedPod(pod, node.name, PodVerdict.BLOCKED, (), why))
        return found

    def _restarted(self) -> set[tuple[str, str]]:
        """Namespace and name of the workloads that were."""
        asked = (p for p in self._board.pursuits.values() if p.step is not PodStep.WAITING)
        return {(p.pod.namespace, p.eviction.manner.restarts.name) for p in asked if p.eviction.manner.restarts}

    def _leave(self, node: DrainedNode, left: Iterable[NotEvictedPod], now_s: float) -> None:
        """What stays is nothing to anybody; for what should go and cannot the node is left alone, or only this pod."""
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
        self._brakes.expect(evictions)
        if node.phase is not NodePhase.ACTIVE:
            node.to(NodePhase.ACTIVE, now_s)
            node.listed = 0
        came = ", ".join(eviction.pod.key for eviction in evictions)
        self._board.tell(now_s, Happened.REPLANNED, node.name, why=f"came to it after the plan was made: {came}")
        self._board.stir((node.name,))


def _owner(pod: Pod) -> str:
    return f"{pod.owner.kind} {pod.namespace}/{pod.owner.name}" if pod.owner is not None else f"pod {pod.key}"
