"""Volumes and claims, as far as they decide where a pod can go."""

from __future__ import annotations

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.placing import NodeTerm


@frozen
class PersistentVolume:
    """`local`: its data lies on one node (a local or hostPath volume); `hostnames` are the nodes it names.

    `terms` is its required node affinity, None where it has none; `zone_labels` are its own labels that name a
    zone or region, with ``__`` between alternatives. `driver` is its CSI driver, or ``kubernetes.io/aws-ebs`` for an
    in-tree volume; `handle` what the driver calls it, as written.
    """

    name: str
    uid: str
    local: bool = False
    hostnames: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    driver: str = ""
    storage_class: str = ""
    terms: tuple[NodeTerm, ...] | None = None
    zone_labels: tuple[tuple[str, str], ...] = ()
    handle: str = ""


@frozen
class Claim:
    """`volume` is "" while the claim is not bound. `shared`: more than one node may use it at a time (one of its access
    modes is ReadWriteMany or ReadOnlyMany)."""

    namespace: str
    name: str
    volume: str = ""
    storage_class: str = ""
    shared: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@frozen
class StorageClass:
    name: str
    provisioner: str = ""
    binding_mode: str = "Immediate"


@frozen
class CSINode:
    """What the CSI drivers of a node say of it; it has the node's name.

    `limits` are (driver, how many of its volumes can be attached at a time); a driver without a limit is not there.
    """

    name: str
    limits: tuple[tuple[str, int], ...] = ()


@frozen
class VolumeAttachment:
    """That a volume is to be on a node; it is there until the volume is detached.

    `attacher` is the driver; `volume` the name of the PersistentVolume, "" for one that a pod holds inline.
    """

    name: str
    node: str
    attacher: str
    volume: str = ""
