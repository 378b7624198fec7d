"""Node group updates and node images: an update under way, the pods that made one fail, and AMIs that have ended."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kubectl_eksdoc.amazon import amis
from kubectl_eksdoc.amazon.addon_needs import AL2023_FAMILY, VERSION_REQUIREMENTS
from kubectl_eksdoc.amazon.amis import AmiFamily, GroupUpdateKind
from kubectl_eksdoc.amazon.group_updates import DRAIN_TIMEOUT
from kubectl_eksdoc.amazon.versions import Fit, format_version
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.evictions import evict
from kubectl_eksdoc.kubernetes.guards import index_budgets
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.eks import TemplateVersions
from kubectl_eksdoc.model.findings import CodeName, Finding, Remedy, Severity, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import rule_basis
from kubectl_eksdoc.model.machines import NodeGroup, TemplateVersion
from kubectl_eksdoc.model.nodes import Node, NodeOwner, Pod

from ..checking import (
    NOT_ASKED,
    CheckFacts,
    UpgradeCheck,
    aws_command,
    cluster_name_arg,
    cluster_subject,
    format_issue,
    pluralize,
    time_ago,
    unknown_finding,
    unread_lists,
    with_source,
)
from .release_notes import group_nodes, node_names
from .software import known_node_groups, node_group_subject, nodes_in_group, unknown_node_groups
from .software import node_group_subject as of_group

IN_PROGRESS, FAILED, SUCCESSFUL = "InProgress", "Failed", "Successful"
"""As EKS writes the status of an update (botocore, eks/2017-11-01, UpdateStatus)."""


@frozen
class _UpdateState:
    """`unknown`: an update that could not be described; `failed`: the latest update, if it failed."""

    unknown: Unknown | None
    in_progress: tuple[EksAddonUpdate, ...]
    failed: EksAddonUpdate | None


def update_state(history: UpdateHistory) -> _UpdateState:
    updates = [each for each in history.updates if isinstance(each, EksAddonUpdate)]
    unknown_update = next((each for each in history.updates if isinstance(each, Unknown)), None)
    failed = updates[0] if updates and updates[0].status == FAILED else None
    return _UpdateState(unknown_update, tuple(each for each in updates if each.status == IN_PROGRESS), failed)


def started_text(facts: CheckFacts, update: EksAddonUpdate) -> str:
    """``, begun 5 hours ago``; "" where the start is not known."""
    return "" if update.begun is None else f", begun {time_ago(facts.cluster.observed_at, update.begun)}"


def describe_command(facts: CheckFacts, update: EksAddonUpdate, *owner_flags: str) -> str:
    """The command that shows the update; `owner_flags`: name a node group, none for the cluster's own updates."""
    return aws_command(
        facts, "eks", "describe-update", "--name", cluster_name_arg(facts), *owner_flags, "--update-id", update.id
    )


EVICTION_FAILURE = "PodEvictionFailure"
_MAX_NAMES = 5
_NEEDED_KINDS = (kinds.NODES, kinds.PODS, kinds.BUDGETS)


def _check_group_updates(facts: CheckFacts) -> Iterator[Finding]:
    histories = facts.aws.group_updates
    if isinstance(histories, Unknown):
        yield unknown_finding("nodegroup-update/all", cluster_subject(facts), histories)
        return
    for name, history in sorted(histories.items()):
        if isinstance(history, Unknown):
            yield unknown_finding("nodegroup-update/latest", node_group_subject(name), history)
            continue
        state = update_state(history)
        if state.unknown is not None:
            yield unknown_finding("nodegroup-update/one", node_group_subject(name), state.unknown)
        for update in state.in_progress:
            yield Finding.of(
                "nodegroup-update/under-way",
                node_group_subject(name),
                (*_parameter_evidence(update), f"update {update.id}"),
                type=update.type,
                begun=started_text(facts, update),
                command=describe_command(facts, update, "--nodegroup-name", name),
            )


