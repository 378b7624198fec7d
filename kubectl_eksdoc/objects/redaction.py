"""Allow-list of the fields that a snapshot keeps, by kind; other fields are dropped while an object is decoded.

Sources of the names: the OpenAPI documents of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import msgspec

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import Redactor
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource

MAX_CACHE_ENTRIES = 50_000
"""Number of cleaned values that are cached for each field: they are byte for byte equal in replicas."""

_RAW = msgspec.Raw | msgspec.UnsetType

CleaningStep = tuple[str, Callable[[Any], None], bool]
"""A field, the function that cleans the struct in it, and whether it is a list of structs."""


@frozen
class KeptFields:
    """The kept fields of an object. `whole`: fields that are kept unchanged, by their JSON names; `cleaned`: fields
    with the name of their cleaner; `below`: nested objects with kept fields of their own, in a `KeptList` for lists."""

    whole: str = ""
    cleaned: Mapping[str, str] = field(default_factory=dict)
    below: Mapping[str, KeptFields | KeptList] = field(default_factory=dict)

    @property
    def needs_cleaning(self) -> bool:
        """Whether any field in it is cleaned: most of a pod is only kept or dropped during decoding."""
        inner = (each.item if isinstance(each, KeptList) else each for each in self.below.values())
        return bool(self.cleaned) or any(each.needs_cleaning for each in inner)

    def with_nested(self, **below: KeptFields | KeptList) -> KeptFields:
        """With additional nested fields, which are no longer kept unchanged."""
        kept_names = " ".join(name for name in self.whole.split() if name not in below)
        return KeptFields(kept_names, self.cleaned, {**self.below, **below})


@frozen
class KeptList:
    """A list of such objects."""

    item: KeptFields


class RedactingDecoder:
    """Decodes, cleans and encodes one kind. Mutable: its cleaners cache values."""

    def __init__(
        self,
        name: str,
        shape: KeptFields,
        cleaners: Mapping[str, Callable[[Any], Any]],
        of_json: Mapping[str, Callable[[bytes], bytes]],
    ) -> None:
        """`of_json`: cleaners of values that seldom repeat; they work on the JSON itself."""
        self._cleaners = {each: _cached_cleaner(cleaner) for each, cleaner in cleaners.items()}
        self._cleaners |= {each: _uncached_cleaner(cleaner) for each, cleaner in of_json.items()}
        self.type, self._clean = self._build_struct(name, shape)

    def cleaned(self, decoded: Any) -> Any:
        """The same struct, cleaned in place."""
        self._clean(decoded)
        return decoded

    def _build_struct(self, name: str, shape: KeptFields) -> tuple[Any, Callable[[Any], None]]:
        fields: list[tuple[str, Any, Any]] = [
            (each, _RAW, msgspec.UNSET) for each in (*shape.whole.split(), *shape.cleaned)
        ]
        steps: list[CleaningStep] = []
        for each, inner in shape.below.items():
            nested, is_list = (inner.item, True) if isinstance(inner, KeptList) else (inner, False)
            nested_type, clean = self._build_struct(f"{name}_{each}", nested)
            field_type = list[nested_type] if is_list else nested_type  # type: ignore[valid-type]
            fields.append((each, field_type | None | msgspec.UnsetType, msgspec.UNSET))
            if nested.needs_cleaning:
                steps.append((each, clean, is_list))
        struct = msgspec.defstruct(name, fields, gc=False)
        return struct, _struct_cleaner(
            [(each, self._cleaners[cleaner]) for each, cleaner in shape.cleaned.items()], steps
        )


def _struct_cleaner(
    cleaned: Sequence[tuple[str, Callable[[bytes], msgspec.Raw]]], steps: Sequence[CleaningStep]
) -> Callable[[Any], None]:
    def clean(value: Any) -> None:
        for name, once in cleaned:
            raw = getattr(value, name)
            if raw is not msgspec.UNSET:
                setattr(value, name, once(bytes(raw)))
        for name, below, many in steps:
            raw = getattr(value, name)
            if not raw:
                continue
            for each in raw if many else (raw,):
                below(each)

    return clean


def _cached_cleaner(cleaner: Callable[[Any], Any]) -> Callable[[bytes], msgspec.Raw]:
    cache: dict[bytes, msgspec.Raw] = {}

    def once(raw: bytes) -> msgspec.Raw:
        cleaned = cache.get(raw)
        if cleaned is None:
            if len(cache) >= MAX_CACHE_ENTRIES:
                cache.clear()
            cleaned = cache[raw] = msgspec.Raw(msgspec.json.encode(cleaner(msgspec.json.decode(raw))))
        return cleaned

    return once


def _uncached_cleaner(cleaner: Callable[[bytes], bytes]) -> Callable[[bytes], msgspec.Raw]:
    return lambda raw: msgspec.Raw(cleaner(raw))


# Fields that can contain a secret, and the part of each that is kept. A value without the form that Kubernetes defines
# is dropped.


_PORTS = ("port", "scheme", "host", "service")


def cleaners(redactor: Redactor) -> Mapping[str, Callable[[Any], Any]]:
    """By the names in `KeptFields.cleaned`."""
    structured = _StructuredCleaners(redactor)
    return {
        "labels": lambda given: structured.texts(given, lambda _, value: redactor.redact_forms(value)),
        "message": lambda given: redactor.text(given) if isinstance(given, str) else None,
        "annotations": lambda given: structured.texts(given, redactor.annotation),
        "data": lambda given: structured.texts(given, redactor.config_value),
        "variables": structured.variables,
        "words": structured.words,
        "probe": structured.handler,
        "lifecycle": structured.lifecycle,
        "url": lambda given: redactor.url(given) if isinstance(given, str) else None,
    }


def messages_cleaner(redactor: Redactor) -> Callable[[bytes], bytes]:
    """Cleaner of JSON, such as conditions, that redacts the messages in it. Most values contain none, and are not
    decoded."""
    cache: dict[str, str] = {}

    def message(text: str) -> str:
        if text not in cache:
            if len(cache) >= MAX_CACHE_ENTRIES:
                cache.clear()
            cache[text] = redactor.text(text)
        return cache[text]

    def below(value: Any) -> Any:
        if isinstance(value, list):
            return [below(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            key: message(each) if key == "message" and isinstance(each, str) else below(each)
            for key, each in value.items()
        }

    def cleaned(raw: bytes) -> bytes:
        return msgspec.json.encode(below(msgspec.json.decode(raw))) if b'"message"' in raw else raw

    return cleaned


class _StructuredCleaners:
    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    @staticmethod
    def texts(mapping: Any, redact: Callable[[str, str], str]) -> Any:
        pairs = mapping.items() if isinstance(mapping, dict) else ()
        return {key: redact(key, value) for key, value in pairs if isinstance(value, str)}

    def variables(self, value: Any) -> Any:
        return [self._variable(each) for each in value if isinstance(each, dict)] if isinstance(value, list) else []

    def _variable(self, variable: dict[str, Any]) -> dict[str, Any]:
        name, value = variable.get("name"), variable.get("value")
        cleaned: dict[str, Any] = {key: variable[key] for key in ("name", "valueFrom") if key in variable}
        if isinstance(value, str):
            cleaned["value"] = self._redactor.variable(name if isinstance(name, str) else "", value)
        return cleaned

    def words(self, value: Any) -> Any:
        return self._redactor.words([str(each) for each in value]) if isinstance(value, list) else []

    def handler(self, value: Any) -> Any:
        """A probe, or a lifecycle handler."""
        if not isinstance(value, dict):
            return None
        cleaned = {key: each for key, each in value.items() if key not in ("exec", "httpGet")}
        if isinstance(value.get("exec"), dict):
            cleaned["exec"] = {"command": self.words(value["exec"].get("command"))}
        if isinstance(http_get := value.get("httpGet"), dict):
            cleaned["httpGet"] = {key: http_get[key] for key in _PORTS if key in http_get}
            if isinstance(path := http_get.get("path"), str):
                cleaned["httpGet"]["path"] = self._redactor.path(path)
        return cleaned

    def lifecycle(self, value: Any) -> Any:
        points = value.items() if isinstance(value, dict) else ()
        return {point: self.handler(each) if isinstance(each, dict) else each for point, each in points}


# The kept fields of each kind.


_CLEANED_META = {"annotations": "annotations", "labels": "labels"}
META = KeptFields(
    "name generateName namespace uid resourceVersion generation creationTimestamp deletionTimestamp "
    "deletionGracePeriodSeconds ownerReferences finalizers",
    _CLEANED_META,
)
META_WITH_MANAGED_FIELDS = KeptFields(META.whole + " managedFields", _CLEANED_META)
"""For single objects, with managedFields."""

_CONTAINER = KeptFields(
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
_CLAIM_SPEC = KeptFields(
    "accessModes selector resources volumeName storageClassName volumeMode volumeAttributesClassName"
)
_CLAIM_TEMPLATE = KeptFields(below={"metadata": META, "spec": _CLAIM_SPEC})
_VOLUME = KeptFields(
    "name emptyDir hostPath persistentVolumeClaim awsElasticBlockStore configMap secret projected downwardAPI nfs "
    "image",
    below={
        "ephemeral": KeptFields(below={"volumeClaimTemplate": KeptFields(below={"spec": _CLAIM_SPEC})}),
        "csi": KeptFields("driver readOnly fsType"),
        "gitRepo": KeptFields("directory"),
    },
)
_POD_SPEC = KeptFields(
    "activeDeadlineSeconds affinity automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks hostAliases "
    "hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets nodeName nodeSelector os "
    "overhead preemptionPolicy priority priorityClassName readinessGates resourceClaims resources restartPolicy "
    "runtimeClassName schedulerName schedulingGates securityContext serviceAccount serviceAccountName "
    "setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations "
    "topologySpreadConstraints workloadRef",
    below={
        "containers": KeptList(_CONTAINER),
        "initContainers": KeptList(_CONTAINER),
        "ephemeralContainers": KeptList(_CONTAINER),
        "volumes": KeptList(_VOLUME),
    },
)
_STATE = KeptFields(
    "running",
    below={
        "waiting": KeptFields("reason"),
        "terminated": KeptFields("exitCode signal reason startedAt finishedAt"),
    },
)
"""Without messages: the message of a terminated container is its own output."""
_CONTAINER_STATUS = KeptFields(
    "name ready started restartCount image imageID resources allocatedResources",
    below={"state": _STATE, "lastState": _STATE},
)
_POD_STATUS = KeptFields(
    "phase hostIP hostIPs podIP podIPs startTime qosClass nominatedNodeName reason observedGeneration resize "
    "resourceClaimStatuses",
    {"conditions": "told", "message": "message"},
    below={
        "containerStatuses": KeptList(_CONTAINER_STATUS),
        "initContainerStatuses": KeptList(_CONTAINER_STATUS),
        "ephemeralContainerStatuses": KeptList(_CONTAINER_STATUS),
    },
)
_TEMPLATE = KeptFields(below={"metadata": META, "spec": _POD_SPEC})
_WORKLOAD_SPEC = KeptFields(
    "replicas selector strategy updateStrategy minReadySeconds revisionHistoryLimit progressDeadlineSeconds paused "
    "serviceName podManagementPolicy persistentVolumeClaimRetentionPolicy ordinals",
    below={"template": _TEMPLATE, "volumeClaimTemplates": KeptList(_CLAIM_TEMPLATE)},
)
_JOB_SPEC = KeptFields(
    "parallelism completions activeDeadlineSeconds podFailurePolicy successPolicy backoffLimit "
    "backoffLimitPerIndex maxFailedIndexes selector manualSelector ttlSecondsAfterFinished completionMode suspend "
    "podReplacementPolicy managedBy",
    below={"template": _TEMPLATE},
)
_CRON_JOB_SPEC = KeptFields(
    "schedule timeZone startingDeadlineSeconds concurrencyPolicy suspend successfulJobsHistoryLimit "
    "failedJobsHistoryLimit",
    below={"jobTemplate": KeptFields(below={"metadata": META, "spec": _JOB_SPEC})},
)
_NODE_SPEC = KeptFields("podCIDR podCIDRs providerID unschedulable taints")
_NODE_STATUS = KeptFields(
    "capacity allocatable phase addresses daemonEndpoints nodeInfo volumesInUse volumesAttached features "
    "declaredFeatures",
    {"conditions": "told"},
)
_SERVICE_SPEC = KeptFields(
    "ports selector clusterIP clusterIPs type externalIPs sessionAffinity externalName externalTrafficPolicy "
    "loadBalancerClass loadBalancerSourceRanges healthCheckNodePort publishNotReadyAddresses sessionAffinityConfig "
    "ipFamilies ipFamilyPolicy allocateLoadBalancerNodePorts internalTrafficPolicy trafficDistribution"
)
_VOLUME_SPEC = KeptFields(
    "capacity accessModes claimRef persistentVolumeReclaimPolicy storageClassName volumeMode nodeAffinity "
    "awsElasticBlockStore hostPath local nfs volumeAttributesClassName",
    below={"csi": KeptFields("driver volumeHandle fsType readOnly")},
)
_CLIENT = KeptFields("service", {"url": "url"})
_WEBHOOK = KeptFields(
    "name rules failurePolicy matchPolicy namespaceSelector objectSelector sideEffects timeoutSeconds "
    "admissionReviewVersions reinvocationPolicy matchConditions",
    below={"clientConfig": _CLIENT},
)
_CONVERSION = KeptFields(
    "strategy", below={"webhook": KeptFields("conversionReviewVersions", below={"clientConfig": _CLIENT})}
)
_VERSION = KeptFields("name served storage deprecated")
"""Without its schema, whose defaults may be anything."""
_DEFINITION_SPEC = KeptFields(
    "group names scope preserveUnknownFields", below={"conversion": _CONVERSION, "versions": KeptList(_VERSION)}
)
_ATTACHMENT_SPEC = KeptFields("attacher nodeName", below={"source": KeptFields("persistentVolumeName")})
"""Without inline volumes, which contain their options."""


def _kind_fields(unchanged: str = "", with_messages: str = "", **below: KeptFields | KeptList) -> KeptFields:
    """The kept fields of a kind. `with_messages`: fields that are kept, with the messages in them redacted."""
    return KeptFields(
        f"kind apiVersion {unchanged}", dict.fromkeys(with_messages.split(), "told"), {"metadata": META, **below}
    )


_WORKLOAD = _kind_fields(with_messages="status", spec=_WORKLOAD_SPEC)
_WEBHOOK_CONFIGURATION = _kind_fields(webhooks=KeptList(_WEBHOOK))

FIELDS_BY_RESOURCE: Mapping[Resource, KeptFields] = {
    kinds.NODES: _kind_fields(spec=_NODE_SPEC, status=_NODE_STATUS),
    kinds.PODS: _kind_fields(spec=_POD_SPEC, status=_POD_STATUS),
    kinds.BUDGETS: _kind_fields(
        with_messages="status", spec=KeptFields("minAvailable maxUnavailable selector unhealthyPodEvictionPolicy")
    ),
    kinds.DEPLOYMENTS: _WORKLOAD,
    kinds.REPLICA_SETS: _WORKLOAD,
    kinds.STATEFUL_SETS: _WORKLOAD,
    kinds.DAEMON_SETS: _WORKLOAD,
    kinds.REPLICATION_CONTROLLERS: _WORKLOAD,
    kinds.JOBS: _kind_fields(with_messages="status", spec=_JOB_SPEC),
    kinds.CRON_JOBS: _kind_fields(with_messages="status", spec=_CRON_JOB_SPEC),
    kinds.VOLUMES: _kind_fields(with_messages="status", spec=_VOLUME_SPEC),
    kinds.CLAIMS: _kind_fields(with_messages="status", spec=_CLAIM_SPEC),
    kinds.STORAGE_CLASSES: _kind_fields(
        "provisioner reclaimPolicy allowVolumeExpansion volumeBindingMode allowedTopologies",
        parameters=KeptFields("type iops throughput encrypted"),
    ),
    kinds.CSI_NODES: _kind_fields("spec"),
    kinds.VOLUME_ATTACHMENTS: _kind_fields(spec=_ATTACHMENT_SPEC, status=KeptFields("attached")),
    kinds.NAMESPACES: _kind_fields(with_messages="status", spec=KeptFields("finalizers")),
    kinds.PRIORITY_CLASSES: _kind_fields("value globalDefault preemptionPolicy"),
    kinds.LEASES: _kind_fields(
        spec=KeptFields("holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions")
    ),
    kinds.AUTOSCALERS: _kind_fields(
        with_messages="status", spec=KeptFields("scaleTargetRef minReplicas maxReplicas metrics behavior")
    ),
    kinds.SERVICES: _kind_fields(with_messages="status", spec=_SERVICE_SPEC),
    kinds.ENDPOINT_SLICES: _kind_fields("addressType endpoints ports"),
    kinds.VALIDATING_WEBHOOKS: _WEBHOOK_CONFIGURATION,
    kinds.MUTATING_WEBHOOKS: _WEBHOOK_CONFIGURATION,
    kinds.TARGET_GROUP_BINDINGS: _kind_fields("spec", with_messages="status"),
    kinds.SECURITY_GROUP_POLICIES: _kind_fields("spec"),
    kinds.ENI_CONFIGS: _kind_fields("spec"),
    kinds.API_SERVICES: _kind_fields(
        with_messages="status", spec=KeptFields("group version service groupPriorityMinimum versionPriority")
    ),
    kinds.DEFINITIONS: _kind_fields(with_messages="status", spec=_DEFINITION_SPEC),
    kinds.NODE_POOLS: _kind_fields(
        with_messages="status",
        spec=KeptFields(
            "limits disruption weight replicas", below={"template": KeptFields("spec", below={"metadata": META})}
        ),
    ),
    kinds.NODE_CLASSES: _kind_fields(
        spec=KeptFields(
            "amiFamily amiSelectorTerms metadataOptions subnetSelectorTerms securityGroupSelectorTerms role"
        )
    ),
    kinds.CONFIG_MAPS: KeptFields("kind apiVersion immutable", {"data": "data"}, {"metadata": META}),
    kinds.SERVICE_ACCOUNTS: _kind_fields("automountServiceAccountToken"),
    kinds.CLUSTER_ROLES: _kind_fields("rules aggregationRule"),
    kinds.CLUSTER_ROLE_BINDINGS: _kind_fields("roleRef subjects"),
    kinds.CONTROLLER_REVISIONS: _kind_fields("revision", data=KeptFields(below={"spec": _WORKLOAD_SPEC})),
}
"""Secrets are not included: they are never kept."""
