"""Merge schema of the built-in kinds, for server-side apply and strategic merge patches: a table of all fields that are
not plain.

Source: k8s.io/api, apiextensions-apiserver, kube-aggregator; apimachinery/pkg/apis/meta/v1. Kinds that are not in the
table have metadata, and are plain otherwise.

Blank objects: the fields that an object of a kind always has, because Go's types have them.

A create is compared with such a blank object. So its author does not own an object or list that already exists in the
blank object, only its content: ``f:spec`` and ``f:containers`` of a new pod have no ``.`` of their own, ``f:labels``
has. Derived from the struct fields of k8s.io/api that are no pointers and lack omitempty; every blank object of a kind
with a status has one.

Places: how one place of a document is merged, what its maps and lists are, and which keys identify items.

Two features use them. Server-side apply needs to know whether a map or list is one value (atomic) or has parts that
different managers own (upstream's x-kubernetes-list-type, -list-map-keys and -map-type). A strategic merge patch needs
the patch strategy and merge key, which differ for a few fields (ports merge by their number alone, but are owned by
number and protocol).

Structural schemas of custom resources (openAPIV3Schema of a CRD) as places.

Source: k8s.io/apiextensions-apiserver, x-kubernetes-list-type (atomic when absent), -list-map-keys, -map-type (granular
when absent), -preserve-unknown-fields, -embedded-resource. Unknown fields that are preserved have names that a user
chose, so server-side apply treats them as keys of a map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cache
from typing import Any, Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, with_value

_BLANK_TABLE = """
v1 Pod: spec.containers=null status
v1 PodTemplate: template.metadata template.spec.containers=null
v1 PersistentVolumeClaim: spec.resources status
v1 LimitRange: spec.limits=null
v1 Event: involvedObject source firstTimestamp=null lastTimestamp=null eventTime=null reportingComponent=""
    reportingInstance=""
v1 Namespace,Node,PersistentVolume,ReplicationController,ResourceQuota,Service: spec status
apps/v1 ControllerRevision: data=null revision=0
apps/v1 DaemonSet: spec.selector=null spec.template.metadata spec.template.spec.containers=null spec.updateStrategy
    status.currentNumberScheduled=0 status.numberMisscheduled=0 status.desiredNumberScheduled=0 status.numberReady=0
apps/v1 Deployment: spec.selector=null spec.template.metadata spec.template.spec.containers=null spec.strategy status
apps/v1 ReplicaSet: spec.selector=null spec.template.metadata spec.template.spec.containers=null status
apps/v1 StatefulSet: spec.selector=null spec.template.metadata spec.template.spec.containers=null spec.serviceName=""
    spec.updateStrategy status
batch/v1 Job: spec.template.metadata spec.template.spec.containers=null status
batch/v1 CronJob: spec.schedule="" spec.jobTemplate.metadata spec.jobTemplate.spec.template.metadata
    spec.jobTemplate.spec.template.spec.containers=null status
policy/v1 PodDisruptionBudget: spec status.disruptionsAllowed=0 status.currentHealthy=0 status.desiredHealthy=0
    status.expectedPods=0
discovery.k8s.io/v1 EndpointSlice: addressType="" endpoints=null ports=null
coordination.k8s.io/v1 Lease: spec
autoscaling/v1 HorizontalPodAutoscaler: spec.scaleTargetRef.kind="" spec.scaleTargetRef.name="" spec.maxReplicas=0
    status
autoscaling/v2 HorizontalPodAutoscaler: spec.scaleTargetRef.kind="" spec.scaleTargetRef.name="" spec.maxReplicas=0
    status
rbac.authorization.k8s.io/v1 Role,ClusterRole: rules=null
rbac.authorization.k8s.io/v1 RoleBinding,ClusterRoleBinding: roleRef.apiGroup="" roleRef.kind="" roleRef.name=""
admissionregistration.k8s.io/v1
    MutatingAdmissionPolicy,MutatingAdmissionPolicyBinding,ValidatingAdmissionPolicyBinding: spec
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy: spec status
authorization.k8s.io/v1 LocalSubjectAccessReview,SelfSubjectAccessReview,SelfSubjectRulesReview,SubjectAccessReview:
    spec status
