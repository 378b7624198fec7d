"""Who uses what an add-on's fields switch: facts about the cluster as it is now."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.aws.asked import Unknown
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.pods import Pod

POD_ENI = "vpc.amazonaws.com/pod-eni"
"""A pod with security groups of its own asks for one: the VPC resource controller's webhook adds it (CNI README)."""


@dataclass(frozen=True, slots=True)
class Usage:
    """`branch_pods`: pods with a branch ENI of their own, by ``namespace/name``, sorted. `nodes`: how many a DaemonSet
    rolls over."""

    branch_pods: tuple[str, ...] | Unknown
    nodes: int | Unknown


def usage(cluster: Cluster) -> Usage:
    """What was not read is unknown."""
    pods, nodes = cluster.read_of(kinds.PODS), cluster.read_of(kinds.NODES)
    return Usage(
        tuple(sorted(pod.key for pod in cluster.pods if has_branch(pod)))
        if pods.known
        else Unknown(f"pods were not read: {pods.detail}", "list pods"),
        len(cluster.nodes) if nodes.known else Unknown(f"nodes were not read: {nodes.detail}", "list nodes"),
    )


def has_branch(pod: Pod) -> bool:
    """It has security groups of its own, and still runs."""
    return not pod.finished and any(name == POD_ENI for name, _ in pod.placement.requests.others)
