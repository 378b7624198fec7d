"""Pods and nodes, and the owner of a node: a managed node group, eksctl, Karpenter, Fargate and others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen

from .placement import ANY_NODE, Placement, ResourceRequests
from .quantities import Version, go_duration
from .selectors import Labels

HOSTNAME = "kubernetes.io/hostname"
UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"
COMPUTE_TYPE = "eks.amazonaws.com/compute-type"

EXCLUDE_FROM_LOAD_BALANCERS = "node.kubernetes.io/exclude-from-external-load-balancers"
"""Node label. Whatever its value, load balancers that send traffic to nodes exclude the node (cloud-provider,
controllers/service)."""

SCALE_DOWN_PROTECTIONS = ("cluster-autoscaler.kubernetes.io/scale-down-disabled", "karpenter.sh/do-not-disrupt")
"""Node annotations ("true") that keep the Cluster Autoscaler and Karpenter from removing the node to save cost."""

REBOOT_IN_PROGRESS = "weave.works/kured-reboot-in-progress"
"""Annotation with which kured announces that it drains and reboots the node, now or soon (kured --annotate-nodes)."""

MANAGED_GROUP = "eks.amazonaws.com/nodegroup"
EKSCTL_GROUP = "alpha.eksctl.io/nodegroup-name"
NODE_POOL = "karpenter.sh/nodepool"
PROVISIONER = "karpenter.sh/provisioner-name"  # NodePool's name before Karpenter v0.32
GROUP_LABELS = (MANAGED_GROUP, NODE_POOL, PROVISIONER, EKSCTL_GROUP)
"""Labels that name the node's group, one for each kind of owner."""

LAUNCH_TEMPLATE_LABEL = "eks.amazonaws.com/sourceLaunchTemplateId"
"""Label on nodes of a managed node group. It names the custom launch template of the group."""

_LIFECYCLE_LABEL = "node.kubernetes.io/lifecycle"
"""Label that users put on self-managed nodes (Cluster Autoscaler documentation for AWS, Spot instances)."""


class NodeOwner(str, Enum):
    """The controller or service that creates and removes a node."""

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
    """What a drain run has recorded in a node's annotations.

    `journal`: the namespace of its journal, "" if the annotation does not say. `drains`: the run cordoned the node or
    excluded it from load balancers; True if the annotation cannot be read. `protects`: it keeps autoscalers from
    removing the node. `skipped`: the plan of the run does not drain the node, so the node is not counted as part of the
    plan."""

    run: str
    journal: str = ""
    drains: bool = True
    protects: bool = False
    skipped: bool = False


@frozen
class Node:
    """One node. `ready` is the status of its Ready condition: True, False or Unknown. `annotations` holds only the
    annotations that are evaluated (`REBOOT_IN_PROGRESS`). `runtime` is its containerRuntimeVersion:
    ``containerd://1.7.27``.

    `allocatable` by resource: CPU in millicores, memory and storage in bytes, everything else in units. `note`: what
    the last run of this tool recorded on the node.
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
        """Name of its node group or NodePool, "" if it has none."""
        for label in GROUP_LABELS:
            if label in self.labels:
                return self.labels[label]
        return ""

    @property
    def groups(self) -> frozenset[str]:
        """Every name by which ``--nodegroup`` selects this node."""
        return frozenset(self.labels[name] for name in GROUP_LABELS if name in self.labels)

    @property
    def capacity_type(self) -> str:
        """on-demand, spot, reserved and so on, "" if unknown. Karpenter, managed node groups and other owners use
        different labels."""
        value = self.labels.get("karpenter.sh/capacity-type") or self.labels.get("eks.amazonaws.com/capacityType", "")
        if not value and self.labels.get(_LIFECYCLE_LABEL) == "spot":
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


# Containers of single pods: their arguments, their state, and their logs.


class ContainerRunState(Enum):
    """The state that the kubelet reports for a container."""

    RUNNING = "running"
    WAITING = "waiting"
    ENDED = "ended"
    UNKNOWN = ""


@frozen
class Container:
    """A container of one pod.

    `arguments`: its command and its args as the pod's spec has them (defaults of the image are not known). `variables`:
    names of environment variables. `more_variables`: more variables come from a whole ConfigMap or Secret (envFrom);
    their names are not known. `ended_before`: an earlier container of the same name in this pod has terminated.
    `ended_as`: the kubelet's reason for the last termination, of this container or of the one before (``OOMKilled``);
    "" if there was none. `init`: an init container. `values`: values of the variables listed under `told` in
    knowledge/kept_keys.json, and of empty variables, if the pod's spec sets them directly. `more_secrets`: some of the
    other variables come from a Secret."""

    name: str
    image: str = ""
    arguments: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    more_variables: bool = False
    runs: ContainerRunState = ContainerRunState.UNKNOWN
    ready: bool = False
    ended_before: bool = False
    ended_as: str = ""
    restarts: int = 0
    init: bool = False
    values: tuple[tuple[str, str], ...] = ()
    more_secrets: bool = False


@frozen(order=True)
class LogKey:
    """Identifies a container's log. `previous`: the log of the container of that name that terminated before."""

    namespace: str
    pod: str
    container: str
    previous: bool = False


