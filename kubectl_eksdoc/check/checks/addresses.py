"""Free IP addresses and quotas: subnets of the control plane's update and of node group updates, and EC2 quotas."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from kubectl_eksdoc.amazon.addon_needs import is_standard
from kubectl_eksdoc.amazon.group_updates import surge, unavailable
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model import machines as told
from kubectl_eksdoc.model.findings import CodeName, Finding, Severity, Subject
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, basis
from kubectl_eksdoc.model.machines import NodeGroup, Quota, QuotaOf, Subnet
from kubectl_eksdoc.model.nodes import Node

from ..checking import (
    NOT_ASKED,
    CheckFacts,
    UpgradeCheck,
    aws,
    cluster_of,
    number,
    sourced,
    unknown,
    unread,
)
from .software import groups_unknown, node_groups, nodes_of, subject

MINIMAL = "MINIMAL"
"""Old nodes are removed before new ones are added with this strategy (botocore eks, NodegroupUpdateStrategies)."""

_PODS = KnowledgeSource(
    "counted: the pods that each of its nodes has now need an address on a new one, too", Confidence.LOW
)


def subnet(facts: CheckFacts, ident: str) -> Subnet | Unknown:
    """The subnet, or why its free addresses are unknown; a deleted subnet is unknown, too."""
    told = facts.aws.subnets
    if isinstance(told, Unknown):
        return told
    found = told.get(ident, NOT_ASKED)
    if isinstance(found, Subnet):
        return found if found.free is not None else Unknown("EC2 does not tell how many of its addresses are free")
    return found if isinstance(found, Unknown) else Unknown(found.said)


def _of_cluster(facts: CheckFacts) -> Iterator[Finding]:
    if not facts.way.steps:
        return
    eks, code = facts.eks, "subnet-addresses"
    if isinstance(eks, Unknown):
        yield unknown("subnet-addresses/cluster", cluster_of(facts), eks)
        return
    if not eks.subnets:
        why = Unknown("EKS does not tell them")
        yield unknown("subnet-addresses/cluster", cluster_of(facts), why)
        return
    found = {ident: subnet(facts, ident) for ident in eks.subnets}
    yield from _untold(code, found)
    known = [each for each in found.values() if isinstance(each, Subnet)]
    wanted, zones = basis("free-addresses"), basis("network-zones").number
    enough = {each.zone for each in known if (each.free or 0) >= wanted.number}
    scarce = [each for each in known if (each.free or 0) < wanted.number]
    if len(known) == len(found) and len(enough) < zones:
        yield Finding.of(
            "subnet-addresses/zones",
            cluster_of(facts),
            (
                *map(_free, known),
                sourced("without them it fails: InsufficientFreeAddresses, IpNotAvailable", wanted.source),
            ),
            enough=len(enough),
            free=wanted.number,
            zones=zones,
        )
    else:
        yield from (_scarce(facts, each) for each in scarce)


def _scarce(facts: CheckFacts, each: Subnet) -> Finding:
    return Finding.of(
        "subnet-addresses/scarce",
        Subject("Subnet", each.id),
        (_free(each), sourced("up to five free addresses in the cluster's subnets", basis("free-addresses").source)),
        free=each.free,
        zone=each.zone,
        free_addresses=basis("free-addresses").number,
        command=aws(facts, "ec2", "describe-network-interfaces", "--filters", f"Name=subnet-id,Values={each.id}"),
    )


def _free(each: Subnet) -> str:
    return f"{each.id} in {each.zone or 'an unknown zone'}: {each.free} free of {each.block or 'an unknown block'}"


def _untold(code: CodeName, found: Mapping[str, Subnet | Unknown]) -> Iterator[Finding]:
    """One finding for all subnets that are unknown for the same reason."""
    whys: dict[Unknown, list[str]] = defaultdict(list)
    for ident, each in found.items():
        if isinstance(each, Unknown):
            whys[each].append(ident)
    for why, idents in whys.items():
        yield unknown(f"{code}/free-addresses", Subject("Subnet", ", ".join(idents[:3])), why)


def _of_groups(facts: CheckFacts) -> Iterator[Finding]:
    code = "subnet-addresses-nodes"
    yield from groups_unknown(facts, "subnet-addresses-nodes/subnets", Severity.LOW)
    untold: dict[str, Subnet | Unknown] = {}
    for group in node_groups(facts):
        if group.strategy == MINIMAL:
            continue  # new nodes use the addresses of old ones
        if not group.subnets:
            why = Unknown("EKS does not tell them")
            yield unknown("subnet-addresses-nodes/subnets", subject(group.name), why, Severity.LOW)
            continue
        found = {ident: subnet(facts, ident) for ident in group.subnets}
        untold |= {ident: each for ident, each in found.items() if isinstance(each, Unknown)}
        by_zone: dict[str, list[Subnet]] = defaultdict(list)
        for each in found.values():
            if isinstance(each, Subnet):
                by_zone[each.zone].append(each)
        if not any(isinstance(each, Unknown) for each in found.values()):
            added = surge(len(by_zone), unavailable(group.at_once, group.size or 0))
            in_zone = math.ceil(added / len(by_zone))
            pods = _pods_a_node(facts, group)
            for zone, subnets in sorted(by_zone.items()):
                free = sum(each.free or 0 for each in subnets)
                if free < in_zone:
                    yield _too_few(group, zone, subnets, in_zone)
                elif pods is not None and free < in_zone * (1 + pods):
                    yield _too_few(group, zone, subnets, in_zone, number(pods, "pod"))
    yield from _untold(code, untold)
    if node_groups(facts):
        yield from unread(facts, "subnet-addresses-nodes/pods", severity=Severity.LOW)


def _too_few(group: NodeGroup, zone: str, subnets: list[Subnet], added: int, pods: str = "") -> Finding:
    free = sum(each.free or 0 for each in subnets)
    return Finding.of(
        "subnet-addresses-nodes",
        subject(group.name),
        (*map(_free, subnets), sourced("up to two nodes for each zone before one is drained", basis("surge").source))
        + ((sourced("how many addresses its pods need", _PODS),) if pods else ()),
        severity=Severity.LOW if pods else Severity.MEDIUM,
        root_cause=Subject("Subnet", subnets[0].id) if len(subnets) == 1 else None,
        number=number(added, "node"),
        zone=zone,
        pods=pods,
        free=free,
    )


def _pods_a_node(facts: CheckFacts, group: NodeGroup) -> int | None:
    """Pods with an address of their own per node, on average, rounded up; None without nodes or if pods are unread."""
    if facts.cluster.unread(kinds.NODES, kinds.PODS):
        return None
    nodes = {each.name for each in nodes_of(facts, group.name)}
    pods = [each for each in facts.cluster.pods if each.node in nodes and not each.finished]
    held = sum(1 for each in pods if not each.calls.host_network)
    return math.ceil(held / len(nodes)) if nodes else None


CHECKS = (
    UpgradeCheck.of("subnet-addresses", _of_cluster),
    UpgradeCheck.of("subnet-addresses-nodes", _of_groups),
)


# Quotas of the account, compared with what the update of the neediest node group adds temporarily.


_GIB_IN_TIB = 1024


@frozen
class _Needed:
    """What the update of `group` adds temporarily, in the unit of the quota; `explanation`: how it was counted."""

    group: NodeGroup
    amount: float
    how: str


Amount = _Needed | Unknown


def _quota(facts: CheckFacts, which: QuotaOf) -> Quota | Unknown:
    found = facts.aws.quotas
    return found if isinstance(found, Unknown) else found.get(which.code, NOT_ASKED)


def _added(facts: CheckFacts, group: NodeGroup) -> int:
    """The nodes that an update adds, by the zones of its subnets; a subnet of unknown zone counts as another zone."""
    if group.strategy == MINIMAL:
        return 0
    subnets = {} if isinstance(facts.aws.subnets, Unknown) else facts.aws.subnets
    zones = {each.zone if isinstance(each := subnets.get(ident), Subnet) else ident for ident in group.subnets}
    return surge(len(zones), unavailable(group.at_once, group.size or 0))


def _cpus(node: Node) -> int | None:
    """vCPUs of the node: the kubelet reserves less than one of them (EKS user guide, on kubeReserved)."""
    milli = node.allocatable.get("cpu")
    return math.ceil(milli / 1000) if milli else None


def _cpus_needed(facts: CheckFacts, group: NodeGroup) -> Amount:
    sizes = [cpus for each in nodes_of(facts, group.name) if (cpus := _cpus(each)) is not None]
    if not sizes:
        return Unknown("it has no nodes that tell how many vCPUs an instance has")
    added = _added(facts, group)
    return _Needed(group, added * max(sizes), f"up to {number(added, 'node')} more, with {max(sizes)} vCPUs each")


def _disk_needed(facts: CheckFacts, group: NodeGroup) -> Amount:
    if group.disk is None:
        return Unknown("its launch template says how large a disk is")
    added = _added(facts, group)
    amount = added * group.disk / _GIB_IN_TIB
    return _Needed(group, amount, f"up to {number(added, 'node')} more, with {group.disk} GiB each")


def _cpus_here(facts: CheckFacts, spot: bool) -> int:
    """vCPUs of the nodes of this cluster: the account uses at least that many."""
    ours = [each for each in facts.cluster.nodes if is_standard(each.instance_type)]
    return sum(_cpus(each) or 0 for each in ours if (each.capacity_type == "spot") == spot)


def _standard(group: NodeGroup, capacity: str) -> bool:
    """Whether the group may use that quota; a group of unknown capacity type may use both."""
    types = group.instance_types
    return group.capacity in (capacity, "") and (not types or any(map(is_standard, types)))


def _vcpus(facts: CheckFacts, code: CodeName, which: QuotaOf, capacity: str) -> Iterator[Finding]:
    ours = [each for each in node_groups(facts) if _standard(each, capacity)]
    here = _cpus_here(facts, capacity == "SPOT")
    yield from _judged(facts, code, which, ours, _cpus_needed, here, Severity.LOW)


def _storage(facts: CheckFacts) -> Iterator[Finding]:
    """The usage is not known: the disks of the groups' nodes are a part of it."""
    disks = sum((each.size or 0) * (each.disk or 0) for each in node_groups(facts)) / _GIB_IN_TIB
    groups = list(node_groups(facts))
    yield from _judged(facts, "quota-gp3-storage", told.GP3, groups, _disk_needed, disks, Severity.INFO)


