"""The source of a node's metadata options, for each way of provisioning nodes, now and for the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.amazon.metadata_service import NESTED_HOPS, ImdsReach
from kubectl_eksdoc.imds_probe.sources import (
    NODE_CLASS,
    MetadataFacts,
    current_service,
    instance_id,
    next_service,
    node_sets,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import NodeClass, NodePool
from kubectl_eksdoc.model.kinds import Absent, Resource, Unknown
from kubectl_eksdoc.model.machines import (
    DeclaredMetadataOptions,
    Image,
    Instance,
    MachineFacts,
    MetadataOptions,
    NodeGroup,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, NODE_POOL, Node, NodeOwner
from tests.builders import a_cluster, a_node, with_classes

ID, AMI = "i-0123456789abcdef0", "ami-1"
REF = TemplateRef("lt-1", "own", "3")
DENIED = Unknown("IAM does not allow it", "ec2:DescribeLaunchTemplateVersions")
AL2, AL2023 = MetadataOptions("optional", 2), MetadataOptions("required", 1)
NOTHING = DeclaredMetadataOptions()


def of(group: str = "blue", **labels: str) -> Node:
    return a_node("n1", group=group, provider_id=f"aws:///eu-west-1a/{ID}", labels=labels)


def facts(**more: Any) -> MetadataFacts:
    given: dict[str, Any] = {
        "instances": {ID: Instance(ID, AMI, options=AL2, scaling_group="asg-1")},
        "images": {AMI: Image(AMI, v2=True)},
        "account": NOTHING,
        **more,
    }
    return MetadataFacts(a_cluster(), MachineFacts(**given))


def group(template: TemplateRef | None = None, ami: str = "AL2023_x86_64_STANDARD") -> dict[str, Any]:
    return {"node_groups": {"blue": NodeGroup("blue", ami, template=template)}}


def test_as_the_instance_has_it() -> None:
    assert current_service(of(), facts()).options == AL2
    gone = current_service(of(), facts(instances={ID: Absent("EC2 knows no such instance")})).options
    assert isinstance(gone, Unknown) and f"instance {ID}: EC2 knows no such instance" in gone.why
    assert isinstance(current_service(of(), facts(instances={})).options, Unknown)
    untold = current_service(of(), facts(instances={ID: Instance(ID)})).options
    assert isinstance(untold, Unknown) and "does not tell" in untold.why


@pytest.mark.parametrize(
    ("provider", "ident"),
    [
        (f"aws:///eu-west-1a/{ID}", ID),
        ("aws:///eu-west-1a/i-12345678", "i-12345678"),
        ("aws:///eu-west-1a/0c3b/fargate-ip-10-0-0-7.eu-west-1.compute.internal", ""),
        ("eks-hybrid:///eu-west-1/prod/mi-0123", ""),
        ("", ""),
        (f"gce:///{ID}", ""),
    ],
)
def test_instances_by_provider_id(provider: str, ident: str) -> None:
    node = a_node(provider_id=provider)
    assert instance_id(node) == ident
    if not ident:
        told = current_service(node, facts()).options
        assert isinstance(told, Unknown) and "names no instance" in told.why


@pytest.mark.parametrize("compute", ["fargate", "hybrid"])
def test_where_there_is_no_service(compute: str) -> None:
    node = a_node(labels={COMPUTE_TYPE: compute}, provider_id="")
    for service in (current_service(node, facts()), next_service(node, facts())):
        assert service.options is None and service.by


def test_a_managed_group_without_a_template_has_what_eks_writes() -> None:
    next_one = next_service(of(), facts(**group()))
    assert next_one.options == AL2023 and next_one.options != current_service(of(), facts()).options
    assert next_one.by.endswith("AMI type AL2023_x86_64_STANDARD")
    assert next_service(of(), facts(**group(ami="AL2_x86_64"))).options == AL2
    assert isinstance(next_service(of(), facts(**group(ami="BOTTLEROCKET_ARM_64"))).options, Unknown)
    assert isinstance(next_service(of(), facts()).options, Unknown), "the group was not asked for"


def test_a_managed_group_with_a_template_goes_by_it() -> None:
    whole = TemplateVersion("lt-1", "own", 3, DeclaredMetadataOptions("required", 2))
    told = next_service(of(), facts(**group(REF), templates={REF: whole}))
    assert told.options == MetadataOptions("required", 2) and told.by == "launch template own version 3"
    silent = TemplateVersion("lt-1", "own", 3)
    told = next_service(of(), facts(**group(REF), templates={REF: silent}))
    assert told.options == MetadataOptions("required", 2) and "ImdsSupport" in told.by, "by the node's own AMI"
    half = TemplateVersion("lt-1", "own", 3, DeclaredMetadataOptions(tokens="optional"))
    told = next_service(of(), facts(**group(REF), templates={REF: half}, account=DeclaredMetadataOptions(hop_limit=1)))
    assert told.options == MetadataOptions("optional", 1)
    assert told.by == "hop limit by the account's default, tokens by launch template own version 3"


@pytest.mark.parametrize(
    "more", [{"templates": {REF: DENIED}}, {"account": DENIED}, {"images": {}}], ids=["template", "account", "image"]
)
def test_what_may_not_be_asked_is_unknown(more: dict[str, Any]) -> None:
    given = {"templates": {REF: TemplateVersion("lt-1", "own", 3)}, **group(REF), **more}
    assert isinstance(next_service(of(), facts(**given)).options, Unknown)


def test_an_ami_that_is_named_by_a_parameter_is_not_gone() -> None:
    silent = TemplateVersion("lt-1", "own", 3, NOTHING, "resolve:ssm:/aws/service/eks/optimized-ami")
    told = next_service(of(), facts(**group(REF), templates={REF: silent})).options
    assert isinstance(told, Unknown) and "looked up at each launch" in told.why


OF_KARPENTER = of("", **{NODE_POOL: "general", NODE_CLASS: "default"})
OF_OLDER_KARPENTER = of("", **{NODE_POOL: "general"})


def classes(
    *said: DeclaredMetadataOptions, pools: Sequence[NodePool] = (), unread: Sequence[Resource] = ()
) -> MetadataFacts:
    named = [NodeClass(name, options) for name, options in zip(("default", "other"), said, strict=False)]
    return MetadataFacts(with_classes(a_cluster(unread=unread, node_pools=pools), *named))


def test_karpenter_goes_by_its_class_and_auto_mode_is_eks_own() -> None:
    auto = of("", **{COMPUTE_TYPE: "auto"})
    assert next_service(auto, facts()).options == AL2023 and current_service(auto, facts()).options == AL2
    told = next_service(
        OF_KARPENTER, classes(DeclaredMetadataOptions("required", 1), DeclaredMetadataOptions("optional", 2))
    )
    assert told.options == AL2023 and told.by == "EC2NodeClass default"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (classes(), "the cluster has no EC2NodeClass default"),
        (classes(DeclaredMetadataOptions("required")), "EC2NodeClass default does not say HttpPutResponseHopLimit"),
        (classes(NOTHING), "what Karpenter gives then depends on its version"),
    ],
)
def test_a_class_that_does_not_tell_is_unknown(given: MetadataFacts, why: str) -> None:
    told = next_service(OF_KARPENTER, given).options
    assert isinstance(told, Unknown) and why in told.why and not told.missing


def test_classes_that_may_not_be_read_are_unknown_and_the_right_is_named() -> None:
    told = next_service(OF_KARPENTER, facts()).options
    assert told == Unknown(
        "ec2nodeclasses.karpenter.k8s.aws were not read: was not asked for", "list ec2nodeclasses.karpenter.k8s.aws"
    )


def test_a_node_without_the_label_goes_by_the_class_of_its_pool() -> None:
    pools = (NodePool("other", (), "other"), NodePool("general", (), "default"))
    told = next_service(OF_OLDER_KARPENTER, classes(DeclaredMetadataOptions("required", 1), pools=pools))
    assert told.options == AL2023 and told.by == "EC2NodeClass default"
    for pool in ((), (NodePool("general"),)):
        nobody = next_service(OF_OLDER_KARPENTER, classes(DeclaredMetadataOptions("required", 1), pools=pool)).options
        assert isinstance(nobody, Unknown) and "does not name its EC2NodeClass" in nobody.why
    forbidden = next_service(
        OF_OLDER_KARPENTER, classes(DeclaredMetadataOptions("required", 1), unread=[kinds.NODE_POOLS])
    ).options
    assert isinstance(forbidden, Unknown) and forbidden.missing == "list nodepools.karpenter.sh"


def test_a_group_of_ones_own_goes_by_its_auto_scaling_group() -> None:
    template = {REF: TemplateVersion("lt-1", "own", 3, DeclaredMetadataOptions("required", 1), AMI)}
    scaling = {"asg-1": ScalingGroup("asg-1", REF)}
    assert next_service(of(""), facts(templates=template, scaling_groups=scaling)).options == AL2023
    for held in ({}, {"asg-1": ScalingGroup("asg-1")}, {"asg-1": Absent("gone")}):
        assert isinstance(next_service(of(""), facts(templates=template, scaling_groups=held)).options, Unknown)
    alone = facts(instances={ID: Instance(ID, AMI, options=AL2)})
    told = next_service(of(""), alone)
    assert told.options == AL2 and "no auto scaling group makes another one" in told.by, (
        "there is nothing to be unknown"
    )


def test_a_launch_configuration_says_what_a_template_does() -> None:
    old = {"old": TemplateVersion("", "old", 0, DeclaredMetadataOptions("required", 1), AMI)}
    scaling = {"asg-1": ScalingGroup("asg-1", configuration="old")}
    told = next_service(of(""), facts(configurations=old, scaling_groups=scaling))
    assert (told.options, told.by) == (AL2023, "launch configuration old")
    for held in ({}, {"old": DENIED}, {"old": Absent("gone")}):
        assert isinstance(next_service(of(""), facts(configurations=held, scaling_groups=scaling)).options, Unknown)


@pytest.mark.parametrize(("hops", "known"), [(1, True), (2, False)])
def test_a_group_that_launches_some_types_from_another_template(hops: int, known: bool) -> None:
    other = TemplateRef("lt-2", "arm", "1")
    templates = {
        REF: TemplateVersion("lt-1", "own", 3, DeclaredMetadataOptions("required", 1), AMI),
        other: TemplateVersion("lt-2", "arm", 1, DeclaredMetadataOptions("required", hops), AMI),
    }
    scaling = {"asg-1": ScalingGroup("asg-1", REF, True, (other,))}
    told = next_service(of(""), facts(templates=templates, scaling_groups=scaling))
    if known:
        assert told.options == AL2023 and "own version 3; launch template arm version 1" in told.by
    else:
        assert isinstance(told.options, Unknown) and "several templates" in told.options.why
    del templates[other]
    assert isinstance(next_service(of(""), facts(templates=templates, scaling_groups=scaling)).options, Unknown)


ONE, TWO, OLD = MetadataOptions("required", 1), MetadataOptions("required", 2), MetadataOptions("optional", 2)


def ident(number: int) -> str:
    return f"i-{number:08x}"


def node(number: int, group: str = "blue", **labels: str) -> Node:
    provider = f"aws:///eu-west-1a/{ident(number)}"
    return a_node(f"n{number}", group=group, provider_id=provider, labels=labels)


def groups(**of: str) -> dict[str, NodeGroup]:
    return {name: NodeGroup(name, ami) for name, ami in of.items()}


def facts_of(
    nodes: Sequence[Node], instances: Mapping[str, Instance], groups: Mapping[str, NodeGroup]
) -> MetadataFacts:
    return MetadataFacts(a_cluster(nodes=nodes), MachineFacts(instances, groups))


def test_nodes_of_one_group_that_differ_are_two_lines() -> None:
    """One was changed by hand: its replacement will not be."""
    instances = {ident(0): Instance(ident(0), options=ONE), ident(1): Instance(ident(1), options=TWO)}
    facts = facts_of([node(0), node(1)], instances, groups(blue="AL2023_x86_64_STANDARD"))
    broken, mended = node_sets(facts)
    assert not broken.has_other_options and mended.has_other_options and mended.is_changing
    assert (mended.verdict_now.reach, mended.verdict_next.reach) == (ImdsReach.REACHABLE, ImdsReach.UNREACHABLE)
    assert all(each.verdict_now.reach is ImdsReach.UNREACHABLE for each in node_sets(facts, NESTED_HOPS))


def test_where_there_is_no_service_comes_last() -> None:
    fargate = a_node("f", group="", provider_id="", labels={COMPUTE_TYPE: "fargate"})
    karpenter = node(1, "", **{NODE_POOL: "general", NODE_CLASS: "default"})
    facts = MetadataFacts(
        with_classes(
            a_cluster(nodes=[fargate, karpenter, node(2)]), NodeClass("default", DeclaredMetadataOptions("required", 1))
        ),
        MachineFacts({ident(1): Instance(ident(1), options=TWO), ident(2): Absent("gone")}),
    )
    first, unknown, last = node_sets(facts)
    assert (
        first.owner is NodeOwner.KARPENTER
        and first.is_changing
        and first.verdict_next.why.startswith("the hop limit is 1")
    )
    assert (unknown.verdict_now.reach, unknown.verdict_next.reach) == (
        ImdsReach.UNKNOWN,
        ImdsReach.UNKNOWN,
    ) and not unknown.is_changing
    assert last.owner is NodeOwner.FARGATE and last.verdict_now.why == "Fargate has no instance metadata service"


@given(
    some.lists(some.tuples(some.sampled_from(["blue", "green"]), some.sampled_from([ONE, TWO, OLD, None])), max_size=20)
)
def test_every_node_is_in_one_of_them(given_nodes: list[tuple[str, MetadataOptions | None]]) -> None:
    nodes = [node(at, group) for at, (group, _) in enumerate(given_nodes)]
    instances = {ident(at): Instance(ident(at), options=options) for at, (_, options) in enumerate(given_nodes)}
    made = groups(blue="AL2_x86_64", green="BOTTLEROCKET_x86_64")
    found = node_sets(facts_of(nodes, instances, made))
    named = [name for each in found for name in each.nodes]
    assert sorted(named) == sorted(each.name for each in nodes) and len(found) <= 2 * 3 + len(nodes)
