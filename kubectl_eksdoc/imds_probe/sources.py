"""Where the metadata options of a node come from: what its instance has, and what the next one of its kind will get.

Sources: EKS user guide (launch templates of managed node groups, AL2023), Karpenter's NodeClasses, eksctl's node groups
(launch templates of CloudFormation behind an auto scaling group); see `amazon.metadata_service` for EC2's own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import TypeVar

from kubectl_eksdoc.amazon.metadata_service import (
    AUTO_MODE,
    OPTIONAL,
    POD,
    ImdsVerdict,
    Launch,
    OptionsOrigin,
    Reach,
    launch,
    of_group_by_eks,
    verdict,
)
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.kinds import Absent, Resource, Unknown
from kubectl_eksdoc.model.machines import (
    Image,
    Instance,
    MachineFacts,
    MetadataOptions,
    RoleUses,
    SaidOptions,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
    V1Calls,
)
from kubectl_eksdoc.model.nodes import NODE_POOL, Node, NodeOwner

from .affected import Assumed, IntendedOptions, PodEvidence

# What the metadata service of nodes is judged by.


class EvidenceSource(str, Enum):
    """What else AWS may be asked for, as --evidence takes it."""

    CLOUDWATCH = "cloudwatch"
    CLOUDTRAIL = "cloudtrail"
    IAM = "iam"


@frozen
class MetadataFacts:
    """`inside`: what was found in pods that were looked into, by ``namespace/name``; so many more were worth it that
    were `not_looked_into`. `assumed`: what the next nodes have, whatever makes them. `intent`: which options are
    meant. `v1_calls`: by instance, where CloudWatch was asked; None where it was not. `role_uses`: what the node role
    was used for, by node, of each source that was asked."""

    cluster: Cluster
    told: MachineFacts = MachineFacts()
    inside: Mapping[str, PodEvidence] = field(default_factory=dict)
    not_looked_into: int = 0
    assumed: Assumed | None = None
    intent: IntendedOptions | None = None
    v1_calls: Mapping[str, V1Calls | Unknown] | None = None
    role_uses: Mapping[EvidenceSource, Mapping[str, RoleUses | Unknown]] = field(default_factory=dict)


K = TypeVar("K")
T = TypeVar("T")

BY_PARAMETER = "resolve:ssm:"
"""How a launch template names a parameter of Systems Manager instead of an AMI (EC2 user guide, launch templates)."""

OS = "kubernetes.io/os"
NODE_CLASS = "karpenter.k8s.aws/ec2nodeclass"
_INSTANCE = re.compile(r"\Aaws:///[^/]*/(i-[0-9a-f]{8,17})\Z")


@frozen
class MetadataService:
    """The metadata service as one kind of node has it; `options` is None where there is none at all. `by` says whose
    decision that is, a clause. `refused`: EC2 would not launch such an instance, as the account enforces IMDSv2."""

    options: MetadataOptions | Unknown | None
    by: str
    refused: bool = False


def instance_of(node: Node) -> str:
    """The id of its EC2 instance, "" where it has none (Fargate, hybrid nodes) or names it otherwise."""
    found = _INSTANCE.match(node.provider_id)
    return found.group(1) if found else ""


def counted_of(nodes: Iterable[str], facts: MetadataFacts) -> Mapping[str, V1Calls | Unknown] | None:
    """By node, what CloudWatch has counted of its instance; None where it was not asked."""
    calls, names = facts.v1_calls, set(nodes)
    if calls is None:
        return None
    none = Unknown("its instance is not known")
    return {node.name: calls.get(instance_of(node), none) for node in facts.cluster.nodes if node.name in names}


def scaling_group_of(node: Node, facts: MetadataFacts) -> str:
    """The auto scaling group of its instance, "" where there is none, or it is not known."""
    instance = facts.told.instances.get(instance_of(node))
    return instance.scaling_group if isinstance(instance, Instance) else ""


_OVER = ("shutting-down", "terminated")
"""EC2 tells their options for about an hour more."""


def service_now(node: Node, facts: MetadataFacts) -> MetadataService:
    """As the node's instance has it."""
    none = _without(node)
    if none is not None:
        return none
    ident = instance_of(node)
    if not ident:
        return MetadataService(Unknown(f"its providerID {node.provider_id or '(none)'} names no instance"), "")
    instance = _of(facts.told.instances, ident, f"instance {ident}")
    if isinstance(instance, Unknown):
        return MetadataService(instance, "")
    if instance.state in _OVER:
        return MetadataService(Unknown(f"instance {ident} is {instance.state}: nothing runs on it any more"), "")
    if instance.options is None:
        return MetadataService(Unknown(f"EC2 does not tell the metadata options of {ident}"), "")
    return MetadataService(instance.options, f"instance {ident}")


