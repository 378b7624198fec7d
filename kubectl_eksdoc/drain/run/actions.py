"""Actions of a running drain for nodes that changed: cordon, evict, exclude from load balancers, list pods and attached
volumes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from math import inf

from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.drain_filters import foreign_drain
from kubectl_eksdoc.kubernetes.news import AllPods, AttachedVolumes, News, PodIs
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import Act, Cordon, Exclude, ListAttachments, ListPods, Look
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.network import Service
from kubectl_eksdoc.model.nodes import EXCLUDED_FROM_BALANCERS, Node, NodeOwner, Pod
from kubectl_eksdoc.model.quantities import duration

from .answers import act_for
from .events import Happened
from .eviction_requests import EvictionRequests
from .guards import RunHolds
from .pod_evictions import ObservedState, PodPursuit, PodStep
from .stall_timeouts import AGAIN_S, TRIES, SameNames, Stopping, TryResult, came_of, said_of
from .state import APART_S, THE_RUN, DrainedNode, DrainRunState, NodePhase

# Traffic of load balancers that target nodes: whether a node can be excluded without a pod losing its traffic.


_NEEDED = (kinds.SERVICES, kinds.TARGET_GROUP_BINDINGS)


def unread(cluster: Cluster) -> str:
    """Return the resources that are required but could not be read, as a clause; "" if all were read."""
    return "; ".join(f"{read.resource.full_name}: {read.detail}" for read in cluster.unread(*_NEEDED))


def behind_nodes(cluster: Cluster) -> tuple[Service, ...]:
    """Return the Services whose load balancers target nodes (instance targets), not pods, as far as is known."""
    bound = {f"{each.namespace}/{each.service}": each.target_type for each in cluster.target_group_bindings}
    found = []
    for service in cluster.services:
        to_pods = bound[service.key] == "ip" if service.key in bound else service.ip_targets
        if not to_pods and (service.type == "LoadBalancer" or service.key in bound):
            found.append(service)
    return tuple(found)


class Balancers:
    """Mutable: tracks the pods of those `services` (of `node_target_services`) to which a node forwards only to its own
    pods (externalTrafficPolicy Local)."""

    def __init__(self, services: Sequence[Service], seen: ObservedState) -> None:
        self._seen = seen
        self._local: dict[str, list[Service]] = defaultdict(list)  # by namespace
        self._members: dict[str, set[str]] = defaultdict(set)  # by Service, UIDs; some may be gone
        for service in services:
            if service.local and service.selector:
                self._local[service.namespace].append(service)
        for pod in seen.pods():
            self._follow(pod)

    def take(self, news: News) -> None:
        match news:
            case PodIs(pod, _):
                self._follow(pod)
            case AllPods(pods, _):
                for pod, _ in pods:
                    self._follow(pod)

    def leaves_out(self, node: str) -> bool:
        """Whether load balancers send nothing to the node, or it does not exist."""
        there = self._seen.nodes.get(node)
        return there is None or EXCLUDED_FROM_BALANCERS in there.labels

    def cut_off(self, node: str, staying: Collection[str]) -> set[str]:
        """Return the UIDs of pods on the node that would lose their traffic although they are not evicted yet;
        `staying` are pods that the drain does not evict."""
        return {pod.uid for key in self._keys for pod in self._ready(key) if pod.node == node} - set(staying)

    def why_not(self, node: str) -> str:
        """Return why the node must not be excluded now, as a clause; "" if it may be."""
        others = {each.name for each in self._seen.nodes.values() if each.name != node and takes_traffic(each)}
        if not others:
            return "no other node is there to take it that is Ready and not cordoned"
        for key in self._keys:
            nodes = {pod.node for pod in self._ready(key)}
            if node in nodes and not nodes & others:
                return f"no other node that is not cordoned has a Ready pod of Service {key}"
        return ""

    @property
    def _keys(self) -> list[str]:
        return [service.key for services in self._local.values() for service in services]

    def _follow(self, pod: Pod) -> None:
        for service in self._local.get(pod.namespace, ()):
            if all(pod.labels.get(key) == value for key, value in service.selector.items()):
                self._members[service.key].add(pod.uid)

    def _ready(self, service: str) -> Iterator[Pod]:
        members = self._members[service]
        for uid in list(members):
            pod = self._seen.pod(uid)
            if pod is None:
                members.discard(uid)
            elif pod.ready and not pod.deleting:
                yield pod


def takes_traffic(node: Node) -> bool:
    """Whether load balancers can continue to send traffic to the node while others are excluded."""
    if node.ready != "True" or node.unschedulable or node.deletion_at is not None or foreign_drain(node):
        return False
    return EXCLUDED_FROM_BALANCERS not in node.labels and node.owner is not NodeOwner.FARGATE


# Exclusion of nodes from load balancers before their pods are evicted.
#
# A node is excluded before its first eviction. Exception: if a Service reaches a pod only through the pod's own node,
# the node is excluded with the eviction of the last such pod on it; otherwise more pods would lose their traffic at
# once than a budget allows.


class _Exclusion:
    """Mutable: the exclusion of one node. `pending`: a request is in flight; `finished`: no further request is sent."""

    __slots__ = ("asked", "not_before_s", "over", "tries")

    def __init__(self) -> None:
        self.asked = self.over = False
        self.tries = 0
        self.not_before_s = -inf


class Excluding:
    """Mutable. Evictions that were selected wait here until the exclusion of their node is answered."""

    def __init__(self, board: DrainRunState) -> None:
        self._board = board
        cluster = board.seen.first
        services = behind_nodes(cluster)
        self._balancers = Balancers(services, board.seen)
        self._off = not services
        self._nodes: dict[str, _Exclusion] = defaultdict(_Exclusion)
        self._held: dict[str, list[PodPursuit]] = defaultdict(list)
        self._untold = unread(cluster)

    def take(self, news: News) -> None:
        self._balancers.take(news)

    def say_what_is_unknown(self, now_s: float) -> None:
        """Warn once about resources that could not be read."""
        if self._untold:
            why = f"whether load balancers send to the nodes is not known ({self._untold}): where they do, they are"
            self._board.tell(now_s, Happened.WARNED, THE_RUN, why=f"{why} not taken from them before their pods go")
            self._untold = ""

    def first(self, node: DrainedNode, pursuit: PodPursuit, now_s: float) -> list[Exclude] | None:
        """Return the requests that must precede the eviction of this selected pod; the eviction is held until they are
        answered. None: evict at once."""
        if self._is_done(node):
            return None
        state = self._nodes[node.name]
        waits = state.asked or state.tries
        if not waits and self._balancers.cut_off(node.name, node.stays) - {pursuit.pod.uid}:
            return None
        if not waits and self._balancers.why_not(node.name):
            return None
        self._held[node.name].append(pursuit)
        return list(self._ask(node, now_s))

    def last(self, node: DrainedNode, now_s: float) -> Iterator[Exclude]:
        """Yield the requests for a node that has no pods left to evict."""
        if self._is_done(node) or self._balancers.cut_off(node.name, node.stays):
            return
        state = self._nodes[node.name]
        why = "" if state.asked or state.tries else self._balancers.why_not(node.name)
        if why:
            self._give_up(node.name, f"load balancers still send to it: {why}", now_s)
        else:
            yield from self._ask(node, now_s)

    def again(self, node: DrainedNode, now_s: float) -> Iterator[Exclude]:
        """Yield the request again after a failed response."""
        if self._held.get(node.name):
            yield from self._ask(node, now_s)

    def freed(self, node: str) -> list[PodPursuit]:
        """Return the held evictions that need not wait any longer."""
        return self._held.pop(node, []) if self._nodes[node].over else []

    def dropped(self) -> list[PodPursuit]:
        """Return and forget all held evictions: none of them may be requested any more."""
        held, self._held = self._held, defaultdict(list)
        return [pursuit for each in held.values() for pursuit in each]

    def next_s(self, node: str, now_s: float) -> float:
        """When the request is sent again; infinity if it is not, or only waits for permission."""
        state = self._nodes.get(node)
        if state is None or state.asked or state.over or state.not_before_s <= now_s:
            return inf
        return state.not_before_s

    def answered(self, act: Exclude, answer: ApiStatus | LostAnswer, now_s: float) -> None:
        state, came = self._nodes[act.node], came_of(answer)
        state.asked = False
        self._board.stir((act.node,))
        if came is TryResult.DONE:
            self._board.tell(now_s, Happened.EXCLUDED, act.node)
        if came in (TryResult.DONE, TryResult.GONE):
            state.over = True
        elif came is TryResult.FORBIDDEN and state.tries + 1 >= TRIES:
            self._forbidden(said_of(answer), now_s)
        else:
            state.tries, state.not_before_s = state.tries + 1, now_s + AGAIN_S
            if came is TryResult.REFUSED or state.tries >= TRIES:
                self._give_up(act.node, f"it is not taken from load balancers: {said_of(answer)}", now_s)

    def _is_done(self, node: DrainedNode) -> bool:
        return self._off or self._nodes[node.name].over or self._balancers.leaves_out(node.name)

    def _ask(self, node: DrainedNode, now_s: float) -> Iterator[Exclude]:
        state = self._nodes[node.name]
        if not state.asked and not state.over and now_s >= state.not_before_s:
            state.asked = True
            yield Exclude(node.name, node.target.node.uid)

    def _give_up(self, node: str, why: str, now_s: float) -> None:
        self._nodes[node].over = True
        self._board.tell(now_s, Happened.WARNED, node, why=why)

    def _forbidden(self, said: str, now_s: float) -> None:
        for state in self._nodes.values():
            state.over = True
        self._board.stir_all()
        if not self._off:
            self._off = True
            self._board.tell(now_s, Happened.WARNED, THE_RUN, why=f"nodes are not taken from load balancers: {said}")


# Volumes of evicted pods: a node is drained only when they are detached from it.
#
# An EBS volume is attached to one node at a time: until it is detached, its pod starts on no other node, and an
# instance that is terminated with the volume still attached delays that by minutes. Volumes of pods that stay are not
# waited for.


FORCED_S = 360.0
"""After this time the attach-detach controller detaches a volume by force even if it is still mounted
(ReconcilerMaxWaitForUnmountDuration, pkg/controller/volume/attachdetach/attach_detach_controller.go)."""


class VolumeDetaching:
    """Mutable. Asks for the attached volumes of empty nodes as often as necessary."""

    def __init__(self, board: DrainRunState) -> None:
        self._board = board
        cluster = board.seen.first
        self._volumes = {claim.key: claim.volume for claim in cluster.claims if claim.volume}
        self._unread = "; ".join(read.detail for read in cluster.unread(kinds.CLAIMS))
        self._waited: dict[str, set[str]] = {}  # by node, the volumes to be detached, as of the last request
        self._off = False

    def begin(self, node: DrainedNode, left: Sequence[Pod], now_s: float) -> bool:
        """Whether there are volumes to wait for; `remaining_pods` are the pods that are on the node now."""
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
        """End the wait if the volumes are detached, or after the timeout."""
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
        """Whether it is time to list the attached volumes again."""
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
    """Mutable by its parts. `grace_s`: grace period of the evicted pods, None for each pod's own."""

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
        """Yield actions in this order: all cordons, then evictions in the plan's order, each after what must precede
        it, then reads."""
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
        """Yield evictions that waited until their node was excluded from load balancers, and further exclusion
        requests."""
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
        """Return selected evictions to the waiting state: they are not requested now."""
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
                self._asking.ledger.take(pursuit.eviction, inf)  # its slots are reserved until it is sent, however late
                yield from before
        for pursuit in waiting:
            if pursuit.step is PodStep.WAITING:
                self._give_up(pursuit, now_s)

    def _is_left(self, pursuit: PodPursuit, now_s: float) -> bool:
        """Whether the pod is not evicted now: it may still finish by itself, or must."""
        if pursuit.spared and not pursuit.may_finish(now_s):
            waited = duration(pursuit.eviction.manner.waits_s)
            self._keep(pursuit, f"it did not finish within {waited}, and its Job would fail", now_s)
        return pursuit.spared or pursuit.may_finish(now_s)

    def _give_up(self, pursuit: PodPursuit, now_s: float) -> None:
        """Give up a pod that was refused for too long without any change; its node is left alone then."""
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
