"""The Kubernetes resources this tool reads, how that went, and what stands for an answer that there is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from enum import Enum
from typing import Any, ClassVar, TypeVar, cast

from kubectl_eksdoc.frozen import frozen

# What was asked for and is not known, and why, whoever was asked: never pass, and never nothing.


@frozen
class Unknown:
    """`why` in a clause; `missing`: the right that would tell, ``eks:DescribeAddon`` or ``get pods/log``, "" if that is
    not why."""

    why: str
    missing: str = ""

    def __str__(self) -> str:
        return self.why


@frozen
class NoAws(Unknown):
    """Nothing of AWS is known, for that one reason."""


LEFT_OUT = NoAws("AWS is left out (--no-aws)")


@frozen
class NotHeld(Unknown):
    """A snapshot was read, which does not hold it."""


def missing_rights(*answers: object) -> tuple[str, ...]:
    """Of those that are unknown for want of a right, in their order."""
    return tuple(dict.fromkeys(each.missing for each in answers if isinstance(each, Unknown) and each.missing))


NOT_ASKED = Unknown("it was not asked for")


@frozen
class Absent:
    """Whoever was asked says that there is no such thing. For those to whom it is as good as unknown it has what
    `Unknown` has."""

    said: str
    missing: ClassVar[str] = ""

    @property
    def why(self) -> str:
        return self.said


_Answers = TypeVar("_Answers")


def with_later(first: _Answers, later: _Answers) -> _Answers:
    """A dataclass of answers, with those that were given later; nothing is asked twice."""

    def both(name: str) -> object:
        one, other = getattr(first, name), getattr(later, name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            return {**one, **other}
        return other if one is NOT_ASKED else one

    kind: Any = type(first)
    return cast("_Answers", kind(**{each.name: both(each.name) for each in fields(kind)}))


def known_or_unknown(answer: _Answers | Absent | Unknown) -> _Answers | Unknown:
    """Of what is nothing by itself: where there is no such thing, that is why it is unknown."""
    return Unknown(answer.said) if isinstance(answer, Absent) else answer


# How sure something is that was not observed: what a document says, or what is concluded.


class Confidence(str, Enum):
    HIGH = "high"  # read in source code, an API's model or the maker's own page, and nothing contradicts it
    MEDIUM = "medium"  # one good source, sources that contradict each other, or concluded from code
    LOW = "low"  # third parties only


# The resources.


@frozen
class Resource:
    """One resource of the API: ``GET /apis/{group}/{version}/{plural}``.

    `custom` marks those a CRD must bring: a server that does not serve one has no object of it. `older`: the versions
    that its CRD served before this one, the newest first, in which what is read of it is the same.
    """

    kind: str
    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True
    custom: bool = False
    older: tuple[str, ...] = ()

    @property
    def versions(self) -> tuple[Resource, ...]:
        """This one in each version in which it may be served, the newest first."""
        return (self, *(replace(self, version=version, older=()) for version in self.older))

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Path of the list over all namespaces."""
        root = f"/apis/{self.group}" if self.group else "/api"
        return f"{root}/{self.version}/{self.plural}"

    def path_in(self, namespace: str) -> str:
        """Path of the list of one namespace; "": over all."""
        root, _, plural = self.path.rpartition("/")
        return f"{root}/namespaces/{namespace}/{plural}" if namespace else self.path

    @property
    def full_name(self) -> str:
        """As RBAC and kubectl write it: ``poddisruptionbudgets.policy``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


NODES = Resource("Node", "nodes", namespaced=False)
PODS = Resource("Pod", "pods")
BUDGETS = Resource("PodDisruptionBudget", "poddisruptionbudgets", "policy")
DEPLOYMENTS = Resource("Deployment", "deployments", "apps")
REPLICA_SETS = Resource("ReplicaSet", "replicasets", "apps")
STATEFUL_SETS = Resource("StatefulSet", "statefulsets", "apps")
DAEMON_SETS = Resource("DaemonSet", "daemonsets", "apps")
REPLICATION_CONTROLLERS = Resource("ReplicationController", "replicationcontrollers")
JOBS = Resource("Job", "jobs", "batch")
VOLUMES = Resource("PersistentVolume", "persistentvolumes", namespaced=False)
CLAIMS = Resource("PersistentVolumeClaim", "persistentvolumeclaims")
STORAGE_CLASSES = Resource("StorageClass", "storageclasses", "storage.k8s.io", namespaced=False)
CSI_NODES = Resource("CSINode", "csinodes", "storage.k8s.io", namespaced=False)
VOLUME_ATTACHMENTS = Resource("VolumeAttachment", "volumeattachments", "storage.k8s.io", namespaced=False)
NAMESPACES = Resource("Namespace", "namespaces", namespaced=False)
PRIORITY_CLASSES = Resource("PriorityClass", "priorityclasses", "scheduling.k8s.io", namespaced=False)
LEASES = Resource("Lease", "leases", "coordination.k8s.io")
AUTOSCALERS = Resource("HorizontalPodAutoscaler", "horizontalpodautoscalers", "autoscaling", "v2")
SERVICES = Resource("Service", "services")
ENDPOINT_SLICES = Resource("EndpointSlice", "endpointslices", "discovery.k8s.io")
VALIDATING_WEBHOOKS = Resource(
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    "admissionregistration.k8s.io",
    namespaced=False,
)
MUTATING_WEBHOOKS = Resource(
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    "admissionregistration.k8s.io",
    namespaced=False,
)
TARGET_GROUP_BINDINGS = Resource("TargetGroupBinding", "targetgroupbindings", "elbv2.k8s.aws", "v1beta1", custom=True)
CONFIG_MAPS = Resource("ConfigMap", "configmaps")
EVENTS = Resource("Event", "events")
SERVICE_ACCOUNTS = Resource("ServiceAccount", "serviceaccounts")
CONTROLLER_REVISIONS = Resource("ControllerRevision", "controllerrevisions", "apps")
SECURITY_GROUP_POLICIES = Resource(
    "SecurityGroupPolicy", "securitygrouppolicies", "vpcresources.k8s.aws", "v1beta1", custom=True
)
ENI_CONFIGS = Resource("ENIConfig", "eniconfigs", "crd.k8s.amazonaws.com", "v1alpha1", namespaced=False, custom=True)
CRON_JOBS = Resource("CronJob", "cronjobs", "batch")
API_SERVICES = Resource("APIService", "apiservices", "apiregistration.k8s.io", namespaced=False)
DEFINITIONS = Resource(
    "CustomResourceDefinition", "customresourcedefinitions", "apiextensions.k8s.io", namespaced=False
)
CLUSTER_ROLES = Resource("ClusterRole", "clusterroles", "rbac.authorization.k8s.io", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(
    "ClusterRoleBinding", "clusterrolebindings", "rbac.authorization.k8s.io", namespaced=False
)
NODE_POOLS = Resource("NodePool", "nodepools", "karpenter.sh", namespaced=False, custom=True, older=("v1beta1",))
NODE_CLASSES = Resource(
    "EC2NodeClass", "ec2nodeclasses", "karpenter.k8s.aws", namespaced=False, custom=True, older=("v1beta1",)
)
"""Karpenter 0.32 to 0.37 serves v1beta1 of both alone. Its classes before that (AWSNodeTemplate) are not read."""

ALL: tuple[Resource, ...] = (
    NODES,
    PODS,
    BUDGETS,
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    DAEMON_SETS,
    REPLICATION_CONTROLLERS,
    JOBS,
    VOLUMES,
    CLAIMS,
    STORAGE_CLASSES,
    CSI_NODES,
    VOLUME_ATTACHMENTS,
    NAMESPACES,
    PRIORITY_CLASSES,
    LEASES,
    AUTOSCALERS,
    SERVICES,
    ENDPOINT_SLICES,
    VALIDATING_WEBHOOKS,
    MUTATING_WEBHOOKS,
    TARGET_GROUP_BINDINGS,
    NODE_POOLS,
)

SINGLE = (
    BUDGETS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    CONFIG_MAPS,
    DAEMON_SETS,
    DEFINITIONS,
    DEPLOYMENTS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
"""Those of which single objects are read, by their names."""

_SEARCHED = """
networking.k8s.io networkpolicies NetworkPolicy
rbac.authorization.k8s.io rolebindings RoleBinding
rbac.authorization.k8s.io roles Role
storage.k8s.io csidrivers CSIDriver .
"""
_OTHERS = """
 limitranges LimitRange
 persistentvolumeclaims PersistentVolumeClaim
 persistentvolumes PersistentVolume .
 podtemplates PodTemplate
 replicationcontrollers ReplicationController
 resourcequotas ResourceQuota
