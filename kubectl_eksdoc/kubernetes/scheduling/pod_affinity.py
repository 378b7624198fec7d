"""InterPodAffinity: required affinity and anti-affinity, in both directions (plugins/interpodaffinity/filtering.go)."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.kubernetes.scheduling.counts import PodGroup
from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulerFilter, SchedulingRefusal
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placement import PodTerm
from kubectl_eksdoc.model.selectors import Labels, Requirement, Selector

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