def _judged(
    facts: CheckFacts,
    code: CodeName,
    which: QuotaOf,
    groups: list[NodeGroup],
    needed: Callable[[CheckFacts, NodeGroup], Amount],
    here: float,
    unsure: Severity,
) -> Iterator[Finding]:
    """`used_in_cluster`: the least usage of the quota. `unknown_severity`: of an unknown usage."""
    yield from groups_unknown(facts, f"{code}/update-needs", Severity.LOW)
    if not groups:
        return
    yield from unread(facts, f"{code}/nodes-have", severity=unsure)
    found = [(group, needed(facts, group)) for group in groups]
    for group, each in found:
        if isinstance(each, Unknown):
            yield unknown(f"{code}/update-needs", subject(group.name), each, Severity.INFO)
    known = [each for _, each in found if isinstance(each, _Needed)]
    most = max(known, key=lambda each: each.amount, default=None)
    if most is None or not most.amount:
        return
    quota = _quota(facts, which)
    if isinstance(quota, Unknown):
        yield unknown(f"{code}/quota-left", _of(which), quota, unsure, which=which.name)
        return
    used = here if isinstance(quota.used, Unknown) else max(here, quota.used)
    if quota.value - used < most.amount:
        yield _too_low(facts, code, which, quota, used, most)
    elif isinstance(quota.used, Unknown):
        why = Unknown(f"{quota.used.why}; {_plain(quota.value)} are allowed", quota.used.missing)
        yield unknown(f"{code}/quota-used", _of(which), why, unsure, which=which.name)


