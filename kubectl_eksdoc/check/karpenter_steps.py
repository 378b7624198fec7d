"""Karpenter steps of an upgrade: Karpenter replaces nodes whose AMI is not the one that it would select now (drift).

With an alias, or other terms that select AMIs dynamically, the drift begins as soon as the control plane has a new
version, ready or not; with AMI ids it begins when the EC2NodeClass is changed. Budgets hold back drift and
consolidation only: a node that expires (expireAfter, 720h by default) is deleted in spite of them, and its replacement
has the new version. So the AMIs are pinned where the EC2NodeClass is known.
Source: Karpenter documentation, Disruption (drift, budgets, expiration) and NodeClasses (amiSelectorTerms).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from kubectl_eksdoc.amazon.amis import AMIS, AmiChange, AmiFamily, GroupUpdateKind, family_of_os, way_to
from kubectl_eksdoc.amazon.versions import in_words
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster, NodeClass, NodePool
from kubectl_eksdoc.model.connection import patch, saved, shell
from kubectl_eksdoc.model.findings import Status, Subject
from kubectl_eksdoc.model.kinds import CheckNeed, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, basis
from kubectl_eksdoc.model.machines import NodeGroup
from kubectl_eksdoc.model.nodes import NODE_POOL, NodeOwner, Pod
from kubectl_eksdoc.model.quantities import Version

from .checking import NOT_ASKED, CheckFacts, Gate, listed
from .checks.group_updates import own_image
from .checks.release_notes import NodeGroupNodes, groups
from .steps import Phase, UpgradeStep

_NO_DRIFT = '{"spec": {"disruption": {"budgets": [{"nodes": "0"}]}}}'
"""A budget for all reasons: budgets by reason came with Karpenter 1.0."""


def held(facts: CheckFacts) -> Iterator[UpgradeStep]:
    """Steps before the first upgrade of the control plane, for NodePools whose nodes would begin to drift with it."""
    if not facts.way.steps:
        return
    for group in groups(facts.cluster.nodes):
        if not _has_pool(group) or _ids(_class_of(facts, group.name)):
            continue
        named = _class_of(facts, group.name)
        yield _budget(facts, group) if named is None else _pin(facts, group, named)


def _pin(facts: CheckFacts, group: NodeGroupNodes, named: NodeClass) -> UpgradeStep:
    label, terms = f"{NODE_POOL}={group.name}", ", ".join(named.amis[:3]) or "as the family has them"
    return UpgradeStep(
        Phase.BEFORE_CONTROL_PLANE,
        f"Pin the AMIs of EC2NodeClass {named.name}, for NodePool {group.name}",
        (
            f"its AMIs ({terms}) are selected again once the control plane has a new version: its nodes drift "
            "at once, and those that expire are replaced with it, which no disruption budget holds "
            "(expireAfter). In amiSelectorTerms name the ids that the second command prints, each as an "
            f"id, and amiFamily beside them; nodes that have them do not drift{_one_release(facts, group.name)}"
        ),
        (
            saved("ec2nodeclass", named.name, ""),
            shell("kubectl", "get", "nodeclaims", "-l", label, "-o", "jsonpath={.items[*].status.imageID}"),
            shell("kubectl", "edit", "ec2nodeclass", named.name),
        ),
        "its amiSelectorTerms are ids, and no NodeClaim is Drifted",
        shell("kubectl", "get", "ec2nodeclass", named.name, "-o", "jsonpath={.spec.amiSelectorTerms}"),
        at=facts.way.now,
        source=basis("karpenter-drift").source,
    )


def _budget(facts: CheckFacts, group: NodeGroupNodes) -> UpgradeStep:
    """The step for a NodePool whose EC2NodeClass is not known."""
    return UpgradeStep(
        Phase.BEFORE_CONTROL_PLANE,
        f"Hold Karpenter back from NodePool {group.name}",
        (
            "its AMI is selected again once the control plane has a new version: its nodes drift at "
            "once, by default 10 % of them at a time, before what blocks their replacement is fixed. A "
            "budget of 0 (from Karpenter 0.34 on) holds that, and consolidation, too; new nodes still "
            "come, and it does not hold expiry (expireAfter): where nodes expire meanwhile, pin the AMIs "
            "in the EC2NodeClass by their ids. The file has the budgets of before"
        ),
        (
            saved("nodepool", group.name, ""),
            patch("nodepool", group.name, "", _NO_DRIFT),
        ),
        "its only disruption budget is 0",
        shell("kubectl", "get", "nodepool", group.name, "-o", "jsonpath={.spec.disruption.budgets}"),
        at=facts.way.now,
        source=basis("karpenter-drift").source,
    )


def _has_pool(group: NodeGroupNodes) -> bool:
    """Whether it is of a NodePool: nodes of a Provisioner, before 0.32, have no disruption budgets."""
    return group.owner is NodeOwner.KARPENTER and any(node.labels.get(NODE_POOL) for node in group.nodes)


def replaced(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, because: str, nodes: str
) -> UpgradeStep:
    """The replacement by drift: undo `hold_steps`, or change the pinned AMIs."""
    named = _class_of(facts, group.name)
    pool = f"NodePool {group.name}" if group.name else "no NodePool"
    if (ids := _ids(named)) and named is not None:
        title = f"Name AMIs of {in_words(version)} in EC2NodeClass {named.name}, for {pool}"
        why = (
            f"it names its AMIs ({', '.join(ids[:3])}): nothing changes before they are changed, then every node of the"
            " class drifts, within the disruption budgets of its NodePool (10 % by default)"
        )
        commands: tuple[str, ...] = (
            saved("ec2nodeclass", named.name, ""),
            shell("kubectl", "edit", "ec2nodeclass", named.name),
        )
    elif named is not None and facts.way.steps:
        title = f"Let Karpenter replace the nodes of {pool}: give EC2NodeClass {named.name} its AMIs back"
        terms = ", ".join(named.amis) or "the AMIs of its family"
        why = (
            f"with {terms} instead of ids every node of the class drifts, within"
            " the disruption budgets of its NodePool (10 % by default)"
        )
        commands = (_given_back(named),)
    else:
        title = f"Let Karpenter replace the nodes of {pool}: give it its disruption budgets back"
        why = (
            "they drift by themselves once the control plane has a new version; the budgets say how many of them at a"
            f" time (10 % where none is set), and those of before are in the file that was saved{_alias(named)}"
        )
        commands = (shell("kubectl", "edit", "nodepool", group.name),) if _has_pool(group) and facts.way.steps else ()
    return UpgradeStep(
        phase,
        title,
        because + why,
        commands,
        f"every node of it has {in_words(version)}, and no NodeClaim is Drifted",
        nodes,
        version,
        gate=Gate.BEFORE_NODES,
        about=tuple(filter(None, (group.name, *(node.name for node in group.nodes)))),
        source=basis("karpenter-drift").source,
    )


def _given_back(named: NodeClass) -> str:
    """Set the alias again, which must be the only term; other terms are in the file that was saved."""
    key, _, value = named.amis[0].partition("=") if len(named.amis) == 1 else ("", "", "")
    if key != "alias" or '"' in value or "\\" in value:
        return shell("kubectl", "edit", "ec2nodeclass", named.name)
    return patch("ec2nodeclass", named.name, "", f'{{"spec": {{"amiSelectorTerms": [{{"alias": "{value}"}}]}}}}')


def _one_release(facts: CheckFacts, pool: str) -> str:
    """A warning about an alias that names a release: a release older than a minor version has no AMI for it."""
    named, to = _class_of(facts, pool), in_words(facts.way.target)
    terms = () if named is None else named.amis
    pinned = [each for each in terms if each.startswith("alias=") and "@" in each and not each.endswith("@latest")]
    if not pinned:
        return ""
    return (
        f". Its AMIs are of one release ({', '.join(pinned[:3])}): where there is none of that release for {to}, no new"
        " node comes once the control plane has it; name a release that has one, at the latest then"
    )


def _alias(named: NodeClass | None) -> str:
    if named is None:
        return "; whether its EC2NodeClass names AMIs is unknown: check amiSelectorTerms first"
    return f"; its AMIs: {', '.join(named.amis) or 'as the family has them'}"


def _class_of(facts: CheckFacts, pool: str) -> NodeClass | None:
    found: NodePool | None = next((each for each in facts.cluster.node_pools if each.name == pool), None)
    if found is None or not found.node_class:
        return None
    return next((each for each in facts.cluster.node_classes if each.name == found.node_class), None)


def _ids(named: NodeClass | None) -> tuple[str, ...]:
    """The AMI ids of the class; none if it selects AMIs in other ways, too."""
    if named is None or not named.amis or not all(each.startswith("id=") for each in named.amis):
        return ()
    return named.amis


# Update of a managed node group: in place, by a new group beside it, or by its launch template.
#
# In place is the procedure of EKS: it adds nodes, drains at random, gives the pods of a node 15 minutes, then fails. A
# new group beside the old one is for what an update cannot change, what it would fail on, and for a quick rollback.
# Source: EKS user guide, managed-node-update-behavior; botocore eks, UpdateNodegroupVersion.


MINUTES = 15
"""How long EKS waits for the pods of a node, until the update fails (PodEvictionFailure)."""


@frozen
class _Chosen:
    """`blockers`: what would block an update in place."""

    way: GroupUpdateKind
    why: str
    source: KnowledgeSource
    held: tuple[str, ...] = ()


def way_of(facts: CheckFacts, group: NodeGroupNodes, version: Version) -> _Chosen:
    """The kind of update, by the amiType and launch template in EKS, or else by the OS image of the nodes; and by the
    findings that block their drain."""
    change = _as_told(facts, group, version) or _by_family(group, version)
    held = tuple(dict.fromkeys(_held(facts, group)))
    if change.way in (GroupUpdateKind.IN_PLACE, GroupUpdateKind.UNKNOWN) and held:
        why = f"an update in place waits {MINUTES} minutes for each node and fails on {listed(held, 1)}"
        return _Chosen(GroupUpdateKind.NEW_GROUP, why, basis("group-update/karpenter").source, held)
    return _Chosen(change.way, change.why, change.source, held)


def _as_told(facts: CheckFacts, group: NodeGroupNodes, version: Version) -> AmiChange | None:
    """None where EKS was not asked, or returned no amiType."""
    told = {} if isinstance(facts.aws.node_groups, Unknown) else facts.aws.node_groups
    found = told.get(group.name)
    if not isinstance(found, NodeGroup) or not found.ami_type:
        return None
    return way_to(found.ami_type, version, own_image(facts, found))


def _by_family(group: NodeGroupNodes, version: Version) -> AmiChange:
    """Of several AMI families, one without an AMI of `version` decides: it may still be the group's amiType."""
    families = {family_of_os(node.os_image) for node in group.nodes}
    changes = [
        way_to(AMIS[family].any_type, version) for family in families if family in AMIS and AMIS[family].any_type
    ]
    for change in changes:
        if change.way is GroupUpdateKind.NEW_GROUP or len(families) == 1:
            return change
    if families <= {AmiFamily.UBUNTU, AmiFamily.UNKNOWN}:
        return AmiChange(
            GroupUpdateKind.TEMPLATE,
            "its nodes have an AMI that EKS does not make",
            basis("group-update/karpenter").source,
        )
    return AmiChange(
        GroupUpdateKind.UNKNOWN, "its nodes have AMIs of several families", basis("group-update/karpenter").source
    )


