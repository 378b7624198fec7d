"""Sources of a set of nodes (instances, launch templates, NodeClasses), and the fixes that change them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from kubectl_eksdoc.amazon.metadata_service import Reach, verdict
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.connection import UNNAMED, CommandTarget, patch, shell
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import (
    Instance,
    MetadataOptions,
    NodeGroup,
    SaidOptions,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)
from kubectl_eksdoc.model.metadata import OnClass, OnInstances, OnTemplate, SetOptions
from kubectl_eksdoc.model.nodes import Node, Pod

from .fix import (
    INSTANCE_OPTIONS,
    NODE_CLASS,
    TEMPLATE_VERSION,
    BlastRadius,
    Fix,
    RuleScope,
    complaints,
)
from .sources import MetadataFacts, NodesAlike, class_name, instance_of, nodes_of_class

K = TypeVar("K")
T = TypeVar("T")


@frozen
class ClusterPlace:
    """The cluster that commands act on; "" for unknown values. `kubectl_flags`: flags that make kubectl use this
    cluster, whatever the current context is."""

    cluster: str = ""
    region: str = ""
    account: str = ""
    vpc: str = ""
    in_context: tuple[str, ...] = ()
    profile: str = ""

    @property
    def in_region(self) -> tuple[str, ...]:
        """Flags of the AWS CLI and eksctl for the account that was read."""
        region = ("--region", self.region) if self.region else ()
        return (*region, "--profile", self.profile) if self.profile else region


@frozen
class GroupNodes:
    """The nodes that a fix applies to. `node_set` is a part of a group; `nodes` are its own, `members` all nodes of
    that owner and name. `cluster`: the whole one; `facts` may cover a part. `pods_by_node`: number of pods that must be
    scheduled elsewhere without the node. `hops`: the number that pods need."""

    alike: NodesAlike
    facts: MetadataFacts
    whole: Cluster
    where: ClusterPlace
    hops: int
    nodes: tuple[Node, ...]
    members: tuple[Node, ...]
    pods: Mapping[str, int]

    def drained(self, *named: str) -> str:
        """The drain command; for the demo, with --demo."""
        demo = ("--demo",) if self.whole.source is Source.DEMO else ()
        return CommandTarget(demo, self.where.in_context).of(shell("kubectl", "eksdoc", "drain", "run", *named))

    @property
    def instances(self) -> tuple[tuple[Node, Instance, MetadataOptions], ...]:
        """Running instances with known options."""
        found = ((node, _known(self.facts.told.instances, instance_of(node))) for node in self.nodes)
        return tuple(
            (node, instance, instance.options)
            for node, instance in found
            if instance is not None and instance.options is not None and instance.state in ("", "running")
        )

    @property
    def group(self) -> NodeGroup | None:
        return _known(self.facts.told.node_groups, self.alike.name)

    @property
    def scaling(self) -> ScalingGroup | None:
        """The common auto scaling group of all nodes, None if there is not exactly one."""
        instances = (_known(self.facts.told.instances, instance_of(node)) for node in self.nodes)
        names = {each.scaling_group if each is not None else "" for each in instances}
        return _known(self.facts.told.scaling_groups, next(iter(names))) if len(names) == 1 else None

    def template(self, ref: TemplateRef) -> TemplateVersion | None:
        return _known(self.facts.told.templates, ref)

    @property
    def node_class(self) -> str:
        """The name of the common EC2NodeClass, "" if it is unknown or there are several."""
        names = {class_name(node, self.whole) for node in self.nodes}
        found = next(iter(names)) if len(names) == 1 else ""
        return "" if isinstance(found, Unknown) else found

    @property
    def class_said(self) -> SaidOptions | None:
        return next((each.metadata for each in self.whole.node_classes if each.name == self.node_class), None)

    def pods_on(self, nodes: Iterable[Node]) -> int:
        return sum(self.pods.get(node.name, 0) for node in nodes)


def behind(
    alike: NodesAlike,
    facts: MetadataFacts,
    hops: int,
    whole: Cluster,
    pods: Mapping[str, int],
    vpc: str = "",
    profile: str = "",
    kubectl: tuple[str, ...] = (),
) -> GroupNodes:
    """`pods_by_node` as counted by `count_evicted_pods`; `vpc`: the cluster's VPC ID; `kubectl`: flags that make
    kubectl use the cluster, none if its context is sufficient."""
    who, names = whole.identity, set(alike.nodes)
    kubectl = kubectl or (("--context", who.context) if who.context else ())
    return GroupNodes(
        alike,
        facts,
        whole,
        ClusterPlace(who.cluster or UNNAMED, who.region, who.account, vpc, kubectl, profile),
        hops,
        tuple(node for node in whole.nodes if node.name in names),
        tuple(node for node in whole.nodes if (node.owner, node.group) == (alike.owner, alike.name)),
        pods,
    )


def leaving(pods: Iterable[Pod]) -> dict[str, int]:
    """By node: the pods that must be scheduled elsewhere without it. Pods of DaemonSets and static pods end with it."""
    found: dict[str, int] = {}
    for pod in pods:
        if pod.finished or pod.mirror or pod.of_daemon_set:
            continue
        found[pod.node] = found.get(pod.node, 0) + 1
    return found


def _known(held: Mapping[K, T | Absent | Unknown], key: K) -> T | None:
    found = held.get(key)
    return None if found is None or isinstance(found, (Absent, Unknown)) else found


# Options of running instances: no node is replaced, and the change ends with the instance.
#
# Sources: botocore's model of EC2, ModifyInstanceMetadataOptions (options that are not named stay; ``pending``, then
# ``applied``).


def on_instances(of: GroupNodes) -> Fix | None:
    """None if no instance with restricted access is known."""
    each = tuple(_needed(of))
    if not each:
        return None
    count = len(each)
    left = len(of.nodes) - count
    cautions = list(complaints(RuleScope.INSTANCES, RuleScope.CHANGES))
    if left:
        cautions.insert(
            0, f"of {left} more {'node' if left == 1 else 'nodes'} the instance is not known, or not in force"
        )
    return Fix(
        INSTANCE_OPTIONS,
        When.NOW,
        f"Give {'the running instance' if count == 1 else f'the {count} running instances'} a hop limit of {of.hops}, "
        "as they run: no node is replaced and no pod restarted",
        tuple(_modify(of, one.instance, one.hop_limit, None if one.before.endpoint else True) for one in each),
        tuple(_modify(of, one.instance, one.before.hop_limit, None if one.before.endpoint else False) for one in each),
        BlastRadius(instances=count, how="EC2 applies it within seconds"),
        _lasts(of),
        tuple(cautions),
        OnInstances(each),
    )


def _needed(of: GroupNodes) -> Iterator[SetOptions]:
    for node, instance, options in of.instances:
        if verdict(options, of.hops).reach in (Reach.CUT_OFF, Reach.V1_ONLY):
            yield SetOptions(node.name, instance.id, options, max(of.hops, options.hop_limit))


def _modify(of: GroupNodes, instance: str, hop_limit: int, endpoint: bool | None) -> str:
    switch = () if endpoint is None else ("--http-endpoint", "enabled" if endpoint else "disabled")
    words = ("aws", "ec2", "modify-instance-metadata-options", "--instance-id", instance)
    return shell(*words, "--http-put-response-hop-limit", str(hop_limit), *switch, *of.where.in_region)


def _lasts(of: GroupNodes) -> str:
    """The next instance does not have the change."""
    later, options = of.alike.later, of.alike.next.options
    if later.reach is Reach.REACHABLE:
        return "it is lost with the instance, and the next one has it by itself"
    if isinstance(options, MetadataOptions):
        return f"it is lost with the instance: the next one is as before ({later.why}; {of.alike.next.by})"
    return "it is lost with the instance, and what the next one has is not known"


# EC2NodeClasses of Karpenter: a change replaces every node of the class.
#
# Sources: Karpenter, concepts/nodeclasses (spec.metadataOptions) and concepts/disruption (drift; a NodePool without
# budgets has one of 10 %); karpenter v1.14.1, pkg/apis/v1/ec2nodeclass.go.


KIND = "ec2nodeclass"


def on_class(of: GroupNodes) -> Fix | None:
    """None if the class is unknown, or there are several."""
    said, name = of.class_said, of.node_class
    if said is None or not name:
        return None
    nodes = nodes_of_class(name, of.whole)
    switch = said.endpoint is False
    act = OnClass(name, said.hop_limit, max(of.hops, said.hop_limit or 0), tuple(node.name for node in nodes), switch)
    pools = sorted({node.group for node in nodes})
    where = of.where.in_context
    back = "null" if said.hop_limit is None else str(said.hop_limit)
    return Fix(
        NODE_CLASS,
        When.LATER,
        f"Give EC2NodeClass {name} a hop limit of {of.hops}",
        (patch(KIND, name, "", _spec(str(act.hop_limit), "enabled" if switch else ""), *where),),
        (patch(KIND, name, "", _spec(back, "disabled" if switch else ""), *where),),
        BlastRadius(
            len(nodes),
            of.pods_on(nodes),
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
            *complaints(RuleScope.INSTANCES, RuleScope.LAUNCHES),
        ),
        act,
    )


def _spec(hop_limit: str, endpoint: str) -> str:
    switch = f',"httpEndpoint":"{endpoint}"' if endpoint else ""
    return f'{{"spec":{{"metadataOptions":{{"httpPutResponseHopLimit":{hop_limit}{switch}}}}}}}'


# A new version of the launch template of a managed node group.
#
# Sources: botocore's models of EC2 (CreateLaunchTemplateVersion: the given values "overwrites any corresponding launch
# parameters" of the source version, so all MetadataOptions are given; snapshots of block devices are not inherited) and
# of EKS (UpdateNodegroupVersion: only for a group that was created with a template, with the same one; without a
# version the cluster's is used, without a release the latest AMI; neither with a custom AMI); EKS user guide, launch
# templates and updates of managed node groups.


_VERSION = '"$VERSION"'
_AS_CODE = (
    "the tool that manages the template recreates it: set it there as well "
    "(terraform-aws-modules/eks: metadata_options, whose http_put_response_hop_limit is 1 from "
    "v21 on and was 2 before; eksctl: disablePodIMDS: false, which gives 2)"
)
_SNAPSHOTS = "snapshots that its block devices are made of are not inherited from the source version: check them"


def on_group_template(of: GroupNodes, group: NodeGroup, template: TemplateVersion) -> Fix | str:
    """For a managed node group with a custom launch template. A text is the reason why there is no such fix."""
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
    """The template names the AMI, so EKS adds none."""
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
    """The template's instances have a disabled endpoint: by the template, or by the account's default."""
    options = of.alike.next.options
    return template.options.endpoint is False or (isinstance(options, MetadataOptions) and not options.endpoint)


def _create(of: GroupNodes, template: TemplateVersion, said: SaidOptions) -> str:
    words = ("aws", "ec2", "create-launch-template-version", "--launch-template-id", template.id)
    data = ("--source-version", str(template.number), "--launch-template-data", template_data(said))
    number = ("--query", "LaunchTemplateVersion.VersionNumber", "--output", "text", *of.where.in_region)
    return f"VERSION=$({shell(*words, *data, *number)})"


def template_data(said: SaidOptions) -> str:
    """LaunchTemplateData as JSON, with only the metadata options."""
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
    """Without the number of the template version."""
    return shell(*update, "--launch-template", f"id={act.id},version=")


def _wait(of: GroupNodes, group: NodeGroup) -> str:
    words = ("aws", "eks", "wait", "nodegroup-active", "--cluster-name", of.where.cluster)
    return shell(*words, "--nodegroup-name", group.name, *of.where.in_region)


def _delete(of: GroupNodes, template: TemplateVersion) -> str:
    words = ("aws", "ec2", "delete-launch-template-versions", "--launch-template-id", template.id)
    return shell(*words, *of.where.in_region) + f" --versions {_VERSION}"
