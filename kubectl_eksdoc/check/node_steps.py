"""Node steps of an upgrade, by node owner: at the end, or earlier if a kubelet is too old for the control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from kubectl_eksdoc.amazon.addon_needs import CLUSTER_AUTOSCALER
from kubectl_eksdoc.amazon.amis import GroupUpdateKind
from kubectl_eksdoc.amazon.versions import Fit, format_version, kubelet_skew, minor_of
from kubectl_eksdoc.model.connection import CommandTarget, file_name, kubectl, shell
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.knowledge import rule_basis
from kubectl_eksdoc.model.nodes import GROUP_LABELS, NodeOwner
from kubectl_eksdoc.model.quantities import Version

from . import addon_steps as addons
from . import karpenter_steps as karpenter
from . import steps
from .checking import CheckFacts, Gate, aws_command, pluralize
from .checks.insights import is_kubelet_skew_error
from .checks.release_notes import NodeGroupNodes, group_nodes
from .checks.software import RunningVersion, find_running_versions
from .karpenter_steps import POD_TIMEOUT_MINUTES, choose_group_update
from .step_forms import eksctl_new_group_commands, node_group_forms, scaling_group_forms
from .steps import (
    Phase,
    UpgradeStep,
    check_command,
    deletion_findings,
    deletion_flags,
    deletion_text,
    eks_command,
    number_steps,
    prepare_steps,
    restart_steps,
)


def node_steps_before(facts: CheckFacts, current: Version, step: Version, listed_before: bool) -> Iterator[UpgradeStep]:
    """Replace the groups whose kubelets the API server of `step` would not serve by nodes of `current`. Nodes of Auto
    Mode are replaced at once, so their blockers have to be fixed before the first step. `listed_before`: an earlier
    step has listed the blockers."""
    all_groups = group_nodes(facts.cluster.nodes)
    old_groups = [(group, reason) for group in all_groups if (reason := _too_old_reason(facts, group, step))]
    if old_groups:
        check_reason = (
            f"nodes are replaced before the control plane gets {format_version(step)}, which would not serve them"
        )
        yield from _check_steps(facts, Phase.BEFORE_CONTROL_PLANE, check_reason, listed_before)
    elif current == facts.path.now and any(group.owner is NodeOwner.AUTO_MODE for group in all_groups):
        yield from _check_steps(facts, Phase.BEFORE_CONTROL_PLANE, _AUTO_MODE_TIMING, listed_before)
    for group, reason in old_groups:
        yield from _group_steps(
            facts, group, current, Phase.BEFORE_CONTROL_PLANE, f"once the control plane has {reason}; "
        )


_DRAIN_LIMITS = (
    f"EKS gives the pods of a node {POD_TIMEOUT_MINUTES} minutes, Karpenter waits for ever: neither "
    "says which budget it is"
)
_AUTO_MODE_TIMING = "EKS Auto Mode begins to replace its nodes as soon as the control plane has a new version"


def node_steps_after(
    facts: CheckFacts, running_versions: Sequence[RunningVersion], listed_before: bool
) -> Iterator[UpgradeStep]:
    """Replace all nodes that are behind, the smallest groups first, to find problems at a small scale.
    `running_versions`: all software that runs; `listed_before`: an earlier step has listed the blockers, and the
    replacement of Auto Mode nodes has begun since."""
    target = facts.path.target
    old_groups = [each for each in group_nodes(facts.cluster.nodes) if _is_behind(each, target)]
    if not old_groups:
        return
    if not listed_before or any(each.owner is not NodeOwner.AUTO_MODE for each in old_groups):
        yield from _check_steps(facts, Phase.NODES, _DRAIN_LIMITS, listed_before)
    has_scaling_groups = any(
        each.owner in (NodeOwner.MANAGED, NodeOwner.EKSCTL, NodeOwner.SELF_MANAGED) for each in old_groups
    )
    if has_scaling_groups:
        yield from _autoscaler_step(facts, running_versions, scale_down=True)
    for group in sorted(old_groups, key=lambda each: (_OWNER_ORDER.index(each.owner), len(each.nodes), each.name)):
        if group.owner is not NodeOwner.FARGATE:
            yield from _group_steps(facts, group, target, Phase.NODES, "")
    if has_scaling_groups:
        yield from _autoscaler_step(facts, running_versions, scale_down=False)


_OWNER_ORDER = (
    NodeOwner.MANAGED,
    NodeOwner.EKSCTL,
    NodeOwner.SELF_MANAGED,
    NodeOwner.KARPENTER,
    NodeOwner.AUTO_MODE,
    NodeOwner.HYBRID,
    NodeOwner.FARGATE,
)


def _is_behind(group: NodeGroupNodes, version: Version) -> bool:
    """Whether a node is older than `version`; a kubelet of unknown version may be."""
    return any(node.kubelet is None or minor_of(node.kubelet) < version for node in group.nodes)


def _too_old_reason(facts: CheckFacts, group: NodeGroupNodes, step: Version) -> str:
    """Why the control plane must not get `step` before the group is replaced; "" where an earlier step has upgraded it,
    or it is new enough. A group is upgraded as a whole, to the version before the step that requires it. The insights
    of EKS are about the next step."""
    oldest = min((minor_of(node.kubelet) for node in group.nodes if node.kubelet is not None), default=None)
    if oldest is None:
        return ""
    current = facts.path.now
    if oldest < current and is_kubelet_skew_error(facts, facts.path.steps[0]):
        if step == facts.path.steps[0]:
            return f"{format_version(step)}, its kubelets are too old by EKS's own insight"
        oldest = current
    for next_step in facts.path.steps:
        verdict = kubelet_skew(next_step, oldest)
        if verdict.fit is Fit.TOO_OLD:
            if next_step == step:
                return f"{format_version(step)}, {verdict.reason}"
            oldest = current
        current = next_step
    return ""


def _check_steps(facts: CheckFacts, phase: Phase, reason: str, listed_before: bool) -> Iterator[UpgradeStep]:
    """Findings block only the first of these steps."""
    gate = Gate.BEFORE_NODES
    yield UpgradeStep(
        phase,
        "Look again before nodes are replaced"
        if listed_before
        else "Check that nothing blocks the replacement of nodes",
        reason,
        (check_command("--target", format_version(facts.path.target), "--gate", gate.value),),
        "it exits with 0",
        at=facts.path.target,
        gate=None if listed_before else gate,
    )
    if not listed_before:
        yield from steps.ask_owners(facts, phase)


_SCALE_DOWN_TEXTS = (
    "Keep the Cluster Autoscaler from removing new nodes",
    "it takes empty ones away before pods come to them; EKS ends the scale-down of an update early where it scales up"
    " meanwhile. Pods that wait get no new nodes as long as it is away",
    "it has no pod",
)
_SCALE_UP_TEXTS = (
    "Give the Cluster Autoscaler its replicas back",
    "no node is added for pods that wait until it runs again",
    "its pods are Ready",
)


def _autoscaler_step(
    facts: CheckFacts, running_versions: Sequence[RunningVersion], scale_down: bool
) -> Iterator[UpgradeStep]:
    """The step that scales it down before the nodes are replaced, or the one after them that scales it up again."""
    for running_version in running_versions:
        subject = running_version.subject
        if running_version.software == CLUSTER_AUTOSCALER and subject.kind == "Deployment":
            title, reason, done_when = _SCALE_DOWN_TEXTS if scale_down else _SCALE_UP_TEXTS
            owner = (subject.kind, subject.namespace, subject.name)
            replicas = next(
                (it.replicas for it in facts.cluster.workloads if (it.kind, it.namespace, it.name) == owner), 1
            )
            scale = kubectl(
                "scale", "deployment", subject.name, subject.namespace, f"--replicas={0 if scale_down else replicas}"
            )
            yield UpgradeStep(
                Phase.NODES,
                title,
                reason,
                (scale,),
                done_when,
                at=facts.path.target,
                source=rule_basis("self-managed-nodes").source,
            )
            return


def _group_steps(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, prefix: str
) -> Iterator[UpgradeStep]:
    yield from _STEPS_BY_OWNER[group.owner](facts, group, version, phase, prefix)


def _managed_group_steps(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, prefix: str
) -> Iterator[UpgradeStep]:
    """One update to `version`; the minors between are skipped, as far as the version skew allows."""
    update = choose_group_update(facts, group, version)
    version_text = format_version(version)
    name_flags = ("--nodegroup-name", group.name)
    wait = eks_command(facts, "wait nodegroup-active", *name_flags)
    describe = eks_command(
        facts, "describe-nodegroup", *name_flags, "--query", "nodegroup.[amiType,releaseVersion,launchTemplate]"
    )
    about = (group.name, *(node.name for node in group.nodes))
    if update.kind is GroupUpdateKind.NEW_GROUP:
        title = f"Make a new group beside {group.name} with {version_text}, and drain {group.name}"
        saved = eks_command(facts, "describe-nodegroup", *name_flags, "--query", "nodegroup", "--output", "yaml")
        commands: tuple[str, ...] = (
            f"{saved} > {shell(file_name(group.name))}",
            eks_command(facts, "create-nodegroup", "--cli-input-yaml", "file://new.yaml"),
            eks_command(facts, "wait nodegroup-active", "--nodegroup-name", "NAME-OF-THE-NEW-GROUP"),
            *_drain_commands(facts, group),
            eks_command(facts, "delete-nodegroup", *name_flags),
        )
        reason = (
            f"{update.reason}; new.yaml has what the first command saves, but for what EKS adds (status, ARN, "
            "resources), with another name, and an amiType and version of today (YAML takes AWS CLI 2). "
            f"The old group is the rollback: uncordon its nodes as long as it is there{_deletion_warning(facts, group)}"
        )
    elif update.kind is GroupUpdateKind.TEMPLATE:
        title = f"Give the launch template of group {group.name} an AMI of {version_text}, and update the group to it"
        commands = (
            describe,
            f"{eks_command(facts, 'update-nodegroup-version', *name_flags)} --launch-template id=LT,version=N",
            wait,
        )
        reason = f"{update.reason}: neither version nor release may be given then"
    else:
        is_in_place = update.kind is GroupUpdateKind.IN_PLACE
        title = (
            f"Update group {group.name} "
            f"{f'in place to {version_text}' if is_in_place else f'to {version_text}, in place if its AMI allows it'}"
        )
        commands = (
            describe,
            eks_command(facts, "update-nodegroup-version", *name_flags, "--kubernetes-version", version_text),
            wait,
        )
        reason = (
            f"{update.reason}; with an AMI of its own in the launch template, or for a quick rollback, create a new "
            "group instead: an in-place update cannot be rolled back"
        )
    forms = node_group_forms(facts, group, version_text, update.kind, _drain_commands(facts, group))
    replaces_group = update.kind is GroupUpdateKind.NEW_GROUP
    done_when = (
        f"the old group is gone, and no node is older than {version_text}"
        if replaces_group
        else f"every node of it has {version_text}"
    )
    gate, verify = Gate.BEFORE_NODES, _list_nodes_command(group)
    source = update.source
    yield UpgradeStep(
        phase, title, prefix + reason, commands, done_when, verify, version, gate, (), about, source, forms=forms
    )


def _drain_commands(facts: CheckFacts, group: NodeGroupNodes, *nodes: str) -> tuple[str, ...]:
    """The commands that plan and then run the drain of the group, or of its `nodes`, with the judged settings."""
    flags = (*(nodes or ("--nodegroup", group.name)), *deletion_flags(_group_deletions(facts, group)))
    return tuple(shell("kubectl", "eksdoc", "drain", verb, *flags) for verb in ("plan", "run"))


def _group_deletions(facts: CheckFacts, group: NodeGroupNodes) -> tuple[Finding, ...]:
    findings = deletion_findings(facts)
    group_index = karpenter.index_group(facts.cluster, group) if findings else None
    return tuple(each for each in findings if group_index is not None and group_index.concerns(each.subject))


def _deletion_warning(facts: CheckFacts, group: NodeGroupNodes) -> str:
    """A sentence about what the flags of the group's drain delete; "" for nothing."""
    findings = _group_deletions(facts, group)
    return f". Its drain deletes for good: {deletion_text(findings)}" if findings else ""


