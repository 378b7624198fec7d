"""Plan of ``coredns-lameduck``: the findings, what will happen, and the fixes in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.drain_filters import not_ready_after_s
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import Finding, Severity, Status, in_order, reached
from kubectl_eksdoc.model.kinds import NODES, Absent, Unknown
from kubectl_eksdoc.model.missing_rights import as_read
from kubectl_eksdoc.model.nodes import Node, NodeOwner, Pod

from . import (
    configuration as configured,
)
from . import (
    failures as failing,
)
from . import (
    placement as placed,
)
from .configuration import (
    ADDON,
    DEPLOYMENT,
    LOOK,
    NO_START,
    not_read,
    place_elsewhere,
    set_to,
)
from .deployed import DnsFacts, InterruptionNotices
from .failures import ShutdownEnding, ending
from .placement import on_spot
from .shutdown import CLIENT_S

# The order of the fixes: first changes that move nothing and make the following ones safe.
#
# A longer lameduck is reloaded within two minutes and restarts no pod. A new placement is a rollout in which each old
# pod ends with its current lameduck. The queue helps at the next notice of a node.


@frozen
class CorednsStep:
    """`what`: a sentence; `moves`: what it moves or restarts, "" for nothing; `command`: "" where a person must
    decide."""

    what: str
    why: str
    moves: str
    command: str = ""


_FIRST_AID = ("dns-failing", "dns-not-serving")


def steps(findings: Sequence[Finding], end: ShutdownEnding, facts: DnsFacts) -> tuple[CorednsStep, ...]:
    """The fixes of what fails, in order; () where there is nothing to fix."""
    failing = {each.code.name: each for each in reversed(findings) if each.status is Status.FAIL}
    found = [_of_remedy(failing[code]) for code in _FIRST_AID if code in failing and failing[code].remedy]
    broken = [failing[code] for code in NO_START if code in failing]
    found += [_of_remedy(each, number) for each in broken for number in range(len(each.remedy))]
    if broken:
        return (
            *found,
            CorednsStep(
                "Look again before anything else.",
                "the other fixes recreate pods, and with this Corefile none of them starts",
                "nothing",
                LOOK,
            ),
        )
    doubted = (each for each in findings if each.code.name == "dns-lameduck-short")
    lameduck = next(doubted, failing.get("dns-lameduck-long"))
    if lameduck is not None and not end.advised_s:
        found.append(_of_remedy(lameduck, moves="each of its pods once, one at a time"))
    elif lameduck is not None:
        found.append(
            CorednsStep(
                f"Set lameduck to {end.advised_s} s.",
                "pods that end after it answer until every node sends elsewhere",
                "nothing; CoreDNS reloads its Corefile within two minutes",
                set_to(end.advised_s),
            )
        )
    if "dns-too-few" in failing and failing["dns-too-few"].severity is Severity.HIGH and "dns-failing" not in failing:
        found.append(_of_remedy(failing["dns-too-few"], moves="nothing"))
    if "dns-no-budget" in failing:
        found.append(_of_remedy(failing["dns-no-budget"], moves="nothing"))
    if "dns-on-spot" in failing or "dns-together" in failing:
        spot = "dns-on-spot" in failing
        found.append(
            CorednsStep(
                "Place it on on-demand nodes, spread over zones." if spot else "Spread it over nodes and zones.",
                "EC2 then takes none of its nodes back" if spot else "whatever takes one away leaves the others",
                "each of its pods once, one at a time",
                place_elsewhere(facts.self_managed),
            )
        )
    if "dns-notices-unheard" in failing:
        remedy = next(each for each in failing["dns-notices-unheard"].remedy if each.command)
        found.append(
            CorednsStep(
                f"Have Karpenter receive Spot interruption events. {remedy.text}",
                "all other pods on Spot nodes are terminated without SIGTERM, too",
                facts.notices.moves if isinstance(facts.notices, InterruptionNotices) else "",
                remedy.command,
            )
        )
    return tuple(found)


def _of_remedy(finding: Finding, number: int = 0, moves: str = "") -> CorednsStep:
    remedy = finding.remedy[number]
    return CorednsStep(remedy.text, finding.message, moves, remedy.command)


# What will happen to lookups: when a node is drained, when EC2 reclaims one, and at a rollout.


def outlook(facts: DnsFacts, end: ShutdownEnding, findings: Sequence[Finding]) -> tuple[str, ...]:
    """One sentence for each expected failure; () where none is expected."""
    return tuple(_sentences(facts, end, {each.code.name for each in findings if each.status is Status.FAIL}))


def _sentences(facts: DnsFacts, end: ShutdownEnding, failing: set[str]) -> Iterator[str]:
    ready = [pod for pod in facts.pods if pod.ready and not pod.deleting]
    if not ready:
        return  # no pod answers now
    asked = "every lookup" if len(ready) == 1 else f"1 of {len(ready)} lookups"
    if "dns-lameduck-short" in failing and not isinstance(end.budget, Unknown):
        yield (
            f"At each drain, update or scale-down, for {end.budget.propagation}, "
            f"{asked} goes to a pod that has stopped answering, and waits {CLIENT_S} s for nothing."
        )
    if "dns-lameduck-long" in failing and not isinstance(end.budget, Unknown) and end.budget.too_long:
        yield "At each drain, update or scale-down: CoreDNS is killed with questions still open."
    yield from _taken_back(facts, [each for each in on_spot(facts) if each[0] in ready], len(ready))


def _taken_back(facts: DnsFacts, spot: Sequence[tuple[Pod, Node]], every: int) -> Iterator[str]:
    if not spot:
        return
    unheard = [node for _, node in spot if _unheard(facts, node)]
    if unheard:
        late_s = not_ready_after_s(facts.cluster.identity.server_version)
        yield _dying([each for each in spot if _unheard(facts, each[1])], every, late_s)
        rest = [each for each in spot if not _unheard(facts, each[1])]
        yield from _taken_back(facts, rest, every)
        return
    nodes = sorted({node.name for _, node in spot})
    counted = f"{every} CoreDNS pod{'' if every == 1 else 's'}"
    there = f"{len(spot)} of {counted}"
    if _doubted(facts, [node for _, node in spot]):
        yield (
            f"When EC2 takes back {_or(nodes)}: whether it is drained is unknown; if not, "
            f"{there} {'is' if len(spot) == 1 else 'are'} terminated "
            "without SIGTERM (confidence: medium), and no lameduck helps."
        )
        return
    yield (
        f"When EC2 takes back {_or(nodes)}: it is drained within two minutes, critical pods last; CoreDNS is "
        "evicted as in any drain, if the others are gone in time."
    )


def _dying(spot: Sequence[tuple[Pod, Node]], every: int, not_ready_after_s: int) -> str:
    """The sentence about nodes that are not drained."""
    nodes = sorted({node.name for _, node in spot})
    there = f"{len(spot)} of {every} CoreDNS pod{'' if every == 1 else 's'}"
    share = f"all lookups fail ({there})" if len(spot) == every else f"{len(spot)} of {every} lookups fail"
    if len(nodes) > 1:
        share = f"its part of the lookups fails ({there} are on such nodes)"
    return (
        f"When EC2 takes back {_or(nodes)}: it is not drained, CoreDNS is terminated without SIGTERM (confidence: "
        f"medium), and {share} until the node counts as gone, about {not_ready_after_s} s; each of them waits "
        f"{CLIENT_S} s first."
    )


def _doubted(facts: DnsFacts, nodes: Sequence[Node]) -> bool:
    owners = {node.owner for node in nodes}
    if owners & {NodeOwner.SELF_MANAGED, NodeOwner.EKSCTL}:
        return True
    return NodeOwner.KARPENTER in owners and isinstance(facts.notices, Unknown)


def _unheard(facts: DnsFacts, node: Node) -> bool:
    """Whether the node is known not to be drained at a notice."""
    told = facts.notices
    return node.owner is NodeOwner.KARPENTER and not isinstance(told, Unknown) and not told.heard


def _or(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


@frozen
class CorednsZone:
    """`nodes`: nodes on which a pod could run, including cordoned ones; `serving` None: unknown."""

    name: str
    nodes: int
    pods: int
    ready: int
    serving: int | None


@frozen
class DnsPlan:
    """`outlook`: what will happen, one sentence each; `steps`: the fixes in order."""

    facts: DnsFacts
    ending: ShutdownEnding
    zones: tuple[CorednsZone, ...]
    outlook: tuple[str, ...]
    steps: tuple[CorednsStep, ...]
    findings: tuple[Finding, ...]


def plan_dns(facts: DnsFacts, reach: CommandTarget = CommandTarget()) -> DnsPlan:
    """`command_target`: the arguments with which commands reach the cluster that was read."""
    found = as_read(in_order(_findings(facts)), facts.cluster.source)
    end = ending(facts)
    return DnsPlan(
        facts,
        end,
        _zones(facts),
        outlook(facts, end, found),
        tuple(replace(each, command=reach.of(each.command)) for each in steps(found, end, facts)),
        tuple(reached(each, reach) for each in found),
    )


def _findings(facts: DnsFacts) -> Iterator[Finding]:
    of = facts.deployed
    if isinstance(of, Absent):
        yield _no_deployment(facts, of)
        if not facts.pods:
            return
    elif isinstance(of, Unknown):
        yield not_read("dns-unread/deployment", of)
    if isinstance(facts.addon, Unknown):
        yield not_read("dns-unread/addon", facts.addon, ADDON)
    elif not isinstance(facts.addon, Absent) and isinstance(facts.addon.values, Unknown):
        yield not_read("dns-unread/configuration", facts.addon.values, ADDON)
    yield from configured.judged(facts)
    yield from failing.judged(facts)
    yield from failing.judged_lasting(facts)
    yield from failing.judged_failing(facts)
    yield from placed.judged(facts)
    yield from configured.judged_clients(facts)
    yield from _elsewhere(facts)


def _no_deployment(facts: DnsFacts, of: Absent) -> Finding:
    """A missing Deployment is correct with EKS Auto Mode alone."""
    owners = {node.owner for node in facts.cluster.nodes}
    if facts.cluster.unread(NODES):
        return not_read("dns-unread/needed", Unknown("nodes were not read"))
    if owners == {NodeOwner.AUTO_MODE} or (not owners and facts.auto_mode is True):
        return Finding.of("dns-elsewhere/auto-mode", DEPLOYMENT)
    if facts.pods:
        why = f"{of.said}, and its {len(facts.pods)} pods belong to another controller"
        return not_read("dns-unread/maker", Unknown(why))
    others = sorted(owner.value for owner in owners - {NodeOwner.AUTO_MODE})
    return Finding.of("dns-failing/no-deployment", DEPLOYMENT, places=", ".join(others), said=of.said)


def _elsewhere(facts: DnsFacts) -> Iterator[Finding]:
    owners = [node.owner for node in facts.cluster.nodes]
    auto = owners.count(NodeOwner.AUTO_MODE)
    if auto or facts.auto_mode is True:
        yield Finding.of("dns-elsewhere/some-auto-mode", DEPLOYMENT, auto=auto, owners_count=len(owners) - auto)
    fargate = [pod for pod in facts.pods if (node := facts.node_of(pod)) and node.owner is NodeOwner.FARGATE]
    if fargate:
        yield Finding.of("dns-elsewhere/fargate", DEPLOYMENT, fargate_count=len(fargate))


def _zones(facts: DnsFacts) -> tuple[CorednsZone, ...]:
    """By name; nodes without a zone are in a zone called ""."""
    told = failing.endpoints(facts)
    zone_of = {node.name: node.zone for node in facts.cluster.nodes if node.owner is not NodeOwner.FARGATE}
    found = []
    for name in sorted(set(zone_of.values())):
        pods = [pod for pod in facts.pods if zone_of.get(pod.node) == name]
        serving = None if isinstance(told, Unknown) else sum(pod.uid in told.ready for pod in pods)
        nodes = sum(zone == name for zone in zone_of.values())
        found.append(CorednsZone(name, nodes, len(pods), sum(pod.ready for pod in pods), serving))
    return tuple(found)
