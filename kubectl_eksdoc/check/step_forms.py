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
from kubectl_eksdoc.model.machines import CLOUDFORMATION, EKSCTL, TERRAFORM, NodeGroup, manager_tags
from kubectl_eksdoc.model.nodes import EKSCTL_GROUP, Node

from .checking import CheckFacts, cluster_name_arg, region_flags
from .checks.release_notes import NodeGroupNodes


@frozen
class StepForm:
    """A step with the `tool` that manages the resource. `text`: sentences; `commands`: none where its users have their
    own."""

    tool: str
    text: str
    commands: tuple[str, ...] = ()


_TERRAFORM_COMMANDS = ("terraform plan -out=upgrade.tfplan", "terraform apply upgrade.tfplan")
_MODULE = "terraform-aws-modules/eks"
_DRIFT = "the commands above would make drift"


def cluster_forms(facts: CheckFacts, version: str) -> tuple[StepForm, ...]:
    """Forms of the control plane's update."""
    tools = _managing_tools(facts.eks)
    eksctl_command = _eksctl_command(facts, "upgrade cluster", "--approve", "--version", version, name_flag="--name")
    return _collect_forms(
        tools,
        StepForm(EKSCTL, "It made this cluster.", (eksctl_command,)) if _is_eksctl_cluster(facts, tools) else None,
        f'Set version = "{version}" in its aws_eks_cluster ({_MODULE}: kubernetes_version, before v21'
        " cluster_version; its groups without a version of their own follow in the same apply)",
    )


def addon_forms(facts: CheckFacts, name: str, versions: Sequence[str]) -> tuple[StepForm, ...]:
    """Forms of an add-on's update; `versions`: one after the other. eksctl keeps no stack for an add-on, so the tags of
    the cluster decide whether eksctl manages it."""
    tools = _managing_tools(facts.eks)
    eksctl_commands = [
        _eksctl_command(facts, "update addon", "--name", name, "--version", each, "--wait") for each in versions
    ]
    text = "Give --config-file instead where the add-on has Pod Identity associations: it has to name them."
    quoted_versions = ", then ".join(f'"{each}"' for each in versions)
    return _collect_forms(
        {tool: tag for tool, tag in tools.items() if tool != EKSCTL},
        StepForm(EKSCTL, text, tuple(eksctl_commands)) if _is_eksctl_cluster(facts, tools) else None,
        f'Set addon_version = {quoted_versions} in its aws_eks_addon ({_MODULE}: addons["{name}"].addon_version,'
        f' before v21 cluster_addons["{name}"].addon_version){"; apply each before the next" * (len(versions) > 1)}',
    )


def node_group_forms(
    facts: CheckFacts, group: NodeGroupNodes, version: str, update_kind: GroupUpdateKind, drain_commands: Sequence[str]
) -> tuple[StepForm, ...]:
    """Forms of a managed node group's update. `drain_commands`: the commands that drain it."""
    node_groups = facts.aws.node_groups
    tools = _managing_tools(node_groups.get(group.name) if isinstance(node_groups, Mapping) else None)
    tools = {EKSCTL: "", **tools} if has_eksctl_nodes(group.nodes) else tools
    entry = f'eks_managed_node_groups["{group.name}"]'
    upgrade_words = ("upgrade nodegroup", "--name", group.name)
    terraform_commands: tuple[str, ...] = _TERRAFORM_COMMANDS
    if update_kind is GroupUpdateKind.NEW_GROUP:
        eksctl_commands = eksctl_new_group_commands(facts, group.name, drain_commands)
        declared = (
            f'Add another aws_eks_node_group with version = "{version}" ({_MODULE}: an entry beside {entry}),'
            " and remove this one when it is drained"
        )
        terraform_commands = (*_TERRAFORM_COMMANDS, *drain_commands, *_TERRAFORM_COMMANDS)
    elif update_kind is GroupUpdateKind.TEMPLATE:
        eksctl_commands = (_eksctl_command(facts, *upgrade_words, "--launch-template-version", "N"),)
        declared = (
            f"Set image_id = an AMI of {version} in its aws_launch_template, and launch_template.version in its "
            f"aws_eks_node_group where that is a number ({_MODULE}: {entry}.ami_id)"
        )
    else:
        eksctl_commands = (_eksctl_command(facts, *upgrade_words, "--kubernetes-version", version),)
        declared = (
            f'Set version = "{version}" in its aws_eks_node_group, and release_version where it is given ({_MODULE}: '
            f"{entry}.kubernetes_version, before v21 .cluster_version, and .ami_release_version)"
        )
    eksctl_form = (
        StepForm(EKSCTL, "It made this group, and keeps a stack for it.", eksctl_commands) if EKSCTL in tools else None
    )
    return _collect_forms(tools, eksctl_form, declared, terraform_commands)


def scaling_group_forms(version: str) -> tuple[StepForm, ...]:
    """Forms for nodes that EKS does not manage; which tool creates them is not known."""
    declared = (
        f"Set image_id = an AMI of {version} in its aws_launch_template ({_MODULE}:"
        " self_managed_node_groups), with a higher desired_capacity in its aws_autoscaling_group, before the drain;"
        " afterwards desired_capacity is again what it was"
    )
    return _collect_forms({}, None, declared)


def _collect_forms(
    tools: Mapping[str, str],
    eksctl_form: StepForm | None,
    declared: str,
    terraform_commands: Sequence[str] = _TERRAFORM_COMMANDS,
) -> tuple[StepForm, ...]:
    """`tools`: the managing tools by the tags, with the name in the tag. `declared`: the change in Terraform terms."""
    forms = [] if eksctl_form is None else [eksctl_form]
    if CLOUDFORMATION in tools:
        text = (
            f"Stack {tools[CLOUDFORMATION]} made it: change it in the template of that, and update the stack: {_DRIFT}."
        )
        forms.append(StepForm(CLOUDFORMATION, text))
    if TERRAFORM in tools or not tools:
        tagged = f"It is tagged {tools[TERRAFORM]}. " if TERRAFORM in tools else ""
        forms.append(StepForm(TERRAFORM, f"{tagged}{declared}: {_DRIFT}.", tuple(terraform_commands)))
    return tuple(forms)


def _managing_tools(resource: EksCluster | NodeGroup | Absent | Unknown | None) -> Mapping[str, str]:
    return manager_tags(resource.tags) if isinstance(resource, (EksCluster, NodeGroup)) else {}


def _is_eksctl_cluster(facts: CheckFacts, tools: Mapping[str, str]) -> bool:
    """Whether eksctl created the cluster. `tools`: by its tags; where they name no tool, its node groups decide."""
    return EKSCTL in tools or (not tools and has_eksctl_nodes(facts.cluster.nodes))


def has_eksctl_nodes(nodes: Iterable[Node]) -> bool:
    """Whether eksctl created one of their groups: it labels the nodes of managed groups as well."""
    return any(EKSCTL_GROUP in node.labels for node in nodes)


def eksctl_new_group_commands(facts: CheckFacts, group: str, drain_commands: Sequence[str]) -> tuple[str, ...]:
    """Replace an eksctl node group by a new one."""
    create, delete = (
        "eksctl create nodegroup --config-file cluster.yaml",
        _eksctl_command(facts, "delete nodegroup", "--name", group),
    )
    return (create, *drain_commands, delete)


def _eksctl_command(facts: CheckFacts, verb: str, *more: str, name_flag: str = "--cluster") -> str:
    """`name_flag`: the eksctl flag for the cluster's name."""
    return shell("eksctl", *verb.split(), name_flag, cluster_name_arg(facts), *region_flags(facts), *more)
