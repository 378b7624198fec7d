"""The resources kube-apiserver 1.36.2 serves by itself; the tests compare whole recorded discovery answers."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import Resource

# One resource of the API as discovery describes it, and a group version that is announced without resources.


ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
READ_AND_WRITE = ("get", "patch", "update")
"""The verbs of most subresources."""


@frozen
class Subresource:
    """``pods/eviction``: `group` and `version` are those of `kind` where they are not the parent's, else empty."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@frozen
class Served(Resource):
    """A resource in one version, and what the server does with its objects. `custom`: of a CustomResourceDefinition.

    `counts`: they have metadata.generation, which a change of the spec counts up. `has_status`: the status is written
    under /status alone. `returned`: a deletion answers with the object, not with a Status.
    """

    singular: str = ""
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    has_status: bool = False
    counts: bool = False
    returned: bool = False

    @property
    def root(self) -> str:
        """The path of its group version: ``/api/v1``, ``/apis/apps/v1``."""
        return self.path.rpartition("/")[0]

    def subresource(self, name: str) -> Subresource | None:
        return next((s for s in self.subresources if s.name == name), None)


@frozen
class AnnouncedGroupVersion:
    """A group version that an APIService claims; `remote` where another server is to answer for it.

    A remote one stays in ``/apis`` whether its server can be reached or not (kube-aggregator, handler_apis.go).
    """

    group: str
    version: str
    group_priority: int
    version_priority: int
    remote: bool


_GROUPS = """
apiregistration.k8s.io apps events.k8s.io authentication.k8s.io authorization.k8s.io autoscaling batch
certificates.k8s.io networking.k8s.io policy rbac.authorization.k8s.io storage.k8s.io admissionregistration.k8s.io
apiextensions.k8s.io scheduling.k8s.io coordination.k8s.io node.k8s.io discovery.k8s.io resource.k8s.io
flowcontrol.apiserver.k8s.io
"""
GROUP_PRIORITIES = {group: 20_000 - 100 * place for place, group in enumerate(_GROUPS.split())}
"""In which order ``/apis`` lists the groups: the highest first, and by name where two are equal.

The order is the recorded one; the numbers only have to stay above 1000, which groups of custom resources get.
"""

