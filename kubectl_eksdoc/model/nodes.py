"""Nodes, and who owns them: a managed node group, eksctl, Karpenter, Fargate …"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.journal import RunNote
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.model.selectors import Labels

HOSTNAME = "kubernetes.io/hostname"
UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"
COMPUTE_TYPE = "eks.amazonaws.com/compute-type"

EXCLUDED_FROM_BALANCERS = "node.kubernetes.io/exclude-from-external-load-balancers"
"""Whatever its value, load balancers that send to nodes leave this one out (cloud-provider, controllers/service)."""

PROTECTIONS = ("cluster-autoscaler.kubernetes.io/scale-down-disabled", "karpenter.sh/do-not-disrupt")
"""Annotations of a node ("true") with which the Cluster Autoscaler, and Karpenter, do not remove it to save cost."""

REBOOT_IN_PROGRESS = "weave.works/kured-reboot-in-progress"
"""Annotation by which kured says that it will drain and reboot the node, or is at it (kured --annotate-nodes)."""

MANAGED_GROUP = "eks.amazonaws.com/nodegroup"
EKSCTL_GROUP = "alpha.eksctl.io/nodegroup-name"
NODE_POOL = "karpenter.sh/nodepool"
PROVISIONER = "karpenter.sh/provisioner-name"  # NodePool's name before Karpenter v0.32
GROUP_LABELS = (MANAGED_GROUP, NODE_POOL, PROVISIONER, EKSCTL_GROUP)
"""Each names the group of a node, by who makes it."""

LAUNCH_TEMPLATE = "eks.amazonaws.com/sourceLaunchTemplateId"
"""Label of a managed group's nodes that names the launch template of its owner's."""

_LIFECYCLE = "node.kubernetes.io/lifecycle"
"""Which users give their own nodes (Cluster Autoscaler's documentation of AWS, Spot instances)."""


class NodeOwner(str, Enum):
    """Who makes and removes this node."""

    MANAGED = "managed"
    EKSCTL = "eksctl"
    KARPENTER = "karpenter"
    AUTO_MODE = "auto-mode"
    FARGATE = "fargate"
    HYBRID = "hybrid"
    SELF_MANAGED = "self-managed"


@frozen
class Taint:
    key: str
    value: str = ""
    effect: str = ""


@frozen
class Node:
    """One node. `ready` is the Ready condition's status: True, False or Unknown. `annotations` are those that are
    judged (`REBOOT_IN_PROGRESS`). `runtime` is its containerRuntimeVersion: ``containerd://1.7.27``.

    `allocatable` by resource: cpu in millicores, memory and storage in bytes, all else in pieces. `note`: of the run of
    this tool that changed it last.
    """

    name: str
    uid: str
    labels: Labels
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    ready: str = "True"
    kubelet: Version | None = None
    kubelet_text: str = ""
    os_image: str = ""
    runtime: str = ""
    provider_id: str = ""
    created_at: datetime | None = None
    deletion_at: datetime | None = None
    pods_allocatable: int = 0
    allocatable: Mapping[str, int] = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    note: RunNote | None = None

    @property
    def owner(self) -> NodeOwner:
        compute = self.labels.get(COMPUTE_TYPE, "")
        if compute in ("auto", "fargate", "hybrid"):
            return {"auto": NodeOwner.AUTO_MODE, "fargate": NodeOwner.FARGATE, "hybrid": NodeOwner.HYBRID}[compute]
        if MANAGED_GROUP in self.labels:
            return NodeOwner.MANAGED
        if NODE_POOL in self.labels or PROVISIONER in self.labels:
            return NodeOwner.KARPENTER
        if EKSCTL_GROUP in self.labels:
            return NodeOwner.EKSCTL
        return NodeOwner.SELF_MANAGED

    @property
    def group(self) -> str:
        """Name of its node group or NodePool, "" where it has none."""
        for label in GROUP_LABELS:
            if label in self.labels:
                return self.labels[label]
        return ""

    @property
    def groups(self) -> frozenset[str]:
        """Every name ``--nodegroup`` finds this node by."""
        return frozenset(self.labels[name] for name in GROUP_LABELS if name in self.labels)

    @property
    def capacity_type(self) -> str:
        """on-demand, spot, reserved …, "" where unknown: Karpenter, managed groups and other makers label it
        differently."""
        value = self.labels.get("karpenter.sh/capacity-type") or self.labels.get("eks.amazonaws.com/capacityType", "")
        if not value and self.labels.get(_LIFECYCLE) == "spot":
            return "spot"
        return value.lower().replace("_", "-")

    @property
    def instance_type(self) -> str:
        return self.labels.get("node.kubernetes.io/instance-type", "")

    @property
    def zone(self) -> str:
        return self.labels.get("topology.kubernetes.io/zone", "")

    @property
    def region(self) -> str:
        return self.labels.get("topology.kubernetes.io/region", "")
