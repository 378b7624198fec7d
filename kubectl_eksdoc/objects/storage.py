"""PersistentVolumes, claims and storage classes."""

from __future__ import annotations

from datetime import datetime

import msgspec

from kubectl_eksdoc.core.model.storage import Claim, PersistentVolume, StorageClass
from kubectl_eksdoc.objects.affinity import NodeSelector, Term, node_terms
from kubectl_eksdoc.objects.sharing import Sharing
from kubectl_eksdoc.objects.structs import Expression, Lean, Meta, Object

HOSTNAME = "kubernetes.io/hostname"
ZONES = frozenset(
    {
        "topology.kubernetes.io/zone",
        "topology.ebs.csi.aws.com/zone",
        "failure-domain.beta.kubernetes.io/zone",
    }
)
IN_TREE_EBS = "kubernetes.io/aws-ebs"


class Driver(Lean):
    driver: str | None = None


class Present(Lean):
    """A volume source of which only its presence counts."""


class VolumeAffinity(Lean):
    required: NodeSelector | None = None


class VolumeSpec(Lean):
    csi: Driver | None = None
    local: Present | None = None
    host_path: Present | None = None
    aws_elastic_block_store: Present | None = None
    node_affinity: VolumeAffinity | None = None
    storage_class_name: str | None = None


ZONE_LABELS = {
    "topology.kubernetes.io/zone": "zone",
    "topology.kubernetes.io/region": "region",
    "failure-domain.beta.kubernetes.io/zone": "beta_zone",
    "failure-domain.beta.kubernetes.io/region": "beta_region",
}


class VolumeLabels(Lean, rename={field: label for label, field in ZONE_LABELS.items()}):
    """The labels of a volume that say where it is (kubernetes/pkg/scheduler/framework/plugins/volumezone)."""

    zone: str | None = None
    region: str | None = None
    beta_zone: str | None = None
    beta_region: str | None = None


class VolumeMeta(Meta):
    labels: VolumeLabels | None = None  # type: ignore[assignment]


class VolumeObject(Object):
    metadata: VolumeMeta | None = None
    spec: VolumeSpec | None = None


class ClaimAnnotations(Lean):
    legacy_class: str | None = msgspec.field(default=None, name="volume.beta.kubernetes.io/storage-class")


class ClaimMeta(Meta):
    annotations: ClaimAnnotations | None = None


class ClaimSpec(Lean):
    volume_name: str | None = None
    storage_class_name: str | None = None


class ClaimStatus(Lean):
    phase: str | None = None


class ClaimObject(Object):
    metadata: ClaimMeta | None = None
    spec: ClaimSpec | None = None
    status: ClaimStatus | None = None


class StorageClassObject(Object):
    provisioner: str | None = None
    volume_binding_mode: str | None = None


def volume(given: VolumeObject, share: Sharing) -> tuple[PersistentVolume, datetime | None]:
    """The fact, and the newest time the object tells.

    Local is also a volume whose every node selector term names hosts: topolvm and its kin are CSI drivers.
    """
    meta, spec = given.metadata or VolumeMeta(), given.spec or VolumeSpec()
    labels = meta.labels or VolumeLabels()
    required = spec.node_affinity.required if spec.node_affinity else None
    terms = (required.node_selector_terms if required else None) or []
    driver = spec.csi.driver if spec.csi else IN_TREE_EBS if spec.aws_elastic_block_store else None
    per_term = [_hostnames(t) for t in terms]
    fact = PersistentVolume(
        name=share.text(meta.name),
        uid=meta.uid or "",
        local=spec.local is not None or spec.host_path is not None or (bool(terms) and all(per_term)),
        hostnames=_united(per_term, share),
        zones=_united([_values(t.match_expressions, ZONES) for t in terms], share),
        driver=share.text(driver),
        storage_class=share.text(spec.storage_class_name),
        terms=node_terms(required, share),
        zone_labels=tuple(
            (label, value) for label, field in ZONE_LABELS.items() if (value := getattr(labels, field)) is not None
        ),
    )
    return fact, meta.creation_timestamp


def _hostnames(term: Term) -> list[str]:
    by_label = _values(term.match_expressions, frozenset({HOSTNAME}))
    return by_label + _values(term.match_fields, frozenset({"metadata.name"}))


def _values(expressions: list[Expression] | None, keys: frozenset[str]) -> list[str]:
    return [v for e in expressions or () if e.key in keys and e.operator == "In" for v in e.values or ()]


def _united(per_term: list[list[str]], share: Sharing) -> tuple[str, ...]:
    return tuple(sorted({share.text(value) for values in per_term for value in values}))


def claim(given: ClaimObject, share: Sharing) -> tuple[Claim, datetime | None]:
    """The fact, and the newest time the object tells. A volumeName alone is a wish, the phase says Bound."""
    meta, spec, status = given.metadata or ClaimMeta(), given.spec or ClaimSpec(), given.status or ClaimStatus()
    legacy = meta.annotations.legacy_class if meta.annotations else None
    fact = Claim(
        namespace=share.text(meta.namespace),
        name=share.text(meta.name),
        volume=share.text(spec.volume_name) if status.phase == "Bound" else "",
        storage_class=share.text(legacy if spec.storage_class_name is None else spec.storage_class_name),
    )
    return fact, meta.creation_timestamp


def storage_class(given: StorageClassObject, share: Sharing) -> tuple[StorageClass, datetime | None]:
    """The fact, and the newest time the object tells. Absent volumeBindingMode means Immediate."""
    meta = given.metadata or Meta()
    mode = share.text(given.volume_binding_mode) or "Immediate"
    return StorageClass(share.text(meta.name), share.text(given.provisioner), mode), meta.creation_timestamp
