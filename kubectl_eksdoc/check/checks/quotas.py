"""Quotas of the account, against what the update of the neediest node group adds for a while."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from kubectl_eksdoc.amazon.group_updates import surge, unavailable
from kubectl_eksdoc.amazon.upgrades.quotas import is_standard
from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.checking import UpgradeCheck, unknown, unread
from kubectl_eksdoc.check.checks.addresses import MINIMAL
from kubectl_eksdoc.check.checks.managed import groups_unknown, node_groups, nodes_of, subject
from kubectl_eksdoc.check.facts import NOT_ASKED, CheckFacts
from kubectl_eksdoc.check.wording import aws, number
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws import capacity as told
from kubectl_eksdoc.model.aws.capacity import Quota, QuotaOf, Subnet
from kubectl_eksdoc.model.aws.machines import NodeGroup
from kubectl_eksdoc.model.check_needs import CheckNeed
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.model.nodes import Node

_GIB_IN_TIB = 1024


@dataclass(frozen=True, slots=True)
class _Needed:
    """What the update of `group` adds for a while, in the unit of the quota; `how`: how that was counted."""

    group: NodeGroup
    amount: float
    how: str


Amount = _Needed | Unknown


def _quota(facts: CheckFacts, which: QuotaOf) -> Quota | Unknown:
    found = facts.aws.quotas
    return found if isinstance(found, Unknown) else found.get(which.code, NOT_ASKED)


def _added(facts: CheckFacts, group: NodeGroup) -> int:
    """Zones as its subnets have them; where that is not known, each subnet may be in another one."""
    if group.strategy == MINIMAL:
        return 0
    subnets = {} if isinstance(facts.aws.subnets, Unknown) else facts.aws.subnets
    zones = {each.zone if isinstance(each := subnets.get(ident), Subnet) else ident for ident in group.subnets}
    return surge(len(zones), unavailable(group.at_once, group.size or 0))


def _cpus(node: Node) -> int | None:
    """vCPUs: what a kubelet keeps for itself is less than one of them (EKS user guide, on kubeReserved)."""
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
    """Those that nodes of this cluster have: the account has no fewer in use."""
    ours = [each for each in facts.cluster.nodes if is_standard(each.instance_type)]
    return sum(_cpus(each) or 0 for each in ours if (each.capacity_type == "spot") == spot)


def _standard(group: NodeGroup, capacity: str) -> bool:
    """A group of which EKS does not tell how its instances are bought may be of both."""
    types = group.instance_types
    return group.capacity in (capacity, "") and (not types or any(map(is_standard, types)))


def _vcpus(facts: CheckFacts, code: Code, which: QuotaOf, capacity: str) -> Iterator[Finding]:
    ours = [each for each in node_groups(facts) if _standard(each, capacity)]
    here = _cpus_here(facts, capacity == "SPOT")
    yield from _judged(facts, code, which, ours, _cpus_needed, here, Severity.LOW)


def _storage(facts: CheckFacts) -> Iterator[Finding]:
    """Nothing counts what is in use: the disks of the groups' nodes are a part of it."""
    disks = sum((each.size or 0) * (each.disk or 0) for each in node_groups(facts)) / _GIB_IN_TIB
    groups = list(node_groups(facts))
    yield from _judged(facts, Code.of("quota-gp3-storage"), told.GP3, groups, _disk_needed, disks, Severity.INFO)


def _judged(
    facts: CheckFacts,
    code: Code,
    which: QuotaOf,
    groups: list[NodeGroup],
    needed: Callable[[CheckFacts, NodeGroup], Amount],
    here: float,
    unsure: Severity,
) -> Iterator[Finding]:
    """`here`: so much of the quota is in use at the least. `unsure`: how bad it is that nobody knows more."""
    yield from groups_unknown(facts, code, "what its update needs", Severity.LOW)
    if not groups:
        return
    yield from unread(facts, code, "what nodes have", kinds.NODES, severity=unsure)
    found = [(group, needed(facts, group)) for group in groups]
    for group, each in found:
        if isinstance(each, Unknown):
            yield unknown(code, subject(group.name), "what its update needs", each, Severity.INFO)
    known = [each for _, each in found if isinstance(each, _Needed)]
    most = max(known, key=lambda each: each.amount, default=None)
    if most is None or not most.amount:
        return
    quota = _quota(facts, which)
    if isinstance(quota, Unknown):
        yield unknown(code, _of(which), f"how much of it is left ({which.name})", quota, unsure)
        return
    used = here if isinstance(quota.used, Unknown) else max(here, quota.used)
    if quota.value - used < most.amount:
        yield _too_low(facts, code, which, quota, used, most)
    elif isinstance(quota.used, Unknown):
        why = Unknown(f"{quota.used.why}; {_plain(quota.value)} are allowed", quota.used.missing)
        yield unknown(code, _of(which), f"how much of it is in use ({which.name})", why, unsure)


