"""The kinds of all groups but core (k8s.io/api, apiextensions-apiserver, kube-aggregator)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.kubernetes.api.places import PLAIN, SET, WHOLE, Place, by, fields, merged_by, retaining
from kubectl_eksdoc.kubernetes.api.types.core_kinds import VOLUME_SPEC
from kubectl_eksdoc.kubernetes.api.types.metadata import METADATA, STATUS, STATUS_REPLACED
from kubectl_eksdoc.kubernetes.api.types.pods import TEMPLATE

_PLAIN = fields(metadata=METADATA)
_WITH_CONDITIONS = fields(metadata=METADATA, status=STATUS)
_WITH_REPLACED_CONDITIONS = fields(metadata=METADATA, status=STATUS_REPLACED)
_BINDING = fields(metadata=METADATA, roleRef=WHOLE)

_WORKLOAD = fields(metadata=METADATA, spec=fields(selector=WHOLE, template=TEMPLATE), status=STATUS)

_APPS: Mapping[str, Place] = {
    "ControllerRevision": fields(metadata=METADATA, data=WHOLE),
    "DaemonSet": _WORKLOAD,
    "Deployment": fields(
        metadata=METADATA,
        spec=fields(selector=WHOLE, template=TEMPLATE, strategy=retaining(PLAIN)),
        status=STATUS,
    ),
    "ReplicaSet": _WORKLOAD,
    "StatefulSet": _WORKLOAD,
}

_JOB_SPEC = fields(selector=WHOLE, template=TEMPLATE)

_BATCH: Mapping[str, Place] = {
    "CronJob": fields(metadata=METADATA, spec=fields(jobTemplate=fields(metadata=METADATA, spec=_JOB_SPEC))),
    "Job": fields(
        metadata=METADATA,
        spec=_JOB_SPEC,
        status=fields(conditions=merged_by("type"), uncountedTerminatedPods=fields(failed=SET, succeeded=SET)),
    ),
}

_POLICY: Mapping[str, Place] = {
    "PodDisruptionBudget": fields(
        metadata=METADATA, spec=fields(selector=replace(WHOLE, strategy=("replace",))), status=STATUS
    ),
}

_WEBHOOK = fields(matchConditions=by("name"), namespaceSelector=WHOLE, objectSelector=WHOLE)
_WEBHOOKS = fields(metadata=METADATA, webhooks=by("name", items=_WEBHOOK))

_ADMISSION: Mapping[str, Place] = {
    "MutatingAdmissionPolicy": fields(
        metadata=METADATA, spec=fields(matchConditions=by("name"), matchConstraints=WHOLE, paramKind=WHOLE)
    ),
    "MutatingAdmissionPolicyBinding": fields(metadata=METADATA, spec=fields(matchResources=WHOLE, paramRef=WHOLE)),
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingAdmissionPolicy": fields(
        metadata=METADATA,
        spec=fields(
            matchConditions=by("name"), matchConstraints=WHOLE, paramKind=WHOLE, variables=by("name", items=WHOLE)
        ),
        status=STATUS_REPLACED,
    ),
    "ValidatingAdmissionPolicyBinding": fields(
        metadata=METADATA, spec=fields(matchResources=WHOLE, paramRef=WHOLE, validationActions=SET)
    ),
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}

_STORAGE: Mapping[str, Place] = {
    "CSIDriver": fields(metadata=METADATA, spec=fields(volumeLifecycleModes=SET)),
    "CSINode": fields(metadata=METADATA, spec=fields(drivers=by("name"))),
    "CSIStorageCapacity": fields(metadata=METADATA, nodeTopology=WHOLE),
    "StorageClass": _PLAIN,
    "VolumeAttachment": fields(metadata=METADATA, spec=fields(source=fields(inlineVolumeSpec=VOLUME_SPEC))),
    "VolumeAttributesClass": _PLAIN,
}

_BACKEND = fields(resource=WHOLE, service=fields(port=WHOLE))

_NETWORKING: Mapping[str, Place] = {
    "IPAddress": _PLAIN,
    "Ingress": fields(metadata=METADATA, spec=fields(defaultBackend=_BACKEND)),
    "IngressClass": _PLAIN,
    "NetworkPolicy": fields(metadata=METADATA, spec=fields(podSelector=WHOLE)),
    "ServiceCIDR": _WITH_CONDITIONS,
}

GROUPS: Mapping[str, Mapping[str, Place]] = {
    "admissionregistration.k8s.io/v1": _ADMISSION,
    "apiextensions.k8s.io/v1": {"CustomResourceDefinition": _WITH_REPLACED_CONDITIONS},
    "apiregistration.k8s.io/v1": {"APIService": _WITH_CONDITIONS},
    "apps/v1": _APPS,
    "autoscaling/v1": {
        "HorizontalPodAutoscaler": fields(metadata=METADATA, spec=fields(scaleTargetRef=WHOLE)),
    },
    "autoscaling/v2": {"HorizontalPodAutoscaler": _WITH_CONDITIONS},
    "batch/v1": _BATCH,
    "certificates.k8s.io/v1": {"CertificateSigningRequest": _WITH_REPLACED_CONDITIONS},
    "coordination.k8s.io/v1": {"Lease": _PLAIN},
    "discovery.k8s.io/v1": {"EndpointSlice": _PLAIN},
    "events.k8s.io/v1": {"Event": fields(metadata=METADATA, regarding=WHOLE, related=WHOLE)},
    "flowcontrol.apiserver.k8s.io/v1": {
        "FlowSchema": _WITH_CONDITIONS,
        "PriorityLevelConfiguration": _WITH_CONDITIONS,
    },
    "networking.k8s.io/v1": _NETWORKING,
    "node.k8s.io/v1": {"RuntimeClass": fields(metadata=METADATA, scheduling=fields(nodeSelector=WHOLE))},
    "policy/v1": _POLICY,
    "rbac.authorization.k8s.io/v1": {
        "ClusterRole": fields(metadata=METADATA),
        "ClusterRoleBinding": _BINDING,
        "Role": _PLAIN,
        "RoleBinding": _BINDING,
    },
    "scheduling.k8s.io/v1": {"PriorityClass": _PLAIN},
    "storage.k8s.io/v1": _STORAGE,
}
