"""The shapes of the kinds that are read."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.objects.keeping.shapes import Each, Shape

_WRITTEN = {"annotations": "annotations", "labels": "labels"}
META = Shape(
    "name generateName namespace uid resourceVersion generation creationTimestamp deletionTimestamp "
    "deletionGracePeriodSeconds ownerReferences finalizers",
    _WRITTEN,
)
OWNED = Shape(META.whole + " managedFields", _WRITTEN)
"""Of single objects: who owns which fields."""

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
        "containers": Each(_CONTAINER),
        "initContainers": Each(_CONTAINER),
        "ephemeralContainers": Each(_CONTAINER),
        "volumes": Each(_VOLUME),
    },
)
_STATE = Shape(
    "running",
    below={
        "waiting": Shape("reason"),
        "terminated": Shape("exitCode signal reason startedAt finishedAt"),
    },
)
"""Without messages: that of one that ended is what it printed."""
_CONTAINER_STATUS = Shape(
    "name ready started restartCount image imageID resources allocatedResources",
    below={"state": _STATE, "lastState": _STATE},
)
_POD_STATUS = Shape(
    "phase hostIP hostIPs podIP podIPs startTime qosClass nominatedNodeName reason observedGeneration resize "
    "resourceClaimStatuses",
    {"conditions": "told", "message": "message"},
    below={
        "containerStatuses": Each(_CONTAINER_STATUS),
        "initContainerStatuses": Each(_CONTAINER_STATUS),
        "ephemeralContainerStatuses": Each(_CONTAINER_STATUS),
    },
)
_TEMPLATE = Shape(below={"metadata": META, "spec": _POD_SPEC})
_WORKLOAD_SPEC = Shape(
    "replicas selector strategy updateStrategy minReadySeconds revisionHistoryLimit progressDeadlineSeconds paused "
    "serviceName podManagementPolicy persistentVolumeClaimRetentionPolicy ordinals",
    below={"template": _TEMPLATE, "volumeClaimTemplates": Each(_CLAIM_TEMPLATE)},
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
    "group names scope preserveUnknownFields", below={"conversion": _CONVERSION, "versions": Each(_VERSION)}
)
_ATTACHMENT_SPEC = Shape("attacher nodeName", below={"source": Shape("persistentVolumeName")})
"""Without the volumes that stand in it as a whole, with their options."""


def _kind(whole: str = "", told: str = "", **below: Shape | Each) -> Shape:
    """`told`: fields that are whole but for what messages in them say."""
    return Shape(f"kind apiVersion {whole}", dict.fromkeys(told.split(), "told"), {"metadata": META, **below})


_WORKLOAD = _kind(told="status", spec=_WORKLOAD_SPEC)
_HOOKS = _kind(webhooks=Each(_WEBHOOK))

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
"""Of Secrets there is none: they are never kept."""
