"""Allow-list of the fields that a snapshot keeps, by kind; other fields are dropped while an object is decoded.

Sources of the names: the OpenAPI documents of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import msgspec

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import KeptAnnotations
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource

MOST = 50_000
"""Number of cleaned values that are cached for each field: they are byte for byte equal in replicas."""

_RAW = msgspec.Raw | msgspec.UnsetType

Step = tuple[str, Callable[[Any], None], bool]
"""A field, the function that cleans the struct in it, and whether it is a list of structs."""


@frozen
class Shape:
    """The kept fields of an object. `whole`: fields that are kept unchanged, by their JSON names; `cleaned`: fields
    with the name of their cleaner; `below`: nested objects with kept fields of their own, in a `KeptList` for lists."""

    whole: str = ""
    cleaned: Mapping[str, str] = field(default_factory=dict)
    below: Mapping[str, Shape | ListShape] = field(default_factory=dict)

    @property
    def to_clean(self) -> bool:
        """Whether any field in it is cleaned: most of a pod is only kept or dropped during decoding."""
        inner = (each.of if isinstance(each, ListShape) else each for each in self.below.values())
        return bool(self.cleaned) or any(each.to_clean for each in inner)

    def but(self, **below: Shape | ListShape) -> Shape:
        """With additional nested fields, which are no longer kept unchanged."""
        whole = " ".join(name for name in self.whole.split() if name not in below)
        return Shape(whole, self.cleaned, {**self.below, **below})


@frozen
class ListShape:
    """A list of such objects."""

    of: Shape


class KeptShape:
    """Decodes, cleans and encodes one kind. Mutable: its cleaners cache values."""

    def __init__(
        self,
        name: str,
        shape: Shape,
        cleaners: Mapping[str, Callable[[Any], Any]],
        of_json: Mapping[str, Callable[[bytes], bytes]],
    ) -> None:
        """`of_json`: cleaners of values that seldom repeat; they work on the JSON itself."""
        self._once = {each: _once(cleaner) for each, cleaner in cleaners.items()}
        self._once |= {each: _each_time(cleaner) for each, cleaner in of_json.items()}
        self.type, self._clean = self._made(name, shape)

    def cleaned(self, decoded: Any) -> Any:
        """The same struct, cleaned in place."""
        self._clean(decoded)
        return decoded

    def _made(self, name: str, shape: Shape) -> tuple[Any, Callable[[Any], None]]:
        fields: list[tuple[str, Any, Any]] = [
            (each, _RAW, msgspec.UNSET) for each in (*shape.whole.split(), *shape.cleaned)
        ]
        steps: list[Step] = []
        for each, inner in shape.below.items():
            of, many = (inner.of, True) if isinstance(inner, ListShape) else (inner, False)
            made, clean = self._made(f"{name}_{each}", of)
            fields.append((each, (list[made] if many else made) | None | msgspec.UnsetType, msgspec.UNSET))  # type: ignore[valid-type]
            if of.to_clean:
                steps.append((each, clean, many))
        struct = msgspec.defstruct(name, fields, gc=False)
        return struct, _clean([(each, self._once[cleaner]) for each, cleaner in shape.cleaned.items()], steps)


def _clean(
    cleaned: Sequence[tuple[str, Callable[[bytes], msgspec.Raw]]], steps: Sequence[Step]
) -> Callable[[Any], None]:
    def clean(value: Any) -> None:
        for name, once in cleaned:
            given = getattr(value, name)
            if given is not msgspec.UNSET:
                setattr(value, name, once(bytes(given)))
        for name, below, many in steps:
            given = getattr(value, name)
            if not given:
                continue
            for each in given if many else (given,):
                below(each)

    return clean


def _once(cleaner: Callable[[Any], Any]) -> Callable[[bytes], msgspec.Raw]:
    known: dict[bytes, msgspec.Raw] = {}

    def once(raw: bytes) -> msgspec.Raw:
        found = known.get(raw)
        if found is None:
            if len(known) >= MOST:
                known.clear()
            found = known[raw] = msgspec.Raw(msgspec.json.encode(cleaner(msgspec.json.decode(raw))))
        return found

    return once


def _each_time(cleaner: Callable[[bytes], bytes]) -> Callable[[bytes], msgspec.Raw]:
    return lambda raw: msgspec.Raw(cleaner(raw))


# Fields that can contain a secret, and the part of each that is kept. A value without the form that Kubernetes defines
# is dropped.


_PORTS = ("port", "scheme", "host", "service")


def cleaners(keep: KeptAnnotations) -> Mapping[str, Callable[[Any], Any]]:
    """By the names in `KeptFields.cleaned`."""
    over = _Cleaners(keep)
    return {
        "labels": lambda given: over.texts(given, lambda _, value: keep.form(value)),
        "message": lambda given: keep.text(given) if isinstance(given, str) else None,
        "annotations": lambda given: over.texts(given, keep.annotation),
        "data": lambda given: over.texts(given, keep.config_value),
        "variables": over.variables,
        "words": over.words,
        "probe": over.handler,
        "lifecycle": over.lifecycle,
        "url": lambda given: keep.url(given) if isinstance(given, str) else None,
    }


def told(keep: KeptAnnotations) -> Callable[[bytes], bytes]:
    """Cleaner of JSON, such as conditions, that redacts the messages in it. Most values contain none, and are not
    decoded."""
    known: dict[str, str] = {}

    def message(text: str) -> str:
        if text not in known:
            if len(known) >= MOST:
                known.clear()
            known[text] = keep.text(text)
        return known[text]

    def below(given: Any) -> Any:
        if isinstance(given, list):
            return [below(each) for each in given]
        if not isinstance(given, dict):
            return given
        return {
            key: message(each) if key == "message" and isinstance(each, str) else below(each)
            for key, each in given.items()
        }

    def cleaned(raw: bytes) -> bytes:
        return msgspec.json.encode(below(msgspec.json.decode(raw))) if b'"message"' in raw else raw

    return cleaned


class _Cleaners:
    def __init__(self, keep: KeptAnnotations) -> None:
        self._keep = keep

    @staticmethod
    def texts(given: Any, kept: Callable[[str, str], str]) -> Any:
        pairs = given.items() if isinstance(given, dict) else ()
        return {key: kept(key, value) for key, value in pairs if isinstance(value, str)}

    def variables(self, given: Any) -> Any:
        return [self._variable(each) for each in given if isinstance(each, dict)] if isinstance(given, list) else []

    def _variable(self, given: dict[str, Any]) -> dict[str, Any]:
        name, value = given.get("name"), given.get("value")
        kept: dict[str, Any] = {key: given[key] for key in ("name", "valueFrom") if key in given}
        if isinstance(value, str):
            kept["value"] = self._keep.variable(name if isinstance(name, str) else "", value)
        return kept

    def words(self, given: Any) -> Any:
        return self._keep.words([str(each) for each in given]) if isinstance(given, list) else []

    def handler(self, given: Any) -> Any:
        """A probe, or a lifecycle handler."""
        if not isinstance(given, dict):
            return None
        kept = {key: each for key, each in given.items() if key not in ("exec", "httpGet")}
        if isinstance(given.get("exec"), dict):
            kept["exec"] = {"command": self.words(given["exec"].get("command"))}
        if isinstance(said := given.get("httpGet"), dict):
            kept["httpGet"] = {key: said[key] for key in _PORTS if key in said}
            if isinstance(path := said.get("path"), str):
                kept["httpGet"]["path"] = self._keep.path(path)
        return kept

    def lifecycle(self, given: Any) -> Any:
        points = given.items() if isinstance(given, dict) else ()
        return {point: self.handler(each) if isinstance(each, dict) else each for point, each in points}


# The kept fields of each kind.


_WRITTEN = {"annotations": "annotations", "labels": "labels"}
META = Shape(
    "name generateName namespace uid resourceVersion generation creationTimestamp deletionTimestamp "
    "deletionGracePeriodSeconds ownerReferences finalizers",
    _WRITTEN,
)
OWNED = Shape(META.whole + " managedFields", _WRITTEN)
"""For single objects, with managedFields."""

_CONTAINER = Shape(
    "name image imagePullPolicy ports envFrom resources resizePolicy restartPolicy restartPolicyRules volumeMounts "
    "volumeDevices securityContext stdin stdinOnce tty terminationMessagePath terminationMessagePolicy "
    "targetContainerName",
    {
        "command": "words",
        "args": "words",
        "env": "variables",
        "livenessProbe": "probe",
        "readinessProbe": "probe",
        "startupProbe": "probe",
        "lifecycle": "lifecycle",
    },
)
_CLAIM_SPEC = Shape("accessModes selector resources volumeName storageClassName volumeMode volumeAttributesClassName")
_CLAIM_TEMPLATE = Shape(below={"metadata": META, "spec": _CLAIM_SPEC})
_VOLUME = Shape(
    "name emptyDir hostPath persistentVolumeClaim awsElasticBlockStore configMap secret projected downwardAPI nfs "
    "image",
    below={
        "ephemeral": Shape(below={"volumeClaimTemplate": Shape(below={"spec": _CLAIM_SPEC})}),
        "csi": Shape("driver readOnly fsType"),
        "gitRepo": Shape("directory"),
    },
)
_POD_SPEC = Shape(
    "activeDeadlineSeconds affinity automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks hostAliases "
    "hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets nodeName nodeSelector os "
    "overhead preemptionPolicy priority priorityClassName readinessGates resourceClaims resources restartPolicy "
    "runtimeClassName schedulerName schedulingGates securityContext serviceAccount serviceAccountName "
    "setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations "
    "topologySpreadConstraints workloadRef",
    below={
        "containers": ListShape(_CONTAINER),
        "initContainers": ListShape(_CONTAINER),
        "ephemeralContainers": ListShape(_CONTAINER),
        "volumes": ListShape(_VOLUME),
    },
)
_STATE = Shape(
    "running",
    below={
        "waiting": Shape("reason"),
        "terminated": Shape("exitCode signal reason startedAt finishedAt"),
    },
)
"""Without messages: the message of a terminated container is its own output."""
_CONTAINER_STATUS = Shape(
    "name ready started restartCount image imageID resources allocatedResources",
    below={"state": _STATE, "lastState": _STATE},
)
_POD_STATUS = Shape(
    "phase hostIP hostIPs podIP podIPs startTime qosClass nominatedNodeName reason observedGeneration resize "
    "resourceClaimStatuses",
    {"conditions": "told", "message": "message"},
    below={
        "containerStatuses": ListShape(_CONTAINER_STATUS),
        "initContainerStatuses": ListShape(_CONTAINER_STATUS),
        "ephemeralContainerStatuses": ListShape(_CONTAINER_STATUS),
    },
)
_TEMPLATE = Shape(below={"metadata": META, "spec": _POD_SPEC})
_WORKLOAD_SPEC = Shape(
    "replicas selector strategy updateStrategy minReadySeconds revisionHistoryLimit progressDeadlineSeconds paused "
    "serviceName podManagementPolicy persistentVolumeClaimRetentionPolicy ordinals",
    below={"template": _TEMPLATE, "volumeClaimTemplates": ListShape(_CLAIM_TEMPLATE)},
)
_JOB_SPEC = Shape(
    "parallelism completions activeDeadlineSeconds podFailurePolicy successPolicy backoffLimit "
    "backoffLimitPerIndex maxFailedIndexes selector manualSelector ttlSecondsAfterFinished completionMode suspend "
    "podReplacementPolicy managedBy",
    below={"template": _TEMPLATE},
)
_CRON_JOB_SPEC = Shape(
    "schedule timeZone startingDeadlineSeconds concurrencyPolicy suspend successfulJobsHistoryLimit "
    "failedJobsHistoryLimit",
    below={"jobTemplate": Shape(below={"metadata": META, "spec": _JOB_SPEC})},
)
_NODE_SPEC = Shape("podCIDR podCIDRs providerID unschedulable taints")
_NODE_STATUS = Shape(
    "capacity allocatable phase addresses daemonEndpoints nodeInfo volumesInUse volumesAttached features "
    "declaredFeatures",
    {"conditions": "told"},
)
_SERVICE_SPEC = Shape(
    "ports selector clusterIP clusterIPs type externalIPs sessionAffinity externalName externalTrafficPolicy "
    "loadBalancerClass loadBalancerSourceRanges healthCheckNodePort publishNotReadyAddresses sessionAffinityConfig "
    "ipFamilies ipFamilyPolicy allocateLoadBalancerNodePorts internalTrafficPolicy trafficDistribution"
)
_VOLUME_SPEC = Shape(
    "capacity accessModes claimRef persistentVolumeReclaimPolicy storageClassName volumeMode nodeAffinity "
    "awsElasticBlockStore hostPath local nfs volumeAttributesClassName",
    below={"csi": Shape("driver volumeHandle fsType readOnly")},
)
_CLIENT = Shape("service", {"url": "url"})
_WEBHOOK = Shape(
    "name rules failurePolicy matchPolicy namespaceSelector objectSelector sideEffects timeoutSeconds "
    "admissionReviewVersions reinvocationPolicy matchConditions",
    below={"clientConfig": _CLIENT},
)
_CONVERSION = Shape("strategy", below={"webhook": Shape("conversionReviewVersions", below={"clientConfig": _CLIENT})})
_VERSION = Shape("name served storage deprecated")
"""Without its schema, whose defaults may be anything."""
_DEFINITION_SPEC = Shape(
    "group names scope preserveUnknownFields", below={"conversion": _CONVERSION, "versions": ListShape(_VERSION)}
)
_ATTACHMENT_SPEC = Shape("attacher nodeName", below={"source": Shape("persistentVolumeName")})
"""Without inline volumes, which contain their options."""


def _kind(whole: str = "", told: str = "", **below: Shape | ListShape) -> Shape:
    """The kept fields of a kind. `with_messages`: fields that are kept, with the messages in them redacted."""
    return Shape(f"kind apiVersion {whole}", dict.fromkeys(told.split(), "told"), {"metadata": META, **below})


_WORKLOAD = _kind(told="status", spec=_WORKLOAD_SPEC)
_HOOKS = _kind(webhooks=ListShape(_WEBHOOK))

SHAPES: Mapping[Resource, Shape] = {
    kinds.NODES: _kind(spec=_NODE_SPEC, status=_NODE_STATUS),
    kinds.PODS: _kind(spec=_POD_SPEC, status=_POD_STATUS),
    kinds.BUDGETS: _kind(told="status", spec=Shape("minAvailable maxUnavailable selector unhealthyPodEvictionPolicy")),
    kinds.DEPLOYMENTS: _WORKLOAD,
    kinds.REPLICA_SETS: _WORKLOAD,
    kinds.STATEFUL_SETS: _WORKLOAD,
    kinds.DAEMON_SETS: _WORKLOAD,
    kinds.REPLICATION_CONTROLLERS: _WORKLOAD,
    kinds.JOBS: _kind(told="status", spec=_JOB_SPEC),
    kinds.CRON_JOBS: _kind(told="status", spec=_CRON_JOB_SPEC),
    kinds.VOLUMES: _kind(told="status", spec=_VOLUME_SPEC),
    kinds.CLAIMS: _kind(told="status", spec=_CLAIM_SPEC),
    kinds.STORAGE_CLASSES: _kind(
        "provisioner reclaimPolicy allowVolumeExpansion volumeBindingMode allowedTopologies",
        parameters=Shape("type iops throughput encrypted"),
    ),
    kinds.CSI_NODES: _kind("spec"),
    kinds.VOLUME_ATTACHMENTS: _kind(spec=_ATTACHMENT_SPEC, status=Shape("attached")),
    kinds.NAMESPACES: _kind(told="status", spec=Shape("finalizers")),
    kinds.PRIORITY_CLASSES: _kind("value globalDefault preemptionPolicy"),
    kinds.LEASES: _kind(spec=Shape("holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions")),
    kinds.AUTOSCALERS: _kind(told="status", spec=Shape("scaleTargetRef minReplicas maxReplicas metrics behavior")),
    kinds.SERVICES: _kind(told="status", spec=_SERVICE_SPEC),
    kinds.ENDPOINT_SLICES: _kind("addressType endpoints ports"),
    kinds.VALIDATING_WEBHOOKS: _HOOKS,
    kinds.MUTATING_WEBHOOKS: _HOOKS,
    kinds.TARGET_GROUP_BINDINGS: _kind("spec", told="status"),
    kinds.SECURITY_GROUP_POLICIES: _kind("spec"),
    kinds.ENI_CONFIGS: _kind("spec"),
    kinds.API_SERVICES: _kind(told="status", spec=Shape("group version service groupPriorityMinimum versionPriority")),
    kinds.DEFINITIONS: _kind(told="status", spec=_DEFINITION_SPEC),
    kinds.NODE_POOLS: _kind(
        told="status",
        spec=Shape("limits disruption weight replicas", below={"template": Shape("spec", below={"metadata": META})}),
    ),
    kinds.NODE_CLASSES: _kind(
        spec=Shape("amiFamily amiSelectorTerms metadataOptions subnetSelectorTerms securityGroupSelectorTerms role")
    ),
    kinds.CONFIG_MAPS: Shape("kind apiVersion immutable", {"data": "data"}, {"metadata": META}),
    kinds.SERVICE_ACCOUNTS: _kind("automountServiceAccountToken"),
    kinds.CLUSTER_ROLES: _kind("rules aggregationRule"),
    kinds.CLUSTER_ROLE_BINDINGS: _kind("roleRef subjects"),
    kinds.CONTROLLER_REVISIONS: _kind("revision", data=Shape(below={"spec": _WORKLOAD_SPEC})),
}
"""Secrets are not included: they are never kept."""
