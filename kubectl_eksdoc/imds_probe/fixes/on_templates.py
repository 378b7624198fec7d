"""A new version of the launch template that makes the nodes.

Sources: botocore's models of EC2 (CreateLaunchTemplateVersion: what is given "overwrites any corresponding launch
parameters" of the source version, so that all of MetadataOptions is given; snapshots of its block devices are not
inherited) and of EKS (UpdateNodegroupVersion: only for a group that was created with a template, with the same one;
without a version the cluster's is taken, without a release the latest AMI; neither with an AMI of one's own); EKS user
guide, launch templates and updates of managed node groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kubectl_eksdoc.imds_probe.fixes.behind import GroupNodes
from kubectl_eksdoc.imds_probe.fixes.fix import TEMPLATE_VERSION, BlastRadius, Fix, RuleScope, complaints
from kubectl_eksdoc.model.aws.machines import (
    MetadataOptions,
    NodeGroup,
    SaidOptions,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.metadata import OnTemplate

_VERSION = '"$VERSION"'
_AS_CODE = (
    "the tool that manages the template recreates it: set it there as well "
    "(terraform-aws-modules/eks: metadata_options, whose http_put_response_hop_limit is 1 from "
    "v21 on and was 2 before; eksctl: disablePodIMDS: false)"
)
_SNAPSHOTS = "snapshots that its block devices are made of are not inherited from the source version: check them"


def on_group_template(of: GroupNodes, group: NodeGroup, template: TemplateVersion) -> Fix | str:
    """Of a managed node group with a template of its owner's. Text: why not."""
    if not (_own_ami(group, template) or group.release):
        return (
            f"EKS does not tell the AMI release of node group {group.name}: an update to another version of its "
            "template could not be pinned to it, and would bring the latest AMI as well"
        )
    act = _act(of, group, template)
    update = _update(of, act)
    rolls = f", {group.at_once} at a time" if group.at_once else ""
    pinned = (
        f"stays at {act.release}"
        if act.release
        else "is the template's own, so that neither version nor release is given"
    )
    return Fix(
        TEMPLATE_VERSION,
        When.LATER,
        f"Make a version of launch template {template.name or template.id} with a hop limit of {of.hops}, and update "
        f"node group {group.name} to it",
        (_create(of, template, act.after), _with_template(update, act) + _VERSION, _wait(of, group)),
        (f"{_with_template(update, act)}{act.source}", _wait(of, group), _delete(of, template)),
        BlastRadius(
            len(of.members),
            of.pods_on(of.members),
            how=f"EKS replaces every node of {group.name}{rolls}, and evicts their pods by their budgets; what cannot "
            "be evicted within 15 minutes ends the update",
        ),
        "it holds for every node to come",
        (
            f"the AMI {pinned}; the rollback replaces every node again",
            _SNAPSHOTS,
            _AS_CODE,
            *complaints(RuleScope.INSTANCES, RuleScope.TEMPLATES, RuleScope.LAUNCHES),
        ),
        act,
    )


def _own_ami(group: NodeGroup, template: TemplateVersion) -> bool:
    """The template names it, so that EKS puts in none of its own."""
    return bool(template.image) or group.ami_type == "CUSTOM"


def _act(of: GroupNodes, group: NodeGroup, template: TemplateVersion) -> OnTemplate:
    own = _own_ami(group, template)
    return OnTemplate(
        group.name,
        template.id,
        template.number,
        template.options,
        max(of.hops, template.options.hop_limit or 0),
        "" if own else group.version,
        "" if own else group.release,
        tuple(node.name for node in of.members),
        _is_off(of, template),
    )


def _is_off(of: GroupNodes, template: TemplateVersion) -> bool:
    """What it launches has its endpoint disabled: by itself, or by the account's default where it says nothing."""
    options = of.alike.next.options
    return template.options.endpoint is False or (isinstance(options, MetadataOptions) and not options.endpoint)


