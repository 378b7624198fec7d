"""The plans of other commands, made of the same cluster: their findings, or why there are none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from kubectl_eksdoc.addon_diff.circumstances import by_minors
from kubectl_eksdoc.addon_diff.corefile import at_later_version
from kubectl_eksdoc.addon_diff.facts import Asked
from kubectl_eksdoc.amazon import addon_versions
from kubectl_eksdoc.amazon.metadata_service import POD
from kubectl_eksdoc.amazon.upgrades.sourced import in_words, minor_of
from kubectl_eksdoc.check.checking import unknown
from kubectl_eksdoc.check.way import Way
from kubectl_eksdoc.coredns_lameduck.plan import plan_dns
from kubectl_eksdoc.drain.plan import make_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.errors import AwsError, ClusterError, EksdocError, Forbidden
from kubectl_eksdoc.flows import addon, dns, drain, interruption, metadata
from kubectl_eksdoc.flows.check.around import CheckAround
from kubectl_eksdoc.interruption.plan import InterruptionPlan, Wish
from kubectl_eksdoc.model import coredns
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import Addon, AddonVersions
from kubectl_eksdoc.model.aws.upgrades import UpgradeTold
from kubectl_eksdoc.model.check_needs import Need
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Subject
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import Node, NodeOwner

Sum = tuple[Finding, ...] | Unknown
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Summed:
    """`drain`: the plan behind the findings of ``drain plan``, None where none was made or nothing is to be drained.
    `notes`: what could not be read, and is no finding."""

    findings: Mapping[Need, Sum]
    drain: DrainPlan | None = None
    notes: tuple[str, ...] = ()


AS_A_GROUP_UPDATES = DrainPolicy(force=True, delete_emptydir_data=True, surge=1, effort=0)
"""The update of a managed node group adds nodes first, and evicts pods without a controller and with emptyDir, too
(EKS user guide, managed-node-update-behavior). No order is searched: what blocks does so in any."""

KINDS_OF: Mapping[Need, Sequence[Resource]] = {
    Need.PLAN_DRAIN: drain.READS,
    Need.PLAN_ADDONS: addon.KINDS,
    Need.PLAN_IMDS: metadata.KINDS,
    Need.PLAN_DNS: (*dns.KINDS, *interruption.KINDS),
    Need.PLAN_INTERRUPTION: interruption.KINDS,
}
"""The lists of the cluster that each of them reads."""

_LEFT_TO_OTHERS = (NodeOwner.FARGATE, NodeOwner.AUTO_MODE)
"""Nobody drains those: the owners of Fargate's pods are restarted, EKS replaces the others itself."""


def summed(
    cluster: Cluster, way: Way, told: UpgradeTold, around: CheckAround, needs: frozenset[Need], again: tuple[str, ...]
) -> Summed:
    """Of those of `needs` that are other commands. `again`: the words that lead to the same cluster once more.

    Raises:
        ClusterError: the cluster cannot be talked to any more.
    """

    noted: list[str] = []

    @cache
    def notices() -> InterruptionPlan:
        plan = interruption.look_at_interruption(cluster, around.interruption, Wish(again=again))
        noted.extend(plan.facts.cluster.notes)
        return plan

    planned = _or_why_not(lambda: replacement(cluster, way)) if Need.PLAN_DRAIN in needs else None
    makers: Mapping[Need, Callable[[], Sum]] = {
        Need.PLAN_DRAIN: lambda: _holding_up(planned),
        Need.PLAN_ADDONS: lambda: _addons(cluster, way, told, around),
        Need.PLAN_IMDS: lambda: metadata.plan_imds(cluster, around.machines, POD, around.interruption.inside).findings,
        Need.PLAN_DNS: lambda: _dns(cluster, around, notices),
        Need.PLAN_INTERRUPTION: lambda: notices().findings,
    }
    found = {need: _or_why_not(make) for need, make in makers.items() if need in needs}
    return Summed(found, None if isinstance(planned, Unknown) else planned, tuple(noted))


