"""Which nodes are drained together: waves, each begun when the one before is done."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.plan.drain.policy import ALL, NODEGROUP, ZONE, DrainPolicy
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.rules.budgets import scaled


def domains_of(node: Node) -> tuple[str, ...]:
    """What a limit on nodes at once can count `node` under."""
    return (ALL, f"{ZONE} {node.zone}", f"{NODEGROUP} {node.group}")


def at_once(policy: DrainPolicy, nodes: Iterable[Node]) -> dict[str, int]:
    """By domain: how many of `nodes` may be under way; only domains that are limited.

    A percentage is of the nodes of that domain, rounded down, as EKS does for a node group; one node always goes.
    """
    members = Counter(domain for node in nodes for domain in domains_of(node))
    limits = dict(policy.max_unavailable)
    return {
        domain: max(1, scaled(limits[kind], count, round_up=False))
        for domain, count in members.items()
        if (kind := domain.split(" ")[0]) in limits
    }


def in_waves(
    order: Sequence[str], domains: Mapping[str, Sequence[str]], room: Mapping[str, int], pins: Mapping[str, int]
) -> dict[str, int]:
    """Give every node of `order` the first wave, from 1, that has room in all of its domains.

    `pins` have their wave whatever its room is. Waves without a node are left out of the count.
    """
    taken: dict[str, Counter[int]] = defaultdict(Counter)
    wave = {node: number for node, number in pins.items() if node in domains}
    for node, number in wave.items():
        for domain in domains[node]:
            taken[domain][number] += 1
    full: dict[str, int] = defaultdict(lambda: 1)  # no wave before it has room
    for node in order:
        if node in wave:
            continue
        limited = [domain for domain in domains[node] if domain in room]
        number = max((full[domain] for domain in limited), default=1)
        while any(taken[domain][number] >= room[domain] for domain in limited):
            number += 1
        wave[node] = number
        for domain in limited:
            taken[domain][number] += 1
            while taken[domain][full[domain]] >= room[domain]:
                full[domain] += 1
    place = {number: i for i, number in enumerate(sorted(set(wave.values())), 1)}
    return {node: place[number] for node, number in wave.items()}


def generations(order: Iterable[str], needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """By node, from 1: a node that needs the successors of others is of the generation after theirs.

    `order` names every node after those it needs.
    """
    found: dict[str, int] = {}
    for node in order:
        found[node] = 1 + max((found[other] for other in needs.get(node, ())), default=0)
    return found


def gates(
    world: Survey, order: Sequence[str], kept: Mapping[str, int] = MappingProxyType({}), more: str = ""
) -> dict[str, int]:
    """The waves in which the nodes of `order` go, from 1; empty where none has to wait for another.

    Those of `kept` keep theirs: their places were found in these waves. `more`: a domain of which one node more may
    be under way than the policy says.
    """
    policy = world.policy
    known = {node.name: node for node in world.targets}
    room = at_once(policy, [known[name] for name in order])
    if not room and not policy.pins:
        return {}
    if more in room:
        room[more] += 1
    return in_waves(order, {name: domains_of(known[name]) for name in order}, room, {**dict(policy.pins), **kept})
