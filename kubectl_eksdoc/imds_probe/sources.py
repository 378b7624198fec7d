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
    AUTO_MODE_OPTIONS,
    POD_HOPS,
    TOKENS_OPTIONAL,
    ImdsReach,
    ImdsVerdict,
    LaunchOptions,
    OptionsOrigin,
    eks_template_options,
    imds_verdict,
    resolve_launch_options,
)
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.kinds import Absent, Resource, Unknown
from kubectl_eksdoc.model.machines import (
    DeclaredMetadataOptions,
    Image,
    Imdsv1Requests,
    Instance,
    MachineFacts,
    MetadataOptions,
    RoleUses,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)
from kubectl_eksdoc.model.nodes import NODE_POOL, Node, NodeOwner

from .affected import AssumedOptions, IntendedOptions, PodEvidence

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
    machines: MachineFacts = MachineFacts()
    evidence_by_pod: Mapping[str, PodEvidence] = field(default_factory=dict)
    pods_not_read: int = 0
    assumed: AssumedOptions | None = None
    intent: IntendedOptions | None = None
    v1_calls: Mapping[str, Imdsv1Requests | Unknown] | None = None
    role_uses: Mapping[EvidenceSource, Mapping[str, RoleUses | Unknown]] = field(default_factory=dict)


K = TypeVar("K")
T = TypeVar("T")

BY_PARAMETER = "resolve:ssm:"
"""Prefix of an SSM parameter that replaces an AMI in a launch template (EC2 user guide, launch templates)."""

OS = "kubernetes.io/os"
NODE_CLASS = "karpenter.k8s.aws/ec2nodeclass"
_PROVIDER_ID = re.compile(r"\Aaws:///[^/]*/(i-[0-9a-f]{8,17})\Z")


@frozen
class MetadataService:
    """The metadata service of one kind of node; `options` is None if it has none. `by`: the source of the options, a
    clause. `is_refused`: EC2 would refuse the launch, because the account enforces IMDSv2."""

    options: MetadataOptions | Unknown | None
    by: str
    is_refused: bool = False


def instance_id(node: Node) -> str:
    """The EC2 instance ID of the node, "" if it has none (Fargate, hybrid nodes) or an unknown form."""
    match = _PROVIDER_ID.match(node.provider_id)
    return match.group(1) if match else ""


def v1_calls_by_node(nodes: Iterable[str], facts: MetadataFacts) -> Mapping[str, Imdsv1Requests | Unknown] | None:
    """CloudWatch's counts of the nodes' instances; None if CloudWatch was not asked."""
    calls, node_names = facts.v1_calls, set(nodes)
    if calls is None:
        return None
    unknown_instance = Unknown("its instance is not known")
    return {
        node.name: calls.get(instance_id(node), unknown_instance)
        for node in facts.cluster.nodes
        if node.name in node_names
    }


def scaling_group_name(node: Node, facts: MetadataFacts) -> str:
    """The auto scaling group of the node's instance, "" if there is none or it is unknown."""
    instance = facts.machines.instances.get(instance_id(node))
    return instance.scaling_group if isinstance(instance, Instance) else ""


_ENDED_STATES = ("shutting-down", "terminated")
"""EC2 still returns the options of these instances for about an hour."""


def current_service(node: Node, facts: MetadataFacts) -> MetadataService:
    """The service of the node's instance."""
    without_service = _no_service(node)
    if without_service is not None:
        return without_service
    instance_id_ = instance_id(node)
    if not instance_id_:
        return MetadataService(Unknown(f"its providerID {node.provider_id or '(none)'} names no instance"), "")
    instance = _lookup(facts.machines.instances, instance_id_, f"instance {instance_id_}")
    if isinstance(instance, Unknown):
        return MetadataService(instance, "")
    if instance.state in _ENDED_STATES:
        return MetadataService(Unknown(f"instance {instance_id_} is {instance.state}: nothing runs on it any more"), "")
    if instance.options is None:
        return MetadataService(Unknown(f"EC2 does not tell the metadata options of {instance_id_}"), "")
    return MetadataService(instance.options, f"instance {instance_id_}")


def next_service(node: Node, facts: MetadataFacts) -> MetadataService:
    """The service of the node's replacement, if no one changes its source, or as assumed."""
    without_service = _no_service(node)
    if without_service is not None:
        return without_service
    if node.owner is NodeOwner.AUTO_MODE:
        return _service_from_options(AUTO_MODE_OPTIONS, "EKS Auto Mode, which cannot be changed (confidence: medium)")
    service, assumed = _check_enforcement(_service_of_next(node, facts), facts.machines.account), facts.assumed
    if assumed is None or (assumed.hops is None and not assumed.tokens):
        return service
    predicted = (
        service.options if isinstance(service.options, MetadataOptions) else current_service(node, facts).options
    )
    return MetadataService(assumed.apply_to(predicted), f"your assumption ({assumed})")