def _check_failed_updates(facts: CheckFacts) -> Iterator[Finding]:
    """Only the group's next update ends a failed state; the plan of its drain finds what would block that."""
    histories = facts.aws.group_updates
    for name, history in () if isinstance(histories, Unknown) else sorted(histories.items()):
        failed = None if isinstance(history, Unknown) else update_state(history).failed
        if failed is not None:
            yield from _failed_update(facts, name, failed)


def _failed_update(facts: CheckFacts, name: str, update: EksAddonUpdate) -> Iterator[Finding]:
    evictions = [error for error in update.errors if error.code == EVICTION_FAILURE]
    blocked_pods: tuple[str, ...] = ()
    if evictions:
        yield from unread_lists(facts, "nodegroup-update/pods")
        blocked_pods = tuple(
            _blocked_pods(facts, name, [one for error in evictions for one in (*error.resources, error.message)])
        )
    yield Finding.of(
        "nodegroup-update/failed",
        node_group_subject(name),
        (*blocked_pods, *map(format_issue, update.errors), *_parameter_evidence(update), f"update {update.id}"),
        evictions=evictions,
        drain=shell("kubectl", "eksdoc", "drain", "plan", f"--nodegroup={name}"),
        command=describe_command(facts, update, "--nodegroup-name", name),
        type=update.type,
        begun=started_text(facts, update),
        codes=", ".join(dict.fromkeys(error.code for error in update.errors if error.code)),
    )


def _parameter_evidence(update: EksAddonUpdate) -> tuple[str, ...]:
    parameters = [f"{name} {value}" for name, value in update.parameters if value]
    return (f"asked for: {', '.join(parameters)}",) if parameters else ()


def _blocked_pods(facts: CheckFacts, name: str, texts: list[str]) -> Iterator[str]:
    """The pods whose eviction would be refused now, on the nodes that EKS names, or on all nodes of the group if those
    are gone. Changes since the update failed are not visible."""
    if facts.cluster.not_read(*_NEEDED_KINDS):
        return
    nodes = _named_nodes(facts, name, texts)
    names = {node.name for node in nodes}
    budget_index = index_budgets(facts.cluster.budgets, ())
    blocked = []
    for pod in facts.cluster.pods:
        if pod.node in names and not (pod.finished or pod.is_mirror or pod.is_daemon_set_pod):
            budgets = budget_index.for_pod(pod)
            response = evict(pod, budgets, facts.cluster.observed_at, dry_run=True)
            if not response.ok:
                budget_names = " and ".join(each.name for each in budgets)
                blocked.append(f"pod {pod.key} on {pod.node} may not go now: budget {budget_names}")
            elif pod.tolerates("node.kubernetes.io/unschedulable", "", "NoSchedule") and _tolerates_everything(pod):
                blocked.append(
                    f"pod {pod.key} on {pod.node} tolerates every taint: it is rescheduled onto the same node"
                )
    timeout_text = f"{int(DRAIN_TIMEOUT.total_seconds()) // 60} minutes"
    if not blocked:
        yield (
            f"no budget holds a pod of {', '.join(sorted(names)[:_MAX_NAMES]) or 'the group'} now; EKS waits "
            f"{timeout_text}"
        )
    yield from blocked[: 2 * _MAX_NAMES]
    if len(blocked) > 2 * _MAX_NAMES:
        yield f"{len(blocked) - 2 * _MAX_NAMES} more pods"


def _tolerates_everything(pod: Pod) -> bool:
    """EKS user guide, managed-node-update-behavior: a pod that tolerates all taints is rescheduled onto its node."""
    return any(each.operator == "Exists" and not each.key and not each.effect for each in pod.tolerations)


def _named_nodes(facts: CheckFacts, name: str, texts: list[str]) -> list[Node]:
    group_nodes = nodes_in_group(facts, name)
    words = {word.strip("[](),.;:'\"") for text in texts for word in text.split()}
    return [node for node in group_nodes if node.name in words] or group_nodes


_UPDATE_CHECK = UpgradeCheck.of("nodegroup-update", _check_group_updates)
CHECKS = (_UPDATE_CHECK, _UPDATE_CHECK.at_gate(_check_failed_updates, None))


