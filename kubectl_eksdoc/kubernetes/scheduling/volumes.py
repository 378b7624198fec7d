"""VolumeBinding and VolumeZone: a pod can only go where its volumes can (plugins/volumebinding, plugins/volumezone).

Not modelled: whether a claim that waits for its first consumer finds a volume there, a claim that only one pod may
use (ReadWriteOncePod). How many volumes a node can attach is told in `attach_limits`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulerFilter, SchedulingRefusal
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placement import NodeTerm, any_matches
from kubectl_eksdoc.model.storage import Claim, CSINode, PersistentVolume, StorageClass, VolumeAttachment

WAITS = "WaitForFirstConsumer"
_BETA_TO_GA = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_PLACES = (*_BETA_TO_GA, *_BETA_TO_GA.values())

_AFFINITY = SchedulingRefusal(
    SchedulerFilter.VOLUME_BINDING, ("node(s) didn't match PersistentVolume's node affinity",)
)
_ZONE = SchedulingRefusal(SchedulerFilter.VOLUME_ZONE, ("node(s) had no available volume zone",))
_UNBOUND = SchedulingRefusal(SchedulerFilter.VOLUME_BINDING, ("pod has unbound immediate PersistentVolumeClaims",))


@dataclass(frozen=True, slots=True)
class Storage:
    """The claims, volumes and classes of a cluster by their keys; `known` is False where any was not read.

    `limits` (driver → volumes that can be attached) and `attachments` are by node, each None where it was not read;
    `limited` are the drivers that any node limits.
    """

    claims: Mapping[str, Claim]
    volumes: Mapping[str, PersistentVolume]
    classes: Mapping[str, StorageClass]
    known: bool = True
    limits: Mapping[str, Mapping[str, int]] | None = field(default_factory=dict)
    attachments: Mapping[str, Sequence[VolumeAttachment]] | None = field(default_factory=dict)
    limited: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        claims: Iterable[Claim],
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
    def observed(cls, cluster: Cluster) -> Storage:
        """All that was read of a cluster."""
        return cls.of(
            cluster.claims,
            cluster.volumes,
            cluster.storage_classes,
            not cluster.unread(kinds.CLAIMS, kinds.VOLUMES, kinds.STORAGE_CLASSES),
            None if cluster.unread(kinds.CSI_NODES) else cluster.csi_nodes,
            None if cluster.unread(kinds.VOLUME_ATTACHMENTS) else cluster.volume_attachments,
        )


def _by_node(attachments: Iterable[VolumeAttachment]) -> dict[str, list[VolumeAttachment]]:
    found: dict[str, list[VolumeAttachment]] = defaultdict(list)
    for attachment in attachments:
        found[attachment.node].append(attachment)
    return dict(found)


EMPTY = Storage({}, {}, {})


@dataclass(frozen=True, slots=True)
class VolumeDemand:
    """What a pod's bound volumes ask of a node: each of `terms` and of `zones`; `never` refuses every node."""

    terms: tuple[tuple[NodeTerm, ...], ...] = ()
    zones: tuple[tuple[str, frozenset[str]], ...] = ()
    never: SchedulingRefusal | None = None


NO_VOLUMES = VolumeDemand()


def demand(namespace: str, claims: Sequence[str], storage: Storage) -> VolumeDemand:
    """Of a pod that uses the claims of those names."""
    if not claims:
        return NO_VOLUMES
    terms: list[tuple[NodeTerm, ...]] = []
    zones: list[tuple[str, frozenset[str]]] = []
    for name in claims:
        claim = storage.claims.get(f"{namespace}/{name}")
        if claim is None:
            return _never(SchedulerFilter.VOLUME_BINDING, f'persistentvolumeclaim "{name}" not found')
        volume = storage.volumes.get(claim.volume)
        if volume is not None:
            if volume.terms is not None:
                terms.append(volume.terms)
            zones += zones_of(volume)
        elif claim.volume:
            return _never(SchedulerFilter.VOLUME_BINDING, f'persistentvolume "{claim.volume}" not found')
        else:
            held = unbound(claim, storage)
            if held is not None:
                return VolumeDemand(never=held)
    return VolumeDemand(tuple(terms), tuple(zones))


def zones_of(volume: PersistentVolume) -> list[tuple[str, frozenset[str]]]:
    """The zones and regions its labels allow; a label with an empty alternative is passed over, as upstream does."""
    parsed = [(label, frozenset(text.strip() for text in value.split("__"))) for label, value in volume.zone_labels]
    return [(label, allowed) for label, allowed in parsed if "" not in allowed]


def unbound(claim: Claim, storage: Storage) -> SchedulingRefusal | None:
    """Why a claim without a volume holds its pod back (VolumeBinding); None where it waits for the pod to be placed."""
    found = storage.classes.get(claim.storage_class)
    return None if found is not None and found.binding_mode == WAITS else _UNBOUND


def refusal(asked: VolumeDemand, node: Node) -> SchedulingRefusal | None:
    if asked.never is not None:
        return asked.never
    if not all(any_matches(terms, node.name, node.labels) for terms in asked.terms):
        return _AFFINITY
    return zone_refusal(asked, node)


def zone_refusal(asked: VolumeDemand, node: Node) -> SchedulingRefusal | None:
    """A node without any label of a place is taken to be everywhere."""
    if not asked.zones or not any(label in node.labels for label in _PLACES):
        return None
    for label, allowed in asked.zones:
        value = node.labels.get(label, node.labels.get(_BETA_TO_GA.get(label, label)))
        if value is None or value not in allowed:
            return _ZONE
    return None


def _never(by: SchedulerFilter, reason: str) -> VolumeDemand:
    return VolumeDemand(never=SchedulingRefusal(by, (reason,)))
