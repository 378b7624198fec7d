"""Objects and requests of API versions that are removed on the upgrade path: who wrote them, who requests them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.amazon.removed_apis import (
    METRIC,
    PLUGIN,
    DeprecatedRequest,
    RemovedApi,
    by_hand,
    convertible,
    deprecated_requests,
    gone,
    gone_on_the_way,
    instead,
    of_resource,
    removed_api,
)
from kubectl_eksdoc.amazon.removed_apis import convert as converting
from kubectl_eksdoc.amazon.versions import in_words, minor_of
from kubectl_eksdoc.amazon.written_kinds import KEPT_BY_SERVER, STAYS, going, innocent
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import KindUsage, Written, WrittenBy, WrittenObject
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.connection import file_of, kubectl, shell
from kubectl_eksdoc.model.findings import ClauseName, Finding, Remedy, Severity, Subject, When
from kubectl_eksdoc.model.kinds import NOT_ASKED, Confidence, Resource, Unknown
from kubectl_eksdoc.model.knowledge import basis
from kubectl_eksdoc.model.quantities import Version

from ..checking import CheckFacts, UpgradePath, aws, cluster_of, doubted, in_region, listed, unknown

# Remedies for a removed API version: its replacement, conversion of manifests, and changes by hand.


def gone_already(api_version: str, kind: str, way: UpgradePath) -> RemovedApi | None:
    """The row of an API version that the control plane does not serve any more."""
    row = removed_api(api_version, kind)
    return None if row is None or way.now < row.removed else row


def gone_on(way: UpgradePath, api_version: str, kind: str) -> RemovedApi | None:
    """The row of an API version that is served now, and is not at the target."""
    return gone(api_version, kind, way.now, way.target)


def of_api(row: RemovedApi) -> Subject:
    """The API as root cause of all objects and requests that use it."""
    return Subject("API", row.api_version)


def severity(row: RemovedApi, worst: Severity) -> Severity:
    """A planned removal may come later, or never."""
    return Severity.MEDIUM if row.planned and worst is not Severity.LOW else worst


def sources(row: RemovedApi) -> tuple[str, ...]:
    """The evidence of the removal, with its confidence."""
    planned = (f"its removal with {in_words(row.removed)} is announced, and was not seen yet",) if row.planned else ()
    return (*planned, str(row.source))


def follows(row: RemovedApi, way: UpgradePath) -> str:
    """The version to write instead, as a sentence; "" where nothing replaces it."""
    found = instead(row, way.now)
    if isinstance(found, Unknown):
        return f"What to write instead is to be looked up: {found.why}."
    if not found:
        return ""
    again = gone_on(way, found, row.kind)
    then = f" {found} goes itself with {in_words(again.removed)}: do the same again before that." if again else ""
    return f"Write {found} instead.{then}"


def rewritten(row: RemovedApi, way: UpgradePath, file: str, before: str = "") -> Iterator[Remedy]:
    """Remedies for the manifest `file`, "" where there is none. `save_command`: writes it, "" where it exists."""
    found, said = instead(row, way.now), follows(row, way)
    if file and isinstance(found, str) and found and convertible(row):
        convert = converting(file, found)
        yield Remedy(f"{said} {PLUGIN}.", f"{before} && {convert}" if before else convert, When.LATER)
    elif said:
        yield Remedy(said, "", When.LATER)
    for each in by_hand(row):
        yield Remedy(each.what, "", When.LATER)


_MOST = 5
_SOMEBODY = "a client without a name"
_APPLY = "kubectl-client-side-apply"
_APPLIED_ANEW = "kubectl has applied it in a newer version since: what it wrote before stays in managedFields"


@frozen
class _Use:
    """A use of a removed version. `harmless_reason`: why it needs no change, "" where it may need one."""

    of: WrittenObject
    resource: Resource
    sign: Written
    row: RemovedApi
    why: str = ""


def judge(facts: CheckFacts) -> Iterator[Finding]:
    """Objects that are written in a version that is removed on the path."""
    way = facts.way
    for resource in going(way.now, way.target):
        told = _told(facts, resource)
        if isinstance(told.objects, Unknown):
            yield _unknown(facts, resource, "api-written/objects", told.objects)
        elif told.lacking is not None:
            yield _unknown(facts, resource, "api-written/clients", told.lacking)
    by_object: dict[WrittenObject, list[_Use]] = defaultdict(list)
    for use in _uses(facts):
        by_object[use.of].append(use)
    innocents: list[_Use] = []
    for uses in by_object.values():
        guilty = [use for use in uses if not use.why]
        if guilty:
            yield _found(guilty, way)
        else:
            innocents += uses
    yield from _explained(innocents)


def _unknown(facts: CheckFacts, resource: Resource, asked: ClauseName, why: Unknown) -> Finding:
    found = unknown(asked, Subject("Resource", resource.full_name), why, resource=resource.full_name)
    if facts.cluster.source is not Source.SNAPSHOT or why.missing:  # a dump cannot supply what was forbidden
        return found
    dump = shell("kubectl", "get", resource.full_name, "-A", "-o", "json", "--show-managed-fields")
    return replace(found, remedy=(Remedy.of("dump-objects", dump=dump, file=resource.plural),))


def _told(facts: CheckFacts, resource: Resource) -> KindUsage:
    found = (each for each in facts.api.written if each.resource.full_name == resource.full_name)
    return next(found, KindUsage(resource, NOT_ASKED))


def _uses(facts: CheckFacts) -> Iterator[_Use]:
    for told in facts.api.written:
        for each in () if isinstance(told.objects, Unknown) else told.objects:
            for sign in each.signs:
                row = gone_on(facts.way, sign.api_version, sign.kind)
                if row is not None:
                    yield _Use(each, told.resource, sign, row, _innocent(each, sign, facts.way))


def _innocent(each: WrittenObject, sign: Written, way: UpgradePath) -> str:
    kept = {KEPT_BY_SERVER: "true"} if each.kept_by_server else None
    found = innocent(sign, each.of.name, kept)
    if found is not None:
        return doubted(found.why, found.source)
    return _APPLIED_ANEW if sign.manager == _APPLY and _applied_anew(each, way) else ""


def _applied_anew(each: WrittenObject, way: UpgradePath) -> bool:
    """Whether kubectl apply has replaced the version since: it writes the annotation together with these fields."""
    applied = [sign for sign in each.signs if sign.by is WrittenBy.LAST_APPLIED]
    return bool(applied) and all(
        gone_on(way, sign.api_version, sign.kind) is None and gone_already(sign.api_version, sign.kind, way) is None
        for sign in applied
    )


def _found(uses: list[_Use], way: UpgradePath) -> Finding:
    """The finding about one object; the surest use decides, then the version that is removed first."""
    first = min(uses, key=lambda use: (use.sign.by is not WrittenBy.LAST_APPLIED, use.row.removed.minor))
    applied = first.sign.by is WrittenBy.LAST_APPLIED
    clients = _managers(use for use in uses if use.row == first.row)
    stays = () if applied else (f"{STAYS} (confidence: {Confidence.MEDIUM.value})",)
    of = first.of.of
    return Finding.of(
        "api-written/found",
        Subject(of.kind, of.name, of.namespace),
        (*(_evidence(use.sign) for use in uses[:_MOST]), *stays, *sources(first.row)),
        severity=severity(first.row, Severity.HIGH if applied else Severity.MEDIUM),
        remedy=tuple(_remedies(uses, way)),
        root_cause=of_api(first.row),
        clients="" if applied else " and ".join(clients),
        api_version=first.sign.api_version,
        removed=in_words(first.row.removed),
    )


def _evidence(sign: Written) -> str:
    if sign.by is WrittenBy.LAST_APPLIED:
        return f"{sign.by.value}: {sign.api_version}"
    part = f", {sign.subresource}" if sign.subresource else ""
    when = f", last at {sign.time}" if sign.time else ""
    return f"{sign.by.value}: {sign.api_version} by {sign.manager or _SOMEBODY} ({sign.operation}{part}){when}"


def _managers(uses: Iterable[_Use]) -> tuple[str, ...]:
    """The clients that wrote the object, by the names that they report, each once."""
    clients = (use.sign.manager or _SOMEBODY for use in uses if use.sign.by is WrittenBy.MANAGED_FIELDS)
    return tuple(dict.fromkeys(clients))


def _remedies(uses: Sequence[_Use], way: UpgradePath) -> Iterator[Remedy]:
    """A client that applies the manifest writes its managedFields, too."""
    for use in uses:
        of = use.of.of
        if use.sign.by is WrittenBy.LAST_APPLIED:
            word = use.resource.full_name
            shown = kubectl("apply view-last-applied", word, of.name, of.namespace, "-o", "yaml")
            yield from rewritten(use.row, way, file_of(of.name), f"{shown} > {file_of(of.name)}")
    then = follows(uses[0].row, way)
    for manager in _managers(uses):
        if manager.startswith("helm"):
            yield Remedy.of("upgrade-chart", then=then)
        elif not manager.startswith("kubectl"):
            yield Remedy.of("update-manager", manager=manager, then=then)
        elif not any(use.sign.by is WrittenBy.LAST_APPLIED for use in uses):
            yield Remedy.of("find-writer", then=then)


def _explained(uses: Iterable[_Use]) -> Iterator[Finding]:
    """Harmless uses, grouped by their explanation."""
    alike: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for use in uses:
        alike[use.sign.kind, use.sign.api_version, use.why][
            str(Subject(use.of.of.kind, use.of.of.name, use.of.of.namespace))
        ] = None
    for (kind, api_version, why), names in alike.items():
        subject = Subject(kind, listed(list(names)))
        yield Finding.of("api-written/explained", subject, api_version=api_version, why=why)


# Requests for removed APIs, as the metrics of the API server count them.


_SHOWN = 200  # characters of a line that could not be read


def judge_requests(facts: CheckFacts) -> Iterator[Finding]:
    """The metric names the removal release of each request, which decides where the table has no row."""
    way, lines = facts.way, facts.api.requested
    goes = any(not row.alpha for row in gone_on_the_way(way.now, way.target))
    if isinstance(lines, Unknown):
        if goes:
            unsaid = unknown("api-requested", cluster_of(facts), lines)
            yield replace(unsaid, remedy=(*unsaid.remedy, *_insights_of(facts, in_words(way.target))))
        return
    told = deprecated_requests("\n".join(lines))
    if told.unread and way.steps:
        why = Unknown(f"a line of the metric cannot be read: {told.unread[0][:_SHOWN]}")
        yield unknown("api-requested", cluster_of(facts), why)
    found = [
        (each, removed)
        for each in told.requests
        if (removed := _removed(each)) is not None
        and (way.now < minor_of(removed) and not way.target < minor_of(removed))
    ]
    for request, removed in found:
        yield _asked(facts, request, removed)
    if goes and not found and not told.unread:
        known = basis("deprecated-requests")
        evidence = (known.clause, str(known.source))
        yield Finding.of("api-requested/none", cluster_of(facts), evidence, target=in_words(way.target))


def _row(request: DeprecatedRequest) -> RemovedApi | None:
    """The row of the subresource, such as evictions, or else of the resource."""
    of_sub = of_resource(request.api_version, f"{request.resource}/{request.subresource}")
    return of_sub or request.row


def _removed(request: DeprecatedRequest) -> Version | None:
    """The removal release by the table, or else by the server."""
    row = _row(request)
    return request.removed if row is None else row.removed


def _asked(facts: CheckFacts, request: DeprecatedRequest, removed: Version) -> Finding:
    row, sub = _row(request), f"/{request.subresource}" if request.subresource else ""
    what = f"{request.resource}{sub}"
    labels = f'group="{request.group}",version="{request.version}",resource="{request.resource}"'
    says = f"{METRIC}{{{labels}}}, removed_release {request.removed_release or 'not said'}"
    evidence = (says, "it has no client names, and counts only since this API server started")
    name = ".".join(filter(None, (f"{request.resource}{sub}", request.version, request.group)))
    return Finding.of(
        "api-requested/asked",
        Subject("API", name),
        (*evidence, *(sources(row) if row is not None else ())),
        severity=Severity.HIGH if row is None else severity(row, Severity.HIGH),
        remedy=tuple(_who(facts, row, in_words(minor_of(removed)))),
        root_cause=Subject("API", request.api_version),
        what=what,
        api_version=request.api_version,
        in_words=in_words(minor_of(removed)),
    )


def _who(facts: CheckFacts, row: RemovedApi | None, removed: str) -> Iterator[Remedy]:
    """Source: EKS best practices, cluster upgrades (query of the audit log)."""
    yield from _insights_of(facts, removed)
    yield Remedy.of("ask-audit-log", command=_query(facts.name, in_region(facts)) if facts.name else "")
    yield Remedy.of("update-client", then=follows(row, facts.way) if row is not None else "")


def _insights_of(facts: CheckFacts, version: str) -> Iterator[Remedy]:
    """Source: EKS API, ListInsights and DescribeInsight (deprecationDetails, clientStats)."""
    yield Remedy.of("ask-insights", command=_insights(facts, version) if facts.name else "")


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
