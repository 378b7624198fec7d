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
from kubectl_eksdoc.model.interruption import EVENTS
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.missing_rights import learned
from kubectl_eksdoc.model.nodes import NodeOwner

from .installs import InterruptionFacts
from .spot import NOTICE_S, AtRisk, SpotNode, at_risk, instance_of, is_spot, spot_nodes

_MEDIUM = "confidence: medium"
KARPENTER = "Karpenter"


@frozen
class InterruptionOutage:
    """`handled`: whether a controller drains a Spot node of Karpenter that has a notice; None: unknown. `handled_by`:
    the controller."""

    handled: bool | None
    by: str
    nodes: tuple[SpotNode, ...]
    losers: tuple[AtRisk, ...]
    unnoticed_s: int
    budgets_known: bool = True

    @property
    def interrupted(self) -> tuple[SpotNode, ...]:
        return tuple(each for each in self.nodes if each.heard)


def foresee(facts: InterruptionFacts, handled: bool | None, by: str) -> InterruptionOutage:
    nodes = spot_nodes(facts)
    late_s = not_ready_after_s(facts.cluster.identity.server_version)
    known = facts.cluster.read_of(kinds.BUDGETS).known
    return InterruptionOutage(handled, by, nodes, at_risk(facts.cluster, nodes), late_s, known)


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
            f"For about {outage.unnoticed_s} s after that, Services still send to the dead pods, until the node is "
            f"NotReady ({_MEDIUM}); replacements start only then, and where there is room."
        )
    elif outage.handled is None:
        yield (
            "Whether the notice is received is unknown (see above): if not, the pods end with the "
            f"machine after {NOTICE_S // 60} minutes, without SIGTERM from the kubelet ({_MEDIUM})."
        )
    if outage.handled is not False:
        who = outage.by if outage.handled else f"If it receives the notice, {outage.by}"
        yield (
            f"{who} cordons and drains it at the notice; system-critical pods go last (karpenter#2217; {_MEDIUM})."
            if outage.by == KARPENTER
            else f"{who} cordons and drains it at the notice."
        )
    dns = next((each for each in outage.losers if each.dns), None)
    if dns is not None and (outage.handled is False or outage.by == KARPENTER):
        yield _of_dns(outage, dns)


def _of_dns(outage: InterruptionOutage, loser: AtRisk) -> str:
    share = f"{loser.at_once} of {loser.ready}"
    if outage.handled is False:
        many = f"about {share} DNS lookups are sent to a dead pod and time out"
        return f"CoreDNS: {share} ready replicas end with {loser.node}: {many}. A lameduck does nothing there."
    node = next(each for each in outage.nodes if each.name == loser.node)
    if node.holds:
        return f"CoreDNS on {node.name}: its turn may not come in {NOTICE_S} s, as {_held(node)}: then it is killed."
    late = "may be too late: then it is killed" if node.before_s >= NOTICE_S else "leaves it time"
    return f"CoreDNS on {node.name}: its turn comes after {node.before_s} s at most, of {NOTICE_S} s, which {late}."


def _held(node: SpotNode) -> str:
    """``x and 2 more may not go before it``."""
    more = f" and {len(node.holds) - 1} more" if len(node.holds) > 1 else ""
    return f"{node.holds[0]}{more} may not go before it"


def judged(facts: InterruptionFacts, outage: InterruptionOutage, again: Sequence[str] = ()) -> Iterator[Finding]:
    """`connection_args`: the command-line arguments that lead to the same cluster."""
    yield from _now(facts, outage)
    if not outage.nodes:
        return
    for loser in outage.losers:
        if loser.dns:
            yield _dns(facts, outage, loser, again)
    others = [each for each in outage.losers if not each.dns]
    if others and outage.handled is not True:
        yield _others(outage, others)
    if not outage.budgets_known and outage.handled is not False:
        read = facts.cluster.read_of(kinds.BUDGETS)
        yield Finding.of(
            "interruption-outage/budgets-unread",
            facts.subject,
            remedy=(learned(read.lack),),
            full_name=read.resource.full_name,
        )


