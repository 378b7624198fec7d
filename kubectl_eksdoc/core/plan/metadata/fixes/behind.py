"""What stands behind some nodes: their instances, and whatever makes the next ones, as far as it is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.machines import (
    Instance,
    MetadataOptions,
    NodeGroup,
    SaidOptions,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.nodes import EKSCTL_GROUP, Node, NodeOwner
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.metadata.facts import MetadataFacts
from kubectl_eksdoc.core.plan.metadata.groups import NodesAlike
from kubectl_eksdoc.core.plan.metadata.sources import class_name, instance_of

K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Where:
    """Whose cluster it is, for commands; "" for what is not known."""

    cluster: str = ""
    region: str = ""
    account: str = ""
    vpc: str = ""
    context: str = ""
    profile: str = ""

    @property
    def in_context(self) -> tuple[str, ...]:
        """So that kubectl changes no other cluster, whatever the current context is when it is pasted."""
        return ("--context", self.context) if self.context else ()

    @property
    def in_region(self) -> tuple[str, ...]:
        """For awscli and eksctl: in the account that was asked, whatever their default profile is."""
        region = ("--region", self.region) if self.region else ()
        return (*region, "--profile", self.profile) if self.profile else region


@dataclass(frozen=True, slots=True)
class Behind:
    """`alike` is a part of a group; `nodes` are its own, `members` all of the same owner and name. `whole`: all of the
    cluster, as `facts` may be of a part of it. `pods`: by node, how many must go elsewhere when it goes. `hops`: so
    many are needed."""

    alike: NodesAlike
    facts: MetadataFacts
    whole: Cluster
    where: Where
    hops: int
    nodes: tuple[Node, ...]
    members: tuple[Node, ...]
    pods: Mapping[str, int]

    @property
    def instances(self) -> tuple[tuple[Node, Instance, MetadataOptions], ...]:
        """Those whose options are known and in force, and that run."""
        found = ((node, _known(self.facts.told.instances, instance_of(node))) for node in self.nodes)
        return tuple(
            (node, instance, instance.options)
            for node, instance in found
            if instance is not None
            and instance.options is not None
            and not instance.options.pending
            and instance.state in ("", "running")
        )

    @property
    def group(self) -> NodeGroup | None:
        return _known(self.facts.told.node_groups, self.alike.name)

    @property
    def scaling(self) -> ScalingGroup | None:
        """Where it is one and the same for all of them."""
        instances = (_known(self.facts.told.instances, instance_of(node)) for node in self.nodes)
        names = {each.scaling_group if each is not None else "" for each in instances}
        return _known(self.facts.told.scaling_groups, next(iter(names))) if len(names) == 1 else None

    def template(self, ref: TemplateRef) -> TemplateVersion | None:
        return _known(self.facts.told.templates, ref)

    @property
    def node_class(self) -> str:
        """The name of their EC2NodeClass, "" where that is not known, or there are several."""
        names = {class_name(node, self.whole) for node in self.nodes}
        found = next(iter(names)) if len(names) == 1 else ""
        return "" if isinstance(found, Unknown) else found

    @property
    def class_said(self) -> SaidOptions | None:
        return next((each.metadata for each in self.whole.node_classes if each.name == self.node_class), None)

    @property
    def of_class(self) -> tuple[Node, ...]:
        """Every node of it, in whatever NodePool."""
        name = self.node_class
        karpenters = (node for node in self.whole.nodes if node.owner is NodeOwner.KARPENTER)
        return tuple(node for node in karpenters if class_name(node, self.whole) == name)

    @property
    def eksctl(self) -> str:
        """What eksctl calls the group, "" where it did not make it."""
        return next((node.labels[EKSCTL_GROUP] for node in self.nodes if EKSCTL_GROUP in node.labels), "")

    def pods_on(self, nodes: Iterable[Node]) -> int:
        return sum(self.pods.get(node.name, 0) for node in nodes)


_UNNAMED = "NAME-OF-THE-CLUSTER"
"""In commands, where a dump does not tell it: EKS knows none of that name, so nothing comes of pasting it."""


def behind(
    alike: NodesAlike,
    facts: MetadataFacts,
    hops: int,
    whole: Cluster,
    pods: Mapping[str, int],
    vpc: str = "",
    profile: str = "",
) -> Behind:
    """`pods` as `leaving` counts them; `vpc`: the cluster's, as EKS tells it."""
    who, names = whole.identity, set(alike.nodes)
    return Behind(
        alike,
        facts,
        whole,
        Where(who.cluster or _UNNAMED, who.region, who.account, vpc, who.context, profile),
        hops,
        tuple(node for node in whole.nodes if node.name in names),
        tuple(node for node in whole.nodes if (node.owner, node.group) == (alike.owner, alike.name)),
        pods,
    )


def leaving(pods: Iterable[Pod]) -> dict[str, int]:
    """By node: the pods that must go elsewhere when it goes. Those of DaemonSets and static ones go with it."""
    found: dict[str, int] = {}
    for pod in pods:
        if pod.finished or pod.mirror or pod.of_daemon_set:
            continue
        found[pod.node] = found.get(pod.node, 0) + 1
    return found


def _known(held: Mapping[K, T | Absent | Unknown], key: K) -> T | None:
    found = held.get(key)
    return None if found is None or isinstance(found, (Absent, Unknown)) else found
