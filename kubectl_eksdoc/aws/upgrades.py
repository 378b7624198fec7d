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
    ApiClient,
    ApiDeprecation,
    IncompatibleAddon,
    Insight,
    InsightDetail,
    InsightsRefresh,
    TemplateVersions,
    UpgradeFacts,
)
from kubectl_eksdoc.model.kinds import Absent, CheckNeed, Unknown, UpgradeQuery
from kubectl_eksdoc.model.machines import NodeGroup, TemplateRef, TemplateVersion

from . import eks, machines
from .asking import (
    Json,
    VerifiedCluster,
    ask_all,
    ask_and_parse,
    ask_concurrently,
    ask_existing,
    ask_or_absent,
    int_field,
    required_text,
    struct_list_field,
    text_field,
    text_list_field,
    time_field,
)
from .ec2 import parse_template_version, template_version


def template_versions(verified: VerifiedCluster, ref: TemplateRef) -> TemplateVersions | Absent | Unknown:
    """The latest and the default version, and the one that `ref` names. That one is requested separately where it is
    neither of the two: EC2 refuses a complete request for one version that does not exist any more."""
    template_id = {"LaunchTemplateId": ref.id} if ref.id else {"LaunchTemplateName": ref.name}

    def parse(response: Json) -> tuple[TemplateVersion, TemplateVersion]:
        """A single version where the newest is the default."""
        versions = [
            (parse_template_version(each), each) for each in struct_list_field(response, "LaunchTemplateVersions")
        ]
        latest = max((each for each, _ in versions), key=lambda each: each.number)
        default = next((each for each, one in versions if one.get("DefaultVersion") is True), latest)
        return latest, default

    answer = ask_or_absent(
        verified.aws, questions.TEMPLATE_VERSIONS, {**template_id, "Versions": ["$Latest", "$Default"]}, parse
    )
    if isinstance(answer, (Absent, Unknown)):
        return answer
    latest, default = answer
    by_name = {str(each.number): each for each in answer} | {"$Latest": latest, "$Default": default}
    return TemplateVersions(latest, default, by_name.get(ref.version) or template_version(verified, ref))


# EKS insights: all of them as a list, with details of those that do not pass. Source of the shapes: botocore 1.44.5,
# eks/2017-11-01.


InsightsOrUnknown = tuple[Insight, ...] | Unknown


def readiness_insights(verified: VerifiedCluster, versions: Sequence[str]) -> InsightsOrUnknown:
    """Insights about an upgrade to each of `versions`."""
    return (
        _read_insights(verified, {"categories": [READINESS], "kubernetesVersions": list(versions)}) if versions else ()
    )


def other_insights(verified: VerifiedCluster) -> InsightsOrUnknown:
    """Insights about misconfigurations and rollback, without a version filter: they may be about no version."""
    return _read_insights(verified, {"categories": [MISCONFIGURATION, ROLLBACK]})


def _read_insights(verified: VerifiedCluster, insight_filter: Json) -> InsightsOrUnknown:
    def parse(response: Json) -> tuple[Insight, ...]:
        return tuple(_parse_insight(each) for each in struct_list_field(response, "insights"))

    insights = ask_existing(
        verified.aws, questions.INSIGHTS, {"clusterName": verified.cluster.name, "filter": insight_filter}, parse
    )
    if isinstance(insights, Unknown):
        return insights
    return tuple(told for _, told in ask_concurrently(insights, lambda each: _with_detail(verified, each)))


def _with_detail(verified: VerifiedCluster, insight: Insight) -> Insight:
    if insight.status == PASSING:
        return insight
    parameters = {"clusterName": verified.cluster.name, "id": insight.id}
    return replace(
        insight,
        detail=ask_existing(verified.aws, questions.INSIGHT, parameters, lambda said: _parse_detail(said["insight"])),
    )


def _parse_insight(document: Json) -> Insight:
    status = document.get("insightStatus") or {}
    return Insight(
        id=required_text(document, "id"),
        name=text_field(document, "name"),
        category=text_field(document, "category"),
        version=text_field(document, "kubernetesVersion"),
        status=text_field(status, "status"),
        reason=text_field(status, "reason"),
        refreshed=time_field(document, "lastRefreshTime"),
        changed=time_field(document, "lastTransitionTime"),
    )


def _parse_detail(document: Json) -> InsightDetail:
    summary = document.get("categorySpecificSummary") or {}
    return InsightDetail(
        text_field(document, "recommendation"),
        tuple(_parse_deprecation(each) for each in struct_list_field(summary, "deprecationDetails")),
        tuple(
            IncompatibleAddon(text_field(each, "name"), text_list_field(each, "compatibleVersions"))
            for each in struct_list_field(summary, "addonCompatibilityDetails")
        ),
        tuple(
            found
            for each in struct_list_field(document, "resources")
            if (found := text_field(each, "kubernetesResourceUri") or text_field(each, "arn"))
        ),
    )


def _parse_deprecation(document: Json) -> ApiDeprecation:
    clients = tuple(
        ApiClient(
            text_field(each, "userAgent"),
            int_field(each, "numberOfRequestsLast30Days"),
            time_field(each, "lastRequestTime"),
        )
        for each in struct_list_field(document, "clientStats")
    )
    return ApiDeprecation(
        text_field(document, "usage"),
        text_field(document, "replacedWith"),
        text_field(document, "stopServingVersion"),
        clients,
    )