def _too_low(facts: CheckFacts, code: Code, which: QuotaOf, quota: Quota, used: float, most: _Needed) -> Finding:
    least = " at least, by this cluster alone" if isinstance(quota.used, Unknown) else ""
    return Finding(
        code,
        Severity.HIGH,
        Status.FAIL,
        _of(which),
        f"of the {which.name} {_plain(quota.value)} are allowed, {_plain(used)} are in use{least}, and the update of"
        f" node group {most.group.name} needs {_plain(most.amount)} more for a while",
        (most.how, "EKS user guide, managed-node-update-behavior: NodeCreationFailure where EC2 gives no more"),
        (_raise(facts, which, used + most.amount), *_minimal()),
    )


def _minimal() -> Iterator[Remedy]:
    yield Remedy("Or let the group update with strategy MINIMAL, which takes old nodes away first.")


def _raise(facts: CheckFacts, which: QuotaOf, to: float) -> Remedy:
    codes_of = ("--service-code", which.service, "--quota-code", which.code, "--desired-value", str(math.ceil(to)))
    wanted = aws(facts, "service-quotas", "request-service-quota-increase", *codes_of)
    return Remedy("Ask for more; that takes hours to days.", wanted, When.LATER)


def _of(which: QuotaOf) -> Subject:
    return Subject("Quota", which.code)


def _plain(value: float) -> str:
    return f"{value:g}" if value < 100_000 else f"{value:.0f}"


def _nodes_per_group(facts: CheckFacts) -> Iterator[Finding]:
    code, which = Code.of("quota-nodes-per-group"), told.NODES_PER_GROUP
    yield from groups_unknown(facts, code, "how many nodes it has", Severity.LOW)
    for each in node_groups(facts):
        if each.size is None:
            yield unknown(
                code, subject(each.name), "how many nodes it has", Unknown("EKS does not tell it"), Severity.LOW
            )
    sized = [(each, each.size + _added(facts, each)) for each in node_groups(facts) if each.size is not None]
    if not sized:
        return
    quota = _quota(facts, which)
    if isinstance(quota, Unknown):
        yield unknown(code, _of(which), f"how many there may be ({which.name})", quota, Severity.LOW)
        return
    for group, most in sized:
        if most > quota.value:
            yield Finding(
                code,
                Severity.HIGH,
                Status.FAIL,
                subject(group.name),
                f"it has {group.size} nodes, its update adds up to {most - (group.size or 0)}, and a node group may"
                f" have {_plain(quota.value)}",
                (which.code,),
                (_raise(facts, which, most), *_minimal()),
            )


_ON_DEMAND = partial(_vcpus, code=Code.of("quota-vcpus-on-demand"), which=told.ON_DEMAND, capacity="ON_DEMAND")
_SPOT = partial(_vcpus, code=Code.of("quota-vcpus-spot"), which=told.SPOT, capacity="SPOT")
_BEFORE, _KINDS, _NEEDS = Gate.BEFORE_NODES, (kinds.NODES,), (CheckNeed.NODE_GROUPS, CheckNeed.QUOTAS)

CHECKS = (
    UpgradeCheck((Code.of("quota-vcpus-on-demand"),), Area.CAPACITY, _BEFORE, _ON_DEMAND, _KINDS, _NEEDS),
    UpgradeCheck((Code.of("quota-vcpus-spot"),), Area.CAPACITY, _BEFORE, _SPOT, _KINDS, _NEEDS),
    UpgradeCheck((Code.of("quota-gp3-storage"),), Area.CAPACITY, _BEFORE, _storage, _KINDS, _NEEDS),
    UpgradeCheck((Code.of("quota-nodes-per-group"),), Area.CAPACITY, _BEFORE, _nodes_per_group, _KINDS, _NEEDS),
)