storage.k8s.io/v1 StorageClass: provisioner=""
storage.k8s.io/v1 VolumeAttachment: spec.attacher="" spec.source spec.nodeName="" status
storage.k8s.io/v1 CSIDriver: spec
storage.k8s.io/v1 CSINode: spec.drivers=null
storage.k8s.io/v1 CSIStorageCapacity: storageClassName=""
storage.k8s.io/v1 VolumeAttributesClass: driverName=""
networking.k8s.io/v1 NetworkPolicy: spec.podSelector
networking.k8s.io/v1 Ingress,ServiceCIDR: spec status
networking.k8s.io/v1 IngressClass,IPAddress: spec
scheduling.k8s.io/v1 PriorityClass: value=0
node.k8s.io/v1 RuntimeClass: handler=""
certificates.k8s.io/v1 CertificateSigningRequest: spec.request=null spec.signerName="" status
flowcontrol.apiserver.k8s.io/v1 FlowSchema: spec.priorityLevelConfiguration.name="" spec.matchingPrecedence=0 status
flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration: spec.type="" status
apiextensions.k8s.io/v1 CustomResourceDefinition: spec.group="" spec.names.plural="" spec.names.kind="" spec.scope=""
    spec.versions=null status
apiregistration.k8s.io/v1 APIService: spec.groupPriorityMinimum=0 spec.versionPriority=0 status
"""
"""Kinds of a version, and their fields beside metadata: paths, with an empty object if no value is given."""


_VALUES: dict[str, object] = {"": {}, "null": None, "0": 0, '""': ""}


def _parse_blank_table() -> dict[tuple[str, str], Doc]:
    blanks: dict[tuple[str, str], Doc] = {}
    for line in _BLANK_TABLE.replace("\n    ", " ").strip().splitlines():
        version, kinds, *paths = line.split()
        doc: Doc = {"metadata": {}}
        for each in paths:
            path, _, value = each.partition("=")
            doc = with_value(doc, tuple(path.split(".")), _VALUES[value])
        blanks |= {(version, kind): doc for kind in kinds[:-1].split(",")}
    return blanks


_BLANKS = _parse_blank_table()


def blank_object(api_version: str, kind: str) -> Doc:
    """A blank object of the kind; for an unknown kind (a custom resource) only metadata."""
    return _BLANKS.get((api_version, kind), {"metadata": {}})


ListType = Literal["atomic", "set", "map"]
Strategy = Literal["merge", "replace", "retainKeys"]


@frozen(eq=False)
class SchemaPlace:
    """One place of a document: `atomic` applies to a map, `list_type`, `keys` and `items` to a list.

    `named` are the fields of an object that differ from a plain one. `entries` is the place under any other name: with
    `entries` the names are data (a map), without it they are fields and plain; if the place is `untyped`, all names
    here and below are data. `defaults` are values of keys that an item omits. `strategy` and `merge_key` are only for
    strategic merge patches; without a strategy, maps are merged and lists replaced.
    """

    atomic: bool = False
    list_type: ListType = "atomic"
    keys: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    named: Mapping[str, SchemaPlace] = field(default_factory=dict, repr=False)
    entries: SchemaPlace | None = None
    untyped: bool = False
    items: SchemaPlace | None = None
    strategy: tuple[Strategy, ...] = ()
    merge_key: str = ""

    def under(self, name: str) -> SchemaPlace:
        """The place under a field's name, or under a key of a map."""
        place = self.named.get(name) or self.entries
        return place or (self if self.untyped else PLAIN)

    def item_place(self) -> SchemaPlace:
        return self.items or PLAIN

    def is_field(self, name: str) -> bool:
        """Whether `name` is a declared field here; else it is a key that a user chose."""
        return name in self.named or not (self.untyped or self.entries)


PLAIN = SchemaPlace()
"""Maps are granular with fields of fixed names, lists are atomic: the default."""

UNTYPED = SchemaPlace(untyped=True)
"""Nothing is known about the value."""


