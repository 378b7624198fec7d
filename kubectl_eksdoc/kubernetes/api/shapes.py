"""What must be text, a number, a list or an object where it is there at all, so that who reads objects can rely on it.

The API server finds that out when it decodes a body into the kind's Go struct. Here only the fields that are read in
the simulated cluster, or shown in tables, are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kubectl_eksdoc.kubernetes.api.rfc3339 import parsed
from kubectl_eksdoc.model.quantities import is_amount


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of such."""

    of: Shape


@dataclass(frozen=True, slots=True)
class Mapped:
    """An object whose names are data."""

    of: Shape


Shape: TypeAlias = "str | Mapping[str, Shape] | Listed | Mapped"
"""A Go type's name for a plain value (see `_PLAIN`), the fields of an object, or many of one shape."""

_TEXT, _FLAG, _INT, _AMOUNT, _ANY = "string", "bool", "int64", "intstr.IntOrString", "any"
QUANTITY = "resource.Quantity"
_TIME = "v1.Time"
_PLAIN: Mapping[str, tuple[type, ...]] = {
    _TEXT: (str,),
    _FLAG: (bool,),
    _INT: (int,),
    _AMOUNT: (int, str),
    QUANTITY: (int, float, str),
    _TIME: (str,),
}
_LARGEST = (1 << 63) - 1

_TEXTS = Mapped(_TEXT)
_QUANTITIES = Mapped(QUANTITY)


def _texts(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, _TEXT)


