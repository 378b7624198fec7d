"""Evidence: requests without a token that CloudWatch has counted, and uses of the node role in CloudTrail and IAM; what
it proves, and what it does not prove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from kubectl_eksdoc.imds_probe.affected import AssumedOptions, Effect
from kubectl_eksdoc.imds_probe.evidence import nodes_to_ask, workloads_using_role
from kubectl_eksdoc.imds_probe.fix_choice import offered_fixes
from kubectl_eksdoc.imds_probe.plan import MetadataPlan, plan_metadata
from kubectl_eksdoc.imds_probe.sources import EvidenceSource
from kubectl_eksdoc.model.findings import Finding, Status, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions, Imdsv1Requests, MetadataOptions, RoleUse, RoleUses
from kubectl_eksdoc.model.nodes import Calls, Pod, RoleSource
from tests.builders import NOW, a_pod
from tests.imds_probe.fixes.nodes_of_all_kinds import cloud, ident

LONG = Imdsv1Requests(0, None, 14)


def told(*calls: Imdsv1Requests | Unknown, tokens: str = "optional") -> dict[str, Finding]:
    """The facts of nodes of one group that all return with tokens required."""
    kinds = ["own template"] * len(calls)
    world = cloud(*kinds, options=MetadataOptions(tokens, 2), said=DeclaredMetadataOptions("required", 2))
    facts = replace(world.facts(), v1_calls={ident(at): each for at, each in enumerate(calls)})
    return {each.code.name: each for each in plan_metadata(facts, 2).findings}


def test_requests_that_are_answered_now_and_refused_then_fail() -> None:
    found = told(Imdsv1Requests(12, None, 3), LONG)["imds-tokens-required"]
    assert found.status is Status.FAIL and found.message.startswith(
        "12 requests without a token (IMDSv1) were answered"
    )
    assert "on 1 of 2 nodes" in found.message and any("on the host count too" in each for each in found.evidence)


def test_none_in_two_weeks_on_every_node_passes() -> None:
    assert told(LONG, LONG)["imds-tokens-required"].status is Status.PASS
    assert told(LONG, Imdsv1Requests(0, None, 1))["imds-tokens-required"].status is Status.PASS, (
        "a young node beside an old"
    )


@pytest.mark.parametrize(
    "calls",
    [
        (Imdsv1Requests(0, None, 2),),
        (LONG, Imdsv1Requests()),
        (LONG, Unknown("denied", "cloudwatch:GetMetricData")),
        (Imdsv1Requests(),),
    ],
)
def test_too_few_figures_are_no_pass(calls: tuple[Imdsv1Requests | Unknown, ...]) -> None:
    found = told(*calls)["imds-tokens-required"]
    assert found.status is Status.UNKNOWN


def test_what_to_do_without_figures_keeps_the_assumption_and_does_not_repeat_what_was_done() -> None:
    facts = cloud(
        "own template", options=MetadataOptions("optional", 2), said=DeclaredMetadataOptions("optional", 2)
    ).facts()
    facts = replace(facts, assumed=AssumedOptions(2, "required"))
    (unasked,) = found(plan_metadata(facts, 2))["imds-tokens-required"].remedy
    assert unasked.command.endswith("--assume hops=2,tokens=required --evidence cloudwatch")
    (asked,) = found(plan_metadata(replace(facts, v1_calls={ident(0): Imdsv1Requests()}), 2))[
        "imds-tokens-required"
    ].remedy
    assert asked.command == "" and "once it has figures of 7 days" in asked.text


def test_what_was_refused_is_unknown_and_names_the_nodes() -> None:
    found = told(Imdsv1Requests(None, 7, 3), Imdsv1Requests(None, 0, 3), tokens="required")
    assert found["imds-v1-rejected"].status is Status.UNKNOWN and "n0: 7" in found["imds-v1-rejected"].evidence
    assert "0 answered, 7 refused" in found["imds-v1-counted"].message
    assert "imds-v1-rejected" not in told(Imdsv1Requests(None, 0, 3), tokens="required")


def test_what_was_asked_for_is_answered() -> None:
    assert told(Imdsv1Requests(), tokens="required")["imds-v1-counted"].status is Status.UNKNOWN
    denied = told(LONG, Unknown("denied", "cloudwatch:GetMetricData"))
    assert denied["imds-evidence-unknown"].missing == "cloudwatch:GetMetricData"
    assert "figures of 1 of 2 instances" in denied["imds-v1-counted"].message


# Uses of the node role.

DAY = timedelta(days=1)
CLOUDTRAIL, IAM = EvidenceSource.CLOUDTRAIL, EvidenceSource.IAM


def uses(*of: str, age: timedelta = DAY, **more: int) -> RoleUses:
    """``s3:ListBuckets``, or only a service, as IAM reports it."""
    found = (each.partition(":") for each in of)
    made = (RoleUse(service, NOW - age, action, "boto3/1.2" if action else "", **more) for service, _, action in found)
    return RoleUses(NOW - 90 * DAY, tuple(made))


BUCKETS = {CLOUDTRAIL: {"n0": uses("s3:ListBuckets")}}


def an_app(name: str, node: str = "n0", role: RoleSource = RoleSource.NONE) -> Pod:
    return a_pod(name, node=node, calls=Calls(images=("own/app:1",), role=role), owner=f"ReplicaSet/{name}-1")


def planned(
    role_uses: Mapping[EvidenceSource, Mapping[str, RoleUses | Unknown]],
    pods: Sequence[Pod] = (),
    now: int = 2,
    later: int = 1,
) -> MetadataPlan:
    """The plan for two nodes of one group, each with one pod without known facts. Pods reach the service `now`."""
    said = DeclaredMetadataOptions("required", later)
    world = cloud("own template", "own template", options=MetadataOptions("required", now), said=said)
    world.pods = pods or [an_app(f"p{at}", node=f"n{at}") for at in range(2)]
    facts = world.facts()
    told = replace(facts.machines, identities=frozenset())
    return plan_metadata(replace(facts, machines=told, role_uses=role_uses), 2)


def found(plan: MetadataPlan) -> dict[str, Finding]:
    return {each.code.name: each for each in plan.findings}


def effects(plan: MetadataPlan) -> dict[str, Effect]:
    return {each.pod.name: each.effect for group in plan.groups for each in group.affected}


def why(plan: MetadataPlan, pod: str) -> str:
    possible = [
        each for each in plan.findings if each.code.name == "imds-pods-possible" and each.status is Status.UNKNOWN
    ]
    (line,) = [line for each in possible for line in each.evidence if pod in line]
    return line


def test_what_a_program_on_the_node_did_makes_its_pods_possible() -> None:
    """Without evidence they have no known need; the pod of the other node keeps that status."""
    assert set(effects(planned({})).values()) == {Effect.NO_KNOWN_NEED}
    plan = planned(
        {CLOUDTRAIL: {"n0": uses("s3:ListBuckets", "ec2:DescribeInstances"), "n1": uses("ecr:BatchGetImage")}}
    )
    assert effects(plan) == {"p0": Effect.POSSIBLE, "p1": Effect.NO_KNOWN_NEED}
    line = why(plan, "p0")
    assert line.endswith(
        "it has no role of its own; the role of n0 was used for s3 1 day ago, by which program is not known "
        "(CloudTrail; confidence: medium)"
    )
    used = found(plan)["imds-role-used"]
    assert (
        used.status is Status.UNKNOWN and "the role of 1 of 2 checked nodes was used for s3 1 day ago" in used.message
    )
    assert used.evidence[0] == "n0: s3:ListBuckets (1) 1 day ago by boto3/1.2"
    assert "not which pod" in used.evidence[1] and "S3" in used.evidence[1]


OF_NODES = (
    *("ec2:DescribeInstances", "ec2:AttachNetworkInterface", "eks:DescribeCluster", "ecr:GetAuthorizationToken"),
    *("sts:GetCallerIdentity", "eks-auth:AssumeRoleForPodIdentity", "ssm:UpdateInstanceInformation"),
    *("ssmmessages:OpenControlChannel", "ec2messages:GetMessages"),
)
OF_PODS = ("ec2:AttachVolume", "ssm:GetParameter", "sts:AssumeRole", "route53:ListHostedZones")


@pytest.mark.parametrize("call", [*OF_NODES, *OF_PODS])
def test_what_programs_of_the_node_do_is_no_evidence_of_a_pod(call: str) -> None:
    plan = planned({CLOUDTRAIL: {"n0": uses(call, count=3, v1=2)}})
    used = found(plan)["imds-role-used"]
    if call in OF_PODS:
        assert effects(plan)["p0"] is Effect.POSSIBLE
        assert "(3) 1 day ago by boto3/1.2, 2 with credentials that were given without" in used.evidence[0]
    else:
        assert set(effects(plan).values()) == {Effect.NO_KNOWN_NEED}
        assert "shows no use of the role of 1 checked node" in used.message


@pytest.mark.parametrize("told", [uses(), uses("s3:ListBuckets", age=91 * DAY), uses("ec2:DescribeInstances")])
def test_that_nothing_was_seen_is_no_pass(told: RoleUses) -> None:
    of = found(planned({CLOUDTRAIL: {"n0": told}}))["imds-role-used"]
    assert of.status is Status.UNKNOWN and "no proof" in of.message and "of 1 checked node in 90 days" in of.message
    assert any(each == "not asked about: other nodes with such pods (1)" for each in of.evidence)


def test_a_role_of_its_own_is_not_that_of_the_node() -> None:
    pods = [an_app("irsa", role=RoleSource.IRSA), an_app("none")]
    assert effects(planned(BUCKETS, pods)) == {"none": Effect.POSSIBLE}


def test_what_a_pod_cannot_reach_now_it_has_not_used() -> None:
    """If the hop limit is 1 already, a process of the host or one in its network has used the role."""
    plan = planned({CLOUDTRAIL: {"n0": uses("s3:ListBuckets")}, IAM: {"n0": uses("s3")}}, now=1)
    assert set(effects(plan).values()) == {Effect.NO_KNOWN_NEED}
    (group,) = plan.groups
    assert workloads_using_role([(group.node_set, group.affected)], plan.facts) == {}


def test_evidence_proposes_no_higher_hop_limit() -> None:
    """It does not show that a pod with its own network needs the service."""
    plan = planned(BUCKETS)
    ((_, choice),) = offered_fixes(plan, plan.facts.cluster)
    assert choice.fixes == () and "EKS Pod Identity" in found(plan)["imds-role-used"].remedy[0].text


def test_what_holds_for_one_replica_holds_for_the_others() -> None:
    """They run the same program: the report does not say as well that the workload has no known need."""
    pods = [replace(an_app("web", node=f"n{at}"), name=f"web-{at}") for at in range(2)]
    assert set(effects(planned(BUCKETS, pods)).values()) == {Effect.POSSIBLE}


def test_iam_knows_services_and_roles_and_no_node() -> None:
    """For a service that the node itself uses, IAM gives no fact about pods. CloudTrail, which knows the node, is
    named."""
    plan = planned({IAM: {"n0": uses("ec2", "ssm", "sts"), "n1": uses("ec2")}})
    assert set(effects(plan).values()) == {Effect.NO_KNOWN_NEED}
    plan = planned({IAM: {"n0": uses("s3", "sqs", "sns", "kms"), "n1": uses("s3")}})
    assert set(effects(plan).values()) == {Effect.POSSIBLE}
    line = why(plan, "p0")
    assert "the role of n0 was used for kms 1 day ago, s3 1 day ago, sns 1 day ago, 1 more, on which" in line
    assert "(IAM; confidence: low)" in line
    both = planned({CLOUDTRAIL: {"n0": uses("sqs:ListQueues")}, IAM: {"n0": uses("s3")}})
    assert "for sqs" in why(both, "p0")


def test_what_was_asked_for_and_not_told_is_said() -> None:
    denied = [Unknown(f"denied for {name}", "cloudtrail:LookupEvents") for name in ("n0", "n1")]
    plan = planned({CLOUDTRAIL: dict(zip(("n0", "n1"), denied, strict=True))})
    assert [each.code.name for each in plan.findings].count("imds-evidence-unknown") == 1
    assert found(plan)["imds-evidence-unknown"].missing == "cloudtrail:LookupEvents"
    assert "imds-role-used" not in found(plan)
    blind = cloud("own template", options=None).facts()
    (unasked,) = [
        each
        for each in plan_metadata(replace(blind, role_uses={CLOUDTRAIL: {}}), 2).findings
        if each.code.name == "imds-role-used"
    ]
    assert unasked.status is Status.UNKNOWN and "is not known of all nodes" in unasked.message
    kept = found(planned({CLOUDTRAIL: {}}, later=2))["imds-role-used"]
    assert kept.status is Status.PASS and kept.message.startswith("nothing is left to ask CloudTrail: each pod ")


def test_of_pods_that_cannot_reach_the_service_already_no_source_can_tell() -> None:
    """Evidence that was requested and is missing is no pass; and the report names it beside that of other nodes."""
    plan = planned({CLOUDTRAIL: {}, IAM: {}}, now=1)
    (told,) = [each for each in plan.findings if each.code.name == "imds-role-used"]
    assert told.status is Status.UNKNOWN and told.remedy
    assert told.message.startswith("CloudTrail and IAM cannot tell whether 2 pods without a role of their own need")
    with_roles = planned({CLOUDTRAIL: {}}, [an_app("irsa", role=RoleSource.IRSA)], now=1)
    assert found(with_roles)["imds-role-used"].status is Status.PASS
    asked = found(planned(BUCKETS, now=1))["imds-role-used"]
    assert any("cannot reach the metadata service already (2)" in each for each in asked.evidence)


def test_each_workload_has_a_node_that_is_asked_about_and_at_most_ten_are() -> None:
    web, job, db = (Subject("Deployment", name, "shop") for name in ("web", "job", "db"))
    assert nodes_to_ask({"n0": {web}, "n1": {web, job}, "n2": {db}, "n3": {db}}) == ("n1", "n2")
    many = {f"n{at:02}": {Subject("Deployment", f"w{at}", "shop")} for at in range(30)}
    assert nodes_to_ask(many) == tuple(f"n{at:02}" for at in range(10)) and nodes_to_ask({}) == ()
