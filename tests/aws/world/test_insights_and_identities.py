"""Insights, Kubernetes versions and pod identities of the tests' EKS, asked by the official client."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.aws.world.server import World

ROLE = "arn:aws:iam::111122223333:role/pods"
READINESS = {
    "name": "Deprecated APIs removed in Kubernetes v1.25",
    "category": "UPGRADE_READINESS",
    "kubernetesVersion": "1.25",
    "description": "Checks for usage of deprecated APIs",
    "insightStatus": {"status": "ERROR", "reason": "Deprecated API usage detected within last 30 days."},
    "recommendation": "Update manifests",
    "resources": [{"kubernetesResourceUri": "/apis/policy/v1beta1/podsecuritypolicies/null"}],
    "categorySpecificSummary": {
        "deprecationDetails": [
            {
                "usage": "/apis/policy/v1beta1/podsecuritypolicies",
                "stopServingVersion": "1.25",
                "clientStats": [
                    {
                        "userAgent": "helm",
                        "numberOfRequestsLast30Days": 3,
                        "lastRequestTime": datetime(2026, 11, 1, tzinfo=timezone.utc),
                    }
                ],
            }
        ]
    },
}
HEALTH = {"name": "Cluster health issues", "category": "MISCONFIGURATION", "insightStatus": {"status": "PASSING"}}


def test_insights_are_listed_by_what_is_asked_for(aws: World, eks: Any) -> None:
    ready, health = aws.eks().found("prod", READINESS), aws.eks().found("prod", HEALTH)

    def ids(**wanted: list[str]) -> list[str]:
        return [one["id"] for one in eks.list_insights(clusterName="prod", filter=wanted)["insights"]]

    assert ids() == [ready, health]
    assert ids(categories=["UPGRADE_READINESS"]) == ids(kubernetesVersions=["1.25"]) == ids(statuses=["ERROR"])
    assert ids(statuses=["ERROR", "PASSING"], categories=["MISCONFIGURATION"]) == [health]
    assert ids(kubernetesVersions=["1.26"]) == []
    listed = eks.list_insights(clusterName="prod")["insights"][0]
    assert "recommendation" not in listed
    assert listed["lastRefreshTime"].tzinfo is not None


def test_an_insight_is_described_whole(aws: World, eks: Any) -> None:
    insight = eks.describe_insight(clusterName="prod", id=aws.eks().found("prod", READINESS))["insight"]
    assert {key: insight[key] for key in READINESS} == READINESS
    with pytest.raises(eks.exceptions.ResourceNotFoundException, match="No insight found"):
        eks.describe_insight(clusterName="prod", id="0")
    with pytest.raises(eks.exceptions.ResourceNotFoundException, match="No cluster found"):
        eks.list_insights(clusterName="other")


def versions(answer: dict[str, Any]) -> list[str]:
    return [one["clusterVersion"] for one in answer["clusterVersions"]]


def test_kubernetes_versions_have_the_support_of_today(aws: World, eks: Any) -> None:
    aws.eks().catalogue.today = date(2026, 11, 20)
    told = eks.describe_cluster_versions()
    assert versions(told) == ["1.36", "1.35", "1.34", "1.33", "1.32", "1.31"]
    by_version = {one["clusterVersion"]: one for one in told["clusterVersions"]}
    assert [by_version[v]["versionStatus"] for v in ("1.34", "1.33")] == ["STANDARD_SUPPORT", "EXTENDED_SUPPORT"]
    assert by_version["1.34"]["endOfStandardSupportDate"] == datetime(2026, 12, 2, tzinfo=timezone.utc)
    assert versions(eks.describe_cluster_versions(includeAll=True))[-1] == "1.21"
    assert versions(eks.describe_cluster_versions(defaultOnly=True)) == ["1.36"]
    assert versions(eks.describe_cluster_versions(clusterVersions=["1.24", "1.33"])) == ["1.33", "1.24"]
    assert versions(eks.describe_cluster_versions(versionStatus="EXTENDED_SUPPORT")) == ["1.33", "1.32", "1.31"]
    aws.eks().catalogue.today = date(2026, 11, 26)
    assert versions(eks.describe_cluster_versions(versionStatus="EXTENDED_SUPPORT")) == ["1.33", "1.32"]


def test_an_identity_is_made_found_changed_and_deleted(eks: Any) -> None:
    made = eks.create_pod_identity_association(
        clusterName="prod", namespace="kube-system", serviceAccount="karpenter", roleArn=ROLE, tags={"a": "b"}
    )["association"]
    assert made["associationArn"].startswith("arn:aws:eks:ap-northeast-2:111122223333:podidentityassociation/prod/a-")
    one = {"clusterName": "prod", "associationId": made["associationId"]}
    assert eks.describe_pod_identity_association(**one)["association"] == made

    for asked, found in (
        ({}, 1),
        ({"namespace": "kube-system"}, 1),
        ({"serviceAccount": "karpenter"}, 1),
        ({"namespace": "default"}, 0),
    ):
        listed = eks.list_pod_identity_associations(clusterName="prod", **asked)["associations"]
        assert len(listed) == found
        assert all("roleArn" not in summary for summary in listed)

    eks.update_pod_identity_association(**one, roleArn=f"{ROLE}-2")
    assert eks.describe_pod_identity_association(**one)["association"]["roleArn"] == f"{ROLE}-2"
    eks.delete_pod_identity_association(**one)
    for call in (eks.describe_pod_identity_association, eks.delete_pod_identity_association):
        with pytest.raises(eks.exceptions.ResourceNotFoundException, match="does not exist"):
            call(**one)


def test_a_service_account_has_one_identity(eks: Any) -> None:
    asked = {"clusterName": "prod", "namespace": "default", "serviceAccount": "app", "roleArn": ROLE}
    known = eks.create_pod_identity_association(**asked)["association"]["associationId"]
    with pytest.raises(eks.exceptions.ResourceInUseException, match=f"Association already exists: {known}"):
        eks.create_pod_identity_association(**asked)