def _check_enforcement(service: MetadataService, account: DeclaredMetadataOptions | Unknown) -> MetadataService:
    """Source: botocore's model of EC2, HttpTokensEnforced of GetInstanceMetadataDefaults."""
    options = service.options
    is_optional = isinstance(options, MetadataOptions) and options.tokens == TOKENS_OPTIONAL
    is_enforced = isinstance(account, DeclaredMetadataOptions) and account.enforced is True
    return replace(service, is_refused=True) if is_optional and is_enforced else service


def _service_of_next(node: Node, facts: MetadataFacts) -> MetadataService:
    """By the controller that creates nodes of this kind."""
    owner = node.owner
    if owner is NodeOwner.KARPENTER:
        return _service_by_class(node, facts)
    if owner is NodeOwner.MANAGED:
        return _service_by_node_group(node, facts)
    return _service_by_scaling_group(node, facts)


_OWNERS_WITHOUT_SERVICE = {
    NodeOwner.FARGATE: "Fargate has no instance metadata service",
    NodeOwner.HYBRID: "a hybrid node is no EC2 instance",
}


def _no_service(node: Node) -> MetadataService | None:
    reason = _OWNERS_WITHOUT_SERVICE.get(node.owner)
    return MetadataService(None, reason) if reason else None


def _service_by_class(node: Node, facts: MetadataFacts) -> MetadataService:
    name = class_name(node, facts.cluster)
    if isinstance(name, Unknown):
        return MetadataService(name, "")
    not_read = _reason_unread(facts.cluster, kinds.NODE_CLASSES)
    if not_read is not None:
        return MetadataService(not_read, "")
    node_class = next((each for each in facts.cluster.node_classes if each.name == name), None)
    if node_class is None:
        return MetadataService(Unknown(f"the cluster has no EC2NodeClass {name}"), "")
    if node_class.metadata.is_empty:
        reason = f"EC2NodeClass {name} says nothing of it, and what Karpenter gives then depends on its version"
        return MetadataService(Unknown(reason), "")
    return _service_from_options(node_class.metadata, f"EC2NodeClass {name}")


def class_name(node: Node, cluster: Cluster) -> str | Unknown:
    """By the node's label; before v1, Karpenter only names the NodePool."""
    name = node.labels.get(NODE_CLASS, "")
    if name:
        return name
    not_read = _reason_unread(cluster, kinds.NODE_POOLS)
    if not_read is not None:
        return not_read
    node_pool = next((each for each in cluster.node_pools if each.name == node.labels.get(NODE_POOL)), None)
    if node_pool is None or not node_pool.node_class:
        pool_text = "nor does its NodePool" if node_pool is not None else "and its NodePool is not there"
        return Unknown(f"the node does not name its EC2NodeClass (label {NODE_CLASS}), {pool_text}")
    return node_pool.node_class


def nodes_of_class(name: str, cluster: Cluster) -> tuple[Node, ...]:
    """All nodes of an EC2NodeClass, in every NodePool."""
    karpenter_nodes = (node for node in cluster.nodes if node.owner is NodeOwner.KARPENTER)
    return tuple(node for node in karpenter_nodes if class_name(node, cluster) == name)


def _reason_unread(cluster: Cluster, resource: Resource) -> Unknown | None:
    read = cluster.read_of(resource)
    name = resource.full_name
    return None if read.known else Unknown(f"{name} were not read: {read.detail}", f"list {name}")


def _service_by_node_group(node: Node, facts: MetadataFacts) -> MetadataService:
    group = _lookup(facts.machines.node_groups, node.group, f"node group {node.group}")
    if isinstance(group, Unknown):
        return MetadataService(group, "")
    if group.template is not None:
        return _service_by_template(group.template, node, facts)
    ami_type = group.ami_type if facts.assumed is None else facts.assumed.ami_type(group.ami_type)
    options = eks_template_options(ami_type)
    source = f"EKS, in the launch template that it makes for a node group of AMI type {ami_type}"
    return MetadataService(options, "") if isinstance(options, Unknown) else _service_from_options(options, source)


def _service_by_scaling_group(node: Node, facts: MetadataFacts) -> MetadataService:
    ident = instance_id(node)
    if not ident:
        return MetadataService(Unknown("the instance is unknown, and so is what created it"), "")
    instance = _lookup(facts.machines.instances, ident, f"instance {ident}")
    if isinstance(instance, Unknown):
        return MetadataService(instance, "")
    if not instance.scaling_group:  # no auto scaling group creates the next one, so its own options count
        return MetadataService(current_service(node, facts).options, "hand: no auto scaling group makes another one")
    group = _lookup(
        facts.machines.scaling_groups, instance.scaling_group, f"auto scaling group {instance.scaling_group}"
    )
    if isinstance(group, Unknown):
        return MetadataService(group, "")
    if group.template is None:
        return _service_by_launch_configuration(group, node, facts)
    services = [_service_by_template(template_ref, node, facts) for template_ref in (group.template, *group.others)]
    return services[0] if len(services) == 1 else _service_by_instance_type(group.name, services)


