"""Free IP addresses and quotas: subnets of the control plane's update and of node group updates, and EC2 quotas."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from kubectl_eksdoc.amazon.addon_needs import is_standard_instance
from kubectl_eksdoc.amazon.group_updates import max_surge, max_unavailable
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model import machines as told
from kubectl_eksdoc.model.findings import CodeName, Finding, Severity, Subject
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, rule_basis
from kubectl_eksdoc.model.machines import NodeGroup, Quota, QuotaKey, Subnet
from kubectl_eksdoc.model.nodes import Node

from ..checking import (
    NOT_ASKED,
    CheckFacts,
    UpgradeCheck,
    aws_command,
    cluster_subject,
    pluralize,
    unknown_finding,
    unread_lists,
    with_source,
)
from .software import known_node_groups, node_group_subject, nodes_in_group, unknown_node_groups

MINIMAL_STRATEGY = "MINIMAL"
"""Old nodes are removed before new ones are added with this strategy (botocore eks, NodegroupUpdateStrategies)."""

_POD_COUNT_SOURCE = KnowledgeSource(
    "counted: the pods that each of its nodes has now need an address on a new one, too", Confidence.LOW
)


def known_subnet(facts: CheckFacts, subnet_id: str) -> Subnet | Unknown:
    """The subnet, or why its free addresses are unknown; a deleted subnet is unknown, too."""
    subnets = facts.aws.subnets
    if isinstance(subnets, Unknown):
        return subnets
    subnet_answer = subnets.get(subnet_id, NOT_ASKED)
    if isinstance(subnet_answer, Subnet):
        return (
            subnet_answer
            if subnet_answer.free is not None
            else Unknown("EC2 does not tell how many of its addresses are free")
        )
    return subnet_answer if isinstance(subnet_answer, Unknown) else Unknown(subnet_answer.said)


def _check_cluster_subnets(facts: CheckFacts) -> Iterator[Finding]:
    if not facts.path.steps:
        return
    eks, code = facts.eks, "subnet-addresses"
    if isinstance(eks, Unknown):
        yield unknown_finding("subnet-addresses/cluster", cluster_subject(facts), eks)
        return
    if not eks.subnets:
        reason = Unknown("EKS does not tell them")
        yield unknown_finding("subnet-addresses/cluster", cluster_subject(facts), reason)
        return
    subnets = {ident: known_subnet(facts, ident) for ident in eks.subnets}
    yield from _unknown_subnets(code, subnets)
    known_subnets = [each for each in subnets.values() if isinstance(each, Subnet)]
    required, zones = rule_basis("free-addresses"), rule_basis("network-zones").number
    sufficient_zones = {each.zone for each in known_subnets if (each.free or 0) >= required.number}
    scarce_subnets = [each for each in known_subnets if (each.free or 0) < required.number]
    if len(known_subnets) == len(subnets) and len(sufficient_zones) < zones:
        yield Finding.of(
            "subnet-addresses/zones",
            cluster_subject(facts),
            (
                *map(_free_text, known_subnets),
                with_source("without them it fails: InsufficientFreeAddresses, IpNotAvailable", required.source),
            ),
            enough=len(sufficient_zones),
            free=required.number,
            zones=zones,
        )
    else:
        yield from (_scarce_subnet(facts, each) for each in scarce_subnets)


def _scarce_subnet(facts: CheckFacts, scarce_subnet: Subnet) -> Finding:
    return Finding.of(
        "subnet-addresses/scarce",
        Subject("Subnet", scarce_subnet.id),
        (
            _free_text(scarce_subnet),
            with_source("up to five free addresses in the cluster's subnets", rule_basis("free-addresses").source),
        ),
        free=scarce_subnet.free,
        zone=scarce_subnet.zone,
        free_addresses=rule_basis("free-addresses").number,
        command=aws_command(
            facts, "ec2", "describe-network-interfaces", "--filters", f"Name=subnet-id,Values={scarce_subnet.id}"
        ),
    )


def _free_text(subnet_facts: Subnet) -> str:
    return (
        f"{subnet_facts.id} in {subnet_facts.zone or 'an unknown zone'}: {subnet_facts.free} free of "
        f"{subnet_facts.block or 'an unknown block'}"
    )


def _unknown_subnets(code: CodeName, subnets: Mapping[str, Subnet | Unknown]) -> Iterator[Finding]:
    """One finding for all subnets that are unknown for the same reason."""
    ids_by_reason: dict[Unknown, list[str]] = defaultdict(list)
    for ident, each in subnets.items():
        if isinstance(each, Unknown):
            ids_by_reason[each].append(ident)
    for reason, subnet_ids in ids_by_reason.items():
        yield unknown_finding(f"{code}/free-addresses", Subject("Subnet", ", ".join(subnet_ids[:3])), reason)


def _check_group_subnets(facts: CheckFacts) -> Iterator[Finding]:
    code = "subnet-addresses-nodes"
    yield from unknown_node_groups(facts, "subnet-addresses-nodes/subnets", Severity.LOW)
    unknown_subnets: dict[str, Subnet | Unknown] = {}
    for group in known_node_groups(facts):
        if group.strategy == MINIMAL_STRATEGY:
            continue  # new nodes use the addresses of old ones
        if not group.subnets:
            reason = Unknown("EKS does not tell them")
            yield unknown_finding(
                "subnet-addresses-nodes/subnets", node_group_subject(group.name), reason, Severity.LOW
            )
            continue
        group_subnets = {ident: known_subnet(facts, ident) for ident in group.subnets}
        unknown_subnets |= {ident: each for ident, each in group_subnets.items() if isinstance(each, Unknown)}
        by_zone: dict[str, list[Subnet]] = defaultdict(list)
        for each in group_subnets.values():
            if isinstance(each, Subnet):
                by_zone[each.zone].append(each)
        if not any(isinstance(each, Unknown) for each in group_subnets.values()):
            added_nodes = max_surge(len(by_zone), max_unavailable(group.at_once, group.size or 0))
            added_per_zone = math.ceil(added_nodes / len(by_zone))
            pods_per_node = _pods_per_node(facts, group)
            for zone, subnets in sorted(by_zone.items()):
                free = sum(each.free or 0 for each in subnets)
                if free < added_per_zone:
                    yield _too_few_addresses(group, zone, subnets, added_per_zone)
                elif pods_per_node is not None and free < added_per_zone * (1 + pods_per_node):
                    yield _too_few_addresses(group, zone, subnets, added_per_zone, pluralize(pods_per_node, "pod"))
    yield from _unknown_subnets(code, unknown_subnets)
    if known_node_groups(facts):
        yield from unread_lists(facts, "subnet-addresses-nodes/pods", severity=Severity.LOW)


def _too_few_addresses(group: NodeGroup, zone: str, subnets: list[Subnet], added_nodes: int, pods: str = "") -> Finding:
    free = sum(each.free or 0 for each in subnets)
    return Finding.of(
        "subnet-addresses-nodes",
        node_group_subject(group.name),
        (
            *map(_free_text, subnets),
            with_source("up to two nodes for each zone before one is drained", rule_basis("surge").source),
        )
        + ((with_source("how many addresses its pods need", _POD_COUNT_SOURCE),) if pods else ()),
        severity=Severity.LOW if pods else Severity.MEDIUM,
        root_cause=Subject("Subnet", subnets[0].id) if len(subnets) == 1 else None,
        number=pluralize(added_nodes, "node"),
        zone=zone,
        pods=pods,
        free=free,
    )


def _pods_per_node(facts: CheckFacts, group: NodeGroup) -> int | None:
    """Pods with an address of their own per node, on average, rounded up; None without nodes or if pods are unread."""
    if facts.cluster.not_read(kinds.NODES, kinds.PODS):
        return None
    nodes = {each.name for each in nodes_in_group(facts, group.name)}
    pods = [each for each in facts.cluster.pods if each.node in nodes and not each.finished]
    address_count = sum(1 for each in pods if not each.calls.host_network)
    return math.ceil(address_count / len(nodes)) if nodes else None


CHECKS = (
    UpgradeCheck.of("subnet-addresses", _check_cluster_subnets),
    UpgradeCheck.of("subnet-addresses-nodes", _check_group_subnets),
)


# Quotas of the account, compared with what the update of the neediest node group adds temporarily.


_GIB_IN_TIB = 1024


@frozen
class _QuotaNeed:
    """What the update of `group` adds temporarily, in the unit of the quota; `explanation`: how it was counted."""

    group: NodeGroup
    amount: float
    explanation: str


Amount = _QuotaNeed | Unknown


def _known_quota(facts: CheckFacts, quota_info: QuotaKey) -> Quota | Unknown:
    quotas = facts.aws.quotas
    return quotas if isinstance(quotas, Unknown) else quotas.get(quota_info.code, NOT_ASKED)


def _added_nodes(facts: CheckFacts, group: NodeGroup) -> int:
    """The nodes that an update adds, by the zones of its subnets; a subnet of unknown zone counts as another zone."""
    if group.strategy == MINIMAL_STRATEGY:
        return 0
    subnets = {} if isinstance(facts.aws.subnets, Unknown) else facts.aws.subnets
    zones = {each.zone if isinstance(each := subnets.get(ident), Subnet) else ident for ident in group.subnets}
    return max_surge(len(zones), max_unavailable(group.at_once, group.size or 0))


def _node_vcpus(node: Node) -> int | None:
    """vCPUs of the node: the kubelet reserves less than one of them (EKS user guide, on kubeReserved)."""
    milli_cpus = node.allocatable.get("cpu")
    return math.ceil(milli_cpus / 1000) if milli_cpus else None


def _vcpus_needed(facts: CheckFacts, group: NodeGroup) -> Amount:
    node_vcpus = [cpus for each in nodes_in_group(facts, group.name) if (cpus := _node_vcpus(each)) is not None]
    if not node_vcpus:
        return Unknown("it has no nodes that tell how many vCPUs an instance has")
    added_nodes = _added_nodes(facts, group)
    return _QuotaNeed(
        group,
        added_nodes * max(node_vcpus),
        f"up to {pluralize(added_nodes, 'node')} more, with {max(node_vcpus)} vCPUs each",
    )


def _disk_needed(facts: CheckFacts, group: NodeGroup) -> Amount:
    if group.disk is None:
        return Unknown("its launch template says how large a disk is")
    added_nodes = _added_nodes(facts, group)
    amount = added_nodes * group.disk / _GIB_IN_TIB
    return _QuotaNeed(group, amount, f"up to {pluralize(added_nodes, 'node')} more, with {group.disk} GiB each")


def _vcpus_in_cluster(facts: CheckFacts, spot: bool) -> int:
    """vCPUs of the nodes of this cluster: the account uses at least that many."""
    standard_nodes = [each for each in facts.cluster.nodes if is_standard_instance(each.instance_type)]
    return sum(_node_vcpus(each) or 0 for each in standard_nodes if (each.capacity_type == "spot") == spot)


def _may_use_standard_instances(group: NodeGroup, capacity: str) -> bool:
    """Whether the group may use that quota; a group of unknown capacity type may use both."""
    types = group.instance_types
    return group.capacity in (capacity, "") and (not types or any(map(is_standard_instance, types)))


def _check_vcpu_quota(facts: CheckFacts, code: CodeName, which: QuotaKey, capacity: str) -> Iterator[Finding]:
    standard_groups = [each for each in known_node_groups(facts) if _may_use_standard_instances(each, capacity)]
    vcpus_in_cluster = _vcpus_in_cluster(facts, capacity == "SPOT")
    yield from _judge_quota(facts, code, which, standard_groups, _vcpus_needed, vcpus_in_cluster, Severity.LOW)


def _check_storage_quota(facts: CheckFacts) -> Iterator[Finding]:
    """The usage is not known: the disks of the groups' nodes are a part of it."""
    disks = sum((each.size or 0) * (each.disk or 0) for each in known_node_groups(facts)) / _GIB_IN_TIB
    groups = list(known_node_groups(facts))
    yield from _judge_quota(facts, "quota-gp3-storage", told.GP3, groups, _disk_needed, disks, Severity.INFO)


