"""Placement of CoreDNS: Spot nodes, nodes and zones, budgets, spread, and autoscalers of its replicas."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kubectl_eksdoc.model.addons import AddonSide
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import NAME, SYSTEM
from kubectl_eksdoc.model.findings import Finding, Severity
from kubectl_eksdoc.model.interruption import EVENTS
from kubectl_eksdoc.model.kinds import AUTOSCALERS, BUDGETS, NODES, PODS, Absent, Unknown
from kubectl_eksdoc.model.nodes import Node, NodeOwner, Pod
from kubectl_eksdoc.model.placing import CPU

from .configuration import (
    DEPLOYMENT,
    has_what_came_by_1_11,
    not_read,
    place_elsewhere,
)
from .deployed import Deployed, DnsFacts

ZONE = "topology.kubernetes.io/zone"
NODES_EACH, CORES_EACH = 16, 256
"""The add-on's autoscaler adds a replica for so many nodes or cores (EKS user guide, coredns-autoscaling)."""
SPOT = "spot"


def judged(facts: DnsFacts) -> Iterator[Finding]:
    """Findings about running pods; none where pods or nodes are unknown."""
    unread = facts.cluster.unread(NODES, PODS)
    if unread:
        yield not_read(
            "dns-unread/where",
            Unknown(unread[0].detail or unread[0].state.value, f"list {unread[0].resource.full_name}"),
        )
        return
    there = [(pod, node) for pod in facts.pods if (node := facts.node_of(pod)) is not None and not pod.deleting]
    of = facts.deployed
    yield from _untold(facts, [node for _, node in there])
    if there:
        yield from _spot(facts, there)
        yield from _together(facts, there)
        yield from _leaving(there)
        yield from _budget(facts, [pod for pod, _ in there])
    if isinstance(of, Deployed):
        yield from _replicas(facts, of)
        if ZONE not in of.spread_over:
            yield _not_spread(facts)
    yield from _scalers(facts)


def on_spot(facts: DnsFacts) -> tuple[tuple[Pod, Node], ...]:
    """CoreDNS pods on Spot nodes."""
    found = [(pod, facts.node_of(pod)) for pod in facts.pods if not pod.deleting]
    return tuple((pod, node) for pod, node in found if node is not None and node.capacity_type == SPOT)


def _spot(facts: DnsFacts, there: Sequence[tuple[Pod, Node]]) -> Iterator[Finding]:
    spot = [(pod, node) for pod, node in there if node.capacity_type == SPOT]
    if not spot:
        return
    every = len(spot) == len(there)
    yield Finding.of(
        "dns-on-spot",
        DEPLOYMENT,
        tuple(
            f"{pod.name} on {node.name} ({node.zone or 'zone unknown'}, {f'{node.owner.value} {node.group}'.strip()})"
            for pod, node in spot
        ),
        severity=Severity.CRITICAL if every and len({node.name for _, node in spot}) == 1 else Severity.HIGH,
        every=every,
        spot=len(spot),
        pods=len(there),
        place=place_elsewhere(facts.self_managed),
    )
    yield from _notices(facts, spot)


def _notices(facts: DnsFacts, spot: Sequence[tuple[Pod, Node]]) -> Iterator[Finding]:
    """Managed node groups drain their Spot nodes as far as possible; Karpenter does if it receives the notice."""
    of_karpenter = [node for _, node in spot if node.owner is NodeOwner.KARPENTER]
    others = [node for _, node in spot if node.owner in (NodeOwner.SELF_MANAGED, NodeOwner.EKSCTL)]
    told = facts.notices
    if of_karpenter and isinstance(told, Unknown):
        yield Finding.of(
            "dns-notices-unheard/unknown",
            DEPLOYMENT,
            told_why=told.why,
            lacking=told.missing,
        )
    elif of_karpenter and not isinstance(told, Unknown) and not told.heard:
        yield Finding.of(
            "dns-notices-unheard/unheard",
            DEPLOYMENT,
            root_cause=EVENTS,
            nodes=_nodes(of_karpenter),
            count=len({node.name for node in of_karpenter}),
            told_why=told.why,
            fix_text=told.mend and told.mend.text,
            fix=told.mend and told.mend.command,
        )
    if others:
        count = len({node.name for node in others})
        yield Finding.of("dns-notices-unheard/self-managed", DEPLOYMENT, nodes=_nodes(others), count=count)


_UNLABELLED = (NodeOwner.SELF_MANAGED, NodeOwner.EKSCTL)
"""Owners whose nodes may lack labels; EKS and Karpenter label their own nodes."""


def _untold(facts: DnsFacts, nodes: Sequence[Node]) -> Iterator[Finding]:
    """Unknown facts about nodes that other findings need."""
    known = {node.name for node in nodes}
    lost = sorted({pod.node for pod in facts.pods if pod.node and not pod.deleting} - known)
    if lost:
        why = f"the list of nodes has no {_names(lost)}, on which its pods are"
        yield not_read("dns-unread/where", Unknown(why))
    untold = sorted({node.name for node in nodes if node.owner in _UNLABELLED and not node.capacity_type})
    if untold:
        said = "has no label of its capacity type" if len(untold) == 1 else "have no label of their capacity type"
        yield not_read("dns-unread/on-spot", Unknown(f"{_names(untold)} {said}"))
    if len(known) > 1 and not all(node.zone for node in nodes):
        without = sorted({node.name for node in nodes if not node.zone})
        yield not_read("dns-unread/zones", Unknown(f"{_names(without)}: no label {ZONE}"))