_OWNER = {**_texts("apiVersion", "kind", "name", "uid"), "controller": _FLAG, "blockOwnerDeletion": _FLAG}
_MANAGED = {
    **_texts("manager", "operation", "apiVersion", "time", "fieldsType", "subresource"),
    "fieldsV1": Mapped(_ANY),
}
METADATA: Shape = {
    **_texts("name", "generateName", "namespace", "uid", "resourceVersion"),
    **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
    "labels": _TEXTS,
    "annotations": _TEXTS,
    "finalizers": Listed(_TEXT),
    "ownerReferences": Listed(_OWNER),
    "managedFields": Listed(_MANAGED),
    "generation": _INT,
    "deletionGracePeriodSeconds": _INT,
}
_CONDITIONS = Listed(
    {**_texts("type", "status", "reason", "message"), "lastTransitionTime": _TIME, "observedGeneration": _INT}
)
_SELECTOR: Shape = {
    "matchLabels": _TEXTS,
    "matchExpressions": Listed({**_texts("key", "operator"), "values": Listed(_TEXT)}),
}
_CONTAINER: Shape = {
    **_texts("name", "image"),
    "command": Listed(_TEXT),
    "args": Listed(_TEXT),
    "ports": Listed({**_texts("name", "protocol", "hostIP"), "containerPort": _INT, "hostPort": _INT}),
    "env": Listed(_texts("name", "value")),
    "resources": {"limits": _QUANTITIES, "requests": _QUANTITIES},
    "volumeMounts": Listed(_texts("name", "mountPath")),
    "restartPolicy": _TEXT,
}
_POD_SPEC: Shape = {
    **_texts("nodeName", "restartPolicy", "schedulerName", "serviceAccountName", "priorityClassName", "hostname"),
    "containers": Listed(_CONTAINER),
    "initContainers": Listed(_CONTAINER),
    "volumes": Listed({"name": _TEXT, "persistentVolumeClaim": _texts("claimName"), "emptyDir": {"medium": _TEXT}}),
    "nodeSelector": _TEXTS,
    "tolerations": Listed({**_texts("key", "operator", "value", "effect"), "tolerationSeconds": _INT}),
    "affinity": Mapped(Mapped(_ANY)),
    "topologySpreadConstraints": Listed(
        {**_texts("topologyKey", "whenUnsatisfiable"), "maxSkew": _INT, "labelSelector": _SELECTOR}
    ),
    "readinessGates": Listed(_texts("conditionType")),
    "schedulingGates": Listed(_texts("name")),
    "overhead": _QUANTITIES,
    "priority": _INT,
    "terminationGracePeriodSeconds": _INT,
    "activeDeadlineSeconds": _INT,
    "hostNetwork": _FLAG,
}
_STATE: Shape = {
    "running": {"startedAt": _TIME},
    "waiting": _texts("reason", "message"),
    "terminated": {
        **_texts("reason", "message"),
        **dict.fromkeys(("startedAt", "finishedAt"), _TIME),
        **dict.fromkeys(("exitCode", "signal"), _INT),
    },
}
_CONTAINER_STATUSES = Listed(
    {
        **_texts("name", "image", "imageID", "containerID"),
        "ready": _FLAG,
        "started": _FLAG,
        "restartCount": _INT,
        "state": _STATE,
        "lastState": _STATE,
    }
)
_POD_STATUS: Shape = {
    **_texts("phase", "reason", "message", "podIP", "hostIP", "nominatedNodeName", "qosClass"),
    "startTime": _TIME,
    "conditions": _CONDITIONS,
    "podIPs": Listed(_texts("ip")),
    "hostIPs": Listed(_texts("ip")),
    "containerStatuses": _CONTAINER_STATUSES,
    "initContainerStatuses": _CONTAINER_STATUSES,
}
_TEMPLATE: Shape = {"metadata": METADATA, "spec": _POD_SPEC}
_COUNTS: dict[str, Shape] = dict.fromkeys(
    (
        *("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "unavailableReplicas"),
        *("observedGeneration", "fullyLabeledReplicas", "currentReplicas", "currentNumberScheduled"),
        *("desiredNumberScheduled", "numberReady", "numberAvailable", "numberMisscheduled", "updatedNumberScheduled"),
        *("numberUnavailable", "terminatingReplicas", "collisionCount"),
    ),
    _INT,
)
_ROLLING: Shape = {
    "type": _TEXT,
    "rollingUpdate": {"maxUnavailable": _AMOUNT, "maxSurge": _AMOUNT, "partition": _INT},
}
_WORKLOAD_SPEC: Shape = {
    "replicas": _INT,
    "selector": _SELECTOR,
    "template": _TEMPLATE,
    "strategy": _ROLLING,
    "updateStrategy": _ROLLING,
    **dict.fromkeys(("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"), _INT),
    **_texts("serviceName", "podManagementPolicy"),
    "paused": _FLAG,
    "volumeClaimTemplates": Listed({"metadata": METADATA, "spec": Mapped(_ANY)}),
}
_CONTROLLER_SPEC: Shape = {"replicas": _INT, "minReadySeconds": _INT, "selector": _TEXTS, "template": _TEMPLATE}
_FAILURE_RULE: Shape = {
    "action": _TEXT,
    "onExitCodes": {**_texts("containerName", "operator"), "values": Listed(_INT)},
    "onPodConditions": Listed(_texts("type", "status")),
}
_JOB_SPEC: Shape = {
    **dict.fromkeys(
        (
            *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
            *("backoffLimitPerIndex", "maxFailedIndexes"),
        ),
        _INT,
    ),
    **dict.fromkeys(("suspend", "manualSelector"), _FLAG),
    **_texts("completionMode", "podReplacementPolicy"),
    "selector": _SELECTOR,
    "template": _TEMPLATE,
    "podFailurePolicy": {"rules": Listed(_FAILURE_RULE)},
}
_JOB_STATUS: Shape = {
    **dict.fromkeys(("active", "succeeded", "failed", "ready", "terminating"), _INT),
    **dict.fromkeys(("startTime", "completionTime"), _TIME),
    **_texts("completedIndexes", "failedIndexes"),
    "conditions": _CONDITIONS,
}
_CRON_JOB_SPEC: Shape = {
    **_texts("schedule", "timeZone", "concurrencyPolicy"),
    **dict.fromkeys(("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"), _INT),
    "suspend": _FLAG,
    "jobTemplate": {"metadata": METADATA, "spec": _JOB_SPEC},
}
_CRON_JOB_STATUS: Shape = {
    "active": Listed(_texts("name", "namespace", "uid")),
    **dict.fromkeys(("lastScheduleTime", "lastSuccessfulTime"), _TIME),
}
_PORT: dict[str, Shape] = {**_texts("name", "protocol", "appProtocol"), "port": _INT}
_SERVICE_SPEC: Shape = {
    **_texts("type", "clusterIP", "externalName"),
    "clusterIPs": Listed(_TEXT),
    "ipFamilies": Listed(_TEXT),
    "selector": _TEXTS,
    "ports": Listed({**_PORT, "nodePort": _INT, "targetPort": _AMOUNT}),
    "publishNotReadyAddresses": _FLAG,
}
_ENDPOINT: Shape = {
    **_texts("nodeName", "zone", "hostname"),
    "addresses": Listed(_TEXT),
    "conditions": dict.fromkeys(("ready", "serving", "terminating"), _FLAG),
    "targetRef": _texts("kind", "namespace", "name", "uid"),
}
_CLAIM_SPEC: Shape = {
    **_texts("volumeName", "storageClassName", "volumeMode"),
    "accessModes": Listed(_TEXT),
    "resources": {"limits": _QUANTITIES, "requests": _QUANTITIES},
}
_NODE_SPEC: Shape = {
    **_texts("providerID", "podCIDR"),
    "unschedulable": _FLAG,
    "taints": Listed({**_texts("key", "value", "effect"), "timeAdded": _TIME}),
}
_NODE_STATUS: Shape = {
    "conditions": _CONDITIONS,
    "addresses": Listed(_texts("type", "address")),
    "capacity": _QUANTITIES,
    "allocatable": _QUANTITIES,
    "nodeInfo": _TEXTS,
}
_BUDGET_SPEC: Shape = {
    "selector": _SELECTOR,
    "minAvailable": _AMOUNT,
    "maxUnavailable": _AMOUNT,
    "unhealthyPodEvictionPolicy": _TEXT,
}
_BUDGET_STATUS: Shape = {
    **dict.fromkeys(
        ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods", "observedGeneration"), _INT
    ),
    "disruptedPods": Mapped(_TIME),
    "conditions": _CONDITIONS,
}


_NAMES: Shape = {
    **_texts("plural", "singular", "kind", "listKind"),
    "shortNames": Listed(_TEXT),
    "categories": Listed(_TEXT),
}
_COLUMN: Shape = {**_texts("name", "type", "jsonPath", "format", "description"), "priority": _INT}
_VERSION: Shape = {
    "name": _TEXT,
    "served": _FLAG,
    "storage": _FLAG,
    "schema": {"openAPIV3Schema": Mapped(_ANY)},
    "subresources": {"status": Mapped(_ANY), "scale": Mapped(_ANY)},
    "additionalPrinterColumns": Listed(_COLUMN),
}
_DEFINITION: Shape = {**_texts("group", "scope"), "names": _NAMES, "versions": Listed(_VERSION)}
_API_SERVICE: Shape = {
    **_texts("group", "version"),
    **dict.fromkeys(("groupPriorityMinimum", "versionPriority"), _INT),
    "service": _texts("namespace", "name"),
}


def _object(**more: Shape) -> Shape:
    return {"metadata": METADATA, **more}


_META_ALONE = _object()
_APP = _object(spec=_WORKLOAD_SPEC, status={**_COUNTS, "conditions": _CONDITIONS})
_BY_RESOURCE: Mapping[str, Shape] = {
    "pods": _object(spec=_POD_SPEC, status=_POD_STATUS),
    "nodes": _object(spec=_NODE_SPEC, status=_NODE_STATUS),
    "namespaces": _object(spec={"finalizers": Listed(_TEXT)}, status={"phase": _TEXT, "conditions": _CONDITIONS}),
    "configmaps": _object(data=_TEXTS, binaryData=_TEXTS, immutable=_FLAG),
    "poddisruptionbudgets.policy": _object(spec=_BUDGET_SPEC, status=_BUDGET_STATUS),
    "deployments.apps": _APP,
    "replicasets.apps": _APP,
    "statefulsets.apps": _APP,
    "daemonsets.apps": _APP,
    "replicationcontrollers": _object(spec=_CONTROLLER_SPEC, status={**_COUNTS, "conditions": _CONDITIONS}),
    "jobs.batch": _object(spec=_JOB_SPEC, status=_JOB_STATUS),
    "cronjobs.batch": _object(spec=_CRON_JOB_SPEC, status=_CRON_JOB_STATUS),
    "services": _object(spec=_SERVICE_SPEC, status={"loadBalancer": Mapped(_ANY)}),
    "endpointslices.discovery.k8s.io": _object(addressType=_TEXT, endpoints=Listed(_ENDPOINT), ports=Listed(_PORT)),
    "persistentvolumeclaims": _object(spec=_CLAIM_SPEC, status={"phase": _TEXT}),
    "customresourcedefinitions.apiextensions.k8s.io": _object(
        spec=_DEFINITION, status={"conditions": _CONDITIONS, "acceptedNames": _NAMES}
    ),
    "apiservices.apiregistration.k8s.io": _object(spec=_API_SERVICE, status={"conditions": _CONDITIONS}),
}
DELETE_OPTIONS: Shape = {
    "gracePeriodSeconds": _INT,
    "preconditions": _texts("uid", "resourceVersion"),
    "dryRun": Listed(_TEXT),
    "propagationPolicy": _TEXT,
    "orphanDependents": _FLAG,
    "ignoreStoreReadErrorWithClusterBreakingPotential": _FLAG,
}
EVICTION = _object(deleteOptions=DELETE_OPTIONS)
SCALE = _object(spec={"replicas": _INT})


@dataclass(frozen=True, slots=True)
class Misfit:
    """At `path` there is `found` (as Go's decoder calls it), where the kind has a `wanted`."""

    path: tuple[str, ...]
    found: str
    wanted: str


def of_resource(resource: str) -> Shape:
    """Of its objects; of most kinds only the metadata is looked at."""
    return _BY_RESOURCE.get(resource, _META_ALONE)


def misfits(shape: Shape, doc: Any) -> Iterator[Misfit]:
    """What of `doc` is not what it must be; nulls are as good as nothing."""
    yield from _misfits(shape, doc, ())


def _misfits(shape: Shape, value: Any, path: tuple[str, ...]) -> Iterator[Misfit]:
    if value is None or shape == _ANY:
        return
    if isinstance(shape, str):
        if not _is_plain(shape, value):
            yield Misfit(path, _kind_of(value), shape)
    elif isinstance(shape, Listed):
        if isinstance(value, list):
            for each in value:
                yield from _misfits(shape.of, each, path)
        else:
            yield Misfit(path, _kind_of(value), "slice")
    elif not isinstance(value, dict):
        yield Misfit(path, _kind_of(value), "map" if isinstance(shape, Mapped) else "struct")
    elif isinstance(shape, Mapped):
        for name, each in value.items():
            yield from _misfits(shape.of, each, (*path, name))
    else:
        for name, each in shape.items():
            yield from _misfits(each, value.get(name), (*path, name))


def _is_plain(shape: str, value: Any) -> bool:
    if isinstance(value, bool):
        return shape == _FLAG
    if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
        return False
    if shape == QUANTITY and isinstance(value, str):
        return is_amount(value)
    if shape == _TIME and isinstance(value, str):
        return parsed(value) is not None
    return isinstance(value, _PLAIN[shape])


def _kind_of(value: Any) -> str:
    names: tuple[tuple[type, str], ...] = ((bool, "bool"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in names if isinstance(value, kind)), "number")
