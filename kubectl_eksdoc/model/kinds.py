"""The Kubernetes resources this tool reads, the result of reading them, and values that stand for a missing answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from enum import Enum
from typing import Any, ClassVar, TypeVar, cast

from kubectl_eksdoc.frozen import frozen

# Requested facts that are not known, with the reason. They never count as a pass, and never as "nothing there".


@frozen
class Unknown:
    """A fact that is not known. `why` is the reason as a clause; `missing`: the missing right, ``eks:DescribeAddon`` or
    ``get pods/log``, "" if that is not the reason."""

    why: str
    missing: str = ""

    def __str__(self) -> str:
        return self.why


@frozen
class AwsUnavailable(Unknown):
    """Nothing about AWS is known, for this one reason."""


AWS_DISABLED = AwsUnavailable("AWS is left out (--no-aws)")


@frozen
class NotInSnapshot(Unknown):
    """A snapshot was read, and it does not contain the answer."""


def missing_rights(*answers: object) -> tuple[str, ...]:
    """The missing rights among these answers, in their order."""
    return tuple(dict.fromkeys(each.missing for each in answers if isinstance(each, Unknown) and each.missing))


NOT_REQUESTED = Unknown("it was not asked for")


@frozen
class Absent:
    """The server answered that there is no such object. It has the attributes of `Unknown`, for callers that treat both
    alike."""

    said: str
    missing: ClassVar[str] = ""

    @property
    def why(self) -> str:
        return self.said


_Answers = TypeVar("_Answers")


def merge_answers(first: _Answers, later: _Answers) -> _Answers:
    """Merge two dataclasses of answers, `later` filling in what `first` did not request; nothing is requested twice."""

    def merged_value(name: str) -> object:
        earlier_value, later_value = getattr(first, name), getattr(later, name)
        if isinstance(earlier_value, Mapping) and isinstance(later_value, Mapping):
            return {**earlier_value, **later_value}
        return later_value if earlier_value is NOT_REQUESTED else earlier_value

    answer_type: Any = type(first)
    return cast("_Answers", answer_type(**{each.name: merged_value(each.name) for each in fields(answer_type)}))


def absent_as_unknown(answer: _Answers | Absent | Unknown) -> _Answers | Unknown:
    """Replace an `Absent` by an `Unknown` with the same reason, where an absent object leaves the question open."""
    return Unknown(answer.said) if isinstance(answer, Absent) else answer


# Confidence in a fact that was not observed: it comes from a document, or was concluded.


class Confidence(str, Enum):
    HIGH = "high"  # read in source code, an API model or the maker's own page, and nothing contradicts it
    MEDIUM = "medium"  # one good source, sources that contradict each other, or concluded from code
    LOW = "low"  # third parties only


# Kubernetes resources.


@frozen
class Resource:
    """One resource of the API: ``GET /apis/{group}/{version}/{plural}``.

    `custom`: a CRD defines it; a server that does not serve it has no object of it. `older`: versions that its CRD
    served before this one, newest first; the fields read here are the same in all of them.
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
        """This resource in each version in which it may be served, newest first."""
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
        """Path of the list of one namespace; "" lists all namespaces."""
        root, _, plural = self.path.rpartition("/")
        return f"{root}/namespaces/{namespace}/{plural}" if namespace else self.path

    @property
    def full_name(self) -> str:
        """The name in RBAC and kubectl: ``poddisruptionbudgets.policy``."""
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
"""Karpenter 0.32 to 0.37 serves only v1beta1 of both. The classes before that (AWSNodeTemplate) are not read."""

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

READ_BY_NAME = (
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
"""Resources of which single objects are read by name."""

_SEARCHED_LINES = """
networking.k8s.io networkpolicies NetworkPolicy
rbac.authorization.k8s.io rolebindings RoleBinding
rbac.authorization.k8s.io roles Role
storage.k8s.io csidrivers CSIDriver .
"""
_APPLIED_LINES = """
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
"""Group, plural and kind; a dot marks a cluster-scoped resource."""


def _parse_resource(line: str) -> Resource:
    group, plural, kind, *cluster_marker = line.split(" ")
    return Resource(kind, plural, group, namespaced=not cluster_marker)


SEARCHED: tuple[Resource, ...] = (
    *READ_BY_NAME,
    API_SERVICES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    PRIORITY_CLASSES,
    STATEFUL_SETS,
    VALIDATING_WEBHOOKS,
    *map(_parse_resource, _SEARCHED_LINES.strip("\n").split("\n")),
)
"""Kinds that manifests of add-ons usually contain, except Secrets and custom resources. It is not a complete list: for
every add-on whose manifest is not fully known, all other kinds are searched as well."""
MANIFEST_KINDS: tuple[Resource, ...] = (
    *SEARCHED,
    AUTOSCALERS,
    CRON_JOBS,
    JOBS,
    STORAGE_CLASSES,
    *map(_parse_resource, _APPLIED_LINES.strip("\n").split("\n")),
)
"""Kinds of Kubernetes 1.36 that a manifest may contain, except Secrets."""
SECRETS = Resource("Secret", "secrets")

NEVER_IN_MANIFESTS = frozenset(
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
"""Controllers and kubelets create these, possibly in large numbers; no add-on's manifest contains them."""

HISTORY_KINDS = {"DaemonSet": CONTROLLER_REVISIONS, "Deployment": REPLICA_SETS}
"""Kind → resource that stores the earlier pod templates of its objects. The API keeps no history for other kinds."""


class ReadState(str, Enum):
    """Result of reading one resource."""

    READ = "read"
    FORBIDDEN = "forbidden"
    NOT_SERVED = "not-served"  # the API server does not serve the resource
    NOT_HELD = "not-held"  # the snapshot contains no list of it
    INVALID = "invalid"  # some of its objects are not valid and were left out; the others were read
    FAILED = "failed"  # the server kept refusing, or its answer could not be read


@frozen
class KindRead:
    """One line of `metadata.kindsRead`. `detail` gives the reason, unless `state` is READ."""

    resource: Resource
    state: ReadState
    count: int = 0
    detail: str = ""

    @property
    def known(self) -> bool:
        """True if the objects of this kind are known completely.

        A custom resource that a live server does not serve is known to have no objects.
        """
        return self.state is ReadState.READ or (self.state is ReadState.NOT_SERVED and self.resource.custom)

    @property
    def as_unknown(self) -> Unknown:
        """Why its objects are not known completely. The message names the resource, unless the reason already does."""
        reason = self.detail or self.state.value
        message = reason if self.resource.plural in reason else f"{self.resource.plural}: {reason}"
        if self.state is ReadState.FORBIDDEN:
            return Unknown(message, f"list {self.resource.full_name}")
        return (NotInSnapshot if self.state is ReadState.NOT_HELD else Unknown)(message)


# Facts that an upgrade check needs besides the lists of a cluster.


MAX_UPGRADE_STEPS = 4
"""The number of minor versions ahead for which a snapshot contains all answers of an upgrade check."""


class CheckNeed(str, Enum):
    """A group of facts, read only if a selected check needs it. So no right is required for facts that are not used."""

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
class UpgradeQuery:
    """The versions of an upgrade. `now` and `target`: Kubernetes versions as EKS writes them (``1.33``); `steps`: the
    versions that the control plane goes through. `at`: the time for which metrics are requested, None for no metrics.
    """

    needs: frozenset[CheckNeed]
    now: str
    target: str
    steps: tuple[str, ...] = ()
    at: datetime | None = None
