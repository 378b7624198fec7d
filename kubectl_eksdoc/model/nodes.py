"""Pods and nodes, and who owns nodes: a managed node group, eksctl, Karpenter, Fargate …"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen

from .placing import NOWHERE_SPECIAL, Placement, Requests
from .quantities import Version, go_duration
from .selectors import Labels

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
class RunNote:
    """What a run has noted on a node. `journal`: the namespace of its journal, "" where the note does not say.
    `drains`: the run cordoned the node or had load balancers leave it out; so it is where the note cannot be read.
    `protects`: it keeps autoscalers away. `skipped`: the plan of the run does not drain it, so that it is not counted
    as a node of that."""

    run: str
    journal: str = ""
    drains: bool = True
    protects: bool = False
    skipped: bool = False


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


# Containers of single pods: with what they were started, how they fare, and what they printed.


class ContainerRunState(Enum):
    """What the kubelet says of a container."""

    RUNNING = "running"
    WAITING = "waiting"
    ENDED = "ended"
    UNTOLD = ""


@frozen
class Container:
    """`arguments`: of its command and after it, as its pod has them (what the image says itself is not known);
    `variables`: names. `more_variables`: others come from a ConfigMap or a Secret as a whole (envFrom), and their names
    are not known. `ended_before`: it is not the first one of its name in this pod; `ended_as` is the kubelet's reason
    for the end of the one before, or of this one if it has ended (``OOMKilled``), "" where there was none. `init`: an
    init container. `values`: of the variables `told` in knowledge/kept_keys.json, and of empty ones, if the pod has
    them itself. `more_secrets`: some of the others come from a Secret."""

    name: str
    image: str = ""
    arguments: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    more_variables: bool = False
    runs: ContainerRunState = ContainerRunState.UNTOLD
    ready: bool = False
    ended_before: bool = False
    ended_as: str = ""
    restarts: int = 0
    init: bool = False
    values: tuple[tuple[str, str], ...] = ()
    more_secrets: bool = False


@frozen(order=True)
class LogOf:
    """Which log; `previous`: of the one of that name which ended."""

    namespace: str
    pod: str
    container: str
    previous: bool = False


# Pods with security groups of their own: the branch interface of each, and what the kubelet asks it over the network.
#
# Sources: amazon-vpc-resource-controller-k8s (annotation ``vpc.amazonaws.com/pod-eni``, a JSON list of interfaces; its
# webhook adds the extended resource of the same name to pods that a SecurityGroupPolicy selects), core/v1 Probe.


POD_ENI = "vpc.amazonaws.com/pod-eni"
"""The extended resource that such a pod asks for, and the annotation that says what it got."""


class Asks(str, Enum):
    """What the kubelet does over the answer of a probe."""

    READINESS = "readiness"  # takes the pod out of its services
    LIVENESS = "liveness"  # restarts the container
    STARTUP = "startup"  # restarts the container, until it has answered once


@frozen
class Probe:
    """One that goes over the network, by ``httpGet``, ``tcpSocket`` or ``grpc``; those that run in the container do
    not come here."""

    container: str
    asks: Asks
    by: str
    period_s: int = 10
    failures: int = 3

    @property
    def gives_up_after_s(self) -> int:
        """Seconds of silence after which the kubelet acts, timeouts aside."""
        return self.period_s * self.failures


@frozen
class Branch:
    """`address` is the pod's own; `interface` that of its branch interface, "" where none was noted for it."""

    address: str = ""
    interface: str = ""
    probes: tuple[Probe, ...] = ()

    @property
    def astray(self) -> bool:
        """It started without its interface: with an address, and so the security groups, of its node. Needs both."""
        return bool(self.address and self.interface and self.address != self.interface)


def asks_for_branch(asked: Requests) -> bool:
    return any(name == POD_ENI for name, _ in asked.others)


# Pods, as much of them as a drain is decided by.


MIRROR = "kubernetes.io/config.mirror"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DO_NOT_EVICT = "karpenter.sh/do-not-evict"  # its name before Karpenter v0.32
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"

JUDGED_ANNOTATIONS = frozenset({MIRROR, DO_NOT_DISRUPT, DO_NOT_EVICT, SAFE_TO_EVICT})
"""The only annotations of a pod that are kept: the rest is nobody's business here, and large."""

NOTED_FIELDS = ("appArmorProfile", "seLinuxOptions", "gitRepo")
"""Fields of a pod's spec, wherever they stand in it, that release notes are about."""

ENDED = frozenset({"Succeeded", "Failed"})
"""The phases of a pod whose containers have all ended, and will not start again."""

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
"""Lowest priority of the two system-critical classes (pkg/apis/scheduling/types.go)."""


class RoleBy(str, Enum):
    """Who gives a pod credentials besides its node, by the variables that webhooks and people set: the surest first."""

    IRSA = "IRSA"  # AWS_WEB_IDENTITY_TOKEN_FILE
    POD_IDENTITY = "Pod Identity"  # AWS_CONTAINER_CREDENTIALS_FULL_URI
    KEYS = "access keys"  # AWS_ACCESS_KEY_ID
    NOBODY = ""


@frozen
class Calls:
    """What a pod calls AWS with, if it does. `role`: what its environment says of a role of its own, and of whom it has
    it. Replicas share one object."""

    host_network: bool = False
    service_account: str = ""
    role: RoleBy = RoleBy.NOBODY
    images: tuple[str, ...] = ()


