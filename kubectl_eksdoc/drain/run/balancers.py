"""Which nodes load balancers send to, and whether one of them can be left out without anything being cut off.

Where a load balancer registers nodes, a label takes one out before its pods go, and its connections are drained instead
of cut. Source: kubernetes cloud-provider controllers/service/controller.go and aws-load-balancer-controller
pkg/backend/endpoint_utils.go: both leave out whatever has the label, and neither minds a cordon.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from math import inf

from kubectl_eksdoc.drain.run.events import Happened
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState, PodPursuit
from kubectl_eksdoc.drain.run.stall_timeouts import AGAIN_S, TRIES, TryResult, came_of, said_of
from kubectl_eksdoc.drain.run.state import THE_RUN, DrainedNode, DrainRunState
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.cordon import foreign_drain
from kubectl_eksdoc.kubernetes.news import AllPods, News, PodIs
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import Exclude
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.network import Service
from kubectl_eksdoc.model.nodes import EXCLUDED_FROM_BALANCERS, Node, NodeOwner, Pod

_NEEDED = (kinds.SERVICES, kinds.TARGET_GROUP_BINDINGS)


def unread(cluster: Cluster) -> str:
    """What would have to be known and is not, as a clause; "" if all is."""
    return "; ".join(f"{read.resource.full_name}: {read.detail}" for read in cluster.unread(*_NEEDED))


def behind_nodes(cluster: Cluster) -> tuple[Service, ...]:
    """The Services whose load balancers send to nodes, not straight to pods, by what is known of them."""
    bound = {f"{each.namespace}/{each.service}": each.target_type for each in cluster.target_group_bindings}
    found = []
    for service in cluster.services:
        to_pods = bound[service.key] == "ip" if service.key in bound else service.ip_targets
        if not to_pods and (service.type == "LoadBalancer" or service.key in bound):
            found.append(service)
    return tuple(found)


class Balancers:
    """Mutable: follows the pods of those of `services` (of `behind_nodes`) to which a node sends only its own."""

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
        """Whether nothing is sent to it, or it is not there."""
        there = self._seen.nodes.get(node)
        return there is None or EXCLUDED_FROM_BALANCERS in there.labels

    def cut_off(self, node: str, staying: Collection[str]) -> set[str]:
        """UIDs of pods that would get nothing any more though they have yet to go; `staying` are those that do not."""
        return {pod.uid for key in self._keys for pod in self._ready(key) if pod.node == node} - set(staying)

    def why_not(self, node: str) -> str:
        """Why it must not be left out just now, as a clause; "" if it may be."""
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
    """Whether load balancers may go on to send to it while others are left out."""
    if node.ready != "True" or node.unschedulable or node.deletion_at is not None or foreign_drain(node):
        return False
    return EXCLUDED_FROM_BALANCERS not in node.labels and node.owner is not NodeOwner.FARGATE


# Nodes are taken from load balancers before their pods go: when, and which evictions wait for it.
#
# A node is left out before its first eviction; but where a Service has no other way to a pod than its own node, only
# with the eviction of the last such pod there, or more of them would be cut off at once than any budget allows.


class _Exclusion:
    """Mutable: of one node. `asked`: an act is under way; `over`: nothing is asked for any more."""

    __slots__ = ("asked", "not_before_s", "over", "tries")

    def __init__(self) -> None:
        self.asked = self.over = False
        self.tries = 0
        self.not_before_s = -inf


class Excluding:
    """Mutable. Pursuits that were chosen wait here until their node's answer has come."""

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
        """Once."""
        if self._untold:
            why = f"whether load balancers send to the nodes is not known ({self._untold}): where they do, they are"
            self._board.tell(now_s, Happened.WARNED, THE_RUN, why=f"{why} not taken from them before their pods go")
            self._untold = ""

    def first(self, node: DrainedNode, pursuit: PodPursuit, now_s: float) -> list[Exclude] | None:
        """What is to be done before this pod, which was chosen, is asked for: it is held until then. None: nothing."""
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
        """What is to be done for a node that has none to evict any more."""
        if self._is_done(node) or self._balancers.cut_off(node.name, node.stays):
            return
        state = self._nodes[node.name]
        why = "" if state.asked or state.tries else self._balancers.why_not(node.name)
        if why:
            self._give_up(node.name, f"load balancers still send to it: {why}", now_s)
        else:
            yield from self._ask(node, now_s)

    def again(self, node: DrainedNode, now_s: float) -> Iterator[Exclude]:
        """What was not answered well is asked for again."""
        if self._held.get(node.name):
            yield from self._ask(node, now_s)

    def freed(self, node: str) -> list[PodPursuit]:
        """Those that were held and need not wait any more."""
        return self._held.pop(node, []) if self._nodes[node].over else []

    def dropped(self) -> list[PodPursuit]:
        """All that are held: none of them must be asked for any more."""
        held, self._held = self._held, defaultdict(list)
        return [pursuit for each in held.values() for pursuit in each]

    def next_s(self, node: str, now_s: float) -> float:
        """When it is asked for again; infinity where it is not, or only waits to be let."""
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
