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

from kubectl_eksdoc.amazon.amis import AMIS, AmiChange, AmiFamily, GroupUpdateKind, choose_ami_change, family_of_os
from kubectl_eksdoc.amazon.versions import format_version
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster, NodeClass, NodePool
from kubectl_eksdoc.model.connection import patch, save_command, shell
from kubectl_eksdoc.model.findings import Status, Subject
from kubectl_eksdoc.model.kinds import CheckNeed, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, rule_basis
from kubectl_eksdoc.model.machines import NodeGroup
from kubectl_eksdoc.model.nodes import NODE_POOL, NodeOwner, Pod
from kubectl_eksdoc.model.quantities import Version

from .checking import NOT_ASKED, CheckFacts, Gate, join_names
from .checks.group_updates import has_own_image
from .checks.release_notes import NodeGroupNodes, group_nodes
from .steps import Phase, UpgradeStep

_NO_DRIFT = '{"spec": {"disruption": {"budgets": [{"nodes": "0"}]}}}'
"""A budget for all reasons: budgets by reason came with Karpenter 1.0."""


def hold_steps(facts: CheckFacts) -> Iterator[UpgradeStep]:
    """Steps before the first upgrade of the control plane, for NodePools whose nodes would begin to drift with it."""
    if not facts.path.steps:
        return
    for group in group_nodes(facts.cluster.nodes):
        if not _has_node_pool(group) or _ami_ids(_node_class_of(facts, group.name)):
            continue
        node_class = _node_class_of(facts, group.name)
        yield _zero_budget_step(facts, group) if node_class is None else _pin_amis_step(facts, group, node_class)


def _pin_amis_step(facts: CheckFacts, group: NodeGroupNodes, node_class: NodeClass) -> UpgradeStep:
    label, terms = f"{NODE_POOL}={group.name}", ", ".join(node_class.amis[:3]) or "as the family has them"
    return UpgradeStep(
        Phase.BEFORE_CONTROL_PLANE,
        f"Pin the AMIs of EC2NodeClass {node_class.name}, for NodePool {group.name}",
        (
            f"its AMIs ({terms}) are selected again once the control plane has a new version: its nodes drift "
            "at once, and those that expire are replaced with it, which no disruption budget holds "
            "(expireAfter). In amiSelectorTerms name the ids that the second command prints, each as an "
            "id, and amiFamily beside them; nodes that have them do not "
            f"drift{_pinned_release_warning(facts, group.name)}"
        ),
        (
            save_command("ec2nodeclass", node_class.name, ""),
            shell("kubectl", "get", "nodeclaims", "-l", label, "-o", "jsonpath={.items[*].status.imageID}"),
            shell("kubectl", "edit", "ec2nodeclass", node_class.name),
        ),
        "its amiSelectorTerms are ids, and no NodeClaim is Drifted",
        shell("kubectl", "get", "ec2nodeclass", node_class.name, "-o", "jsonpath={.spec.amiSelectorTerms}"),
        at=facts.path.now,
        source=rule_basis("karpenter-drift").source,
    )


def _zero_budget_step(facts: CheckFacts, group: NodeGroupNodes) -> UpgradeStep:
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
            save_command("nodepool", group.name, ""),
            patch("nodepool", group.name, "", _NO_DRIFT),
        ),
        "its only disruption budget is 0",
        shell("kubectl", "get", "nodepool", group.name, "-o", "jsonpath={.spec.disruption.budgets}"),
        at=facts.path.now,
        source=rule_basis("karpenter-drift").source,
    )


def _has_node_pool(group: NodeGroupNodes) -> bool:
    """Whether it is of a NodePool: nodes of a Provisioner, before 0.32, have no disruption budgets."""
    return group.owner is NodeOwner.KARPENTER and any(node.labels.get(NODE_POOL) for node in group.nodes)


