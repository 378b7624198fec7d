"""Decoder of PersistentVolumes, claims, StorageClasses, CSINodes and VolumeAttachments."""

from __future__ import annotations

import msgspec

from kubectl_eksdoc.model.nodes import HOSTNAME
from kubectl_eksdoc.model.placement import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

from .placement import AffinityTerm, NodeSelector, build_node_terms
from .pods import SharedValues
from .structs import LeanStruct, MatchExpression, ObjectMeta, ObjectStruct

ZONES = frozenset(
    {
        "topology.kubernetes.io/zone",
        "topology.ebs.csi.aws.com/zone",
        "failure-domain.beta.kubernetes.io/zone",
    }
)
IN_TREE_EBS = "kubernetes.io/aws-ebs"


class Driver(LeanStruct):
    driver: str | None = None
    volume_handle: str | None = None


class EbsDisk(LeanStruct):
    volume_id: str | None = msgspec.field(default=None, name="volumeID")


class _Present(LeanStruct):
    """A volume source of which only the presence counts."""


class VolumeAffinity(LeanStruct):
    required: NodeSelector | None = None


class VolumeSpec(LeanStruct):
    csi: Driver | None = None
    local: _Present | None = None
    host_path: _Present | None = None
    aws_elastic_block_store: EbsDisk | None = None
    node_affinity: VolumeAffinity | None = None
    storage_class_name: str | None = None


ZONE_LABELS = {
    "topology.kubernetes.io/zone": "zone",
    "topology.kubernetes.io/region": "region",
    "failure-domain.beta.kubernetes.io/zone": "beta_zone",
    "failure-domain.beta.kubernetes.io/region": "beta_region",
}


class VolumeLabels(LeanStruct, rename={field: label for label, field in ZONE_LABELS.items()}):
    """The labels of a volume that name its zone or region (kubernetes/pkg/scheduler/framework/plugins/volumezone)."""

    zone: str | None = None
    region: str | None = None
    beta_zone: str | None = None
    beta_region: str | None = None


class VolumeMeta(ObjectMeta):
    labels: VolumeLabels | None = None  # type: ignore[assignment]


class VolumeObject(ObjectStruct):
    metadata: VolumeMeta | None = None
    spec: VolumeSpec | None = None


class ClaimAnnotations(LeanStruct):
    legacy_class: str | None = msgspec.field(default=None, name="volume.beta.kubernetes.io/storage-class")


class ClaimMeta(ObjectMeta):
    annotations: ClaimAnnotations | None = None


class _ClaimSpec(LeanStruct):
    volume_name: str | None = None
    storage_class_name: str | None = None
    access_modes: list[str] | None = None


class ClaimStatus(LeanStruct):
    phase: str | None = None


class ClaimObject(ObjectStruct):
    metadata: ClaimMeta | None = None
    spec: _ClaimSpec | None = None
    status: ClaimStatus | None = None


class StorageClassObject(ObjectStruct):
    provisioner: str | None = None
    volume_binding_mode: str | None = None


class Allocatable(LeanStruct):
    count: int | None = None


class NodeDriver(LeanStruct):
    name: str | None = None
    allocatable: Allocatable | None = None


class CSINodeSpec(LeanStruct):
    drivers: list[NodeDriver] | None = None


class CSINodeObject(ObjectStruct):
    spec: CSINodeSpec | None = None


class AttachmentSource(LeanStruct):
    persistent_volume_name: str | None = None


class AttachmentSpec(LeanStruct):
    attacher: str | None = None
    node_name: str | None = None
    source: AttachmentSource | None = None


class AttachmentObject(ObjectStruct):
    spec: AttachmentSpec | None = None