_MERGE_TABLE = """
Metadata finalizers: merged-set; ownerReferences: by uid of whole
Status conditions: by type
StatusReplaced conditions: owned-by type
SecretRef secretRef: whole
Resources claims: owned-by name
ValueFrom fieldRef: whole; fileKeyRef: whole; resourceFieldRef: whole; configMapKeyRef: whole; secretKeyRef: whole
Variable valueFrom: ValueFrom
Mount bindMountOptions: set
Container env: by name of Variable; ports: by containerPort,protocol=TCP; resources: Resources;
    volumeDevices: by devicePath; volumeMounts: by mountPath of Mount
ClaimSpec dataSource: whole; selector: whole
ClaimTemplate metadata: Metadata; spec: ClaimSpec
Ephemeral volumeClaimTemplate: ClaimTemplate
InlineDriver nodePublishSecretRef: whole
Volume cephfs: SecretRef; cinder: SecretRef; csi: InlineDriver; ephemeral: Ephemeral; flexVolume: SecretRef;
    iscsi: SecretRef; rbd: SecretRef; scaleIO: SecretRef; storageos: SecretRef
NodeAffinity requiredDuringSchedulingIgnoredDuringExecution: whole
Affinity nodeAffinity: NodeAffinity
SpreadConstraint labelSelector: whole
PodSpec affinity: Affinity; containers: by name of Container; ephemeralContainers: by name of Container;
    hostAliases: by ip; imagePullSecrets: by name of whole; initContainers: by name of Container; nodeSelector: whole;
    resourceClaims: retaining by name; resources: Resources; schedulingGates: by name;
    topologySpreadConstraints: by topologyKey,whenUnsatisfiable of SpreadConstraint;
    volumes: retaining by name of Volume
Allocatable containers: set; mapping: by name; overhead: by name
PodStatus conditions: by type; hostIPs: merged-by ip;
    nodeAllocatableResourceClaimStatuses: by resourceClaimName of Allocatable; podIPs: by ip;
    resourceClaimStatuses: retaining by name; resources: Resources
Template metadata: Metadata; spec: PodSpec
Driver controllerExpandSecretRef: whole; controllerPublishSecretRef: whole; nodeExpandSecretRef: whole;
    nodePublishSecretRef: whole; nodeStageSecretRef: whole
VolumeAffinity required: whole
VolumeSpec cephfs: SecretRef; cinder: SecretRef; csi: Driver; flexVolume: SecretRef; iscsi: SecretRef;
    nodeAffinity: VolumeAffinity; rbd: SecretRef; scaleIO: SecretRef; storageos: SecretRef
NodeSpec podCIDRs: merged-set
NodeStatus addresses: by type; conditions: by type
ServiceSpec ports: by port,protocol=TCP; selector: whole
QuotaSpec scopeSelector: whole
WorkloadSpec selector: whole; template: Template
DeploymentSpec selector: whole; template: Template; strategy: retaining
JobTemplate metadata: Metadata; spec: WorkloadSpec
CronJobSpec jobTemplate: JobTemplate
Uncounted failed: set; succeeded: set
JobStatus conditions: merged-by type; uncountedTerminatedPods: Uncounted
BudgetSpec selector: replaced
Webhook matchConditions: by name; namespaceSelector: whole; objectSelector: whole
PolicySpec matchConditions: by name; matchConstraints: whole; paramKind: whole
ValidatingPolicySpec matchConditions: by name; matchConstraints: whole; paramKind: whole; variables: by name of whole
BindingSpec matchResources: whole; paramRef: whole
ValidatingBindingSpec matchResources: whole; paramRef: whole; validationActions: set
DriverSpec volumeLifecycleModes: set
DriversSpec drivers: by name
AttachmentSource inlineVolumeSpec: VolumeSpec
AttachmentSpec source: AttachmentSource
BackendService port: whole
Backend resource: whole; service: BackendService
IngressSpec defaultBackend: Backend
NetworkPolicySpec podSelector: whole
ScaledSpec scaleTargetRef: whole
RuntimeScheduling nodeSelector: whole

v1 Event: involvedObject: whole; related: whole
v1 Namespace: status: Status
v1 Node: spec: NodeSpec; status: NodeStatus
v1 PersistentVolume: spec: VolumeSpec
v1 PersistentVolumeClaim: spec: ClaimSpec; status: Status
v1 Pod: spec: PodSpec; status: PodStatus
v1 PodTemplate: template: Template
v1 ReplicationController: spec: WorkloadSpec; status: Status
v1 ResourceQuota: spec: QuotaSpec
v1 Service: spec: ServiceSpec; status: Status
v1 ServiceAccount: secrets: by name of whole
apps/v1 ControllerRevision: data: whole
apps/v1 Deployment: spec: DeploymentSpec; status: Status
apps/v1 DaemonSet,ReplicaSet,StatefulSet: spec: WorkloadSpec; status: Status
batch/v1 CronJob: spec: CronJobSpec
batch/v1 Job: spec: WorkloadSpec; status: JobStatus
policy/v1 PodDisruptionBudget: spec: BudgetSpec; status: Status
admissionregistration.k8s.io/v1 MutatingAdmissionPolicy: spec: PolicySpec
admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding: spec: BindingSpec
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy: spec: ValidatingPolicySpec; status: StatusReplaced
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding: spec: ValidatingBindingSpec
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration,ValidatingWebhookConfiguration:
    webhooks: by name of Webhook
apiextensions.k8s.io/v1 CustomResourceDefinition: status: StatusReplaced
apiregistration.k8s.io/v1 APIService: status: Status
autoscaling/v1 HorizontalPodAutoscaler: spec: ScaledSpec
autoscaling/v2 HorizontalPodAutoscaler: status: Status
certificates.k8s.io/v1 CertificateSigningRequest: status: StatusReplaced
events.k8s.io/v1 Event: regarding: whole; related: whole
flowcontrol.apiserver.k8s.io/v1 FlowSchema,PriorityLevelConfiguration: status: Status
networking.k8s.io/v1 Ingress: spec: IngressSpec
networking.k8s.io/v1 NetworkPolicy: spec: NetworkPolicySpec
networking.k8s.io/v1 ServiceCIDR: status: Status
node.k8s.io/v1 RuntimeClass: scheduling: RuntimeScheduling
rbac.authorization.k8s.io/v1 ClusterRoleBinding,RoleBinding: roleRef: whole
storage.k8s.io/v1 CSIDriver: spec: DriverSpec
storage.k8s.io/v1 CSINode: spec: DriversSpec
storage.k8s.io/v1 CSIStorageCapacity: nodeTopology: whole
storage.k8s.io/v1 VolumeAttachment: spec: AttachmentSpec
"""
"""Structs, and kinds of a version, with their fields. `whole`: owned as one value; `replaced`: and replaced by a patch.
`by`: a list whose items are identified by these keys, which may have a default; a strategic merge patch uses only the
first of them. `owned-by`: the same, but a patch replaces the list; `merged-by`: owned as one value, yet merged by that
key. `retaining`: the patch may list the keys that remain (``$retainKeys``). In a PersistentVolume claimRef is granular,
although an object reference is owned as a whole everywhere else."""

