"""Types of the fields of API objects: text, number, list or object, so that readers of objects can rely on them; also
field numbers in protobuf, for objects that are decoded from it.

The API server checks the types when it decodes a body into the kind's Go struct. Here only the fields are checked that
the simulated cluster reads, or tables show. The numbers are those of the generated.proto files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.quantities import is_amount

from ..schedules import parse_time

_FIELD_TABLE = """
Owner
    string: apiVersion=5 kind=1 name=3 uid=4
    bool: controller=6 blockOwnerDeletion=7
Managed
    string: manager operation apiVersion time fieldsType subresource
    any{}: fieldsV1
Metadata
    string: name=1 generateName=2 namespace=3 uid=5 resourceVersion=6
    time: creationTimestamp deletionTimestamp
    string{}: labels=11 annotations=12
    string[]: finalizers=14
    Owner[]: ownerReferences=13
    Managed[]: managedFields
    int: generation deletionGracePeriodSeconds
Condition
    string: type status reason message
    time: lastTransitionTime
    int: observedGeneration
Requirement
    string: key=1 operator=2
    string[]: values=3
Selector
    string{}: matchLabels=1
    Requirement[]: matchExpressions=2
Port
    string: name=1 protocol=4 hostIP=5
    count: containerPort=3 hostPort=2
Variable string: name=1 value=2
Resources quantity{}: limits=1 requests=2
Mount string: name mountPath
Container
    string: name=1 image=2 restartPolicy workingDir=5
    string: terminationMessagePath=13 imagePullPolicy=14 terminationMessagePolicy=20
    string[]: command=3 args=4
    Port[]: ports=6
    Variable[]: env=7
    Resources: resources=8
    Mount[]: volumeMounts
ClaimVolume string: claimName
EmptyDir string: medium
Volume
    string: name
    ClaimVolume: persistentVolumeClaim
    EmptyDir: emptyDir
Toleration
    string: key operator value effect
    int: tolerationSeconds
SpreadConstraint
    string: topologyKey whenUnsatisfiable
    int: maxSkew
    Selector: labelSelector
ReadinessGate string: conditionType
SchedulingGate string: name
SecurityContext
PodSpec
    string: nodeName restartPolicy=3 dnsPolicy=6 schedulerName=19 serviceAccountName=8 priorityClassName=24 hostname
    Container[]: containers=2 initContainers
    Volume[]: volumes
    string{}: nodeSelector=7
    Toleration[]: tolerations
    any{}{}: affinity
    SpreadConstraint[]: topologySpreadConstraints
    ReadinessGate[]: readinessGates
    SchedulingGate[]: schedulingGates
    SecurityContext: securityContext=14
    quantity{}: overhead
    int: priority terminationGracePeriodSeconds=4 activeDeadlineSeconds
    bool: hostNetwork
Running time: startedAt
Waiting string: reason message
Terminated
    string: reason message
    time: startedAt finishedAt
    int: exitCode signal
State
    Running: running
    Waiting: waiting
    Terminated: terminated
ContainerStatus
    string: name image imageID containerID
    bool: ready started
    int: restartCount
    State: state lastState
Address string: ip
PodStatus
    string: phase reason message podIP hostIP nominatedNodeName qosClass
    time: startTime
    Condition[]: conditions
    Address[]: podIPs hostIPs
    ContainerStatus[]: containerStatuses initContainerStatuses
Template
    Metadata: metadata=1
    PodSpec: spec=2
Rolling
    amount: maxUnavailable=1 maxSurge=2
    int: partition
Strategy
    string: type=1
    Rolling: rollingUpdate=2
ClaimTemplate
    Metadata: metadata
    any{}: spec
WorkloadSpec
    int: replicas=1 revisionHistoryLimit=6 progressDeadlineSeconds=9
    count: minReadySeconds=5
    Selector: selector=2
    Template: template=3
    Strategy: strategy=4 updateStrategy
    string: serviceName podManagementPolicy
    bool: paused=7
    ClaimTemplate[]: volumeClaimTemplates
WorkloadStatus
    int: replicas readyReplicas availableReplicas updatedReplicas unavailableReplicas observedGeneration
    int: fullyLabeledReplicas currentReplicas currentNumberScheduled desiredNumberScheduled numberReady
    int: numberAvailable numberMisscheduled updatedNumberScheduled numberUnavailable terminatingReplicas collisionCount
    Condition[]: conditions
