"""What can go wrong in the tests' AWS when a test wants it: each service's words, lost connections, slowness."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

if TYPE_CHECKING:
    from tests.aws.world.server import World

Ask = Callable[[Any], Any]
ASKED: dict[str, Ask] = {
    "eks:DescribeAddon": lambda c: c.describe_addon(clusterName="prod", addonName="vpc-cni"),
    "eks:DescribeCluster": lambda c: c.describe_cluster(name="prod"),
    "eks:DescribeClusterVersions": lambda c: c.describe_cluster_versions(),
    "ec2:DescribeInstances": lambda c: c.describe_instances(),
    "autoscaling:DescribeAutoScalingGroups": lambda c: c.describe_auto_scaling_groups(),
    "sqs:GetQueueUrl": lambda c: c.get_queue_url(QueueName="interruptions"),
    "events:ListTargetsByRule": lambda c: c.list_targets_by_rule(Rule="spot"),
    "ssm:GetParameter": lambda c: c.get_parameter(Name="/aws/service/eks/x"),
    "sts:GetCallerIdentity": lambda c: c.get_caller_identity(),
    "sts:AssumeRole": lambda c: c.assume_role(RoleArn="arn:aws:iam::444455556666:role/r", RoleSessionName="me"),
}
ME = "User: arn:aws:iam::111122223333:user/on-call is not authorized to perform: "


def why(action: str) -> str:
    return f"because no identity-based policy allows the {action} action"


def refused(aws: World, operation: str) -> tuple[str, int, str]:
    """Code, status and message of the refusal."""
    with pytest.raises(ClientError) as it:
        ASKED[operation](aws.client(operation.partition(":")[0]))
    answer = it.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Message"]


@pytest.mark.parametrize(
    ("operation", "code", "status", "message"),
    [
        (
            "eks:DescribeAddon",
            "AccessDeniedException",
            403,
            f"{ME}eks:DescribeAddon on resource: arn:aws:eks:ap-northeast-2:111122223333:/clusters/prod/addons/vpc-cni",
        ),
        (
            "eks:DescribeCluster",
            "AccessDeniedException",
            403,
            f"{ME}eks:DescribeCluster on resource: arn:aws:eks:ap-northeast-2:111122223333:cluster/prod",
        ),
        (
            "eks:DescribeClusterVersions",
            "AccessDeniedException",
            403,
            f"{ME}eks:DescribeClusterVersions on resource: arn:aws:eks:ap-northeast-2:111122223333:*",
        ),
        (
            "ec2:DescribeInstances",
            "UnauthorizedOperation",
            403,
            "You are not authorized to perform this operation. "
            f"{ME}ec2:DescribeInstances {why('ec2:DescribeInstances')}",
        ),
        (
            "autoscaling:DescribeAutoScalingGroups",
            "AccessDenied",
            403,
            f"{ME}autoscaling:DescribeAutoScalingGroups {why('autoscaling:DescribeAutoScalingGroups')}",
        ),
        (
            "sqs:GetQueueUrl",
            "AccessDenied",
            403,
            f"{ME}sqs:getqueueurl on resource: arn:aws:sqs:ap-northeast-2:111122223333:interruptions "
            f"{why('sqs:getqueueurl')}",
        ),
        (
            "events:ListTargetsByRule",
            "AccessDeniedException",
            400,
            f"{ME}events:ListTargetsByRule on resource: arn:aws:events:ap-northeast-2:111122223333:rule/spot "
            f"{why('events:ListTargetsByRule')}",
        ),
        (
            "ssm:GetParameter",
            "AccessDeniedException",
            400,
            f"{ME}ssm:GetParameter on resource: arn:aws:ssm:ap-northeast-2::parameter/aws/service/eks/x "
            f"{why('ssm:GetParameter')}",
        ),
        (
            "sts:AssumeRole",
            "AccessDenied",
            403,
            f"{ME}sts:AssumeRole on resource: arn:aws:iam::444455556666:role/r",
        ),
    ],
)
def test_a_missing_right_is_told_in_the_services_words(
    aws: World, operation: str, code: str, status: int, message: str
) -> None:
    aws.deny(operation)
    assert refused(aws, operation) == (code, status, message)
    aws.client("sts").get_caller_identity()


@pytest.mark.parametrize(
    ("operation", "code", "status"),
    [
        ("eks:DescribeAddon", "ExpiredTokenException", 403),
        ("ec2:DescribeInstances", "RequestExpired", 400),
        ("autoscaling:DescribeAutoScalingGroups", "ExpiredToken", 403),
        ("sqs:GetQueueUrl", "ExpiredToken", 403),
        ("events:ListTargetsByRule", "ExpiredTokenException", 400),
        ("ssm:GetParameter", "ExpiredTokenException", 400),
        ("sts:GetCallerIdentity", "ExpiredToken", 403),
    ],
)
def test_an_expired_token(aws: World, operation: str, code: str, status: int) -> None:
    aws.expire()
    assert refused(aws, operation)[:2] == (code, status)


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("eks:DescribeAddon", "UnrecognizedClientException"),
        ("ec2:DescribeInstances", "AuthFailure"),
        ("sts:GetCallerIdentity", "InvalidClientTokenId"),
        ("sqs:GetQueueUrl", "InvalidClientTokenId"),
    ],
)
def test_a_key_of_nobody(aws: World, operation: str, code: str) -> None:
    aws.disown()
    assert refused(aws, operation)[0] == code


@pytest.mark.parametrize(
    ("operation", "code", "status"),
    [
        ("eks:DescribeAddon", "ThrottlingException", 429),
        ("ec2:DescribeInstances", "RequestLimitExceeded", 503),
        ("autoscaling:DescribeAutoScalingGroups", "Throttling", 400),
        ("sqs:GetQueueUrl", "RequestThrottled", 403),
        ("events:ListTargetsByRule", "ThrottlingException", 400),
        ("ssm:GetParameter", "ThrottlingException", 400),
    ],
)
def test_throttling(aws: World, operation: str, code: str, status: int) -> None:
    aws.throttle(operation)
    assert refused(aws, operation)[:2] == (code, status)


def test_throttling_passes_and_the_client_tries_again(aws: World) -> None:
    aws.throttle("ec2:DescribeInstances", times=1)
    client = aws.client("ec2", retries={"total_max_attempts": 2, "mode": "standard"})
    assert client.describe_instances()["Reservations"] == []
    assert aws.count("ec2:DescribeInstances") == 2


def test_the_newest_trouble_counts_and_a_reset_ends_all(aws: World) -> None:
    aws.deny("eks:*")
    aws.throttle("eks:Describe*", times=1)
    assert refused(aws, "eks:DescribeAddon")[0] == "ThrottlingException"
    assert refused(aws, "eks:DescribeAddon")[0] == "AccessDeniedException"
    aws.reset()
    assert refused(aws, "eks:DescribeAddon")[0] == "ResourceNotFoundException"
    assert [call.name for call in aws.calls] == ["eks:DescribeAddon"]


def test_any_other_failure(aws: World) -> None:
    aws.fail("eks:DescribeAddon", "ServerException", "Internal failure", 500)
    eks = aws.client("eks")
    with pytest.raises(eks.exceptions.ServerException, match="Internal failure"):
        eks.describe_addon(clusterName="prod", addonName="vpc-cni")


def test_a_lost_connection(aws: World) -> None:
    aws.hang_up("eks:DescribeAddon", times=1)
    with pytest.raises(ConnectionClosedError):
        ASKED["eks:DescribeAddon"](aws.client("eks"))
    assert refused(aws, "eks:DescribeAddon")[0] == "ResourceNotFoundException"


def test_a_slow_answer_comes_or_is_not_waited_for(aws: World) -> None:
    aws.slow("eks:ListClusters", 0.15, times=1)
    began = time.monotonic()
    assert aws.client("eks").list_clusters()["clusters"] == []
    assert time.monotonic() - began >= 0.15

    aws.slow("eks:ListClusters", 60, times=1)
    with pytest.raises(ReadTimeoutError):
        aws.client("eks", read_timeout=0.1).list_clusters()


def test_a_reset_lets_go_who_waits(aws: World) -> None:
    aws.slow("eks:ListClusters", 60)
    client, answers = aws.client("eks"), []
    waiting = threading.Thread(target=lambda: answers.append(client.list_clusters()["clusters"]))
    waiting.start()
    while not aws.calls:
        time.sleep(0.005)
    aws.reset()
    waiting.join(10)
    assert answers == [[]]


def test_calls_are_counted_with_what_they_asked(aws: World) -> None:
    aws.client("sqs").create_queue(QueueName="q")
    aws.forget_calls()
    url = aws.client("sqs").get_queue_url(QueueName="q")["QueueUrl"]
    aws.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
    assert [call.name for call in aws.calls] == ["sqs:GetQueueUrl", "sqs:GetQueueAttributes"]
    assert aws.calls[0].param("QueueName") == "q"
    assert (aws.calls[0].account, aws.calls[0].region) == ("111122223333", "ap-northeast-2")
    assert (aws.count("sqs:GetQueueUrl"), aws.count("sqs:CreateQueue")) == (1, 0)


def test_accounts_and_regions_are_apart(aws: World) -> None:
    role = "arn:aws:iam::111122223333:role/any"
    aws.client("eks").create_cluster(name="prod", roleArn=role, resourcesVpcConfig={}, version="1.30")
    for other in (aws.client("eks", account="444455556666"), aws.client("eks", region="us-east-1")):
        assert other.list_clusters()["clusters"] == []
    identity = aws.client("sts", account="444455556666").get_caller_identity()
    assert (identity["Account"], identity["Arn"]) == ("444455556666", "arn:aws:iam::444455556666:user/on-call")


def test_a_role_of_another_account_is_that_accounts(aws: World) -> None:
    import boto3

    role = "arn:aws:iam::444455556666:role/reader"
    made = aws.client("sts").assume_role(RoleArn=role, RoleSessionName="me")["Credentials"]
    session = boto3.session.Session(
        aws_access_key_id=made["AccessKeyId"],
        aws_secret_access_key=made["SecretAccessKey"],
        aws_session_token=made["SessionToken"],
        region_name="ap-northeast-2",
    )
    identity = session.client("sts", endpoint_url=aws.endpoint).get_caller_identity()
    arn = "arn:aws:sts::444455556666:assumed-role/reader/me"
    assert (identity["Account"], identity["Arn"]) == ("444455556666", arn)
    aws.deny("eks:ListClusters")
    with pytest.raises(ClientError, match=f"User: {arn} is not authorized to perform: eks:ListClusters"):
        session.client("eks", endpoint_url=aws.endpoint).list_clusters()


def test_any_client_finds_this_aws_by_its_environment(aws: World, monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3

    for name, value in aws.environ(account="444455556666").items():
        monkeypatch.setenv(name, value)
    session = boto3.session.Session()
    assert session.region_name == "ap-northeast-2"
    assert session.client("sts").get_caller_identity()["Account"] == "444455556666"


def test_many_may_ask_at_once(aws: World) -> None:
    role = "arn:aws:iam::111122223333:role/any"
    aws.client("eks").create_cluster(name="prod", roleArn=role, resourcesVpcConfig={}, version="1.30")
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: ASKED["eks:DescribeCluster"](aws.client("eks")), range(40)))
    assert {answer["cluster"]["version"] for answer in told} == {"1.30"}
    assert aws.count("eks:DescribeCluster") == 40


def test_two_worlds_are_mended_once(aws: World) -> None:
    from tests.aws.world.server import World as Another

    other = Another()
    try:
        aws.publish_image("a")
        aws.publish_image("b")
        told = other.client("ec2").describe_images(Owners=["amazon"], MaxResults=1)
        assert (len(told["Images"]), told["NextToken"]) == (1, "1")
    finally:
        other.stop()
