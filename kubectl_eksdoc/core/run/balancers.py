"""Which nodes load balancers send to, and whether one of them can be left out without anything being cut off.

Where a load balancer registers nodes, a label takes one out before its pods go, and its connections are drained instead
of cut. Source: kubernetes cloud-provider controllers/service/controller.go and aws-load-balancer-controller
pkg/backend/endpoint_utils.go: both leave out whatever has the label, and neither minds a cordon.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.network import Service
from kubectl_eksdoc.core.model.nodes import EXCLUDED_FROM_BALANCERS, Node, NodeOwner
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.foreign_drains import foreign_drain
from kubectl_eksdoc.core.rules.news import AllPods, News, PodIs
from kubectl_eksdoc.core.run.seen import Seen

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

    def __init__(self, services: Sequence[Service], seen: Seen) -> None:
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
