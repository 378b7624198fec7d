"""Placement of CoreDNS: Spot nodes, nodes and zones, budgets, spread, and autoscalers of its replicas."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kubectl_eksdoc.model.addons import AddonUpdateFacts
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import NAME, SYSTEM_NAMESPACE
from kubectl_eksdoc.model.findings import Finding, Severity
from kubectl_eksdoc.model.interruption import EVENT_DELIVERY
from kubectl_eksdoc.model.kinds import AUTOSCALERS, BUDGETS, NODES, PODS, Absent, Unknown
from kubectl_eksdoc.model.nodes import Node, NodeOwner, Pod
from kubectl_eksdoc.model.placement import CPU

from .configuration import (
    DEPLOYMENT,
    has_features_of_1_11,
    place_command,
    unread_finding,
)
from .deployed import CorednsDeployment, DnsFacts

ZONE = "topology.kubernetes.io/zone"
NODES_PER_REPLICA, CORES_PER_REPLICA = 16, 256
"""The add-on's autoscaler adds a replica for so many nodes or cores (EKS user guide, coredns-autoscaling)."""
SPOT = "spot"


def placement_findings(facts: DnsFacts) -> Iterator[Finding]:
    """Findings about running pods; none where pods or nodes are unknown."""
    unread_kinds = facts.cluster.not_read(NODES, PODS)
    if unread_kinds:
        yield unread_finding(
            "dns-unread/where",
            Unknown(
                unread_kinds[0].detail or unread_kinds[0].state.value, f"list {unread_kinds[0].resource.full_name}"
            ),
        )
        return
    placed_pods = [(pod, node) for pod in facts.pods if (node := facts.node_of(pod)) is not None and not pod.deleting]
    deployment = facts.deployed
    yield from _unlabeled_findings(facts, [node for _, node in placed_pods])
    if placed_pods:
        yield from _spot_findings(facts, placed_pods)
        yield from _colocation_findings(facts, placed_pods)
        yield from _leaving_node_findings(placed_pods)
        yield from _budget_findings(facts, [pod for pod, _ in placed_pods])
    if isinstance(deployment, CorednsDeployment):
        yield from _replica_findings(facts, deployment)
        if ZONE not in deployment.spread_over:
            yield _spread_finding(facts)
    yield from _autoscaler_findings(facts)


def spot_pods(facts: DnsFacts) -> tuple[tuple[Pod, Node], ...]:
    """CoreDNS pods on Spot nodes."""
    pods_and_nodes = [(pod, facts.node_of(pod)) for pod in facts.pods if not pod.deleting]
    return tuple((pod, node) for pod, node in pods_and_nodes if node is not None and node.capacity_type == SPOT)


def _spot_findings(facts: DnsFacts, placed_pods: Sequence[tuple[Pod, Node]]) -> Iterator[Finding]:
    spot_pods_found = [(pod, node) for pod, node in placed_pods if node.capacity_type == SPOT]
    if not spot_pods_found:
        return
    all_on_spot = len(spot_pods_found) == len(placed_pods)
    yield Finding.of(
        "dns-on-spot",
        DEPLOYMENT,
        tuple(
            f"{pod.name} on {node.name} ({node.zone or 'zone unknown'}, {f'{node.owner.value} {node.group}'.strip()})"
            for pod, node in spot_pods_found
        ),
        severity=Severity.CRITICAL
        if all_on_spot and len({node.name for _, node in spot_pods_found}) == 1
        else Severity.HIGH,
        every=all_on_spot,
        spot=len(spot_pods_found),
        pods=len(placed_pods),
        place=place_command(facts.self_managed),
    )
    yield from _notice_findings(facts, spot_pods_found)


def _notice_findings(facts: DnsFacts, spot: Sequence[tuple[Pod, Node]]) -> Iterator[Finding]:
    """Managed node groups drain their Spot nodes as far as possible; Karpenter does if it receives the notice."""
    karpenter_nodes = [node for _, node in spot if node.owner is NodeOwner.KARPENTER]
    other_nodes = [node for _, node in spot if node.owner in (NodeOwner.SELF_MANAGED, NodeOwner.EKSCTL)]
    notices = facts.notices
    if karpenter_nodes and isinstance(notices, Unknown):
        yield Finding.of(
            "dns-notices-unheard/unknown",
            DEPLOYMENT,
            told_why=notices.why,
            lacking=notices.missing,
        )
    elif karpenter_nodes and not isinstance(notices, Unknown) and not notices.received:
        yield Finding.of(
            "dns-notices-unheard/unheard",
            DEPLOYMENT,
            root_cause=EVENT_DELIVERY,
            nodes=_node_names(karpenter_nodes),
            count=len({node.name for node in karpenter_nodes}),
            told_why=notices.why,
            fix_text=notices.remedy and notices.remedy.text,
            fix=notices.remedy and notices.remedy.command,
        )
    if other_nodes:
        count = len({node.name for node in other_nodes})
        yield Finding.of("dns-notices-unheard/self-managed", DEPLOYMENT, nodes=_node_names(other_nodes), count=count)


_MAY_LACK_LABELS = (NodeOwner.SELF_MANAGED, NodeOwner.EKSCTL)
"""Owners whose nodes may lack labels; EKS and Karpenter label their own nodes."""


