"""EKS's insights: in short all of them, in full those that do not pass. Source of the shapes: botocore 1.44.5,
eks/2017-11-01."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kubectl_eksdoc.aws.asking import Json, answered, at_once, moment, name_of, number, parts, text, texts, there
from kubectl_eksdoc.aws.believing import VerifiedCluster
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws import questions
from kubectl_eksdoc.model.aws.insights import (
    MISCONFIGURATION,
    PASSING,
    READINESS,
    ROLLBACK,
    Client,
    Deprecation,
    Insight,
    InsightDetail,
    Refresh,
    UnfitAddon,
)

Told = tuple[Insight, ...] | Unknown


def readiness(of: VerifiedCluster, versions: Sequence[str]) -> Told:
    """About an upgrade to each of `versions`."""
    return _told(of, {"categories": [READINESS], "kubernetesVersions": list(versions)}) if versions else ()


def others(of: VerifiedCluster) -> Told:
    """About misconfigurations, and the way back. A filter for versions might hide them, as they are about none."""
    return _told(of, {"categories": [MISCONFIGURATION, ROLLBACK]})


def _told(of: VerifiedCluster, kept: Json) -> Told:
    def made(said: Json) -> tuple[Insight, ...]:
        return tuple(_insight(each) for each in parts(said, "insights"))

    listed = there(of.aws, questions.INSIGHTS, {"clusterName": of.cluster.name, "filter": kept}, made)
    if isinstance(listed, Unknown):
        return listed
    return tuple(told for _, told in at_once(listed, lambda each: _in_full(of, each)))


def _in_full(of: VerifiedCluster, each: Insight) -> Insight:
    if each.status == PASSING:
        return each
    wanted = {"clusterName": of.cluster.name, "id": each.id}
    return replace(each, detail=there(of.aws, questions.INSIGHT, wanted, lambda said: _detail(said["insight"])))


def _insight(said: Json) -> Insight:
    status = said.get("insightStatus") or {}
    return Insight(
        id=name_of(said, "id"),
        name=text(said, "name"),
        category=text(said, "category"),
        version=text(said, "kubernetesVersion"),
        status=text(status, "status"),
        reason=text(status, "reason"),
        refreshed=moment(said, "lastRefreshTime"),
        changed=moment(said, "lastTransitionTime"),
    )


def _detail(said: Json) -> InsightDetail:
    summary = said.get("categorySpecificSummary") or {}
    return InsightDetail(
        text(said, "recommendation"),
        tuple(_deprecation(each) for each in parts(summary, "deprecationDetails")),
        tuple(
            UnfitAddon(text(each, "name"), texts(each, "compatibleVersions"))
            for each in parts(summary, "addonCompatibilityDetails")
        ),
        tuple(
            found
            for each in parts(said, "resources")
            if (found := text(each, "kubernetesResourceUri") or text(each, "arn"))
        ),
    )


def _deprecation(said: Json) -> Deprecation:
    clients = tuple(
        Client(text(each, "userAgent"), number(each, "numberOfRequestsLast30Days"), moment(each, "lastRequestTime"))
        for each in parts(said, "clientStats")
    )
    return Deprecation(text(said, "usage"), text(said, "replacedWith"), text(said, "stopServingVersion"), clients)


class InsightRefresh:
    """A refresh that `check.read.refreshed` waits for."""

    def __init__(self, of: VerifiedCluster) -> None:
        self._of = of

    def begin(self) -> Refresh:
        """
        Raises:
            AwsError: as `Aws.ask`.
        """
        return answered(self._of.aws, questions.REFRESH_INSIGHTS, self._whose, _refresh)

    def state(self) -> Refresh | Unknown:
        """
        Raises:
            AwsError: nothing can be asked any more.
        """
        return there(self._of.aws, questions.INSIGHTS_REFRESH, self._whose, _refresh)

    @property
    def _whose(self) -> Json:
        return {"clusterName": self._of.cluster.name}


def _refresh(said: Json) -> Refresh:
    return Refresh(text(said, "status"), text(said, "message"), moment(said, "endedAt"))
