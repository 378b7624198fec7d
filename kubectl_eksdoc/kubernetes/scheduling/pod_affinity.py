"""InterPodAffinity: required affinity and anti-affinity, in both directions (plugins/interpodaffinity/filtering.go)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.nodes import Node, Pod, Toleration, VolumeKind
from kubectl_eksdoc.model.placement import Placement, PodAffinityTerm
from kubectl_eksdoc.model.selectors import Labels, Requirement, Selector

from .refusals import NodeFilter, SchedulerFilter, SchedulingRefusal
from .spread import PodCounter, PodGroup, SpreadLimit
from .volumes import AttachDemand, VolumeDemand

_AFFINITY = SchedulingRefusal(SchedulerFilter.INTER_POD_AFFINITY, ("node(s) didn't match pod affinity rules",))
_ANTI_AFFINITY = SchedulingRefusal(
    SchedulerFilter.INTER_POD_AFFINITY, ("node(s) didn't match pod anti-affinity rules",), resolvable=True
)
_EXISTING = SchedulingRefusal(
    SchedulerFilter.INTER_POD_AFFINITY, ("node(s) didn't satisfy existing pods anti-affinity rules",), resolvable=True
)

ResolvedTerm = tuple[str, frozenset[str], Selector | None, Selector]
"""A term resolved for one pod: topology key, namespaces, namespace selector, label selector."""


def resolve_term(term: PodAffinityTerm, namespace: str, labels: Labels) -> ResolvedTerm:
    """Resolve `term` for a pod with that namespace and those labels."""
    own = frozenset((namespace,)) if not term.namespaces and term.namespace_selector is None else frozenset()
    match_requirements = tuple(Requirement(key, "In", (labels[key],)) for key in term.match_keys if key in labels)
    mismatch_requirements = tuple(
        Requirement(key, "NotIn", (labels[key],)) for key in term.mismatch_keys if key in labels
    )
    selector = (
        Selector(term.selector.requirements + match_requirements + mismatch_requirements, term.selector.valid)
        if match_requirements or mismatch_requirements
        else term.selector
    )
    return term.topology_key, own | frozenset(term.namespaces), term.namespace_selector, selector


class AntiAffinityTerm:
    """One anti-affinity term: the places of the pods that it matches, and of the pods that have the term."""

    __slots__ = ("group", "holders", "key", "matched")

    def __init__(self, key: str, group: PodGroup) -> None:
        self.key = key
        self.group = group
        self.matched: dict[str, int] = {}  # by the value of the topology key
        self.holders: dict[str, int] = {}

    @property
    def groups(self) -> tuple[PodGroup, ...]:
        return (self.group,)

    def matches(self, namespace: str, labels: Labels) -> bool:
        return self.group.matches(namespace, labels)

    def count(self, node: Node, count: int) -> None:
        """Add `count` pods that the term matches; a negative number removes them."""
        _count(self.matched, node.labels.get(self.key), count)

    def count_holder(self, node: Node, count: int) -> None:
        """Add `count` pods that have the term; a negative number removes them."""
        _count(self.holders, node.labels.get(self.key), count)


class PodAffinityTerms:
    """All required affinity terms of a pod. A pod counts if every term matches it, by each term's key."""

    __slots__ = ("groups", "keys", "places")

    def __init__(self, keys: tuple[str, ...], groups: tuple[PodGroup, ...]) -> None:
        self.keys = keys
        self.groups = groups
        self.places: dict[str, dict[str, int]] = {key: {} for key in keys}

    def matches(self, namespace: str, labels: Labels) -> bool:
        return all(group.matches(namespace, labels) for group in self.groups)

    @property
    def group(self) -> PodGroup:
        """A group that contains every matching pod."""
        return self.groups[0]

    def count(self, node: Node, count: int) -> None:
        for key, places in self.places.items():
            _count(places, node.labels.get(key), count)

    def is_satisfied(self, labels: Labels, counts_itself: bool) -> bool:
        """Whether a node with those labels satisfies the terms; the first pod of a group may be alone."""
        if not all(key in labels for key in self.keys):
            return False
        if all(labels[key] in self.places[key] for key in self.keys):
            return True
        return counts_itself and not any(self.places.values())


