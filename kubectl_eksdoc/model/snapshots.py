"""Manifest of a snapshot: what was read, what was not and why, of which cluster, when, and by which tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime

from kubectl_eksdoc.frozen import frozen

from .cluster import Cluster, Identity, Source
from .kinds import KindRead, Resource, Unknown
from .nodes import COMPUTE_TYPE, EKSCTL_GROUP, MANAGED_GROUP, NODE_POOL, PROVISIONER, Node

FORMAT = 1


@frozen
class SceneManifest:
    """One reading of a cluster. `aws`: why it contains no facts of AWS, None if it does; `calls`: number of AWS
    answers. `left_out`: reasons for missing answers: by the command that would need them if they were not requested, by
    the missing right if they were refused."""

    identity: Identity
    observed_at: datetime
    reads: tuple[KindRead, ...]
    notes: tuple[str, ...] = ()
    aws: Unknown | None = None
    calls: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)

    def read_of(self, resource: Resource) -> KindRead | None:
        return next((each for each in self.reads if each.resource.full_name == resource.full_name), None)


@frozen
class Snapshot:
    """`scenes`: by the command that sees the scene, "" for all others. A cluster has one scene, for all commands; the
    demo has one for each of its incidents."""

    tool: str
    source: Source
    scenes: Mapping[str, SceneManifest]

    def scene(self, command: str) -> str:
        """The name of the scene that `command` sees."""
        return command if command in self.scenes else ""


# Cached view of a cluster for the next start: the facts for a list of nodes, without secrets.


KEPT_LABELS = (
    MANAGED_GROUP,
    EKSCTL_GROUP,
    NODE_POOL,
    PROVISIONER,
    COMPUTE_TYPE,
    "eks.amazonaws.com/capacityType",
    "eks.amazonaws.com/nodegroup-image",
    "karpenter.sh/capacity-type",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
)
"""The labels of a node that are kept: its group, and its machine type."""


@frozen
class LastView:
    """A cluster as seen at `observed_at`; `pods`: number of pods on each node, by its name. Nodes have only
    `KEPT_LABELS`, and no annotations, taints or UIDs."""

    identity: Identity
    observed_at: datetime
    nodes: tuple[Node, ...] = ()
    pods: Mapping[str, int] = field(default_factory=dict)


def last_view_of(cluster: Cluster) -> LastView:
    """The part of `cluster` that is cached."""
    counts = Counter(pod.node for pod in cluster.pods)
    return LastView(
        replace(cluster.identity, account="", uid=""),
        cluster.observed_at,
        tuple(_kept_node(node) for node in cluster.nodes),
        {node.name: counts[node.name] for node in cluster.nodes},
    )


def _kept_node(node: Node) -> Node:
    return Node(
        name=node.name,
        uid="",
        labels={label: node.labels[label] for label in KEPT_LABELS if label in node.labels},
        unschedulable=node.unschedulable,
        ready=node.ready,
        kubelet=node.kubelet,
        kubelet_text=node.kubelet_text,
        created_at=node.created_at,
        deletion_at=node.deletion_at,
        pods_allocatable=node.pods_allocatable,
    )
