"""The plan's last section, node group rollover: how nodes come and go after the drain, by owner and group of the
targets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, NodeOwner

from .node_owners import ReplacementAdvice, compare_options, replacement_advice
from .nodes import natural_key
from .outcome import HOLDING_VERDICTS, DrainTarget, Eviction, NotEvictedPod, SlowNode
from .policy import DrainPolicy
from .rollover_offers import (
    CLUSTER_PLACEHOLDER,
    REGION_PLACEHOLDER,
    NodeGroupRemoval,
    NodeGroupRollover,
    ReplacementStep,
)

_PLACEHOLDER_MEANINGS = {
    CLUSTER_PLACEHOLDER: "the cluster's name",
    REGION_PLACEHOLDER: "the AWS region",
    "GROUP": "the group's name",
    "NODE": "the node's name",
}

_NOT_DRAINED_OWNERS = (NodeOwner.AUTO_MODE, NodeOwner.FARGATE)


def node_group_rollovers(
    cluster: Cluster,
    targets: Sequence[DrainTarget],
    not_evicted: Sequence[NotEvictedPod],
    evictions: Sequence[Eviction],
    policy: DrainPolicy,
    slow_nodes: Sequence[SlowNode] = (),
) -> tuple[NodeGroupRollover, ...]:
    """One for each owner and group of `targets`, in order of owner, then group."""
    targets_by_group: dict[tuple[NodeOwner, str], list[DrainTarget]] = defaultdict(list)
    for target in targets:
        targets_by_group[_group_key(target.node)].append(target)
    members: dict[tuple[NodeOwner, str], list[Node]] = defaultdict(list)
    for node in cluster.nodes:
        members[_group_key(node)].append(node)
    not_evicted_on: dict[str, list[NotEvictedPod]] = defaultdict(list)
    for row in not_evicted:
        not_evicted_on[row.node].append(row)
    evictions_from: dict[str, list[Eviction]] = defaultdict(list)
    for eviction in evictions:
        evictions_from[eviction.node].append(eviction)
    ranks = {owner: i for i, owner in enumerate(NodeOwner)}
    return tuple(
        _rollover(
            NodeGroupRemoval(
                *key,
                targets=tuple(targets_by_group[key]),
                members=tuple(members[key]),
                not_evicted=tuple(row for target in targets_by_group[key] for row in not_evicted_on[target.node.name]),
                evictions=tuple(
                    node_eviction
                    for target in targets_by_group[key]
                    for node_eviction in evictions_from[target.node.name]
                ),
                cluster=cluster,
                slow_nodes=tuple(node for node in slow_nodes if (NodeOwner.MANAGED, node.group) == key),
            ),
            policy,
        )
        for key in sorted(targets_by_group, key=lambda key: (ranks[key[0]], natural_key(key[1])))
    )


def _group_key(node: Node) -> tuple[NodeOwner, str]:
    return node.owner, node.group


def _rollover(removal: NodeGroupRemoval, policy: DrainPolicy) -> NodeGroupRollover:
    advice = replacement_advice(removal)
    leave_steps = advice.leave
    if not removal.emptied_nodes and removal.owner not in _NOT_DRAINED_OWNERS:
        leave_steps = (ReplacementStep("This plan empties none of these nodes: end none of them."),)
    is_managed = removal.owner is NodeOwner.MANAGED
    return NodeGroupRollover(
        owner=removal.owner,
        group=removal.group,
        nodes=tuple(node.name for node in removal.emptied_nodes),
        kept=tuple(sorted((node.name for node in removal.kept_nodes), key=natural_key)),
        arrive=advice.arrive,
        leave=leave_steps,
        beware=(*_placeholder_warnings(advice, leave_steps), *_drain_warnings(removal, policy), *advice.beware),
        instead=compare_options(removal, policy.surge) if is_managed else (),
    )


def _drain_warnings(removal: NodeGroupRemoval, policy: DrainPolicy) -> Iterable[str]:
    """Warnings about this drain come before general ones."""
    if removal.owner in _NOT_DRAINED_OWNERS:
        return
    holding_count = Counter(row.node for row in removal.not_evicted if row.verdict in HOLDING_VERDICTS)
    for target in removal.partial_targets:
        pod_count = holding_count[target.node.name]
        pods = f"{pod_count} pod that stays" if pod_count == 1 else f"{pod_count} pods that stay"
        yield f"{target.node.name} is emptied in part: the {pods} would end with it, without asking a budget"
    if policy.pod_selector is not None and removal.owner is NodeOwner.MANAGED:
        yield (
            f"Pods that --pod-selector leaves out ({policy.pod_selector}) stay here, and are not judged; the group's "
            "own update evicts them too"
        )


def _placeholder_warnings(advice: ReplacementAdvice, leave_steps: Iterable[ReplacementStep]) -> Iterable[str]:
    """A sentence for each placeholder in the commands that has to be replaced before they are run."""
    commands = [c for step in (*advice.arrive, *leave_steps) for c in step.commands]
    words = {word for command in commands for word in command.replace('"', " ").split()}
    for placeholder, meaning in _PLACEHOLDER_MEANINGS.items():
        if placeholder in words:
            yield f"{placeholder} in these commands stands for {meaning}, which is unknown: fill it in"
