"""``imds-probe`` over HTTP on both sides: the cluster's API server and AWS, and every single refusal of either."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.imds_probe.read import NEEDS
from kubectl_eksdoc.kube.identity import AwsRequest
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.session.session import SessionRequest, open_session
from kubectl_eksdoc.session.sources import SourceChoice
from tests.aws.test_live import access, prod
from tests.aws.world.role_uses import event
from tests.cli.metadata.probed import ROLE, Probing, all_reach_the_service, nodes_are_instances
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
JUDGE = jsonschema.Draft202012Validator(schemas.load("ImdsProbe"))


@pytest.fixture
def ann(prod: World, tmp_path: Path) -> Iterator[Probing]:
    with worlds.served("small-traps", ManualTime(), pace=None) as (server, api):
        nodes_are_instances(api, prod)
        yield Probing(
            kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN), name="lab"), prod, access(prod)
        )


def document(ann: Probing, *argv: str) -> dict[str, Any]:
    ran = ann.run(*argv, "-o", "json")
    found: dict[str, Any] = json.loads(ran.out)
    assert [error.message for error in JUDGE.iter_errors(found)] == []
    return found


def verdicts(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {each["name"]: (each["now"]["verdict"], each["next"]["verdict"]) for each in found["groups"]}


WHOLE = {"green": ("reachable", "reachable"), "blue": ("unreachable", "unreachable")}


def test_each_group_has_its_cause(ann: Probing) -> None:
    found = document(ann)
    assert verdicts(found) == WHOLE and found["recognised"]
    by = {each["name"]: each["next"]["by"] for each in found["groups"]}
    assert "AL2_x86_64" in by["green"] and "tokens by launch template own version 2" in by["blue"]
    assert ann.aws.count("ec2:DescribeInstances") == 1 and ann.aws.count("ec2:DescribeLaunchTemplateVersions") == 1


@pytest.mark.long
def test_a_change_by_hand_is_told_from_what_makes_the_nodes(ann: Probing) -> None:
    ec2 = ann.aws.client("ec2")
    cut = next(each for each in document(ann)["groups"] if each["name"] == "blue")["nodes"]
    (reservation, *_) = ec2.describe_instances(
        Filters=[{"Name": "metadata-options.http-put-response-hop-limit", "Values": ["1"]}]
    )["Reservations"]
    ident = reservation["Instances"][0]["InstanceId"]
    ec2.modify_instance_metadata_options(InstanceId=ident, HttpPutResponseHopLimit=2)
    found = [each for each in document(ann)["groups"] if each["name"] == "blue"]
    assert sorted(len(each["nodes"]) for each in found) == [1, len(cut) - 1]
    (mended,) = [each for each in found if len(each["nodes"]) == 1]
    assert mended["changed"] and (mended["now"]["verdict"], mended["next"]["verdict"]) == ("reachable", "unreachable")


@pytest.mark.long
def test_requests_without_a_token_are_counted(ann: Probing) -> None:
    rows = ann.aws.client("ec2").describe_instances()["Reservations"]
    one = rows[0]["Instances"][0]["InstanceId"]
    now = datetime.fromisoformat(document(ann)["metadata"]["observedAt"].replace("Z", "+00:00"))
    counted = {"MetricName": "MetadataNoToken", "Value": 5, "Timestamp": now - timedelta(days=2)}
    of = [{"Name": "InstanceId", "Value": one}]
    ann.aws.client("cloudwatch").put_metric_data(Namespace="AWS/EC2", MetricData=[{**counted, "Dimensions": of}])
    assert all("CloudWatch" not in each["message"] for each in document(ann)["findings"])
    assert ann.aws.count("cloudwatch:GetMetricData") == 0, "it is asked only if it is wanted"
    found = {each["code"]: each for each in document(ann, "--evidence", "cloudwatch")["findings"]}
    assert "5 answered, 0 refused" in found["imds-v1-counted"]["message"]
    ann.aws.deny("cloudwatch:GetMetricData")
    denied = {each["code"]: each for each in document(ann, "--evidence", "cloudwatch")["findings"]}
    assert denied["imds-evidence-unknown"]["missing"] == "cloudwatch:GetMetricData"


@pytest.mark.long
def test_what_the_role_of_nodes_was_used_for(ann: Probing) -> None:
    """Nodes are asked about until each workload has one, one page each; IAM is asked once for the one role."""
    now = datetime.now(timezone.utc)
    all_reach_the_service(ann.aws)
    for each in ann.aws.client("ec2").describe_instances()["Reservations"]:
        ident = each["Instances"][0]["InstanceId"]
        ann.aws.happened(event(now - timedelta(days=2, hours=1), ident, "s3:ListBuckets"))
        ann.aws.happened(event(now - timedelta(hours=2), ident, "ec2:DescribeInstances"))
    ann.aws.accessed(ROLE, {"ec2": now, "dynamodb": now - timedelta(days=1, hours=1)}, looks=1)
    ann.aws.forget_calls()
    assert not any("role of" in each["message"] and "used" in each["message"] for each in document(ann)["findings"])
    plain = len(ann.aws.calls)
    assert ann.aws.count("cloudtrail:LookupEvents") == 0
    ann.aws.forget_calls()
    told = document(ann, "--evidence", "cloudtrail,iam")
    found = {each["message"].split(":")[0]: each for each in told["findings"] if each["code"] == "imds-role-used"}
    assert "the role of 4 of 4 checked nodes was used for s3 2 days ago" in found["CloudTrail"]["message"]
    assert (
        "checked nodes was used for dynamodb 1 day ago" in found["IAM"]["message"]
        and "confidence: low" in found["IAM"]["message"]
    )
    assert {name: ann.aws.count(name) for name in ROLE_CALLS} == dict(zip(ROLE_CALLS, (4, 1, 1, 2), strict=True))
    assert len(ann.aws.calls) == plain + 8
    for action in ROLE_CALLS:
        ann.aws.deny(action)
        denied = document(ann, "--evidence", "cloudtrail" if "cloudtrail" in action else "iam")
        assert action in {each.get("missing") for each in denied["findings"]}, action
        ann.aws.allow()


ROLE_CALLS = (
    "cloudtrail:LookupEvents",
    "iam:GetInstanceProfile",
    "iam:GenerateServiceLastAccessedDetails",
    "iam:GetServiceLastAccessedDetails",
)


@pytest.mark.long
@pytest.mark.parametrize("source", ["cloudwatch", "cloudtrail", "iam"])
def test_evidence_that_cannot_be_reached_takes_nothing_else_with_it(source: str, ann: Probing) -> None:
    """As where a private network has no endpoint for that service."""
    all_reach_the_service(ann.aws)
    ann.aws.hang_up(f"{source}:*")
    ran = ann.run("--evidence", source, "-o", "json")
    found = json.loads(ran.out)
    assert ran.code in (1, 5) and verdicts(found)["blue"] == ("reachable", "unreachable")
    assert "imds-evidence-unknown" in {each["code"] for each in found["findings"]}


LOST = {
    "eks:DescribeCluster": {"green": ("unknown", "unknown"), "blue": ("unknown", "unknown")},
    "ec2:DescribeInstances": {"green": ("unknown", "reachable"), "blue": ("unknown", "unknown")},
    "eks:DescribeNodegroup": {"green": ("reachable", "unknown"), "blue": ("unreachable", "unknown")},
    "ec2:DescribeLaunchTemplateVersions": {"blue": ("unreachable", "unknown")},
    "ec2:DescribeImages": {"blue": ("unreachable", "unknown")},
    "ec2:GetInstanceMetadataDefaults": {"blue": ("unreachable", "unknown")},
    "eks:ListPodIdentityAssociations": {},
}


def is_named(action: str, ann: Probing) -> bool:
    """And leaves the rest."""
    ann.aws.deny(action)
    ran = ann.run("-o", "json")
    ann.aws.allow()
    found = json.loads(ran.out)
    missing = {each.get("missing") for each in found["findings"]}
    return ran.code == 5 and verdicts(found) == {**WHOLE, **LOST[action]} and action in missing


@pytest.mark.long
def test_a_refusal_leaves_the_rest_and_names_the_action(ann: Probing) -> None:
    assert [action for action in sorted(LOST) if not is_named(action, ann)] == []


def test_every_action_was_tried() -> None:
    asked = {each.action for each in rights.ASKED_OF_AWS["imds-probe"] if each.action}
    assert asked - set(LOST) == {
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeLaunchConfigurations",
    }, "tried in tests/flows: nobody here scales so"


@pytest.mark.long
def test_one_pod_is_one_sentence(ann: Probing) -> None:
    pod = next(
        each
        for each in worlds.documents("small-traps")
        if each["kind"] == "Pod" and "old" in each["spec"].get("nodeName", "")
    )
    meta = pod["metadata"]
    ran = ann.run(f"pod/{meta['name']}", "-n", meta["namespace"])
    assert ran.out.startswith(f"{meta['namespace']}/{meta['name']} on old-") and ran.out.count("\n") <= 4
    assert ann.aws.count("ec2:DescribeInstances") == 1


REFUSED = (
    (("pod/nobody",), "there is no pod 'nobody' in namespace default"),
    (("pod/a", "pod/b"), "one pod or workload at a time"),
    (("cart",), "'cart' is neither pod/NAME nor node/NAME"),
    (("--hops", "65"), "EC2 takes 1 to 64"),
    (("--hops", "0"), "0"),
    (("--accept-unknown", "imds-pods-posible"), "did you mean imds-pods-possible"),
    (("-o", "html"), "no output format"),
)


@pytest.mark.long
def test_what_does_not_fit_is_said(ann: Probing) -> None:
    told = [(argv, said, ann.run(*argv)) for argv, said in REFUSED]
    assert [argv for argv, said, ran in told if ran.code != 2 or said not in ran.err or ran.out] == []


@pytest.mark.long
def test_what_may_be_unknown_does_not_count(ann: Probing) -> None:
    codes = {each["code"] for each in document(ann)["findings"] if each["status"] == "unknown"}
    assert ann.run().code == 5 and ann.run("--accept-unknown", ",".join(codes)).code == 0


def test_where_nothing_says_which_region_the_cluster_still_tells_what_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    with worlds.served("small-traps", ManualTime(), pace=None) as (server, _):
        config = kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN), name="lab")
        world = open_session(SessionRequest(SourceChoice(), Connection(kubeconfig=config), AwsRequest(), NEEDS))
        assert world.cluster.nodes
    assert len(world.cluster.nodes) == 12 and isinstance(world.aws, Unknown) and "AWS was not asked" in world.aws.why


def test_without_credentials_of_aws_the_cluster_is_judged_all_the_same(
    ann: Probing, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nodes, pods and logs tell a part of it, and pods can measure the rest."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    connection = Connection(kubeconfig=ann.config)
    wanted = AwsRequest("prod", "ap-northeast-2", "")
    world = open_session(SessionRequest(SourceChoice(), connection, wanted, NEEDS))
    assert isinstance(world.aws, Unknown) and world.login is not None and world.cluster.nodes
    assert "AWS was not asked: there are no AWS credentials" in world.aws.why