admissionregistration.k8s.io mutatingadmissionpolicies MutatingAdmissionPolicy .
admissionregistration.k8s.io mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding .
admissionregistration.k8s.io validatingadmissionpolicies ValidatingAdmissionPolicy .
admissionregistration.k8s.io validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding .
flowcontrol.apiserver.k8s.io flowschemas FlowSchema .
flowcontrol.apiserver.k8s.io prioritylevelconfigurations PriorityLevelConfiguration .
networking.k8s.io ingressclasses IngressClass .
networking.k8s.io ingresses Ingress
networking.k8s.io servicecidrs ServiceCIDR .
node.k8s.io runtimeclasses RuntimeClass .
resource.k8s.io deviceclasses DeviceClass .
resource.k8s.io resourceclaims ResourceClaim
resource.k8s.io resourceclaimtemplates ResourceClaimTemplate
storage.k8s.io volumeattributesclasses VolumeAttributesClass .
"""
"""Group, plural and kind; a dot: it has no namespace."""


def _other(line: str) -> Resource:
    group, plural, kind, *cluster = line.split(" ")
    return Resource(kind, plural, group, namespaced=not cluster)


SEARCHED: tuple[Resource, ...] = (
    *SINGLE,
    API_SERVICES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    PRIORITY_CLASSES,
    STATEFUL_SETS,
    VALIDATING_WEBHOOKS,
    *map(_other, _SEARCHED.strip("\n").split("\n")),
)
"""Kinds of which manifests of add-ons have objects as a rule, but for Secrets and custom resources. It is no promise:
all others are searched, too, for every add-on whose manifest is not known whole."""
APPLIED: tuple[Resource, ...] = (
    *SEARCHED,
    AUTOSCALERS,
    CRON_JOBS,
    JOBS,
    STORAGE_CLASSES,
    *map(_other, _OTHERS.strip("\n").split("\n")),
)
"""Kinds of Kubernetes 1.36 of which a manifest may have objects, but for Secrets."""
SECRETS = Resource("Secret", "secrets")

NEVER_APPLIED = frozenset(
    (
        "certificatesigningrequests.certificates.k8s.io",
        "componentstatuses",
        "controllerrevisions.apps",
        "csinodes.storage.k8s.io",
        "csistoragecapacities.storage.k8s.io",
        "endpoints",
        "endpointslices.discovery.k8s.io",
        "events",
        "events.events.k8s.io",
        "ipaddresses.networking.k8s.io",
        "leases.coordination.k8s.io",
        "nodes",
        "pods",
        "replicasets.apps",
        "resourceslices.resource.k8s.io",
        "volumeattachments.storage.k8s.io",
    )
)
"""Controllers and kubelets make these, and there may be very many: no add-on's manifest has one."""

