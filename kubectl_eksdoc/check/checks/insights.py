"""EKS upgrade insights: errors and warnings on the path, how recent they are, and when a fixed one will clear."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from kubectl_eksdoc.amazon.addon_needs import KUBE_PROXY
from kubectl_eksdoc.amazon.versions import Fit, in_words, kube_proxy_skew, kubelet_skew
from kubectl_eksdoc.model import eks, kinds
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.eks import Client, Deprecation, Insight, InsightDetail, UnfitAddon
from kubectl_eksdoc.model.findings import Code, CodeName, Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import basis
from kubectl_eksdoc.model.nodes import MANAGED_GROUP
from kubectl_eksdoc.model.quantities import Version, parse

from ..checking import (
    CheckFacts,
    UpgradeCheck,
    ago,
    aws,
    cluster_of,
    day,
    listed,
    name_of,
    number,
    sourced,
    unknown,
)
from .compatibility import misfits
from .software import running

REMEMBERED = timedelta(days=30)
FRESH_FOR = timedelta(hours=24)
"""EKS user guide, cluster-insights: insights cover requests of a rolling 30 days, and are refreshed daily."""

FORCE = (
    "whether EKS refuses the upgrade for it without --force is not known: it did from 2025-03-27 on, and no more the"
    " day after; what holds today was not found"
)
_MOST = 5


Told = tuple[Insight, ...] | Unknown


def _seen(found: Told) -> tuple[Insight, ...]:
    return () if isinstance(found, Unknown) else found


def _unknowns(facts: CheckFacts, found: Told, code: CodeName, severity: Severity) -> Iterator[Finding]:
    if isinstance(found, Unknown):
        yield unknown(f"{code}/insights", cluster_of(facts), found, severity)


def _readiness(facts: CheckFacts, code: CodeName, status: str, severity: Severity, later: bool) -> Iterator[Finding]:
    """Insights about the versions on the path; none where the control plane is at the target. `later`: only those that
    no step waits for (`follows_control_plane`)."""
    steps = tuple(map(in_words, facts.way.steps))
    about = [each for each in _seen(facts.aws.insights) if each.version in steps]
    for each in about:
        if each.status == status and follows(facts, each) is later:
            found = _finding(facts, code, each, severity)
            allowed = (f"the control plane's step to {each.version} allows it, and steps after that one change it",)
            passes = later and status == eks.WARNING
            yield replace(found, status=Status.PASS, evidence=(*found.evidence, *allowed)) if passes else found
    if not steps or later:
        return
    yield from _unknowns(facts, facts.aws.insights, code, severity)
    if code == "insight-error":
        yield from _untold(facts, about, steps)


def _untold(facts: CheckFacts, about: Sequence[Insight], steps: Sequence[str]) -> Iterator[Finding]:
    """Insights on the path that are undecided, and steps that EKS has no insights about."""
    yield from _undecided(about, "insight-error", Severity.MEDIUM)
    if isinstance(facts.aws.insights, Unknown):
        return
    for step in steps:
        if not any(each.version == step for each in about):
            first = step == steps[0]
            why = Unknown(f"EKS lists no insights about {step}{'' if first else ' yet'}")
            severity = Severity.MEDIUM if first else Severity.INFO
            yield unknown("insight-error/step", Subject("Insight", step), why, severity, step=step)


def _undecided(about: Iterable[Insight], code: CodeName, severity: Severity) -> Iterator[Finding]:
    for each in about:
        if each.status not in (eks.PASSING, eks.WARNING, eks.ERROR):
            why = Unknown(each.reason or f"EKS says {each.status or 'nothing'} of it")
            yield unknown(f"{code}/seen", _subject(each), why, severity)


_KUBELETS = "kubelet version skew"


def kubelets_refused(facts: CheckFacts, step: Version) -> bool:
    """Whether EKS reports kubelet skew as an error for that step, even one that the policy allows."""
    errors = (each for each in _seen(facts.aws.insights) if each.status == eks.ERROR)
    return any(each.name.lower().startswith(_KUBELETS) and each.version == in_words(step) for each in errors)


def follows(facts: CheckFacts, each: Insight) -> bool:
    """Whether it is only about nodes, kube-proxy or add-ons that are known to be allowed, or required, to stay as they
    are at the control plane's step to its version: they are updated after it. Skew that is an error for EKS is not.

    Source of the names: EKS user guide, cluster-insights; of the allowed skew: the version skew policy.
    """
    name, version = each.name.lower(), parse(each.version)
    if name.startswith("amazon linux 2 "):
        return True
    if isinstance(each.detail, InsightDetail) and each.detail.misfits:
        after = {misfit.addon.name for misfit in misfits(facts) if misfit.follows}
        return after.issuperset(misfit.addon for misfit in each.detail.misfits)
    if version is None or each.status == eks.ERROR or facts.cluster.unread(kinds.NODES, kinds.PODS):
        return False
    if name.startswith(_KUBELETS):
        skews = [kubelet_skew(version, node.kubelet) for node in facts.cluster.nodes]
    elif name.startswith("kube-proxy version skew"):
        found = [each.version for each in running(facts.cluster.pods, KUBE_PROXY)]
        skews = [kube_proxy_skew(version, None if isinstance(each, Unknown) else each) for each in found]
    else:
        return False
    return bool(skews) and all(each.fit is Fit.FITS for each in skews)


def _misconfigured(facts: CheckFacts) -> Iterator[Finding]:
    yield from _unknowns(facts, facts.aws.other_insights, "insight-misconfiguration", Severity.LOW)
    about = [each for each in _seen(facts.aws.other_insights) if each.category == eks.MISCONFIGURATION]
    yield from _undecided(about, "insight-misconfiguration", Severity.LOW)
    for each in about:
        if each.status in (eks.ERROR, eks.WARNING):
            severity = Severity.MEDIUM if each.status == eks.ERROR else Severity.LOW
            yield _finding(facts, "insight-misconfiguration", each, severity)


def _subject(each: Insight) -> Subject:
    return Subject("Insight", f"{each.name}{f' ({each.version})' if each.version else ''}")


def _finding(facts: CheckFacts, code: CodeName, each: Insight, severity: Severity) -> Finding:
    detail = each.detail if isinstance(each.detail, InsightDetail) else InsightDetail()
    blind = (f"what exactly is not known: {each.detail.why}",) if isinstance(each.detail, Unknown) else ()
    force = (sourced(FORCE, basis("insights/force").source),) if code == "insight-error" else ()
    return Finding.of(
        f"{code}/insight",
        _subject(each),
        (*_requests(facts, detail), *_misfits(detail), *_resources(detail), *blind, *_age(facts, each), *force),
        severity=severity,
        remedy=tuple(map(_update, detail.misfits)),
        root_cause=_root_cause(facts, detail),
        reason=each.reason,
        recommendation=" ".join(detail.recommendation.split()),
        named=detail.recommendation or detail.misfits,
    )


_API = re.compile(r"/apis?/(?P<of>([^/]+/)?v\d[^/]*)/")


def _root_cause(facts: CheckFacts, detail: InsightDetail) -> Subject | None:
    """The one API, add-on or node group of all its details; None where there are several, or none is named."""
    groups = {f"nodes/{node.name}": node.labels.get(MANAGED_GROUP, "") for node in facts.cluster.nodes}
    found = {
        *(Subject("API", at["of"]) if (at := _API.match(each.usage)) else None for each in detail.deprecations),
        *(Subject("Addon", each.addon) for each in detail.misfits),
        *(Subject("Nodegroup", name) if (name := groups.get(each)) else None for each in detail.resources),
    }
    return found.pop() if len(found) == 1 else None


def _requests(facts: CheckFacts, detail: InsightDetail) -> Iterator[str]:
    for each in detail.deprecations:
        instead = f"; {each.instead} replaces it" if each.instead else ""
        stops = f" ends with {each.stops}" if each.stops else ""
        yield f"{each.usage}{stops}{instead}"
        yield from (_client(facts, client) for client in each.clients[:_MOST])
        if len(each.clients) > _MOST:
            yield f"{len(each.clients) - _MOST} more clients"
        yield from _clears(facts, each)


def _client(facts: CheckFacts, each: Client) -> str:
    often = "" if each.requests is None else f"{number(each.requests, 'request')} in 30 days, "
    last = "when is not told" if each.last is None else f"the last one {ago(facts.cluster.observed_at, each.last)}"
    return f"{each.agent or 'a client without a name'}: {often}{last}"


def _clears(facts: CheckFacts, each: Deprecation) -> Iterator[str]:
    """When it clears, by the latest request of all clients; later requests are not known."""
    times = [client.last for client in each.clients if client.last is not None]
    if not times:
        return
    latest = max(times)
    clears = day(latest + REMEMBERED)
    yield (
        f"last seen {ago(facts.cluster.observed_at, latest)}; if it is fixed, the insight clears on {clears}: EKS"
        " remembers requests for 30 days"
    )


def _misfits(detail: InsightDetail) -> Iterator[str]:
    for each in detail.misfits:
        yield f"{each.addon}: of its versions fit {', '.join(each.fitting[:_MOST]) or 'none'}"


def _resources(detail: InsightDetail) -> Iterator[str]:
    if detail.resources:
        yield listed(detail.resources)


def _age(facts: CheckFacts, each: Insight) -> Iterator[str]:
    now = facts.cluster.observed_at
    if each.refreshed is not None:
        since = f"; it has been so since {day(each.changed)}" if each.changed is not None else ""
        yield f"EKS looked {ago(now, each.refreshed)}{since}"


def _update(each: UnfitAddon) -> Remedy:
    command = shell("kubectl", "eksdoc", "addon-diff", each.addon, *(("--to", each.fitting[0]) if each.fitting else ()))
    return Remedy.of("check-addon-update", addon=each.addon, command=command)


def _stale(facts: CheckFacts) -> Iterator[Finding]:
    if not facts.way.steps:
        return
    yield from _unknowns(facts, facts.aws.insights, "insight-stale", Severity.LOW)
    now = facts.cluster.observed_at
    seen = _seen(facts.aws.insights)
    old = [each.refreshed for each in seen if each.refreshed is not None and now - each.refreshed > FRESH_FOR]
    undated = [each for each in seen if each.refreshed is None]
    if undated:
        why = Unknown(f"EKS does not report when it checked {undated[0].name}")
        yield unknown("insight-stale/age", cluster_of(facts), why, Severity.LOW)
    if old:
        yield Finding.of(
            "insight-stale",
            cluster_of(facts),
            ("later fixes and new problems are not in them",),
            live=facts.cluster.source is Source.LIVE,
            command=aws(facts, "eks", "start-insights-refresh", "--cluster-name", name_of(facts)),
            old_count=len(old),
            number=number(len(seen), "insight"),
            ago=ago(now, min(old)),
        )


def _ready(facts: CheckFacts, later: bool) -> Iterator[Finding]:
    yield from _readiness(facts, "insight-error", eks.ERROR, Severity.HIGH, later)
    yield from _readiness(facts, "insight-warning", eks.WARNING, Severity.MEDIUM, later)


# One check for both codes: an unknown insight may be an error as well as a warning.
_READY = replace(
    UpgradeCheck.of("insight-error", partial(_ready, later=False)),
    codes=(Code.of("insight-error"), Code.of("insight-warning")),
)

CHECKS = (
    _READY,
    _READY.also(partial(_ready, later=True), None),
    UpgradeCheck.of("insight-stale", _stale),
    UpgradeCheck.of("insight-misconfiguration", _misconfigured),
)