def _judge_quota(
    facts: CheckFacts,
    code: CodeName,
    quota_info: QuotaKey,
    groups: list[NodeGroup],
    need_of: Callable[[CheckFacts, NodeGroup], Amount],
    used_in_cluster: float,
    unknown_severity: Severity,
) -> Iterator[Finding]:
    """`used_in_cluster`: the least usage of the quota. `unknown_severity`: of an unknown usage."""
    yield from unknown_node_groups(facts, f"{code}/update-needs", Severity.LOW)
    if not groups:
        return
    yield from unread_lists(facts, f"{code}/nodes-have", severity=unknown_severity)
    needs = [(group, need_of(facts, group)) for group in groups]
    for group, each in needs:
        if isinstance(each, Unknown):
            yield unknown_finding(f"{code}/update-needs", node_group_subject(group.name), each, Severity.INFO)
    known_needs = [each for _, each in needs if isinstance(each, _QuotaNeed)]
    largest_need = max(known_needs, key=lambda each: each.amount, default=None)
    if largest_need is None or not largest_need.amount:
        return
    quota = _known_quota(facts, quota_info)
    if isinstance(quota, Unknown):
        yield unknown_finding(
            f"{code}/quota-left", _quota_subject(quota_info), quota, unknown_severity, which=quota_info.name
        )
        return
    used = used_in_cluster if isinstance(quota.used, Unknown) else max(used_in_cluster, quota.used)
    if quota.value - used < largest_need.amount:
        yield _quota_too_low(facts, code, quota_info, quota, used, largest_need)
    elif isinstance(quota.used, Unknown):
        reason = Unknown(f"{quota.used.why}; {_format_amount(quota.value)} are allowed", quota.used.missing)
        yield unknown_finding(
            f"{code}/quota-used", _quota_subject(quota_info), reason, unknown_severity, which=quota_info.name
        )


