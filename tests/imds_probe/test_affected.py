"""Pods that are affected if they cannot reach the metadata service: every observed case, with its correct result."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubectl_eksdoc.amazon.metadata_service import POD_HOPS, ImdsVerdict, imds_verdict
from kubectl_eksdoc.imds_probe.affected import AffectedPod, Effect, PodChecker, PodEvidence, select_pods
from kubectl_eksdoc.imds_probe.affected import read_evidence as found_inside
from kubectl_eksdoc.imds_probe.programs import ContainerCommand, read_log
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import MetadataOptions, PodIdentity
from kubectl_eksdoc.model.nodes import Calls, Container, Pod, RoleSource
from tests.builders import NOW, a_pod

ONE, TWO = MetadataOptions("required", 1), MetadataOptions("required", 2)
CUT, FREE, UNKNOWN = imds_verdict(ONE, POD_HOPS), imds_verdict(TWO, POD_HOPS), imds_verdict(Unknown("denied"), POD_HOPS)
LBC, AUTOSCALER, DNS = "eks/aws-load-balancer-controller:v2.13.0", "cluster-autoscaler:v1.33.0", "external-dns:v0.15.0"
EBS, GATEWAY = "eks/aws-ebs-csi-driver:v1.44.0", "aws-gateway-controller:v1.1.0"
NO_ROLE = "no EC2 IMDS role found, operation error ec2imds: GetMetadata, request canceled"
V1_LINE = "vpcId is not specified: EC2MetadataError: failed to make EC2Metadata request, status code: 401"
AWS = "--cloud-provider=aws"
CERTS, HANDLER = "jetstack/cert-manager-controller:v1.18.0", "aws-node-termination-handler:v1.25.0"
QUEUE = "ENABLE_SQS_TERMINATION_DRAINING"
PASSWORD = 'FATAL: password authentication failed for user "app"'
WHOLE = ("--aws-region=eu-west-1", "--aws-vpc-id=vpc-1")
GIVEN = ("REGION", "CLUSTER_VPC_ID", "CLUSTER_NAME", "AWS_ACCOUNT_ID")
BY_QUEUE = {"variables": (QUEUE, "AWS_REGION"), "values": ((QUEUE, "true"),)}
OFF = {"variables": ("AWS_EC2_METADATA_DISABLED",), "values": (("AWS_EC2_METADATA_DISABLED", "true"),)}


def pod(image: str = "shop/cart:1", role: RoleSource = RoleSource.NONE, host: bool = False, **more: Any) -> Pod:
    return a_pod("p", namespace="shop", calls=Calls(host, "cart", role, (image,)), **more)


def inside(*arguments: str, log: str = "", unread: bool = False, **more: Any) -> PodEvidence:
    told = read_log(log)
    started = None if unread else ContainerCommand(arguments, **more)
    return PodEvidence(started, told.symptom, (), told.another, told.weak)


def affected(
    of: Pod, within: PodEvidence = PodEvidence(), here: ImdsVerdict = CUT, later: ImdsVerdict = CUT, **more: Any
) -> AffectedPod | None:
    return PodChecker(here, later, more.pop("identities", frozenset()), NOW).check(of, within)


def judged(*args: Any, **more: Any) -> AffectedPod:
    found = affected(*args, **more)
    assert found is not None
    return found


def effect(*args: Any, **more: Any) -> Effect | None:
    found = affected(*args, **more)
    return found.effect if found else None


IRSA = RoleSource.IRSA
BROKEN, WILL, POSSIBLE, NO_NEED = Effect

WORLDS: list[tuple[str, Pod, PodEvidence, Effect | None]] = [
    ("23 load balancer controller, its log", pod(LBC, ready=False), inside(log="failed to get VPC ID"), BROKEN),
    ("23 told all, with a role", pod(LBC, IRSA), inside(*WHOLE), None),
    ("23 a role, and no VPC", pod(LBC, IRSA), inside("--aws-region=x"), WILL),
    ("23 the VPC by its tags", pod(LBC, IRSA), inside("--aws-region=x", "--aws-vpc-tags=a=b"), None),
    ("23 separate words", pod(LBC, IRSA), inside("--aws-region", "x", "--aws-vpc-id", "y"), None),
    ("23 empty flags", pod(LBC, IRSA), inside("--aws-region=", "--aws-vpc-id="), WILL),
    ("24 autoscaler, bare", pod(AUTOSCALER), inside(AWS), WILL),
    ("24 autoscaler, a region", pod(AUTOSCALER), inside(AWS, variables=("AWS_REGION",)), WILL),
    ("24 autoscaler, a role and a region", pod(AUTOSCALER, IRSA), inside(AWS, variables=("AWS_REGION",)), None),
    ("24 autoscaler of another cloud", pod(AUTOSCALER), inside("--cloud-provider=clusterapi"), None),
    ("25 external-dns of AWS", pod(DNS), inside("--provider=aws"), WILL),
    ("25 external-dns of another cloud", pod(DNS), inside("--provider=cloudflare"), None),
    ("25 never asks", pod(DNS), inside("--provider=aws", **OFF), None),
    ("25 Ready, and fails all the time", pod(DNS, ready=True), inside("--provider=aws", log=NO_ROLE), BROKEN),
    (
        "25 credentials in a file",
        pod(DNS),
        inside("--provider=aws", variables=("AWS_SHARED_CREDENTIALS_FILE", "AWS_REGION")),
        None,
    ),
    ("26 EBS controller without a role, Ready, its log", pod(EBS, ready=True), inside(log=NO_ROLE), BROKEN),
    ("26 EBS controller without a role", pod(EBS), inside(), WILL),
    ("26 EBS node", pod(EBS, owner="DaemonSet/ebs-csi-node"), inside(), None),
    ("26 EBS node, IMDS alone", pod(EBS, owner="DaemonSet/x"), inside("--metadata-sources=imds"), WILL),
    ("29 gateway controller with a role, its log", pod(GATEWAY, IRSA, ready=False), inside(log=V1_LINE), BROKEN),
    (
        "29 gateway controller, empty variables",
        pod(GATEWAY, IRSA),
        inside(variables=GIVEN, values=tuple((name, "") for name in GIVEN)),
        WILL,
    ),
    ("29 gateway controller, variables", pod(GATEWAY, IRSA), inside(variables=GIVEN), None),
    ("29 any program with a role, its log", pod("own/app:1", IRSA, ready=False), inside(log=V1_LINE), BROKEN),
    ("30 the network of the host", pod(LBC, host=True), inside(), None),
    ("30 Pod Identity", pod("own/app:1", RoleSource.POD_IDENTITY), inside(), None),
    ("30 access keys", pod("own/app:1", RoleSource.KEYS), inside(), None),
    (
        "30 access keys that may be among variables that come as a whole",
        pod(AUTOSCALER),
        inside(AWS, variables=("AWS_REGION",), more_secrets=True),
        POSSIBLE,
    ),
    ("31 an app that never asks", pod(), inside(**OFF), None),
    ("31 nginx", pod("nginx:1"), inside(), None),
    ("31 redis", pod("redis:7"), inside(), None),
    ("an app of which nothing is known", pod(), inside(), NO_NEED),
    ("29 cert-manager, Ready, nothing in its log", pod(CERTS, ready=True), inside(), NO_NEED),
    ("24 autoscaler, by a shell", pod(AUTOSCALER), inside("sh", "-c", f"./cluster-autoscaler {AWS} --v=4"), WILL),
    ("24 autoscaler, a provider by a variable", pod(AUTOSCALER), inside("--cloud-provider=$(CLOUD)"), POSSIBLE),
    (
        "33 autoscaler, its provider a digest of a snapshot",
        pod(AUTOSCALER),
        inside("--cloud-provider=eksdoc-digest:0123456789abcdef"),
        POSSIBLE,
    ),
    ("24 autoscaler, by a script", pod(AUTOSCALER), inside("/bin/sh", "/run.sh"), POSSIBLE),
    ("29 Argo CD, not looked into", pod("argoproj/argocd:v3.1.0", ready=True), inside(unread=True), POSSIBLE),
    ("29 Kyverno, its log", pod("kyverno/kyverno:v1.15.0", ready=True), inside(log=NO_ROLE), BROKEN),
    ("29 Fluent Bit of AWS without a role", pod("amazon/aws-for-fluent-bit:2.32.0", ready=True), inside(), WILL),
    ("29 Fluent Bit of AWS with a role", pod("amazon/aws-for-fluent-bit:2.32.0", IRSA, ready=True), inside(), NO_NEED),
    ("29 cert-manager, not looked into", pod(CERTS, ready=True), inside(unread=True), POSSIBLE),
    ("29 cert-manager, its log", pod(CERTS, ready=True), inside(log=NO_ROLE), BROKEN),
    ("29 Karpenter without a region", pod("karpenter/controller:1.6.0", IRSA), inside(), WILL),
    ("28 CloudWatch agent with a role", pod("cloudwatch-agent:1", IRSA), inside(), WILL),
    ("27 termination handler without the network of its host", pod(HANDLER), inside(), POSSIBLE),
    ("27 termination handler with a queue", pod(HANDLER, IRSA), inside(**BY_QUEUE), None),
    (
        "W5 a database's password",
        pod("own/app:1", IRSA, ready=False),
        inside(log="FATAL: password authentication failed"),
        None,
    ),
]


@pytest.mark.parametrize(("of", "within", "truth"), [row[1:] for row in WORLDS], ids=[row[0] for row in WORLDS])
def test_each_world_has_its_truth(of: Pod, within: PodEvidence, truth: Effect | None) -> None:
    assert effect(of, within) == truth


def test_who_reaches_it_now_and_later_is_not_affected() -> None:
    assert effect(pod(LBC), inside(), FREE, FREE) is None
    assert effect(pod(), inside(), FREE, UNKNOWN) is None, "what is not known is said of the node"
    assert effect(pod(LBC, IRSA), inside(log=NO_ROLE), FREE, FREE) is None, "something else is wrong"


def test_each_known_program_of_a_pod_is_judged() -> None:
    both = a_pod("p", namespace="shop", calls=Calls(False, "cart", IRSA, ("fluent/fluent-bit:3.1", LBC)), ready=True)
    logs, bare, whole = Container("logs", "fluent/fluent-bit:3.1"), Container("lbc", LBC), Container("lbc", LBC, WHOLE)
    assert effect(both, found_inside((logs, bare), (), {})) is WILL
    assert effect(both, found_inside((logs, whole), (), {})) is NO_NEED
    assert [each.name for each in select_pods([both], NOW).pods] == ["p"]


def test_who_runs_well_with_the_service_may_not_do_without() -> None:
    only = imds_verdict(MetadataOptions("optional", 1), POD_HOPS)
    certs = pod(CERTS, ready=True)
    assert effect(certs, inside(), FREE, CUT) is POSSIBLE
    assert effect(certs, inside(), FREE, only) is POSSIBLE
    assert effect(certs, inside(), only, CUT) is POSSIBLE
    assert effect(certs, inside(), only, only) is NO_NEED and effect(certs, inside(), CUT, FREE) is NO_NEED


REGION_LINE = "botocore.exceptions.NoRegionError: You must specify a region."


def test_a_log_that_says_so_names_what_is_lacking_and_what_helps() -> None:
    """This holds for any refusal of EC2; a pod that has a role is not advised to get one."""
    found = judged(pod(LBC, ready=False), inside(log="failed to get VPC ID"))
    assert "lacks the id of its VPC" in found.reason and found.log_line == "failed to get VPC ID"
    assert "the hop limit is 1, but 2 are needed" in found.location and "--aws-vpc-id" in found.way_out and found.source
    found = judged(pod(LBC, ready=False), inside(log="failed to get VPC ID"), UNKNOWN, UNKNOWN)
    assert found.effect is BROKEN and "not known: denied" in found.location
    found = judged(pod("own/app:1", IRSA, ready=False), inside(log=NO_ROLE))
    assert found.effect is BROKEN
    assert found.way_out.startswith("it has a role by IRSA") and "trust policy" in found.way_out
    found = judged(pod(ready=False), inside(log=REGION_LINE))
    assert found.effect is BROKEN and not found.asks_service and found.way_out == "set AWS_REGION"
    found = judged(pod(LBC, IRSA), inside(), FREE, CUT)
    assert found.location == f"on the next node {CUT.why}" and "its region and the id of its VPC" in found.reason
    found = judged(pod(LBC, IRSA))
    assert found.effect is POSSIBLE
    assert "whether it was given its region and the id of its VPC is not known" in found.reason


def test_a_role_by_pod_identity_comes_as_the_pod_is_made_anew() -> None:
    identities = frozenset({PodIdentity("shop", "cart")})
    assert effect(pod(), identities=identities) is None
    found = judged(pod(AUTOSCALER), inside(log=NO_ROLE), identities=identities)
    assert found.way_out.startswith("recreate it")
    assert effect(pod(), identities=frozenset({PodIdentity("other", "cart")})) is NO_NEED
    assert effect(pod(), identities=Unknown("denied")) is NO_NEED


def test_what_is_answered_without_a_token_may_go_on() -> None:
    only = imds_verdict(MetadataOptions("optional", 1), POD_HOPS)
    assert effect(pod(AUTOSCALER), inside(AWS), only, only) is POSSIBLE
    assert effect(pod(AUTOSCALER), inside(AWS), only, CUT) is WILL


def test_variables_that_come_as_a_whole_are_not_known() -> None:
    found = judged(pod(AUTOSCALER, IRSA), inside(AWS, more_variables=True))
    assert found.effect is POSSIBLE
    assert found.reason == "whether its envFrom gives it its region is not known"
    assert effect(pod(AUTOSCALER, IRSA), inside(AWS, variables=("AWS_REGION",), more_variables=True)) is None


@pytest.mark.parametrize(("hours", "truth"), [(13, POSSIBLE), (5, WILL)])
def test_what_runs_for_long_without_has_no_need_of_credentials(hours: int, truth: Effect) -> None:
    since = NOW - timedelta(hours=hours)
    region = inside(AWS, variables=("AWS_REGION",))
    assert effect(pod(AUTOSCALER, ready=True, ready_at=since), region) is truth
    assert effect(pod(AUTOSCALER, ready=True, ready_at=since), region, FREE, CUT) is WILL, "it was not cut off"
    assert effect(pod(AUTOSCALER, ready=True, ready_at=since), inside(AWS)) is WILL, (
        "a region is asked for at its start"
    )


def test_a_ready_pod_that_has_printed_much_since_goes_on_without() -> None:
    since = NO_ROLE + "\nserving" * 30
    assert effect(pod(DNS, RoleSource.IRSA, ready=True), inside("--provider=aws", log=since)) is None
    assert effect(pod(DNS, RoleSource.IRSA, ready=False), inside("--provider=aws", log=since)) is BROKEN
    assert effect(pod(DNS, ready=True), inside("--provider=aws", log=NO_ROLE + "\nretrying" * 9)) is BROKEN


def test_a_pod_that_names_another_cause_after_it_may_fail_for_that() -> None:
    found = judged(pod(DNS, ready=False), inside("--provider=aws", log=f"{NO_ROLE}\n{PASSWORD}"))
    assert found.effect is POSSIBLE and found.reason.endswith("names another cause after it")
