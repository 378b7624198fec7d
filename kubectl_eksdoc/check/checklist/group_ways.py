"""How a managed node group gets to a version: in place, by a new group beside it, or by its launch template.

In place is EKS's own way: it adds nodes, drains at random, gives the pods of a node 15 minutes, and fails then. A new
group beside the old one is for what an update cannot change, what it would fail on, and for a quick way back.
Source: EKS user guide, managed-node-update-behavior; botocore eks, UpdateNodegroupVersion.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.amazon.upgrades.amis import AMIS, AmiChange, AmiFamily, GroupUpdateKind, family_of_os, way_to
from kubectl_eksdoc.check.checks.grouped import NodeGroupNodes
from kubectl_eksdoc.check.checks.node_images import own_image
from kubectl_eksdoc.check.facts import NOT_ASKED, CheckFacts
from kubectl_eksdoc.check.wording import listed
from kubectl_eksdoc.drain.handoff.owners import STOP
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.machines import NodeGroup
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.check_needs import CheckNeed
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Status, Subject
from kubectl_eksdoc.model.knowledge import KnowledgeSource
from kubectl_eksdoc.model.pods import Pod
from kubectl_eksdoc.model.versions import Version

_UPDATE = KnowledgeSource("EKS user guide, managed-node-update-behavior; botocore eks, UpdateNodegroupVersion")
MINUTES = 15
"""So long EKS waits for the pods of a node, then the update fails (PodEvictionFailure)."""

_STUCK = STOP | {"node-slow"}
"""What EKS would wait for in vain. It does not know annotations by which owners ask not to be disrupted."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """`held`: names of what would hold up an update in place."""

    way: GroupUpdateKind
    why: str
    source: KnowledgeSource
    held: tuple[str, ...] = ()


def way_of(facts: CheckFacts, group: NodeGroupNodes, version: Version) -> _Chosen:
    """By its amiType and launch template as EKS tells them, or else by the family of its nodes; and by what is found
    against their drain."""
    change = _as_told(facts, group, version) or _by_family(group, version)
    held = tuple(dict.fromkeys(_held(facts, group)))
    if change.way in (GroupUpdateKind.IN_PLACE, GroupUpdateKind.UNKNOWN) and held:
        why = f"an update in place waits {MINUTES} minutes for each node and fails on {listed(held, 1)}"
        return _Chosen(GroupUpdateKind.NEW_GROUP, why, _UPDATE, held)
    return _Chosen(change.way, change.why, change.source, held)


def _as_told(facts: CheckFacts, group: NodeGroupNodes, version: Version) -> AmiChange | None:
    """None where EKS was not asked, or did not tell."""
    told = {} if isinstance(facts.aws.node_groups, Unknown) else facts.aws.node_groups
    found = told.get(group.name)
    if not isinstance(found, NodeGroup) or not found.ami_type:
        return None
    return way_to(found.ami_type, version, own_image(facts, found))


def _by_family(group: NodeGroupNodes, version: Version) -> AmiChange:
    """Of several families the one that has no AMI of `version` decides: the group's amiType may still be that."""
    families = {family_of_os(node.os_image) for node in group.nodes}
    changes = [
        way_to(AMIS[family].any_type, version) for family in families if family in AMIS and AMIS[family].any_type
    ]
    for change in changes:
        if change.way is GroupUpdateKind.NEW_GROUP or len(families) == 1:
            return change
    if families <= {AmiFamily.UBUNTU, AmiFamily.UNKNOWN}:
        return AmiChange(GroupUpdateKind.TEMPLATE, "its nodes have an AMI that EKS does not make", _UPDATE)
    return AmiChange(GroupUpdateKind.UNKNOWN, "its nodes have AMIs of several families", _UPDATE)


def _held(facts: CheckFacts, group: NodeGroupNodes) -> Iterator[str]:
    found = facts.summed.get(CheckNeed.PLAN_DRAIN, NOT_ASKED)
    if isinstance(found, Unknown):
        return
    here = _here(facts.cluster, group)
    for each in found:
        if each.code.name in _STUCK and each.status is Status.FAIL and here.has(each.subject):
            yield f"{each.subject.kind} {each.subject}"


@dataclass(frozen=True, slots=True)
class _Here:
    """What is on the nodes of a group. `nodes`: their names; `pods` by namespace; `makers`: namespace and name of
    whatever may have made one of these pods, by the pod's name; `budgets` of the cluster by namespace and name."""

    nodes: frozenset[str]
    pods: Mapping[str, Sequence[Pod]]
    makers: frozenset[tuple[str, str]]
    budgets: Mapping[tuple[str, str], Budget]

    def has(self, of: Subject) -> bool:
        """A budget, a workload or a pod concerns a group if one of its pods is there."""
        if of.kind == "Node":
            return of.name in self.nodes
        if of.kind == "PodDisruptionBudget":
            budget = self.budgets.get((of.namespace, of.name))
            pods = self.pods.get(of.namespace, ())
            return budget is not None and any(budget.selector.matches(pod.labels) for pod in pods)
        return (of.namespace, of.name) in self.makers


def _here(cluster: Cluster, group: NodeGroupNodes) -> _Here:
    nodes = frozenset(node.name for node in group.nodes)
    pods: dict[str, list[Pod]] = defaultdict(list)
    for pod in cluster.pods:
        if pod.node in nodes:
            pods[pod.namespace].append(pod)
    makers = {(pod.namespace, name) for each in pods.values() for pod in each for name in _makers(pod.name)}
    budgets = {(each.namespace, each.name): each for each in cluster.budgets}
    return _Here(nodes, pods, frozenset(makers), budgets)


def _makers(pod: str) -> Iterator[str]:
    """Its own name, and each part of it that a dash ends: a controller's name is the beginning of its pods'."""
    yield pod
    yield from (pod[:at] for at, letter in enumerate(pod) if letter == "-")