def _quota_too_low(
    facts: CheckFacts, code: CodeName, quota_info: QuotaKey, quota: Quota, used: float, largest_need: _QuotaNeed
) -> Finding:
    return Finding.of(
        f"{code}/too-low",
        _quota_subject(quota_info),
        (
            largest_need.explanation,
            "EKS user guide, managed-node-update-behavior: NodeCreationFailure where EC2 gives no more",
        ),
        which=quota_info.name,
        value=_format_amount(quota.value),
        used=_format_amount(used),
        least=isinstance(quota.used, Unknown),
        group=largest_need.group.name,
        amount=_format_amount(largest_need.amount),
        command=_increase_command(facts, quota_info, used + largest_need.amount),
    )


def _increase_command(facts: CheckFacts, quota_info: QuotaKey, desired: float) -> str:
    flags = (
        "--service-code",
        quota_info.service,
        "--quota-code",
        quota_info.code,
        "--desired-value",
        str(math.ceil(desired)),
    )
    return aws_command(facts, "service-quotas", "request-service-quota-increase", *flags)


def _quota_subject(quota_info: QuotaKey) -> Subject:
    return Subject("Quota", quota_info.code)


def _format_amount(value: float) -> str:
    return f"{value:g}" if value < 100_000 else f"{value:.0f}"