# AMIs of the nodes: Amazon Linux 2, which has ended, its successors, and custom AMIs.


_EKS_IMAGE_OWNERS = (NodeOwner.FARGATE, NodeOwner.AUTO_MODE)
"""Owners whose node images EKS chooses."""


@frozen
class NodeImageGroup:
    """Nodes of one group and one AMI family; `group`: as EKS describes it, None where EKS does not manage it or did not
    describe it. `family_evidence`: how the family is known."""

    subject: Subject
    owner: NodeOwner
    family: AmiFamily
    family_evidence: str
    nodes: tuple[Node, ...] = ()
    group: NodeGroup | None = None


def node_images(facts: CheckFacts) -> tuple[NodeImageGroup, ...]:
    """By the OS image of the nodes; node groups without nodes by their amiType."""
    described = {nodes_of_group.name: nodes_of_group for nodes_of_group in known_node_groups(facts)}
    images: list[NodeImageGroup] = []
    for nodes_of_group in group_nodes(node for node in facts.cluster.nodes if node.owner not in _EKS_IMAGE_OWNERS):
        group = described.pop(nodes_of_group.name, None) if nodes_of_group.owner is NodeOwner.MANAGED else None
        by_family: dict[AmiFamily, list[Node]] = {}
        for node in nodes_of_group.nodes:
            by_family.setdefault(_family_of(node, group), []).append(node)
        for family, nodes in by_family.items():
            evidence = f"they say of themselves: {nodes[0].os_image or 'nothing'}"
            images.append(
                NodeImageGroup(nodes_of_group.subject, nodes_of_group.owner, family, evidence, tuple(nodes), group)
            )
    for group in described.values():
        family = amis.family_of_type(group.ami_type)
        evidence = f"it has no nodes now, and its amiType is {group.ami_type or 'not told'}"
        images.append(NodeImageGroup(of_group(group.name), NodeOwner.MANAGED, family, evidence, (), group))
    return tuple(images)


def _family_of(node: Node, group: NodeGroup | None) -> AmiFamily:
    family = amis.family_of_os(node.os_image)
    if family is AmiFamily.UNKNOWN and group is not None:
        return amis.family_of_type(group.ami_type)
    return family


def _unread_images(facts: CheckFacts, code: CodeName) -> Iterator[Finding]:
    """Unread data; the nodes alone are sufficient except for groups without nodes."""
    yield from unread_lists(facts, f"{code}/of-nodes", severity=Severity.HIGH)
    yield from unknown_node_groups(facts, f"{code}/if-nodes", Severity.LOW)


def _check_al2(facts: CheckFacts) -> Iterator[Finding]:
    yield from _unread_images(facts, "ami-al2")
    fit = amis.is_ami_offered(AmiFamily.AL2, facts.path.target)
    for image_group in node_images(facts):
        if image_group.family is AmiFamily.AL2:
            none_offered, target = fit.fit is Fit.TOO_OLD, format_version(facts.path.target)
            yield Finding.of(
                "ami-al2",
                image_group.subject,
                (
                    *_image_evidence(image_group),
                    with_source(fit.reason, fit.source or amis.AL2_INFO.source),
                    al2_end_text(),
                ),
                severity=Severity.HIGH if none_offered else Severity.MEDIUM,
                remedy=(_replace_remedy(facts, image_group),),
                nodes=bool(image_group.nodes),
                count=len(image_group.nodes),
                none=none_offered,
                target=target,
                why=fit.reason,
            )


def al2_end_text() -> str:
    return f"no AMI of it is published since {amis.AL2_INFO.ended}, security updates included"


def _image_evidence(image_group: NodeImageGroup) -> tuple[str, ...]:
    return (*((node_names(image_group.nodes),) if image_group.nodes else ()), image_group.family_evidence)


def _replace_remedy(facts: CheckFacts, image_group: NodeImageGroup) -> Remedy:
    if image_group.group is not None:
        update_kind = amis.choose_ami_change(
            image_group.group.ami_type, facts.path.target, has_own_image(facts, image_group.group)
        ).kind
        if update_kind is GroupUpdateKind.NEW_GROUP:
            return Remedy.of("group-replace")
        if update_kind is GroupUpdateKind.TEMPLATE:
            return Remedy.of("group-template")
    if image_group.owner is NodeOwner.KARPENTER:
        return Remedy.of("al2-karpenter")
    return Remedy.of("al2-replace")


