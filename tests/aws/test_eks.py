"""Answers of EKS become facts; a refused request leaves a fact unknown, and a missing object is absent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kubectl_eksdoc.aws import eks
from kubectl_eksdoc.aws.asking import MAX_CONCURRENT_REQUESTS, ask_concurrently, health_issues
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsMissing
from kubectl_eksdoc.model.addons import (
    Addon,
    AddonConfiguration,
    AddonVersion,
    AddonVersions,
    CompatibleVersion,
    EksAddonUpdate,
    HealthIssue,
    UpdateHistory,
)
from kubectl_eksdoc.model.eks import ClusterVersion
from kubectl_eksdoc.model.kinds import Absent, Unknown
from tests.aws import upgrade_account
from tests.aws.answers import Scripted, sees
from tests.aws.upgrade_account import account, count

NOW = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)
DENIED = AwsDenied("IAM does not allow it", missing="eks:DescribeAddon")


def test_an_addon_with_what_is_wrong_with_it() -> None:
    said = {
        "addonName": "vpc-cni",
        "addonVersion": "v1.15.1-eksbuild.1",
        "status": "DEGRADED",
        "configurationValues": '{"env": {}}',
        "serviceAccountRoleArn": "arn:r",
        "namespaceConfig": {"namespace": "kube-system"},
        "health": {"issues": [{"code": "ConfigurationConflict", "message": "no", "resourceIds": ["aws-node"]}]},
        "modifiedAt": NOW,
    }
    assert eks.addon(sees(Scripted({"eks:DescribeAddon": {"addon": said}})), "vpc-cni") == Addon(
        "vpc-cni",
        "v1.15.1-eksbuild.1",
        "DEGRADED",
        '{"env": {}}',
        "arn:r",
        "kube-system",
        (HealthIssue("ConfigurationConflict", "no", ("aws-node",)),),
        NOW,
    )


def test_all_addons_those_that_may_not_be_asked_and_those_that_have_gone() -> None:
    answers: dict[str, Any] = {
        "coredns": DENIED,
        "gone": AwsMissing("no such add-on", code="ResourceNotFoundException"),
        "vpc-cni": {"addon": {"addonName": "vpc-cni"}},
    }
    aws = Scripted(
        {
            "eks:ListAddons": {"addons": ["vpc-cni", "gone", "coredns"]},
            "eks:DescribeAddon": lambda asked: answers[asked["addonName"]],
        }
    )
    unknown = Unknown("IAM does not allow it", "eks:DescribeAddon")
    assert eks.addons(sees(aws, "shop")) == (unknown, Addon("vpc-cni", "", ""))
    assert eks.addons(sees(Scripted({"eks:ListAddons": DENIED}), "shop")) == unknown


def test_versions_and_what_they_fit() -> None:
    fits = [{"clusterVersion": "1.33", "defaultVersion": True}, {"clusterVersion": "1.32", "defaultVersion": False}]
    listed = [{"addonVersion": "v2", "compatibilities": fits, "requiresConfiguration": True}, {"addonVersion": "v1"}]
    said = {"addons": [{"addonName": "x", "type": "networking", "publisher": "eks", "addonVersions": listed}]}
    aws = Scripted({"eks:DescribeAddonVersions": said})
    newest = AddonVersion("v2", (CompatibleVersion("1.33", True), CompatibleVersion("1.32")))
    expected = (AddonVersions("x", "networking", "eks", (newest, AddonVersion("v1", ()))),)
    assert eks.addon_versions(sees(aws), "x", "1.33") == expected
    assert aws.asked == [("eks:DescribeAddonVersions", {"addonName": "x", "kubernetesVersion": "1.33"})]
    eks.addon_versions(sees(aws))
    assert aws.asked[-1][1] == {}, "what is not asked for is not sent"
    assert newest.is_default_for("1.33") and not newest.is_default_for("1.32")


def test_updates_come_the_latest_first_and_unknown_ones_last() -> None:
    times = {"a": NOW.replace(day=1), "b": NOW, "c": None}

    def update(asked: dict[str, Any]) -> Any:
        name = asked["updateId"]
        if name == "d":
            return DENIED
        params = [{"type": "ResolveConflicts", "value": "OVERWRITE"}]
        errors = [{"errorCode": "ConfigurationConflict", "errorMessage": "no"}]
        more = {"params": params, "errors": errors} if name == "b" else {}
        return {"update": {"id": name, "type": "AddonUpdate", "status": "Failed", "createdAt": times[name], **more}}

    aws = Scripted({"eks:ListUpdates": {"updateIds": ["d", "a", "b", "c"]}, "eks:DescribeUpdate": update})
    history = eks.updates_of_addon(sees(aws, "shop"), "vpc-cni")
    assert isinstance(history, UpdateHistory) and not history.unseen
    found = history.updates
    assert isinstance(found[-1], Unknown)
    latest = found[0]
    assert isinstance(latest, EksAddonUpdate) and latest.errors == (HealthIssue("ConfigurationConflict", "no"),)
    assert [each.id for each in found[:-1] if isinstance(each, EksAddonUpdate)] == ["b", "a", "c"]
    assert latest.parameter("ResolveConflicts") == "OVERWRITE" and latest.parameter("AddonVersion") == ""


@pytest.mark.parametrize(
    ("answer", "schema"),
    [
        ({"configurationSchema": '{"type": "object"}'}, {"type": "object"}),
        ({}, Unknown("EKS publishes no configuration schema for x v1")),
        ({"configurationSchema": ""}, Unknown("EKS publishes no configuration schema for x v1")),
        ({"configurationSchema": "[]"}, Unknown("the configuration schema cannot be read: it is no object but a list")),
    ],
)
def test_a_schema_that_is_none_is_unknown(answer: dict[str, str], schema: object) -> None:
    aws = sees(Scripted({"eks:DescribeAddonConfiguration": answer}))
    found = eks.addon_configuration(aws, "x", "v1")
    assert isinstance(found, AddonConfiguration) and found.schema == schema


def test_versions_that_eks_supports() -> None:
    said = [{"clusterVersion": "1.33", "versionStatus": "STANDARD_SUPPORT", "endOfStandardSupportDate": NOW}]
    said.append({"clusterVersion": "1.29", "status": "extended-support"})  # the older field, and its spelling
    assert eks.cluster_versions(sees(Scripted({"eks:DescribeClusterVersions": {"clusterVersions": said}}))) == (
        ClusterVersion("1.33", "STANDARD_SUPPORT", False, standard_ends=NOW),
        ClusterVersion("1.29", "EXTENDED_SUPPORT", False),
    )


def test_no_more_than_so_many_are_under_way() -> None:
    import threading

    lock, now, most = threading.Lock(), 0, 0
    full = threading.Barrier(MAX_CONCURRENT_REQUESTS, timeout=10)

    def ask(number: int) -> int:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        full.wait()  # it goes on only when as many are under way at once as may be
        with lock:
            now -= 1
        return number * 2

    numbers = range(3 * MAX_CONCURRENT_REQUESTS)
    assert (
        ask_concurrently(numbers, ask) == [(number, number * 2) for number in numbers]
        and most == MAX_CONCURRENT_REQUESTS
    )


def test_the_first_that_fails_is_told() -> None:
    def ask(number: int) -> int:
        if number:
            raise AwsError(f"no {number}")
        return number

    with pytest.raises(AwsError, match="no 1"):
        ask_concurrently((0, 1, 2, 3), ask)


def test_what_an_issue_says_has_no_secret() -> None:
    message = "env[0].value: Invalid value: token=EXAMPLE, see https://h/a?X-Amz-Signature=EXAMPLE"
    told = {"id": "u", "errors": [{"errorCode": "AdmissionRequestDenied", "errorMessage": message}]}
    (of_update,) = eks.parse_update({"update": told}).errors
    (of_health,) = health_issues({"health": {"issues": [{"code": "a", "message": message}]}})
    for each in (of_update, of_health):
        assert "EXAMPLE" not in each.message and "Invalid value" in each.message


DAY = datetime(2026, 11, 1, tzinfo=timezone.utc)


def history(ids: list[int], begun: Callable[[int], Any]) -> tuple[UpdateHistory, int]:
    """The history of updates that EKS lists in that order, and how many of them were described."""

    def described(asked: dict[str, Any]) -> Any:
        id = asked["updateId"]
        return {"update": {"id": id, "type": "VersionUpdate", "status": "Successful", "createdAt": begun(int(id))}}

    aws = account(ListUpdates={"updateIds": [str(each) for each in ids]}, DescribeUpdate=described)
    found = eks.updates(upgrade_account.sees(aws), {}, 3)
    assert not isinstance(found, (Unknown, Absent))
    return found, count(aws)["eks:DescribeUpdate"]


def days(id: int) -> datetime:
    return DAY + timedelta(days=id)


def named(of: UpdateHistory) -> list[str]:
    return [each.id for each in of.updates if isinstance(each, EksAddonUpdate)]


def test_of_those_that_come_newest_first_the_first_are_described() -> None:
    found, asked = history([9, 8, 7, 6, 5], days)
    assert (named(found), found.unseen, asked) == (["9", "8", "7"], 2, 3)


@pytest.mark.parametrize("ids", [[5, 6, 7, 8, 9], [7, 5, 9, 6, 8]])
def test_where_they_come_in_another_order_the_latest_is_found_all_the_same(ids: list[int]) -> None:
    found, asked = history(ids, days)
    assert (named(found), found.unseen, asked) == (["9", "8", "7", "6", "5"], 0, 5)


def test_that_has_an_end() -> None:
    found, asked = history(list(range(1, 100)), days)
    assert (found.unseen, asked) == (99 - eks.MAX_SEARCHED_UPDATES, eks.MAX_SEARCHED_UPDATES)


def test_those_that_do_not_say_when_they_began_tell_no_order() -> None:
    found, asked = history([5, 6, 7, 8], lambda _: None)
    assert (found.unseen, asked) == (1, 3)
