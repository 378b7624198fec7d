"""Plan of ``coredns-lameduck``: the findings, what will happen, and the fixes in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.drain_filters import not_ready_after_s
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import Finding, Severity, Status, for_target, sort_findings
from kubectl_eksdoc.model.kinds import NODES, Absent, Unknown
from kubectl_eksdoc.model.missing_rights import for_source
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
    CHECK_COMMAND,
    DEPLOYMENT,
    NO_START_CODES,
    place_command,
    set_lameduck_command,
    unread_finding,
)
from .deployed import DnsFacts, InterruptionNotices
from .failures import ShutdownEnding, shutdown_ending
from .placement import spot_pods
from .shutdown import CLIENT_TIMEOUT_S

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


_URGENT_CODES = ("dns-failing", "dns-not-serving")


def fix_steps(findings: Sequence[Finding], ending_state: ShutdownEnding, facts: DnsFacts) -> tuple[CorednsStep, ...]:
    """The fixes of what fails, in order; () where there is nothing to fix."""
    failing_by_code = {each.code.name: each for each in reversed(findings) if each.status is Status.FAIL}
    fixes = [
        _step_from_remedy(failing_by_code[code])
        for code in _URGENT_CODES
        if code in failing_by_code and failing_by_code[code].remedy
    ]
    startup_findings = [failing_by_code[code] for code in NO_START_CODES if code in failing_by_code]
    fixes += [_step_from_remedy(each, number) for each in startup_findings for number in range(len(each.remedy))]
    if startup_findings:
        return (
            *fixes,
            CorednsStep(
                "Look again before anything else.",
                "the other fixes recreate pods, and with this Corefile none of them starts",
                "nothing",
                CHECK_COMMAND,
            ),
        )
    short_findings = (each for each in findings if each.code.name == "dns-lameduck-short")
    lameduck = next(short_findings, failing_by_code.get("dns-lameduck-long"))
    if lameduck is not None and not ending_state.advised_s:
        fixes.append(_step_from_remedy(lameduck, moves="each of its pods once, one at a time"))
    elif lameduck is not None:
        fixes.append(
            CorednsStep(
                f"Set lameduck to {ending_state.advised_s} s.",
                "pods that end after it answer until every node sends elsewhere",
                "nothing; CoreDNS reloads its Corefile within two minutes",
                set_lameduck_command(ending_state.advised_s),
            )
        )
    if (
        "dns-too-few" in failing_by_code
        and failing_by_code["dns-too-few"].severity is Severity.HIGH
        and "dns-failing" not in failing_by_code
    ):
        fixes.append(_step_from_remedy(failing_by_code["dns-too-few"], moves="nothing"))
    if "dns-no-budget" in failing_by_code:
        fixes.append(_step_from_remedy(failing_by_code["dns-no-budget"], moves="nothing"))
    if "dns-on-spot" in failing_by_code or "dns-together" in failing_by_code:
        is_on_spot = "dns-on-spot" in failing_by_code
        fixes.append(
            CorednsStep(
                "Place it on on-demand nodes, spread over zones." if is_on_spot else "Spread it over nodes and zones.",
                "EC2 then takes none of its nodes back" if is_on_spot else "whatever takes one away leaves the others",
                "each of its pods once, one at a time",
                place_command(facts.self_managed),
            )
        )
    if "dns-notices-unheard" in failing_by_code:
        remedy = next(each for each in failing_by_code["dns-notices-unheard"].remedy if each.command)
        fixes.append(
            CorednsStep(
                f"Have Karpenter receive Spot interruption events. {remedy.text}",
                "all other pods on Spot nodes are terminated without SIGTERM, too",
                facts.notices.impact if isinstance(facts.notices, InterruptionNotices) else "",
                remedy.command,
            )
        )
    return tuple(fixes)


def _step_from_remedy(finding: Finding, number: int = 0, moves: str = "") -> CorednsStep:
    remedy = finding.remedy[number]
    return CorednsStep(remedy.text, finding.message, moves, remedy.command)


# What will happen to lookups: when a node is drained, when EC2 reclaims one, and at a rollout.


def outlook(facts: DnsFacts, ending_state: ShutdownEnding, findings: Sequence[Finding]) -> tuple[str, ...]:
    """One sentence for each expected failure; () where none is expected."""
    return tuple(
        _outlook_sentences(facts, ending_state, {each.code.name for each in findings if each.status is Status.FAIL})
    )


def _outlook_sentences(facts: DnsFacts, ending_state: ShutdownEnding, failing: set[str]) -> Iterator[str]:
    ready = [pod for pod in facts.pods if pod.ready and not pod.deleting]
    if not ready:
        return  # no pod answers now
    share_text = "every lookup" if len(ready) == 1 else f"1 of {len(ready)} lookups"
    if "dns-lameduck-short" in failing and not isinstance(ending_state.budget, Unknown):
        yield (
            f"At each drain, update or scale-down, for {ending_state.budget.propagation}, "
            f"{share_text} goes to a pod that has stopped answering, and waits {CLIENT_TIMEOUT_S} s for nothing."
        )
    if (
        "dns-lameduck-long" in failing
        and not isinstance(ending_state.budget, Unknown)
        and ending_state.budget.is_too_long
    ):
        yield "At each drain, update or scale-down: CoreDNS is killed with questions still open."
    yield from _spot_sentences(facts, [each for each in spot_pods(facts) if each[0] in ready], len(ready))


def _spot_sentences(facts: DnsFacts, spot: Sequence[tuple[Pod, Node]], total: int) -> Iterator[str]:
    if not spot:
        return
    unhandled = [node for _, node in spot if _is_unhandled(facts, node)]
    if unhandled:
        not_ready_s = not_ready_after_s(facts.cluster.identity.server_version)
        yield _undrained_sentence([each for each in spot if _is_unhandled(facts, each[1])], total, not_ready_s)
        others = [each for each in spot if not _is_unhandled(facts, each[1])]
        yield from _spot_sentences(facts, others, total)
        return
    nodes = sorted({node.name for _, node in spot})
    counted = f"{total} CoreDNS pod{'' if total == 1 else 's'}"
    pods_text = f"{len(spot)} of {counted}"
    if _drain_is_unknown(facts, [node for _, node in spot]):
        yield (
            f"When EC2 takes back {_joined_with_or(nodes)}: whether it is drained is unknown; if not, "
            f"{pods_text} {'is' if len(spot) == 1 else 'are'} terminated "
            "without SIGTERM (confidence: medium), and no lameduck helps."
        )
        return
    yield (
        f"When EC2 takes back {_joined_with_or(nodes)}: it is drained within two minutes, critical pods last; "
        "CoreDNS is "
        "evicted as in any drain, if the others are gone in time."
    )


def _undrained_sentence(spot: Sequence[tuple[Pod, Node]], total: int, not_ready_after_s: int) -> str:
    """The sentence about nodes that are not drained."""
    nodes = sorted({node.name for _, node in spot})
    pods_text = f"{len(spot)} of {total} CoreDNS pod{'' if total == 1 else 's'}"
    share = f"all lookups fail ({pods_text})" if len(spot) == total else f"{len(spot)} of {total} lookups fail"
    if len(nodes) > 1:
        share = f"its part of the lookups fails ({pods_text} are on such nodes)"
    return (
        f"When EC2 takes back {_joined_with_or(nodes)}: it is not drained, CoreDNS is terminated without "
        "SIGTERM (confidence: "
        f"medium), and {share} until the node counts as gone, about {not_ready_after_s} s; each of them waits "
        f"{CLIENT_TIMEOUT_S} s first."
    )


def _drain_is_unknown(facts: DnsFacts, nodes: Sequence[Node]) -> bool:
    owners = {node.owner for node in nodes}
    if owners & {NodeOwner.SELF_MANAGED, NodeOwner.EKSCTL}:
        return True
    return NodeOwner.KARPENTER in owners and isinstance(facts.notices, Unknown)


def _is_unhandled(facts: DnsFacts, node: Node) -> bool:
    """Whether the node is known not to be drained at a notice."""
    notices = facts.notices
    return node.owner is NodeOwner.KARPENTER and not isinstance(notices, Unknown) and not notices.received


def _joined_with_or(names: Sequence[str]) -> str:
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


def plan_dns(facts: DnsFacts, command_target: CommandTarget = CommandTarget()) -> DnsPlan:
    """`command_target`: the arguments with which commands reach the cluster that was read."""
    findings = for_source(sort_findings(_findings(facts)), facts.cluster.source)
    ending_state = shutdown_ending(facts)
    return DnsPlan(
        facts,
        ending_state,
        _count_zones(facts),
        outlook(facts, ending_state, findings),
        tuple(
            replace(each, command=command_target.add_to(each.command))
            for each in fix_steps(findings, ending_state, facts)
        ),
        tuple(for_target(each, command_target) for each in findings),
    )


def _findings(facts: DnsFacts) -> Iterator[Finding]:
    deployment = facts.deployed
    if isinstance(deployment, Absent):
        yield _no_deployment_finding(facts, deployment)
        if not facts.pods:
            return
    elif isinstance(deployment, Unknown):
        yield unread_finding("dns-unread/deployment", deployment)
    if isinstance(facts.addon, Unknown):
        yield unread_finding("dns-unread/addon", facts.addon, ADDON)
    elif not isinstance(facts.addon, Absent) and isinstance(facts.addon.values, Unknown):
        yield unread_finding("dns-unread/configuration", facts.addon.values, ADDON)
    yield from configured.corefile_findings(facts)
    yield from failing.lameduck_findings(facts)
    yield from failing.persistence_findings(facts)
    yield from failing.failure_findings(facts)
    yield from placed.placement_findings(facts)
    yield from configured.client_findings(facts)
    yield from _other_dns_findings(facts)


def _no_deployment_finding(facts: DnsFacts, absent: Absent) -> Finding:
    """A missing Deployment is correct with EKS Auto Mode alone."""
    owners = {node.owner for node in facts.cluster.nodes}
    if facts.cluster.not_read(NODES):
        return unread_finding("dns-unread/needed", Unknown("nodes were not read"))
    if owners == {NodeOwner.AUTO_MODE} or (not owners and facts.auto_mode is True):
        return Finding.of("dns-elsewhere/auto-mode", DEPLOYMENT)
    if facts.pods:
        why = f"{absent.said}, and its {len(facts.pods)} pods belong to another controller"
        return unread_finding("dns-unread/maker", Unknown(why))
    others = sorted(owner.value for owner in owners - {NodeOwner.AUTO_MODE})
    return Finding.of("dns-failing/no-deployment", DEPLOYMENT, places=", ".join(others), said=absent.said)


def _other_dns_findings(facts: DnsFacts) -> Iterator[Finding]:
    owners = [node.owner for node in facts.cluster.nodes]
    auto_nodes = owners.count(NodeOwner.AUTO_MODE)
    if auto_nodes or facts.auto_mode is True:
        yield Finding.of(
            "dns-elsewhere/some-auto-mode", DEPLOYMENT, auto=auto_nodes, owners_count=len(owners) - auto_nodes
        )
    fargate = [pod for pod in facts.pods if (node := facts.node_of(pod)) and node.owner is NodeOwner.FARGATE]
    if fargate:
        yield Finding.of("dns-elsewhere/fargate", DEPLOYMENT, fargate_count=len(fargate))


def _count_zones(facts: DnsFacts) -> tuple[CorednsZone, ...]:
    """By name; nodes without a zone are in a zone called ""."""
    service_endpoints = failing.dns_endpoints(facts)
    zone_of = {node.name: node.zone for node in facts.cluster.nodes if node.owner is not NodeOwner.FARGATE}
    zones = []
    for name in sorted(set(zone_of.values())):
        pods = [pod for pod in facts.pods if zone_of.get(pod.node) == name]
        serving = (
            None if isinstance(service_endpoints, Unknown) else sum(pod.uid in service_endpoints.ready for pod in pods)
        )
        nodes = sum(zone == name for zone in zone_of.values())
        zones.append(CorednsZone(name, nodes, len(pods), sum(pod.ready for pod in pods), serving))
    return tuple(zones)