ControllerSpec
    int: replicas minReadySeconds
    string{}: selector
    Template: template
OnExitCodes
    string: containerName operator
    int[]: values
OnPodCondition string: type status
FailureRule
    string: action
    OnExitCodes: onExitCodes
    OnPodCondition[]: onPodConditions
FailurePolicy FailureRule[]: rules
JobSpec
    int: parallelism=1 completions=2 activeDeadlineSeconds=3 backoffLimit=7 ttlSecondsAfterFinished=8
    int: backoffLimitPerIndex maxFailedIndexes
    bool: suspend=10 manualSelector=5
    string: completionMode=9 podReplacementPolicy=14
    Selector: selector=4
    Template: template=6
    FailurePolicy: podFailurePolicy
JobStatus
    int: active succeeded failed ready terminating
    time: startTime completionTime
    string: completedIndexes failedIndexes
    Condition[]: conditions
JobTemplate
    Metadata: metadata=1
    JobSpec: spec=2
CronJobSpec
    string: schedule=1 timeZone=8 concurrencyPolicy=3
    int: startingDeadlineSeconds=2 successfulJobsHistoryLimit=6 failedJobsHistoryLimit=7
    bool: suspend=4
    JobTemplate: jobTemplate=5
Reference string: name namespace uid
CronJobStatus
    Reference[]: active
    time: lastScheduleTime lastSuccessfulTime
ServicePort
    string: name=1 protocol=2 appProtocol=6
    count: port=3 nodePort=5
    amount: targetPort=4
ServiceSpec
    string: type=4 clusterIP=3 externalName=10 sessionAffinity=7 externalTrafficPolicy=11
    string[]: clusterIPs ipFamilies
    string{}: selector=2
    ServicePort[]: ports=1
    bool: publishNotReadyAddresses
ServiceStatus any{}: loadBalancer
EndpointConditions bool: ready serving terminating
EndpointTarget string: kind namespace name uid
Endpoint
    string: nodeName zone hostname
    string[]: addresses
    EndpointConditions: conditions
    EndpointTarget: targetRef
EndpointPort
    string: name protocol appProtocol
    int: port
ClaimSpec
    string: volumeName storageClassName volumeMode
    string[]: accessModes
    Resources: resources
Phase
    string: phase
    Condition[]: conditions
Taint
    string: key value effect
    time: timeAdded
NodeSpec
    string: providerID podCIDR
    bool: unschedulable
    Taint[]: taints
NodeAddress string: type address
NodeStatus
    Condition[]: conditions
    NodeAddress[]: addresses
    quantity{}: capacity allocatable
    string{}: nodeInfo
BudgetSpec
    Selector: selector=2
    amount: minAvailable=1 maxUnavailable=3
    string: unhealthyPodEvictionPolicy=4
BudgetStatus
    int: disruptionsAllowed currentHealthy desiredHealthy expectedPods observedGeneration
    time{}: disruptedPods
    Condition[]: conditions
DefinitionNames
    string: plural singular kind listKind
    string[]: shortNames categories
VersionSchema any{}: openAPIV3Schema
VersionSubresources any{}: status scale
DefinitionVersion
    string: name
    bool: served storage
    VersionSchema: schema
    VersionSubresources: subresources
DefinitionSpec
    string: group scope
    DefinitionNames: names
    DefinitionVersion[]: versions
DefinitionStatus
    Condition[]: conditions
    DefinitionNames: acceptedNames
ServiceReference string: namespace name
APIServiceSpec
    string: group version
    int: groupPriorityMinimum versionPriority
    ServiceReference: service
Conditions Condition[]: conditions
Preconditions string: uid=1 resourceVersion=2
DeleteOptions
    int: gracePeriodSeconds=1
    Preconditions: preconditions=2
    bool: orphanDependents=3 ignoreStoreReadErrorWithClusterBreakingPotential=6
    string: propagationPolicy=4
    string[]: dryRun=5
Replicas int: replicas
Finalizers string[]: finalizers=1
ResourceAttributes string: namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7
NonResourceAttributes string: path=1 verb=2
AccessReviewSpec
    ResourceAttributes: resourceAttributes=1
    NonResourceAttributes: nonResourceAttributes=2
