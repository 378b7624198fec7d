"""The requests to AWS for an upgrade: no more than needed, sent together, and a failed one does not affect another."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.aws.upgrades import (
    MAX_CLUSTER_UPDATES,
    MAX_GROUP_UPDATES,
    read_upgrade_facts,
    unknown_upgrade_facts,
)
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsMissing, AwsThrottled
from kubectl_eksdoc.model.addons import UpdateHistory
from kubectl_eksdoc.model.eks import TemplateVersions, UpgradeFacts
from kubectl_eksdoc.model.kinds import NOT_REQUESTED, Absent, CheckNeed, Unknown
from kubectl_eksdoc.model.machines import NodeGroup, Quota, TemplateRef, TemplateVersion
from tests.aws.upgrade_account import ALL_QUOTAS, WHOSE, a_group, account, cluster, count, sees, wanted
from tests.examples import one_in

EVERYTHING = tuple(WHOSE)


@pytest.mark.parametrize("need", WHOSE, ids=lambda each: each.name)
def test_a_need_alone_asks_its_own_questions_only(need: CheckNeed) -> None:
    aws = account()
    told = read_upgrade_facts(sees(aws), wanted(need))
    assert set(count(aws)) == WHOSE[need]
    of = {each.name for each in fields(told) if getattr(told, each.name) not in (NOT_REQUESTED, {})}
    assert of, "something is told"


def test_no_need_asks_nothing() -> None:
    aws = account()
    assert read_upgrade_facts(sees(aws), wanted()) == UpgradeFacts() and not aws.asked


def test_thirty_groups_are_asked_for_in_bounded_calls() -> None:
    aws = account(30)
    told = read_upgrade_facts(sees(aws), wanted(*EVERYTHING))
    assert isinstance(told.node_groups, dict) and len(told.node_groups) == 30
    once = dict.fromkeys(QUESTIONS, 1)
    assert count(aws) == once | {
        "ec2:DescribeLaunchTemplateVersions": 2 * 30,  # each has one of its own, and uses an old version of it
        "eks:DescribeNodegroup": 30,
        "eks:DescribeUpdate": MAX_CLUSTER_UPDATES + 30 * MAX_GROUP_UPDATES,
        "eks:ListInsights": 2,
        "eks:ListUpdates": 31,
        "service-quotas:GetServiceQuota": 4,
    }


def test_all_of_it_as_facts() -> None:
    aws = account()
    told = read_upgrade_facts(sees(aws), wanted(*EVERYTHING))
    assert isinstance(told.node_groups, dict)
    group = told.node_groups["g00"]
    assert isinstance(group, NodeGroup)
    assert (group.size, group.least, group.most, group.capacity) == (4, 1, 9, "ON_DEMAND")
    assert (group.strategy, group.instance_types) == ("DEFAULT", ("m6i.xlarge",))
    assert group.subnets == ("subnet-a", "subnet-b")
    assert told.releases == {("AL2023_x86_64_STANDARD", "1.33"): "1.33.5-20251106"}
    ref = TemplateRef("lt-g00", "g00", "5")
    versions = told.templates[ref]
    assert isinstance(versions, TemplateVersions) and isinstance(versions.used, TemplateVersion)
    assert (versions.latest.number, versions.default.number, versions.used.number) == (7, 6, 5)
    assert isinstance(told.subnets, dict) and {each.free for each in told.subnets.values()} == {500}  # type: ignore[union-attr]
    assert isinstance(told.quotas, dict) and set(told.quotas) == ALL_QUOTAS
    vcpus, disks = told.quotas["L-1216C47A"], told.quotas["L-7A658B76"]
    assert isinstance(vcpus, Quota) and (vcpus.value, vcpus.used) == (256.0, 72.0)
    assert isinstance(disks, Quota) and disks.used == Unknown("nothing counts it")
    assert isinstance(told.cluster_updates, UpdateHistory) and told.cluster_updates.unseen == 2
    (asked,) = [params for name, params in aws.asked if name == "cloudwatch:GetMetricData"]
    hours = [datetime(2026, 11, 20, hour, tzinfo=timezone.utc) for hour in (7, 9)]
    assert [asked["StartTime"], asked["EndTime"]] == hours, "whole ones"


def test_without_a_way_nothing_is_asked_about_versions() -> None:
    aws = account()
    told = read_upgrade_facts(sees(aws), wanted(CheckNeed.INSIGHTS, steps=()))
    assert told.insights == () == told.other_insights
    assert [params["filter"] for _, params in aws.asked] == [{"categories": ["MISCONFIGURATION", "ROLLBACK_READINESS"]}]


QUESTIONS = sorted(set().union(*WHOSE.values()))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("refusal", one_in(4, ["denied", "throttled", "garbled", "missing"]))
def test_one_question_that_is_not_answered_takes_nothing_else_with_it(question: str, refusal: str) -> None:
    action = question.replace("service-quotas:", "servicequotas:")
    answers: dict[str, Any] = {
        "denied": AwsDenied(f"IAM does not allow {action}", missing=action),
        "throttled": AwsThrottled("asked too often"),
        "garbled": {"no": "such thing", "Quota": [], "insight": 7, "update": 1, "nodegroup": 3, "addon": []},
        "missing": AwsMissing("there is none", code="ResourceNotFoundException"),
    }
    aws = account(2)
    whole = read_upgrade_facts(sees(aws), wanted(*EVERYTHING))
    aws.answers[question] = answers[refusal]
    if refusal == "missing" and question in ("eks:ListAddons", "eks:DescribeClusterVersions"):
        with pytest.raises(AwsMissing):
            read_upgrade_facts(sees(aws), wanted(*EVERYTHING))
        return
    told = read_upgrade_facts(sees(aws), wanted(*EVERYTHING))
    differing = {each.name for each in fields(told) if getattr(told, each.name) != getattr(whole, each.name)}
    assert differing <= RESTS_ON[question]
    if refusal == "denied":
        assert differing and action in repr([getattr(told, name) for name in differing])


RESTS_ON = {
    "cloudwatch:GetMetricData": {"quotas"},
    "ec2:DescribeLaunchTemplateVersions": {"templates"},
    "ec2:DescribeSubnets": {"subnets"},
    "eks:DescribeAddon": {"addons", "addon_versions"},
    "eks:DescribeAddonVersions": {"addon_versions"},
    "eks:DescribeClusterVersions": {"versions"},
    "eks:DescribeInsight": {"insights", "other_insights"},
    "eks:DescribeNodegroup": {"node_groups", "templates", "releases", "subnets"},
    "eks:DescribeUpdate": {"cluster_updates", "group_updates"},
    "eks:ListAddons": {"addons", "addon_versions"},
    "eks:ListInsights": {"insights", "other_insights"},
    "eks:ListNodegroups": {"node_groups", "group_updates", "templates", "releases", "subnets"},
    "eks:ListUpdates": {"cluster_updates", "group_updates"},
    "service-quotas:GetServiceQuota": {"quotas"},
    "ssm:GetParameter": {"releases"},
}


def test_what_ends_everything_is_raised() -> None:
    with pytest.raises(AwsError, match="no network"):
        read_upgrade_facts(sees(account(ListInsights=AwsError("no network"))), wanted(*EVERYTHING))


def test_where_aws_is_not_believed_all_is_unknown_and_why() -> None:
    why = Unknown("it is another account", "eks:DescribeCluster")
    told = unknown_upgrade_facts(why)
    mappings = {"addon_versions", "templates", "releases"}
    assert {each.name for each in fields(told) if getattr(told, each.name) != why} == mappings


def test_a_release_that_is_not_published_is_absent_and_windows_has_none() -> None:
    gone = AwsMissing("ParameterNotFound", code="ParameterNotFound")
    told = read_upgrade_facts(sees(account(GetParameter=gone)), wanted(CheckNeed.RELEASES))
    (only,) = told.releases.values()
    assert isinstance(only, Absent) and "amazon-linux-2023/x86_64/standard" in only.said
    windows = account(DescribeNodegroup={"nodegroup": a_group("w", amiType="WINDOWS_CORE_2022_x86_64")})
    told = read_upgrade_facts(sees(windows), wanted(CheckNeed.RELEASES))
    assert "ssm:GetParameter" not in count(windows)
    assert [type(each) for each in told.releases.values()] == [Unknown]
    custom = account(DescribeNodegroup={"nodegroup": a_group("c", amiType="CUSTOM")})
    assert not read_upgrade_facts(sees(custom), wanted(CheckNeed.RELEASES)).releases


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("AL2_x86_64", "/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/release_version"),
        (
            "BOTTLEROCKET_x86_64_NVIDIA_FIPS",
            "/aws/service/bottlerocket/aws-k8s-1.33-nvidia-fips/x86_64/latest/image_version",
        ),
        ("BOTTLEROCKET_x86_64_NEW", ""),
    ],
)
def test_names_of_public_parameters(kind: str, name: str) -> None:
    from kubectl_eksdoc.aws.eks import ami_parameter

    assert ami_parameter(kind, "1.33") == name


def test_health_and_subnets_of_the_cluster() -> None:
    issues = [{"code": "Ec2SubnetNotFound", "message": "gone", "resourceIds": ["subnet-1"]}]
    found = cluster(health={"issues": issues})
    assert [each.code for each in found.issues] == ["Ec2SubnetNotFound"] and found.subnets == ("subnet-a", "subnet-b")
    assert cluster(health=None).issues == ()