def replacement_step(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, prefix: str, verify_command: str
) -> UpgradeStep:
    """The replacement by drift: undo `hold_steps`, or change the pinned AMIs."""
    node_class = _node_class_of(facts, group.name)
    pool = f"NodePool {group.name}" if group.name else "no NodePool"
    if (ids := _ami_ids(node_class)) and node_class is not None:
        title = f"Name AMIs of {format_version(version)} in EC2NodeClass {node_class.name}, for {pool}"
        reason = (
            f"it names its AMIs ({', '.join(ids[:3])}): nothing changes before they are changed, then every node of the"
            " class drifts, within the disruption budgets of its NodePool (10 % by default)"
        )
        commands: tuple[str, ...] = (
            save_command("ec2nodeclass", node_class.name, ""),
            shell("kubectl", "edit", "ec2nodeclass", node_class.name),
        )
    elif node_class is not None and facts.path.steps:
        title = f"Let Karpenter replace the nodes of {pool}: give EC2NodeClass {node_class.name} its AMIs back"
        terms = ", ".join(node_class.amis) or "the AMIs of its family"
        reason = (
            f"with {terms} instead of ids every node of the class drifts, within"
            " the disruption budgets of its NodePool (10 % by default)"
        )
        commands = (_restore_amis_command(node_class),)
    else:
        title = f"Let Karpenter replace the nodes of {pool}: give it its disruption budgets back"
        reason = (
            "they drift by themselves once the control plane has a new version; the budgets say how many of them at a"
            f" time (10 % where none is set), and those of before are in the file that was saved{_ami_text(node_class)}"
        )
        commands = (
            (shell("kubectl", "edit", "nodepool", group.name),) if _has_node_pool(group) and facts.path.steps else ()
        )
    return UpgradeStep(
        phase,
        title,
        prefix + reason,
        commands,
        f"every node of it has {format_version(version)}, and no NodeClaim is Drifted",
        verify_command,
        version,
        gate=Gate.BEFORE_NODES,
        about=tuple(filter(None, (group.name, *(node.name for node in group.nodes)))),
        source=rule_basis("karpenter-drift").source,
    )


def _restore_amis_command(node_class: NodeClass) -> str:
    """Set the alias again, which must be the only term; other terms are in the file that was saved."""
    key, _, value = node_class.amis[0].partition("=") if len(node_class.amis) == 1 else ("", "", "")
    if key != "alias" or '"' in value or "\\" in value:
        return shell("kubectl", "edit", "ec2nodeclass", node_class.name)
    return patch("ec2nodeclass", node_class.name, "", f'{{"spec": {{"amiSelectorTerms": [{{"alias": "{value}"}}]}}}}')


def _pinned_release_warning(facts: CheckFacts, pool: str) -> str:
    """A warning about an alias that names a release: a release older than a minor version has no AMI for it."""
    node_class, target = _node_class_of(facts, pool), format_version(facts.path.target)
    terms = () if node_class is None else node_class.amis
    pinned = [each for each in terms if each.startswith("alias=") and "@" in each and not each.endswith("@latest")]
    if not pinned:
        return ""
    return (
        f". Its AMIs are of one release ({', '.join(pinned[:3])}): where there is none of that release for "
        f"{target}, no new"
        " node comes once the control plane has it; name a release that has one, at the latest then"
    )


def _ami_text(node_class: NodeClass | None) -> str:
    if node_class is None:
        return "; whether its EC2NodeClass names AMIs is unknown: check amiSelectorTerms first"
    return f"; its AMIs: {', '.join(node_class.amis) or 'as the family has them'}"


def _node_class_of(facts: CheckFacts, pool: str) -> NodeClass | None:
    node_pool: NodePool | None = next((each for each in facts.cluster.node_pools if each.name == pool), None)
    if node_pool is None or not node_pool.node_class:
        return None
    return next((each for each in facts.cluster.node_classes if each.name == node_pool.node_class), None)


def _ami_ids(node_class: NodeClass | None) -> tuple[str, ...]:
    """The AMI ids of the class; none if it selects AMIs in other ways, too."""
    if node_class is None or not node_class.amis or not all(each.startswith("id=") for each in node_class.amis):
        return ()
    return node_class.amis


# Update of a managed node group: in place, by a new group beside it, or by its launch template.
#
# In place is the procedure of EKS: it adds nodes, drains at random, gives the pods of a node 15 minutes, then fails. A
# new group beside the old one is for what an update cannot change, what it would fail on, and for a quick rollback.
# Source: EKS user guide, managed-node-update-behavior; botocore eks, UpdateNodegroupVersion.


POD_TIMEOUT_MINUTES = 15
"""How long EKS waits for the pods of a node, until the update fails (PodEvictionFailure)."""


@frozen
class _GroupUpdate:
    """`blockers`: what would block an update in place."""

    kind: GroupUpdateKind
    reason: str
    source: KnowledgeSource
    blockers: tuple[str, ...] = ()


