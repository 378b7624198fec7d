"""VolumeBinding and VolumeZone: a pod fits only on nodes that its volumes allow (plugins/volumebinding,
plugins/volumezone).

Not modeled: whether a claim that waits for its first consumer finds a volume on the node, a claim that only one pod may
use (ReadWriteOncePod). Below: how many volumes a node can attach (plugins/nodevolumelimits).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, Pod, VolumeKind
from kubectl_eksdoc.model.placement import (
    CSINode,
    NodeTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    any_term_matches,
)

from .refusals import SchedulerFilter, SchedulingRefusal

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
_BETA_TO_GA = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_TOPOLOGY_LABELS = (*_BETA_TO_GA, *_BETA_TO_GA.values())

_AFFINITY = SchedulingRefusal(
    SchedulerFilter.VOLUME_BINDING, ("node(s) didn't match PersistentVolume's node affinity",)
)
_ZONE = SchedulingRefusal(SchedulerFilter.VOLUME_ZONE, ("node(s) had no available volume zone",))
_UNBOUND = SchedulingRefusal(SchedulerFilter.VOLUME_BINDING, ("pod has unbound immediate PersistentVolumeClaims",))


@frozen
class Storage:
    """The claims, volumes and classes of a cluster by their keys; `known` is False if any of them was not read.

    `limits` (driver → volumes that can be attached) and `attachments` are by node, each None if it was not read;
    `limited_drivers` are the drivers that any node limits.
    """

    claims: Mapping[str, PersistentVolumeClaim]
    volumes: Mapping[str, PersistentVolume]
    classes: Mapping[str, StorageClass]
    known: bool = True
    limits: Mapping[str, Mapping[str, int]] | None = field(default_factory=dict)
    attachments: Mapping[str, Sequence[VolumeAttachment]] | None = field(default_factory=dict)
    limited_drivers: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        claims: Iterable[PersistentVolumeClaim],
        volumes: Iterable[PersistentVolume],
        classes: Iterable[StorageClass],
        known: bool = True,
        csi_nodes: Iterable[CSINode] | None = (),
        attachments: Iterable[VolumeAttachment] | None = (),
    ) -> Storage:
        return cls(
            {c.key: c for c in claims},
            {v.name: v for v in volumes},
            {c.name: c for c in classes},
            known,
            None if csi_nodes is None else {node.name: dict(node.limits) for node in csi_nodes},
            None if attachments is None else _by_node(attachments),
            frozenset(driver for node in csi_nodes or () for driver, _ in node.limits),
        )

    @classmethod
    def of_cluster(cls, cluster: Cluster) -> Storage:
        """Everything that was read from a cluster."""
        return cls.of(
            cluster.claims,
            cluster.volumes,
            cluster.storage_classes,
            not cluster.not_read(kinds.CLAIMS, kinds.VOLUMES, kinds.STORAGE_CLASSES),
            None if cluster.not_read(kinds.CSI_NODES) else cluster.csi_nodes,
            None if cluster.not_read(kinds.VOLUME_ATTACHMENTS) else cluster.volume_attachments,
        )


def _by_node(attachments: Iterable[VolumeAttachment]) -> dict[str, list[VolumeAttachment]]:
    by_node: dict[str, list[VolumeAttachment]] = defaultdict(list)
    for attachment in attachments:
        by_node[attachment.node].append(attachment)
    return dict(by_node)


NO_STORAGE = Storage({}, {}, {})


class VolumeDemand(NamedTuple):
    """The requirements of a pod's bound volumes on a node: each of `terms` and of `zones`; `never` refuses
    every node."""

    terms: tuple[tuple[NodeTerm, ...], ...] = ()
    zones: tuple[tuple[str, frozenset[str]], ...] = ()
    never: SchedulingRefusal | None = None


NO_VOLUMES = VolumeDemand()


def volume_demand(namespace: str, claims: Sequence[str], storage: Storage) -> VolumeDemand:
    """The requirements of a pod that uses the claims of those names."""
    if not claims:
        return NO_VOLUMES
    terms: list[tuple[NodeTerm, ...]] = []
    zones: list[tuple[str, frozenset[str]]] = []
    for name in claims:
        claim = storage.claims.get(f"{namespace}/{name}")
        if claim is None:
            return _refuse_every_node(SchedulerFilter.VOLUME_BINDING, f'persistentvolumeclaim "{name}" not found')
        volume = storage.volumes.get(claim.volume)
        if volume is not None:
            if volume.terms is not None:
                terms.append(volume.terms)
            zones += allowed_zones(volume)
        elif claim.volume:
            return _refuse_every_node(SchedulerFilter.VOLUME_BINDING, f'persistentvolume "{claim.volume}" not found')
        else:
            unbound_refusal = unbound_claim_refusal(claim, storage)
            if unbound_refusal is not None:
                return VolumeDemand(never=unbound_refusal)
    return VolumeDemand(tuple(terms), tuple(zones))


def allowed_zones(volume: PersistentVolume) -> list[tuple[str, frozenset[str]]]:
    """The zones and regions its labels allow; a label with an empty alternative is skipped, as upstream does."""
    parsed = [(label, frozenset(text.strip() for text in value.split("__"))) for label, value in volume.zone_labels]
    return [(label, allowed) for label, allowed in parsed if "" not in allowed]


def unbound_claim_refusal(claim: PersistentVolumeClaim, storage: Storage) -> SchedulingRefusal | None:
    """Why a claim without a volume blocks its pod (VolumeBinding); None if it waits until the pod is scheduled."""
    storage_class = storage.classes.get(claim.storage_class)
    return None if storage_class is not None and storage_class.binding_mode == WAIT_FOR_FIRST_CONSUMER else _UNBOUND


def volume_refusal(volume_demand: VolumeDemand, node: Node) -> SchedulingRefusal | None:
    if volume_demand.never is not None:
        return volume_demand.never
    if not all(any_term_matches(terms, node.name, node.labels) for terms in volume_demand.terms):
        return _AFFINITY
    return zone_refusal(volume_demand, node)


def zone_refusal(volume_demand: VolumeDemand, node: Node) -> SchedulingRefusal | None:
    """A node without any topology label is accepted."""
    if not volume_demand.zones or not any(label in node.labels for label in _TOPOLOGY_LABELS):
        return None
    for label, allowed in volume_demand.zones:
        value = node.labels.get(label, node.labels.get(_BETA_TO_GA.get(label, label)))
        if value is None or value not in allowed:
            return _ZONE
    return None


def _refuse_every_node(by: SchedulerFilter, reason: str) -> VolumeDemand:
    return VolumeDemand(never=SchedulingRefusal(by, (reason,)))


# NodeVolumeLimits: a node attaches a limited number of volumes of each CSI driver (plugins/nodevolumelimits/csi.go).
#
# The limit is what the driver reported in the node's CSINode; without one there is no limit. A VolumeAttachment that
# belongs to no pod of the node counts as well, and upstream counts it even if a new pod uses that very volume.
#
# Not modeled: in-tree volumes of other clouds than AWS; nodes without the driver (VolumeLimitScaling, off in 1.36).


EBS_CSI_DRIVER = "ebs.csi.aws.com"
_CSI_DRIVER_BY_PLUGIN = {"kubernetes.io/aws-ebs": EBS_CSI_DRIVER}
"""In-tree plugin → the CSI driver that handles its volumes (csi-translation-lib); always, since 1.25."""

_FULL = SchedulingRefusal(SchedulerFilter.NODE_VOLUME_LIMITS, ("node(s) exceed max volume count",), resolvable=True)


@frozen
class AttachableVolume:
    """One volume that counts for the limit. `handle` is the driver's name for it, or namespace/name of a claim that is
    not bound yet (`is_unbound`)."""

    driver: str
    handle: str
    is_unbound: bool = False


@frozen
class AttachDemand:
    """The volumes that each pod of a class attaches: `shared` volumes count once for all pods of a node that use them;
    of `own` (driver, number) every pod has its own."""

    shared: tuple[AttachableVolume, ...] = ()
    own: tuple[tuple[str, int], ...] = ()

    @property
    def drivers(self) -> frozenset[str]:
        return frozenset((*(volume.driver for volume in self.shared), *(driver for driver, _ in self.own)))


class NodeVolumes:
    """The volumes of one node. `limits` and `taken` are by driver; a driver without a limit is not in `limits`."""

    __slots__ = ("_unused", "_users", "limits", "taken")

    def __init__(self, limits: Mapping[str, int], unused: Iterable[AttachableVolume] = ()) -> None:
        """`unused` are attached although no pod was put yet."""
        self.limits = limits
        self.taken: dict[str, int] = {}
        self._users: dict[AttachableVolume, int] = {}
        self._unused = set(unused)
        for volume in self._unused:
            self._count(volume.driver, 1)

    def take(self, attach_demand: AttachDemand, count: int = 1) -> None:
        """Add `count` pods; a negative number removes them. A volume stays attached until its last pod is removed."""
        for volume in attach_demand.shared:
            before = self._users.get(volume, 0)
            if before + count:
                self._users[volume] = before + count
            else:
                del self._users[volume]
            if volume not in self._unused and not (before and before + count):
                self._count(volume.driver, 1 if count > 0 else -1)
        for driver, number in attach_demand.own:
            self._count(driver, number * count)

    def release_unused(self) -> None:
        """Volumes that the current pods use are detached with them."""
        self._unused.difference_update(self._users)

    def has_room_for(self, attach_demand: AttachDemand) -> bool:
        """Check only the drivers of which the pod adds a volume: the others may be over their limit."""
        if not self.limits:
            return True
        added = Counter(volume.driver for volume in attach_demand.shared if volume not in self._users)
        for driver, number in attach_demand.own:
            added[driver] += number
        return all(
            self.taken.get(driver, 0) + number <= self.limits[driver]
            for driver, number in added.items()
            if driver in self.limits
        )

    def _count(self, driver: str, change: int) -> None:
        total = self.taken.get(driver, 0) + change
        if total:
            self.taken[driver] = total
        else:
            del self.taken[driver]


def attach_refusal(attach_demand: AttachDemand | None, attached: NodeVolumes) -> SchedulingRefusal | None:
    return None if attach_demand is None or attached.has_room_for(attach_demand) else _FULL


def node_volumes(name: str, storage: Storage, limits_of: str = "") -> NodeVolumes:
    """The volumes attached to the node of that name; its limits are those of the node called `limits_of`, if given."""
    limits = (storage.limits or {}).get(limits_of or name, {})
    unused = []
    for attachment in (storage.attachments or {}).get(name, ()):
        volume = storage.volumes.get(attachment.volume)
        # Upstream skips attachments of in-tree and of inline volumes: their pods count them.
        if volume is not None and volume.handle and attachment.attacher and volume.driver not in _CSI_DRIVER_BY_PLUGIN:
            unused.append(AttachableVolume(attachment.attacher, volume.handle))
    return NodeVolumes(limits, unused)


def attach_demand(
    namespace: str, claims: Sequence[str], disks: Sequence[str], new_drivers: Sequence[str], storage: Storage
) -> AttachDemand | None:
    """The volumes of a pod that uses the claims of those names and EBS volumes of those IDs, and gets a volume of each
    of the drivers `new_drivers`; None if it attaches nothing."""
    if not (claims or disks or new_drivers):
        return None
    existing_claims = (storage.claims.get(f"{namespace}/{name}") for name in claims)
    volumes_found = [_claim_volume(claim, storage) for claim in existing_claims if claim is not None]
    volumes_found += [AttachableVolume(EBS_CSI_DRIVER, handle) for handle in map(ebs_volume_id, disks) if handle]
    shared = tuple(dict.fromkeys(volume for volume in volumes_found if volume is not None))
    return AttachDemand(shared, tuple(sorted(Counter(new_drivers).items()))) if shared or new_drivers else None


def attach_uncertainties(demand: AttachDemand | None, storage: Storage) -> tuple[str, ...]:
    """Why it is not certain which nodes can attach the volumes; empty if everything that decides was read."""
    if demand is None:
        return ()
    if storage.limits is None:
        return ("how many volumes nodes can attach was not read (CSINodes)",)
    if storage.attachments is None and not storage.limited_drivers.isdisjoint(demand.drivers):
        return ("which volumes nodes have attached was not read (VolumeAttachments)",)
    return ()


def recreated_volume_drivers(pod: Pod, storage: Storage) -> tuple[str, ...]:
    """The drivers of the volumes that are created for the pod's replacement, like its own generic ephemeral volumes."""
    names = [v.detail for v in pod.volumes if v.kind is VolumeKind.EPHEMERAL]
    claims = [storage.claims.get(f"{pod.namespace}/{name}") for name in names]
    drivers = (_provisioner(claim, storage) for claim in claims if claim is not None)
    return tuple(sorted(driver for driver in drivers if driver))