def _check_nodes_per_group(facts: CheckFacts) -> Iterator[Finding]:
    quota_info = told.NODES_PER_GROUP
    yield from unknown_node_groups(facts, "quota-nodes-per-group/size", Severity.LOW)
    for node_group in known_node_groups(facts):
        if node_group.size is None:
            reason = Unknown("EKS does not tell it")
            yield unknown_finding(
                "quota-nodes-per-group/size", node_group_subject(node_group.name), reason, Severity.LOW
            )
    group_sizes = [
        (node_group, node_group.size + _added_nodes(facts, node_group))
        for node_group in known_node_groups(facts)
        if node_group.size is not None
    ]
    if not group_sizes:
        return
    quota = _known_quota(facts, quota_info)
    if isinstance(quota, Unknown):
        yield unknown_finding(
            "quota-nodes-per-group/most", _quota_subject(quota_info), quota, Severity.LOW, which=quota_info.name
        )
        return
    for group, largest_size in group_sizes:
        if largest_size > quota.value:
            yield Finding.of(
                "quota-nodes-per-group",
                node_group_subject(group.name),
                (quota_info.code,),
                command=_increase_command(facts, quota_info, largest_size),
                size=group.size,
                added=largest_size - (group.size or 0),
                most=_format_amount(quota.value),
            )


_ON_DEMAND = partial(_check_vcpu_quota, code="quota-vcpus-on-demand", which=told.ON_DEMAND, capacity="ON_DEMAND")
_SPOT = partial(_check_vcpu_quota, code="quota-vcpus-spot", which=told.SPOT, capacity="SPOT")

QUOTA_CHECKS = (
    UpgradeCheck.of("quota-vcpus-on-demand", _ON_DEMAND),
    UpgradeCheck.of("quota-vcpus-spot", _SPOT),
    UpgradeCheck.of("quota-gp3-storage", _check_storage_quota),
    UpgradeCheck.of("quota-nodes-per-group", _check_nodes_per_group),
)
