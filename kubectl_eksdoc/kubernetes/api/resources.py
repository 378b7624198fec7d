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
class ServedResource(Resource):
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
    has_generation: bool = False
    returns_deleted: bool = False

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

_RESOURCE_TABLE = """
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


def _parse_resource(group_version: str, line: str, subresource_lines: list[str]) -> ServedResource:
    group, _, version = group_version.rpartition("/")
    kind, plural, *words = line.split()
    attributes = {name: tuple(value.split(",")) for name, _, value in (word.partition("=") for word in words)}
    subresources = [_parse_subresource(*each.split()) for each in subresource_lines]
    subresources += [_SCALE] if "scale" in attributes else []
    subresources += [Subresource("status", kind, READ_AND_WRITE)] if "status" in attributes else []
    return ServedResource(
        kind,
        plural,
        group,
        version,
        "cluster" not in attributes,
        singular=kind.lower(),
        verbs=attributes.get("verbs", ALL_VERBS),
        short_names=attributes.get("short", ()),
        categories=attributes.get("in", ()),
        subresources=tuple(sorted(subresources, key=lambda each: each.name)),
        has_status="status" in attributes,
        has_generation="counts" in attributes,
        returns_deleted="returned" in attributes,
    )


def _parse_subresource(name: str, kind: str, verbs: str) -> Subresource:
    group_version, _, kind = kind.rpartition("/")
    group, _, version = group_version.rpartition("/")
    return Subresource(name, kind, tuple(verbs.split(",")), group, version)


def _parse_table() -> tuple[ServedResource, ...]:
    rows: list[tuple[str, str, list[str]]] = []
    group_version = ""
    for line in _RESOURCE_TABLE.strip().splitlines():
        if not line.startswith(" "):
            group_version = line
        elif line.startswith(" " * 8):
            rows[-1][2].append(line)
        else:
            rows.append((group_version, line, []))
    return tuple(_parse_resource(*row) for row in rows)


BUILT_IN = _parse_table()


def resources_by_name(resources: Iterable[ServedResource] = BUILT_IN) -> dict[str, ServedResource]:
    """By full name; of several versions the first."""
    return {each.full_name: each for each in reversed(tuple(resources))}


# Status documents of the API server, and the refusals that create them.


@frozen
class StatusCause:
    """`field`: the path of the field, "" without one."""

    reason: str
    message: str
    field: str = ""

    def to_document(self) -> Doc:
        document = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in document.items() if value}


@frozen
class StatusDetails:
    """`kind` is mostly the resource's plural, as on the server. `retry_after_s` 0: none."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_s: int = 0

    def to_document(self) -> Doc:
        causes = [cause.to_document() for cause in self.causes]
        document = {"name": self.name, "group": self.group, "kind": self.kind, "uid": self.uid}
        document |= {"causes": causes, "retryAfterSeconds": self.retry_after_s}  # type: ignore[dict-item]
        return {key: value for key, value in document.items() if value}


@frozen
class ApiStatus:
    """A Status document. `details` None: the document has none; empty details are printed as ``{}``."""

    code: int
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None

    @property
    def ok(self) -> bool:
        return self.code < 400

    def to_document(self) -> Doc:
        document: Doc = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
        document["status"] = "Success" if self.ok else "Failure"
        if self.message:
            document["message"] = self.message
        if self.reason:
            document["reason"] = self.reason
        if self.details is not None:
            document["details"] = self.details.to_document()
        return {**document, "code": self.code}


@frozen
class LostResponse:
    """No answer, or an incomplete one: the request may have been carried out or not."""

    message: str


class ApiRefusal(Exception):
    """A request that is answered with a failure; nothing was changed."""

    def __init__(self, status: ApiStatus) -> None:
        super().__init__(f"{status.code} {status.reason}: {status.message}")
        self.status = status


def not_found(resource: Resource, name: str) -> ApiRefusal:
    return _refusal(404, "NotFound", f'{resource.full_name} "{name}" not found', resource, name)


def already_exists(resource: Resource, name: str) -> ApiRefusal:
    return _refusal(409, "AlreadyExists", f'{resource.full_name} "{name}" already exists', resource, name)


def modified(resource: Resource, name: str) -> ApiRefusal:
    """Another client has written in between (the optimistic lock failed)."""
    text = "the object has been modified; please apply your changes to the latest version and try again"
    return _refusal(
        409, "Conflict", f'Operation cannot be fulfilled on {resource.full_name} "{name}": {text}', resource, name
    )


def precondition_failed(resource: Resource, name: str, precondition: str, requested: str, stored: str) -> ApiRefusal:
    """`precondition`: ``UID`` or ``ResourceVersion``. The message names the kind, not the resource, which the storage
    layer does not know."""
    change = "deleted and then recreated" if precondition == "UID" else "modified"
    mismatch = (
        f"the {precondition} in the precondition ({requested}) does not match the {precondition} in record ({stored})"
    )
    text = f'Operation cannot be fulfilled on {resource.kind} "{name}": {mismatch}. The object might have been {change}'
    return ApiRefusal(ApiStatus(409, "Conflict", text, StatusDetails(name, "", resource.kind)))


def terminating(resource: Resource, name: str, namespace: str) -> ApiRefusal:
    """No new content in a namespace that is being deleted; an eviction counts as new content."""
    text = f"unable to create new content in namespace {namespace} because it is being terminated"
    cause = StatusCause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
    return forbidden(resource, name, text, (cause,))


def forbidden(resource: Resource, name: str, reason: str, causes: Sequence[StatusCause] = ()) -> ApiRefusal:
    subject = f'{resource.full_name} "{name}"' if name else resource.full_name
    details = StatusDetails(name, resource.group, resource.plural, causes=tuple(causes))
    return ApiRefusal(ApiStatus(403, "Forbidden", f"{subject} is forbidden: {reason}", details))


def invalid(resource: Resource, name: str, causes: Sequence[StatusCause]) -> ApiRefusal:
    """The result of validation: one cause for each field."""
    messages = [f"{cause.field}: {cause.message}" for cause in causes]
    text = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = StatusDetails(name, resource.group, resource.kind, causes=tuple(causes))
    return ApiRefusal(ApiStatus(422, "Invalid", f'{kind} "{name}" is invalid: {text}', details))


def bad_request(message: str) -> ApiRefusal:
    return ApiRefusal(ApiStatus(400, "BadRequest", message))


def expired(message: str) -> ApiRefusal:
    return ApiRefusal(ApiStatus(410, "Expired", message))


def _refusal(code: int, reason: str, message: str, resource: Resource, name: str) -> ApiRefusal:
    return ApiRefusal(ApiStatus(code, reason, message, StatusDetails(name, resource.group, resource.plural)))
