"""All that is said of the metadata service of a cluster: its nodes by cause, and the pods that suffer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model.aws.machines import PodIdentity
from kubectl_eksdoc.core.model.commands import Reach
from kubectl_eksdoc.core.model.findings import Finding, in_order, reached
from kubectl_eksdoc.core.model.missing_rights import as_read
from kubectl_eksdoc.core.model.nodes import NodeOwner
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.metadata.affected import WORST_FIRST, AffectedPod, Effect, Judged, cut_off
from kubectl_eksdoc.core.plan.metadata.facts import MetadataFacts
from kubectl_eksdoc.core.plan.metadata.groups import NodesAlike, nodes_alike
from kubectl_eksdoc.core.plan.metadata.inside import Inside, fails
from kubectl_eksdoc.core.plan.metadata.judging import judged, judged_whole
from kubectl_eksdoc.core.plan.metadata.programs import program_of
from kubectl_eksdoc.core.plan.metadata.sources import Service
from kubectl_eksdoc.core.plan.metadata.successor import judged_successor, on_successor
from kubectl_eksdoc.core.rules.metadata_service import HOST, Verdict, verdict
from kubectl_eksdoc.core.rules.metadata_service import Reach as Reached


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """Nodes with one cause, and the pods on them that suffer, the broken ones first."""

    alike: NodesAlike
    affected: tuple[AffectedPod, ...]

    def of(self, effect: Effect) -> tuple[AffectedPod, ...]:
        return tuple(each for each in self.affected if each.effect is effect)


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
    read_of = {_alike(pod): facts.inside[pod.key] for pod in facts.cluster.pods if pod.key in facts.inside}
    groups = tuple(GroupPlan(each, _affected(each, there.get(at, ()), facts, read_of)) for at, each in enumerate(alike))
    assumed = facts.assumed is not None
    findings = [found for group in groups for found in judged(group.alike, group.affected, hops, assumed)]
    findings += judged_whole(facts, [(group.alike, group.affected) for group in groups])
    for at, each in enumerate(alike):
        later = on_successor(each, facts, hops)
        if later is not None:
            affected = _affected(replace(each, later=later), there.get(at, ()), facts, read_of)
            findings += judged_successor(each.name, affected)
    found = tuple(reached(each, reach) for each in as_read(in_order(findings), facts.cluster.source))
    return MetadataPlan(facts, hops, tuple(sorted(groups, key=_affected_first)), found)


def _affected_first(group: GroupPlan) -> tuple[int, int]:
    return -len(group.of(Effect.BROKEN)), -len(group.of(Effect.WILL_BREAK))


def worth_a_look(facts: MetadataFacts, hops: int) -> tuple[Pod, ...]:
    """Those on nodes where they are cut off, or on whose next node they will be, and those that fail on nodes of which
    it is not known: a log tells what EC2 does not."""
    alike, now = nodes_alike(facts, hops), facts.cluster.observed_at
    found = []
    for at, pods in _by_group(alike, facts.cluster.pods).items():
        group, unknown = alike[at], alike[at].here.reach is Reached.UNKNOWN
        if cut_off(group.here, group.later):
            found += pods
        elif unknown or on_successor(group, facts, hops) is not None:
            found += [pod for pod in pods if (unknown and fails(pod, now)) or program_of(pod) is not None]
    return tuple(found)


def _by_group(alike: Sequence[NodesAlike], pods: Iterable[Pod]) -> dict[int, list[Pod]]:
    """By the place of their node's group in `alike`."""
    group_of = {node: at for at, each in enumerate(alike) for node in each.nodes}
    found: dict[int, list[Pod]] = {}
    for pod in pods:
        at = group_of.get(pod.node)
        if at is not None:
            found.setdefault(at, []).append(pod)
    return found


def _affected(
    alike: NodesAlike, pods: Sequence[Pod], facts: MetadataFacts, of_owner: Mapping[str, Inside]
) -> tuple[AffectedPod, ...]:
    """What was read of one pod holds for those that its owner made like it."""
    has_one = alike.now.options is not None
    # Fargate runs no agent of EKS Pod Identity, so an association gives its pods nothing
    identities = frozenset[PodIdentity]() if alike.owner is NodeOwner.FARGATE else facts.told.identities
    judged = Judged(alike.here, alike.later, identities, facts.cluster.observed_at)
    on_host = replace(
        judged, here=_at_host(alike.now, alike.here), later=_at_host(alike.next, alike.later), at_host=True
    )
    found = []
    for pod in pods:
        own = facts.inside.get(pod.key)
        shared = of_owner.get(_alike(pod), _NOT_LOOKED)
        same = fails(pod, facts.cluster.observed_at)  # then it fails as the one did whose log was read
        within = own or (shared if same else Inside(shared.started, programs=shared.programs))
        each = (on_host if pod.calls.host_network else judged).affected(pod, within)
        # where there never was a service, nobody who runs has lost one
        if each is not None and (has_one or each.effect in (Effect.BROKEN, Effect.WILL_BREAK)):
            found.append(each)
    return tuple(sorted(found, key=lambda each: (WORST_FIRST[each.effect], each.pod.key)))


def _at_host(service: Service, other: Verdict) -> Verdict:
    """For pods with the network of their host; where there is no service, they are on no instance of EC2."""
    return Verdict(Reached.UNKNOWN, other.why) if service.options is None else verdict(service.options, HOST)


_NOT_LOOKED = Inside()


def _alike(pod: Pod) -> str:
    return pod.owner.uid if pod.owner is not None else pod.key
