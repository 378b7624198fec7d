"""What will happen to lookups, by what is: when a node is drained, when EC2 takes one back, and at a rollout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.core.model import dns_codes as codes
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.findings import Finding, Status
from kubectl_eksdoc.core.model.nodes import Node, NodeOwner
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.dns.facts import DnsFacts
from kubectl_eksdoc.core.plan.dns.judging.leaving import Ending
from kubectl_eksdoc.core.plan.dns.judging.placed import on_spot
from kubectl_eksdoc.core.plan.dns.shutdown import CLIENT_S
from kubectl_eksdoc.core.rules.lost_nodes import not_ready_after_s


def outlook(facts: DnsFacts, end: Ending, findings: Sequence[Finding]) -> tuple[str, ...]:
    """A sentence for each thing that will go wrong; () where nothing is known to."""
    return tuple(_sentences(facts, end, {each.code for each in findings if each.status is Status.FAIL}))


def _sentences(facts: DnsFacts, end: Ending, failing: set[object]) -> Iterator[str]:
    ready = [pod for pod in facts.pods if pod.ready and not pod.deleting]
    if not ready:
        return  # nobody answers as it is
    asked = "every lookup" if len(ready) == 1 else f"1 of {len(ready)} lookups"
    if codes.LAMEDUCK_SHORT in failing and not isinstance(end.budget, Unknown):
        yield (
            f"At each drain, update or scale-down, for {end.budget.propagation}, "
            f"{asked} goes to a pod that has stopped answering, and waits {CLIENT_S} s for nothing."
        )
    if codes.LAMEDUCK_LONG in failing and not isinstance(end.budget, Unknown) and end.budget.too_long:
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
            f"When EC2 takes back {_or(nodes)}: whether somebody drains it is not known; if nobody does, {there} "
            f"{'is' if len(spot) == 1 else 'are'} terminated without SIGTERM (confidence: medium), and no lameduck "
            "helps."
        )
        return
    yield (
        f"When EC2 takes back {_or(nodes)}: somebody drains it within two minutes, critical pods last; CoreDNS "
        "leaves as at any drain, if the others are gone in time."
    )


def _dying(spot: Sequence[tuple[Pod, Node]], every: int, not_ready_after_s: int) -> str:
    """Of nodes that nobody drains."""
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
    """Known to be so."""
    told = facts.notices
    return node.owner is NodeOwner.KARPENTER and not isinstance(told, Unknown) and not told.heard


def _or(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