def pod_affinity_refusal(
    labels: Labels,
    affinity: PodAffinityTerms | None,
    counts_itself: bool,
    own_terms: Sequence[AntiAffinityTerm],
    matching_terms: Sequence[AntiAffinityTerm],
) -> SchedulingRefusal | None:
    """The refusal of a node with those labels, for a pod with these affinity terms and its own anti-affinity terms.

    `counts_itself`: the pod matches its own affinity terms. `matching_terms`: the anti-affinity terms that match the
    pod.
    """
    if affinity is not None and not affinity.is_satisfied(labels, counts_itself):
        return _AFFINITY
    if any(labels.get(term.key) in term.matched for term in own_terms):
        return _ANTI_AFFINITY
    if any(labels.get(term.key) in term.holders for term in matching_terms):
        return _EXISTING
    return None


def _count(places: dict[str, int], value: str | None, count: int) -> None:
    """Only places with pods are kept; a node without the topology key is no place."""
    if value is None:
        return
    total = places.get(value, 0) + count
    if total:
        places[value] = total
    else:
        del places[value]


# Pods that are equal for the scheduler: mostly replicas. A decision for one holds for all of them.


class SchedulingTraits(NamedTuple):
    """Everything by which the scheduler distinguishes pods. `deleting`: being deleted, and so not counted for topology
    spread.

    `disks` are IDs of EBS volumes that the pod names itself; `new_drivers` the drivers of the volumes that each such
    pod gets for itself, one entry for each volume.
    """

    namespace: str
    labels: tuple[tuple[str, str], ...]
    placement: Placement
    tolerations: tuple[Toleration, ...]
    claims: tuple[str, ...]
    deleting: bool
    disks: tuple[str, ...] = ()
    new_drivers: tuple[str, ...] = ()

    @classmethod
    def of(cls, pod: Pod) -> SchedulingTraits:
        """The traits of the pod itself."""
        claims = tuple(v.detail for v in pod.volumes if v.has_claim) if pod.volumes else ()
        return cls._build(pod, claims, pod.deleting)

    @classmethod
    def of_replacement(cls, pod: Pod, new_drivers: tuple[str, ...] = ()) -> SchedulingTraits:
        """The traits of its replacement: not being deleted, and with `new_drivers` instead of the ephemeral claims of
        the old pod."""
        claims = tuple(v.detail for v in pod.volumes if v.kind is VolumeKind.CLAIM) if pod.volumes else ()
        return cls._build(pod, claims, False, new_drivers)

    @classmethod
    def _build(
        cls, pod: Pod, claims: tuple[str, ...], deleting: bool, new_drivers: tuple[str, ...] = ()
    ) -> SchedulingTraits:
        labels = tuple(sorted(pod.labels.items()))
        disks = tuple(v.detail for v in pod.volumes if v.kind is VolumeKind.AWS_EBS) if pod.volumes else ()
        return cls(pod.namespace, labels, pod.placement, pod.tolerations, claims, deleting, disks, new_drivers)


@frozen(eq=False)
class PodClass:
    """One class of pods in one `Occupancy`: its requirements, resolved, and the counts it belongs to.

    `attaches` is None if it attaches no volume; `uses_ports_or_volumes`: it uses more of its node than room. Most
    classes do not, and are checked often.

    `affinity`, `anti_affinity` and `limits` are its requirements on other pods; `matching_terms` the anti-affinity
    terms, its own and others', that match it; `watchers` every count it belongs to. `uncertainties`: why a verdict on
    the pod itself is uncertain. `counts_by_node`: number of its pods on each node. The lists grow when pods with new
    terms appear.
    """

    namespace: str
    labels: Labels
    placement: Placement
    deleting: bool
    node_filter: NodeFilter
    volumes: VolumeDemand
    attaches: AttachDemand | None = None
    uses_ports_or_volumes: bool = False
    uncertainties: tuple[str, ...] = ()
    affinity: PodAffinityTerms | None = None
    counts_itself: bool = False
    anti_affinity: tuple[AntiAffinityTerm, ...] = ()
    limits: tuple[SpreadLimit, ...] = ()
    matching_terms: list[AntiAffinityTerm] = field(default_factory=list)
    watchers: list[PodCounter] = field(default_factory=list)
    counts_by_node: dict[str, int] = field(default_factory=dict)

    @property
    def is_counted(self) -> bool:
        """Whether its presence matters to other pods, or to the ports and volumes of its node, and not only to the
        node's room."""
        return bool(self.watchers or self.anti_affinity or self.uses_ports_or_volumes)

    @property
    def needs_only_room(self) -> bool:
        """Whether only room decides, on a node that passes the node filters."""
        return not (
            self.matching_terms or self.anti_affinity or self.limits or self.uses_ports_or_volumes or self.affinity
        )