def _service_by_launch_configuration(group: ScalingGroup, node: Node, facts: MetadataFacts) -> MetadataService:
    if not group.configuration:
        return MetadataService(Unknown(f"auto scaling group {group.name} has no launch template"), "")
    configuration = _lookup(
        facts.machines.configurations, group.configuration, f"launch configuration {group.configuration}"
    )
    if isinstance(configuration, Unknown):
        return MetadataService(configuration, "")
    launched_options = resolve_launch_options(
        configuration.options,
        facts.machines.account,
        _image_of(configuration, node, facts),
        _instance_type(node, facts),
    )
    return MetadataService(
        launched_options.options, _options_source(launched_options, f"launch configuration {configuration.name}")
    )


def _service_by_instance_type(group: str, services: Sequence[MetadataService]) -> MetadataService:
    """For an auto scaling group that uses other templates for some instance types."""
    unknown = next((each for each in services if isinstance(each.options, Unknown)), None)
    if unknown is not None:
        return unknown
    sources = "; ".join(dict.fromkeys(each.by for each in services))
    if len({each.options for each in services}) == 1:
        return MetadataService(services[0].options, sources)
    return MetadataService(
        Unknown(f"auto scaling group {group} launches by instance type from several templates: {sources}"), ""
    )


def _service_by_template(template_ref: TemplateRef, node: Node, facts: MetadataFacts) -> MetadataService:
    template = _lookup(facts.machines.templates, template_ref, f"launch template {template_ref}")
    if isinstance(template, Unknown):
        return MetadataService(template, "")
    image = _image_of(template, node, facts)
    launched_options = resolve_launch_options(
        template.options, facts.machines.account, image, _instance_type(node, facts)
    )
    name = f"launch template {template.name or template.id} version {template.number}"
    return MetadataService(
        launched_options.options, _options_source(launched_options, name, node.owner is NodeOwner.MANAGED)
    )


def _instance_type(node: Node, facts: MetadataFacts) -> str:
    """The type of the running instance counts for the next one."""
    instance = facts.machines.instances.get(instance_id(node))
    return instance.type if isinstance(instance, Instance) else ""


def _image_of(template: TemplateVersion, node: Node, facts: MetadataFacts) -> Image | Unknown:
    """If the template names no image, as for EKS's own AMIs, the running node's image counts."""
    instance = facts.machines.instances.get(instance_id(node))
    image_id = template.image or (instance.image if isinstance(instance, Instance) else "")
    if image_id.startswith(BY_PARAMETER):
        return Unknown(f"its AMI is named by a parameter ({image_id}), and is looked up at each launch")
    image = _lookup(facts.machines.images, image_id, f"AMI {image_id or '(unknown)'}")
    return image if isinstance(image, Unknown) or facts.assumed is None else facts.assumed.image_for(image)


def _options_source(launch_options: LaunchOptions, template: str, is_made_by_eks: bool = False) -> str:
    """The sources of the tokens and the hop limit, which decide the access. `is_made_by_eks`: EKS creates its own
    template from this one; which values it adds is not published."""
    names = {OptionsOrigin.TEMPLATE: template}
    if is_made_by_eks:
        note = "confidence: low, as EKS makes a template of its own from this one"
        names |= {origin: f"{origin.value} ({note})" for origin in (OptionsOrigin.IMAGE, OptionsOrigin.EC2)}
    origins = {
        "hop limit": launch_options.hop_limit.origin,
        "tokens": launch_options.tokens.origin,
    }
    sources = {option: names.get(origin, origin.value) for option, origin in origins.items() if origin is not None}
    if len(set(sources.values())) == 1:
        return next(iter(sources.values()))
    return ", ".join(f"{option} by {source}" for option, source in sources.items())


def _service_from_options(options: DeclaredMetadataOptions, source: str) -> MetadataService:
    """For a source that sets all options, and leaves none to the account or the AMI."""
    if not options.tokens or options.hop_limit is None:
        lacks = "HttpTokens" if not options.tokens else "HttpPutResponseHopLimit"
        return MetadataService(Unknown(f"{source} does not say {lacks}"), "")
    return MetadataService(
        MetadataOptions(options.tokens, options.hop_limit, options.endpoint is not False, options.ipv6 is True), source
    )


