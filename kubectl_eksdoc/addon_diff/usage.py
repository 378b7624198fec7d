"""Who uses what an add-on's fields switch: facts about the cluster as it is now."""

from __future__ import annotations

from collections import Counter

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.kinds import Resource, Unknown
from kubectl_eksdoc.model.network import TargetGroupBinding
from kubectl_eksdoc.model.nodes import Pod

BEHIND_BALANCERS = (kinds.SERVICES, kinds.TARGET_GROUP_BINDINGS)
USED_BY = (kinds.NODES, kinds.PODS, *BEHIND_BALANCERS, kinds.SECURITY_GROUP_POLICIES, kinds.ENI_CONFIGS)
"""What of a cluster is read as a whole, to tell it."""


@frozen
class FullestNode:
    """The node with the most pods of its own address; `room` is its allocatable number of pods."""

    node: str
    pods: int
    room: int


@frozen
class Usage:
    """`branched`: pods with a branch interface of their own that have not ended, sorted. `target_groups`: the bindings,
    by ``namespace/name``, of Services that select one of them. `policies`: SecurityGroupPolicies by
    ``namespace/name``; `eni_configs` by name. `fullest` is None in a cluster without nodes."""

    branched: tuple[Pod, ...] | Unknown
    target_groups: tuple[str, ...] | Unknown = ()
    fullest: FullestNode | Unknown | None = None
    policies: tuple[str, ...] | Unknown = ()
    eni_configs: tuple[str, ...] | Unknown = ()

    @property
    def branch_pods(self) -> tuple[str, ...] | Unknown:
        """By ``namespace/name``."""
        return self.branched if isinstance(self.branched, Unknown) else tuple(pod.key for pod in self.branched)

    @property
    def astray(self) -> tuple[Pod, ...]:
        """Those that are known to have started without their interface, and so have their node's security groups."""
        branched = () if isinstance(self.branched, Unknown) else self.branched
        return tuple(pod for pod in branched if pod.branch is not None and pod.branch.astray)


def usage(cluster: Cluster) -> Usage:
    """What was not read is unknown."""
    pods, nodes = cluster.read_of(kinds.PODS), cluster.read_of(kinds.NODES)
    if not pods.known:
        unread = Unknown(f"pods were not read: {pods.detail}", "list pods")
        return Usage(unread, unread, unread, *_custom(cluster))
    branched = tuple(pod for pod in cluster.pods if pod.branch is not None and not pod.finished)
    fullest = _fullest(cluster) if nodes.known else Unknown(f"nodes were not read: {nodes.detail}", "list nodes")
    bound = balanced(cluster)
    groups = bound if isinstance(bound, Unknown) else tuple(f"{each.namespace}/{each.name}" for each in bound)
    return Usage(branched, groups, fullest, *_custom(cluster))


def _custom(cluster: Cluster) -> tuple[tuple[str, ...] | Unknown, tuple[str, ...] | Unknown]:
    """SecurityGroupPolicies and ENIConfigs."""
    policies = tuple(sorted(f"{each.namespace}/{each.name}" for each in cluster.security_group_policies))
    configs = tuple(sorted(each.name for each in cluster.eni_configs))
    return (
        _unread(cluster, kinds.SECURITY_GROUP_POLICIES) or policies,
        _unread(cluster, kinds.ENI_CONFIGS) or configs,
    )


def _unread(cluster: Cluster, resource: Resource) -> Unknown | None:
    read = cluster.read_of(resource)
    name = resource.full_name
    return None if read.known else Unknown(f"{name} were not read: {read.detail}", f"list {name}")


def balanced(cluster: Cluster) -> tuple[TargetGroupBinding, ...] | Unknown:
    """Bindings, by namespace and name, of Services with pods that have security groups of their own."""
    unread = cluster.unread(kinds.PODS, *BEHIND_BALANCERS)
    if unread:
        why = "; ".join(f"{read.resource.full_name}: {read.detail}" for read in unread)
        return Unknown(why, f"list {unread[0].resource.full_name}")
    branched = [pod for pod in cluster.pods if pod.branch is not None and not pod.finished]
    serving = {
        service.key
        for service in cluster.services
        if service.selector
        and any(
            pod.namespace == service.namespace and service.selector.items() <= pod.labels.items() for pod in branched
        )
    }
    bound = (each for each in cluster.target_group_bindings if f"{each.namespace}/{each.service}" in serving)
    return tuple(sorted(bound, key=lambda each: (each.namespace, each.name)))


def _fullest(cluster: Cluster) -> FullestNode | None:
    """Pods of the host network count, too: without reading more of each pod they cannot be told from the others."""
    running = Counter(pod.node for pod in cluster.pods if not pod.finished)
    found = [FullestNode(node.name, running[node.name], node.pods_allocatable) for node in cluster.nodes]
    return max(found, key=lambda each: (each.pods, each.node), default=None)
