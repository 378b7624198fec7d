"""Effect of the next Spot interruption, and of one that is under way.

Sources: EC2's notice (two minutes); Karpenter's drain evicts system-critical pods last (karpenter#2217; confidence:
medium); without a drain the kubelet is not informed, and pods end with their machine (confidence: medium); an endpoint
of a terminated node is removed once the node is NotReady (kubernetes.cordon; confidence: medium).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from datetime import timedelta

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.drain_filters import not_ready_after_s
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import is_coredns
from kubectl_eksdoc.model.findings import Finding, Severity, Subject
from kubectl_eksdoc.model.interruption import EVENT_DELIVERY
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.missing_rights import remedy_for
from kubectl_eksdoc.model.nodes import NodeOwner

from .installs import InterruptionFacts
from .spot import NOTICE_S, AffectedWorkload, SpotNode, affected_workloads, instance_of, is_spot, spot_nodes

_MEDIUM = "confidence: medium"
KARPENTER = "Karpenter"


@frozen
class InterruptionOutage:
    """`handled`: whether a controller drains a Spot node of Karpenter that has a notice; None: unknown. `handled_by`:
    the controller."""

    handled: bool | None
    handled_by: str
    nodes: tuple[SpotNode, ...]
    losers: tuple[AffectedWorkload, ...]
    not_ready_after_s: int
    budgets_known: bool = True

    @property
    def interrupted(self) -> tuple[SpotNode, ...]:
        return tuple(each for each in self.nodes if each.notices)


def predict_outage(facts: InterruptionFacts, handled: bool | None, handled_by: str) -> InterruptionOutage:
    nodes = spot_nodes(facts)
    not_ready_s = not_ready_after_s(facts.cluster.identity.server_version)
    known = facts.cluster.read_of(kinds.BUDGETS).known
    return InterruptionOutage(handled, handled_by, nodes, affected_workloads(facts.cluster, nodes), not_ready_s, known)


def sentences(outage: InterruptionOutage) -> Iterator[str]:
    """What will happen, in the order of time."""
    if not outage.nodes:
        return
    if outage.handled is False:
        yield (
            f"At the notice: no controller receives it, the node is not drained. {NOTICE_S // 60} minutes later the "
            f"instance is terminated, and its pods with it, without SIGTERM from the kubelet ({_MEDIUM})."
        )
        yield (
            f"For about {outage.not_ready_after_s} s after that, Services still send to the dead pods, until "
            "the node is "
            f"NotReady ({_MEDIUM}); replacements start only then, and where there is room."
        )
    elif outage.handled is None:
        yield (
            "Whether the notice is received is unknown (see above): if not, the pods end with the "
            f"machine after {NOTICE_S // 60} minutes, without SIGTERM from the kubelet ({_MEDIUM})."
        )
    if outage.handled is not False:
        handler = outage.handled_by if outage.handled else f"If it receives the notice, {outage.handled_by}"
        yield (
            f"{handler} cordons and drains it at the notice; system-critical pods go last (karpenter#2217; {_MEDIUM})."
            if outage.handled_by == KARPENTER
            else f"{handler} cordons and drains it at the notice."
        )
    dns = next((each for each in outage.losers if each.dns), None)
    if dns is not None and (outage.handled is False or outage.handled_by == KARPENTER):
        yield _dns_sentence(outage, dns)


def _dns_sentence(outage: InterruptionOutage, workload: AffectedWorkload) -> str:
    share = f"{workload.at_once} of {workload.ready}"
    if outage.handled is False:
        lookups_text = f"about {share} DNS lookups are sent to a dead pod and time out"
        return (
            f"CoreDNS: {share} ready replicas end with {workload.node}: {lookups_text}. A lameduck does nothing there."
        )
    node = next(each for each in outage.nodes if each.name == workload.node)
    if node.drain_blockers:
        return (
            f"CoreDNS on {node.name}: its turn may not come in {NOTICE_S} s, as {_blockers_text(node)}: then "
            "it is killed."
        )
    timing_text = "may be too late: then it is killed" if node.before_critical_s >= NOTICE_S else "leaves it time"
    return (
        f"CoreDNS on {node.name}: its turn comes after {node.before_critical_s} s at most, of {NOTICE_S} s, "
        f"which {timing_text}."
    )


def _blockers_text(node: SpotNode) -> str:
    """``x and 2 more may not go before it``."""
    more = f" and {len(node.drain_blockers) - 1} more" if len(node.drain_blockers) > 1 else ""
    return f"{node.drain_blockers[0]}{more} may not go before it"


def outage_findings(
    facts: InterruptionFacts, outage: InterruptionOutage, connection_args: Sequence[str] = ()
) -> Iterator[Finding]:
    """`connection_args`: the command-line arguments that lead to the same cluster."""
    yield from _notice_findings(facts, outage)
    if not outage.nodes:
        return
    for workload in outage.losers:
        if workload.dns:
            yield _dns_finding(facts, outage, workload, connection_args)
    other_workloads = [each for each in outage.losers if not each.dns]
    if other_workloads and outage.handled is not True:
        yield _workloads_finding(outage, other_workloads)
    if not outage.budgets_known and outage.handled is not False:
        read = facts.cluster.read_of(kinds.BUDGETS)
        yield Finding.of(
            "interruption-outage/budgets-unread",
            facts.subject,
            remedy=(remedy_for(read.as_unknown),),
            full_name=read.resource.full_name,
        )


def _notice_findings(facts: InterruptionFacts, outage: InterruptionOutage) -> Iterator[Finding]:
    """Notices of all Spot nodes. Nodes of other owners than Karpenter are not reported as not drained."""
    owners = {node.owner for node in facts.cluster.nodes if is_spot(node)} - {NodeOwner.KARPENTER}
    other_nodes = [each for owner in sorted(owners) for each in spot_nodes(facts, owner) if each.notices]
    for node in (*outage.interrupted, *other_nodes):
        pods = [pod.key for pod in node.lost_pods]
        is_unhandled = outage.handled is False and node not in other_nodes
        yield Finding.of(
            "interruption-now/taken-back",
            Subject("Node", node.name),
            (*pods[:5], *((f"and {len(pods) - 5} more",) if len(pods) > 5 else ())),
            severity=Severity.CRITICAL if is_unhandled or node.critical else Severity.HIGH,
            notices=f"{'; '.join(node.notices)}{_remaining_text(facts, node)}",
            pods=len(pods),
            alone=is_unhandled,
            node=node.name,
        )
    notices = facts.told.notices
    if isinstance(notices, Unknown) and any(is_spot(node) and instance_of(node) for node in facts.cluster.nodes):
        yield Finding.of(
            "interruption-now/unknown",
            facts.subject,
            (f"nor from Events of the cluster: {facts.events.why}",) if isinstance(facts.events, Unknown) else (),
            remedy=(remedy_for(notices),),
            notices_why=notices,
            lacking=notices.missing,
        )


def _remaining_text(facts: InterruptionFacts, node: SpotNode) -> str:
    notices = facts.told.notices
    notice = notices.get(instance_of(node.node)) if not isinstance(notices, Unknown) else None
    if notice is None or notice.since is None:
        return ""
    remaining_s = (notice.since + timedelta(seconds=NOTICE_S) - facts.cluster.observed_at).total_seconds()
    return f", about {int(remaining_s)} s are left" if remaining_s > 0 else ", its two minutes are over"


def _dns_finding(
    facts: InterruptionFacts, outage: InterruptionOutage, workload: AffectedWorkload, connection_args: Sequence[str]
) -> Finding:
    node = next(each for each in outage.nodes if each.name == workload.node)
    by_karpenter = outage.handled_by == KARPENTER
    is_late = by_karpenter and (bool(node.drain_blockers) or node.before_critical_s >= NOTICE_S)
    spot = sorted({pod.node for each in outage.nodes for pod in each.critical if is_coredns(pod.namespace, pod.labels)})
    return Finding.of(
        "interruption-outage/dns-undrained"
        if outage.handled is False
        else "interruption-outage/dns-late"
        if is_late
        else "interruption-outage/dns-unknown"
        if outage.handled is None
        else "interruption-outage/dns-drained",
        workload.subject,
        tuple(f"on {name}" for name in spot),
        count=workload.on_spot,
        ready=workload.ready,
        whole=workload.all_at_once,
        at_once=workload.at_once,
        gone=workload.node,
        node=node.name,
        held=_blockers_text(node) if node.drain_blockers else "",
        before=node.before_critical_s,
        by="" if by_karpenter else outage.handled_by,
        notice=NOTICE_S,
        none=not _has_on_demand_node(facts),
        # Its page says in which order: a longer lameduck comes before its pods are moved.
        command=shell("kubectl", "eksdoc", "coredns-lameduck", *connection_args),
    )


def _has_on_demand_node(facts: InterruptionFacts) -> bool:
    excluded_owners = (NodeOwner.FARGATE, NodeOwner.HYBRID)
    return any(not is_spot(e) and not e.unschedulable and e.owner not in excluded_owners for e in facts.cluster.nodes)


_MAX_EVIDENCE = 6


def _workloads_finding(outage: InterruptionOutage, workloads: Sequence[AffectedWorkload]) -> Finding:
    complete_losses = [each for each in workloads if each.all_at_once]
    is_known = outage.handled is False
    evidence = [
        f"{each.subject.kind} {each.subject}: {each.at_once} of {each.ready} on {each.node}" for each in workloads
    ]
    return Finding.of(
        "interruption-outage/others" if is_known else "interruption-outage/others-unknown",
        Subject("Spot nodes", ", ".join(sorted({each.node for each in workloads}))),
        (
            *evidence[:_MAX_EVIDENCE],
            *((f"and {len(evidence) - _MAX_EVIDENCE} more",) if len(evidence) > _MAX_EVIDENCE else ()),
        ),
        severity=Severity.CRITICAL if any(each.critical for each in complete_losses) else Severity.HIGH,
        root_cause=EVENT_DELIVERY if is_known else None,
        count=len(workloads),
        whole=str(len(complete_losses) or ""),
    )


def other_spot_findings(facts: InterruptionFacts, handled_nodes: Set[str] = frozenset()) -> Iterator[Finding]:
    """Spot nodes that are not Karpenter's. `handled_nodes`: nodes with a controller that drains them."""
    spot_nodes_found = [
        each for owner in (NodeOwner.EKSCTL, NodeOwner.SELF_MANAGED) for each in spot_nodes(facts, owner)
    ]
    not_drained = [each.name for each in spot_nodes_found if each.name not in handled_nodes]
    if not_drained:
        yield Finding.of(
            "interruption-outage/other-spot", facts.subject, tuple(not_drained[:_MAX_EVIDENCE]), count=len(not_drained)
        )
    unlabelled = sorted(
        node.name
        for node in facts.cluster.nodes
        if not node.capacity_type and node.owner in (NodeOwner.EKSCTL, NodeOwner.SELF_MANAGED)
    )
    if unlabelled:
        yield Finding.of(
            "interruption-outage/unlabelled", facts.subject, tuple(unlabelled[:_MAX_EVIDENCE]), count=len(unlabelled)
        )
    for owner in (NodeOwner.MANAGED, NodeOwner.AUTO_MODE):
        nodes = spot_nodes(facts, owner)
        if nodes or (owner is NodeOwner.AUTO_MODE and facts.place.auto_mode):
            yield Finding.of(
                "interruption-by-eks",
                facts.subject,
                tuple(each.name for each in nodes),
                none=not nodes,
                count=len(nodes),
                managed=owner is NodeOwner.MANAGED,
            )