def _too_low(facts: CheckFacts, code: CodeName, which: QuotaOf, quota: Quota, used: float, most: _Needed) -> Finding:
    return Finding.of(
        f"{code}/too-low",
        _of(which),
        (most.how, "EKS user guide, managed-node-update-behavior: NodeCreationFailure where EC2 gives no more"),
        which=which.name,
        value=_plain(quota.value),
        used=_plain(used),
        least=isinstance(quota.used, Unknown),
        group=most.group.name,
        amount=_plain(most.amount),
        command=_raise(facts, which, used + most.amount),
    )


def _raise(facts: CheckFacts, which: QuotaOf, to: float) -> str:
    codes_of = ("--service-code", which.service, "--quota-code", which.code, "--desired-value", str(math.ceil(to)))
    return aws(facts, "service-quotas", "request-service-quota-increase", *codes_of)


def _of(which: QuotaOf) -> Subject:
    return Subject("Quota", which.code)


def _plain(value: float) -> str:
    return f"{value:g}" if value < 100_000 else f"{value:.0f}"


def _nodes_per_group(facts: CheckFacts) -> Iterator[Finding]:
    which = told.NODES_PER_GROUP
    yield from groups_unknown(facts, "quota-nodes-per-group/size", Severity.LOW)
    for each in node_groups(facts):
        if each.size is None:
            why = Unknown("EKS does not tell it")
            yield unknown("quota-nodes-per-group/size", subject(each.name), why, Severity.LOW)
    sized = [(each, each.size + _added(facts, each)) for each in node_groups(facts) if each.size is not None]
    if not sized:
        return
    quota = _quota(facts, which)
    if isinstance(quota, Unknown):
        yield unknown("quota-nodes-per-group/most", _of(which), quota, Severity.LOW, which=which.name)
        return
    for group, most in sized:
        if most > quota.value:
            yield Finding.of(
                "quota-nodes-per-group",
                subject(group.name),
                (which.code,),
                command=_raise(facts, which, most),
                size=group.size,
                added=most - (group.size or 0),
                most=_plain(quota.value),
            )


_ON_DEMAND = partial(_vcpus, code="quota-vcpus-on-demand", which=told.ON_DEMAND, capacity="ON_DEMAND")
_SPOT = partial(_vcpus, code="quota-vcpus-spot", which=told.SPOT, capacity="SPOT")

QUOTA_CHECKS = (
    UpgradeCheck.of("quota-vcpus-on-demand", _ON_DEMAND),
    UpgradeCheck.of("quota-vcpus-spot", _SPOT),
    UpgradeCheck.of("quota-gp3-storage", _storage),
    UpgradeCheck.of("quota-nodes-per-group", _nodes_per_group),
)
