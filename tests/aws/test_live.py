"""Every request of the tool and every failure, against AWS as moto's server stands in for it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kubectl_eksdoc.aws import ec2, eks, queues, upgrades
from kubectl_eksdoc.aws import machines as capacity
from kubectl_eksdoc.aws import machines as node_groups
from kubectl_eksdoc.aws.asking import (
    MAX_CONCURRENT_REQUESTS,
    VerifiedCluster,
    ask_concurrently,
    describe_cluster,
    get_caller,
    verify_cluster,
)
from kubectl_eksdoc.aws.refusals import LiveAws
from kubectl_eksdoc.errors import (
    AwsDenied,
    AwsError,
    AwsLogin,
    AwsOtherCluster,
    AwsThrottled,
    UsageError,
)
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.addons import Addon, EksAddonUpdate
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.eks import AwsAccess
from kubectl_eksdoc.model.interruption import MetricsQuery, RolePolicies
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import TemplateRef
from tests.aws.answers import sees

if TYPE_CHECKING:
    from tests.aws.world.server import World

NOW = datetime(2026, 11, 22, 9, tzinfo=timezone.utc)
ACCOUNT, OTHER, REGION, NAME = "111122223333", "999988887777", "ap-northeast-2", "prod"
CNI = {"clusterName": NAME, "addonName": "vpc-cni"}
ROLE = "arn:aws:iam::{}:role/reader"
NO_FILES = (("AWS_CONFIG_FILE", "/dev/null"), ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"))


@pytest.fixture
def prod(aws: World) -> World:
    """A cluster with add-ons, one of which was updated."""
    client = aws.client("eks")
    client.create_cluster(
        name=NAME, version="1.24", roleArn=ROLE.format(ACCOUNT), resourcesVpcConfig={"subnetIds": ["subnet-1"]}
    )
    client.create_addon(**CNI, addonVersion="v1.12.0-eksbuild.1")
    client.create_addon(clusterName=NAME, addonName="coredns")
    client.update_addon(**CNI, addonVersion="v1.12.6-eksbuild.1", resolveConflicts="OVERWRITE")
    aws.forget_calls()
    return aws


def access(world: World, whose: str = ACCOUNT, **more: Any) -> AwsAccess:
    """The access with the keys of that account."""
    keys = world.environ(whose)
    settings = tuple((name, keys[name]) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    endpoint = world.client("eks").describe_cluster(name=NAME)["cluster"]["endpoint"]
    world.forget_calls()
    return replace(AwsAccess(NAME, REGION, account=ACCOUNT, server=endpoint, settings=settings), **more)


def live(world: World, tries: int = 1, **more: Any) -> LiveAws:
    return LiveAws(access(world, **more), world.endpoint, tries)


def everything(of: VerifiedCluster) -> dict[AwsOperation, Any]:
    """Each request with its result."""
    return {
        questions.CLUSTER_VERSIONS: eks.cluster_versions(of),
        questions.ADDONS: eks.addons(of),
        questions.ADDON: eks.addon(of, "vpc-cni"),
        questions.ADDON_VERSIONS: eks.addon_versions(of, "vpc-cni", "1.24"),
        questions.ADDON_CONFIGURATION: eks.addon_configuration(of, "vpc-cni", "v1.12.0-eksbuild.1"),
        questions.UPDATES: eks.updates_of_addon(of, "vpc-cni"),
        questions.NODE_GROUPS: node_groups.node_group_names(of),
        questions.NODE_GROUP: node_groups.node_group(of, "blue"),
        questions.POD_IDENTITIES: node_groups.pod_identities(of),
        questions.INSTANCES: ec2.instances(of, INSTANCES),
        questions.IMAGES: ec2.images(of, [IMAGE]),
        questions.TEMPLATE_VERSIONS: ec2.template_version(of, TEMPLATE),
        questions.METADATA_DEFAULTS: ec2.account_metadata_defaults(of),
        questions.SCALING_GROUPS: ec2.scaling_groups(of, ["own"]),
        questions.LAUNCH_CONFIGURATIONS: ec2.launch_configurations(of, ["old"]),
        **of_interruption(of),
        **of_upgrades(of),
    }


def of_upgrades(of: VerifiedCluster) -> dict[AwsOperation, Any]:
    told = upgrades.readiness_insights(of, ["1.25"])
    listed = told if isinstance(told, Unknown) else ("listed", *(getattr(each, "id", each) for each in told))
    return {
        questions.INSIGHTS: listed,
        questions.INSIGHT: told if isinstance(told, Unknown) else ("in full", *told),
        questions.INSIGHTS_REFRESH: upgrades.InsightRefresh(of).state(),
        questions.SUBNETS: capacity.subnets(of, ["subnet-1"]),
        questions.PARAMETER: eks.recommended_release(of, "AL2023_x86_64_STANDARD", "1.24"),
        questions.QUOTA: capacity.quotas(of, None),
    }


def of_interruption(of: VerifiedCluster) -> dict[AwsOperation, Any]:
    """Several requests make one answer: its parts, by the request on which each is based."""
    queue, key = queues.queue(of, QUEUE), queues.kms_key(of, f"alias/{QUEUE}")
    role = queues.role_policies(of, ROLE.format(ACCOUNT))
    unread = role.unread if isinstance(role, RolePolicies) else (role,)
    return {
        questions.QUEUE_URL: getattr(queue, "url", queue),
        questions.QUEUE_ATTRIBUTES: getattr(queue, "arn", queue),
        questions.RULES: queues.event_rules(of),
        questions.RULE_TARGETS: queues.rule_targets(of, [QUEUE]),
        questions.KEY: getattr(key, "manager", key),
        questions.KEY_POLICY: getattr(key, "policy", key),
        questions.POD_IDENTITY: queues.pod_identity_role(of, "shop", "cart"),
        questions.ROLE: getattr(role, "boundary", role),
        questions.ATTACHED_POLICIES: _of(unread, "iam:ListAttachedRolePolicies") or "read",
        questions.POLICY: _of(unread, "iam:GetPolicy") or "read",
        questions.POLICY_VERSION: _of(unread, "iam:GetPolicyVersion") or "read",
        questions.ROLE_POLICIES: _of(unread, "iam:ListRolePolicies") or "read",
        questions.ROLE_POLICY: _of(unread, "iam:GetRolePolicy") or "read",
        questions.METRICS: queues.read_figures(of, MetricsQuery(QUEUE, (QUEUE,), NOW)),
        questions.SPOT_REQUESTS: queues.spot_notices(of, INSTANCES) or "none has a notice",
    }


def _of(unread: Iterable[Any], action: str) -> list[Any]:
    return [each for each in unread if isinstance(each, Unknown) and each.missing == action]


IMAGE, TEMPLATE = "ami-12345678", TemplateRef("", "own", "1")
QUEUE = "interruptions"
INSTANCES = ["i-0123456789abcdef0"]
"""Not there: that is an answer, too."""


@pytest.fixture
def whole(prod: World) -> World:
    """A cluster with self-managed nodes and managed nodes, and a role for pods."""
    service, machines = prod.client("eks"), prod.client("ec2")
    role = ROLE.format(ACCOUNT)
    service.create_nodegroup(clusterName=NAME, nodegroupName="blue", subnets=["subnet-1"], nodeRole=role)
    service.create_pod_identity_association(clusterName=NAME, namespace="shop", serviceAccount="cart", roleArn=role)
    machines.create_launch_template(LaunchTemplateName="own", LaunchTemplateData={"ImageId": IMAGE})
    prod.client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName="own",
        MinSize=0,
        MaxSize=1,
        AvailabilityZones=["ap-northeast-2a"],
        LaunchTemplate={"LaunchTemplateName": "own", "Version": "1"},
    )
    with_queue(prod)
    insight = {"name": "any", "category": "UPGRADE_READINESS", "kubernetesVersion": "1.25"}
    prod.eks().found(NAME, {**insight, "insightStatus": {"status": "ERROR"}})
    prod.forget_calls()
    return prod


def with_queue(prod: World) -> None:
    """A queue with a key, a rule that sends to it, and a role with each kind of policy."""
    sqs, events, kms, iam = (prod.client(name) for name in ("sqs", "events", "kms", "iam"))
    sqs.create_queue(QueueName=QUEUE)
    events.put_rule(Name=QUEUE, EventPattern='{"source": ["aws.ec2"]}')
    events.put_targets(Rule=QUEUE, Targets=[{"Id": "1", "Arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{QUEUE}"}])
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    kms.create_alias(AliasName=f"alias/{QUEUE}", TargetKeyId=key)
    document = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]}'
    policy = iam.create_policy(PolicyName="own", PolicyDocument=document)["Policy"]["Arn"]
    iam.create_role(RoleName="reader", AssumeRolePolicyDocument="{}", PermissionsBoundary=policy)
    iam.attach_role_policy(RoleName="reader", PolicyArn=policy)
    iam.put_role_policy(RoleName="reader", PolicyName="inline", PolicyDocument=document)


def test_a_cluster_is_believed_and_all_of_it_known_and_counted(whole: World) -> None:
    prod = whole
    aws = live(prod)
    found = verify_cluster(aws, aws.access)
    assert (found.cluster.account, found.cluster.version, found.caller.account) == (ACCOUNT, "1.24", ACCOUNT)
    told = everything(found)
    assert not [question for question, answer in told.items() if isinstance(answer, Unknown) or not answer]
    assert isinstance(told[questions.ADDON], Addon) and told[questions.ADDON].name == "vpc-cni"
    update = told[questions.UPDATES].updates[0]
    assert isinstance(update, EksAddonUpdate) and update.parameter("ResolveConflicts") == "OVERWRITE"
    assert aws.calls["eks:DescribeAddon"] == prod.count("eks:DescribeAddon") == 3
    assert sum(aws.calls.values()) == len(prod.calls) and aws.said.startswith(
        f"{len(prod.calls)} calls of AWS: autoscaling:"
    )


def test_context_a_never_reads_account_b(prod: World) -> None:
    """The other account has a cluster of the same name."""
    prod.client("eks", OTHER).create_cluster(
        name=NAME, version="1.30", roleArn=ROLE.format(OTHER), resourcesVpcConfig={"subnetIds": ["subnet-1"]}
    )
    aws = live(prod, settings=access(prod, OTHER).settings)
    with pytest.raises(AwsOtherCluster, match=f"account {ACCOUNT}, and the credentials are of account {OTHER}"):
        verify_cluster(aws, aws.access)
    assert list(aws.calls) == ["sts:GetCallerIdentity"]


def test_the_role_of_the_context_is_assumed_first(prod: World) -> None:
    """The credentials of the environment are of another account, as for a user of one account who works in many."""
    keys = access(prod, OTHER).settings
    aws = live(prod, settings=keys, role=ROLE.format(ACCOUNT))
    found = verify_cluster(aws, aws.access)
    assert found.caller.account == ACCOUNT and "assumed-role/reader/kubectl-eksdoc" in found.caller.arn
    assert prod.count("sts:AssumeRole") == aws.calls["sts:AssumeRole"] == 1
    prod.deny("sts:AssumeRole")
    refused = live(prod, settings=keys, role=ROLE.format(ACCOUNT))
    for ask in (lambda: verify_cluster(refused, refused.access), lambda: get_caller(refused)):
        with pytest.raises(AwsLogin, match="AssumeRole is refused: AccessDenied") as told:
            ask()
        assert "reader (assumed from" in told.value.message, "nothing is unknown for it: nothing can be asked"


def test_without_a_region_nothing_is_asked() -> None:
    for profile in ("", "nobody"):
        with pytest.raises(UsageError, match="in which AWS region") as refused:
            LiveAws(AwsAccess(NAME, "", profile, settings=NO_FILES))
        assert "--region" in refused.value.hint


def test_the_region_of_the_profile_is_taken_where_nothing_else_says_one(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[profile ops]\nregion = eu-west-3\n")
    settings = (("AWS_CONFIG_FILE", str(tmp_path / "config")),)
    assert LiveAws(AwsAccess(NAME, "", "ops", settings=settings)).access.region == "eu-west-3"
    assert LiveAws(AwsAccess(NAME, "us-east-1", "ops", settings=settings)).access.region == "us-east-1"


ELSEWHERE = (
    questions.REFRESH_INSIGHTS,
    questions.UPDATE_ADDON,
    questions.TARGET_HEALTH,
    questions.MODIFY_METADATA,
    questions.CREATE_TEMPLATE_VERSION,
    questions.UPDATE_NODE_GROUP,
    questions.EVENTS,
    questions.INSTANCE_PROFILE,
    questions.ACCESS_REPORT,
    questions.LAST_ACCESSED,
)
"""Acts, what moto's server does not answer, and what only --evidence asks: they are denied in test_insights,
test_target_health, test_metadata_changes and imds_probe/command/test_served."""


DENIED = [each for each in questions.ALL if not each.needs_no_permission and each not in ELSEWHERE]
TOGETHER = 4


def without_rights_to(
    denied: Collection[AwsOperation], prod: World, seen: VerifiedCluster, full: Mapping[AwsOperation, Any]
) -> str:
    """Errors if these actions are denied at once, "" for none: each action is named, and only facts based on one are
    unknown."""
    prod.deny(*(f"{each.service}:{each.operation}" for each in denied))
    found = everything(seen)
    prod.allow()
    naming = {of: {name for name, told in found.items() if of.action in str(told)} for of in denied}
    unnamed = [of.operation for of, names in naming.items() if not names]
    other = {name for name in found if found[name] != full[name]} ^ set().union(*naming.values())
    return f"not named: {unnamed}; not as it was: {other}" if unnamed or other else ""


@pytest.mark.long
def test_each_right_that_is_missing_is_named_and_takes_nothing_else_with_it(whole: World) -> None:
    """Several actions at a time, none of which depends on the answer of another."""
    aws = live(whole)
    seen = verify_cluster(aws, aws.access)
    full = everything(seen)
    asked = [each for each in DENIED if each is not questions.CLUSTER]
    parts = [asked[at::TOGETHER] for at in range(TOGETHER)]
    assert [found for part in parts if (found := without_rights_to(part, whole, seen, full))] == []
    whole.deny("eks:DescribeCluster")
    with pytest.raises(AwsDenied) as refused:
        verify_cluster(aws, aws.access)
    assert refused.value.missing == questions.CLUSTER.action


@pytest.mark.long
def test_lists_come_in_pages(prod: World) -> None:
    aws = live(prod)
    seen = verify_cluster(aws, aws.access)
    whole = everything(seen)
    prod.pages(1)
    prod.forget_calls()
    assert everything(seen) == whole
    versions = len(whole[questions.CLUSTER_VERSIONS])
    assert prod.count("eks:DescribeClusterVersions") == versions >= 3 and prod.count("eks:ListAddons") == 2
    assert aws.calls["eks:DescribeClusterVersions"] == 1 + versions, "a page is a call"


def test_credentials_that_are_not_accepted_end_it(prod: World) -> None:
    aws = live(prod)
    prod.expire()
    for ask in (lambda: verify_cluster(aws, aws.access), lambda: eks.addons(sees(aws, NAME))):
        with pytest.raises(AwsLogin, match="have expired"):
            ask()


def test_what_is_throttled_is_asked_again(prod: World) -> None:
    aws = live(prod, tries=3)
    prod.throttle("eks:DescribeCluster", 1)
    assert describe_cluster(aws, NAME).name == NAME
    assert aws.calls["eks:DescribeCluster"] == 2


def test_what_stays_throttled_is_unknown(prod: World) -> None:
    aws = live(prod)
    prod.throttle("eks:DescribeAddon")
    found = eks.addons(sees(aws, NAME))
    assert isinstance(found, tuple) and {type(each) for each in found} == {Unknown}
    assert "asked too often for eks:DescribeAddon" in str(found[0]) and "DescribeAddon'" not in str(found[0])
    prod.throttle("eks:DescribeCluster")
    with pytest.raises(AwsThrottled):
        describe_cluster(aws, NAME)


@pytest.mark.long
def test_lists_within_lists_send_no_more_at_once(prod: World) -> None:
    aws, lock, now, most = live(prod), threading.Lock(), 0, 0
    send = aws._send

    def counted(question: AwsOperation, parameters: dict[str, Any]) -> dict[str, Any]:
        nonlocal now, most
        with lock:
            now, most = now + 1, max(most, now + 1)
        try:
            return send(question, parameters)
        finally:
            with lock:
                now -= 1

    aws._send = counted  # type: ignore[method-assign,assignment]
    ask_concurrently(
        range(MAX_CONCURRENT_REQUESTS),
        lambda _: ask_concurrently(range(MAX_CONCURRENT_REQUESTS), lambda _: describe_cluster(aws, NAME)),
    )
    assert 1 < most <= MAX_CONCURRENT_REQUESTS


def test_clients_know_nothing_that_is_not_asked(prod: World) -> None:
    aws = live(prod)
    describe_cluster(aws, NAME)
    with pytest.raises(AttributeError):
        aws.ask(AwsOperation("eks", "DeleteCluster"), {"name": NAME})
    assert prod.count("eks:DeleteCluster") == 0


@pytest.mark.long
def test_each_right_alone_is_named_and_takes_nothing_else_with_it(whole: World) -> None:
    aws = live(whole)
    seen = verify_cluster(aws, aws.access)
    full = everything(seen)
    each_alone = [[each] for each in DENIED if each is not questions.CLUSTER]
    assert [found for part in each_alone if (found := without_rights_to(part, whole, seen, full))] == []


def test_a_connection_that_is_lost(prod: World) -> None:
    aws = live(prod)
    prod.hang_up("eks:ListAddons")
    with pytest.raises(AwsError, match=f"cannot ask eks in {REGION}"):
        eks.addons(sees(aws, NAME))
