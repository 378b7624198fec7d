"""Whole clusters: the report for a hardened one, for one before a migration, and for one without answers of EC2."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.amazon.metadata_service import ImdsReach
from kubectl_eksdoc.imds_probe.affected import AL2023, AssumedOptions, Effect, IntendedOptions, PodEvidence
from kubectl_eksdoc.imds_probe.fix import CONTROLLER_FLAGS, INSTANCE_OPTIONS, OWN_ROLE
from kubectl_eksdoc.imds_probe.fix_choice import offered_fixes
from kubectl_eksdoc.imds_probe.plan import MetadataPlan, plan_metadata, pods_to_read
from kubectl_eksdoc.imds_probe.programs import ContainerCommand, read_log
from kubectl_eksdoc.imds_probe.report.access import ImdsReport
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.model.kinds import KindRead, ReadState, Unknown
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions, Instance, MetadataOptions, NodeGroup
from kubectl_eksdoc.model.nodes import Calls, Pod, RoleSource
from kubectl_eksdoc.report.text import Appearance
from tests.builders import a_pod
from tests.imds_probe.fixes.nodes_of_all_kinds import Cloud, cloud, ident

LBC = "eks/aws-load-balancer-controller:v2.13.0"
WHOLE = ContainerCommand(("--aws-region=x", "--aws-vpc-id=y"))
AL2 = NodeGroup("blue", "AL2_x86_64")
OLD, TWO = MetadataOptions("optional", 2), MetadataOptions("required", 2)


def pod(name: str, image: str, role: RoleSource = RoleSource.NONE, node: str = "n0", **more: object) -> Pod:
    return a_pod(name, node=node, calls=Calls(images=(image,), role=role), owner=f"ReplicaSet/{name}-1", **more)


READ = tuple(KindRead(kind, ReadState.READ) for kind in (kinds.NODES, kinds.PODS))


def of(world: Cloud, assumed: AssumedOptions | None = None) -> MetadataPlan:
    facts = world.facts()
    cluster = replace(facts.cluster, reads=(*facts.cluster.reads, *READ))
    told = replace(facts.machines, identities=frozenset())
    return plan_metadata(replace(facts, cluster=cluster, machines=told, assumed=assumed), 2)


def told(plan: MetadataPlan) -> dict[str, Finding]:
    return {each.code.name: each for each in plan.findings}


def saw(world: Cloud, log: str = "", started: ContainerCommand = ContainerCommand()) -> None:
    """The known facts of its first pod."""
    world.inside = {world.pods[0].key: PodEvidence(started, read_log(log).symptom)}


def hardened() -> Cloud:
    world = cloud("managed")
    world.pods = [
        pod("lbc", LBC, RoleSource.IRSA),
        pod("web", "shop/web:1"),
        pod("cache", "redis:7"),
        pod("web-2", "own/x:1"),
    ]
    saw(world, started=WHOLE)
    return world


def meant(world: Cloud, hops: int = 1, tokens: str = "") -> MetadataPlan:
    return plan_metadata(replace(of(world).facts, intent=IntendedOptions(hops, tokens)), 2)


def test_a_hop_limit_that_is_meant_and_met_is_no_finding() -> None:
    plan = meant(hardened())
    assert {each.status for each in plan.findings} == {Status.PASS} and "as meant" in shown(plan, "wide")
    assert "as meant" not in shown(plan), "nothing is to be done there"
    assert "no node is known to have other options than what is meant (hops=1)" in " ".join(shown(plan).split())
    world = hardened()
    world.instances[ident(0)] = Instance(ident(0), state="running", options=TWO)
    found = told(meant(world))
    assert "imds-next-differs" in told(of(world)) and "imds-next-differs" not in found
    missed = found["imds-intent-missed"]
    assert missed.status is Status.FAIL and "the hop limit is 2" in missed.message and "(now)" in missed.message
    assert missed.remedy[0].command.endswith("--nodegroup blue --assume hops=1")


def test_tokens_can_be_meant_and_an_endpoint_that_is_disabled_misses_nothing() -> None:
    world = cloud("own template", options=MetadataOptions("optional", 1), said=DeclaredMetadataOptions("optional", 1))
    assert "imds-intent-missed" in told(meant(world, tokens="required"))
    off = cloud(
        "own template",
        options=MetadataOptions("optional", 2, False),
        said=DeclaredMetadataOptions("optional", 2, False),
    )
    assert "imds-intent-missed" not in told(meant(off, tokens="required"))


def test_where_one_hop_is_meant_the_pods_own_fixes_come_first() -> None:
    world = hardened()
    world.pods = [pod("lbc", LBC, ready=False, labels={"pod-template-hash": "1"})]
    saw(world, "failed to get VPC ID")
    meant_first, else_first = (
        [fix.name for fix in offered_fixes(each, each.facts.cluster, "vpc-1")[0][1].fixes]
        for each in (meant(world), of(world))
    )
    assert meant_first[:2] == [CONTROLLER_FLAGS, OWN_ROLE] and else_first[0] == INSTANCE_OPTIONS
    assert sorted(meant_first) == sorted(else_first)


def test_commands_of_kubectl_reach_the_cluster_that_was_read() -> None:
    """The kubeconfig is named, too: in the default one, another cluster may have the same context name."""
    world = hardened()
    world.pods = [pod("lbc", LBC, ready=False, labels={"pod-template-hash": "1"})]
    saw(world, "failed to get VPC ID")
    plan, words = of(world), ("--context", "lab", "--kubeconfig", "/k")
    fixes = [fix for _, choice in offered_fixes(plan, plan.facts.cluster, kubectl=words) for fix in choice.fixes]
    commands = [line for fix in fixes for line in fix.commands if line.startswith("kubectl ")]
    assert commands and [each for each in commands if " ".join(words) not in each] == []


def test_where_one_hop_is_meant_no_node_is_changed_for_a_pod_that_may_need_it() -> None:
    world = hardened()
    world.pods, world.inside = [pod("lbc", LBC, RoleSource.IRSA)], {}
    plans = of(world), meant(world)
    assert [[each.effect for each in plan.groups[0].affected] for plan in plans] == [[Effect.POSSIBLE]] * 2
    widened = [any(choice.fixes for _, choice in offered_fixes(plan, plan.facts.cluster)) for plan in plans]
    assert widened == [True, False]


def shown(plan: MetadataPlan, form: str = "table") -> str:
    return ImdsReport(plan, options={}, offered=offered_fixes(plan, plan.facts.cluster)).render(form, Appearance(120))


@pytest.mark.parametrize("options", [MetadataOptions("required", 1), MetadataOptions("optional", 1)])
def test_what_a_pod_on_windows_needs_is_not_known(options: MetadataOptions) -> None:
    world = cloud("own template", options=options, said=DeclaredMetadataOptions(options.tokens, 1))
    world.nodes = [replace(each, labels={**each.labels, "kubernetes.io/os": "windows"}) for each in world.nodes]
    world.pods = [pod("lbc", LBC)]
    plan = of(world)
    assert plan.groups[0].node_set.verdict_now.reach is ImdsReach.UNKNOWN
    finding = told(plan)["imds-nodes-unknown"]
    assert finding.status is Status.UNKNOWN and "on Windows" in finding.message
    assert all("imds-probe" not in each.command for each in finding.remedy), "the probe is of Linux nodes"
    assert all(not choice.fixes for _, choice in offered_fixes(plan, plan.facts.cluster))
    world.instances[ident(0)] = Instance(ident(0), state="running", options=TWO)
    assert of(world).groups[0].node_set.verdict_now.reach is ImdsReach.REACHABLE


def test_a_hardened_cluster_passes_and_nothing_is_proposed() -> None:
    plan = of(hardened())
    assert [(each.code.name, each.status, each.severity) for each in plan.findings] == [
        ("imds-pods-possible", Status.PASS, Severity.INFO)
    ]
    assert plan.findings[0].message.startswith("2 pods without a role of their own cannot reach it")
    assert all(not choice.fixes and not choice.cannot for _, choice in offered_fixes(plan, plan.facts.cluster))
    named = offered_fixes(plan, plan.facts.cluster, are_named=True)
    assert named[0][1].fixes, "whoever names the group may still change it"


@pytest.mark.parametrize("failing", [True, False])
def test_with_a_symptom_or_a_failure_it_is_no_pass(failing: bool) -> None:
    world = hardened()
    world.pods = [pod("web", "shop/web:1", ready=not failing), *world.pods[:1]]
    found = told(of(world))
    assert ("imds-pods-unread" in found) is failing
    saw(world, "no EC2 IMDS role found")
    assert found.keys() != told(of(world)).keys() and "imds-pods-broken" in told(of(world))


def test_who_names_another_cause_of_its_failure_is_no_finding() -> None:
    world = hardened()
    world.pods = [pod("db", "own/db:1", RoleSource.IRSA, ready=False)]
    log = read_log("cloud detection of 169.254.169.254 skipped\nFATAL: password authentication failed for user app")
    world.inside = {world.pods[0].key: PodEvidence(ContainerCommand(), log.symptom, (), log.another, log.weak)}
    assert of(world).findings == ()


def test_a_disabled_endpoint_is_lost_to_the_network_of_the_host_as_well() -> None:
    world = cloud("own template", options=TWO, said=DeclaredMetadataOptions("required", 2, False))
    agent = Calls(True, images=("amazon-k8s-cni:v1.19.0",))
    world.pods = [a_pod("aws-node", node="n0", calls=agent, owner="DaemonSet/aws-node", ready=True)]
    found = told(of(world))["imds-pods-will-break"]
    assert found.status is Status.FAIL and "its endpoint is disabled" in found.message
    assert of(cloud("own template", options=TWO, said=DeclaredMetadataOptions("required", 2))).findings == ()
    world.templates = cloud("own template").templates
    assert "imds-pods-will-break" not in told(of(world)), "one hop is enough for it"


def moving() -> Cloud:
    """A node group of AL2, which answers pods now, and a controller without a role."""
    world = cloud("managed", options=OLD)
    world.groups["blue"] = AL2
    world.pods = [pod("lbc", LBC), pod("web", "shop/web:1")]
    saw(world)
    return world


def test_a_group_of_al2_says_whom_its_successor_cuts_off() -> None:
    world = moving()
    assert [each.name for each in pods_to_read(world.facts(), 2)] == ["lbc"], "no other is looked into"
    found = told(of(world))["imds-successor"]
    assert (found.status, found.severity, found.subject.name) == (Status.FAIL, Severity.HIGH, "blue")
    assert "1 pod would break there (default/lbc-1)" in found.message or "lbc" in found.message
    saw(world, started=WHOLE)
    world.pods = [pod("lbc", LBC, RoleSource.IRSA)]
    assert of(world).findings == ()


@pytest.mark.parametrize("text", ["hops=1,tokens=required", f"ami={AL2023}"])
def test_what_is_assumed_of_the_next_nodes_names_who_breaks(text: str) -> None:
    assumed = AssumedOptions(image=AL2023) if "ami" in text else AssumedOptions(1, "required")
    assert str(assumed) == text
    plan = of(moving(), assumed)
    (group,) = plan.groups
    assert (
        group.node_set.verdict_now.reach is ImdsReach.REACHABLE
        and group.node_set.verdict_next.reach is ImdsReach.UNREACHABLE
    )
    assert [each.pod.name for each in group.with_effect(Effect.WILL_BREAK)] == ["lbc"]
    found = told(plan)
    assert "imds-next-differs" not in found and "imds-successor" not in found
    ways = [fix.name for _, choice in offered_fixes(plan, plan.facts.cluster, "vpc-1") for fix in choice.fixes]
    assert set(ways) <= {CONTROLLER_FLAGS, OWN_ROLE} and ways, "nodes are not changed for what is only assumed"


def test_what_is_broken_now_is_not_by_what_is_assumed() -> None:
    world = cloud("managed")
    world.pods = [pod("lbc", LBC, ready=False)]
    saw(world, "failed to get VPC ID")
    found = told(of(world, AssumedOptions(tokens="optional")))["imds-pods-broken"]
    assert "nodes: blue (1)" in found.evidence and "assumption" not in str(found)


@pytest.mark.parametrize(("role", "commands"), [(RoleSource.IRSA, 0), (RoleSource.NONE, 1)])
def test_the_role_of_a_node_is_no_way_out_of_a_broken_role(role: RoleSource, commands: int) -> None:
    world = cloud("managed")
    world.pods = [pod("app", "own/app:1", role, ready=False)]
    saw(world, "no EC2 IMDS role found")
    remedies = told(of(world))["imds-pods-broken"].remedy
    assert sum("instance-options" in each.command for each in remedies) == commands
    plan = of(world)
    ways = {fix.name for _, choice in offered_fixes(plan, plan.facts.cluster) for fix in choice.fixes}
    assert ("instance-options" in ways) is bool(commands)


def test_pods_that_could_not_be_read_for_one_reason_are_one_finding() -> None:
    world = cloud("managed")
    world.pods = [pod(name, "shop/web:1", ready=False) for name in ("one", "two")]
    world.inside = {
        each.key: PodEvidence(unreadable=(Unknown(f"there is no log of {each.name}"),)) for each in world.pods
    }
    assert [each.code.name for each in of(world).findings if each.status is Status.UNKNOWN] == ["imds-pods-unread"]
    assert told(of(world))["imds-pods-unread"].message.startswith("2 pods could not be read")


def test_tokens_that_become_required_are_a_finding_of_their_own() -> None:
    found = told(of(moving(), AssumedOptions(tokens="required")))
    assert found["imds-tokens-required"].status is Status.UNKNOWN and "imds-successor" not in found
    assert "MetadataNoToken" in found["imds-tokens-required"].remedy[0].text
    assert "imds-tokens-required" not in told(of(moving()))


def test_an_account_that_enforces_tokens_launches_no_node_with_optional_ones() -> None:
    world = cloud("managed", "own template", options=OLD, said=DeclaredMetadataOptions("optional", 2))
    facts = world.facts()
    told = replace(facts.machines, account=DeclaredMetadataOptions("required", 2, enforced=True))
    found = [
        each
        for each in plan_metadata(replace(facts, machines=told), 2).findings
        if each.code.name == "imds-launch-refused"
    ]
    assert [(each.subject.name, each.status, each.severity) for each in found] == [("own", Status.FAIL, Severity.HIGH)]
    assert "imds-launch-refused" not in {each.code.name for each in of(world).findings}


def test_one_missing_right_is_one_finding() -> None:
    world = cloud(*["managed"] * 3, "self-managed", "eksctl")
    denied = Unknown("IAM does not allow it", "ec2:DescribeInstances")
    world.instances = dict.fromkeys(world.instances, denied)
    found = [each for each in of(world).findings if each.code.name == "imds-nodes-unknown"]
    assert [each.missing for each in found] == ["ec2:DescribeInstances"]
    assert found[0].subject.kind == "Cluster" and "now" in found[0].message


def test_a_log_counts_where_ec2_says_nothing() -> None:
    world = cloud("managed")
    world.instances = dict.fromkeys(world.instances, Unknown("IAM does not allow it", "ec2:DescribeInstances"))
    world.groups = dict.fromkeys(world.groups, Unknown("IAM does not allow it", "eks:DescribeNodegroup"))
    world.pods = [pod("lbc", LBC, ready=False), pod("web", "shop/web:1", ready=False), pod("fine", "shop/web:1")]
    assert [each.name for each in pods_to_read(world.facts(), 2)] == ["lbc", "web"]
    saw(world, "failed to get VPC ID")
    assert told(of(world))["imds-pods-broken"].status is Status.FAIL


def test_groups_have_the_names_of_their_auto_scaling_groups() -> None:
    world = cloud("self-managed", "self-managed")
    one, two = (Instance(ident(at), state="running", options=TWO, scaling_group=f"asg-{at}") for at in range(2))
    world.instances = {one.id: one, two.id: two}
    assert [each.node_set.label for each in of(world).groups] == ["asg-0", "asg-1"]


def test_kinds_that_were_not_read_are_said_still() -> None:
    world = hardened()
    facts = world.facts()
    plan = plan_metadata(replace(facts, cluster=replace(facts.cluster, reads=())), 2)
    missing = {each.missing for each in plan.findings if each.code.name == "imds-pods-unread"}
    assert {kinds.NODES.full_name, kinds.PODS.full_name} <= missing
