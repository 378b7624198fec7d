"""EKS's insights and its list of Kubernetes versions. Shapes as in eks_addons.py."""

from __future__ import annotations

from typing import Any

from tests.aws.world.eks_state import EksState
from tests.aws.world.paging import page
from tests.aws.world.refused import refused

Params = dict[str, Any]
_SUMMARY = (
    "id",
    "name",
    "category",
    "kubernetesVersion",
    "lastRefreshTime",
    "lastTransitionTime",
    "description",
    "insightStatus",
)
_FILTERS = {"categories": "category", "kubernetesVersions": "kubernetesVersion"}


def list_insights(eks: EksState, params: Params) -> dict[str, Any]:
    eks.cluster(params["clusterName"])
    wanted = params.get("filter", {})
    found = list(eks.insights.get(params["clusterName"], {}).values())
    for key, of in _FILTERS.items():
        found = [one for one in found if not wanted.get(key) or one.get(of) in wanted[key]]
    return page([{key: one[key] for key in _SUMMARY if key in one} for one in found], "insights", params)


def describe_insight(eks: EksState, params: Params) -> dict[str, Any]:
    eks.cluster(params["clusterName"])
    known = eks.insights.get(params["clusterName"], {})
    if params["id"] not in known:
        message = f"No insight found for id: {params['id']}"
        raise refused("ResourceNotFoundException", message, clusterName=params["clusterName"])
    return {"insight": known[params["id"]]}


def start_insights_refresh(eks: EksState, params: Params) -> dict[str, Any]:
    """Start a refresh, which has ended by the first time it is described."""
    eks.cluster(params["clusterName"])
    return {"message": "Insights refresh is in progress", "status": "IN_PROGRESS"}


def describe_insights_refresh(eks: EksState, params: Params) -> dict[str, Any]:
    eks.cluster(params["clusterName"])
    return {"message": "Insights refresh completed", "status": "COMPLETED"}


def describe_cluster_versions(eks: EksState, params: Params) -> dict[str, Any]:
    """The versions with support of any kind."""
    found = [one for one in eks.catalogue.cluster_versions() if one["versionStatus"] != "UNSUPPORTED"]
    return page(found, "clusterVersions", params)
