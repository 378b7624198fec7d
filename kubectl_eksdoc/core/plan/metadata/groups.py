"""Nodes that have the same metadata service for the same reason: one line per cause, whatever their number."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from kubectl_eksdoc.core.model.aws.machines import MetadataOptions
from kubectl_eksdoc.core.model.nodes import Node, NodeOwner
from kubectl_eksdoc.core.plan.metadata.facts import MetadataFacts
from kubectl_eksdoc.core.plan.metadata.sources import Service, scaling_group_of, service_next, service_now
from kubectl_eksdoc.core.rules.metadata_service import POD, Reach, Verdict, verdict


@dataclass(frozen=True, slots=True)
class NodesAlike:
    """`name` of their node group or NodePool, "" where they have none. `here` and `later`: for a pod on a network of
    its own, so many hops away as was asked for; `now` and `next` are whence that comes. `scaling_group`: the auto
    scaling group of nodes without a name of theirs."""

    owner: NodeOwner
    name: str
    nodes: tuple[str, ...]
    now: Service
    next: Service
    here: Verdict
    later: Verdict
    scaling_group: str = ""

    @property
    def label(self) -> str:
        """Its name, that of its auto scaling group, or whose it is in brackets."""
        return self.name or self.scaling_group or f"({self.owner.value})"

    @property
    def changes(self) -> bool:
        """What comes next is known to be otherwise for the pods."""
        known = Reach.UNKNOWN not in (self.here.reach, self.later.reach)
        return known and self.here.reach is not self.later.reach

    @property
    def by_hand(self) -> bool:
        """Running nodes have something else than those that made them would give today: somebody changed them, or
        what makes them was changed since."""
        now, later = self.now.options, self.next.options
        if not isinstance(now, MetadataOptions) or not isinstance(later, MetadataOptions):
            return False
        return (now.tokens, now.hop_limit, now.endpoint) != (later.tokens, later.hop_limit, later.endpoint)


def nodes_alike(facts: MetadataFacts, hops: int = POD) -> tuple[NodesAlike, ...]:
    """By owner and name, those that suffer first. Nodes of one group that differ are several."""
    found: dict[tuple[NodeOwner, str, Service, Service, str], list[Node]] = defaultdict(list)
    for node in facts.cluster.nodes:
        now, later = service_now(node, facts), service_next(node, facts)
        scaling = "" if node.group else scaling_group_of(node, facts)
        found[node.owner, node.group, _without_instance(now), later, scaling].append(node)
    alike = [
        NodesAlike(
            owner,
            name,
            tuple(sorted(node.name for node in nodes)),
            now,
            later,
            _verdict(now, hops),
            _verdict(later, hops),
            scaling,
        )
        for (owner, name, now, later, scaling), nodes in found.items()
    ]
    return tuple(sorted(alike, key=_worst_first))


def _without_instance(service: Service) -> Service:
    """The id of the instance tells nodes apart, and not causes; why an instance is not known does."""
    return Service(service.options, "") if isinstance(service.options, MetadataOptions) else service


def _verdict(service: Service, hops: int) -> Verdict:
    if service.options is None:
        return Verdict(Reach.CUT_OFF, service.by)
    return verdict(service.options, hops)


_ORDER = (Reach.CUT_OFF, Reach.V1_ONLY, Reach.UNKNOWN, Reach.REACHABLE)


def _worst_first(alike: NodesAlike) -> tuple[object, ...]:
    worst = min(_ORDER.index(alike.here.reach), _ORDER.index(alike.later.reach))
    return (
        alike.now.options is None,
        worst,
        _ORDER.index(alike.here.reach),
        alike.owner.value,
        alike.name,
        alike.nodes,
    )
