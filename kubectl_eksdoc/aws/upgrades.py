"""AWS facts of an upgrade check: only the needed ones, with independent questions asked concurrently.

Also the versions of a node group's launch template. Source of the shapes: botocore 1.44.5, ec2/2016-11-15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.addons import Addon
from kubectl_eksdoc.model.eks import (
    MISCONFIGURATION,
    PASSING,
    READINESS,
    ROLLBACK,
    Client,
    Deprecation,
    Insight,
    InsightDetail,
    Refresh,
    TemplateVersions,
    UnfitAddon,
    UpgradeFacts,
)
from kubectl_eksdoc.model.kinds import Absent, CheckNeed, Unknown, WantedVersions
from kubectl_eksdoc.model.machines import NodeGroup, TemplateRef, TemplateVersion

from . import eks, machines
from .asking import (
    Json,
    VerifiedCluster,
    answered,
    at_once,
    found,
    moment,
    name_of,
    number,
    parts,
    text,
    texts,
    there,
    together,
)
from .ec2 import a_template_version, template_version


def template_versions(of: VerifiedCluster, ref: TemplateRef) -> TemplateVersions | Absent | Unknown:
    """The latest and the default version, and the one that `ref` names. That one is requested separately where it is
    neither of the two: EC2 refuses a complete request for one version that does not exist any more."""
    which = {"LaunchTemplateId": ref.id} if ref.id else {"LaunchTemplateName": ref.name}

    def made(said: Json) -> tuple[TemplateVersion, TemplateVersion]:
        """A single version where the newest is the default."""
        versions = [(a_template_version(each), each) for each in parts(said, "LaunchTemplateVersions")]
        latest = max((each for each, _ in versions), key=lambda each: each.number)
        default = next((each for each, one in versions if one.get("DefaultVersion") is True), latest)
        return latest, default

    told = found(of.aws, questions.TEMPLATE_VERSIONS, {**which, "Versions": ["$Latest", "$Default"]}, made)
    if isinstance(told, (Absent, Unknown)):
        return told
    latest, default = told
    known = {str(each.number): each for each in told} | {"$Latest": latest, "$Default": default}
    return TemplateVersions(latest, default, known.get(ref.version) or template_version(of, ref))


# EKS insights: all of them as a list, with details of those that do not pass. Source of the shapes: botocore 1.44.5,
# eks/2017-11-01.


Told = tuple[Insight, ...] | Unknown


def readiness(of: VerifiedCluster, versions: Sequence[str]) -> Told:
    """Insights about an upgrade to each of `versions`."""
    return _told(of, {"categories": [READINESS], "kubernetesVersions": list(versions)}) if versions else ()


def others(of: VerifiedCluster) -> Told:
    """Insights about misconfigurations and rollback, without a version filter: they may be about no version."""
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
    """A refresh that `check.read.refresh_insights` waits for."""

    def __init__(self, of: VerifiedCluster) -> None:
        self._of = of

    def begin(self) -> Refresh:
        """Start the refresh.

        Raises:
            AwsError: as `AwsClient.ask`.
        """
        return answered(self._of.aws, questions.REFRESH_INSIGHTS, self._whose, _refresh)

    def state(self) -> Refresh | Unknown:
        """The state of the refresh.

        Raises:
            AwsError: nothing can be asked any more.
        """
        return there(self._of.aws, questions.INSIGHTS_REFRESH, self._whose, _refresh)

    @property
    def _whose(self) -> Json:
        return {"clusterName": self._of.cluster.name}


def _refresh(said: Json) -> Refresh:
    return Refresh(text(said, "status"), text(said, "message"), moment(said, "endedAt"))


MOST_OF_CLUSTER, MOST_OF_GROUP = 10, 3
"""Updates that are described: of the cluster as many as a week may have, of each node group the latest few."""

_DESCRIBED = frozenset((CheckNeed.NODE_GROUPS, CheckNeed.TEMPLATES, CheckNeed.RELEASES))
_NAMED = _DESCRIBED | {CheckNeed.GROUP_UPDATES}


def upgrade_told(of: VerifiedCluster, wanted: WantedVersions) -> UpgradeFacts:
    """The facts that `wanted_versions` needs.

    Raises:
        AwsError: nothing can be asked.
    """
    needs = wanted.needs
    sources: Mapping[CheckNeed, Callable[[], dict[str, Any]]] = {
        CheckNeed.VERSIONS: lambda: {"versions": eks.cluster_versions(of)},
        CheckNeed.ADDONS: lambda: _addons(of),
        CheckNeed.INSIGHTS: lambda: together(
            {"insights": lambda: readiness(of, wanted.steps), "other_insights": lambda: others(of)}
        ),
        CheckNeed.CLUSTER_UPDATES: lambda: {"cluster_updates": eks.history(of, {}, MOST_OF_CLUSTER)},
        CheckNeed.QUOTAS: lambda: {"quotas": machines.quotas(of, wanted.at)},
    }
    asked = [make for need, make in sources.items() if need in needs]
    if needs & (_NAMED | {CheckNeed.SUBNETS}):
        asked.append(lambda: _of_groups(of, needs))
    told: dict[str, Any] = {}
    for _, each in at_once(asked, lambda make: make()):
        told |= each
    return UpgradeFacts(**told)


def nothing_told(why: Unknown) -> UpgradeFacts:
    """Facts where AWS could not be verified, all Unknown."""
    by_key = {"addon_versions", "templates", "releases"}
    names = {each.name for each in fields(UpgradeFacts)} - by_key
    return UpgradeFacts(**dict.fromkeys(names, why))  # type: ignore[arg-type]


def _addons(of: VerifiedCluster) -> dict[str, Any]:
    addons = eks.addons(of)
    names = () if isinstance(addons, Unknown) else [each.name for each in addons if isinstance(each, Addon)]
    return {"addons": addons, "addon_versions": dict(at_once(names, lambda name: eks.versions_of(of, name)))}


def _of_groups(of: VerifiedCluster, needs: frozenset[CheckNeed]) -> dict[str, Any]:
    """Node groups and their updates by name, then the answers that depend on these, and the subnets of all."""
    names = machines.names(of) if needs & _NAMED else ()
    if isinstance(names, Unknown):
        return {"node_groups": names, "group_updates": names, **together(_below(of, (), needs))}
    told = together(_named(of, names, needs))
    groups = [each for each in told.get("node_groups", {}).values() if isinstance(each, NodeGroup)]
    return {**told, **together(_below(of, groups, needs))}


Asks = dict[str, Callable[[], Any]]
"""The names of fields of `UpgradeFacts`, and the function that reads each."""


def _named(of: VerifiedCluster, names: tuple[str, ...], needs: frozenset[CheckNeed]) -> Asks:
    asks: Asks = {}
    if needs & _DESCRIBED:
        asks["node_groups"] = lambda: machines.node_groups(of, names)
    if CheckNeed.GROUP_UPDATES in needs:
        asks["group_updates"] = lambda: dict(
            at_once(names, lambda name: eks.history(of, {"nodegroupName": name}, MOST_OF_GROUP))
        )
    return asks


def _below(of: VerifiedCluster, groups: Sequence[NodeGroup], needs: frozenset[CheckNeed]) -> Asks:
    """Each question once, also where several groups share its answer."""
    asks: Asks = {}
    if CheckNeed.TEMPLATES in needs:
        own = dict.fromkeys(each.template for each in groups if each.template is not None)
        asks["templates"] = lambda: dict(at_once(own, lambda ref: template_versions(of, ref)))
    if CheckNeed.RELEASES in needs:
        kinds = dict.fromkeys((each.ami_type, each.version) for each in groups if each.ami_type != "CUSTOM")
        asks["releases"] = lambda: dict(at_once(kinds, lambda kind: eks.release(of, *kind)))
    if CheckNeed.SUBNETS in needs:
        ids = (*of.cluster.subnets, *(one for each in groups for one in each.subnets))
        asks["subnets"] = lambda: machines.subnets(of, ids)
    return asks
