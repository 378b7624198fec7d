"""Sources of a node's metadata options: the options of its instance, and those of the next instance of its kind.

Sources: EKS user guide (launch templates of managed node groups, AL2023), Karpenter's NodeClasses, eksctl's node groups
(launch templates of CloudFormation behind an auto scaling group); see `amazon.metadata_service` for EC2's rules.
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

# Facts about the metadata service of nodes.


class EvidenceSource(str, Enum):
    """Additional AWS sources, as --evidence names them."""

    CLOUDWATCH = "cloudwatch"
    CLOUDTRAIL = "cloudtrail"
    IAM = "iam"


@frozen
class MetadataFacts:
    """`evidence_by_pod`: evidence in pods, by ``namespace/name``; `pods_not_read`: number of further candidates.
    `assumed`: options of the next nodes, for all kinds. `intent`: the intended options. `v1_calls`: by instance; None
    if CloudWatch was not asked. `role_uses`: uses of the node role by node, for each source that was asked."""

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
"""Prefix of an SSM parameter that replaces an AMI in a launch template (EC2 user guide, launch templates)."""

OS = "kubernetes.io/os"
NODE_CLASS = "karpenter.k8s.aws/ec2nodeclass"
_INSTANCE = re.compile(r"\Aaws:///[^/]*/(i-[0-9a-f]{8,17})\Z")


@frozen
class MetadataService:
    """The metadata service of one kind of node; `options` is None if it has none. `by`: the source of the options, a
    clause. `is_refused`: EC2 would refuse the launch, because the account enforces IMDSv2."""

    options: MetadataOptions | Unknown | None
    by: str
    refused: bool = False


def instance_of(node: Node) -> str:
    """The EC2 instance ID of the node, "" if it has none (Fargate, hybrid nodes) or an unknown form."""
    found = _INSTANCE.match(node.provider_id)
    return found.group(1) if found else ""


def counted_of(nodes: Iterable[str], facts: MetadataFacts) -> Mapping[str, V1Calls | Unknown] | None:
    """CloudWatch's counts of the nodes' instances; None if CloudWatch was not asked."""
    calls, names = facts.v1_calls, set(nodes)
    if calls is None:
        return None
    none = Unknown("its instance is not known")
    return {node.name: calls.get(instance_of(node), none) for node in facts.cluster.nodes if node.name in names}


def scaling_group_of(node: Node, facts: MetadataFacts) -> str:
    """The auto scaling group of the node's instance, "" if there is none or it is unknown."""
    instance = facts.told.instances.get(instance_of(node))
    return instance.scaling_group if isinstance(instance, Instance) else ""


_OVER = ("shutting-down", "terminated")
"""EC2 still returns the options of these instances for about an hour."""


def service_now(node: Node, facts: MetadataFacts) -> MetadataService:
    """The service of the node's instance."""
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
    """The service of the node's replacement, if no one changes its source, or as assumed."""
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
    """By the controller that creates nodes of this kind."""
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
    """By the node's label; before v1, Karpenter only names the NodePool."""
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
    """All nodes of an EC2NodeClass, in every NodePool."""
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
    if not instance.scaling_group:  # no auto scaling group creates the next one, so its own options count
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
    """For an auto scaling group that uses other templates for some instance types."""
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
    """The type of the running instance counts for the next one."""
    instance = facts.told.instances.get(instance_of(node))
    return instance.type if isinstance(instance, Instance) else ""


def _image(template: TemplateVersion, node: Node, facts: MetadataFacts) -> Image | Unknown:
    """If the template names no image, as for EKS's own AMIs, the running node's image counts."""
    instance = facts.told.instances.get(instance_of(node))
    ident = template.image or (instance.image if isinstance(instance, Instance) else "")
    if ident.startswith(BY_PARAMETER):
        return Unknown(f"its AMI is named by a parameter ({ident}), and is looked up at each launch")
    image = _of(facts.told.images, ident, f"AMI {ident or '(unknown)'}")
    return image if isinstance(image, Unknown) or facts.assumed is None else facts.assumed.of_image(image)


def _who(made: Launch, template: str, by_eks: bool = False) -> str:
    """The sources of the tokens and the hop limit, which decide the access. `is_made_by_eks`: EKS creates its own
    template from this one; which values it adds is not published."""
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
    """For a source that sets all options, and leaves none to the account or the AMI."""
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


# Sets of nodes with the same metadata service from the same source: one line for each cause.


@frozen
class NodesAlike:
    """`name` of the node group or NodePool, "" for none. `now` and `next`: the metadata service of the running and the
    next nodes; `verdict_now` and `verdict_next`: for a pod in the pod network, at the given number of hops.
    `scaling_group`: the auto scaling group of nodes without a name. `is_windows`: Windows nodes."""

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
        """Its name, that of its auto scaling group, or its owner in parentheses."""
        return self.name or self.scaling_group or f"({self.owner.value})"

    @property
    def changes(self) -> bool:
        """The next node is known to give pods another reach."""
        known = Reach.UNKNOWN not in (self.here.reach, self.later.reach)
        return known and self.here.reach is not self.later.reach

    @property
    def by_hand(self) -> bool:
        """The running nodes have other options than a new node would get: an instance was changed, or its source
        was."""
        now, later = self.now.options, self.next.options
        if not isinstance(now, MetadataOptions) or not isinstance(later, MetadataOptions):
            return False
        return (now.tokens, now.hop_limit, now.endpoint) != (later.tokens, later.hop_limit, later.endpoint)


def nodes_alike(facts: MetadataFacts, hops: int = POD) -> tuple[NodesAlike, ...]:
    """Sorted with the worst reach first. Nodes of one group with different services are several sets."""
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
    """Without the instance ID, which differs for each node; the reason of an unknown instance stays."""
    return MetadataService(service.options, "") if isinstance(service.options, MetadataOptions) else service


def _is_windows(node: Node) -> bool:
    return node.labels.get(OS) == "windows"


def _verdict(service: MetadataService, hops: int, windows: bool) -> ImdsVerdict:
    """The number of hops of a Windows pod network is not published: a hop limit of one may be enough."""
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