@frozen
class ControllerOwner:
    """The controllerRef of an object; `group` without the version."""

    kind: str
    name: str
    uid: str
    group: str = ""


class Toleration(NamedTuple):
    """`operator` is Exists or Equal; an empty `key` with Exists tolerates every taint."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, key: str, value: str, effect: str) -> bool:
        """As ``Toleration.ToleratesTaint`` (staging/src/k8s.io/api/core/v1/toleration.go)."""
        if self.effect and self.effect != effect:
            return False
        if self.key and self.key != key:
            return False
        if self.operator in ("", "Equal"):
            return bool(self.key) and self.value == value
        return self.operator == "Exists"


class VolumeKind(str, Enum):
    """Where a pod's data lies; volumes made from the API (secrets, config) are not kept."""

    EMPTY_DIR = "emptyDir"
    HOST_PATH = "hostPath"
    CLAIM = "persistentVolumeClaim"
    EPHEMERAL = "ephemeral"
    AWS_EBS = "awsElasticBlockStore"


@frozen
class Volume:
    """`detail`: emptyDir → medium ("" is disk), hostPath → path, claim → name of the claim, EBS → id of the volume.
    `path_type`: of a hostPath, what must be there (``Socket``), "" for anything.

    An ephemeral volume's claim was made for this pod and goes with it; `detail` is its name, too.
    """

    name: str
    kind: VolumeKind
    detail: str = ""
    size_limit: str = ""
    path_type: str = ""

    @property
    def has_claim(self) -> bool:
        return self.kind in (VolumeKind.CLAIM, VolumeKind.EPHEMERAL)


@frozen
class Pod:
    """One pod. `node` is "" while it is not scheduled; `deletion_deadline` is its deletionTimestamp.

    `not_ready_because`, while it is not Ready: the kubelet's reason (CrashLoopBackOff, ContainersNotReady …), or
    the scheduler's with its message where it found no node. `scheduled_at` and `ready_at` are the last
    transitions of those conditions to True (None while they are not); `restarted`: one of its containers ran
    more than once. `preempts`: where it fits nowhere the scheduler may delete pods of lower `priority` for it
    (preemptionPolicy, which admission sets from its PriorityClass). `branch` is there where it has security groups of
    its own; `calls`: with what it calls AWS; `noted`: which of `NOTED_FIELDS` it has. `pre_stop_s`: its preStop hooks
    sleep so long before its containers are asked to stop.
    """

    namespace: str
    name: str
    uid: str
    labels: Labels
    node: str
    phase: str
    ready: bool
    owner: ControllerOwner | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    created_at: datetime | None = None
    deletion_deadline: datetime | None = None
    grace_seconds: int = 30
    priority: int = 0
    tolerations: tuple[Toleration, ...] = ()
    volumes: tuple[Volume, ...] = ()
    readiness_gates: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    not_ready_because: str = ""
    scheduled_at: datetime | None = None
    ready_at: datetime | None = None
    restarted: bool = False
    placement: Placement = NOWHERE_SPECIAL
    preempts: bool = True
    branch: Branch | None = None
    calls: Calls = Calls()
    noted: tuple[str, ...] = ()
    pre_stop_s: int = 0

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def of_daemon_set(self) -> bool:
        """Whether it belongs to its node."""
        return self.owner is not None and self.owner.kind == "DaemonSet"

    @property
    def deployment(self) -> str:
        """The name of the Deployment that made it, which is that of its ReplicaSet without the hash that its labels
        have; "" where none did."""
        hashed = f"-{self.labels.get('pod-template-hash', '')}"
        if self.owner is None or self.owner.kind != "ReplicaSet" or len(hashed) < 2:
            return ""
        return self.owner.name.removesuffix(hashed) if self.owner.name.endswith(hashed) else ""

    @property
    def finished(self) -> bool:
        return self.phase in ENDED

    @property
    def deleting(self) -> bool:
        return self.deletion_deadline is not None

    @property
    def mirror(self) -> bool:
        """A static pod's image in the API: the kubelet owns it (pkg/drain/filters.go:mirrorPodFilter)."""
        return MIRROR in self.annotations

    @property
    def system_critical(self) -> bool:
        return self.priority >= SYSTEM_CRITICAL_PRIORITY

    def protected_at(self, now: datetime) -> str:
        """The annotation by which its owner asks not to have it disrupted at `now`, or "".

        Karpenter takes a duration as well, which protects from the pod's start on; its creation stands for
        that here. Any text that is no duration is taken for a wish to be left alone.
        """
        for key, value in (
            (DO_NOT_DISRUPT, "true"),
            (DO_NOT_EVICT, "true"),
            (SAFE_TO_EVICT, "false"),
        ):
            if self.annotations.get(key) == value:
                return f"{key}={value}"
        given = self.annotations.get(DO_NOT_DISRUPT, "false")
        if given in ("false", "") or self._outlived(given, now):
            return ""
        return f"{DO_NOT_DISRUPT}={given}"

    def _outlived(self, duration: str, now: datetime) -> bool:
        length = go_duration(duration)
        return length is not None and self.created_at is not None and now - self.created_at >= length

    def tolerates(self, key: str, value: str, effect: str) -> bool:
        return any(t.tolerates(key, value, effect) for t in self.tolerations)


def pod_count(count: int) -> str:
    """``1 pod``, ``3 pods``."""
    return f"{count} pod{'' if count == 1 else 's'}"