RulesReviewSpec string: namespace=1
QuotaSpec
    quantity{}: hard=1
    string[]: scopes=2
PolicyRule string[]: verbs=1 apiGroups=2 resources=3 resourceNames=4 nonResourceURLs=5
Subject string: kind=1 apiGroup=2 name=3 namespace=4
RoleReference string: apiGroup=1 kind=2 name=3
ScaleTarget string: kind=1 name=2 apiVersion=3
MetricTarget
    string: type=1
    quantity: value=2 averageValue=3
    int: averageUtilization=4
MetricSource
    string: name=1
    MetricTarget: target=2
Metric
    string: type=1
    MetricSource: resource=4
FirstAutoscalerSpec
    ScaleTarget: scaleTargetRef=1
    int: minReplicas=2 targetCPUUtilizationPercentage=4
    count: maxReplicas=3
AutoscalerSpec
    ScaleTarget: scaleTargetRef=1
    int: minReplicas=2
    count: maxReplicas=3
    Metric[]: metrics=4

Pod pods
    PodSpec: spec
    PodStatus: status
Node nodes
    NodeSpec: spec
    NodeStatus: status
Namespace namespaces
    Finalizers: spec=2
    Phase: status
ConfigMap configmaps
    string{}: data=2 binaryData
    bool: immutable=4
PodDisruptionBudget poddisruptionbudgets.policy
    BudgetSpec: spec=2
    BudgetStatus: status
Deployment deployments.apps
    WorkloadSpec: spec=2
    WorkloadStatus: status
ReplicaSet replicasets.apps
    WorkloadSpec: spec
    WorkloadStatus: status
StatefulSet statefulsets.apps
    WorkloadSpec: spec
    WorkloadStatus: status
DaemonSet daemonsets.apps
    WorkloadSpec: spec
    WorkloadStatus: status
ReplicationController replicationcontrollers
    ControllerSpec: spec
    WorkloadStatus: status
Job jobs.batch
    JobSpec: spec=2
    JobStatus: status
CronJob cronjobs.batch
    CronJobSpec: spec=2
    CronJobStatus: status
Service services
    ServiceSpec: spec=2
    ServiceStatus: status
EndpointSlice endpointslices.discovery.k8s.io
    string: addressType
    Endpoint[]: endpoints
    EndpointPort[]: ports
PersistentVolumeClaim persistentvolumeclaims
    ClaimSpec: spec
    Phase: status
CustomResourceDefinition customresourcedefinitions.apiextensions.k8s.io
    DefinitionSpec: spec
    DefinitionStatus: status
APIService apiservices.apiregistration.k8s.io
    APIServiceSpec: spec
    Conditions: status
Eviction - DeleteOptions: deleteOptions=2
Scale - Replicas: spec
SelfSubjectAccessReview - AccessReviewSpec: spec=2
SelfSubjectRulesReview - RulesReviewSpec: spec=2
SelfSubjectReview -
Secret -
    bytes{}: data=2
    string: type=3
    string{}: stringData=4
    bool: immutable=5
ResourceQuota - QuotaSpec: spec=2
Role - PolicyRule[]: rules=2
ClusterRole - PolicyRule[]: rules=2
RoleBinding -
    Subject[]: subjects=2
    RoleReference: roleRef=3
ClusterRoleBinding -
    Subject[]: subjects=2
    RoleReference: roleRef=3
PriorityClass -
    int: value=2
    bool: globalDefault=3
    string: description=4 preemptionPolicy=5