def _together(facts: DnsFacts, there: Sequence[tuple[Pod, Node]]) -> Iterator[Finding]:
    nodes, zones = {node.name for _, node in there}, {node.zone for _, node in there}
    if len(there) < 2:
        return
    place = place_elsewhere(facts.self_managed)
    if len(nodes) == 1:
        yield Finding.of("dns-together/node", DEPLOYMENT, pods=len(there), node=min(nodes), place=place)
    elif len(zones) == 1 and "" not in zones:
        yield Finding.of("dns-together/zone", DEPLOYMENT, pods=len(there), zone=min(zones), place=place)


def _why_it_goes(node: Node) -> str:
    if node.deletion_at is not None:
        return "being deleted"
    return "cordoned" if node.unschedulable else "not Ready"


def _leaving(there: Sequence[tuple[Pod, Node]]) -> Iterator[Finding]:
    going = [
        (pod, node) for pod, node in there if node.unschedulable or node.deletion_at is not None or node.ready != "True"
    ]
    if going:
        yield Finding.of(
            "dns-on-leaving-nodes",
            DEPLOYMENT,
            tuple(f"{pod.name} on {node.name} ({_why_it_goes(node)})" for pod, node in going),
            severity=Severity.MEDIUM if len(going) < len(there) else Severity.HIGH,
            going_count=len(going),
            there_count=len(there),
            command=shell("kubectl", "eksdoc", "drain", "plan", *sorted({node.name for _, node in going})),
        )


def _budget(facts: DnsFacts, pods: Sequence[Pod]) -> Iterator[Finding]:
    unread = facts.cluster.unread(BUDGETS)
    if unread:
        yield not_read("dns-unread/budget", Unknown(unread[0].detail or "unread", f"list {BUDGETS.full_name}"))
        return
    budgets = [each for each in facts.cluster.budgets if each.namespace == SYSTEM]
    if any(each.selector.matches(pods[0].labels) for each in budgets):
        return  # the drain plan judges how much it allows
    yield Finding.of(
        "dns-no-budget",
        DEPLOYMENT,
        by_hand=facts.self_managed,
        gone=has_what_came_by_1_11(facts.addon),
    )


def wanted_replicas(nodes: Sequence[Node]) -> int:
    """By the formula of the add-on's autoscaler, and at least two."""
    cores = sum(node.allocatable.get(CPU, 0) for node in nodes) / 1000
    return max(2, math.ceil(len(nodes) / NODES_EACH), math.ceil(cores / CORES_EACH))


def _replicas(facts: DnsFacts, of: Deployed) -> Iterator[Finding]:
    wanted = wanted_replicas(facts.cluster.nodes)
    if of.replicas >= wanted:
        return
    yield Finding.of(
        "dns-too-few/replicas",
        DEPLOYMENT,
        severity=Severity.HIGH if of.replicas < 2 else Severity.LOW,
        replicas=of.replicas,
        wanted=wanted,
        nodes=len(facts.cluster.nodes),
        most=max(10, wanted * 3),
        self_managed=facts.self_managed,
    )


def _not_spread(facts: DnsFacts) -> Finding:
    newer = has_what_came_by_1_11(facts.addon)
    return Finding.of("dns-not-spread", DEPLOYMENT, self_managed=facts.self_managed, newer=newer)


def scalers(facts: DnsFacts) -> tuple[str, ...]:
    """The autoscalers that set its replicas, as far as known."""
    found = []
    if isinstance(facts.addon, AddonSide) and not isinstance(facts.addon.values, Unknown):
        said = facts.addon.values.get("autoScaling")
        if isinstance(said, dict) and said.get("enabled") is True:
            found.append("the add-on's autoScaling")
    found += [
        f"HorizontalPodAutoscaler {each.name}"
        for each in facts.cluster.autoscalers
        if (each.namespace, each.target_kind, each.target_name) == (SYSTEM, "Deployment", NAME)
    ]
    if facts.proportional:
        found.append(f"the proportional autoscaler {facts.proportional}")
    return tuple(found)


def _scalers(facts: DnsFacts) -> Iterator[Finding]:
    unread = facts.cluster.unread(AUTOSCALERS)
    found = scalers(facts)
    if len(found) > 1:
        yield Finding.of("dns-two-scalers", DEPLOYMENT, found=" and by ".join(found))
    elif unread and not isinstance(facts.deployed, (Absent, Unknown)):
        yield not_read("dns-unread/scaler", Unknown(unread[0].detail or "unread", f"list {AUTOSCALERS.full_name}"))


def _nodes(nodes: Sequence[Node]) -> str:
    return _names(sorted({node.name for node in nodes}))


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