def _held(facts: CheckFacts, group: NodeGroupNodes) -> Iterator[str]:
    found = facts.summed.get(CheckNeed.PLAN_DRAIN, NOT_ASKED)
    if isinstance(found, Unknown):
        return
    where = here(facts.cluster, group)
    for each in found:
        if each.code.update == "stops" and each.status is Status.FAIL and where.has(each.subject):
            slow = each.subject.kind == "NodeGroup"
            yield "pods that take longer" if slow else f"{each.subject.kind} {each.subject}"


@frozen
class _Here:
    """Objects on the nodes of a group: `pods` by namespace; `controllers`: namespace and name of the possible
    controllers of these pods, by the pod names; `budgets`: those of the cluster by namespace and name."""

    group: str
    pods: Mapping[str, Sequence[Pod]]
    makers: frozenset[tuple[str, str]]
    budgets: Mapping[tuple[str, str], Budget]

    def has(self, of: Subject) -> bool:
        """Whether it concerns the group: a budget, workload or pod does if one of its pods is on the group's nodes."""
        if of.kind == "NodeGroup":
            return of.name == self.group
        if of.kind == "PodDisruptionBudget":
            budget = self.budgets.get((of.namespace, of.name))
            pods = self.pods.get(of.namespace, ())
            return budget is not None and any(budget.selector.matches(pod.labels) for pod in pods)
        return (of.namespace, of.name) in self.makers


def here(cluster: Cluster, group: NodeGroupNodes) -> _Here:
    nodes = frozenset(node.name for node in group.nodes)
    pods: dict[str, list[Pod]] = defaultdict(list)
    for pod in cluster.pods:
        if pod.node in nodes:
            pods[pod.namespace].append(pod)
    makers = {(pod.namespace, name) for each in pods.values() for pod in each for name in _makers(pod.name)}
    budgets = {(each.namespace, each.name): each for each in cluster.budgets}
    return _Here(group.name, pods, frozenset(makers), budgets)


def _makers(pod: str) -> Iterator[str]:
    """The pod's own name, and each prefix that ends before a dash: the names of pods begin with their controller's."""
    yield pod
    yield from (pod[:at] for at, letter in enumerate(pod) if letter == "-")