def _unlabeled_findings(facts: DnsFacts, nodes: Sequence[Node]) -> Iterator[Finding]:
    """Unknown facts about nodes that other findings need."""
    known = {node.name for node in nodes}
    unknown_nodes = sorted({pod.node for pod in facts.pods if pod.node and not pod.deleting} - known)
    if unknown_nodes:
        reason = f"the list of nodes has no {_joined_names(unknown_nodes)}, on which its pods are"
        yield unread_finding("dns-unread/where", Unknown(reason))
    unlabeled = sorted({node.name for node in nodes if node.owner in _MAY_LACK_LABELS and not node.capacity_type})
    if unlabeled:
        verb_text = (
            "has no label of its capacity type" if len(unlabeled) == 1 else "have no label of their capacity type"
        )
        yield unread_finding("dns-unread/on-spot", Unknown(f"{_joined_names(unlabeled)} {verb_text}"))
    if len(known) > 1 and not all(node.zone for node in nodes):
        without = sorted({node.name for node in nodes if not node.zone})
        yield unread_finding("dns-unread/zones", Unknown(f"{_joined_names(without)}: no label {ZONE}"))


def _colocation_findings(facts: DnsFacts, placed_pods: Sequence[tuple[Pod, Node]]) -> Iterator[Finding]:
    nodes, zones = {node.name for _, node in placed_pods}, {node.zone for _, node in placed_pods}
    if len(placed_pods) < 2:
        return
    place = place_command(facts.self_managed)
    if len(nodes) == 1:
        yield Finding.of("dns-together/node", DEPLOYMENT, pods=len(placed_pods), node=min(nodes), place=place)
    elif len(zones) == 1 and "" not in zones:
        yield Finding.of("dns-together/zone", DEPLOYMENT, pods=len(placed_pods), zone=min(zones), place=place)


def _leaving_reason(node: Node) -> str:
    if node.deletion_at is not None:
        return "being deleted"
    return "cordoned" if node.unschedulable else "not Ready"


def _leaving_node_findings(placed_pods: Sequence[tuple[Pod, Node]]) -> Iterator[Finding]:
    leaving = [
        (pod, node)
        for pod, node in placed_pods
        if node.unschedulable or node.deletion_at is not None or node.ready != "True"
    ]
    if leaving:
        yield Finding.of(
            "dns-on-leaving-nodes",
            DEPLOYMENT,
            tuple(f"{pod.name} on {node.name} ({_leaving_reason(node)})" for pod, node in leaving),
            severity=Severity.MEDIUM if len(leaving) < len(placed_pods) else Severity.HIGH,
            going_count=len(leaving),
            there_count=len(placed_pods),
            command=shell("kubectl", "eksdoc", "drain", "plan", *sorted({node.name for _, node in leaving})),
        )


def _budget_findings(facts: DnsFacts, pods: Sequence[Pod]) -> Iterator[Finding]:
    unread_kinds = facts.cluster.not_read(BUDGETS)
    if unread_kinds:
        yield unread_finding(
            "dns-unread/budget", Unknown(unread_kinds[0].detail or "unread", f"list {BUDGETS.full_name}")
        )
        return
    budgets = [each for each in facts.cluster.budgets if each.namespace == SYSTEM_NAMESPACE]
    if any(each.selector.matches(pods[0].labels) for each in budgets):
        return  # the drain plan judges how much it allows
    yield Finding.of(
        "dns-no-budget",
        DEPLOYMENT,
        by_hand=facts.self_managed,
        gone=has_features_of_1_11(facts.addon),
    )


def desired_replicas(nodes: Sequence[Node]) -> int:
    """By the formula of the add-on's autoscaler, and at least two."""
    cores = sum(node.allocatable.get(CPU, 0) for node in nodes) / 1000
    return max(2, math.ceil(len(nodes) / NODES_PER_REPLICA), math.ceil(cores / CORES_PER_REPLICA))


def _replica_findings(facts: DnsFacts, deployment: CorednsDeployment) -> Iterator[Finding]:
    desired = desired_replicas(facts.cluster.nodes)
    if deployment.replicas >= desired:
        return
    yield Finding.of(
        "dns-too-few/replicas",
        DEPLOYMENT,
        severity=Severity.HIGH if deployment.replicas < 2 else Severity.LOW,
        replicas=deployment.replicas,
        wanted=desired,
        nodes=len(facts.cluster.nodes),
        most=max(10, desired * 3),
        self_managed=facts.self_managed,
    )


def _spread_finding(facts: DnsFacts) -> Finding:
    has_value = has_features_of_1_11(facts.addon)
    return Finding.of("dns-not-spread", DEPLOYMENT, self_managed=facts.self_managed, newer=has_value)


def autoscalers(facts: DnsFacts) -> tuple[str, ...]:
    """The autoscalers that set its replicas, as far as known."""
    names = []
    if isinstance(facts.addon, AddonUpdateFacts) and not isinstance(facts.addon.values, Unknown):
        value = facts.addon.values.get("autoScaling")
        if isinstance(value, dict) and value.get("enabled") is True:
            names.append("the add-on's autoScaling")
    names += [
        f"HorizontalPodAutoscaler {each.name}"
        for each in facts.cluster.autoscalers
        if (each.namespace, each.target_kind, each.target_name) == (SYSTEM_NAMESPACE, "Deployment", NAME)
    ]
    if facts.proportional_autoscaler:
        names.append(f"the proportional autoscaler {facts.proportional_autoscaler}")
    return tuple(names)


def _autoscaler_findings(facts: DnsFacts) -> Iterator[Finding]:
    unread_kinds = facts.cluster.not_read(AUTOSCALERS)
    names = autoscalers(facts)
    if len(names) > 1:
        yield Finding.of("dns-two-scalers", DEPLOYMENT, found=" and by ".join(names))
    elif unread_kinds and not isinstance(facts.deployed, (Absent, Unknown)):
        yield unread_finding(
            "dns-unread/scaler", Unknown(unread_kinds[0].detail or "unread", f"list {AUTOSCALERS.full_name}")
        )


def _node_names(nodes: Sequence[Node]) -> str:
    return _joined_names(sorted({node.name for node in nodes}))


def _joined_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
