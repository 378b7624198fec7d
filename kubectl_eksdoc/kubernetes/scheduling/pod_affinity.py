"""InterPodAffinity: required affinity and anti-affinity, in both directions (plugins/interpodaffinity/filtering.go)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.nodes import Node, Pod, Toleration, VolumeKind
from kubectl_eksdoc.model.placing import Placement, PodTerm
from kubectl_eksdoc.model.selectors import Labels, Requirement, Selector

from .refusals import NodeFilter, SchedulerFilter, SchedulingRefusal
from .spread import Limit, PodCounter, PodGroup
from .volumes import AttachDemand, VolumeDemand

_AFFINITY = SchedulingRefusal(SchedulerFilter.INTER_POD_AFFINITY, ("node(s) didn't match pod affinity rules",))
_ANTI_AFFINITY = SchedulingRefusal(
    SchedulerFilter.INTER_POD_AFFINITY, ("node(s) didn't match pod anti-affinity rules",), resolvable=True
)
_EXISTING = SchedulingRefusal(
    SchedulerFilter.INTER_POD_AFFINITY, ("node(s) didn't satisfy existing pods anti-affinity rules",), resolvable=True
)

Resolved = tuple[str, frozenset[str], Selector | None, Selector]
"""A term as one pod means it: topology key, namespaces, namespace selector, label selector."""


def resolved(term: PodTerm, namespace: str, labels: Labels) -> Resolved:
    """`term` of a pod with that namespace and those labels."""
    own = frozenset((namespace,)) if not term.namespaces and term.namespace_selector is None else frozenset()
    more = tuple(Requirement(key, "In", (labels[key],)) for key in term.match_keys if key in labels)
    less = tuple(Requirement(key, "NotIn", (labels[key],)) for key in term.mismatch_keys if key in labels)
    chosen = Selector(term.selector.requirements + more + less, term.selector.valid) if more or less else term.selector
    return term.topology_key, own | frozenset(term.namespaces), term.namespace_selector, chosen


class AntiAffinityTerm:
    """One anti-affinity term that pods hold: where the pods are that it means, and where those that hold it."""

    __slots__ = ("group", "holders", "key", "meant")

    def __init__(self, key: str, group: PodGroup) -> None:
        self.key = key
        self.group = group
        self.meant: dict[str, int] = {}  # by the value of the topology key
        self.holders: dict[str, int] = {}

    @property
    def groups(self) -> tuple[PodGroup, ...]:
        return (self.group,)

    def matches(self, namespace: str, labels: Labels) -> bool:
        return self.group.matches(namespace, labels)

    def count(self, node: Node, count: int) -> None:
        """`count` pods more that it means, or fewer."""
        _count(self.meant, node.labels.get(self.key), count)

    def hold(self, node: Node, count: int) -> None:
        """`count` pods more that have the term, or fewer."""
        _count(self.holders, node.labels.get(self.key), count)


class PodAffinityTerms:
    """All required affinity terms of a pod: a pod counts that every one of them means, by each term's key."""

    __slots__ = ("groups", "keys", "places")

    def __init__(self, keys: tuple[str, ...], groups: tuple[PodGroup, ...]) -> None:
        self.keys = keys
        self.groups = groups
        self.places: dict[str, dict[str, int]] = {key: {} for key in keys}

    def matches(self, namespace: str, labels: Labels) -> bool:
        return all(group.matches(namespace, labels) for group in self.groups)

    @property
    def group(self) -> PodGroup:
        """One that every pod in the company is in."""
        return self.groups[0]

    def count(self, node: Node, count: int) -> None:
        for key, places in self.places.items():
            _count(places, node.labels.get(key), count)

    def near(self, labels: Labels, counts_itself: bool) -> bool:
        """Whether a node with those labels has the company; the first pod of a group may be alone."""
        if not all(key in labels for key in self.keys):
            return False
        if all(labels[key] in self.places[key] for key in self.keys):
            return True
        return counts_itself and not any(self.places.values())


def refusal(
    labels: Labels,
    company: PodAffinityTerms | None,
    counts_itself: bool,
    own: Sequence[AntiAffinityTerm],
    meaning: Sequence[AntiAffinityTerm],
) -> SchedulingRefusal | None:
    """Of a node with those labels for a pod with `company` and its `own` anti-affinity terms.

    `counts_itself`: the pod is one that its own affinity terms mean. `meaning`: the terms that mean the pod.
    """
    if company is not None and not company.near(labels, counts_itself):
        return _AFFINITY
    if any(labels.get(term.key) in term.meant for term in own):
        return _ANTI_AFFINITY
    if any(labels.get(term.key) in term.holders for term in meaning):
        return _EXISTING
    return None


def _count(places: dict[str, int], value: str | None, count: int) -> None:
    """Only places with pods stay; a node without the topology key is no place."""
    if value is None:
        return
    held = places.get(value, 0) + count
    if held:
        places[value] = held
    else:
        del places[value]


# Pods that the scheduler cannot tell apart: replicas, mostly. What is decided for one is decided for all.


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


@frozen(eq=False)
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