def _list_nodes_command(group: NodeGroupNodes) -> str:
    """The command that lists the nodes of the group."""
    labels = group.nodes[0].labels if group.nodes else {}
    label = next((key for key in GROUP_LABELS if labels.get(key) == group.name and group.name), "")
    return shell("kubectl", "get", "nodes", *(("-l", f"{label}={group.name}") if label else ()))


def _eksctl_group_steps(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, prefix: str
) -> Iterator[UpgradeStep]:
    yield UpgradeStep(
        phase,
        f"Make a new group with eksctl beside {group.name} with {format_version(version)}, and drain {group.name}",
        (
            f"{prefix}eksctl does not upgrade groups that EKS does not manage: it makes new ones (AL2023 from "
            f"eksctl 0.176 on); the old group is the rollback as long as it exists{_deletion_warning(facts, group)}"
        ),
        eksctl_new_group_commands(facts, group.name, _drain_commands(facts, group)),
        f"no node is older than {format_version(version)}",
        _list_nodes_command(group),
        version,
        gate=Gate.BEFORE_NODES,
        about=(group.name, *(node.name for node in group.nodes)),
        source=rule_basis("self-managed-nodes").source,
    )


def _self_managed_steps(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, prefix: str
) -> Iterator[UpgradeStep]:
    names = [node.name for node in group.nodes]
    yield UpgradeStep(
        phase,
        f"Replace {pluralize(len(names), 'self-managed node')} by nodes of {format_version(version)}",
        f"{prefix}new nodes come first: a new version of the launch template, then a higher desired capacity, with the"
        " new instances protected from scale-in; the old ones are drained and then terminated one by one by their ids,"
        " each with decrement. Lowering the desired capacity instead lets the group choose, without regard for budgets"
        f"{_deletion_warning(facts, group)}",
        (
            *_drain_commands(facts, group, *names[:_MAX_NAMES]),
            aws_command(
                facts, "autoscaling", _TERMINATE_COMMAND, "--instance-id", "ID", "--should-decrement-desired-capacity"
            ),
        ),
        f"no node is older than {format_version(version)}",
        _list_nodes_command(group),
        version,
        gate=Gate.BEFORE_NODES,
        about=tuple(names),
        source=rule_basis("self-managed-nodes").source,
        forms=scaling_group_forms(format_version(version)),
    )