# Pods with security groups of their own: the branch interface of each, and the network probes of the kubelet.
#
# Sources: amazon-vpc-resource-controller-k8s (annotation ``vpc.amazonaws.com/pod-eni``, a JSON list of interfaces; its
# webhook adds the extended resource of the same name to pods that a SecurityGroupPolicy selects), core/v1 Probe.


POD_ENI = "vpc.amazonaws.com/pod-eni"
"""The extended resource that such a pod requests, and the annotation that holds the interface it received."""


class ProbeKind(str, Enum):
    """The kind of a probe: what the kubelet does when it fails."""

    READINESS = "readiness"  # removes the pod from its Services
    LIVENESS = "liveness"  # restarts the container
    STARTUP = "startup"  # restarts the container, until the probe has succeeded once


@frozen
class Probe:
    """A probe over the network: ``httpGet``, ``tcpSocket`` or ``grpc``. Exec probes run in the container and are not
    included. `by` is the method."""

    container: str
    kind: ProbeKind
    by: str
    period_s: int = 10
    failures: int = 3

    @property
    def detection_s(self) -> int:
        """Seconds without an answer until the kubelet acts, without timeouts."""
        return self.period_s * self.failures


@frozen
class BranchInterface:
    """A branch interface. `address` is the address of the pod; `interface` the address of its branch interface, "" if
    none was recorded."""

    address: str = ""
    interface: str = ""
    probes: tuple[Probe, ...] = ()

    @property
    def uses_node_address(self) -> bool:
        """Whether the pod started without its branch interface: it has an address of its node, and so the node's
        security groups. Needs both addresses."""
        return bool(self.address and self.interface and self.address != self.interface)


def requests_branch_interface(requests: ResourceRequests) -> bool:
    return any(name == POD_ENI for name, _ in requests.others)


# Pods: the fields that a drain depends on.


MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DO_NOT_EVICT = "karpenter.sh/do-not-evict"  # name of the annotation before Karpenter v0.32
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"

JUDGED_ANNOTATIONS = frozenset({MIRROR_ANNOTATION, DO_NOT_DISRUPT, DO_NOT_EVICT, SAFE_TO_EVICT})
"""The only annotations of a pod that are kept. The others are large and not needed here."""

RELEASE_NOTE_FIELDS = ("appArmorProfile", "seLinuxOptions", "gitRepo")
"""Fields anywhere in a pod's spec that release notes mention."""

FINISHED_PHASES = frozenset({"Succeeded", "Failed"})
"""Phases of a pod whose containers have all terminated and do not start again."""

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
"""Lowest priority of the two system-critical PriorityClasses (pkg/apis/scheduling/types.go)."""


class RoleSource(str, Enum):
    """Source of a pod's own AWS credentials, found by environment variables that webhooks and users set; the most
    certain first."""

    IRSA = "IRSA"  # AWS_WEB_IDENTITY_TOKEN_FILE
    POD_IDENTITY = "Pod Identity"  # AWS_CONTAINER_CREDENTIALS_FULL_URI
    KEYS = "access keys"  # AWS_ACCESS_KEY_ID
    NONE = ""


@frozen
class Calls:
    """How a pod would call AWS. `role`: the source of its own role, as its environment shows. Replicas share one
    object."""

    host_network: bool = False
    service_account: str = ""
    role: RoleSource = RoleSource.NONE
    images: tuple[str, ...] = ()


@frozen
class ControllerOwner:
    """The controllerRef of an object; `group` is the API group without the version."""

    kind: str
    name: str
    uid: str
    group: str = ""