def _now(facts: InterruptionFacts, outage: InterruptionOutage) -> Iterator[Finding]:
    """Notices of all Spot nodes. Nodes of other owners than Karpenter are not reported as not drained."""
    owners = {node.owner for node in facts.cluster.nodes if is_spot(node)} - {NodeOwner.KARPENTER}
    others = [each for owner in sorted(owners) for each in spot_nodes(facts, owner) if each.heard]
    for node in (*outage.interrupted, *others):
        pods = [pod.key for pod in node.dying]
        alone = outage.handled is False and node not in others
        yield Finding.of(
            "interruption-now/taken-back",
            Subject("Node", node.name),
            (*pods[:5], *((f"and {len(pods) - 5} more",) if len(pods) > 5 else ())),
            severity=Severity.CRITICAL if alone or node.critical else Severity.HIGH,
            notices=f"{'; '.join(node.heard)}{_left(facts, node)}",
            pods=len(pods),
            alone=alone,
            node=node.name,
        )
    notices = facts.told.notices
    if isinstance(notices, Unknown) and any(is_spot(node) and instance_of(node) for node in facts.cluster.nodes):
        yield Finding.of(
            "interruption-now/unknown",
            facts.subject,
            (f"nor from Events of the cluster: {facts.events.why}",) if isinstance(facts.events, Unknown) else (),
            remedy=(learned(notices),),
            notices_why=notices,
            lacking=notices.missing,
        )


def _left(facts: InterruptionFacts, node: SpotNode) -> str:
    notices = facts.told.notices
    notice = notices.get(instance_of(node.node)) if not isinstance(notices, Unknown) else None
    if notice is None or notice.since is None:
        return ""
    left = (notice.since + timedelta(seconds=NOTICE_S) - facts.cluster.observed_at).total_seconds()
    return f", about {int(left)} s are left" if left > 0 else ", its two minutes are over"


def _dns(facts: InterruptionFacts, outage: InterruptionOutage, loser: AtRisk, again: Sequence[str]) -> Finding:
    node = next(each for each in outage.nodes if each.name == loser.node)
    in_turn = outage.by == KARPENTER
    late = in_turn and (bool(node.holds) or node.before_s >= NOTICE_S)
    spot = sorted({pod.node for each in outage.nodes for pod in each.critical if is_coredns(pod.namespace, pod.labels)})
    return Finding.of(
        "interruption-outage/dns-undrained"
        if outage.handled is False
        else "interruption-outage/dns-late"
        if late
        else "interruption-outage/dns-unknown"
        if outage.handled is None
        else "interruption-outage/dns-drained",
        loser.subject,
        tuple(f"on {name}" for name in spot),
        count=loser.on_spot,
        ready=loser.ready,
        whole=loser.all_at_once,
        at_once=loser.at_once,
        gone=loser.node,
        node=node.name,
        held=_held(node) if node.holds else "",
        before=node.before_s,
        by="" if in_turn else outage.by,
        notice=NOTICE_S,
        none=not _on_demand(facts),
        # Its page says in which order: a longer lameduck comes before its pods are moved.
        command=shell("kubectl", "eksdoc", "coredns-lameduck", *again),
    )


def _on_demand(facts: InterruptionFacts) -> bool:
    without = (NodeOwner.FARGATE, NodeOwner.HYBRID)
    return any(not is_spot(e) and not e.unschedulable and e.owner not in without for e in facts.cluster.nodes)


_MOST = 6


def _others(outage: InterruptionOutage, losers: Sequence[AtRisk]) -> Finding:
    whole = [each for each in losers if each.all_at_once]
    known = outage.handled is False
    evidence = [f"{each.subject.kind} {each.subject}: {each.at_once} of {each.ready} on {each.node}" for each in losers]
    return Finding.of(
        "interruption-outage/others" if known else "interruption-outage/others-unknown",
        Subject("Spot nodes", ", ".join(sorted({each.node for each in losers}))),
        (*evidence[:_MOST], *((f"and {len(evidence) - _MOST} more",) if len(evidence) > _MOST else ())),
        severity=Severity.CRITICAL if any(each.critical for each in whole) else Severity.HIGH,
        root_cause=EVENTS if known else None,
        count=len(losers),
        whole=str(len(whole) or ""),
    )


def others_spot(facts: InterruptionFacts, drained: Set[str] = frozenset()) -> Iterator[Finding]:
    """Spot nodes that are not Karpenter's. `handled_nodes`: nodes with a controller that drains them."""
    own = [each for owner in (NodeOwner.EKSCTL, NodeOwner.SELF_MANAGED) for each in spot_nodes(facts, owner)]
    left = [each.name for each in own if each.name not in drained]
    if left:
        yield Finding.of("interruption-outage/other-spot", facts.subject, tuple(left[:_MOST]), count=len(left))
    unlabelled = sorted(
        node.name
        for node in facts.cluster.nodes
        if not node.capacity_type and node.owner in (NodeOwner.EKSCTL, NodeOwner.SELF_MANAGED)
    )
    if unlabelled:
        yield Finding.of(
            "interruption-outage/unlabelled", facts.subject, tuple(unlabelled[:_MOST]), count=len(unlabelled)
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