_MAX_NAMES = 20
"""Most names in one command."""
_TERMINATE_COMMAND = "terminate-instance-in-auto-scaling-group"


def _karpenter_steps(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, prefix: str
) -> Iterator[UpgradeStep]:
    yield karpenter.replacement_step(facts, group, version, phase, prefix, _list_nodes_command(group))


def _auto_mode_steps(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, prefix: str
) -> Iterator[UpgradeStep]:
    yield UpgradeStep(
        phase,
        f"Let EKS Auto Mode replace the nodes of {group.subject}",
        f"{prefix}EKS does it by itself once the control plane has a new version, within the budgets of the NodePool"
        " and of the pods; nothing is to be drained by hand",
        done_when=f"every node of it has {format_version(version)}",
        verify=_list_nodes_command(group),
        at=version,
        gate=Gate.BEFORE_NODES,
        about=tuple(filter(None, (group.name, *(node.name for node in group.nodes)))),
        source=rule_basis("auto-mode-nodes").source,
    )


def _hybrid_steps(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, prefix: str
) -> Iterator[UpgradeStep]:
    names = [node.name for node in group.nodes]
    yield UpgradeStep(
        phase,
        f"Upgrade {pluralize(len(names), 'hybrid node')}, each on its own machine",
        (
            f"{prefix}only you replace them: each is drained, upgraded by nodeadm and let in again, or new "
            f"machines are joined and the old ones go{_deletion_warning(facts, group)}"
        ),
        (
            *_drain_commands(facts, group, *names[:_MAX_NAMES])[1:],
            f"nodeadm upgrade {format_version(version)} -c file://nodeConfig.yaml",
            shell("kubectl", "uncordon", *names[:_MAX_NAMES]),
        ),
        f"every node of them has {format_version(version)}",
        _list_nodes_command(group),
        version,
        gate=Gate.BEFORE_NODES,
        about=tuple(names),
        source=rule_basis("hybrid-nodes").source,
    )