def _lookup(mapping: Mapping[K, T | Absent | Unknown], key: K, description: str) -> T | Unknown:
    value = mapping.get(key)
    if value is None:
        return Unknown(f"{description} was not asked for")
    if isinstance(value, Unknown):
        return value
    return Unknown(f"{description}: {value.said}") if isinstance(value, Absent) else value


# Sets of nodes with the same metadata service from the same source: one line for each cause.


@frozen
class NodeSet:
    """`name` of the node group or NodePool, "" for none. `now` and `next`: the metadata service of the running and the
    next nodes; `verdict_now` and `verdict_next`: for a pod in the pod network, at the given number of hops.
    `scaling_group`: the auto scaling group of nodes without a name. `is_windows`: Windows nodes."""

    owner: NodeOwner
    name: str
    nodes: tuple[str, ...]
    now: MetadataService
    next: MetadataService
    verdict_now: ImdsVerdict
    verdict_next: ImdsVerdict
    scaling_group: str = ""
    is_windows: bool = False

    @property
    def label(self) -> str:
        """Its name, that of its auto scaling group, or its owner in parentheses."""
        return self.name or self.scaling_group or f"({self.owner.value})"

    @property
    def is_changing(self) -> bool:
        """The next node is known to give pods another reach."""
        is_known = ImdsReach.UNKNOWN not in (self.verdict_now.reach, self.verdict_next.reach)
        return is_known and self.verdict_now.reach is not self.verdict_next.reach

    @property
    def has_other_options(self) -> bool:
        """The running nodes have other options than a new node would get: an instance was changed, or its source
        was."""
        current, next_options = self.now.options, self.next.options
        if not isinstance(current, MetadataOptions) or not isinstance(next_options, MetadataOptions):
            return False
        return (current.tokens, current.hop_limit, current.endpoint) != (
            next_options.tokens,
            next_options.hop_limit,
            next_options.endpoint,
        )


def node_sets(facts: MetadataFacts, hops: int = POD_HOPS) -> tuple[NodeSet, ...]:
    """Sorted with the worst reach first. Nodes of one group with different services are several sets."""
    nodes_by_service: dict[tuple[NodeOwner, str, MetadataService, MetadataService, str, bool], list[Node]] = (
        defaultdict(list)
    )
    for node in facts.cluster.nodes:
        current, next_one = current_service(node, facts), next_service(node, facts)
        scaling_group = "" if node.group else scaling_group_name(node, facts)
        nodes_by_service[
            node.owner, node.group, _without_source(current), next_one, scaling_group, _is_windows(node)
        ].append(node)
    sets = [
        NodeSet(
            owner,
            name,
            tuple(sorted(node.name for node in nodes)),
            current,
            next_one,
            _verdict_of(current, hops, is_windows),
            _verdict_of(next_one, hops, is_windows),
            scaling_group,
            is_windows,
        )
        for (owner, name, current, next_one, scaling_group, is_windows), nodes in nodes_by_service.items()
    ]
    return tuple(sorted(sets, key=_sort_key))


def _without_source(service: MetadataService) -> MetadataService:
    """Without the instance ID, which differs for each node; the reason of an unknown instance stays."""
    return MetadataService(service.options, "") if isinstance(service.options, MetadataOptions) else service


def _is_windows(node: Node) -> bool:
    return node.labels.get(OS) == "windows"


def _verdict_of(service: MetadataService, hops: int, is_windows: bool) -> ImdsVerdict:
    """The number of hops of a Windows pod network is not published: a hop limit of one may be enough."""
    if service.options is None:
        return ImdsVerdict(ImdsReach.UNREACHABLE, service.by)
    result, options = imds_verdict(service.options, hops), service.options
    is_limited = isinstance(options, MetadataOptions) and options.endpoint and result.reach is not ImdsReach.REACHABLE
    if not (is_windows and is_limited) or result.reach is ImdsReach.UNKNOWN:
        return result
    limit = getattr(options, "hop_limit", 0)
    return ImdsVerdict(
        ImdsReach.UNKNOWN, f"the hop limit is {limit}, and how many a pod on Windows needs is not published"
    )


_REACH_ORDER = (ImdsReach.UNREACHABLE, ImdsReach.V1_ONLY, ImdsReach.UNKNOWN, ImdsReach.REACHABLE)


def _sort_key(node_set: NodeSet) -> tuple[object, ...]:
    worst_reach = min(_REACH_ORDER.index(node_set.verdict_now.reach), _REACH_ORDER.index(node_set.verdict_next.reach))
    return (
        node_set.now.options is None,
        worst_reach,
        _REACH_ORDER.index(node_set.verdict_now.reach),
        node_set.owner.value,
        node_set.name,
        node_set.nodes,
    )