STRUCTS: dict[str, SchemaPlace] = {
    "plain": PLAIN,
    "whole": SchemaPlace(atomic=True),
    "replaced": SchemaPlace(atomic=True, strategy=("replace",)),
    "set": SchemaPlace(list_type="set"),
    "merged-set": SchemaPlace(list_type="set", strategy=("merge",)),
}


def _parse_place(word: str = "plain", *rest: str) -> SchemaPlace:
    if word == "retaining":
        place = _parse_place(*rest)
        return replace(place, strategy=(*place.strategy, "retainKeys"))
    if word == "merged-by":
        return SchemaPlace(strategy=("merge",), merge_key=rest[0])
    if word not in ("by", "owned-by"):
        return STRUCTS[word]
    keys = [key.partition("=") for key in rest[0].split(",")]
    place = SchemaPlace(
        list_type="map",
        keys=tuple(name for name, _, _ in keys),
        items=_parse_place(*rest[2:]),
        defaults={name: default for name, _, default in keys if default},
    )
    return replace(place, strategy=("merge",), merge_key=place.keys[0]) if word == "by" else place


def _parse_merge_table() -> dict[tuple[str, str], SchemaPlace]:
    places: dict[tuple[str, str], SchemaPlace] = {}
    for line in filter(None, _MERGE_TABLE.replace("\n    ", " ").splitlines()):
        head, _, rest = line.partition(" ")
        kinds, _, fields = rest.partition(": ") if head == "v1" or "/" in head else ("", "", rest)
        named = {
            name.strip(): _parse_place(*description.split())
            for name, _, description in (e.partition(":") for e in fields.split(";"))
        }
        if kinds:
            place = SchemaPlace(named={"metadata": STRUCTS["Metadata"], **named})
            places |= {(head, kind): place for kind in kinds.split(",")}
        else:
            STRUCTS[head] = SchemaPlace(named=named)
    return places


