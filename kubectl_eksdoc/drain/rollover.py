"""The plan's last section, node group rollover: how nodes come and go after the drain, by owner and group of the
targets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, NodeOwner

from .node_owners import ReplacementAdvice, advise, compare
from .nodes import natural
from .outcome import HOLDS, DrainTarget, Eviction, NotEvictedPod, SlowNode
from .policy import DrainPolicy
from .rollover_offers import (
    CLUSTER,
    REGION,
    HandOff,
    NodeGroupRemoval,
    ReplacementStep,
)

_STANDS_FOR = {
    CLUSTER: "the cluster's name",
    REGION: "the AWS region",
    "GROUP": "the group's name",
    "NODE": "the node's name",
}

_NOT_OURS = (NodeOwner.AUTO_MODE, NodeOwner.FARGATE)


def hand_offs(
    cluster: Cluster,
    targets: Sequence[DrainTarget],
    left: Sequence[NotEvictedPod],
    evictions: Sequence[Eviction],
    policy: DrainPolicy,
    slow: Sequence[SlowNode] = (),
) -> tuple[HandOff, ...]:
    """One for each owner and group of `targets`, in order of owner, then group."""
    departing: dict[tuple[NodeOwner, str], list[DrainTarget]] = defaultdict(list)
    for target in targets:
        departing[_key(target.node)].append(target)
    members: dict[tuple[NodeOwner, str], list[Node]] = defaultdict(list)
    for node in cluster.nodes:
        members[_key(node)].append(node)
    left_on: dict[str, list[NotEvictedPod]] = defaultdict(list)
    for row in left:
        left_on[row.node].append(row)
    gone_from: dict[str, list[Eviction]] = defaultdict(list)
    for eviction in evictions:
        gone_from[eviction.node].append(eviction)
    ranks = {owner: i for i, owner in enumerate(NodeOwner)}
    return tuple(
        _hand_off(
            NodeGroupRemoval(
                *key,
                targets=tuple(departing[key]),
                members=tuple(members[key]),
                left=tuple(row for target in departing[key] for row in left_on[target.node.name]),
                evictions=tuple(gone for target in departing[key] for gone in gone_from[target.node.name]),
                cluster=cluster,
                slow=tuple(node for node in slow if (NodeOwner.MANAGED, node.group) == key),
            ),
            policy,
        )
        for key in sorted(departing, key=lambda key: (ranks[key[0]], natural(key[1])))
    )


def _key(node: Node) -> tuple[NodeOwner, str]:
    return node.owner, node.group


def _hand_off(leaving: NodeGroupRemoval, policy: DrainPolicy) -> HandOff:
    advice = advise(leaving)
    leave = advice.leave
    if not leaving.emptied and leaving.owner not in _NOT_OURS:
        leave = (ReplacementStep("This plan empties none of these nodes: end none of them."),)
    managed = leaving.owner is NodeOwner.MANAGED
    return HandOff(
        owner=leaving.owner,
        group=leaving.group,
        nodes=tuple(node.name for node in leaving.emptied),
        kept=tuple(sorted((node.name for node in leaving.kept), key=natural)),
        arrive=advice.arrive,
        leave=leave,
        beware=(*_placeholders(advice, leave), *_first(leaving, policy), *advice.beware),
        instead=compare(leaving, policy.surge) if managed else (),
    )


def _first(leaving: NodeGroupRemoval, policy: DrainPolicy) -> Iterable[str]:
    """Warnings about this drain come before general ones."""
    if leaving.owner in _NOT_OURS:
        return
    held_on = Counter(row.node for row in leaving.left if row.verdict in HOLDS)
    for target in leaving.partial:
        held = held_on[target.node.name]
        pods = f"{held} pod that stays" if held == 1 else f"{held} pods that stay"
        yield f"{target.node.name} is emptied in part: the {pods} would end with it, without asking a budget"
    if policy.pod_selector is not None and leaving.owner is NodeOwner.MANAGED:
        yield (
            f"Pods that --pod-selector leaves out ({policy.pod_selector}) stay here, and are not judged; the group's "
            "own update evicts them too"
        )


def _placeholders(advice: ReplacementAdvice, leave: Iterable[ReplacementStep]) -> Iterable[str]:
    """A sentence for each placeholder in the commands that has to be replaced before they are run."""
    commands = [c for step in (*advice.arrive, *leave) for c in step.commands]
    words = {word for command in commands for word in command.replace('"', " ").split()}
    for placeholder, what in _STANDS_FOR.items():
        if placeholder in words:
            yield f"{placeholder} in these commands stands for {what}, which is unknown: fill it in"
