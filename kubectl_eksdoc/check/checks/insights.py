"""EKS upgrade insights: errors and warnings on the path, how recent they are, and when a fixed one will clear."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from kubectl_eksdoc.amazon.addon_needs import KUBE_PROXY
from kubectl_eksdoc.amazon.versions import Fit, format_version, kube_proxy_skew, kubelet_skew
from kubectl_eksdoc.model import eks, kinds
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.eks import ApiClient, ApiDeprecation, IncompatibleAddon, Insight, InsightDetail
from kubectl_eksdoc.model.findings import Code, CodeName, Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import rule_basis
from kubectl_eksdoc.model.nodes import MANAGED_GROUP
from kubectl_eksdoc.model.quantities import Version, parse_version

from ..checking import (
    CheckFacts,
    UpgradeCheck,
    aws_command,
    cluster_name_arg,
    cluster_subject,
    format_day,
    join_names,
    pluralize,
    time_ago,
    unknown_finding,
    with_source,
)
from .compatibility import addon_misfits
from .software import find_running_versions

REQUEST_HISTORY = timedelta(days=30)
FRESH_FOR = timedelta(hours=24)
"""EKS user guide, cluster-insights: insights cover requests of a rolling 30 days, and are refreshed daily."""

FORCE = (
    "whether EKS refuses the upgrade for it without --force is not known: it did from 2025-03-27 on, and no more the"
    " day after; what holds today was not found"
)
_MAX_ITEMS = 5


InsightsOrUnknown = tuple[Insight, ...] | Unknown


def _known_insights(insights: InsightsOrUnknown) -> tuple[Insight, ...]:
    return () if isinstance(insights, Unknown) else insights


def _unknown_insights(
    facts: CheckFacts, insights: InsightsOrUnknown, code: CodeName, severity: Severity
) -> Iterator[Finding]:
    if isinstance(insights, Unknown):
        yield unknown_finding(f"{code}/insights", cluster_subject(facts), insights, severity)


def _readiness_findings(
    facts: CheckFacts, code: CodeName, status: str, severity: Severity, later: bool
) -> Iterator[Finding]:
    """Insights about the versions on the path; none where the control plane is at the target. `later`: only those that
    no step waits for (`follows_control_plane`)."""
    steps = tuple(map(format_version, facts.path.steps))
    path_insights = [insight for insight in _known_insights(facts.aws.insights) if insight.version in steps]
    for insight in path_insights:
        if insight.status == status and follows_control_plane(facts, insight) is later:
            finding = _insight_finding(facts, code, insight, severity)
            allowed_text = (
                f"the control plane's step to {insight.version} allows it, and steps after that one change it",
            )
            is_passed = later and status == eks.WARNING
            yield (
                replace(finding, status=Status.PASS, evidence=(*finding.evidence, *allowed_text))
                if is_passed
                else finding
            )
    if not steps or later:
        return
    yield from _unknown_insights(facts, facts.aws.insights, code, severity)
    if code == "insight-error":
        yield from _missing_insights(facts, path_insights, steps)


def _missing_insights(facts: CheckFacts, path_insights: Sequence[Insight], steps: Sequence[str]) -> Iterator[Finding]:
    """Insights on the path that are undecided, and steps that EKS has no insights about."""
    yield from _undecided_insights(path_insights, "insight-error", Severity.MEDIUM)
    if isinstance(facts.aws.insights, Unknown):
        return
    for step in steps:
        if not any(each.version == step for each in path_insights):
            is_first = step == steps[0]
            reason = Unknown(f"EKS lists no insights about {step}{'' if is_first else ' yet'}")
            severity = Severity.MEDIUM if is_first else Severity.INFO
            yield unknown_finding("insight-error/step", Subject("Insight", step), reason, severity, step=step)


def _undecided_insights(insights: Iterable[Insight], code: CodeName, severity: Severity) -> Iterator[Finding]:
    for insight in insights:
        if insight.status not in (eks.PASSING, eks.WARNING, eks.ERROR):
            reason = Unknown(insight.reason or f"EKS says {insight.status or 'nothing'} of it")
            yield unknown_finding(f"{code}/seen", _insight_subject(insight), reason, severity)


_KUBELET_SKEW_NAME = "kubelet version skew"


def is_kubelet_skew_error(facts: CheckFacts, step: Version) -> bool:
    """Whether EKS reports kubelet skew as an error for that step, even one that the policy allows."""
    errors = (each for each in _known_insights(facts.aws.insights) if each.status == eks.ERROR)
    return any(
        each.name.lower().startswith(_KUBELET_SKEW_NAME) and each.version == format_version(step) for each in errors
    )


def follows_control_plane(facts: CheckFacts, insight: Insight) -> bool:
    """Whether it is only about nodes, kube-proxy or add-ons that are known to be allowed, or required, to stay as they
    are at the control plane's step to its version: they are updated after it. Skew that is an error for EKS is not.

    Source of the names: EKS user guide, cluster-insights; of the allowed skew: the version skew policy.
    """
    name, version = insight.name.lower(), parse_version(insight.version)
    if name.startswith("amazon linux 2 "):
        return True
    if isinstance(insight.detail, InsightDetail) and insight.detail.incompatible_addons:
        later_addons = {misfit.addon.name for misfit in addon_misfits(facts) if misfit.follows_control_plane}
        return later_addons.issuperset(misfit.addon for misfit in insight.detail.incompatible_addons)
    if version is None or insight.status == eks.ERROR or facts.cluster.not_read(kinds.NODES, kinds.PODS):
        return False
    if name.startswith(_KUBELET_SKEW_NAME):
        skews = [kubelet_skew(version, node.kubelet) for node in facts.cluster.nodes]
    elif name.startswith("kube-proxy version skew"):
        kube_proxies = [insight.version for insight in find_running_versions(facts.cluster.pods, KUBE_PROXY)]
        skews = [
            kube_proxy_skew(version, None if isinstance(insight, Unknown) else insight) for insight in kube_proxies
        ]
    else:
        return False
    return bool(skews) and all(insight.fit is Fit.FITS for insight in skews)


def _check_misconfiguration(facts: CheckFacts) -> Iterator[Finding]:
    yield from _unknown_insights(facts, facts.aws.other_insights, "insight-misconfiguration", Severity.LOW)
    misconfigurations = [
        insight for insight in _known_insights(facts.aws.other_insights) if insight.category == eks.MISCONFIGURATION
    ]
    yield from _undecided_insights(misconfigurations, "insight-misconfiguration", Severity.LOW)
    for insight in misconfigurations:
        if insight.status in (eks.ERROR, eks.WARNING):
            severity = Severity.MEDIUM if insight.status == eks.ERROR else Severity.LOW
            yield _insight_finding(facts, "insight-misconfiguration", insight, severity)


def _insight_subject(insight: Insight) -> Subject:
    return Subject("Insight", f"{insight.name}{f' ({insight.version})' if insight.version else ''}")


def _insight_finding(facts: CheckFacts, code: CodeName, insight: Insight, severity: Severity) -> Finding:
    detail = insight.detail if isinstance(insight.detail, InsightDetail) else InsightDetail()
    unknown_detail = (
        (f"what exactly is not known: {insight.detail.why}",) if isinstance(insight.detail, Unknown) else ()
    )
    force_text = (with_source(FORCE, rule_basis("insights/force").source),) if code == "insight-error" else ()
    return Finding.of(
        f"{code}/insight",
        _insight_subject(insight),
        (
            *_request_evidence(facts, detail),
            *_misfit_evidence(detail),
            *_resource_evidence(detail),
            *unknown_detail,
            *_age_evidence(facts, insight),
            *force_text,
        ),
        severity=severity,
        remedy=tuple(map(_update_remedy, detail.incompatible_addons)),
        root_cause=_root_cause(facts, detail),
        reason=insight.reason,
        recommendation=" ".join(detail.recommendation.split()),
        named=detail.recommendation or detail.incompatible_addons,
    )


_API_PATH = re.compile(r"/apis?/(?P<of>([^/]+/)?v\d[^/]*)/")


def _root_cause(facts: CheckFacts, detail: InsightDetail) -> Subject | None:
    """The one API, add-on or node group of all its details; None where there are several, or none is named."""
    groups = {f"nodes/{node.name}": node.labels.get(MANAGED_GROUP, "") for node in facts.cluster.nodes}
    subjects = {
        *(Subject("API", at["of"]) if (at := _API_PATH.match(each.usage)) else None for each in detail.deprecations),
        *(Subject("Addon", each.addon) for each in detail.incompatible_addons),
        *(Subject("Nodegroup", name) if (name := groups.get(each)) else None for each in detail.resources),
    }
    return subjects.pop() if len(subjects) == 1 else None


def _request_evidence(facts: CheckFacts, detail: InsightDetail) -> Iterator[str]:
    for deprecation in detail.deprecations:
        replacement = f"; {deprecation.instead} replaces it" if deprecation.instead else ""
        end_text = f" ends with {deprecation.stops}" if deprecation.stops else ""
        yield f"{deprecation.usage}{end_text}{replacement}"
        yield from (_client_evidence(facts, client) for client in deprecation.clients[:_MAX_ITEMS])
        if len(deprecation.clients) > _MAX_ITEMS:
            yield f"{len(deprecation.clients) - _MAX_ITEMS} more clients"
        yield from _clearing_evidence(facts, deprecation)


def _client_evidence(facts: CheckFacts, client: ApiClient) -> str:
    count_text = "" if client.requests is None else f"{pluralize(client.requests, 'request')} in 30 days, "
    last_text = (
        "when is not told"
        if client.last is None
        else f"the last one {time_ago(facts.cluster.observed_at, client.last)}"
    )
    return f"{client.agent or 'a client without a name'}: {count_text}{last_text}"


def _clearing_evidence(facts: CheckFacts, deprecation: ApiDeprecation) -> Iterator[str]:
    """When it clears, by the latest request of all clients; later requests are not known."""
    times = [client.last for client in deprecation.clients if client.last is not None]
    if not times:
        return
    latest = max(times)
    clearing_day = format_day(latest + REQUEST_HISTORY)
    yield (
        f"last seen {time_ago(facts.cluster.observed_at, latest)}; if it is fixed, the insight clears on "
        f"{clearing_day}: EKS"
        " remembers requests for 30 days"
    )


def _misfit_evidence(detail: InsightDetail) -> Iterator[str]:
    for each in detail.incompatible_addons:
        yield f"{each.addon}: of its versions fit {', '.join(each.compatible_versions[:_MAX_ITEMS]) or 'none'}"


def _resource_evidence(detail: InsightDetail) -> Iterator[str]:
    if detail.resources:
        yield join_names(detail.resources)


def _age_evidence(facts: CheckFacts, insight: Insight) -> Iterator[str]:
    now = facts.cluster.observed_at
    if insight.refreshed is not None:
        since_text = f"; it has been so since {format_day(insight.changed)}" if insight.changed is not None else ""
        yield f"EKS looked {time_ago(now, insight.refreshed)}{since_text}"


def _update_remedy(addon: IncompatibleAddon) -> Remedy:
    command = shell(
        "kubectl",
        "eksdoc",
        "addon-diff",
        addon.addon,
        *(("--to", addon.compatible_versions[0]) if addon.compatible_versions else ()),
    )
    return Remedy.of("check-addon-update", addon=addon.addon, command=command)


def _check_staleness(facts: CheckFacts) -> Iterator[Finding]:
    if not facts.path.steps:
        return
    yield from _unknown_insights(facts, facts.aws.insights, "insight-stale", Severity.LOW)
    now = facts.cluster.observed_at
    insights = _known_insights(facts.aws.insights)
    old_times = [each.refreshed for each in insights if each.refreshed is not None and now - each.refreshed > FRESH_FOR]
    undated = [each for each in insights if each.refreshed is None]
    if undated:
        reason = Unknown(f"EKS does not report when it checked {undated[0].name}")
        yield unknown_finding("insight-stale/age", cluster_subject(facts), reason, Severity.LOW)
    if old_times:
        yield Finding.of(
            "insight-stale",
            cluster_subject(facts),
            ("later fixes and new problems are not in them",),
            live=facts.cluster.source is Source.LIVE,
            command=aws_command(facts, "eks", "start-insights-refresh", "--cluster-name", cluster_name_arg(facts)),
            old_count=len(old_times),
            number=pluralize(len(insights), "insight"),
            ago=time_ago(now, min(old_times)),
        )


def _check_readiness(facts: CheckFacts, later: bool) -> Iterator[Finding]:
    yield from _readiness_findings(facts, "insight-error", eks.ERROR, Severity.HIGH, later)
    yield from _readiness_findings(facts, "insight-warning", eks.WARNING, Severity.MEDIUM, later)


# One check for both codes: an unknown insight may be an error as well as a warning.
_READINESS_CHECK = replace(
    UpgradeCheck.of("insight-error", partial(_check_readiness, later=False)),
    codes=(Code.of("insight-error"), Code.of("insight-warning")),
)

CHECKS = (
    _READINESS_CHECK,
    _READINESS_CHECK.at_gate(partial(_check_readiness, later=True), None),
    UpgradeCheck.of("insight-stale", _check_staleness),
    UpgradeCheck.of("insight-misconfiguration", _check_misconfiguration),
)