KINDS = _parse_merge_table()
METADATA = STRUCTS["Metadata"]


_LIST_TYPES: Mapping[str, ListType] = {"set": "set", "map": "map"}


def schema_place(schema: Any) -> SchemaPlace:
    """The place that `schema` describes, with everything below it; a value that is not a schema describes a plain
    place."""
    if not isinstance(schema, dict):
        return PLAIN
    items = schema.get("items")
    return SchemaPlace(
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
        list_type=_LIST_TYPES.get(str(schema.get("x-kubernetes-list-type")), "atomic"),
        keys=tuple(map(str, _list_or_empty(schema.get("x-kubernetes-list-map-keys")))),
        defaults=_key_defaults(items) if isinstance(items, dict) else {},
        named=_declared_fields(schema),
        entries=_map_entries(schema),
        items=schema_place(items) if isinstance(items, dict) else None,
    )


def _declared_fields(schema: Doc) -> dict[str, SchemaPlace]:
    named = {name: schema_place(inner) for name, inner in _properties(schema).items()}
    if schema.get("x-kubernetes-embedded-resource"):
        named |= {"apiVersion": PLAIN, "kind": PLAIN, "metadata": METADATA}
    return named


def _map_entries(schema: Doc) -> SchemaPlace | None:
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        return schema_place(values)
    return UNTYPED if values is True or schema.get("x-kubernetes-preserve-unknown-fields") else None


def _key_defaults(items: Doc) -> dict[str, Any]:
    properties = _properties(items)
    return {
        name: inner["default"] for name, inner in properties.items() if isinstance(inner, dict) and "default" in inner
    }


def _properties(schema: Doc) -> Doc:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# Merging and ownership by kind: built-in kinds from the table, custom resources from their own schema.
#
# A custom resource without a schema has granular maps and atomic lists throughout, except in its metadata.


@frozen(eq=False)
class Schema:
    """`root` is the place of the whole document; `blank` is a blank object of the kind."""

    root: SchemaPlace
    blank: Doc

    def fill(self, doc: Doc) -> Doc:
        """`doc` with the fields that its kind always has: the form in which a server compares it."""
        return _fill_blank(doc, self.blank)


def _fill_blank(doc: Doc, blank: Doc) -> Doc:
    result = dict(doc)
    for name, blank_value in blank.items():
        value = result.get(name, blank_value)
        result[name] = (
            _fill_blank(value, blank_value) if isinstance(value, dict) and isinstance(blank_value, dict) else value
        )
    return result


_UNKNOWN_KIND = SchemaPlace(named={"metadata": METADATA})


@cache
def schema_of(api_version: str, kind: str) -> Schema:
    return Schema(KINDS.get((api_version, kind), _UNKNOWN_KIND), blank_object(api_version, kind))


def schema_from_openapi(open_api: Doc) -> Schema:
    """From a CRD's ``versions[].schema.openAPIV3Schema``; its metadata is always that of every object."""
    declared = schema_place(open_api)
    root = replace(declared, named={**declared.named, "metadata": METADATA})
    return Schema(root, blank_object("", ""))
