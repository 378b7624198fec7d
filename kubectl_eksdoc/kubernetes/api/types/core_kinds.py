"""The kinds of the core group that are not pods (k8s.io/api/core/v1)."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.kubernetes.api.places import MERGED_SET, WHOLE, Place, by, fields
from kubectl_eksdoc.kubernetes.api.types.metadata import CONDITIONS, STATUS, kind
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

_NODE = kind(
    spec=fields(podCIDRs=MERGED_SET),
    status=fields(addresses=by("type"), conditions=CONDITIONS),
)

_SERVICE = kind(
    spec=fields(ports=by("port", "protocol", protocol="TCP"), selector=WHOLE),
    status=STATUS,
)

_REPLICATION_CONTROLLER = kind(spec=fields(selector=WHOLE, template=TEMPLATE), status=STATUS)

KINDS: Mapping[str, Place] = {
    "Event": kind(involvedObject=WHOLE, related=WHOLE),
    "Namespace": kind(status=STATUS),
    "Node": _NODE,
    "PersistentVolume": kind(spec=VOLUME_SPEC),
    "PersistentVolumeClaim": kind(spec=CLAIM_SPEC, status=STATUS),
    "Pod": POD,
    "PodTemplate": kind(template=TEMPLATE),
    "ReplicationController": _REPLICATION_CONTROLLER,
    "ResourceQuota": kind(spec=fields(scopeSelector=WHOLE)),
    "Service": _SERVICE,
    "ServiceAccount": kind(secrets=by("name", items=WHOLE)),
}