def service_next(node: Node, facts: MetadataFacts) -> MetadataService:
    """As the node that comes in its place will have it, if nobody changes anything until then, or as is assumed."""
    none = _without(node)
    if none is not None:
        return none
    if node.owner is NodeOwner.AUTO_MODE:
        return _said(AUTO_MODE, "EKS Auto Mode, which cannot be changed (confidence: medium)")
    found, assumed = _allowed(_made(node, facts), facts.told.account), facts.assumed
    if assumed is None or (assumed.hops is None and not assumed.tokens):
        return found
    known = found.options if isinstance(found.options, MetadataOptions) else service_now(node, facts).options
    return MetadataService(assumed.options(known), f"your assumption ({assumed})")


def _allowed(made: MetadataService, account: SaidOptions | Unknown) -> MetadataService:
    """Source: botocore's model of EC2, HttpTokensEnforced of GetInstanceMetadataDefaults."""
    options = made.options
    optional = isinstance(options, MetadataOptions) and options.tokens == OPTIONAL
    enforced = isinstance(account, SaidOptions) and account.enforced is True
    return replace(made, refused=True) if optional and enforced else made


def _made(node: Node, facts: MetadataFacts) -> MetadataService:
    """By what makes nodes of its kind."""
    owner = node.owner
    if owner is NodeOwner.KARPENTER:
        return _by_class(node, facts)
    if owner is NodeOwner.MANAGED:
        return _by_group(node, facts)
    return _by_scaling_group(node, facts)


_NO_SERVICE = {
    NodeOwner.FARGATE: "Fargate has no instance metadata service",
    NodeOwner.HYBRID: "a hybrid node is no EC2 instance",
}


def _without(node: Node) -> MetadataService | None:
    why = _NO_SERVICE.get(node.owner)
    return MetadataService(None, why) if why else None


def _by_class(node: Node, facts: MetadataFacts) -> MetadataService:
    name = class_name(node, facts.cluster)
    if isinstance(name, Unknown):
        return MetadataService(name, "")
    unread = _unread(facts.cluster, kinds.NODE_CLASSES)
    if unread is not None:
        return MetadataService(unread, "")
    found = next((each for each in facts.cluster.node_classes if each.name == name), None)
    if found is None:
        return MetadataService(Unknown(f"the cluster has no EC2NodeClass {name}"), "")
    if found.metadata.nothing:
        silent = f"EC2NodeClass {name} says nothing of it, and what Karpenter gives then depends on its version"
        return MetadataService(Unknown(silent), "")
    return _said(found.metadata, f"EC2NodeClass {name}")


def class_name(node: Node, cluster: Cluster) -> str | Unknown:
    """By the node's own label; Karpenter before v1 leaves it to the NodePool."""
    name = node.labels.get(NODE_CLASS, "")
    if name:
        return name
    unread = _unread(cluster, kinds.NODE_POOLS)
    if unread is not None:
        return unread
    pool = next((each for each in cluster.node_pools if each.name == node.labels.get(NODE_POOL)), None)
    if pool is None or not pool.node_class:
        whose = "nor does its NodePool" if pool is not None else "and its NodePool is not there"
        return Unknown(f"the node does not name its EC2NodeClass (label {NODE_CLASS}), {whose}")
    return pool.node_class


def nodes_of_class(name: str, cluster: Cluster) -> tuple[Node, ...]:
    """Every node of an EC2NodeClass, in whatever NodePool."""
    karpenters = (node for node in cluster.nodes if node.owner is NodeOwner.KARPENTER)
    return tuple(node for node in karpenters if class_name(node, cluster) == name)


