"""Upgrade steps for eksctl, CloudFormation or Terraform: the tool that manages a resource would otherwise revert the
change of awscli at its next update.

eksctl and CloudFormation leave tags, and eksctl labels its nodes. Terraform leaves no tags of its own: its form is left
out only where a tag names one of the others. Sources: eksctl, pkg/ctl and pkg/actions (upgrade, update, delete); the
schema of hashicorp/aws; terraform-aws-modules/eks, variables.tf and node_groups.tf of v18 to v21 (a group without a
version of its own has the cluster's).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kubectl_eksdoc.amazon.amis import GroupUpdateKind
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import CLOUDFORMATION, EKSCTL, TERRAFORM, NodeGroup, managed_by
from kubectl_eksdoc.model.nodes import EKSCTL_GROUP, Node

from .checking import CheckFacts, in_region, name_of
from .checks.release_notes import NodeGroupNodes


@frozen
class StepForm:
    """A step with the `tool` that manages the resource. `text`: sentences; `commands`: none where its users have their
    own."""

    tool: str
    text: str
    commands: tuple[str, ...] = ()


_APPLIED = ("terraform plan -out=upgrade.tfplan", "terraform apply upgrade.tfplan")
_MODULE = "terraform-aws-modules/eks"
_DRIFT = "the commands above would make drift"


def of_cluster(facts: CheckFacts, version: str) -> tuple[StepForm, ...]:
    """Forms of the control plane's update."""
    by = _named(facts.eks)
    made = _command(facts, "upgrade cluster", "--approve", "--version", version, name="--name")
    return _forms(
        by,
        StepForm(EKSCTL, "It made this cluster.", (made,)) if _of_eksctl(facts, by) else None,
        f'Set version = "{version}" in its aws_eks_cluster ({_MODULE}: kubernetes_version, before v21'
        " cluster_version; its groups without a version of their own follow in the same apply)",
    )


def of_addon(facts: CheckFacts, name: str, versions: Sequence[str]) -> tuple[StepForm, ...]:
    """Forms of an add-on's update; `versions`: one after the other. eksctl keeps no stack for an add-on, so the tags of
    the cluster decide whether eksctl manages it."""
    by = _named(facts.eks)
    made = [_command(facts, "update addon", "--name", name, "--version", each, "--wait") for each in versions]
    text = "Give --config-file instead where the add-on has Pod Identity associations: it has to name them."
    to = ", then ".join(f'"{each}"' for each in versions)
    return _forms(
        {tool: tag for tool, tag in by.items() if tool != EKSCTL},
        StepForm(EKSCTL, text, tuple(made)) if _of_eksctl(facts, by) else None,
        f'Set addon_version = {to} in its aws_eks_addon ({_MODULE}: addons["{name}"].addon_version,'
        f' before v21 cluster_addons["{name}"].addon_version){"; apply each before the next" * (len(versions) > 1)}',
    )


def of_group(
    facts: CheckFacts, group: NodeGroupNodes, to: str, way: GroupUpdateKind, emptied: Sequence[str]
) -> tuple[StepForm, ...]:
    """Forms of a managed node group's update. `drain_commands`: the commands that drain it."""
    told = facts.aws.node_groups
    by = _named(told.get(group.name) if isinstance(told, Mapping) else None)
    by = {EKSCTL: "", **by} if by_eksctl(group.nodes) else by
    entry = f'eks_managed_node_groups["{group.name}"]'
    upgraded = ("upgrade nodegroup", "--name", group.name)
    applied: tuple[str, ...] = _APPLIED
    if way is GroupUpdateKind.NEW_GROUP:
        made = new_by_eksctl(facts, group.name, emptied)
        declared = (
            f'Add another aws_eks_node_group with version = "{to}" ({_MODULE}: an entry beside {entry}),'
            " and remove this one when it is drained"
        )
        applied = (*_APPLIED, *emptied, *_APPLIED)
    elif way is GroupUpdateKind.TEMPLATE:
        made = (_command(facts, *upgraded, "--launch-template-version", "N"),)
        declared = (
            f"Set image_id = an AMI of {to} in its aws_launch_template, and launch_template.version in its "
            f"aws_eks_node_group where that is a number ({_MODULE}: {entry}.ami_id)"
        )
    else:
        made = (_command(facts, *upgraded, "--kubernetes-version", to),)
        declared = (
            f'Set version = "{to}" in its aws_eks_node_group, and release_version where it is given ({_MODULE}: '
            f"{entry}.kubernetes_version, before v21 .cluster_version, and .ami_release_version)"
        )
    mine = StepForm(EKSCTL, "It made this group, and keeps a stack for it.", made) if EKSCTL in by else None
    return _forms(by, mine, declared, applied)


def of_scaling_group(version: str) -> tuple[StepForm, ...]:
    """Forms for nodes that EKS does not manage; which tool creates them is not known."""
    declared = (
        f"Set image_id = an AMI of {version} in its aws_launch_template ({_MODULE}:"
        " self_managed_node_groups), with a higher desired_capacity in its aws_autoscaling_group, before the drain;"
        " afterwards desired_capacity is again what it was"
    )
    return _forms({}, None, declared)


def _forms(
    by: Mapping[str, str], eksctl: StepForm | None, declared: str, applied: Sequence[str] = _APPLIED
) -> tuple[StepForm, ...]:
    """`tools`: the managing tools by the tags, with the name in the tag. `declared`: the change in Terraform terms."""
    found = [] if eksctl is None else [eksctl]
    if CLOUDFORMATION in by:
        text = f"Stack {by[CLOUDFORMATION]} made it: change it in the template of that, and update the stack: {_DRIFT}."
        found.append(StepForm(CLOUDFORMATION, text))
    if TERRAFORM in by or not by:
        tagged = f"It is tagged {by[TERRAFORM]}. " if TERRAFORM in by else ""
        found.append(StepForm(TERRAFORM, f"{tagged}{declared}: {_DRIFT}.", tuple(applied)))
    return tuple(found)


def _named(told: EksCluster | NodeGroup | Absent | Unknown | None) -> Mapping[str, str]:
    return managed_by(told.tags) if isinstance(told, (EksCluster, NodeGroup)) else {}


def _of_eksctl(facts: CheckFacts, by: Mapping[str, str]) -> bool:
    """Whether eksctl created the cluster. `tools`: by its tags; where they name no tool, its node groups decide."""
    return EKSCTL in by or (not by and by_eksctl(facts.cluster.nodes))


def by_eksctl(nodes: Iterable[Node]) -> bool:
    """Whether eksctl created one of their groups: it labels the nodes of managed groups as well."""
    return any(EKSCTL_GROUP in node.labels for node in nodes)


def new_by_eksctl(facts: CheckFacts, group: str, emptied: Sequence[str]) -> tuple[str, ...]:
    """Replace an eksctl node group by a new one."""
    new, old = (
        "eksctl create nodegroup --config-file cluster.yaml",
        _command(facts, "delete nodegroup", "--name", group),
    )
    return (new, *emptied, old)


def _command(facts: CheckFacts, verb: str, *more: str, name: str = "--cluster") -> str:
    """`name_flag`: the eksctl flag for the cluster's name."""
    return shell("eksctl", *verb.split(), name, name_of(facts), *in_region(facts), *more)