def volume(struct: VolumeObject, share: SharedValues) -> PersistentVolume:
    """Build the `PersistentVolume` fact.

    A volume is also local if every node selector term names hosts: topolvm and similar projects are CSI drivers.
    """
    meta, spec = struct.metadata or VolumeMeta(), struct.spec or VolumeSpec()
    labels = meta.labels or VolumeLabels()
    required = spec.node_affinity.required if spec.node_affinity else None
    terms = (required.node_selector_terms if required else None) or []
    driver, handle = _driver_and_handle(spec)
    per_term = [_hostnames(t) for t in terms]
    return PersistentVolume(
        name=share.text(meta.name),
        uid=meta.uid or "",
        local=spec.local is not None or spec.host_path is not None or (bool(terms) and all(per_term)),
        hostnames=_sorted_union(per_term, share),
        zones=_sorted_union([_in_values(t.match_expressions, ZONES) for t in terms], share),
        driver=share.text(driver),
        storage_class=share.text(spec.storage_class_name),
        terms=build_node_terms(required, share),
        zone_labels=tuple(
            (label, value) for label, field in ZONE_LABELS.items() if (value := getattr(labels, field)) is not None
        ),
        handle=handle or "",
    )


def _driver_and_handle(spec: VolumeSpec) -> tuple[str | None, str | None]:
    if spec.csi is not None:
        return spec.csi.driver, spec.csi.volume_handle
    if spec.aws_elastic_block_store is not None:
        return IN_TREE_EBS, spec.aws_elastic_block_store.volume_id
    return None, None


def _hostnames(term: AffinityTerm) -> list[str]:
    by_label = _in_values(term.match_expressions, frozenset({HOSTNAME}))
    return by_label + _in_values(term.match_fields, frozenset({"metadata.name"}))


def _in_values(expressions: list[MatchExpression] | None, keys: frozenset[str]) -> list[str]:
    return [v for e in expressions or () if e.key in keys and e.operator == "In" for v in e.values or ()]


def _sorted_union(per_term: list[list[str]], share: SharedValues) -> tuple[str, ...]:
    return tuple(sorted({share.text(value) for values in per_term for value in values}))


_SHARED_ACCESS_MODES = frozenset(("ReadWriteMany", "ReadOnlyMany"))


def claim(struct: ClaimObject, share: SharedValues) -> PersistentVolumeClaim:
    """Build the `PersistentVolumeClaim` fact. volumeName alone is only a request; the phase must be Bound."""
    meta, spec, status = struct.metadata or ClaimMeta(), struct.spec or _ClaimSpec(), struct.status or ClaimStatus()
    legacy = meta.annotations.legacy_class if meta.annotations else None
    return PersistentVolumeClaim(
        namespace=share.text(meta.namespace),
        name=share.text(meta.name),
        volume=share.text(spec.volume_name) if status.phase == "Bound" else "",
        storage_class=share.text(legacy if spec.storage_class_name is None else spec.storage_class_name),
        shared=not _SHARED_ACCESS_MODES.isdisjoint(spec.access_modes or ()),
    )


def storage_class(struct: StorageClassObject, share: SharedValues) -> StorageClass:
    """Build the `StorageClass` fact. A missing volumeBindingMode means Immediate."""
    meta = struct.metadata or ObjectMeta()
    mode = share.text(struct.volume_binding_mode) or "Immediate"
    return StorageClass(share.text(meta.name), share.text(struct.provisioner), mode)


def csi_node(struct: CSINodeObject, share: SharedValues) -> CSINode:
    """Build the `CSINode` fact. A driver without a count has no limit; 0 is a limit."""
    meta, spec = struct.metadata or ObjectMeta(), struct.spec or CSINodeSpec()
    limits = tuple(
        (share.text(driver.name), driver.allocatable.count)
        for driver in spec.drivers or ()
        if driver.allocatable is not None and driver.allocatable.count is not None
    )
    return CSINode(share.text(meta.name), limits)


def volume_attachment(struct: AttachmentObject, share: SharedValues) -> VolumeAttachment:
    """Build the `VolumeAttachment` fact."""
    meta, spec = struct.metadata or ObjectMeta(), struct.spec or AttachmentSpec()
    source = spec.source.persistent_volume_name if spec.source else None
    node, attacher, volume = share.text(spec.node_name), share.text(spec.attacher), share.text(source)
    return VolumeAttachment(meta.name or "", node, attacher, volume)
