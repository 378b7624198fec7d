"""Sources of a set of nodes (instances, launch templates, NodeClasses), and the fixes that change them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from kubectl_eksdoc.amazon.metadata_service import ImdsReach, imds_verdict
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.connection import CLUSTER_PLACEHOLDER, CommandTarget, patch, shell
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import (
    DeclaredMetadataOptions,
    Instance,
    MetadataOptions,
    NodeGroup,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)
from kubectl_eksdoc.model.metadata import InstanceOptionsChange, InstancesFix, LaunchTemplateFix, NodeClassFix
from kubectl_eksdoc.model.nodes import Node, Pod

from .fix import (
    INSTANCE_OPTIONS,
    NODE_CLASS,
    TEMPLATE_VERSION,
    BlastRadius,
    Fix,
    RuleScope,
    rule_cautions,
)
from .sources import MetadataFacts, NodeSet, class_name, instance_id, nodes_of_class

K = TypeVar("K")
T = TypeVar("T")


@frozen
class ClusterTarget:
    """The cluster that commands act on; "" for unknown values. `kubectl_flags`: flags that make kubectl use this
    cluster, whatever the current context is."""

    cluster: str = ""
    region: str = ""
    account: str = ""
    vpc: str = ""
    kubectl_flags: tuple[str, ...] = ()
    profile: str = ""

    @property
    def aws_flags(self) -> tuple[str, ...]:
        """Flags of the AWS CLI and eksctl for the account that was read."""
        region = ("--region", self.region) if self.region else ()
        return (*region, "--profile", self.profile) if self.profile else region


@frozen
class FixScope:
    """The nodes that a fix applies to. `node_set` is a part of a group; `nodes` are its own, `members` all nodes of
    that owner and name. `cluster`: the whole one; `facts` may cover a part. `pods_by_node`: number of pods that must be
    scheduled elsewhere without the node. `hops`: the number that pods need."""

    node_set: NodeSet
    facts: MetadataFacts
    cluster: Cluster
    target: ClusterTarget
    hops: int
    nodes: tuple[Node, ...]
    members: tuple[Node, ...]
    pods_by_node: Mapping[str, int]

    def drain_command(self, *targets: str) -> str:
        """The drain command; for the demo, with --demo."""
        demo_flags = ("--demo",) if self.cluster.source is Source.DEMO else ()
        return CommandTarget(demo_flags, self.target.kubectl_flags).add_to(
            shell("kubectl", "eksdoc", "drain", "run", *targets)
        )

    @property
    def instances(self) -> tuple[tuple[Node, Instance, MetadataOptions], ...]:
        """Running instances with known options."""
        pairs = ((node, _known_value(self.facts.machines.instances, instance_id(node))) for node in self.nodes)
        return tuple(
            (node, instance, instance.options)
            for node, instance in pairs
            if instance is not None and instance.options is not None and instance.state in ("", "running")
        )

    @property
    def group(self) -> NodeGroup | None:
        return _known_value(self.facts.machines.node_groups, self.node_set.name)

    @property
    def scaling_group(self) -> ScalingGroup | None:
        """The common auto scaling group of all nodes, None if there is not exactly one."""
        instances = (_known_value(self.facts.machines.instances, instance_id(node)) for node in self.nodes)
        names = {each.scaling_group if each is not None else "" for each in instances}
        return _known_value(self.facts.machines.scaling_groups, next(iter(names))) if len(names) == 1 else None

    def template(self, template_ref: TemplateRef) -> TemplateVersion | None:
        return _known_value(self.facts.machines.templates, template_ref)

    @property
    def node_class(self) -> str:
        """The name of the common EC2NodeClass, "" if it is unknown or there are several."""
        names = {class_name(node, self.cluster) for node in self.nodes}
        name = next(iter(names)) if len(names) == 1 else ""
        return "" if isinstance(name, Unknown) else name

    @property
    def class_options(self) -> DeclaredMetadataOptions | None:
        return next((each.metadata for each in self.cluster.node_classes if each.name == self.node_class), None)

    def pods_on(self, nodes: Iterable[Node]) -> int:
        return sum(self.pods_by_node.get(node.name, 0) for node in nodes)


def fix_scope(
    node_set: NodeSet,
    facts: MetadataFacts,
    hops: int,
    cluster: Cluster,
    pods_by_node: Mapping[str, int],
    vpc: str = "",
    profile: str = "",
    kubectl: tuple[str, ...] = (),
) -> FixScope:
    """`pods_by_node` as counted by `count_evicted_pods`; `vpc`: the cluster's VPC ID; `kubectl`: flags that make
    kubectl use the cluster, none if its context is sufficient."""
    identity, names = cluster.identity, set(node_set.nodes)
    kubectl = kubectl or (("--context", identity.context) if identity.context else ())
    return FixScope(
        node_set,
        facts,
        cluster,
        ClusterTarget(
            identity.cluster or CLUSTER_PLACEHOLDER, identity.region, identity.account, vpc, kubectl, profile
        ),
        hops,
        tuple(node for node in cluster.nodes if node.name in names),
        tuple(node for node in cluster.nodes if (node.owner, node.group) == (node_set.owner, node_set.name)),
        pods_by_node,
    )


def count_evicted_pods(pods: Iterable[Pod]) -> dict[str, int]:
    """By node: the pods that must be scheduled elsewhere without it. Pods of DaemonSets and static pods end with it."""
    counts: dict[str, int] = {}
    for pod in pods:
        if pod.finished or pod.is_mirror or pod.is_daemon_set_pod:
            continue
        counts[pod.node] = counts.get(pod.node, 0) + 1
    return counts


def _known_value(mapping: Mapping[K, T | Absent | Unknown], key: K) -> T | None:
    value = mapping.get(key)
    return None if value is None or isinstance(value, (Absent, Unknown)) else value


# Options of running instances: no node is replaced, and the change ends with the instance.
#
# Sources: botocore's model of EC2, ModifyInstanceMetadataOptions (options that are not named stay; ``pending``, then
# ``applied``).


def instance_options_fix(scope: FixScope) -> Fix | None:
    """None if no instance with restricted access is known."""
    changes = tuple(_needed_changes(scope))
    if not changes:
        return None
    size = len(changes)
    others = len(scope.nodes) - size
    cautions = list(rule_cautions(RuleScope.INSTANCES, RuleScope.CHANGES))
    if others:
        cautions.insert(
            0, f"of {others} more {'node' if others == 1 else 'nodes'} the instance is not known, or not in force"
        )
    return Fix(
        INSTANCE_OPTIONS,
        When.NOW,
        f"Give {'the running instance' if size == 1 else f'the {size} running instances'} a hop limit of {scope.hops}, "
        "as they run: no node is replaced and no pod restarted",
        tuple(
            _modify_command(scope, change.instance, change.hop_limit, None if change.before.endpoint else True)
            for change in changes
        ),
        tuple(
            _modify_command(scope, change.instance, change.before.hop_limit, None if change.before.endpoint else False)
            for change in changes
        ),
        BlastRadius(instances=size, how="EC2 applies it within seconds"),
        _lasts_text(scope),
        tuple(cautions),
        InstancesFix(changes),
    )


def _needed_changes(scope: FixScope) -> Iterator[InstanceOptionsChange]:
    for node, instance, options in scope.instances:
        if imds_verdict(options, scope.hops).reach in (ImdsReach.UNREACHABLE, ImdsReach.V1_ONLY):
            yield InstanceOptionsChange(node.name, instance.id, options, max(scope.hops, options.hop_limit))


def _modify_command(scope: FixScope, instance: str, hop_limit: int, endpoint: bool | None) -> str:
    endpoint_flags = () if endpoint is None else ("--http-endpoint", "enabled" if endpoint else "disabled")
    words = ("aws", "ec2", "modify-instance-metadata-options", "--instance-id", instance)
    return shell(*words, "--http-put-response-hop-limit", str(hop_limit), *endpoint_flags, *scope.target.aws_flags)


def _lasts_text(scope: FixScope) -> str:
    """The next instance does not have the change."""
    verdict_next, options = scope.node_set.verdict_next, scope.node_set.next.options
    if verdict_next.reach is ImdsReach.REACHABLE:
        return "it is lost with the instance, and the next one has it by itself"
    if isinstance(options, MetadataOptions):
        return f"it is lost with the instance: the next one is as before ({verdict_next.why}; {scope.node_set.next.by})"
    return "it is lost with the instance, and what the next one has is not known"


# EC2NodeClasses of Karpenter: a change replaces every node of the class.
#
# Sources: Karpenter, concepts/nodeclasses (spec.metadataOptions) and concepts/disruption (drift; a NodePool without
# budgets has one of 10 %); karpenter v1.14.1, pkg/apis/v1/ec2nodeclass.go.


NODE_CLASS_KIND = "ec2nodeclass"


def node_class_fix(scope: FixScope) -> Fix | None:
    """None if the class is unknown, or there are several."""
    options, name = scope.class_options, scope.node_class
    if options is None or not name:
        return None
    nodes = nodes_of_class(name, scope.cluster)
    must_enable = options.endpoint is False
    action = NodeClassFix(
        name,
        options.hop_limit,
        max(scope.hops, options.hop_limit or 0),
        tuple(node.name for node in nodes),
        must_enable,
    )
    pools = sorted({node.group for node in nodes})
    kubectl_flags = scope.target.kubectl_flags
    old_limit = "null" if options.hop_limit is None else str(options.hop_limit)
    return Fix(
        NODE_CLASS,
        When.LATER,
        f"Give EC2NodeClass {name} a hop limit of {scope.hops}",
        (
            patch(
                NODE_CLASS_KIND,
                name,
                "",
                _class_patch(str(action.hop_limit), "enabled" if must_enable else ""),
                *kubectl_flags,
            ),
        ),
        (patch(NODE_CLASS_KIND, name, "", _class_patch(old_limit, "disabled" if must_enable else ""), *kubectl_flags),),
        BlastRadius(
            len(nodes),
            scope.pods_on(nodes),
            how=f"every node of the class drifts, and Karpenter begins to replace them at once, in "
            f"{'NodePool' if len(pools) == 1 else 'NodePools'} {', '.join(pools) or '(none)'} by their disruption "
            "budgets: 10 % of a NodePool's nodes at a time unless they say otherwise",
        ),
        "it holds for every node to come",
        (
            (
                'a budget of nodes: "0" for the reason Drifted in the NodePool holds it back until the night '
                "you want (Karpenter v1), and the rollback drifts every node again"
            ),
            "what made the class (Helm, Argo CD, Terraform) puts it back: set spec.metadataOptions there as well",
            *rule_cautions(RuleScope.INSTANCES, RuleScope.LAUNCHES),
        ),
        action,
    )


def _class_patch(hop_limit: str, endpoint: str) -> str:
    endpoint_text = f',"httpEndpoint":"{endpoint}"' if endpoint else ""
    return f'{{"spec":{{"metadataOptions":{{"httpPutResponseHopLimit":{hop_limit}{endpoint_text}}}}}}}'


# A new version of the launch template of a managed node group.
#
# Sources: botocore's models of EC2 (CreateLaunchTemplateVersion: the given values "overwrites any corresponding launch
# parameters" of the source version, so all MetadataOptions are given; snapshots of block devices are not inherited) and
# of EKS (UpdateNodegroupVersion: only for a group that was created with a template, with the same one; without a
# version the cluster's is used, without a release the latest AMI; neither with a custom AMI); EKS user guide, launch
# templates and updates of managed node groups.


_VERSION_VARIABLE = '"$VERSION"'
_TEMPLATE_OWNER_CAUTION = (
    "the tool that manages the template recreates it: set it there as well "
    "(terraform-aws-modules/eks: metadata_options, whose http_put_response_hop_limit is 1 from "
    "v21 on and was 2 before; eksctl: disablePodIMDS: false, which gives 2)"
)
_SNAPSHOT_CAUTION = "snapshots that its block devices are made of are not inherited from the source version: check them"


def template_version_fix(scope: FixScope, group: NodeGroup, template: TemplateVersion) -> Fix | str:
    """For a managed node group with a custom launch template. A text is the reason why there is no such fix."""
    if not (_has_own_ami(group, template) or group.release):
        return (
            f"EKS does not tell the AMI release of node group {group.name}: an update to another version of its "
            "template could not be pinned to it, and would bring the latest AMI as well"
        )
    action = _template_action(scope, group, template)
    update_words = _update_words(scope, action)
    rate = f", {group.at_once} at a time" if group.at_once else ""
    ami_text = (
        f"stays at {action.release}"
        if action.release
        else "is the template's own, so that neither version nor release is given"
    )
    return Fix(
        TEMPLATE_VERSION,
        When.LATER,
        f"Make a version of launch template {template.name or template.id} with a hop limit of {scope.hops}, "
        "and update "
        f"node group {group.name} to it",
        (
            _create_version_command(scope, template, action.after),
            _update_command(update_words, action) + _VERSION_VARIABLE,
            _wait_command(scope, group),
        ),
        (
            f"{_update_command(update_words, action)}{action.source}",
            _wait_command(scope, group),
            _delete_version_command(scope, template),
        ),
        BlastRadius(
            len(scope.members),
            scope.pods_on(scope.members),
            how=f"EKS replaces every node of {group.name}{rate}, and evicts their pods by their budgets; what cannot "
            "be evicted within 15 minutes ends the update",
        ),
        "it holds for every node to come",
        (
            f"the AMI {ami_text}; the rollback replaces every node again",
            _SNAPSHOT_CAUTION,
            _TEMPLATE_OWNER_CAUTION,
            *rule_cautions(RuleScope.INSTANCES, RuleScope.TEMPLATES, RuleScope.LAUNCHES),
        ),
        action,
    )


def _has_own_ami(group: NodeGroup, template: TemplateVersion) -> bool:
    """The template names the AMI, so EKS adds none."""
    return bool(template.image) or group.ami_type == "CUSTOM"


def _template_action(scope: FixScope, group: NodeGroup, template: TemplateVersion) -> LaunchTemplateFix:
    has_own_ami = _has_own_ami(group, template)
    return LaunchTemplateFix(
        group.name,
        template.id,
        template.number,
        template.options,
        max(scope.hops, template.options.hop_limit or 0),
        "" if has_own_ami else group.version,
        "" if has_own_ami else group.release,
        tuple(node.name for node in scope.members),
        _is_endpoint_disabled(scope, template),
    )


def _is_endpoint_disabled(scope: FixScope, template: TemplateVersion) -> bool:
    """The template's instances have a disabled endpoint: by the template, or by the account's default."""
    options = scope.node_set.next.options
    return template.options.endpoint is False or (isinstance(options, MetadataOptions) and not options.endpoint)


def _create_version_command(scope: FixScope, template: TemplateVersion, options: DeclaredMetadataOptions) -> str:
    words = ("aws", "ec2", "create-launch-template-version", "--launch-template-id", template.id)
    data = ("--source-version", str(template.number), "--launch-template-data", template_data(options))
    number = ("--query", "LaunchTemplateVersion.VersionNumber", "--output", "text", *scope.target.aws_flags)
    return f"VERSION=$({shell(*words, *data, *number)})"


def template_data(options: DeclaredMetadataOptions) -> str:
    """LaunchTemplateData as JSON, with only the metadata options."""
    switch_text = {True: '"enabled"', False: '"disabled"'}
    fields = {
        "HttpTokens": f'"{options.tokens}"' if options.tokens.isalpha() else None,
        "HttpPutResponseHopLimit": None if options.hop_limit is None else str(options.hop_limit),
        "HttpEndpoint": None if options.endpoint is None else switch_text[options.endpoint],
        "HttpProtocolIpv6": None if options.ipv6 is None else switch_text[options.ipv6],
        "InstanceMetadataTags": None if options.tags is None else switch_text[options.tags],
    }
    body = ",".join(f'"{name}":{value}' for name, value in fields.items() if value is not None)
    return f'{{"MetadataOptions":{{{body}}}}}'


def _update_words(scope: FixScope, action: LaunchTemplateFix) -> tuple[str, ...]:
    words = (
        "aws",
        "eks",
        "update-nodegroup-version",
        "--cluster-name",
        scope.target.cluster,
        "--nodegroup-name",
        action.group,
    )
    version_flags = (
        ("--kubernetes-version", action.version, "--release-version", action.release) if action.release else ()
    )
    return (*words, *version_flags, *scope.target.aws_flags)


def _update_command(update: tuple[str, ...], action: LaunchTemplateFix) -> str:
    """Without the number of the template version."""
    return shell(*update, "--launch-template", f"id={action.id},version=")


def _wait_command(scope: FixScope, group: NodeGroup) -> str:
    words = ("aws", "eks", "wait", "nodegroup-active", "--cluster-name", scope.target.cluster)
    return shell(*words, "--nodegroup-name", group.name, *scope.target.aws_flags)


def _delete_version_command(scope: FixScope, template: TemplateVersion) -> str:
    words = ("aws", "ec2", "delete-launch-template-versions", "--launch-template-id", template.id)
    return shell(*words, *scope.target.aws_flags) + f" --versions {_VERSION_VARIABLE}"
