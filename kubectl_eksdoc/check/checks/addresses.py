"""Free addresses: of the control plane's subnets for its update, of the node groups' for the nodes that they add."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping

from kubectl_eksdoc.amazon.group_updates import surge, unavailable
from kubectl_eksdoc.amazon.upgrades.path import FREE_ADDRESSES
from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.checking import UpgradeCheck, cluster_of, unknown, unread
from kubectl_eksdoc.check.checks.managed import groups_unknown, node_groups, nodes_of, subject
from kubectl_eksdoc.check.facts import NOT_ASKED, CheckFacts
from kubectl_eksdoc.check.wording import aws, number, sourced
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.asked import Confidence, Unknown
from kubectl_eksdoc.model.aws.capacity import Subnet
from kubectl_eksdoc.model.aws.machines import NodeGroup
from kubectl_eksdoc.model.check_needs import CheckNeed
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.knowledge import KnowledgeSource

ZONES = 2
"""The control plane has interfaces in subnets of at least two zones (EKS user guide, network requirements)."""

MINIMAL = "MINIMAL"
"""With this strategy old nodes go before new ones come (botocore eks, NodegroupUpdateStrategies)."""

_FREE = KnowledgeSource("EKS user guide, update-cluster; that two zones must have them is concluded", Confidence.MEDIUM)
_SURGE = KnowledgeSource("EKS user guide, managed-node-update-behavior")
_PODS = KnowledgeSource(
    "counted: the pods that each of its nodes has now need an address on a new one, too", Confidence.LOW
)


def subnet(facts: CheckFacts, ident: str) -> Subnet | Unknown:
    """One that is gone meanwhile is unknown, too: nobody can tell what it had."""
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
    eks, code = facts.eks, Code.of("subnet-addresses")
    if isinstance(eks, Unknown):
        yield unknown(code, cluster_of(facts), "which subnets the control plane has", eks)
        return
    if not eks.subnets:
        why = Unknown("EKS does not tell them")
        yield unknown(code, cluster_of(facts), "which subnets the control plane has", why)
        return
    found = {ident: subnet(facts, ident) for ident in eks.subnets}
    yield from _untold(code, found)
    known = [each for each in found.values() if isinstance(each, Subnet)]
    enough = {each.zone for each in known if (each.free or 0) >= FREE_ADDRESSES}
    scarce = [each for each in known if (each.free or 0) < FREE_ADDRESSES]
    if len(known) == len(found) and len(enough) < ZONES:
        yield Finding(
            code,
            Severity.HIGH,
            Status.FAIL,
            cluster_of(facts),
            f"{number(len(enough), 'zone')} with {FREE_ADDRESSES} free addresses in a subnet of the cluster, and the"
            f" control plane's update needs them in {ZONES}",
            (*map(_free, known), sourced("without them it fails: InsufficientFreeAddresses, IpNotAvailable", _FREE)),
            (Remedy("Free addresses there, or give the cluster other subnets (aws eks update-cluster-config)."),),
        )
    else:
        yield from (_scarce(facts, each) for each in scarce)


def _scarce(facts: CheckFacts, each: Subnet) -> Finding:
    return Finding.of(
        "subnet-addresses",
        Subject("Subnet", each.id),
        (_free(each), sourced("up to five free addresses in the cluster's subnets", _FREE)),
        free=each.free,
        value=each.zone or "zone unknown",
        free_addresses=FREE_ADDRESSES,
        command=aws(facts, "ec2", "describe-network-interfaces", "--filters", f"Name=subnet-id,Values={each.id}"),
    )


def _free(each: Subnet) -> str:
    return f"{each.id} in {each.zone or 'an unknown zone'}: {each.free} free of {each.block or 'an unknown block'}"


def _untold(code: Code, found: Mapping[str, Subnet | Unknown]) -> Iterator[Finding]:
    """One finding for all that may not be described for the same reason."""
    whys: dict[Unknown, list[str]] = defaultdict(list)
    for ident, each in found.items():
        if isinstance(each, Unknown):
            whys[each].append(ident)
    for why, idents in whys.items():
        yield unknown(code, Subject("Subnet", ", ".join(idents[:3])), "how many addresses are free", why)


def _of_groups(facts: CheckFacts) -> Iterator[Finding]:
    code = Code.of("subnet-addresses-nodes")
    yield from groups_unknown(facts, code, "which subnets it has", Severity.LOW)
    untold: dict[str, Subnet | Unknown] = {}
    for group in node_groups(facts):
        if group.strategy == MINIMAL:
            continue  # the addresses of old nodes are there for new ones
        if not group.subnets:
            yield unknown(
                code, subject(group.name), "which subnets it has", Unknown("EKS does not tell them"), Severity.LOW
            )
            continue
        found = {ident: subnet(facts, ident) for ident in group.subnets}
        untold |= {ident: each for ident, each in found.items() if isinstance(each, Unknown)}
        by_zone: dict[str, list[Subnet]] = defaultdict(list)
        for each in found.values():
            if isinstance(each, Subnet):
                by_zone[each.zone].append(each)
        if not any(isinstance(each, Unknown) for each in found.values()):
            yield from _of_zones(facts, group, by_zone)
    yield from _untold(code, untold)
    if node_groups(facts):
        yield from unread(facts, code, "how many pods need an address", kinds.NODES, kinds.PODS, severity=Severity.LOW)


def _of_zones(facts: CheckFacts, group: NodeGroup, by_zone: Mapping[str, list[Subnet]]) -> Iterator[Finding]:
    added = surge(len(by_zone), unavailable(group.at_once, group.size or 0))
    in_zone = math.ceil(added / len(by_zone))
    pods = _pods_a_node(facts, group)
    for zone, subnets in sorted(by_zone.items()):
        free = sum(each.free or 0 for each in subnets)
        if free < in_zone:
            yield _too_few(facts, group, zone, subnets, in_zone, "an address each", Severity.MEDIUM, _SURGE)
        elif pods is not None and free < in_zone * (1 + pods):
            what = f"an address each, and about {number(pods, 'pod')} on each of them"
            yield _too_few(facts, group, zone, subnets, in_zone, what, Severity.LOW, _PODS)


def _too_few(
    facts: CheckFacts,
    group: NodeGroup,
    zone: str,
    subnets: list[Subnet],
    added: int,
    what: str,
    severity: Severity,
    source: KnowledgeSource,
) -> Finding:
    free = sum(each.free or 0 for each in subnets)
    return Finding.of(
        "subnet-addresses-nodes",
        subject(group.name),
        (*map(_free, subnets), sourced("up to two nodes for each zone before one is drained", _SURGE))
        + (() if source is _SURGE else (sourced("how many addresses its pods need", source),)),
        severity=severity,
        root_cause=Subject("Subnet", subnets[0].id) if len(subnets) == 1 else None,
        number=number(added, "node"),
        value=zone or "a zone",
        what=what,
        free=free,
    )


def _pods_a_node(facts: CheckFacts, group: NodeGroup) -> int | None:
    """Those with an address of their own, on the average, rounded up; None where it has no nodes or pods are unread."""
    if facts.cluster.unread(kinds.NODES, kinds.PODS):
        return None
    nodes = {each.name for each in nodes_of(facts, group.name)}
    pods = [each for each in facts.cluster.pods if each.node in nodes and not each.finished]
    held = sum(1 for each in pods if not each.calls.host_network)
    return math.ceil(held / len(nodes)) if nodes else None


CHECKS = (
    UpgradeCheck(
        (Code.of("subnet-addresses"),),
        Area.CAPACITY,
        Gate.BEFORE_CONTROL_PLANE,
        _of_cluster,
        needs=(CheckNeed.SUBNETS,),
    ),
    UpgradeCheck(
        (Code.of("subnet-addresses-nodes"),),
        Area.CAPACITY,
        Gate.BEFORE_NODES,
        _of_groups,
        (kinds.NODES, kinds.PODS),
        (CheckNeed.SUBNETS, CheckNeed.NODE_GROUPS),
    ),
)
