"""Node group rollover after a drain, as data: where new nodes come from and how the old ones leave.

It holds the nodes of one owner and group that a plan empties, and the words for the commands about them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import Enum

from kubectl_eksdoc.amazon.amis import AmiFamily, family_of_os, no_ami_reason
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.nodes import LAUNCH_TEMPLATE_LABEL, Node, NodeOwner

from .outcome import DrainTarget, Eviction, NotEvictedPod, SlowNode, TargetVerdict


class ReplacementMethod(str, Enum):
    """How the nodes of a managed group can be replaced."""

    OWN_DRAIN = "own-drain"  # this plan's order, in the existing group
    GROUP_UPDATE = "group-update"  # the update by EKS
    BLUE_GREEN = "blue-green"  # this plan's order, with a new group beside the old one


@frozen
class ReplacementStep:
    """One sentence, and its commands: one for each node, or () where a person must decide. `before_drain_only`: the
    step is useful only before the drain."""

    text: str
    commands: tuple[str, ...] = ()
    before_drain_only: bool = False


@frozen
class ReplacementOption:
    """One way to replace the nodes. Pods are ``namespace/name``: those on targets that this plan does not evict, and
    those it evicts that are too slow for the group's own update.

    `nodes`: nodes that go in total; `surge`: the most that are added at once, None where the zones are not known.
    `least_seconds`: its minimum duration, one node at a time, None where that is not estimated. `stopped_by`: pods that
    keep their node until something changes; `may_be_stopped_by`: only if they take too long; `unasked`: pods that are
    evicted although this plan leaves them to a person; `not_judged`: pods that could be either.
    """

    way: ReplacementMethod
    nodes: int
    surge: int | None
    surge_why: str
    order: str
    waits: str
    least_seconds: int | None
    way_back: str
    stopped_by: tuple[str, ...] = ()
    may_be_stopped_by: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()


@frozen
class NodeGroupRollover:
    """The targets of one owner and group (``""`` where its nodes have none) after the drain.

    `nodes`: targets that the plan empties, in its order; `kept`: targets that it does not empty, or only in part. A
    sentence of `beware` ends with its confidence where that is not high. `instead` compares the ways; only for managed
    groups whose own update can replace their nodes.
    """

    owner: NodeOwner
    group: str
    nodes: tuple[str, ...]
    kept: tuple[str, ...]
    arrive: tuple[ReplacementStep, ...]
    leave: tuple[ReplacementStep, ...]
    beware: tuple[str, ...] = ()
    instead: tuple[ReplacementOption, ...] = ()

    @property
    def title(self) -> str:
        """``managed node group blue``, ``NodePool general``, ``hybrid nodes``."""
        named, unnamed = _TITLES[self.owner]
        return f"{named} {self.group}" if self.group else unnamed

    def for_cluster(self, target: CommandTarget) -> NodeGroupRollover:
        """With commands that address the cluster that was read."""
        arrive, leave = (
            tuple(replace(step, commands=tuple(map(target.add_to, step.commands))) for step in steps)
            for steps in (self.arrive, self.leave)
        )
        return replace(self, arrive=arrive, leave=leave)

    @property
    def after_drain(self) -> NodeGroupRollover:
        """The steps that remain after the drain."""
        arrive = tuple(step for step in self.arrive if not step.before_drain_only)
        return replace(
            self,
            arrive=arrive,
            instead=tuple(option for option in self.instead if option.way is not ReplacementMethod.BLUE_GREEN),
        )


_TITLES = {
    NodeOwner.MANAGED: ("managed node group", "managed nodes"),
    NodeOwner.EKSCTL: ("eksctl's self-managed node group", "eksctl's self-managed nodes"),
    NodeOwner.KARPENTER: ("NodePool", "Karpenter's nodes"),
    NodeOwner.AUTO_MODE: ("Auto Mode NodePool", "Auto Mode nodes"),
    NodeOwner.FARGATE: ("Fargate profile", "Fargate nodes"),
    NodeOwner.HYBRID: ("hybrid node group", "hybrid nodes"),
    NodeOwner.SELF_MANAGED: ("self-managed node group", "self-managed nodes"),
}


_INSTANCE_PATTERN = re.compile(r"aws:///[^/]*/(i-[A-Za-z0-9-]+)\Z")
_WORD_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")

CLUSTER_PLACEHOLDER = "CLUSTER"
REGION_PLACEHOLDER = "REGION"


@frozen
class NodeGroupRemoval:
    """`targets` of one owner and group in the plan's order, and `members`: every node of the group in the cluster.

    `not_evicted`, `evictions` and `slow_nodes` are those of its targets alone.
    """

    owner: NodeOwner
    group: str
    targets: tuple[DrainTarget, ...]
    members: tuple[Node, ...]
    not_evicted: tuple[NotEvictedPod, ...]
    evictions: tuple[Eviction, ...]
    cluster: Cluster
    slow_nodes: tuple[SlowNode, ...] = ()

    @property
    def emptied_nodes(self) -> tuple[Node, ...]:
        return tuple(target.node for target in self.targets if target.verdict is TargetVerdict.DRAINS)

    @property
    def partial_targets(self) -> tuple[DrainTarget, ...]:
        return tuple(target for target in self.targets if target.verdict is TargetVerdict.PARTIAL)

    @property
    def kept_nodes(self) -> tuple[Node, ...]:
        return tuple(target.node for target in self.targets if target.verdict is not TargetVerdict.DRAINS)

    @property
    def is_complete(self) -> bool:
        """Whether the drain empties every node of the group."""
        return len(self.emptied_nodes) == len(self.members)

    @property
    def other_count(self) -> int:
        """How many nodes of the group are no targets."""
        return len(self.members) - len(self.targets)

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of its nodes, sorted; its subnets can be in more."""
        return tuple(sorted({node.zone for node in self.members} - {""}))

    @property
    def runs_al2(self) -> bool:
        return any(family_of_os(node.os_image) is AmiFamily.AL2 for node in self.members)

    @property
    def has_launch_template(self) -> bool:
        """Whether the group has a launch template, which may name an AMI."""
        return any(LAUNCH_TEMPLATE_LABEL in node.labels for node in self.members)

    @property
    def missing_ami(self) -> str:
        """See `amis.no_ami_reason`."""
        return no_ami_reason((node.os_image for node in self.members), self.cluster)

    @property
    def cluster_word(self) -> str:
        return shell_word(self.cluster.identity.cluster, CLUSTER_PLACEHOLDER)

    @property
    def region_word(self) -> str:
        """The identity's region, else the one that the labels of all nodes agree on."""
        regions = {node.region for node in self.members} - {""}
        return shell_word(
            self.cluster.identity.region or (regions.pop() if len(regions) == 1 else ""), REGION_PLACEHOLDER
        )

    @property
    def group_word(self) -> str:
        return shell_word(self.group, "GROUP")

    @property
    def region_flag(self) -> str:
        """The flag at the end of every AWS command here, so that no profile's default region is used."""
        return f"--region {self.region_word}"

    def nodegroup_command(self, command: str, arguments: str = "") -> str:
        """``aws eks COMMAND`` on this managed group."""
        parts = (f"aws eks {command} --cluster-name {self.cluster_word} --nodegroup-name {self.group_word}", arguments)
        return " ".join(part for part in (*parts, self.region_flag) if part)

    def terminate_step(self) -> ReplacementStep:
        """Terminate each emptied instance and lower the desired size with it; nodes without an instance id are
        named."""
        instances, region_flag = {node.name: instance_id(node) for node in self.emptied_nodes}, self.region_flag
        commands = tuple(
            f"aws autoscaling terminate-instance-in-auto-scaling-group --instance-id {instance} "
            f"--should-decrement-desired-capacity {region_flag}"
            for instance in instances.values()
            if instance
        )
        without_id = [name for name, instance in instances.items() if not instance]
        text = "End each emptied node by its instance id and lower the desired size with it: then nothing else chooses."
        if without_id:
            text += f" No EC2 instance id is known of {', '.join(without_id[:6])}" + (
                " …." if len(without_id) > 6 else "."
            )
        return ReplacementStep(text, commands)


def instance_id(node: Node) -> str:
    """``i-0abc`` of ``aws:///zone/i-0abc`` (the cloud provider's form), "" where the provider id has another form."""
    match = _INSTANCE_PATTERN.match(node.provider_id)
    return match[1] if match else ""


def shell_word(text: str, placeholder: str) -> str:
    """`text` if a shell takes it as one plain word, else the placeholder: pasted commands must be safe."""
    return text if _WORD_PATTERN.match(text) else placeholder


def with_confidence(text: str, confidence: str = "medium") -> str:
    return f"{text} (confidence: {confidence})"
