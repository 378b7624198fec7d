"""Pods that the scheduler cannot tell apart: replicas, mostly. What is decided for one is decided for all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from kubectl_eksdoc.kubernetes.scheduling.attach_limits import AttachDemand
from kubectl_eksdoc.kubernetes.scheduling.fences import NodeFilter
from kubectl_eksdoc.kubernetes.scheduling.pod_affinity import AntiAffinityTerm, PodAffinityTerms
from kubectl_eksdoc.kubernetes.scheduling.spread import Limit
from kubectl_eksdoc.kubernetes.scheduling.volumes import VolumeDemand
from kubectl_eksdoc.kubernetes.scheduling.watchers import PodCounter
from kubectl_eksdoc.model.placement import Placement
from kubectl_eksdoc.model.pods import Pod, Toleration, VolumeKind
from kubectl_eksdoc.model.selectors import Labels


class SchedulingTraits(NamedTuple):
    """All by which the scheduler tells pods apart. `leaving`: being deleted, and so not counted for spread.

    `disks` are ids of EBS volumes that the pod names itself; `new` the drivers of which each such pod gets a volume
    of its own, one entry for each.
    """

    namespace: str
    labels: tuple[tuple[str, str], ...]
    placement: Placement
    tolerations: tuple[Toleration, ...]
    claims: tuple[str, ...]
    leaving: bool
    disks: tuple[str, ...] = ()
    new: tuple[str, ...] = ()

    @classmethod
    def of(cls, pod: Pod) -> SchedulingTraits:
        """Of the pod as it is."""
        claims = tuple(v.detail for v in pod.volumes if v.has_claim) if pod.volumes else ()
        return cls._of(pod, claims, pod.deleting)

    @classmethod
    def of_successor(cls, pod: Pod, new: tuple[str, ...] = ()) -> SchedulingTraits:
        """Of the pod that takes its place: not being deleted, and with `new` for the claims made for the old one."""
        claims = tuple(v.detail for v in pod.volumes if v.kind is VolumeKind.CLAIM) if pod.volumes else ()
        return cls._of(pod, claims, False, new)

    @classmethod
    def _of(cls, pod: Pod, claims: tuple[str, ...], leaving: bool, new: tuple[str, ...] = ()) -> SchedulingTraits:
        labels = tuple(sorted(pod.labels.items()))
        disks = tuple(v.detail for v in pod.volumes if v.kind is VolumeKind.AWS_EBS) if pod.volumes else ()
        return cls(pod.namespace, labels, pod.placement, pod.tolerations, claims, leaving, disks, new)


@dataclass(frozen=True, slots=True, eq=False)
class PodClass:
    """One kind of pod in one `Occupancy`: its demands, resolved, and the counts it is part of.

    `attaches` is None where it attaches no volume; `takes_more` says whether it takes more of its node than room: ports
    or volumes. Most do not, and are asked about often.

    `company`, `own` and `limits` are what it asks of other pods; `meaning` the anti-affinity terms, its own and
    others', that mean it; `watchers` every count it belongs to. `unknown` is what of the pod itself makes a verdict
    uncertain. `on` is how many of it are on each node. The lists grow when pods with new terms appear.
    """

    namespace: str
    labels: Labels
    placement: Placement
    leaving: bool
    fence: NodeFilter
    volumes: VolumeDemand
    attaches: AttachDemand | None = None
    takes_more: bool = False
    unknown: tuple[str, ...] = ()
    company: PodAffinityTerms | None = None
    counts_itself: bool = False
    own: tuple[AntiAffinityTerm, ...] = ()
    limits: tuple[Limit, ...] = ()
    meaning: list[AntiAffinityTerm] = field(default_factory=list)
    watchers: list[PodCounter] = field(default_factory=list)
    on: dict[str, int] = field(default_factory=dict)

    @property
    def counted(self) -> bool:
        """Whether it matters to others, or to its node's devices, that it is there, and not just its room."""
        return bool(self.watchers or self.own or self.takes_more)

    @property
    def alone(self) -> bool:
        """Whether nothing but room decides, once the node itself is right."""
        return not (self.meaning or self.own or self.limits or self.takes_more or self.company)