def _or_why_not(make: Callable[[], Made]) -> Made | Unknown:
    """One command that could not be answered takes no other with it.

    Raises:
        ClusterError: nothing can be asked any more; what is only forbidden is not that.
    """
    try:
        return make()
    except Forbidden as error:
        return Unknown(error.message, error.missing)
    except ClusterError:
        raise
    except AwsError as error:
        return Unknown(error.message, getattr(error, "missing", ""))
    except EksdocError as error:
        return Unknown(error.message)


def replacement(cluster: Cluster, way: Way) -> DrainPlan | None:
    """Of all nodes that are older than the target; None where there are none."""
    targets = tuple(node for node in cluster.nodes if _to_be_replaced(node, way))
    return make_plan(cluster, targets, AS_A_GROUP_UPDATES) if targets else None


def _holding_up(planned: DrainPlan | Unknown | None) -> Sum:
    """What would hold up the replacement."""
    if isinstance(planned, Unknown):
        return planned
    found = () if planned is None else planned.findings
    return tuple(each for each in found if each.code is not Code.of("needs-nodes"))  # its own update brings them


def _to_be_replaced(node: Node, way: Way) -> bool:
    """A kubelet that does not say how old it is may have to be."""
    return node.owner not in _LEFT_TO_OTHERS and (node.kubelet is None or minor_of(node.kubelet) < way.target)


def _addons(cluster: Cluster, way: Way, told: UpgradeTold, around: CheckAround) -> Sum:
    """Of each that EKS manages, its update to the version that EKS installs by default at the target, as far as it can
    be had now. What is not known of one takes nothing from what is found of others."""
    if isinstance(told.addons, Unknown):
        return told.addons
    if isinstance(around.eks, Unknown):
        return around.eks
    found: list[Finding] = []
    untold: dict[Unknown, list[str]] = defaultdict(list)
    for each in told.addons:
        if isinstance(each, Unknown):
            untold[each].append("one that could not be described")
            continue
        side = around.addon(each.name, _default(each, told, way))
        if isinstance(side, Unknown):
            untold[side].append(each.name)
        elif not isinstance(side, Absent):
            objects = around.interruption.objects
            plan = addon.plan_addon(cluster, around.eks, side, objects, Asked(), around.values_judged)
            later = _later(each, told, way, side.target.version)
            steps = tuple(by_minors(plan.facts))  # the checklist goes them one by one: they are in no way
            findings = (each for each in plan.findings if each not in steps)
            found += [*findings, *(at_later_version(plan.facts.objects, side.values, later) if later else ())]
    what = "what its update would change"
    lost = (
        unknown(Code.of("check-addons"), Subject("Addon", ", ".join(names)), what, why) for why, names in untold.items()
    )
    return (*found, *lost)


def _default(of: Addon, told: UpgradeTold, way: Way) -> str | None:
    """None where nothing tells it, or where it can be had only after the control plane's step: what an update would
    change that does not move it is looked at, then."""
    offered = told.addon_versions.get(of.name)
    found = _at_target(of, told, way)
    now = isinstance(offered, AddonVersions) and addon_versions.is_offered(offered, in_words(way.now), found)
    return found if found and now else None


def _at_target(of: Addon, told: UpgradeTold, way: Way) -> str:
    """The version that EKS installs by default at the target, "" where nothing tells it."""
    offered = told.addon_versions.get(of.name)
    return addon_versions.target(offered, in_words(way.target), "") if isinstance(offered, AddonVersions) else ""


def _later(of: Addon, told: UpgradeTold, way: Way, judged: str) -> str:
    """Of CoreDNS, the version that comes with the target, where its update was not `judged` by it; "" elsewhere."""
    found = _at_target(of, told, way) if of.name == coredns.NAME else ""
    return found if found != judged else ""


def _dns(cluster: Cluster, around: CheckAround, looked: Callable[[], InterruptionPlan]) -> Sum:
    """As ``coredns-lameduck`` does it."""
    auto = around.eks if isinstance(around.eks, Unknown) else around.eks.auto_mode
    facts = dns.dns_facts(cluster, around.interruption.objects, around.addon(coredns.NAME, None), auto, around.measured)
    return plan_dns(dns.with_pods(dns.with_notices(facts, looked), around.interruption.inside)).findings
