"""The kinds of the core group that are not pods (k8s.io/api/core/v1)."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.kubernetes.api.places import MERGED_SET, WHOLE, Place, by, fields
from kubectl_eksdoc.kubernetes.api.types.metadata import CONDITIONS, METADATA, STATUS
from kubectl_eksdoc.kubernetes.api.types.pods import CLAIM_SPEC, POD, TEMPLATE

_SECRET_REF = fields(secretRef=WHOLE)

VOLUME_SPEC = fields(
    cephfs=_SECRET_REF,
    cinder=_SECRET_REF,
    csi=fields(
        controllerExpandSecretRef=WHOLE,
        controllerPublishSecretRef=WHOLE,
        nodeExpandSecretRef=WHOLE,
        nodePublishSecretRef=WHOLE,
        nodeStageSecretRef=WHOLE,
    ),
    flexVolume=_SECRET_REF,
    iscsi=_SECRET_REF,
    # claimRef is granular here, although an object reference is owned as a whole everywhere else.
    nodeAffinity=fields(required=WHOLE),
    rbd=_SECRET_REF,
    scaleIO=_SECRET_REF,
    storageos=_SECRET_REF,
)

_NODE = fields(
    metadata=METADATA,
    spec=fields(podCIDRs=MERGED_SET),
    status=fields(addresses=by("type"), conditions=CONDITIONS),
)

_SERVICE = fields(
    metadata=METADATA,
    spec=fields(ports=by("port", "protocol", protocol="TCP"), selector=WHOLE),
    status=STATUS,
)

_REPLICATION_CONTROLLER = fields(metadata=METADATA, spec=fields(selector=WHOLE, template=TEMPLATE), status=STATUS)

_PLAIN = fields(metadata=METADATA)

KINDS: Mapping[str, Place] = {
    "ConfigMap": _PLAIN,
    "Endpoints": _PLAIN,
    "Event": fields(metadata=METADATA, involvedObject=WHOLE, related=WHOLE),
    "LimitRange": _PLAIN,
    "Namespace": fields(metadata=METADATA, status=STATUS),
    "Node": _NODE,
    "PersistentVolume": fields(metadata=METADATA, spec=VOLUME_SPEC),
    "PersistentVolumeClaim": fields(metadata=METADATA, spec=CLAIM_SPEC, status=STATUS),
    "Pod": POD,
    "PodTemplate": fields(metadata=METADATA, template=TEMPLATE),
    "ReplicationController": _REPLICATION_CONTROLLER,
    "ResourceQuota": fields(metadata=METADATA, spec=fields(scopeSelector=WHOLE)),
    "Secret": _PLAIN,
    "Service": _SERVICE,
    "ServiceAccount": fields(metadata=METADATA, secrets=by("name", items=WHOLE)),
}
