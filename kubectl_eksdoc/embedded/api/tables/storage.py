"""Volumes, claims, storage classes, and what the CSI keeps about nodes and attachments."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.embedded.api.tables.ages import age
from kubectl_eksdoc.embedded.api.tables.columns import AGE, NAME, Cells, Column, Printer, boolean, integer, wide
from kubectl_eksdoc.embedded.api.tables.fields import going, listed, mapped, name, text
from kubectl_eksdoc.embedded.api.tables.label_text import NONE

_UNSET = "<unset>"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _modes(found: list[str]) -> str:
    """Always in the order of the table above, and each once (``helper.GetAccessModesAsString``)."""
    return ",".join(short for mode, short in _MODES.items() if mode in found)


def _class(document: Doc) -> str:
    """The storage class of a volume or claim; the old annotation goes before the field."""
    annotated: str | None = mapped(document, "metadata", "annotations").get(_BETA_CLASS)
    return text(document, "spec", "storageClassName") if annotated is None else annotated


def _phase(document: Doc) -> str:
    return "Terminating" if going(document) else text(document, "status", "phase")


def _volume(volume: Doc, now: datetime) -> Cells:
    claim = at(volume, "spec", "claimRef")
    return [
        name(volume),
        text(volume, "spec", "capacity", "storage") or "0",
        _modes(listed(volume, "spec", "accessModes")),
        text(volume, "spec", "persistentVolumeReclaimPolicy"),
        _phase(volume),
        "" if claim is None else f"{text(claim, 'namespace')}/{text(claim, 'name')}",
        _class(volume),
        text(volume, "spec", "volumeAttributesClassName") or _UNSET,
        text(volume, "status", "reason"),
        age(volume, now),
        text(volume, "spec", "volumeMode") or _UNSET,
    ]


def _claim(claim: Doc, now: datetime) -> Cells:
    bound = text(claim, "spec", "volumeName")
    return [
        name(claim),
        _phase(claim),
        bound,
        (text(claim, "status", "capacity", "storage") or "0") if bound else "",
        _modes(listed(claim, "status", "accessModes")) if bound else "",
        _class(claim),
        text(claim, "spec", "volumeAttributesClassName") or _UNSET,
        age(claim, now),
        text(claim, "spec", "volumeMode") or _UNSET,
    ]


def _storage_class(storage_class: Doc, now: datetime) -> Cells:
    """Every class that is annotated as the default is marked; later servers mark the one that is used."""
    annotations = mapped(storage_class, "metadata", "annotations")
    default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return [
        f"{name(storage_class)} (default)" if default else name(storage_class),
        text(storage_class, "provisioner"),
        text(storage_class, "reclaimPolicy") or "Delete",
        text(storage_class, "volumeBindingMode") or "Immediate",
        bool(storage_class.get("allowVolumeExpansion")),
        age(storage_class, now),
    ]


def _csi_node(csi_node: Doc, now: datetime) -> Cells:
    return [name(csi_node), len(listed(csi_node, "spec", "drivers")), age(csi_node, now)]


def _csi_driver(driver: Doc, now: datetime) -> Cells:
    attach, requests = at(driver, "spec", "attachRequired"), at(driver, "spec", "tokenRequests")
    return [
        name(driver),
        True if attach is None else attach,
        bool(at(driver, "spec", "podInfoOnMount")),
        bool(at(driver, "spec", "storageCapacity")),
        _UNSET if requests is None else ",".join(text(one, "audience") for one in requests),
        bool(at(driver, "spec", "requiresRepublish")),
        ",".join(listed(driver, "spec", "volumeLifecycleModes")) or NONE,
        age(driver, now),
    ]


def _attachment(attachment: Doc, now: datetime) -> Cells:
    return [
        name(attachment),
        text(attachment, "spec", "attacher"),
        text(attachment, "spec", "source", "persistentVolumeName"),
        text(attachment, "spec", "nodeName"),
        bool(at(attachment, "status", "attached")),
        age(attachment, now),
    ]


_CLASS = Column("StorageClass", "Its storage class")
_ATTRIBUTES = Column("VolumeAttributesClass", "Its volume attributes class")
_VOLUME_MODE = wide("VolumeMode", "Whether it is a file system or a block device")
_ACCESS_MODES = Column("Access Modes", "How nodes may mount it")

VOLUMES = Printer(
    (
        NAME,
        Column("Capacity", "How much it holds"),
        _ACCESS_MODES,
        Column("Reclaim Policy", "What becomes of it when its claim goes"),
        Column("Status", "Whether it is bound, available, released or failed"),
        Column("Claim", "The claim it is bound to"),
        _CLASS,
        _ATTRIBUTES,
        Column("Reason", "Why it failed"),
        AGE,
        _VOLUME_MODE,
    ),
    _volume,
)
CLAIMS = Printer(
    (
        NAME,
        Column("Status", "Whether it is bound, pending or lost"),
        Column("Volume", "The volume it is bound to"),
        Column("Capacity", "How much that holds"),
        _ACCESS_MODES,
        _CLASS,
        _ATTRIBUTES,
        AGE,
        _VOLUME_MODE,
    ),
    _claim,
)
STORAGE_CLASSES = Printer(
    (
        NAME,
        Column("Provisioner", "Who makes its volumes"),
        Column("ReclaimPolicy", "What becomes of a volume when its claim goes"),
        Column("VolumeBindingMode", "When volumes are made and bound"),
        Column("AllowVolumeExpansion", "Whether its volumes can grow"),
        AGE,
    ),
    _storage_class,
)
CSI_NODES = Printer((NAME, integer("Drivers", "How many CSI drivers the node has"), AGE), _csi_node)
CSI_DRIVERS = Printer(
    (
        NAME,
        boolean("AttachRequired", "Whether volumes must be attached"),
        boolean("PodInfoOnMount", "Whether the driver is told about the pod"),
        boolean("StorageCapacity", "Whether the driver reports what is left"),
        Column("TokenRequests", "The audiences of the tokens the driver gets"),
        boolean("RequiresRepublish", "Whether volumes are published again and again"),
        Column("Modes", "The kinds of volumes the driver makes"),
        AGE,
    ),
    _csi_driver,
)
VOLUME_ATTACHMENTS = Printer(
    (
        NAME,
        Column("Attacher", "Which driver attaches the volume", format="name"),
        Column("PV", "The volume"),
        Column("Node", "The node it is attached to"),
        boolean("Attached", "Whether it is attached"),
        AGE,
    ),
    _attachment,
)