def choose_group_update(facts: CheckFacts, group: NodeGroupNodes, version: Version) -> _GroupUpdate:
    """The kind of update, by the amiType and launch template in EKS, or else by the OS image of the nodes; and by the
    findings that block their drain."""
    change = _change_from_eks(facts, group, version) or _change_from_os_images(group, version)
    blockers = tuple(dict.fromkeys(_drain_blockers(facts, group)))
    if change.kind in (GroupUpdateKind.IN_PLACE, GroupUpdateKind.UNKNOWN) and blockers:
        reason = (
            f"an update in place waits {POD_TIMEOUT_MINUTES} minutes for each node and fails on "
            f"{join_names(blockers, 1)}"
        )
        return _GroupUpdate(GroupUpdateKind.NEW_GROUP, reason, rule_basis("group-update/karpenter").source, blockers)
    return _GroupUpdate(change.kind, change.reason, change.source, blockers)


def _change_from_eks(facts: CheckFacts, group: NodeGroupNodes, version: Version) -> AmiChange | None:
    """None where EKS was not asked, or returned no amiType."""
    node_groups = {} if isinstance(facts.aws.node_groups, Unknown) else facts.aws.node_groups
    node_group = node_groups.get(group.name)
    if not isinstance(node_group, NodeGroup) or not node_group.ami_type:
        return None
    return choose_ami_change(node_group.ami_type, version, has_own_image(facts, node_group))


def _change_from_os_images(group: NodeGroupNodes, version: Version) -> AmiChange:
    """Of several AMI families, one without an AMI of `version` decides: it may still be the group's amiType."""
    families = {family_of_os(node.os_image) for node in group.nodes}
    changes = [
        choose_ami_change(AMIS[family].any_type, version)
        for family in families
        if family in AMIS and AMIS[family].any_type
    ]
    for change in changes:
        if change.kind is GroupUpdateKind.NEW_GROUP or len(families) == 1:
            return change
    if families <= {AmiFamily.UBUNTU, AmiFamily.UNKNOWN}:
        return AmiChange(
            GroupUpdateKind.TEMPLATE,
            "its nodes have an AMI that EKS does not make",
            rule_basis("group-update/karpenter").source,
        )
    return AmiChange(
        GroupUpdateKind.UNKNOWN, "its nodes have AMIs of several families", rule_basis("group-update/karpenter").source
    )


def _drain_blockers(facts: CheckFacts, group: NodeGroupNodes) -> Iterator[str]:
    findings = facts.command_findings.get(CheckNeed.PLAN_DRAIN, NOT_ASKED)
    if isinstance(findings, Unknown):
        return
    group_index = index_group(facts.cluster, group)
    for finding in findings:
        if finding.code.update == "stops" and finding.status is Status.FAIL and group_index.concerns(finding.subject):
            is_timeout = finding.subject.kind == "NodeGroup"
            yield "pods that take longer" if is_timeout else f"{finding.subject.kind} {finding.subject}"


@frozen
class _GroupIndex:
    """Objects on the nodes of a group: `pods` by namespace; `controllers`: namespace and name of the possible
    controllers of these pods, by the pod names; `budgets`: those of the cluster by namespace and name."""

    group: str
    pods: Mapping[str, Sequence[Pod]]
    controllers: frozenset[tuple[str, str]]
    budgets: Mapping[tuple[str, str], Budget]

    def concerns(self, subject: Subject) -> bool:
        """Whether it concerns the group: a budget, workload or pod does if one of its pods is on the group's nodes."""
        if subject.kind == "NodeGroup":
            return subject.name == self.group
        if subject.kind == "PodDisruptionBudget":
            budget = self.budgets.get((subject.namespace, subject.name))
            pods = self.pods.get(subject.namespace, ())
            return budget is not None and any(budget.selector.matches(pod.labels) for pod in pods)
        return (subject.namespace, subject.name) in self.controllers


def index_group(cluster: Cluster, group: NodeGroupNodes) -> _GroupIndex:
    nodes = frozenset(node.name for node in group.nodes)
    pods: dict[str, list[Pod]] = defaultdict(list)
    for pod in cluster.pods:
        if pod.node in nodes:
            pods[pod.namespace].append(pod)
    controllers = {
        (pod.namespace, name) for each in pods.values() for pod in each for name in _possible_controllers(pod.name)
    }
    budgets = {(each.namespace, each.name): each for each in cluster.budgets}
    return _GroupIndex(group.name, pods, frozenset(controllers), budgets)


def _possible_controllers(pod: str) -> Iterator[str]:
    """The pod's own name, and each prefix that ends before a dash: the names of pods begin with their controller's."""
    yield pod
    yield from (pod[:position] for position, letter in enumerate(pod) if letter == "-")
