"""Policies of IAM: each action is limited to the resources that the service authorization reference allows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubectl_eksdoc.amazon.iam import RESOURCES_BY_ACTION, ClusterArnParts, resource_arns, resource_types
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.permissions.grants import MAX_POLICY_SIZE, policies, policy_size

HELD = json.loads((Path(__file__).parents[1] / "data" / "iam" / "resource-types.json").read_text(encoding="utf-8"))
ACTIONS = sorted({action for each in questions.ALL for action in each.actions})
SHOP = ClusterArnParts("eu-west-1", "111122223333", "shop")
LEFT_OUT = {
    "eks:DescribeUpdate": {"capability"},
    "eks:ListUpdates": {"capability"},
    "eks:UpdateAddon": {"podidentityassociation"},
    "iam:GenerateServiceLastAccessedDetails": {"group", "policy", "user"},
    "servicequotas:GetServiceQuota": {"quota"},
}
"""Types of resources that the tool does not ask about, and quotas, which `*` alone is sure to allow."""


@pytest.mark.parametrize("action", ACTIONS)
def test_types_are_those_of_the_reference(action: str) -> None:
    service = action.partition(":")[0]
    held = {"rule" if each.startswith("rule-on-") else each for each in HELD["types"][action]}
    assert set(resource_types(action)) == {f"{service}:{each}" for each in held - LEFT_OUT.get(action, set())}


def test_arns_are_of_the_form_that_the_reference_gives() -> None:
    for action in RESOURCES_BY_ACTION:
        for arn in resource_arns(action, SHOP):
            service, region, account = arn.split(":")[2:5]
            form = next(each for name, each in HELD["arns"].items() if name.startswith(f"{service}:"))
            assert bool(region) == bool(form.split(":")[3]), arn
            assert account in ("111122223333", "aws") or (service, account) == ("ssm", ""), arn


def test_a_known_cluster_limits_and_without_a_region_nothing_does() -> None:
    assert resource_arns("eks:DescribeCluster", SHOP) == ("arn:aws:eks:eu-west-1:111122223333:cluster/shop",)
    assert resource_arns("eks:DescribeAddon", ClusterArnParts("cn-north-1")) == (
        "arn:aws-cn:eks:cn-north-1:*:addon/*/*",
    )
    assert resource_arns("eks:DescribeCluster", ClusterArnParts("", "111122223333", "shop")) == ("*",)
    assert resource_arns("ec2:DescribeInstances", SHOP) == ("*",)


def test_every_action_is_allowed_once_and_what_cannot_be_limited_comes_last() -> None:
    (policy,) = policies(ACTIONS, SHOP)
    allowed = [action for each in policy["Statement"] for action in each["Action"]]
    assert sorted(allowed) == ACTIONS
    assert [each["Resource"] for each in policy["Statement"]].count("*") == 1
    assert policy["Statement"][-1]["Resource"] == "*"
    names = [each["Sid"] for each in policy["Statement"]]
    assert len(set(names)) == len(names) and all(name.isalnum() for name in names)


def test_its_size_is_that_of_json_without_white_space_and_all_commands_fit() -> None:
    (policy,) = policies(ACTIONS, ClusterArnParts("ap-northeast-2", "1" * 12, "c" * 100))
    assert policy_size(policy) == len(json.dumps(policy, separators=(",", ":"))) <= MAX_POLICY_SIZE


@pytest.mark.parametrize("longest", [600, 900, 2000])
def test_what_is_too_long_comes_in_parts(longest: int) -> None:
    parts = policies(ACTIONS, SHOP, longest)
    assert len(parts) > 1 and max(map(policy_size, parts)) <= longest
    assert sorted(action for part in parts for each in part["Statement"] for action in each["Action"]) == ACTIONS


def test_what_is_just_short_enough_stays_whole() -> None:
    (whole,) = policies(("ec2:DescribeInstances", "ec2:DescribeSubnets"), SHOP)
    assert policies(whole["Statement"][0]["Action"], SHOP, policy_size(whole)) == (whole,)


def test_no_actions_are_no_policy() -> None:
    assert policies((), SHOP) == ()
