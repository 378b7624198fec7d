"""What is to be done now for nodes about which something is new: cordon them, evict from them, look again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from kubectl_eksdoc.drain.run.answers import act_for
from kubectl_eksdoc.drain.run.balancers import Excluding
from kubectl_eksdoc.drain.run.events import Happened
from kubectl_eksdoc.drain.run.eviction_requests import EvictionRequests
from kubectl_eksdoc.drain.run.guards import RunHolds
from kubectl_eksdoc.drain.run.pod_evictions import PodPursuit, PodStep
from kubectl_eksdoc.drain.run.stall_timeouts import SameNames, Stopping
from kubectl_eksdoc.drain.run.state import APART_S, THE_RUN, DrainedNode, DrainRunState, NodePhase
from kubectl_eksdoc.kubernetes.news import AttachedVolumes
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import Act, Cordon, ListAttachments, ListPods, Look
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import duration

# The volumes of the pods that were evicted from a node: it is not done before they are detached from it.
#
# An EBS volume is on one node at a time: until it is off this one its pod starts nowhere else, and a machine that is
# terminated with it still attached keeps it for minutes. Volumes of pods that stay are none of a drain's business.


FORCED_S = 360.0
"""After so long the attach-detach controller takes a volume off a node by force, be it still mounted there
(ReconcilerMaxWaitForUnmountDuration, pkg/controller/volume/attachdetach/attach_detach_controller.go)."""


class VolumeDetaching:
    """Mutable. Asked of nodes that were found empty as often as they have to be."""

    def __init__(self, board: DrainRunState) -> None:
        self._board = board
        cluster = board.seen.first
        self._volumes = {claim.key: claim.volume for claim in cluster.claims if claim.volume}
        self._unread = "; ".join(read.detail for read in cluster.unread(kinds.CLAIMS))
        self._waited: dict[str, set[str]] = {}  # by node, the volumes that were to be detached when it was asked last
        self._off = False

    def begin(self, node: DrainedNode, left: Sequence[Pod], now_s: float) -> bool:
        """Whether there is something to wait for; `left` are the pods that are on it now."""
        gone = [pursuit.pod for pursuit in node.pursuits.values() if pursuit.step is PodStep.GONE]
        if self._unread and any(_claims(pod) for pod in gone):
            self._give_up(f"persistentvolumeclaims: {self._unread}", now_s)
        volumes = self._of(gone) - self._of(left)
        if self._off or not volumes:
            return False
        self._waited[node.name] = volumes
        node.to(NodePhase.DETACHING, now_s)
        return True

    def take(self, news: AttachedVolumes, now_s: float) -> None:
        node = self._board.nodes[news.act.node]
        node.asked, node.looked_s = False, now_s
        self._board.stir((node.name,))
        if news.refused:
            self._give_up(news.unread, now_s)
        elif not news.unread and node.name in self._waited:
            self._waited[node.name] &= set(news.volumes)

    def look(self, node: DrainedNode, now_s: float) -> None:
        """Whether the waiting is over."""
        if node.phase is not NodePhase.DETACHING:
            return
        volumes = self._waited[node.name]
        if volumes and not self._off and now_s - node.since_s < FORCED_S:
            return
        if volumes and not self._off:
            why = f"still attached to it after {duration(FORCED_S)}: {', '.join(sorted(volumes))}"
            self._board.tell(now_s, Happened.WARNED, node.name, why=why)
        self._board.end(node, NodePhase.DONE, now_s)
        self._board.tell(now_s, Happened.DONE, node.name)

    def is_due(self, node: DrainedNode, now_s: float) -> bool:
        """Whether it is time to ask what is attached to it."""
        return node.phase is NodePhase.DETACHING and not node.asked and now_s >= node.looked_s + APART_S

    def next_s(self, node: DrainedNode) -> float:
        if node.phase is not NodePhase.DETACHING:
            return inf
        ends_s = node.since_s + FORCED_S
        return ends_s if node.asked else min(ends_s, node.looked_s + APART_S)

    def _of(self, pods: Iterable[Pod]) -> set[str]:
        return {self._volumes[claim] for pod in pods for claim in _claims(pod) if claim in self._volumes}

    def _give_up(self, why: str, now_s: float) -> None:
        if not self._off:
            self._off = True
            said = f"nodes are done without waiting until the volumes of their pods are detached: {why}"
            self._board.tell(now_s, Happened.WARNED, THE_RUN, why=said)
        self._board.stir_all()


def _claims(pod: Pod) -> list[str]:
    return [f"{pod.namespace}/{volume.detail}" for volume in pod.volumes if volume.has_claim]


class NodeActions:
    """Mutable by its parts. `grace_s`: how long pods get to stop, None for each its own."""

    def __init__(
        self,
        board: DrainRunState,
        asking: EvictionRequests,
        excluding: Excluding,
        detaching: VolumeDetaching,
        stopping: Stopping,
        brakes: RunHolds,
        grace_s: int | None,
    ) -> None:
        self._board = board
        self._asking = asking
        self._excluding = excluding
        self._detaching = detaching
        self._stopping = stopping
        self._brakes = brakes
        self._grace_s = grace_s
        self._same_names = SameNames(board)

    def acts(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[Act]:
        """In this order: all cordons, then evictions in the plan's order, with what comes before each, then what is
        looked at."""
        if self._brakes.stopped:
            self._drop(self._excluding.dropped(), now_s)
        elif not self._brakes.is_paused:
            yield from self._cordons(nodes, now_s)
        if not self._brakes.on:
            yield from self._held(nodes, now_s)
            yield from self._evictions(nodes, now_s)
        for node in nodes:
            for pursuit in node.pursuits.values():
                if pursuit.step is PodStep.IN_DOUBT and not pursuit.looked_for and pursuit.not_before_s <= now_s:
                    pursuit.looked_for = True
                    yield Look(pursuit.pod)
            if node.phase is NodePhase.EMPTY and not node.asked and now_s >= node.since_s + APART_S:
                node.asked = True
                yield ListPods(node.name)
            if self._detaching.is_due(node, now_s):
                node.asked = True
                yield ListAttachments(node.name)
            times = node.next_s(now_s), self._excluding.next_s(node.name, now_s), self._detaching.next_s(node)
            self._board.timers.set(node.name, min(*times, self._stopping.next_s(node, now_s)))

    def _cordons(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[Act]:
        for node in nodes:
            if (
                node.phase is NodePhase.OPEN
                and not node.asked
                and (not node.answered or now_s >= node.since_s + APART_S)
            ):
                node.asked = True
                before = node.target.node.note
                over = before.run if before is not None else ""
                yield Cordon(node.name, node.target.node.uid, over, skipped=not node.target.order)

    def _held(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[Act]:
        """What waited until load balancers leave its node out, and what is still to be done for that."""
        for node in nodes:
            freed = self._excluding.freed(node.name)
            if node.phase is NodePhase.ACTIVE:
                yield from self._excluding.again(node, now_s)
                pursuits = [each for each in freed if each.step is PodStep.ASKED]
                for pursuit in pursuits:
                    self._asking.ledger.take(pursuit.eviction, now_s)
                    yield act_for(pursuit.eviction, self._grace_s)
            else:
                self._drop(freed, now_s)
            if node.phase is NodePhase.EMPTY:
                yield from self._excluding.last(node, now_s)

    def _drop(self, pursuits: Sequence[PodPursuit], now_s: float) -> None:
        """They were chosen, and are not asked for after all."""
        for pursuit in pursuits:
            if pursuit.step is PodStep.ASKED:
                pursuit.to(PodStep.WAITING, now_s)
                self._board.stir(self._asking.free(pursuit))

    def _evictions(self, nodes: Sequence[DrainedNode], now_s: float) -> Iterator[Act]:
        due = [pursuit for node in nodes if node.phase is NodePhase.ACTIVE for pursuit in node.turn()]
        waiting = [pursuit for pursuit in due if not self._is_left(pursuit, now_s)]
        may_go = [pursuit for pursuit in waiting if not self._asking.patience.is_over(pursuit, now_s)]
        for pursuit in self._asking.chosen(may_go, now_s):
            before = self._excluding.first(self._board.nodes[pursuit.eviction.node], pursuit, now_s)
            if before is None:
                yield act_for(pursuit.eviction, self._grace_s)
            else:
                self._asking.ledger.take(pursuit.eviction, inf)  # its places are taken until it is sent, however late
                yield from before
        for pursuit in waiting:
            if pursuit.step is PodStep.WAITING:
                self._give_up(pursuit, now_s)

    def _is_left(self, pursuit: PodPursuit, now_s: float) -> bool:
        """Whether nothing is asked of it now: it may still end by itself, or must do that."""
        if pursuit.spared and not pursuit.may_finish(now_s):
            waited = duration(pursuit.eviction.manner.waits_s)
            self._keep(pursuit, f"it did not finish within {waited}, and its Job would fail", now_s)
        return pursuit.spared or pursuit.may_finish(now_s)

    def _give_up(self, pursuit: PodPursuit, now_s: float) -> None:
        """Once it was refused for too long, and nothing moved; its node is left alone then."""
        self._same_names.look(pursuit.eviction.budget, now_s)
        ends_s = self._asking.patience.ends_s(pursuit, now_s)
        if now_s < ends_s:
            self._board.timers.set(pursuit.eviction.node, ends_s)
            return
        pursuit.said = self._asking.patience.why(pursuit)
        self._keep(pursuit, pursuit.said, now_s)

    def _keep(self, pursuit: PodPursuit, why: str, now_s: float) -> None:
        pursuit.keep(why, now_s)
        self._board.tell_pod(pursuit, PodStep.WAITING, now_s)
        self._board.stir((pursuit.eviction.node,))