def on_scaling_template(of: GroupNodes, group: ScalingGroup, ref: TemplateRef, template: TemplateVersion) -> Fix | None:
    """Of an auto scaling group that somebody runs themselves: its running nodes stay as they are."""
    hops = max(of.hops, template.options.hop_limit or 0)
    on = True if _is_off(of, template) else template.options.endpoint
    said = replace(template.options, hop_limit=hops, endpoint=on)
    used = _used(of, group, ref, template)
    if used is None:
        return None
    forth, back = used
    return Fix(
        TEMPLATE_VERSION,
        When.LATER,
        f"Make a version of launch template {template.name or template.id} with a hop limit of {of.hops} for what auto "
        f"scaling group {group.name} launches next",
        (_create(of, template, said), *forth),
        (*back, _delete(of, template)),
        BlastRadius(
            how="running nodes stay as they are until each is drained and ended; an instance refresh drains nothing"
        ),
        "it holds for every node to come",
        (
            "other launches from $Latest or $Default of this template get it, too",
            _SNAPSHOTS,
            _AS_CODE,
            *complaints(RuleScope.TEMPLATES, RuleScope.LAUNCHES),
        ),
    )


def _used(
    of: GroupNodes, group: ScalingGroup, ref: TemplateRef, template: TemplateVersion
) -> tuple[Sequence[str], Sequence[str]] | None:
    """How the group comes to launch from the new version, and from the old one again; None: no line does it."""
    if ref.version == "$Latest":
        return (), ()
    if ref.version == "$Default":
        words = ("aws", "ec2", "modify-launch-template", "--launch-template-id", template.id, *of.where.in_region)
        default = shell(*words) + " --default-version "
        return (default + _VERSION,), (f"{default}{template.number}",)
    if group.mixed:
        return None
    words = ("aws", "autoscaling", "update-auto-scaling-group", "--auto-scaling-group-name", group.name)
    update = shell(*words, *of.where.in_region, "--launch-template", f"LaunchTemplateId={template.id},Version=")
    return (update + _VERSION,), (f"{update}{template.number}",)


def _create(of: GroupNodes, template: TemplateVersion, said: SaidOptions) -> str:
    words = ("aws", "ec2", "create-launch-template-version", "--launch-template-id", template.id)
    data = ("--source-version", str(template.number), "--launch-template-data", template_data(said))
    number = ("--query", "LaunchTemplateVersion.VersionNumber", "--output", "text", *of.where.in_region)
    return f"VERSION=$({shell(*words, *data, *number)})"


def template_data(said: SaidOptions) -> str:
    """LaunchTemplateData as JSON, with nothing but all that it says of the metadata service."""
    switched = {True: '"enabled"', False: '"disabled"'}
    told = {
        "HttpTokens": f'"{said.tokens}"' if said.tokens.isalpha() else None,
        "HttpPutResponseHopLimit": None if said.hop_limit is None else str(said.hop_limit),
        "HttpEndpoint": None if said.endpoint is None else switched[said.endpoint],
        "HttpProtocolIpv6": None if said.ipv6 is None else switched[said.ipv6],
        "InstanceMetadataTags": None if said.tags is None else switched[said.tags],
    }
    inner = ",".join(f'"{name}":{value}' for name, value in told.items() if value is not None)
    return f'{{"MetadataOptions":{{{inner}}}}}'


def _update(of: GroupNodes, act: OnTemplate) -> tuple[str, ...]:
    words = (
        "aws",
        "eks",
        "update-nodegroup-version",
        "--cluster-name",
        of.where.cluster,
        "--nodegroup-name",
        act.group,
    )
    kept = ("--kubernetes-version", act.version, "--release-version", act.release) if act.release else ()
    return (*words, *kept, *of.where.in_region)


def _with_template(update: tuple[str, ...], act: OnTemplate) -> str:
    """Up to the number of its version."""
    return shell(*update, "--launch-template", f"id={act.id},version=")


def _wait(of: GroupNodes, group: NodeGroup) -> str:
    words = ("aws", "eks", "wait", "nodegroup-active", "--cluster-name", of.where.cluster)
    return shell(*words, "--nodegroup-name", group.name, *of.where.in_region)


def _delete(of: GroupNodes, template: TemplateVersion) -> str:
    words = ("aws", "ec2", "delete-launch-template-versions", "--launch-template-id", template.id)
    return shell(*words, *of.where.in_region) + f" --versions {_VERSION}"