def has_own_image(facts: CheckFacts, group: NodeGroup) -> bool | None:
    """Whether its own launch template names an AMI; None where that is not known."""
    if group.template is None:
        return group.ami_type == amis.CUSTOM
    template = facts.aws.templates.get(group.template, NOT_ASKED)
    used_version = template.used if isinstance(template, TemplateVersions) else None
    return bool(used_version.image) if isinstance(used_version, TemplateVersion) else None


def _rule_text(rule: str) -> str:
    rule_record = rule_basis(rule)
    return f"{rule_record.clause} ({rule_record.source.document})"


def _check_al2023_moves(facts: CheckFacts) -> Iterator[Finding]:
    yield from _unread_images(facts, "ami-al2023-moves")
    al2_groups = [each for each in node_images(facts) if each.family is AmiFamily.AL2]
    if not al2_groups:
        return
    (cni_version,) = (
        each.at_least for each in VERSION_REQUIREMENTS if each.nodes == AL2023_FAMILY and each.at_least is not None
    )
    yield Finding.of(
        "ami-al2023-moves",
        cluster_subject(facts),
        (
            ", ".join(str(each.subject) for each in al2_groups),
            *map(_rule_text, ("al2023/metadata", "al2023/cgroup")),
            f"vpc-cni {format_version(cni_version)} or newer (EKS user guide, al2023)",
            _rule_text("al2023/user-data"),
        ),
        root_cause=al2_groups[0].subject if len(al2_groups) == 1 else None,
        number=pluralize(len(al2_groups), "group"),
    )


def _check_unknown_images(facts: CheckFacts) -> Iterator[Finding]:
    yield from _unread_images(facts, "ami-unknown")
    for image_group in node_images(facts):
        fit = amis.is_ami_offered(image_group.family, facts.path.target)
        if fit.fit is Fit.UNKNOWN:
            target = format_version(facts.path.target)
            yield Finding.of(
                "ami-unknown",
                image_group.subject,
                _image_evidence(image_group),
                wanted=target,
                fit_why=fit.reason,
                family=image_group.family.value,
                ubuntu=image_group.family is AmiFamily.UBUNTU,
            )


def _check_cgroups(facts: CheckFacts) -> Iterator[Finding]:
    if facts.path.target < rule_basis("cgroup-v1").since:
        return
    yield from _unread_images(facts, "cgroup-v1")
    yield from _cgroup_findings(facts, Fit.UNKNOWN)


def _cgroup_findings(facts: CheckFacts, fit: Fit) -> Iterator[Finding]:
    """The groups with that verdict. Groups that are too old are replaced by other ones in any case."""
    for image_group in node_images(facts):
        verdict = amis.check_cgroup(image_group.family, facts.path.target)
        if verdict.fit is fit:
            yield Finding.of(
                "cgroup-v1/unknown" if fit is Fit.UNKNOWN else "cgroup-v1/no-start",
                image_group.subject,
                (
                    *_image_evidence(image_group),
                    *((with_source(verdict.reason, verdict.source),) if verdict.source else ()),
                ),
                remedy=() if fit is Fit.UNKNOWN else (_replace_remedy(facts, image_group),),
                in_words=format_version(facts.path.target),
                fit_why=verdict.reason,
            )


_CGROUP_CHECK = UpgradeCheck.of("cgroup-v1", _check_cgroups)

NODE_IMAGE_CHECKS = (
    UpgradeCheck.of("ami-al2", _check_al2),
    UpgradeCheck.of("ami-al2023-moves", _check_al2023_moves),
    UpgradeCheck.of("ami-unknown", _check_unknown_images),
    _CGROUP_CHECK,
    _CGROUP_CHECK.at_gate(partial(_cgroup_findings, fit=Fit.TOO_OLD), None),
)
