"""What stands behind some nodes: their instances, and whatever makes the next ones, as far as it is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from kubectl_eksdoc.amazon.metadata_service import Reach, verdict
from kubectl_eksdoc.imds_probe.fixes.fix import INSTANCE_OPTIONS, NODE_CLASS, BlastRadius, Fix, RuleScope, complaints
from kubectl_eksdoc.imds_probe.sources import MetadataFacts, NodesAlike, class_name, instance_of
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.machines import (
    Instance,
    MetadataOptions,
    NodeGroup,
    SaidOptions,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.commands import patch, shell
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.metadata import OnClass, OnInstances, SetOptions
from kubectl_eksdoc.model.nodes import EKSCTL_GROUP, Node, NodeOwner
from kubectl_eksdoc.model.pods import Pod

K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClusterPlace:
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
class GroupNodes:
    """`alike` is a part of a group; `nodes` are its own, `members` all of the same owner and name. `whole`: all of the
    cluster, as `facts` may be of a part of it. `pods`: by node, how many must go elsewhere when it goes. `hops`: so
    many are needed."""

    alike: NodesAlike
    facts: MetadataFacts
    whole: Cluster
    where: ClusterPlace
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
) -> GroupNodes:
    """`pods` as `leaving` counts them; `vpc`: the cluster's, as EKS tells it."""
    who, names = whole.identity, set(alike.nodes)
    return GroupNodes(
        alike,
        facts,
        whole,
        ClusterPlace(who.cluster or _UNNAMED, who.region, who.account, vpc, who.context, profile),
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


# Changing the instances as they run: nothing is replaced, and nothing of it outlives them.
#
# Source: botocore's model of EC2, ModifyInstanceMetadataOptions (what is not named stays; ``pending``, then
# ``applied``).


def on_instances(of: GroupNodes) -> Fix | None:
    """None where no instance is known that a pod does not reach."""
    each = tuple(_needed(of))
    if not each:
        return None
    count = len(each)
    left = len(of.nodes) - count
    cautions = list(complaints(RuleScope.INSTANCES, RuleScope.CHANGES))
    if left:
        cautions.insert(
            0, f"of {left} more {'node' if left == 1 else 'nodes'} the instance is not known, or not in force"
        )
    return Fix(
        INSTANCE_OPTIONS,
        When.NOW,
        f"Give {'the running instance' if count == 1 else f'the {count} running instances'} a hop limit of {of.hops}, "
        "as they run: no node is replaced and no pod restarted",
        tuple(_modify(of, one.instance, one.hop_limit, None if one.before.endpoint else True) for one in each),
        tuple(_modify(of, one.instance, one.before.hop_limit, None if one.before.endpoint else False) for one in each),
        BlastRadius(instances=count, how="EC2 applies it within seconds"),
        _lasts(of),
        tuple(cautions),
        OnInstances(each),
    )


def _needed(of: GroupNodes) -> Iterator[SetOptions]:
    for node, instance, options in of.instances:
        if verdict(options, of.hops).reach in (Reach.CUT_OFF, Reach.V1_ONLY):
            yield SetOptions(node.name, instance.id, options, max(of.hops, options.hop_limit))


def _modify(of: GroupNodes, instance: str, hop_limit: int, endpoint: bool | None) -> str:
    switch = () if endpoint is None else ("--http-endpoint", "enabled" if endpoint else "disabled")
    words = ("aws", "ec2", "modify-instance-metadata-options", "--instance-id", instance)
    return shell(*words, "--http-put-response-hop-limit", str(hop_limit), *switch, *of.where.in_region)


def _lasts(of: GroupNodes) -> str:
    """The next instance does not know of it."""
    later, options = of.alike.later, of.alike.next.options
    if later.reach is Reach.REACHABLE:
        return "it is lost with the instance, and the next one has it by itself"
    if isinstance(options, MetadataOptions):
        return f"it is lost with the instance: the next one is as before ({later.why}; {of.alike.next.by})"
    return "it is lost with the instance, and what the next one has is not known"


# What Karpenter launches nodes with: a change of it replaces every node of the class.
#
# Sources: Karpenter, concepts/nodeclasses (spec.metadataOptions) and concepts/disruption (drift; a NodePool without
# budgets has one of 10 %); karpenter v1.14.1, pkg/apis/v1/ec2nodeclass.go.


KIND = "ec2nodeclass"


def on_class(of: GroupNodes) -> Fix | None:
    """None where their class is not known, or they have several."""
    said, name = of.class_said, of.node_class
    if said is None or not name:
        return None
    nodes = of.of_class
    switch = said.endpoint is False
    act = OnClass(name, said.hop_limit, max(of.hops, said.hop_limit or 0), tuple(node.name for node in nodes), switch)
    pools = sorted({node.group for node in nodes})
    where = of.where.in_context
    back = "null" if said.hop_limit is None else str(said.hop_limit)
    return Fix(
        NODE_CLASS,
        When.LATER,
        f"Give EC2NodeClass {name} a hop limit of {of.hops}",
        (patch(KIND, name, "", _spec(str(act.hop_limit), "enabled" if switch else ""), *where),),
        (patch(KIND, name, "", _spec(back, "disabled" if switch else ""), *where),),
        BlastRadius(
            len(nodes),
            of.pods_on(nodes),
            how=f"every node of the class drifts, and Karpenter begins to replace them at once, in "
            f"{'NodePool' if len(pools) == 1 else 'NodePools'} {', '.join(pools) or '(none)'} by their disruption "
            "budgets: 10 % of a NodePool's nodes at a time unless they say otherwise",
        ),
        "it holds for every node to come",
        (
            (
                'a budget of nodes: "0" for the reason Drifted in the NodePool holds it back until the night '
                "you want (Karpenter v1), and the rollback drifts every node again"
            ),
            "what made the class (Helm, Argo CD, Terraform) puts it back: set spec.metadataOptions there as well",
            *complaints(RuleScope.INSTANCES, RuleScope.LAUNCHES),
        ),
        act,
    )


def _spec(hop_limit: str, endpoint: str) -> str:
    switch = f',"httpEndpoint":"{endpoint}"' if endpoint else ""
    return f'{{"spec":{{"metadataOptions":{{"httpPutResponseHopLimit":{hop_limit}{switch}}}}}}}'