def _unread(cluster: Cluster, resource: Resource) -> Unknown | None:
    read = cluster.read_of(resource)
    name = resource.full_name
    return None if read.known else Unknown(f"{name} were not read: {read.detail}", f"list {name}")


def _by_group(node: Node, facts: MetadataFacts) -> MetadataService:
    group = _of(facts.told.node_groups, node.group, f"node group {node.group}")
    if isinstance(group, Unknown):
        return MetadataService(group, "")
    if group.template is not None:
        return _by_template(group.template, node, facts)
    ami_type = group.ami_type if facts.assumed is None else facts.assumed.ami_type(group.ami_type)
    said = of_group_by_eks(ami_type)
    by = f"EKS, in the launch template that it makes for a node group of AMI type {ami_type}"
    return MetadataService(said, "") if isinstance(said, Unknown) else _said(said, by)


def _by_scaling_group(node: Node, facts: MetadataFacts) -> MetadataService:
    ident = instance_of(node)
    if not ident:
        return MetadataService(Unknown("the instance is unknown, and so is what created it"), "")
    instance = _of(facts.told.instances, ident, f"instance {ident}")
    if isinstance(instance, Unknown):
        return MetadataService(instance, "")
    if not instance.scaling_group:  # its own options stand for the next one, as there is none
        return MetadataService(service_now(node, facts).options, "hand: no auto scaling group makes another one")
    group = _of(facts.told.scaling_groups, instance.scaling_group, f"auto scaling group {instance.scaling_group}")
    if isinstance(group, Unknown):
        return MetadataService(group, "")
    if group.template is None:
        return _by_configuration(group, node, facts)
    made = [_by_template(ref, node, facts) for ref in (group.template, *group.others)]
    return made[0] if len(made) == 1 else _by_type(group.name, made)


def _by_configuration(group: ScalingGroup, node: Node, facts: MetadataFacts) -> MetadataService:
    if not group.configuration:
        return MetadataService(Unknown(f"auto scaling group {group.name} has no launch template"), "")
    found = _of(facts.told.configurations, group.configuration, f"launch configuration {group.configuration}")
    if isinstance(found, Unknown):
        return MetadataService(found, "")
    made = launch(found.options, facts.told.account, _image(found, node, facts), _type_of(node, facts))
    return MetadataService(made.options, _who(made, f"launch configuration {found.name}"))


def _by_type(group: str, made: Sequence[MetadataService]) -> MetadataService:
    """Of an auto scaling group that launches some instance types from another template."""
    unknown = next((each for each in made if isinstance(each.options, Unknown)), None)
    if unknown is not None:
        return unknown
    by = "; ".join(dict.fromkeys(each.by for each in made))
    if len({each.options for each in made}) == 1:
        return MetadataService(made[0].options, by)
    return MetadataService(
        Unknown(f"auto scaling group {group} launches by instance type from several templates: {by}"), ""
    )


def _by_template(ref: TemplateRef, node: Node, facts: MetadataFacts) -> MetadataService:
    template = _of(facts.told.templates, ref, f"launch template {ref}")
    if isinstance(template, Unknown):
        return MetadataService(template, "")
    image = _image(template, node, facts)
    made = launch(template.options, facts.told.account, image, _type_of(node, facts))
    name = f"launch template {template.name or template.id} version {template.number}"
    return MetadataService(made.options, _who(made, name, node.owner is NodeOwner.MANAGED))


def _type_of(node: Node, facts: MetadataFacts) -> str:
    """That of the instance that runs stands for the next one."""
    instance = facts.told.instances.get(instance_of(node))
    return instance.type if isinstance(instance, Instance) else ""


def _image(template: TemplateVersion, node: Node, facts: MetadataFacts) -> Image | Unknown:
    """Where the template names none, as EKS's own AMIs are put in by EKS, that of the running node stands for it."""
    instance = facts.told.instances.get(instance_of(node))
    ident = template.image or (instance.image if isinstance(instance, Instance) else "")
    if ident.startswith(BY_PARAMETER):
        return Unknown(f"its AMI is named by a parameter ({ident}), and is looked up at each launch")
    image = _of(facts.told.images, ident, f"AMI {ident or '(unknown)'}")
    return image if isinstance(image, Unknown) or facts.assumed is None else facts.assumed.of_image(image)