class InsightRefresh:
    """A refresh that `check.read.refresh_insights` waits for."""

    def __init__(self, verified: VerifiedCluster) -> None:
        self._verified = verified

    def begin(self) -> InsightsRefresh:
        """Start the refresh.

        Raises:
            AwsError: as `AwsClient.ask`.
        """
        return ask_and_parse(self._verified.aws, questions.REFRESH_INSIGHTS, self._cluster_parameters, _parse_refresh)

    def state(self) -> InsightsRefresh | Unknown:
        """The state of the refresh.

        Raises:
            AwsError: nothing can be asked any more.
        """
        return ask_existing(self._verified.aws, questions.INSIGHTS_REFRESH, self._cluster_parameters, _parse_refresh)

    @property
    def _cluster_parameters(self) -> Json:
        return {"clusterName": self._verified.cluster.name}


def _parse_refresh(document: Json) -> InsightsRefresh:
    return InsightsRefresh(
        text_field(document, "status"), text_field(document, "message"), time_field(document, "endedAt")
    )


MAX_CLUSTER_UPDATES, MAX_GROUP_UPDATES = 10, 3
"""Updates that are described: of the cluster as many as a week may have, of each node group the latest few."""

_NEEDS_GROUPS = frozenset((CheckNeed.NODE_GROUPS, CheckNeed.TEMPLATES, CheckNeed.RELEASES))
_NEEDS_GROUP_NAMES = _NEEDS_GROUPS | {CheckNeed.GROUP_UPDATES}


def read_upgrade_facts(verified: VerifiedCluster, wanted_versions: UpgradeQuery) -> UpgradeFacts:
    """The facts that `wanted_versions` needs.

    Raises:
        AwsError: nothing can be asked.
    """
    needs = wanted_versions.needs
    sources: Mapping[CheckNeed, Callable[[], dict[str, Any]]] = {
        CheckNeed.VERSIONS: lambda: {"versions": eks.cluster_versions(verified)},
        CheckNeed.ADDONS: lambda: _read_addons(verified),
        CheckNeed.INSIGHTS: lambda: ask_all(
            {
                "insights": lambda: readiness_insights(verified, wanted_versions.steps),
                "other_insights": lambda: other_insights(verified),
            }
        ),
        CheckNeed.CLUSTER_UPDATES: lambda: {"cluster_updates": eks.update_history(verified, {}, MAX_CLUSTER_UPDATES)},
        CheckNeed.QUOTAS: lambda: {"quotas": machines.quotas(verified, wanted_versions.at)},
    }
    questions = [make for need, make in sources.items() if need in needs]
    if needs & (_NEEDS_GROUP_NAMES | {CheckNeed.SUBNETS}):
        questions.append(lambda: _read_groups(verified, needs))
    answers: dict[str, Any] = {}
    for _, each in ask_concurrently(questions, lambda make: make()):
        answers |= each
    return UpgradeFacts(**answers)


def unknown_upgrade_facts(reason: Unknown) -> UpgradeFacts:
    """Facts where AWS could not be verified, all Unknown."""
    by_key = {"addon_versions", "templates", "releases"}
    names = {each.name for each in fields(UpgradeFacts)} - by_key
    return UpgradeFacts(**dict.fromkeys(names, reason))  # type: ignore[arg-type]


def _read_addons(verified: VerifiedCluster) -> dict[str, Any]:
    addons = eks.addons(verified)
    names = () if isinstance(addons, Unknown) else [each.name for each in addons if isinstance(each, Addon)]
    return {
        "addons": addons,
        "addon_versions": dict(ask_concurrently(names, lambda name: eks.versions_of_addon(verified, name))),
    }


def _read_groups(verified: VerifiedCluster, needs: frozenset[CheckNeed]) -> dict[str, Any]:
    """Node groups and their updates by name, then the answers that depend on these, and the subnets of all."""
    names = machines.node_group_names(verified) if needs & _NEEDS_GROUP_NAMES else ()
    if isinstance(names, Unknown):
        return {"node_groups": names, "group_updates": names, **ask_all(_dependent_questions(verified, (), needs))}
    answers = ask_all(_group_questions(verified, names, needs))
    groups = [each for each in answers.get("node_groups", {}).values() if isinstance(each, NodeGroup)]
    return {**answers, **ask_all(_dependent_questions(verified, groups, needs))}


Questions = dict[str, Callable[[], Any]]
"""The names of fields of `UpgradeFacts`, and the function that reads each."""


def _group_questions(verified: VerifiedCluster, names: tuple[str, ...], needs: frozenset[CheckNeed]) -> Questions:
    questions: Questions = {}
    if needs & _NEEDS_GROUPS:
        questions["node_groups"] = lambda: machines.node_groups(verified, names)
    if CheckNeed.GROUP_UPDATES in needs:
        questions["group_updates"] = lambda: dict(
            ask_concurrently(
                names, lambda name: eks.update_history(verified, {"nodegroupName": name}, MAX_GROUP_UPDATES)
            )
        )
    return questions


def _dependent_questions(
    verified: VerifiedCluster, groups: Sequence[NodeGroup], needs: frozenset[CheckNeed]
) -> Questions:
    """Each question once, also where several groups share its answer."""
    questions: Questions = {}
    if CheckNeed.TEMPLATES in needs:
        template_refs = dict.fromkeys(each.template for each in groups if each.template is not None)
        questions["templates"] = lambda: dict(
            ask_concurrently(template_refs, lambda ref: template_versions(verified, ref))
        )
    if CheckNeed.RELEASES in needs:
        release_keys = dict.fromkeys((each.ami_type, each.version) for each in groups if each.ami_type != "CUSTOM")
        questions["releases"] = lambda: dict(
            ask_concurrently(release_keys, lambda kind: eks.recommended_release(verified, *kind))
        )
    if CheckNeed.SUBNETS in needs:
        subnet_ids = (*verified.cluster.subnets, *(one for each in groups for one in each.subnets))
        questions["subnets"] = lambda: machines.subnets(verified, subnet_ids)
    return questions
