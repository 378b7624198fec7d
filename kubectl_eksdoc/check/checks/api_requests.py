"""What the API server has counted of requests for APIs that go on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_eksdoc.amazon.upgrades.deprecated_requests import (
    CAVEAT,
    CAVEAT_SOURCE,
    METRIC,
    DeprecatedRequest,
    deprecated_requests,
)
from kubectl_eksdoc.amazon.upgrades.removed_apis import RemovedApi, gone_on_the_way, of_resource
from kubectl_eksdoc.amazon.upgrades.sourced import in_words, minor_of
from kubectl_eksdoc.check.checking import cluster_of, unknown
from kubectl_eksdoc.check.checks.api_rewriting import follows, severity, sources
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.check.way import UpgradePath
from kubectl_eksdoc.check.wording import aws, in_region
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.versions import Version

_WHAT = "whether clients use APIs that the upgrade removes"
_SHOWN = 200  # characters of a line that could not be read


def judge(facts: CheckFacts) -> Iterator[Finding]:
    """The server names a release with each request: what the table does not have is judged by that."""
    way, lines = facts.way, facts.api.requested
    goes = any(not row.alpha for row in gone_on_the_way(way.now, way.target))
    if isinstance(lines, Unknown):
        if goes:
            unsaid = unknown(Code.of("api-requested"), cluster_of(facts), _WHAT, lines)
            yield replace(unsaid, remedy=(*unsaid.remedy, *_insights_of(facts, in_words(way.target))))
        return
    told = deprecated_requests("\n".join(lines))
    if told.unread and way.steps:
        why = Unknown(f"a line of the metric cannot be read: {told.unread[0][:_SHOWN]}")
        yield unknown(Code.of("api-requested"), cluster_of(facts), _WHAT, why)
    found = [(each, removed) for each in told.requests if (removed := _removed(each)) is not None and _on(way, removed)]
    for request, removed in found:
        yield _asked(facts, request, removed)
    if goes and not found and not told.unread:
        message = f"the API server that answered has had no request for an API that goes up to {in_words(way.target)}"
        yield Finding(
            Code.of("api-requested"),
            Severity.INFO,
            Status.PASS,
            cluster_of(facts),
            message,
            (CAVEAT, str(CAVEAT_SOURCE)),
        )


def _row(request: DeprecatedRequest) -> RemovedApi | None:
    """Of a subresource, as evictions are, its own, where it has one."""
    of_sub = of_resource(request.api_version, f"{request.resource}/{request.subresource}")
    return of_sub or request.row


def _removed(request: DeprecatedRequest) -> Version | None:
    """As the table has it; else as the server says."""
    row = _row(request)
    return request.removed if row is None else row.removed


def _on(way: UpgradePath, removed: Version) -> bool:
    return way.now < minor_of(removed) and not way.target < minor_of(removed)


def _asked(facts: CheckFacts, request: DeprecatedRequest, removed: Version) -> Finding:
    row, sub = _row(request), f"/{request.subresource}" if request.subresource else ""
    what = f"{request.resource}{sub} in {request.api_version}"
    labels = f'group="{request.group}",version="{request.version}",resource="{request.resource}"'
    says = f"{METRIC}{{{labels}}}, removed_release {request.removed_release or 'not said'}"
    evidence = (says, "it has no client names, and counts only since this API server started")
    name = ".".join(filter(None, (f"{request.resource}{sub}", request.version, request.group)))
    return Finding.of(
        "api-requested",
        Subject("API", name),
        (*evidence, *(sources(row) if row is not None else ())),
        severity=Severity.HIGH if row is None else severity(row, Severity.HIGH),
        remedy=tuple(_who(facts, row, in_words(minor_of(removed)))),
        root_cause=Subject("API", request.api_version),
        what=what,
        in_words=in_words(minor_of(removed)),
    )


def _who(facts: CheckFacts, row: RemovedApi | None, removed: str) -> Iterator[Remedy]:
    """Source: EKS best practices, cluster upgrades (query of the audit log)."""
    yield from _insights_of(facts, removed)
    yield _asking(
        "So does the audit log of the control plane, of this day, where EKS writes it to CloudWatch Logs",
        _query(facts.name, in_region(facts)) if facts.name else "",
    )
    then = follows(row, facts.way) if row is not None else ""
    yield Remedy(f"Update that client, or its configuration. {then}".strip())


def _insights_of(facts: CheckFacts, version: str) -> Iterator[Remedy]:
    """Source: EKS API, ListInsights and DescribeInsight (deprecationDetails, clientStats)."""
    yield _asking(
        "EKS's insight names the user agents of the last 30 days (describe-insight with its id tells them)",
        _insights(facts, version) if facts.name else "",
    )


def _asking(text: str, command: str) -> Remedy:
    return Remedy(f"{text}{':' if command else '.'}", command)


def _insights(facts: CheckFacts, version: str) -> str:
    wanted = ("--filter", f"kubernetesVersions={version}")
    return aws(facts, "eks", "list-insights", "--cluster-name", facts.name, *wanted)


_QUERY = (
    'fields @message | filter `annotations.k8s.io/deprecated` = "true" | '
    "stats count(*) by userAgent, user.username, requestURI"
)


def _query(cluster: str, where: tuple[str, ...]) -> str:
    log = shell("aws", "logs", "start-query", "--log-group-name", f"/aws/eks/{cluster}/cluster", *where)
    times = "--start-time $(($(date +%s) - 86400)) --end-time $(date +%s)"
    started = f"{log} {times} {shell('--query-string', _QUERY, '--query', 'queryId', '--output', 'text')}"
    results = shell("aws", "logs", "get-query-results", *where)
    return f'query=$({started}) && sleep 20 && {results} --query-id "$query"'
