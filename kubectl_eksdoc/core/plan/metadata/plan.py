"""All that is said of the metadata service of a cluster: its nodes by cause, and the pods that suffer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kubectl_eksdoc.core.model.aws.asked import Unknown
from kubectl_eksdoc.core.model.findings import Finding, in_order
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.metadata.consumers import consumer_of
from kubectl_eksdoc.core.plan.metadata.facts import MetadataFacts
from kubectl_eksdoc.core.plan.metadata.groups import NodesAlike, nodes_alike
from kubectl_eksdoc.core.plan.metadata.judging import judged, judged_whole
from kubectl_eksdoc.core.plan.metadata.sufferers import Sufferer, Suffering, cut_off, fails, sufferer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """Nodes with one cause, and the pods on them that suffer, the broken ones first."""

    alike: NodesAlike
    sufferers: tuple[Sufferer, ...]

    def of(self, suffering: Suffering) -> tuple[Sufferer, ...]:
        return tuple(each for each in self.sufferers if each.suffering is suffering)


@dataclass(frozen=True, slots=True)
class MetadataPlan:
    """`groups`: those that suffer first. `hops` away are the pods that are judged."""

    facts: MetadataFacts
    hops: int
    groups: tuple[GroupPlan, ...]
    findings: tuple[Finding, ...]

    def group_of(self, node: str) -> NodesAlike | None:
        return next((group.alike for group in self.groups if node in group.alike.nodes), None)


def plan_metadata(facts: MetadataFacts, hops: int) -> MetadataPlan:
    """`hops` to the service: 2 for a pod with a network of its own, 3 where another network is below that."""
    alike = nodes_alike(facts, hops)
    there = _by_group(alike, facts.cluster.pods)
    groups = tuple(GroupPlan(each, _sufferers(each, there.get(at, ()), facts)) for at, each in enumerate(alike))
    findings = [found for group in groups for found in judged(group.alike, group.sufferers)]
    failing, _ = _to_read(alike, there)
    findings += judged_whole(facts, failing, any(group.sufferers for group in groups))
    return MetadataPlan(facts, hops, groups, in_order(findings))


def pods_to_read(facts: MetadataFacts, hops: int) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
    """Whose logs tell whether they fail because of it, one of each that are alike, and whose starts tell whether they
    were given what they look for."""
    alike = nodes_alike(facts, hops)
    return _to_read(alike, _by_group(alike, facts.cluster.pods))


def _to_read(
    alike: Sequence[NodesAlike], there: Mapping[int, Sequence[Pod]]
) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
    failing: dict[object, Pod] = {}
    starting: dict[object, Pod] = {}
    for at, pods in there.items():
        if not cut_off(alike[at].here, alike[at].later):
            continue
        for pod in pods:
            if pod.calls.host_network or pod.finished:
                continue
            key = (_alike(pod), at)
            if fails(pod) and cut_off(alike[at].here):
                failing.setdefault(key, pod)
            if any(map(consumer_of, pod.calls.images)):
                starting.setdefault(key, pod)
    return tuple(failing.values()), tuple(starting.values())


def _by_group(alike: Sequence[NodesAlike], pods: Iterable[Pod]) -> dict[int, list[Pod]]:
    """By the place of their node's group in `alike`."""
    group_of = {node: at for at, each in enumerate(alike) for node in each.nodes}
    found: dict[int, list[Pod]] = {}
    for pod in pods:
        at = group_of.get(pod.node)
        if at is not None:
            found.setdefault(at, []).append(pod)
    return found


def _sufferers(alike: NodesAlike, pods: Sequence[Pod], facts: MetadataFacts) -> tuple[Sufferer, ...]:
    """What was read of one pod holds for those that its owner made like it."""
    if not cut_off(alike.here, alike.later):
        return ()
    seen, started = _of_owners(facts.seen, pods), _of_owners(facts.started, pods)
    has_one = alike.now.options is not None
    found = []
    for pod in pods:
        told = seen.get(_alike(pod)) if fails(pod) else None
        log = None if isinstance(told, Unknown) else told
        each = sufferer(pod, alike.here, alike.later, facts.told.identities, log, started.get(_alike(pod)))
        # where there never was a service, nobody who runs has lost one
        if each is not None and (has_one or each.suffering is not Suffering.POSSIBLE):
            found.append(each)
    return tuple(sorted(found, key=lambda each: (_ORDER[each.suffering], each.pod.key)))


_ORDER = {suffering: rank for rank, suffering in enumerate(Suffering)}


def _alike(pod: Pod) -> str:
    return pod.owner.uid if pod.owner is not None else pod.key


def _of_owners(by_pod: Mapping[str, T], pods: Sequence[Pod]) -> dict[str, T]:
    """Of several what is known."""
    read = [pod for pod in pods if pod.key in by_pod]
    read.sort(key=lambda pod: not isinstance(by_pod[pod.key], Unknown))
    return {_alike(pod): by_pod[pod.key] for pod in read}
