"""All that is said of CoreDNS: what is wrong, what will happen, and in which order to mend it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model import dns_codes as codes
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.commands import Reach
from kubectl_eksdoc.core.model.findings import Finding, Severity, Status, in_order, reached
from kubectl_eksdoc.core.model.kinds import NODES
from kubectl_eksdoc.core.model.missing_rights import as_read
from kubectl_eksdoc.core.model.nodes import NodeOwner
from kubectl_eksdoc.core.plan.dns.facts import DnsFacts
from kubectl_eksdoc.core.plan.dns.judging import clients, configured, failing, lasting, leaving, placed
from kubectl_eksdoc.core.plan.dns.judging.leaving import Ending, ending
from kubectl_eksdoc.core.plan.dns.judging.subjects import ADDON, DEPLOYMENT, not_read
from kubectl_eksdoc.core.plan.dns.order import Step, steps
from kubectl_eksdoc.core.plan.dns.outlook import outlook


@dataclass(frozen=True, slots=True)
class Zone:
    """`nodes` that a pod could be on are counted, cordoned ones too; `serving` is None where that is not known."""

    name: str
    nodes: int
    pods: int
    ready: int
    serving: int | None


@dataclass(frozen=True, slots=True)
class DnsPlan:
    """`outlook`: what will happen, a sentence each; `steps`: in which order to mend it."""

    facts: DnsFacts
    ending: Ending
    zones: tuple[Zone, ...]
    outlook: tuple[str, ...]
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]


def plan_dns(facts: DnsFacts, reach: Reach = Reach()) -> DnsPlan:
    """`reach`: by which words the commands lead to the cluster that was read."""
    found = as_read(in_order(_findings(facts)), facts.cluster.source)
    end = ending(facts)
    return DnsPlan(
        facts,
        end,
        _zones(facts),
        outlook(facts, end, found),
        tuple(replace(each, command=reach.of(each.command)) for each in steps(found, end, facts.self_managed)),
        tuple(reached(each, reach) for each in found),
    )


def _findings(facts: DnsFacts) -> Iterator[Finding]:
    of = facts.deployed
    if isinstance(of, Absent):
        yield _no_deployment(facts, of)
        if not facts.pods:
            return
    elif isinstance(of, Unknown):
        yield not_read("CoreDNS's Deployment", of)
    if isinstance(facts.addon, Unknown):
        yield not_read("whether CoreDNS is an add-on of EKS", facts.addon, ADDON)
    elif not isinstance(facts.addon, Absent) and isinstance(facts.addon.values, Unknown):
        yield not_read("the configuration of the add-on", facts.addon.values, ADDON)
    yield from configured.judged(facts)
    yield from leaving.judged(facts)
    yield from lasting.judged(facts)
    yield from failing.judged(facts)
    yield from placed.judged(facts)
    yield from clients.judged(facts)
    yield from _elsewhere(facts)


def _no_deployment(facts: DnsFacts, of: Absent) -> Finding:
    """With EKS Auto Mode alone that is as it should be."""
    owners = {node.owner for node in facts.cluster.nodes}
    if facts.cluster.unread(NODES):
        return not_read("whether anybody needs CoreDNS, which has no Deployment here", Unknown("nodes were not read"))
    if owners == {NodeOwner.AUTO_MODE} or (not owners and facts.auto_mode is True):
        return Finding(
            codes.WITHOUT,
            Severity.INFO,
            Status.PASS,
            DEPLOYMENT,
            "all nodes are EKS Auto Mode's: DNS runs on each of them, and CoreDNS is not needed",
        )
    if facts.pods:
        why = f"{of.said}, and its {len(facts.pods)} pods are somebody else's"
        return not_read("what CoreDNS' pods are made by", Unknown(why))
    others = sorted(owner.value for owner in owners - {NodeOwner.AUTO_MODE})
    return Finding(
        codes.FAILING,
        Severity.CRITICAL,
        Status.FAIL,
        DEPLOYMENT,
        f"there is no Deployment of CoreDNS, and pods on {', '.join(others) or 'the nodes'} ask it: {of.said}",
    )


def _elsewhere(facts: DnsFacts) -> Iterator[Finding]:
    owners = [node.owner for node in facts.cluster.nodes]
    auto = owners.count(NodeOwner.AUTO_MODE)
    if auto or facts.auto_mode is True:
        yield Finding(
            codes.WITHOUT,
            Severity.INFO,
            Status.PASS,
            DEPLOYMENT,
            f"pods on the {auto} nodes of EKS Auto Mode ask the DNS of their node; only those of the other "
            f"{len(owners) - auto} ask CoreDNS",
        )
    fargate = [pod for pod in facts.pods if (node := facts.node_of(pod)) and node.owner is NodeOwner.FARGATE]
    if fargate:
        yield Finding(
            codes.WITHOUT,
            Severity.INFO,
            Status.PASS,
            DEPLOYMENT,
            f"{len(fargate)} pods of it run on Fargate: each has a node of its own, which AWS replaces when it patches",
        )


def _zones(facts: DnsFacts) -> tuple[Zone, ...]:
    """By name; what has no zone is one of its own, called ""."""
    told = failing.endpoints(facts)
    zone_of = {node.name: node.zone for node in facts.cluster.nodes if node.owner is not NodeOwner.FARGATE}
    found = []
    for name in sorted(set(zone_of.values())):
        pods = [pod for pod in facts.pods if zone_of.get(pod.node) == name]
        serving = None if isinstance(told, Unknown) else sum(pod.uid in told.ready for pod in pods)
        nodes = sum(zone == name for zone in zone_of.values())
        found.append(Zone(name, nodes, len(pods), sum(pod.ready for pod in pods), serving))
    return tuple(found)