def _fargate_steps(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, phase: Phase, prefix: str
) -> Iterator[UpgradeStep]:
    yield from restart_steps(facts, version, phase, prefix)


_StepBuilder = Callable[[CheckFacts, NodeGroupNodes, Version, Phase, str], Iterator[UpgradeStep]]

_STEPS_BY_OWNER: Mapping[NodeOwner, _StepBuilder] = {
    NodeOwner.MANAGED: _managed_group_steps,
    NodeOwner.EKSCTL: _eksctl_group_steps,
    NodeOwner.SELF_MANAGED: _self_managed_steps,
    NodeOwner.KARPENTER: _karpenter_steps,
    NodeOwner.AUTO_MODE: _auto_mode_steps,
    NodeOwner.HYBRID: _hybrid_steps,
    NodeOwner.FARGATE: _fargate_steps,
}


# The complete checklist, in order.


def build_checklist(facts: CheckFacts, command_target: CommandTarget = CommandTarget()) -> tuple[UpgradeStep, ...]:
    """The steps from the current version to the target, or the remaining steps where the control plane is at the
    target. `command_target`: the flags that direct commands to the cluster that was read."""
    return number_steps(_all_steps(facts), command_target)


def _all_steps(facts: CheckFacts) -> Iterator[UpgradeStep]:
    yield from prepare_steps(facts)
    running_versions = find_running_versions(facts.cluster.pods)
    current, listed_before = facts.path.now, False
    for step in facts.path.steps:
        is_first = current == facts.path.now
        yield from addons.software_steps_before(facts, running_versions, current, step)
        yield from addons.addon_steps_before(facts, running_versions, current, step)
        early_steps = tuple(node_steps_before(facts, current, step, listed_before))
        listed_before = listed_before or bool(early_steps)
        yield from early_steps
        yield steps.check_step(facts, step, is_first)
        if is_first:
            yield from karpenter.hold_steps(facts)
        yield from steps.update_steps(facts, step)
        yield steps.soak_step(facts, current, step)
        yield from addons.addon_steps_after(facts, running_versions, step)
        yield from addons.software_steps_after(facts, running_versions, step)
        current = step
    if not facts.path.steps:
        yield from addons.addon_steps_after(facts, running_versions, facts.path.target)
        yield from addons.software_steps_after(facts, running_versions, facts.path.target)
    yield from node_steps_after(facts, running_versions, listed_before)
    yield from steps.fargate_steps(facts)
    yield from steps.final_checks(facts)
