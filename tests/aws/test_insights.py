"""Insights become facts, whatever EKS or an edited snapshot contains, and a refresh can be requested."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.aws import eks, machines, upgrades
from kubectl_eksdoc.aws.upgrades import InsightRefresh
from kubectl_eksdoc.errors import AwsDenied, AwsThrottled
from kubectl_eksdoc.model.eks import (
    ApiClient,
    ApiDeprecation,
    IncompatibleAddon,
    Insight,
    InsightDetail,
    InsightsRefresh,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import TemplateRef
from tests.aws.answers import Scripted
from tests.aws.near_documents import SCALARS
from tests.aws.upgrade_account import NOW, a_group, account, an_insight, sees
from tests.examples import examples

FULL = {
    **an_insight(),
    "recommendation": "upgrade them",
    "resources": [{"kubernetesResourceUri": "nodes/a"}, {"arn": "arn:x"}, {}],
    "categorySpecificSummary": {
        "deprecationDetails": [
            {
                "usage": "/apis/x/v1beta1/y",
                "replacedWith": "/apis/x/v1/y",
                "stopServingVersion": "1.34",
                "clientStats": [
                    {"userAgent": "curl", "numberOfRequestsLast30Days": 3, "lastRequestTime": NOW - timedelta(days=2)}
                ],
            }
        ],
        "addonCompatibilityDetails": [{"name": "coredns", "compatibleVersions": ["v1.12"]}],
    },
}


def test_one_in_full() -> None:
    (told,) = upgrades.readiness_insights(sees(account(DescribeInsight={"insight": FULL})), ["1.34"])  # type: ignore[misc]
    assert told == Insight(
        "1",
        "Kubelet version skew",
        "UPGRADE_READINESS",
        "1.34",
        "WARNING",
        "they differ",
        NOW - timedelta(hours=5),
        NOW - timedelta(days=3),
        InsightDetail(
            "upgrade them",
            (
                ApiDeprecation(
                    "/apis/x/v1beta1/y", "/apis/x/v1/y", "1.34", (ApiClient("curl", 3, NOW - timedelta(days=2)),)
                ),
            ),
            (IncompatibleAddon("coredns", ("v1.12",)),),
            ("nodes/a", "arn:x"),
        ),
    )


def test_what_passes_is_not_asked_for_in_full() -> None:
    aws = account(ListInsights={"insights": [an_insight(insightStatus={"status": "PASSING"})]})
    (told,) = upgrades.readiness_insights(sees(aws), ["1.34"])  # type: ignore[misc]
    assert isinstance(told, Insight) and told.detail is None
    assert {name for name, _ in aws.asked} == {"eks:ListInsights"}


def test_one_list_that_may_not_be_had_leaves_the_other() -> None:
    def answer(asked: dict[str, Any]) -> Any:
        if "kubernetesVersions" in asked["filter"]:
            return {"insights": [an_insight()]}
        return AwsThrottled("asked too often")

    of = sees(account(ListInsights=answer))
    assert upgrades.other_insights(of) == Unknown("asked too often")
    assert len(upgrades.readiness_insights(of, ["1.34"])) == 1  # type: ignore[arg-type]
    denied = sees(account(ListInsights=AwsDenied("no", missing="eks:ListInsights")))
    assert (
        upgrades.readiness_insights(denied, ["1.34"])
        == Unknown("no", "eks:ListInsights")
        == upgrades.other_insights(denied)
    )
    assert upgrades.readiness_insights(denied, []) == ()


def test_a_refresh() -> None:
    said = {"message": "on it", "status": "IN_PROGRESS"}
    aws = Scripted({"eks:StartInsightsRefresh": said, "eks:DescribeInsightsRefresh": {**said, "status": "COMPLETED"}})
    of = InsightRefresh(sees(aws))
    assert of.begin() == InsightsRefresh("IN_PROGRESS", "on it") and of.state() == InsightsRefresh("COMPLETED", "on it")
    assert [params for _, params in aws.asked] == [{"clusterName": "demo-shop"}] * 2
    aws.answers["eks:DescribeInsightsRefresh"] = AwsDenied("no", missing="eks:DescribeInsightsRefresh")
    assert of.state() == Unknown("no", "eks:DescribeInsightsRefresh")
    aws.answers["eks:StartInsightsRefresh"] = AwsDenied("no", missing="eks:StartInsightsRefresh")
    with pytest.raises(AwsDenied):
        of.begin()


ASKED: dict[str, Any] = {
    "filter": {"categories": ["UPGRADE_READINESS"]},
    "Versions": ["3"],
    "Filters": [{"Values": ["subnet-a"]}],
    "ServiceCode": "ec2",
    "QuotaCode": "L-1",
    "MetricDataQueries": [{"Id": "m0"}, {"Id": "m1"}],
}
ISSUES = [{"code": "x", "resourceIds": ["y"]}]
ANSWERS = {
    name: answer(ASKED) if callable(answer) else answer
    for name, answer in account(
        DescribeInsight={"insight": FULL},
        DescribeNodegroup={"nodegroup": a_group("blue", health={"issues": ISSUES})},
        DescribeUpdate={"update": {"id": "1", "type": "x", "createdAt": NOW, "errors": [{"errorCode": "x"}]}},
        ListUpdates={"updateIds": ["1", "2"]},
    ).answers.items()
} | {"eks:DescribeInsightsRefresh": {"status": "COMPLETED", "endedAt": NOW}}


@st.composite
def spoiled(draw: st.DrawFn, document: Any) -> Any:
    """`document` with missing values or values of a wrong type in some places."""
    if draw(st.integers(0, 9)) == 0:
        return draw(SCALARS | st.just([]) | st.just({}) | st.just([None]))
    if isinstance(document, dict):
        kept = {key: each for key, each in document.items() if draw(st.integers(0, 9))}
        return {key: draw(spoiled(each)) for key, each in kept.items()}
    if isinstance(document, list):
        return [draw(spoiled(each)) for each in document]
    return document


@settings(max_examples=examples(300))
@given(st.data())
def test_whatever_is_answered_is_a_fact_or_unknown(data: st.DataObject) -> None:
    of = sees(Scripted({name: data.draw(spoiled(answer)) for name, answer in ANSWERS.items()}))
    assert isinstance(upgrades.readiness_insights(of, ["1.34"]), (tuple, Unknown))
    assert isinstance(upgrades.other_insights(of), (tuple, Unknown))
    assert isinstance(machines.node_group_names(of), (tuple, Unknown))
    assert machines.node_group(of, "blue") is not None
    eks.updates(of, {"nodegroupName": "blue"}, 3)
    assert not isinstance(upgrades.template_versions(of, TemplateRef("lt-1", "", "3")), Absent)
    assert set(machines.subnets(of, ["subnet-a"])) == {"subnet-a"}
    assert len(machines.quotas(of, NOW)) == 4
    assert isinstance(InsightRefresh(of).state(), (InsightsRefresh, Unknown))


def test_one_that_may_not_be_described_is_there_all_the_same() -> None:
    aws = account(DescribeInsight=AwsDenied("no", missing="eks:DescribeInsight"))
    (told,) = upgrades.readiness_insights(sees(aws), ["1.34"])  # type: ignore[misc]
    assert isinstance(told, Insight) and told.detail == Unknown("no", "eks:DescribeInsight")
