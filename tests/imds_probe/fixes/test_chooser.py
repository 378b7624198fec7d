"""Each kind of node gets the fixes that exist for it, the smallest first; if none exists, the report says so."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.amazon.metadata_service import NESTED_HOPS, POD_HOPS, ImdsReach, imds_verdict
from kubectl_eksdoc.imds_probe.affected import AffectedPod, PodChecker, PodEvidence
from kubectl_eksdoc.imds_probe.fix import (
    CARRIED_OUT,
    CONTROLLER_FLAGS,
    INSTANCE_OPTIONS,
    NAMES,
    NODE_CLASS,
    OWN_ROLE,
    REPLACE_NODES,
    RESTART_PODS,
    TEMPLATE_VERSION,
    Fix,
    FixOptions,
)
from kubectl_eksdoc.imds_probe.fix_choice import fix_options
from kubectl_eksdoc.imds_probe.node_sources import count_evicted_pods, fix_scope
from kubectl_eksdoc.imds_probe.plan import plan_metadata
from kubectl_eksdoc.imds_probe.programs import ContainerCommand
from kubectl_eksdoc.imds_probe.sources import MetadataFacts, NodeSet, node_sets
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import (
    DeclaredMetadataOptions,
    Instance,
    MetadataOptions,
    NodeGroup,
    PodIdentity,
    ScalingGroup,
)
from kubectl_eksdoc.model.metadata import InstanceOptionsChange, InstancesFix, LaunchTemplateFix, NodeClassFix
from kubectl_eksdoc.model.nodes import MANAGED_GROUP, Calls, Pod
from tests.builders import NOW, a_pod
from tests.imds_probe.fixes.nodes_of_all_kinds import (
    AMI,
    LABELS,
    OFF,
    ONE,
    OWN,
    TWO,
    Cloud,
    cloud,
    ident,
)

CUT = (ImdsReach.UNREACHABLE, ImdsReach.V1_ONLY)


def of_nodes(
    alike: NodeSet,
    facts: MetadataFacts,
    hops: int = POD_HOPS,
    affected: Sequence[AffectedPod] = (),
    vpc: str = "vpc-1",
    profile: str = "",
) -> FixOptions:
    whole = facts.cluster
    return fix_options(fix_scope(alike, facts, hops, whole, count_evicted_pods(whole.pods), vpc, profile), affected)


def choice(of: Cloud, hops: int = POD_HOPS) -> FixOptions:
    """The choice for the first nodes."""
    facts = of.facts()
    return of_nodes(node_sets(facts, hops)[0], facts, hops)


def fix(of: Cloud, name: str) -> Fix:
    found = choice(of).by_name(name)
    assert found is not None
    return found


NO_TEMPLATE = "it can never get one"


@pytest.mark.parametrize(
    ("kind", "more", "expected", "cannot"),
    [
        ("managed", {}, [INSTANCE_OPTIONS], NO_TEMPLATE),
        ("by eksctl", {}, [INSTANCE_OPTIONS], NO_TEMPLATE),
        ("own template", {}, [INSTANCE_OPTIONS, TEMPLATE_VERSION], ""),
        ("own template", {"said": DeclaredMetadataOptions("required", 2)}, [INSTANCE_OPTIONS, REPLACE_NODES], ""),
        ("own template", {"options": TWO}, [TEMPLATE_VERSION], ""),  # a user has changed the instances by hand
        ("own template", {"options": TWO, "said": DeclaredMetadataOptions("required", 2)}, [], ""),
        ("eksctl", {}, [INSTANCE_OPTIONS], "declare another one like old with disablePodIMDS: false"),
        ("karpenter", {}, [INSTANCE_OPTIONS, NODE_CLASS], ""),
        ("self-managed", {}, [INSTANCE_OPTIONS], f"launches from launch template {OWN}: make a version"),
        ("auto", {}, [], "cannot be changed"),
        ("fargate", {}, [], "a role by IRSA"),
    ],
)
def test_each_kind_has_its_own(kind: str, more: Any, expected: list[str], cannot: str) -> None:
    found = choice(cloud(kind, **more))
    assert [each.name for each in found.fixes] == expected
    assert cannot in "".join(found.cannot) and bool(cannot) is bool(found.cannot)


@pytest.mark.parametrize(
    ("group", "said"),
    [
        (ScalingGroup("asg"), "launches from a launch configuration: make a launch template"),
        (ScalingGroup("asg", OWN, others=(OWN,)), f"several launch templates ({OWN}, {OWN}): make a version of each"),
        (Unknown("not allowed"), "what launches the next of these nodes is not known"),
    ],
)
def test_what_a_scaling_group_launches_from_is_its_owners(group: Any, said: str) -> None:
    of = cloud("self-managed")
    of.scaling["asg"] = group
    assert said in choice(of).cannot[0]


def test_running_instances_are_changed_tonight_and_go_back() -> None:
    found = fix(cloud("managed", "managed"), INSTANCE_OPTIONS)
    assert found.when is When.NOW and found.blast.sort_key == (0, 0, 2)
    assert found.commands[0] == (
        "aws ec2 modify-instance-metadata-options --instance-id i-00000000 --http-put-response-hop-limit 2 "
        "--region eu-west-1"
    )
    assert "--http-put-response-hop-limit 1" in found.rollback[0] and len(found.rollback) == 2
    assert "lost with the instance" in found.lasts and "AL2023" in found.lasts
    assert isinstance(found.action, InstancesFix) and found.action.each[0] == InstanceOptionsChange(
        "n0", ident(0), ONE, 2
    )
    assert any("ec2-token-hop-limit-check" in each for each in found.cautions)
    assert any("EC2.8" in each for each in found.cautions)
    off = fix(cloud("karpenter", options=OFF), INSTANCE_OPTIONS)
    assert "--http-endpoint enabled" in off.commands[0] and "--http-endpoint disabled" in off.rollback[0]
    assert isinstance(off.action, InstancesFix) and off.action.each[0].after == TWO
    nested = choice(cloud("eksctl", options=TWO), NESTED_HOPS)
    assert "--http-put-response-hop-limit 3" in nested.fixes[0].commands[0]
    assert "no hop limit above 2: make another group beside old from a launch template" in nested.cannot[0]
    assert "with a hop limit of 3 " in nested.cannot[0] and "disablePodIMDS" not in nested.cannot[0]
    running = fix(cloud("own template", said=DeclaredMetadataOptions("required", 2)), INSTANCE_OPTIONS)
    assert "the next one has it by itself" in running.lasts
    replaced = fix(cloud("own template", said=DeclaredMetadataOptions("required", 2)), REPLACE_NODES)
    assert replaced.commands == ("kubectl eksdoc drain run --nodegroup own --context prod",)


def data_of(made: Fix) -> Any:
    """The data of the new version, after the version on which it is based."""
    words = shlex.split(made.commands[0].removeprefix("VERSION=$(").removesuffix(")"))
    return words[words.index("--source-version") + 1], json.loads(words[words.index("--launch-template-data") + 1])


@pytest.mark.parametrize(
    ("said", "account", "endpoint"),
    [
        (DeclaredMetadataOptions("required", 1), None, None),  # the account says nothing of it, as before
        (DeclaredMetadataOptions("required", 1), False, "enabled"),
        (DeclaredMetadataOptions("required", 1, True), False, "enabled"),  # it stays as it was
        (DeclaredMetadataOptions("required", 2, False), None, "enabled"),
    ],
)
def test_a_version_enables_the_endpoint_that_is_or_may_be_disabled(
    said: DeclaredMetadataOptions, account: bool | None, endpoint: str | None
) -> None:
    facts = cloud("own template", said=said).facts()
    facts = replace(facts, machines=replace(facts.machines, account=DeclaredMetadataOptions(endpoint=account)))
    found = of_nodes(node_sets(facts)[0], facts).by_name(TEMPLATE_VERSION)
    assert found is not None and data_of(found)[1]["MetadataOptions"].get("HttpEndpoint") == endpoint


def test_a_template_keeps_all_that_it_says_and_the_ami_stays() -> None:
    said = DeclaredMetadataOptions("required", 1, True, False, True)
    found = fix(cloud("own template", said=said), TEMPLATE_VERSION)
    _, update, wait = found.commands
    options = {
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 2,
        "HttpEndpoint": "enabled",
        "HttpProtocolIpv6": "disabled",
        "InstanceMetadataTags": "enabled",
    }
    assert data_of(found) == ("3", {"MetadataOptions": options})
    assert "--kubernetes-version 1.30 --release-version 1.30.0-20261101" in update
    assert update.endswith(f'--launch-template id={OWN.id},version="$VERSION"') and "nodegroup-active" in wait
    assert found.rollback[0].endswith(f"id={OWN.id},version=3") and "--release-version" in found.rollback[0]
    assert found.blast.sort_key == (1, 1, 0) and "33 % at a time" in found.blast.how and found.when is When.LATER
    assert isinstance(found.action, LaunchTemplateFix) and found.action.after == replace(said, hop_limit=2)
    of = cloud("own template")
    template, group = of.templates[OWN], of.groups["own"]
    assert not isinstance(template, Unknown) and isinstance(group, NodeGroup)
    of.templates[OWN] = replace(template, image=AMI)  # type: ignore[type-var]
    found = fix(of, TEMPLATE_VERSION)
    assert not any("--release-version" in line or "--kubernetes-version" in line for line in found.commands), (
        "EKS refuses them then"
    )
    assert isinstance(found.action, LaunchTemplateFix) and (found.action.version, found.action.release) == ("", "")
    of = cloud("own template")
    of.groups["own"] = replace(group, release="")
    unpinned = choice(of)
    assert unpinned.by_name(TEMPLATE_VERSION) is None and "could not be pinned" in unpinned.cannot[0]


def test_a_class_drifts_every_node_of_it_in_whatever_pool() -> None:
    of = cloud("karpenter", "karpenter", "karpenter")
    of.nodes = [*of.nodes[:2], replace(of.nodes[2], labels={**of.nodes[2].labels, "karpenter.sh/nodepool": "spot"})]
    found = fix(of, NODE_CLASS)
    assert found.blast.sort_key == (3, 3, 0) and "10 %" in found.blast.how and "general, spot" in found.blast.how
    assert isinstance(found.action, NodeClassFix) and found.action.nodes == ("n0", "n1", "n2")
    assert found.commands == (
        "kubectl patch ec2nodeclass default --context prod --type merge -p "
        """'{"spec":{"metadataOptions":{"httpPutResponseHopLimit":2}}}'""",
    )


a_hop_limit = some.integers(1, 4)
some_options = some.one_of(
    some.none(),
    some.builds(
        MetadataOptions,
        some.sampled_from(["required", "optional"]),
        a_hop_limit,
        some.booleans(),
        some.booleans(),
        some.booleans(),
    ),
)
some_said = some.builds(
    DeclaredMetadataOptions,
    some.sampled_from(["", "required", "optional"]),
    some.none() | a_hop_limit,
    some.none() | some.booleans(),
    some.none() | some.booleans(),
    some.none() | some.booleans(),
)
EVIL = "x; reboot $(id) `id` '\""


@some.composite
def clouds(draw: some.DrawFn) -> Cloud:
    """Any fact may be unknown, and any name may be hostile."""
    kinds = draw(some.lists(some.sampled_from(sorted(LABELS)), min_size=1, max_size=5))
    of = cloud(*kinds, options=draw(some_options), said=draw(some_said))
    if draw(some.booleans()):
        of.nodes = [
            replace(each, labels={k: EVIL if k == MANAGED_GROUP else v for k, v in each.labels.items()})
            for each in of.nodes
        ]
        of.groups[EVIL] = NodeGroup(EVIL, "AL2023_x86_64_STANDARD", template=draw(some.sampled_from([None, OWN])))
    for held in (of.instances, of.groups, of.templates, of.scaling, of.classes):
        for key in held:
            if draw(some.integers(0, 4)) == 0:
                held[key] = Unknown("not allowed", "ec2:Any")  # type: ignore[index]
    return of


@given(clouds(), some.sampled_from([POD_HOPS, NESTED_HOPS]))
def test_whoever_is_cut_off_gets_a_fix_or_a_sentence(of: Cloud, hops: int) -> None:
    facts = of.facts()
    for alike in node_sets(facts, hops):
        found = of_nodes(alike, facts, hops)
        cut = bool({alike.verdict_now.reach, alike.verdict_next.reach} & {*CUT})
        assert bool(found.fixes or found.cannot) == cut
        assert all(found.cannot), "a clause says something"
        sizes = [each.blast.sort_key for each in found.fixes]
        assert sizes == sorted(sizes), "the smallest blast radius comes first"
        assert len({each.name for each in found.fixes}) == len(found.fixes), "a name means one fix"
        for each in found.fixes:
            assert each.name in NAMES and each.does and each.lasts and each.blast.how
            assert each.commands, "a fix is something that can be done"
            assert each.rollback or each.name in (REPLACE_NODES, RESTART_PODS), "whoever changes something can go back"
            assert each.action is None or each.name in CARRIED_OUT
            assert_no_name_ends_a_word(each)
            assert_pods_reach_it_after(each, hops)


def assert_no_name_ends_a_word(of: Fix) -> None:
    for line in (*of.commands, *of.rollback):
        words = list(shlex.shlex(line, posix=True, punctuation_chars=True))
        assert not {"reboot", "id"} & {*words}, line


def assert_pods_reach_it_after(of: Fix, hops: int) -> None:
    if isinstance(of.action, InstancesFix):
        assert all(imds_verdict(one.after, hops).reach is ImdsReach.REACHABLE for one in of.action.each)
        assert all(one.after.tokens == one.before.tokens for one in of.action.each)
    elif isinstance(of.action, LaunchTemplateFix):
        after, before = of.action.after, of.action.before
        assert after.hop_limit is not None and after.hop_limit >= hops and after.endpoint is not False
        assert (after.tokens, after.ipv6, after.tags) == (before.tokens, before.ipv6, before.tags)
    elif isinstance(of.action, NodeClassFix):
        assert of.action.hop_limit >= hops


def test_an_instance_whose_change_is_under_way_or_that_is_stopped_is_left_alone() -> None:
    of = cloud("managed", "managed", "managed")
    of.instances[ident(1)] = Instance(ident(1), state="running", options=replace(ONE, pending=True))
    of.instances[ident(2)] = Instance(ident(2), state="stopped", options=ONE)
    facts = of.facts()
    found = [of_nodes(alike, facts) for alike in node_sets(facts)]
    acts = [one.action for each in found for one in each.fixes if isinstance(one.action, InstancesFix)]
    assert [one.instance for act in acts for one in act.each] == [ident(0)]


def test_commands_ask_the_account_that_was_asked() -> None:
    of = cloud("managed", "managed")
    facts = of.facts()
    (alike, *_) = node_sets(facts, POD_HOPS)
    found = of_nodes(alike, facts, profile="prod")
    asked = [command for each in found.fixes for command in (*each.commands, *each.rollback) if "aws e" in command]
    assert asked and all("--profile prod" in command for command in asked)


LBC = "public.ecr.aws/eks/aws-load-balancer-controller:v2.8.1"
NONE: frozenset[PodIdentity] = frozenset()


def controller(name: str = "aws-load-balancer-controller", image: str = LBC, owner: str = "ReplicaSet/{}-5d9f8") -> Pod:
    calls = Calls(service_account=name, images=(image,))
    labels = {"pod-template-hash": "5d9f8"}
    return a_pod(
        f"{name}-5d9f8-x", "kube-system", node="n0", calls=calls, labels=labels, owner=owner.format(name), ready=True
    )


def chosen(
    *pods: Pod,
    started: ContainerCommand | None = None,
    identities: frozenset[PodIdentity] | Unknown = NONE,
    kind: str = "managed",
    vpc: str = "vpc-1",
) -> FixOptions:
    of = cloud(kind)
    of.pods = pods
    of.inside = {pod.key: PodEvidence(started) for pod in pods}
    facts = of.facts()
    (alike,) = node_sets(facts)
    judged = PodChecker(alike.verdict_now, alike.verdict_next, identities, NOW)
    found = [judged.check(pod, PodEvidence(started)) for pod in pods]
    return of_nodes(alike, facts, POD_HOPS, [each for each in found if each is not None], vpc)


def way(name: str, *pods: Pod, **more: Any) -> Fix:
    found = chosen(*pods, **more).by_name(name)
    assert found is not None
    return found


def test_the_load_balancer_controller_is_told_what_it_was_not_given() -> None:
    found = chosen(controller(), started=ContainerCommand(("--cluster-name=prod",)))
    assert [each.name for each in found.fixes] == [INSTANCE_OPTIONS, CONTROLLER_FLAGS, OWN_ROLE]
    flags = found.by_name(CONTROLLER_FLAGS)
    assert flags is not None and flags.when is When.NOW and flags.blast.sort_key == (0, 1, 0)
    (patch,) = flags.commands
    test, *adds = json.loads(shlex.split(patch)[-1])
    assert test == {"op": "test", "path": "/spec/template/spec/containers/0/image", "value": LBC}
    assert [each["value"] for each in adds] == ["--aws-region=eu-west-1", "--aws-vpc-id=vpc-1"]
    assert flags.rollback == (
        "kubectl rollout undo deployment aws-load-balancer-controller -n kube-system --context prod",
    )
    assert way(CONTROLLER_FLAGS, controller(), started=ContainerCommand(("--aws-vpc-id=vpc-1",))).commands == (
        "kubectl set env deployment/aws-load-balancer-controller -n kube-system --context prod AWS_REGION=eu-west-1",
    )
    given = chosen(controller(), started=ContainerCommand(("--aws-region=eu-west-1", "--aws-vpc-id=vpc-1")))
    assert given.by_name(CONTROLLER_FLAGS) is None and given.by_name(OWN_ROLE) is not None
    assert chosen(controller(), started=ContainerCommand(), vpc="").by_name(CONTROLLER_FLAGS) is None


def test_a_role_by_pod_identity_with_its_agent_and_back() -> None:
    scaler = controller("cluster-autoscaler", "registry.k8s.io/autoscaling/cluster-autoscaler:v1.30.0")
    fix = way(OWN_ROLE, scaler, started=ContainerCommand(("--cloud-provider=aws",)))
    assert fix.when is When.LATER
    agent, role, associate, restart = fix.commands
    assert "create-addon" in agent and "eks-pod-identity-agent" in agent
    assert role.startswith("ROLE=$(aws iam create-role --role-name prod-kube-system-cluster-autoscaler")
    assert "pods.eks.amazonaws.com" in role
    assert "--service-account cluster-autoscaler" in associate and associate.endswith('--role-arn "$ROLE"')
    assert restart == "kubectl rollout restart deployment cluster-autoscaler -n kube-system --context prod"
    assert "delete-pod-identity-association" in fix.rollback[0]
    assert any("attach-role-policy" in each for each in fix.cautions)

    running = controller("agent", "public.ecr.aws/eks/eks-pod-identity-agent:v1", owner="DaemonSet/agent")
    for pods, kind in (((controller(), running), "managed"), ((controller(),), "auto")):
        again = way(OWN_ROLE, *pods, started=ContainerCommand(), kind=kind)
        assert not any("create-addon" in line for line in again.commands)


def test_a_role_that_came_after_the_start_needs_a_restart_alone() -> None:
    known = frozenset({PodIdentity("kube-system", "aws-load-balancer-controller")})
    found = chosen(controller(), started=ContainerCommand(), identities=known)
    again = found.by_name(RESTART_PODS)
    assert again is not None and again.commands == (
        "kubectl rollout restart deployment aws-load-balancer-controller -n kube-system --context prod",
    )
    assert found.by_name(OWN_ROLE) is None


def test_auto_mode_leaves_the_pods_own_ways() -> None:
    found = chosen(controller(), started=ContainerCommand(), kind="auto")
    assert [each.name for each in found.fixes] == [CONTROLLER_FLAGS, OWN_ROLE] and found.cannot


def test_of_merely_possible_ones_nobody_knows_what_they_need() -> None:
    assert chosen(a_pod("web", node="n0", calls=Calls(images=("nginx",)))).by_name(OWN_ROLE) is None


def test_on_fargate_an_association_is_no_role() -> None:
    of = cloud("fargate", "managed")
    started = ContainerCommand(("--aws-region=eu-west-1", "--aws-vpc-id=vpc-1"))
    there = [replace(controller(), name=f"p{at}", uid=f"u{at}", node=f"n{at}") for at in (0, 1)]
    of.pods, of.inside = there, {pod.key: PodEvidence(started) for pod in there}
    facts = of.facts()
    known = frozenset({PodIdentity("kube-system", "aws-load-balancer-controller")})
    plan = plan_metadata(replace(facts, machines=replace(facts.machines, identities=known)), POD_HOPS)
    effect = {group.node_set.owner.value: [each.pod.name for each in group.affected] for group in plan.groups}
    assert effect == {"fargate": ["p0"], "managed": []}
