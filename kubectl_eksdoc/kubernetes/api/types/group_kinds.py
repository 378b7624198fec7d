"""The kinds of all groups but core (k8s.io/api, apiextensions-apiserver, kube-aggregator)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.kubernetes.api.places import PLAIN, SET, WHOLE, Place, by, fields, merged_by, retaining
from kubectl_eksdoc.kubernetes.api.types.core_kinds import VOLUME_SPEC
from kubectl_eksdoc.kubernetes.api.types.metadata import STATUS, STATUS_REPLACED, kind
from kubectl_eksdoc.kubernetes.api.types.pods import TEMPLATE

_WITH_CONDITIONS = kind(status=STATUS)
_WITH_REPLACED_CONDITIONS = kind(status=STATUS_REPLACED)
_BINDING = kind(roleRef=WHOLE)

_WORKLOAD = kind(spec=fields(selector=WHOLE, template=TEMPLATE), status=STATUS)

_APPS: Mapping[str, Place] = {
    "ControllerRevision": kind(data=WHOLE),
    "DaemonSet": _WORKLOAD,
    "Deployment": kind(
        spec=fields(selector=WHOLE, template=TEMPLATE, strategy=retaining(PLAIN)),
        status=STATUS,
    ),
    "ReplicaSet": _WORKLOAD,
    "StatefulSet": _WORKLOAD,
}

_JOB_SPEC = fields(selector=WHOLE, template=TEMPLATE)

_BATCH: Mapping[str, Place] = {
    "CronJob": kind(spec=fields(jobTemplate=kind(spec=_JOB_SPEC))),
    "Job": kind(
        spec=_JOB_SPEC,
        status=fields(conditions=merged_by("type"), uncountedTerminatedPods=fields(failed=SET, succeeded=SET)),
    ),
}

_POLICY: Mapping[str, Place] = {
    "PodDisruptionBudget": kind(spec=fields(selector=replace(WHOLE, strategy=("replace",))), status=STATUS),
}

_WEBHOOK = fields(matchConditions=by("name"), namespaceSelector=WHOLE, objectSelector=WHOLE)
_WEBHOOKS = kind(webhooks=by("name", items=_WEBHOOK))

_ADMISSION: Mapping[str, Place] = {
    "MutatingAdmissionPolicy": kind(spec=fields(matchConditions=by("name"), matchConstraints=WHOLE, paramKind=WHOLE)),
    "MutatingAdmissionPolicyBinding": kind(spec=fields(matchResources=WHOLE, paramRef=WHOLE)),
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingAdmissionPolicy": kind(
        spec=fields(
            matchConditions=by("name"), matchConstraints=WHOLE, paramKind=WHOLE, variables=by("name", items=WHOLE)
        ),
        status=STATUS_REPLACED,
    ),
    "ValidatingAdmissionPolicyBinding": kind(spec=fields(matchResources=WHOLE, paramRef=WHOLE, validationActions=SET)),
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}

_STORAGE: Mapping[str, Place] = {
    "CSIDriver": kind(spec=fields(volumeLifecycleModes=SET)),
    "CSINode": kind(spec=fields(drivers=by("name"))),
    "CSIStorageCapacity": kind(nodeTopology=WHOLE),
    "VolumeAttachment": kind(spec=fields(source=fields(inlineVolumeSpec=VOLUME_SPEC))),
}

_BACKEND = fields(resource=WHOLE, service=fields(port=WHOLE))

_NETWORKING: Mapping[str, Place] = {
    "Ingress": kind(spec=fields(defaultBackend=_BACKEND)),
    "NetworkPolicy": kind(spec=fields(podSelector=WHOLE)),
    "ServiceCIDR": _WITH_CONDITIONS,
}

GROUPS: Mapping[str, Mapping[str, Place]] = {
    "admissionregistration.k8s.io/v1": _ADMISSION,
    "apiextensions.k8s.io/v1": {"CustomResourceDefinition": _WITH_REPLACED_CONDITIONS},
    "apiregistration.k8s.io/v1": {"APIService": _WITH_CONDITIONS},
    "apps/v1": _APPS,
    "autoscaling/v1": {
        "HorizontalPodAutoscaler": kind(spec=fields(scaleTargetRef=WHOLE)),
    },
    "autoscaling/v2": {"HorizontalPodAutoscaler": _WITH_CONDITIONS},
    "batch/v1": _BATCH,
    "certificates.k8s.io/v1": {"CertificateSigningRequest": _WITH_REPLACED_CONDITIONS},
    "events.k8s.io/v1": {"Event": kind(regarding=WHOLE, related=WHOLE)},
    "flowcontrol.apiserver.k8s.io/v1": {
        "FlowSchema": _WITH_CONDITIONS,
        "PriorityLevelConfiguration": _WITH_CONDITIONS,
    },
    "networking.k8s.io/v1": _NETWORKING,
    "node.k8s.io/v1": {"RuntimeClass": kind(scheduling=fields(nodeSelector=WHOLE))},
    "policy/v1": _POLICY,
    "rbac.authorization.k8s.io/v1": {
        "ClusterRoleBinding": _BINDING,
        "RoleBinding": _BINDING,
    },
    "storage.k8s.io/v1": _STORAGE,
}