def _who(made: Launch, template: str, by_eks: bool = False) -> str:
    """Of the tokens and the hop limit, which decide who reaches it. `by_eks`: EKS makes a
    template of its own from this one, and what it puts in where this one is silent is not published."""
    names = {OptionsOrigin.TEMPLATE: template}
    if by_eks:
        unsure = "confidence: low, as EKS makes a template of its own from this one"
        names |= {origin: f"{origin.value} ({unsure})" for origin in (OptionsOrigin.IMAGE, OptionsOrigin.EC2)}
    told = {
        "hop limit": made.hop_limit.origin,
        "tokens": made.tokens.origin,
    }
    whose = {what: names.get(origin, origin.value) for what, origin in told.items() if origin is not None}
    if len(set(whose.values())) == 1:
        return next(iter(whose.values()))
    return ", ".join(f"{what} by {who}" for what, who in whose.items())


def _said(said: SaidOptions, by: str) -> MetadataService:
    """Of whoever writes the whole template, and leaves nothing to the account or the AMI."""
    if not said.tokens or said.hop_limit is None:
        lacks = "HttpTokens" if not said.tokens else "HttpPutResponseHopLimit"
        return MetadataService(Unknown(f"{by} does not say {lacks}"), "")
    return MetadataService(
        MetadataOptions(said.tokens, said.hop_limit, said.endpoint is not False, said.ipv6 is True), by
    )


def _of(held: Mapping[K, T | Absent | Unknown], key: K, what: str) -> T | Unknown:
    found = held.get(key)
    if found is None:
        return Unknown(f"{what} was not asked for")
    if isinstance(found, Unknown):
        return found
    return Unknown(f"{what}: {found.said}") if isinstance(found, Absent) else found


# Nodes that have the same metadata service for the same reason: one line per cause, whatever their number.


@frozen
class NodesAlike:
    """`name` of their node group or NodePool, "" where they have none. `here` and `later`: for a pod on a network of
    its own, so many hops away as was asked for; `now` and `next` are whence that comes. `scaling_group`: the auto
    scaling group of nodes without a name of theirs. `windows`: they run it."""

    owner: NodeOwner
    name: str
    nodes: tuple[str, ...]
    now: MetadataService
    next: MetadataService
    here: ImdsVerdict
    later: ImdsVerdict
    scaling_group: str = ""
    windows: bool = False

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
    found: dict[tuple[NodeOwner, str, MetadataService, MetadataService, str, bool], list[Node]] = defaultdict(list)
    for node in facts.cluster.nodes:
        now, later = service_now(node, facts), service_next(node, facts)
        scaling = "" if node.group else scaling_group_of(node, facts)
        found[node.owner, node.group, _without_instance(now), later, scaling, _is_windows(node)].append(node)
    alike = [
        NodesAlike(
            owner,
            name,
            tuple(sorted(node.name for node in nodes)),
            now,
            later,
            _verdict(now, hops, windows),
            _verdict(later, hops, windows),
            scaling,
            windows,
        )
        for (owner, name, now, later, scaling, windows), nodes in found.items()
    ]
    return tuple(sorted(alike, key=_worst_first))


def _without_instance(service: MetadataService) -> MetadataService:
    """The id of the instance tells nodes apart, and not causes; why an instance is not known does."""
    return MetadataService(service.options, "") if isinstance(service.options, MetadataOptions) else service


def _is_windows(node: Node) -> bool:
    return node.labels.get(OS) == "windows"


def _verdict(service: MetadataService, hops: int, windows: bool) -> ImdsVerdict:
    """How many hops the network of a Windows pod adds is not published: one hop may be enough."""
    if service.options is None:
        return ImdsVerdict(Reach.CUT_OFF, service.by)
    found, options = verdict(service.options, hops), service.options
    limited = isinstance(options, MetadataOptions) and options.endpoint and found.reach is not Reach.REACHABLE
    if not (windows and limited) or found.reach is Reach.UNKNOWN:
        return found
    limit = getattr(options, "hop_limit", 0)
    return ImdsVerdict(Reach.UNKNOWN, f"the hop limit is {limit}, and how many a pod on Windows needs is not published")


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
