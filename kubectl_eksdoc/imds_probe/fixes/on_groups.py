"""Other nodes: those that come next are in order already, or another group must be made.

Sources: EKS user guide, launch templates ("existing node groups that don't use a custom launch template can't be
updated directly"; the template that EKS makes must not be edited); botocore's model of EKS, Issue.code; eksctl's
schema, ``disablePodIMDS``, and pkg/cfn/builder/nodegroup.go (two hops without it).
"""

from __future__ import annotations

from kubectl_eksdoc.amazon.metadata_service import POD, REQUIRED
from kubectl_eksdoc.imds_probe.fixes.behind import GroupNodes
from kubectl_eksdoc.imds_probe.fixes.fix import NEW_GROUP, REPLACE_NODES, BlastRadius, Fix, RuleScope, complaints
from kubectl_eksdoc.imds_probe.fixes.on_templates import template_data
from kubectl_eksdoc.model.aws.machines import NodeGroup, SaidOptions
from kubectl_eksdoc.model.commands import file_of, shell
from kubectl_eksdoc.model.findings import When

NO_TEMPLATE = (
    "node group {} was created without a launch template of its own, so it can never get one, and the one that EKS "
    "made for it must not be edited: the group is unhealthy then (Ec2LaunchTemplateVersionMismatch)"
)

_KEPT = ("subnets", "nodeRole", "instanceTypes", "labels", "taints", "scalingConfig", "updateConfig")
_PINNED = ("amiType", "capacityType", "version", "releaseVersion")


def replaced(of: GroupNodes) -> Fix:
    """The next node has it by itself: those that run are drained and ended."""
    named = ("--nodegroup", of.alike.name) if of.alike.name else of.alike.nodes
    return Fix(
        REPLACE_NODES,
        When.LATER,
        f"Replace these nodes: the next one is in order already, as {of.alike.next.by} says",
        (shell("kubectl", "eksdoc", "drain", "run", *named, *of.where.in_context),),
        (),
        BlastRadius(len(of.nodes), of.pods_on(of.nodes), how="each is drained and ended, at your pace"),
        "it holds for every node to come",
        ("drain run ends no node: its last page says how they leave", *complaints(RuleScope.INSTANCES)),
    )


def new_group(of: GroupNodes, group: NodeGroup) -> Fix:
    """Beside one without a template of its owner's."""
    name = f"{group.name}-imds"
    file = file_of(name).removesuffix(".yaml") + ".json"
    which = ("--cluster-name", of.where.cluster, "--nodegroup-name")
    region = of.where.in_region
    made = ("--launch-template-name", name, "--launch-template-data", template_data(SaidOptions(REQUIRED, of.hops)))
    keys = ",".join((*_KEPT, *_PINNED))
    jq = f".nodegroup | {{{keys}}} | with_entries(select(.value != null))"
    describe = shell("aws", "eks", "describe-nodegroup", *which, group.name, "--output", "json", *region)
    create = ("--cli-input-json", f"file://{file}", "--launch-template", f"name={name},version=1")
    return Fix(
        NEW_GROUP,
        When.LATER,
        f"Make node group {name} beside {group.name}, from a launch template with a hop limit of {of.hops}, drain "
        f"{group.name} onto it, and delete {group.name}",
        (
            shell("aws", "ec2", "create-launch-template", *made, *region),
            f"{describe} | {shell('jq', jq)} > {shell(file)}",
            shell("aws", "eks", "create-nodegroup", *which, name, *create, *region),
            shell("aws", "eks", "wait", "nodegroup-active", *which, name, *region),
            shell("kubectl", "eksdoc", "drain", "run", "--nodegroup", group.name, *of.where.in_context),
            shell("aws", "eks", "delete-nodegroup", *which, group.name, *region),
        ),
        (
            shell("aws", "eks", "delete-nodegroup", *which, name, *region),
            shell("aws", "eks", "wait", "nodegroup-deleted", *which, name, *region),
            shell("aws", "ec2", "delete-launch-template", "--launch-template-name", name, *region),
        ),
        BlastRadius(
            len(of.members),
            of.pods_on(of.members),
            how=f"every node of {group.name} is drained and ended, at your pace; both groups run meanwhile",
        ),
        "it holds for every node to come",
        (
            "rollback is possible until the old group is deleted: then it is another new group",
            ("disk size, SSH access and AMI of the old group go into the template, or stay out; check them first"),
            "whatever made the old group (Terraform, CloudFormation, eksctl) must make the new one, or its next apply "
            "brings the old one back: terraform-aws-modules/eks takes it as metadata_options (its "
            "http_put_response_hop_limit is 1 from v21 on, and was 2 before)",
            *complaints(RuleScope.INSTANCES, RuleScope.TEMPLATES, RuleScope.LAUNCHES),
        ),
    )


def new_group_by_eksctl(of: GroupNodes, name: str) -> Fix | None:
    """eksctl knows one hop or two, and changes no group that is there."""
    if of.hops > POD:
        return None
    cluster, region = ("--cluster", of.where.cluster), of.where.in_region
    new = f"{name}-imds"
    return Fix(
        NEW_GROUP,
        When.LATER,
        f"Declare node group {new} like {name} in the ClusterConfig, with disablePodIMDS: false, create it, and delete "
        f"{name}: eksctl changes no template of a group that is there",
        (
            shell("eksctl", "create", "nodegroup", "--config-file", "cluster.yaml", f"--include={new}"),
            shell("kubectl", "eksdoc", "drain", "run", "--nodegroup", name, *of.where.in_context),
            shell("eksctl", "delete", "nodegroup", *cluster, "--name", name, *region),
        ),
        (shell("eksctl", "delete", "nodegroup", *cluster, "--name", new, *region),),
        BlastRadius(
            len(of.members),
            of.pods_on(of.members),
            how=f"every node of {name} is drained and ended, at your pace; both groups run meanwhile",
        ),
        "it holds for every node to come",
        (
            "what is changed by hand in the template of its CloudFormation stack is gone with eksctl's next update",
            *complaints(RuleScope.INSTANCES, RuleScope.TEMPLATES, RuleScope.LAUNCHES),
        ),
    )
