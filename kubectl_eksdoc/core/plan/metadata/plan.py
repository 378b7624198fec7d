"""All that is said of the metadata service of a cluster: its nodes by cause, and the pods that suffer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.aws.machines import PodIdentity
from kubectl_eksdoc.core.model.commands import Reach
from kubectl_eksdoc.core.model.findings import Finding, in_order, reached
from kubectl_eksdoc.core.model.missing_rights import as_read
from kubectl_eksdoc.core.model.nodes import NodeOwner
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.metadata.facts import MetadataFacts
from kubectl_eksdoc.core.plan.metadata.groups import NodesAlike, nodes_alike
from kubectl_eksdoc.core.plan.metadata.inside import Inside, fails
from kubectl_eksdoc.core.plan.metadata.judging import judged, judged_whole
from kubectl_eksdoc.core.plan.metadata.sufferers import Sufferer, Suffering, cut_off, sufferer


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


def plan_metadata(facts: MetadataFacts, hops: int, reach: Reach = Reach()) -> MetadataPlan:
    """`hops` to the service: 2 for a pod with a network of its own, 3 where another network is below that. `reach`: by
    which words the commands lead to the cluster that was read."""
    alike = nodes_alike(facts, hops)
    there = _by_group(alike, facts.cluster.pods)
    groups = tuple(GroupPlan(each, _sufferers(each, there.get(at, ()), facts)) for at, each in enumerate(alike))
    findings = [found for group in groups for found in judged(group.alike, group.sufferers, hops)]
    findings += judged_whole(facts, [(group.alike, group.sufferers) for group in groups])
    found = tuple(reached(each, reach) for each in as_read(in_order(findings), facts.cluster.source))
    return MetadataPlan(facts, hops, tuple(sorted(groups, key=_sufferers_first)), found)


def _sufferers_first(group: GroupPlan) -> tuple[int, int]:
    return -len(group.of(Suffering.BROKEN)), -len(group.of(Suffering.WILL_BREAK))


def pods_cut_off(facts: MetadataFacts, hops: int) -> tuple[Pod, ...]:
    """Those on nodes where they are, or on whose next node they will be."""
    alike = nodes_alike(facts, hops)
    there = _by_group(alike, facts.cluster.pods)
    return tuple(pod for at, pods in there.items() if cut_off(alike[at].here, alike[at].later) for pod in pods)


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
    now, has_one = facts.cluster.observed_at, alike.now.options is not None
    # Fargate runs no agent of EKS Pod Identity, so an association gives its pods nothing
    identities = frozenset[PodIdentity]() if alike.owner is NodeOwner.FARGATE else facts.told.identities
    of_owner = {_alike(pod): facts.inside[pod.key] for pod in pods if pod.key in facts.inside}
    found = []
    for pod in pods:
        looked = facts.inside.get(pod.key) or of_owner.get(_alike(pod), _NOT_LOOKED)
        log = looked.seen if fails(pod, now) else None
        each = sufferer(pod, alike.here, alike.later, identities, log, looked.started)
        # where there never was a service, nobody who runs has lost one
        if each is not None and (has_one or each.suffering is not Suffering.POSSIBLE):
            found.append(each)
    return tuple(sorted(found, key=lambda each: (_ORDER[each.suffering], each.pod.key)))


_NOT_LOOKED = Inside()
_ORDER = {suffering: rank for rank, suffering in enumerate(Suffering)}


def _alike(pod: Pod) -> str:
    return pod.owner.uid if pod.owner is not None else pod.key