_TABLE = """
v1
    Binding bindings verbs=create
    ComponentStatus componentstatuses cluster short=cs verbs=get,list
    ConfigMap configmaps short=cm
    Endpoints endpoints short=ep
    Event events short=ev
    LimitRange limitranges short=limits
    Namespace namespaces cluster short=ns verbs=create,delete,get,list,patch,update,watch status returned
        finalize Namespace update
    Node nodes cluster short=no status
        proxy NodeProxyOptions create,delete,get,patch,update
    PersistentVolumeClaim persistentvolumeclaims short=pvc status returned
    PersistentVolume persistentvolumes cluster short=pv status returned
    Pod pods short=po in=all status counts returned
        attach PodAttachOptions create,get
        binding Binding create
        ephemeralcontainers Pod get,patch,update
        eviction policy/v1/Eviction create
        exec PodExecOptions create,get
        log Pod get
        portforward PodPortForwardOptions create,get
        proxy PodProxyOptions create,delete,get,patch,update
        resize Pod get,patch,update
    PodTemplate podtemplates
    ReplicationController replicationcontrollers short=rc in=all status scale counts
    ResourceQuota resourcequotas short=quota status
    Secret secrets
    ServiceAccount serviceaccounts short=sa
        token authentication.k8s.io/v1/TokenRequest create
    Service services short=svc in=all status
        proxy ServiceProxyOptions create,delete,get,patch,update
apps/v1
    ControllerRevision controllerrevisions
    DaemonSet daemonsets short=ds in=all status counts
    Deployment deployments short=deploy in=all status scale counts
    ReplicaSet replicasets short=rs in=all status scale counts
    StatefulSet statefulsets short=sts in=all status scale counts
autoscaling/v2
    HorizontalPodAutoscaler horizontalpodautoscalers short=hpa in=all status
autoscaling/v1
    HorizontalPodAutoscaler horizontalpodautoscalers short=hpa in=all status
batch/v1
    CronJob cronjobs short=cj in=all status counts
    Job jobs in=all status counts
policy/v1
    PodDisruptionBudget poddisruptionbudgets short=pdb status counts
scheduling.k8s.io/v1
    PriorityClass priorityclasses cluster short=pc counts
authentication.k8s.io/v1
    SelfSubjectReview selfsubjectreviews cluster verbs=create
    TokenReview tokenreviews cluster verbs=create
authorization.k8s.io/v1
    LocalSubjectAccessReview localsubjectaccessreviews verbs=create
    SelfSubjectAccessReview selfsubjectaccessreviews cluster verbs=create
    SelfSubjectRulesReview selfsubjectrulesreviews cluster verbs=create
    SubjectAccessReview subjectaccessreviews cluster verbs=create
certificates.k8s.io/v1
    CertificateSigningRequest certificatesigningrequests cluster short=csr status
        approval CertificateSigningRequest get,patch,update
rbac.authorization.k8s.io/v1
    ClusterRoleBinding clusterrolebindings cluster
    ClusterRole clusterroles cluster
    RoleBinding rolebindings
    Role roles
networking.k8s.io/v1
    IngressClass ingressclasses cluster
    Ingress ingresses short=ing status
    IPAddress ipaddresses cluster short=ip
    NetworkPolicy networkpolicies short=netpol
    ServiceCIDR servicecidrs cluster status
discovery.k8s.io/v1
    EndpointSlice endpointslices counts
storage.k8s.io/v1
    CSIDriver csidrivers cluster
    CSINode csinodes cluster
    CSIStorageCapacity csistoragecapacities
    StorageClass storageclasses cluster short=sc
    VolumeAttachment volumeattachments cluster status returned
    VolumeAttributesClass volumeattributesclasses cluster short=vac
apiregistration.k8s.io/v1
    APIService apiservices cluster in=api-extensions status
events.k8s.io/v1
    Event events short=ev
admissionregistration.k8s.io/v1
    MutatingAdmissionPolicy mutatingadmissionpolicies cluster in=api-extensions
    MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings cluster in=api-extensions
    MutatingWebhookConfiguration mutatingwebhookconfigurations cluster in=api-extensions counts
    ValidatingAdmissionPolicy validatingadmissionpolicies cluster in=api-extensions status
    ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings cluster in=api-extensions
    ValidatingWebhookConfiguration validatingwebhookconfigurations cluster in=api-extensions counts
apiextensions.k8s.io/v1
    CustomResourceDefinition customresourcedefinitions cluster short=crd,crds in=api-extensions status
coordination.k8s.io/v1
    Lease leases
node.k8s.io/v1
    RuntimeClass runtimeclasses cluster
resource.k8s.io/v1
    DeviceClass deviceclasses cluster
    ResourceClaim resourceclaims status
    ResourceClaimTemplate resourceclaimtemplates
    ResourceSlice resourceslices cluster
flowcontrol.apiserver.k8s.io/v1
    FlowSchema flowschemas cluster status
    PriorityLevelConfiguration prioritylevelconfigurations cluster status
"""
"""A group version, its resources (kind, plural, and what is not as of most), and their subresources (name, kind,
verbs). `status` and `scale` are subresources that are the same everywhere."""

_SCALE = Subresource("scale", "Scale", READ_AND_WRITE, "autoscaling", "v1")


def _served(group_version: str, line: str, below: list[str]) -> Served:
    group, _, version = group_version.rpartition("/")
    kind, plural, *words = line.split()
    told = {name: tuple(value.split(",")) for name, _, value in (word.partition("=") for word in words)}
    subresources = [_subresource(*each.split()) for each in below]
    subresources += [_SCALE] if "scale" in told else []
    subresources += [Subresource("status", kind, READ_AND_WRITE)] if "status" in told else []
    return Served(
        kind,
        plural,
        group,
        version,
        "cluster" not in told,
        singular=kind.lower(),
        verbs=told.get("verbs", ALL_VERBS),
        short_names=told.get("short", ()),
        categories=told.get("in", ()),
        subresources=tuple(sorted(subresources, key=lambda each: each.name)),
        has_status="status" in told,
        counts="counts" in told,
        returned="returned" in told,
    )


def _subresource(name: str, kind: str, verbs: str) -> Subresource:
    group_version, _, kind = kind.rpartition("/")
    group, _, version = group_version.rpartition("/")
    return Subresource(name, kind, tuple(verbs.split(",")), group, version)


def _built_in() -> tuple[Served, ...]:
    rows: list[tuple[str, str, list[str]]] = []
    group_version = ""
    for line in _TABLE.strip().splitlines():
        if not line.startswith(" "):
            group_version = line
        elif line.startswith(" " * 8):
            rows[-1][2].append(line)
        else:
            rows.append((group_version, line, []))
    return tuple(_served(*row) for row in rows)


BUILT_IN = _built_in()


def by_name(served: Iterable[Served] = BUILT_IN) -> dict[str, Served]:
    """By the name in the store; of several versions the first."""
    return {each.full_name: each for each in reversed(tuple(served))}
