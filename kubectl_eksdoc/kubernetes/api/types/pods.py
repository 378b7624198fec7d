"""Pods and pod templates (k8s.io/api/core/v1: PodSpec, Container, Volume, PodStatus)."""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.api.places import SET, WHOLE, Place, by, fields, merged_by, owned_by, retaining
from kubectl_eksdoc.kubernetes.api.types.metadata import CONDITIONS, kind

_RESOURCES = fields(claims=owned_by("name"))

_VARIABLE = fields(
    valueFrom=fields(
        fieldRef=WHOLE,
        fileKeyRef=WHOLE,
        resourceFieldRef=WHOLE,
        configMapKeyRef=WHOLE,
        secretKeyRef=WHOLE,
    )
)

_CONTAINER = fields(
    env=by("name", items=_VARIABLE),
    ports=by("containerPort", "protocol", protocol="TCP"),
    resources=_RESOURCES,
    volumeDevices=by("devicePath"),
    volumeMounts=by("mountPath", items=fields(bindMountOptions=SET)),
)

CLAIM_SPEC = fields(dataSource=WHOLE, selector=WHOLE)

_SECRET_REF = fields(secretRef=WHOLE)

_VOLUME = fields(
    cephfs=_SECRET_REF,
    cinder=_SECRET_REF,
    csi=fields(nodePublishSecretRef=WHOLE),
    ephemeral=fields(volumeClaimTemplate=kind(spec=CLAIM_SPEC)),
    flexVolume=_SECRET_REF,
    iscsi=_SECRET_REF,
    rbd=_SECRET_REF,
    scaleIO=_SECRET_REF,
    storageos=_SECRET_REF,
)

POD_SPEC = fields(
    affinity=fields(nodeAffinity=fields(requiredDuringSchedulingIgnoredDuringExecution=WHOLE)),
    containers=by("name", items=_CONTAINER),
    ephemeralContainers=by("name", items=_CONTAINER),
    hostAliases=by("ip"),
    imagePullSecrets=by("name", items=WHOLE),
    initContainers=by("name", items=_CONTAINER),
    nodeSelector=WHOLE,
    resourceClaims=retaining(by("name")),
    resources=_RESOURCES,
    schedulingGates=by("name"),
    topologySpreadConstraints=by("topologyKey", "whenUnsatisfiable", items=fields(labelSelector=WHOLE)),
    volumes=retaining(by("name", items=_VOLUME)),
)

_NODE_ALLOCATABLE = fields(containers=SET, mapping=by("name"), overhead=by("name"))

_POD_STATUS = fields(
    conditions=CONDITIONS,
    hostIPs=merged_by("ip"),
    nodeAllocatableResourceClaimStatuses=by("resourceClaimName", items=_NODE_ALLOCATABLE),
    podIPs=by("ip"),
    resourceClaimStatuses=retaining(by("name")),
    resources=_RESOURCES,
)

TEMPLATE = kind(spec=POD_SPEC)

POD: Place = kind(spec=POD_SPEC, status=_POD_STATUS)