ServiceAccount -
autoscaling/v1/HorizontalPodAutoscaler - FirstAutoscalerSpec: spec=2
autoscaling/v2/HorizontalPodAutoscaler - AutoscalerSpec: spec=2
"""
"""Go structs: types and names of fields, with their numbers in protobuf. ``[]`` is a list, ``{}`` an object whose names
are data. ``count`` is an ``int`` that is not a pointer: in protobuf its zero equals a missing value. A kind with a
resource, or ``-``, also has metadata."""


class _Member(NamedTuple):
    """`number` 0: the field is not read from protobuf."""

    name: str
    type: str
    number: int


def _parse_field_table() -> tuple[dict[str, list[_Member]], dict[str, str]]:
    """The members of each struct, and the kinds of resources."""
    structs: dict[str, list[_Member]] = {}
    kinds: dict[str, str] = {}
    members: list[_Member] = []
    for line in filter(None, _FIELD_TABLE.splitlines()):
        words = line.split()
        if not line.startswith(" "):
            name, resource = words.pop(0), words.pop(0) if words and ":" not in words[0] else ""
            members = structs[name] = [_Member("metadata", "Metadata", 1)] if resource else []
            kinds[resource] = name
        for each in words[1:]:
            field, _, number = each.partition("=")
            members.append(_Member(field, words[0][:-1], int(number or 0)))
    return structs, kinds


STRUCTS, _KINDS = _parse_field_table()


class _ListShape(NamedTuple):
    item: Shape


class MapShape(NamedTuple):
    """An object whose names are data."""

    value: Shape


Shape: TypeAlias = "str | Mapping[str, Shape] | _ListShape | MapShape"
"""A Go type name for a plain value (see `_SCALAR_TYPES`), the fields of an object, or a list or map of one shape."""

_BOOL, _ANY, QUANTITY, _TIME = "bool", "any", "resource.Quantity", "v1.Time"
_SCALAR_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    _BOOL: (bool,),
    "int64": (int,),
    "intstr.IntOrString": (int, str),
    QUANTITY: (int, float, str),
    _TIME: (str,),
}
_GO_TYPES = {
    "int": "int64",
    "count": "int64",
    "amount": "intstr.IntOrString",
    "quantity": QUANTITY,
    "time": _TIME,
    "bytes": "string",
}
_MAX_INT64 = (1 << 63) - 1


def _parse_shape(type_: str) -> Shape:
    if type_.endswith(("[]", "{}")):
        return (_ListShape if type_.endswith("[]") else MapShape)(_parse_shape(type_[:-2]))
    return _SHAPES[type_] if type_ in _SHAPES else _GO_TYPES.get(type_, type_)


_SHAPES: dict[str, Shape] = {}
for _name, _members in STRUCTS.items():
    _SHAPES[_name] = {each.name: _parse_shape(each.type) for each in _members}

DELETE_OPTIONS, EVICTION, SCALE = (_SHAPES[each] for each in ("DeleteOptions", "Eviction", "Scale"))


@frozen
class ShapeMismatch:
    """At `path` there is a `found` (in the words of Go's decoder), where the kind has an `expected`."""

    path: tuple[str, ...]
    found: str
    expected: str


def resource_shape(resource: str) -> Shape:
    """The shape of its objects; for most kinds only the metadata is checked."""
    return _SHAPES[_KINDS.get(resource, "ServiceAccount")]


def find_mismatches(shape: Shape, doc: Any) -> Iterator[ShapeMismatch]:
    """The values in `doc` of a wrong type; nulls count as missing."""
    yield from _find_mismatches(shape, doc, ())


def _find_mismatches(shape: Shape, value: Any, path: tuple[str, ...]) -> Iterator[ShapeMismatch]:
    if value is None or shape == _ANY:
        return
    if isinstance(shape, str):
        if not _is_scalar(shape, value):
            yield ShapeMismatch(path, _go_kind(value), shape)
    elif isinstance(shape, _ListShape):
        if isinstance(value, list):
            for each in value:
                yield from _find_mismatches(shape.item, each, path)
        else:
            yield ShapeMismatch(path, _go_kind(value), "slice")
    elif not isinstance(value, dict):
        yield ShapeMismatch(path, _go_kind(value), "map" if isinstance(shape, MapShape) else "struct")
    elif isinstance(shape, MapShape):
        for name, each in value.items():
            yield from _find_mismatches(shape.value, each, (*path, name))
    else:
        for name, each in shape.items():
            yield from _find_mismatches(each, value.get(name), (*path, name))


def _is_scalar(shape: str, value: Any) -> bool:
    if isinstance(value, bool):
        return shape == _BOOL
    if isinstance(value, int) and not -_MAX_INT64 <= value <= _MAX_INT64:
        return False
    if shape == QUANTITY and isinstance(value, str):
        return is_amount(value)
    if shape == _TIME and isinstance(value, str):
        return parse_time(value) is not None
    return isinstance(value, _SCALAR_TYPES[shape])


def _go_kind(value: Any) -> str:
    names: tuple[tuple[type, str], ...] = ((bool, "bool"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in names if isinstance(value, kind)), "number")
