"""Resources that kube-apiserver 1.36.2 serves itself, and its answers that are not objects: Status documents.

The tests compare complete recorded discovery answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Resource

# A resource of the API as discovery describes it, and a group version that is announced without resources.


ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
READ_AND_WRITE = ("get", "patch", "update")
"""Verbs of most subresources."""


@frozen
class Subresource:
    """``pods/eviction``: `group` and `version` of `kind`, empty if they are the parent's."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@frozen
class Served(Resource):
    """A resource in one version, and how the server handles its objects. `custom`: defined by a
    CustomResourceDefinition.

    `has_generation`: objects have metadata.generation, which a change of the spec increments. `has_status`: the status
    is written only under /status. `returns_deleted`: a deletion answers with the object, not with a Status.
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
        """Path of its group version: ``/api/v1``, ``/apis/apps/v1``."""
        return self.path.rpartition("/")[0]

    def subresource(self, name: str) -> Subresource | None:
        return next((s for s in self.subresources if s.name == name), None)


@frozen
class AnnouncedGroupVersion:
    """A group version that an APIService claims; `remote` if another server answers for it.

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
"""Order of the groups in ``/apis``: the highest first, and by name if two are equal.

The order is the recorded one; the numbers only have to stay above 1000, the priority of groups of custom resources.
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
"""A group version, its resources (kind, plural, and deviations from the usual attributes), and their subresources
(name, kind, verbs). `status` and `scale` are subresources that are the same everywhere."""

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
    """By full name; of several versions the first."""
    return {each.full_name: each for each in reversed(tuple(served))}


# Status documents of the API server, and the refusals that create them.


@frozen
class StatusCause:
    """`field`: the path of the field, "" without one."""

    reason: str
    message: str
    where: str = ""

    def doc(self) -> Doc:
        made = {"reason": self.reason, "message": self.message, "field": self.where}
        return {key: value for key, value in made.items() if value}


@frozen
class Details:
    """`kind` is mostly the resource's plural, as on the server. `retry_after_s` 0: none."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_s: int = 0

    def doc(self) -> Doc:
        causes = [cause.doc() for cause in self.causes]
        made = {"name": self.name, "group": self.group, "kind": self.kind, "uid": self.uid}
        made |= {"causes": causes, "retryAfterSeconds": self.retry_after_s}  # type: ignore[dict-item]
        return {key: value for key, value in made.items() if value}


@frozen
class ApiStatus:
    """A Status document. `details` None: the document has none; empty details are printed as ``{}``."""

    code: int
    reason: str = ""
    message: str = ""
    details: Details | None = None

    @property
    def ok(self) -> bool:
        return self.code < 400

    def doc(self) -> Doc:
        made: Doc = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
        made["status"] = "Success" if self.ok else "Failure"
        if self.message:
            made["message"] = self.message
        if self.reason:
            made["reason"] = self.reason
        if self.details is not None:
            made["details"] = self.details.doc()
        return {**made, "code": self.code}


@frozen
class LostAnswer:
    """No answer, or an incomplete one: the request may have been carried out or not."""

    said: str


class ApiRefusal(Exception):
    """A request that is answered with a failure; nothing was changed."""

    def __init__(self, status: ApiStatus) -> None:
        super().__init__(f"{status.code} {status.reason}: {status.message}")
        self.status = status


def not_found(of: Resource, name: str) -> ApiRefusal:
    return _of(404, "NotFound", f'{of.full_name} "{name}" not found', of, name)


def already_exists(of: Resource, name: str) -> ApiRefusal:
    return _of(409, "AlreadyExists", f'{of.full_name} "{name}" already exists', of, name)


def modified(of: Resource, name: str) -> ApiRefusal:
    """Another client has written in between (the optimistic lock failed)."""
    text = "the object has been modified; please apply your changes to the latest version and try again"
    return _of(409, "Conflict", f'Operation cannot be fulfilled on {of.full_name} "{name}": {text}', of, name)


def precondition_failed(of: Resource, name: str, what: str, asked: str, there: str) -> ApiRefusal:
    """`precondition`: ``UID`` or ``ResourceVersion``. The message names the kind, not the resource, which the storage
    layer does not know."""
    happened = "deleted and then recreated" if what == "UID" else "modified"
    said = f"the {what} in the precondition ({asked}) does not match the {what} in record ({there})"
    text = f'Operation cannot be fulfilled on {of.kind} "{name}": {said}. The object might have been {happened}'
    return ApiRefusal(ApiStatus(409, "Conflict", text, Details(name, "", of.kind)))


def terminating(of: Resource, name: str, namespace: str) -> ApiRefusal:
    """No new content in a namespace that is being deleted; an eviction counts as new content."""
    text = f"unable to create new content in namespace {namespace} because it is being terminated"
    cause = StatusCause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
    return forbidden(of, name, text, (cause,))


def forbidden(of: Resource, name: str, why: str, causes: Sequence[StatusCause] = ()) -> ApiRefusal:
    subject = f'{of.full_name} "{name}"' if name else of.full_name
    details = Details(name, of.group, of.plural, causes=tuple(causes))
    return ApiRefusal(ApiStatus(403, "Forbidden", f"{subject} is forbidden: {why}", details))


def invalid(of: Resource, name: str, causes: Sequence[StatusCause]) -> ApiRefusal:
    """The result of validation: one cause for each field."""
    said = [f"{cause.where}: {cause.message}" for cause in causes]
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    kind = f"{of.kind}.{of.group}" if of.group else of.kind
    details = Details(name, of.group, of.kind, causes=tuple(causes))
    return ApiRefusal(ApiStatus(422, "Invalid", f'{kind} "{name}" is invalid: {text}', details))


def bad_request(message: str) -> ApiRefusal:
    return ApiRefusal(ApiStatus(400, "BadRequest", message))


def expired(message: str) -> ApiRefusal:
    return ApiRefusal(ApiStatus(410, "Expired", message))


def _of(code: int, reason: str, message: str, of: Resource, name: str) -> ApiRefusal:
    return ApiRefusal(ApiStatus(code, reason, message, Details(name, of.group, of.plural)))