class Toleration(NamedTuple):
    """A toleration. `operator` is Exists or Equal; an empty `key` with Exists tolerates every taint."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, key: str, value: str, effect: str) -> bool:
        """Implements ``Toleration.ToleratesTaint`` (staging/src/k8s.io/api/core/v1/toleration.go)."""
        if self.effect and self.effect != effect:
            return False
        if self.key and self.key != key:
            return False
        if self.operator in ("", "Equal"):
            return bool(self.key) and self.value == value
        return self.operator == "Exists"


class VolumeKind(str, Enum):
    """Where a pod's data is stored. Volumes built from API objects (Secrets, ConfigMaps) are not included."""

    EMPTY_DIR = "emptyDir"
    HOST_PATH = "hostPath"
    CLAIM = "persistentVolumeClaim"
    EPHEMERAL = "ephemeral"
    AWS_EBS = "awsElasticBlockStore"


@frozen
class Volume:
    """A volume of a pod.

    `detail`: emptyDir → medium ("" is disk), hostPath → path, claim → name of the PersistentVolumeClaim, EBS → volume
    ID. `path_type`: for a hostPath, the required type (``Socket``), "" for any.

    The claim of an ephemeral volume is created for this pod and deleted with it; `detail` is its name, too.
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

    `not_ready_because`, while it is not Ready: the kubelet's reason (CrashLoopBackOff, ContainersNotReady and others),
    or the scheduler's reason with its message if it found no node. `scheduled_at` and `ready_at` are the last
    transitions of these conditions to True, None while they are not True. `restarted`: one of its containers has run
    more than once. `preempts`: if the pod fits on no node, the scheduler may delete pods of lower `priority` for it
    (preemptionPolicy, which admission sets from its PriorityClass). `branch` is set if the pod has security groups of
    its own; `calls`: how it calls AWS; `noted`: which of `RELEASE_NOTE_FIELDS` it has. `pre_stop_s`: seconds that its
    preStop hooks sleep before its containers receive SIGTERM.
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
    placement: Placement = ANY_NODE
    preempts: bool = True
    branch: BranchInterface | None = None
    calls: Calls = Calls()
    noted: tuple[str, ...] = ()
    pre_stop_s: int = 0

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_daemon_set_pod(self) -> bool:
        """Whether a DaemonSet owns the pod, so that it belongs to its node."""
        return self.owner is not None and self.owner.kind == "DaemonSet"

    @property
    def deployment(self) -> str:
        """Name of the Deployment that owns the pod: the name of its ReplicaSet without the hash in the pod's labels. ""
        if there is none."""
        hash_suffix = f"-{self.labels.get('pod-template-hash', '')}"
        if self.owner is None or self.owner.kind != "ReplicaSet" or len(hash_suffix) < 2:
            return ""
        return self.owner.name.removesuffix(hash_suffix) if self.owner.name.endswith(hash_suffix) else ""

    @property
    def finished(self) -> bool:
        return self.phase in FINISHED_PHASES

    @property
    def deleting(self) -> bool:
        return self.deletion_deadline is not None

    @property
    def is_mirror(self) -> bool:
        """Whether it is the mirror of a static pod, which the kubelet owns (pkg/drain/filters.go:mirrorPodFilter)."""
        return MIRROR_ANNOTATION in self.annotations

    @property
    def is_system_critical(self) -> bool:
        return self.priority >= SYSTEM_CRITICAL_PRIORITY

    def protection_at(self, now: datetime) -> str:
        """The annotation that protects the pod from disruption at `now`, or "".

        Karpenter also accepts a duration, counted from the start of the pod; here it is counted from its creation. Any
        text that is not a duration protects the pod as well.
        """
        for key, value in (
            (DO_NOT_DISRUPT, "true"),
            (DO_NOT_EVICT, "true"),
            (SAFE_TO_EVICT, "false"),
        ):
            if self.annotations.get(key) == value:
                return f"{key}={value}"
        annotation_value = self.annotations.get(DO_NOT_DISRUPT, "false")
        if annotation_value in ("false", "") or self._is_older_than(annotation_value, now):
            return ""
        return f"{DO_NOT_DISRUPT}={annotation_value}"

    def _is_older_than(self, duration: str, now: datetime) -> bool:
        protected_for = go_duration(duration)
        return protected_for is not None and self.created_at is not None and now - self.created_at >= protected_for

    def tolerates(self, key: str, value: str, effect: str) -> bool:
        return any(t.tolerates(key, value, effect) for t in self.tolerations)


def pod_count(count: int) -> str:
    """``1 pod``, ``3 pods``."""
    return f"{count} pod{'' if count == 1 else 's'}"