HISTORY_OF = {"DaemonSet": CONTROLLER_REVISIONS, "Deployment": REPLICA_SETS}
"""Kind → where the pod templates are kept that an object of it has had; of other kinds the API keeps nothing."""


class ReadState(str, Enum):
    """How reading one resource ended."""

    READ = "read"
    FORBIDDEN = "forbidden"
    NOT_SERVED = "not-served"  # the server does not know the resource
    NOT_HELD = "not-held"  # the snapshot has no list of it
    INVALID = "invalid"  # some of its objects are not valid, and were left out; the others were read
    FAILED = "failed"  # the server kept refusing, or answered nonsense


@frozen
class KindRead:
    """One line of `metadata.kindsRead`: `detail` says why, unless `state` is READ."""

    resource: Resource
    state: ReadState
    count: int = 0
    detail: str = ""

    @property
    def known(self) -> bool:
        """True when the objects of this kind are known completely.

        A custom resource that a live server does not serve is known to have no objects.
        """
        return self.state is ReadState.READ or (self.state is ReadState.NOT_SERVED and self.resource.custom)

    @property
    def lack(self) -> Unknown:
        """Why its objects are not known completely: of what it was, unless the reason says that itself."""
        why = self.detail or self.state.value
        told = why if self.resource.plural in why else f"{self.resource.plural}: {why}"
        if self.state is ReadState.FORBIDDEN:
            return Unknown(told, f"list {self.resource.full_name}")
        return (NotHeld if self.state is ReadState.NOT_HELD else Unknown)(told)


# What a check of an upgrade judges by, besides the lists of a cluster.


FURTHER = 4
"""So many versions an upgrade may go at once, for which a snapshot holds all that is asked."""


class CheckNeed(str, Enum):
    """Gathered only where a chosen check judges by it, so that no right is needed for what nobody asks."""

    VERSIONS = "the versions that EKS supports"
    ADDONS = "the add-ons of EKS, and their versions"
    API_REQUESTS = "the requests for deprecated APIs that the API server has counted"
    API_WRITTEN = "in which versions the objects are written whose APIs go on the way"
    HELM = "the releases of Helm"
    MANIFESTS = "the manifests of files"
    INSIGHTS = "the insights of EKS"
    CLUSTER_UPDATES = "the latest updates of the cluster"
    NODE_GROUPS = "the managed node groups"
    GROUP_UPDATES = "the latest updates of node groups"
    TEMPLATES = "launch templates of the node groups' owners"
    RELEASES = "the AMI releases that EKS recommends"
    SUBNETS = "the subnets of the cluster and its node groups"
    QUOTAS = "quotas of the account"
    PROXY = "the configuration of kube-proxy"
    PLAN_DRAIN = "drain plan"
    PLAN_ADDONS = "addon-diff"
    PLAN_IMDS = "imds-probe"
    PLAN_DNS = "coredns-lameduck"
    PLAN_INTERRUPTION = "interruption"


@frozen
class WantedVersions:
    """`now` and `target`: Kubernetes versions as EKS writes them (``1.33``); `steps`: those that the control plane goes
    through. `at`: the moment of which figures are wanted, None for none."""

    needs: frozenset[CheckNeed]
    now: str
    target: str
    steps: tuple[str, ...] = ()
    at: datetime | None = None