def _claim_volume(claim: PersistentVolumeClaim, storage: Storage) -> AttachableVolume | None:
    """The volume of a claim; an unbound claim counts as the volume that its class will provision."""
    volume = storage.volumes.get(claim.volume)
    if volume is not None:
        migrated = _CSI_DRIVER_BY_PLUGIN.get(volume.driver)
        handle = ebs_volume_id(volume.handle) if migrated else volume.handle
        return AttachableVolume(migrated or volume.driver, handle) if volume.driver and handle else None
    driver = _provisioner(claim, storage)
    return AttachableVolume(driver, claim.key, is_unbound=True) if driver else None


def _provisioner(claim: PersistentVolumeClaim, storage: Storage) -> str:
    """The driver that provisions its volume, "" if it is not known: such a claim must be bound already."""
    storage_class = storage.classes.get(claim.storage_class)
    return (
        _CSI_DRIVER_BY_PLUGIN.get(storage_class.provisioner, storage_class.provisioner)
        if storage_class is not None
        else ""
    )


def ebs_volume_id(text: str) -> str:
    """``vol-1`` of ``aws://zone/vol-1``, "" if it names none (csi-translation-lib, plugins/aws_ebs.go)."""
    if not text.startswith("aws://"):
        return text
    volume_id = text.removeprefix("aws://").partition("/")[2].strip("/")
    return volume_id if volume_id.startswith("vol-") and "/" not in volume_id else ""
