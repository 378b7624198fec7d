"""Objects and requests of API versions that are removed on the upgrade path: who wrote them, who requests them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.amazon.removed_apis import (
    CONVERT_PLUGIN_NOTE,
    METRIC,
    DeprecatedRequest,
    RemovedApi,
    find_by_resource,
    find_removed_api,
    find_removed_between,
    is_convertible,
    manual_conversions,
    parse_deprecated_requests,
    removed_between,
    replacement_of,
)
from kubectl_eksdoc.amazon.removed_apis import convert_command as converting
from kubectl_eksdoc.amazon.versions import format_version, minor_of
from kubectl_eksdoc.amazon.written_kinds import (
    AUTO_UPDATE_ANNOTATION,
    STAYS_NOTE,
    find_no_change_needed,
    kinds_with_removed_versions,
)
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import KindUsage, WriteRecord, WriteSource, WrittenObject
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.connection import file_name, kubectl, shell
from kubectl_eksdoc.model.findings import ClauseName, Finding, Remedy, Severity, Subject, When
from kubectl_eksdoc.model.kinds import NOT_REQUESTED, Confidence, Resource, Unknown
from kubectl_eksdoc.model.knowledge import rule_basis
from kubectl_eksdoc.model.quantities import Version

from ..checking import (
    CheckFacts,
    UpgradePath,
    aws_command,
    cluster_subject,
    join_names,
    region_flags,
    unknown_finding,
    with_confidence,
)

# Remedies for a removed API version: its replacement, conversion of manifests, and changes by hand.


def removed_already(api_version: str, kind: str, path: UpgradePath) -> RemovedApi | None:
    """The row of an API version that the control plane does not serve any more."""
    row = find_removed_api(api_version, kind)
    return None if row is None or path.now < row.removed else row


def removed_on_path(path: UpgradePath, api_version: str, kind: str) -> RemovedApi | None:
    """The row of an API version that is served now, and is not at the target."""
    return find_removed_between(api_version, kind, path.now, path.target)


def api_subject(row: RemovedApi) -> Subject:
    """The API as root cause of all objects and requests that use it."""
    return Subject("API", row.api_version)


def removal_severity(row: RemovedApi, worst: Severity) -> Severity:
    """A planned removal may come later, or never."""
    return Severity.MEDIUM if row.is_planned and worst is not Severity.LOW else worst


def removal_sources(row: RemovedApi) -> tuple[str, ...]:
    """The evidence of the removal, with its confidence."""
    planned_text = (
        (f"its removal with {format_version(row.removed)} is announced, and was not seen yet",)
        if row.is_planned
        else ()
    )
    return (*planned_text, str(row.source))


def replacement_text(row: RemovedApi, path: UpgradePath) -> str:
    """The version to write instead, as a sentence; "" where nothing replaces it."""
    replacement = replacement_of(row, path.now)
    if isinstance(replacement, Unknown):
        return f"What to write instead is to be looked up: {replacement.why}."
    if not replacement:
        return ""
    next_removal = removed_on_path(path, replacement, row.kind)
    next_text = (
        f" {replacement} goes itself with {format_version(next_removal.removed)}: do the same again before that."
        if next_removal
        else ""
    )
    return f"Write {replacement} instead.{next_text}"


def rewrite_remedies(row: RemovedApi, path: UpgradePath, file: str, save_command: str = "") -> Iterator[Remedy]:
    """Remedies for the manifest `file`, "" where there is none. `save_command`: writes it, "" where it exists."""
    replacement, text = replacement_of(row, path.now), replacement_text(row, path)
    if file and isinstance(replacement, str) and replacement and is_convertible(row):
        convert_command = converting(file, replacement)
        yield Remedy(
            f"{text} {CONVERT_PLUGIN_NOTE}.",
            f"{save_command} && {convert_command}" if save_command else convert_command,
            When.LATER,
        )
    elif text:
        yield Remedy(text, "", When.LATER)
    for each in manual_conversions(row):
        yield Remedy(each.what, "", When.LATER)


_MAX_EVIDENCE = 5
_UNNAMED_CLIENT = "a client without a name"
_APPLY_MANAGER = "kubectl-client-side-apply"
_APPLIED_AGAIN = "kubectl has applied it in a newer version since: what it wrote before stays in managedFields"


@frozen
class _ApiUse:
    """A use of a removed version. `harmless_reason`: why it needs no change, "" where it may need one."""

    written_object: WrittenObject
    resource: Resource
    written: WriteRecord
    row: RemovedApi
    harmless_reason: str = ""


def judge_objects(facts: CheckFacts) -> Iterator[Finding]:
    """Objects that are written in a version that is removed on the path."""
    path = facts.path
    for resource in kinds_with_removed_versions(path.now, path.target):
        usage = _usage_of(facts, resource)
        if isinstance(usage.objects, Unknown):
            yield _unknown_objects(facts, resource, "api-written/objects", usage.objects)
        elif usage.lacking is not None:
            yield _unknown_objects(facts, resource, "api-written/clients", usage.lacking)
    by_object: dict[WrittenObject, list[_ApiUse]] = defaultdict(list)
    for use in _all_uses(facts):
        by_object[use.written_object].append(use)
    harmless_uses: list[_ApiUse] = []
    for uses in by_object.values():
        harmful_uses = [use for use in uses if not use.harmless_reason]
        if harmful_uses:
            yield _object_finding(harmful_uses, path)
        else:
            harmless_uses += uses
    yield from _harmless_findings(harmless_uses)


def _unknown_objects(facts: CheckFacts, resource: Resource, clause_name: ClauseName, reason: Unknown) -> Finding:
    finding = unknown_finding(clause_name, Subject("Resource", resource.full_name), reason, resource=resource.full_name)
    if facts.cluster.source is not Source.SNAPSHOT or reason.missing:  # a dump cannot supply what was forbidden
        return finding
    dump = shell("kubectl", "get", resource.full_name, "-A", "-o", "json", "--show-managed-fields")
    return replace(finding, remedy=(Remedy.of("dump-objects", dump=dump, file=resource.plural),))


def _usage_of(facts: CheckFacts, resource: Resource) -> KindUsage:
    usages = (each for each in facts.api.written if each.resource.full_name == resource.full_name)
    return next(usages, KindUsage(resource, NOT_REQUESTED))


def _all_uses(facts: CheckFacts) -> Iterator[_ApiUse]:
    for usage in facts.api.written:
        for written_object in () if isinstance(usage.objects, Unknown) else usage.objects:
            for written in written_object.signs:
                row = removed_on_path(facts.path, written.api_version, written.kind)
                if row is not None:
                    yield _ApiUse(
                        written_object,
                        usage.resource,
                        written,
                        row,
                        _harmless_reason(written_object, written, facts.path),
                    )


def _harmless_reason(written_object: WrittenObject, written: WriteRecord, path: UpgradePath) -> str:
    annotations = {AUTO_UPDATE_ANNOTATION: "true"} if written_object.kept_by_server else None
    harmless = find_no_change_needed(written, written_object.of.name, annotations)
    if harmless is not None:
        return with_confidence(harmless.why, harmless.source)
    return _APPLIED_AGAIN if written.manager == _APPLY_MANAGER and _was_applied_again(written_object, path) else ""


def _was_applied_again(written_object: WrittenObject, path: UpgradePath) -> bool:
    """Whether kubectl apply has replaced the version since: it writes the annotation together with these fields."""
    applied_versions = [sign for sign in written_object.signs if sign.by is WriteSource.LAST_APPLIED]
    return bool(applied_versions) and all(
        removed_on_path(path, sign.api_version, sign.kind) is None
        and removed_already(sign.api_version, sign.kind, path) is None
        for sign in applied_versions
    )


def _object_finding(uses: list[_ApiUse], path: UpgradePath) -> Finding:
    """The finding about one object; the surest use decides, then the version that is removed first."""
    main_use = min(uses, key=lambda use: (use.written.by is not WriteSource.LAST_APPLIED, use.row.removed.minor))
    is_applied = main_use.written.by is WriteSource.LAST_APPLIED
    clients = _client_names(use for use in uses if use.row == main_use.row)
    stays_evidence = () if is_applied else (f"{STAYS_NOTE} (confidence: {Confidence.MEDIUM.value})",)
    object_name = main_use.written_object.of
    return Finding.of(
        "api-written/found",
        Subject(object_name.kind, object_name.name, object_name.namespace),
        (
            *(_written_evidence(use.written) for use in uses[:_MAX_EVIDENCE]),
            *stays_evidence,
            *removal_sources(main_use.row),
        ),
        severity=removal_severity(main_use.row, Severity.HIGH if is_applied else Severity.MEDIUM),
        remedy=tuple(_object_remedies(uses, path)),
        root_cause=api_subject(main_use.row),
        clients="" if is_applied else " and ".join(clients),
        api_version=main_use.written.api_version,
        removed=format_version(main_use.row.removed),
    )


def _written_evidence(written: WriteRecord) -> str:
    if written.by is WriteSource.LAST_APPLIED:
        return f"{written.by.value}: {written.api_version}"
    part = f", {written.subresource}" if written.subresource else ""
    when = f", last at {written.time}" if written.time else ""
    return (
        f"{written.by.value}: {written.api_version} by {written.manager or _UNNAMED_CLIENT} "
        f"({written.operation}{part}){when}"
    )


def _client_names(uses: Iterable[_ApiUse]) -> tuple[str, ...]:
    """The clients that wrote the object, by the names that they report, each once."""
    clients = (use.written.manager or _UNNAMED_CLIENT for use in uses if use.written.by is WriteSource.MANAGED_FIELDS)
    return tuple(dict.fromkeys(clients))


def _object_remedies(uses: Sequence[_ApiUse], path: UpgradePath) -> Iterator[Remedy]:
    """A client that applies the manifest writes its managedFields, too."""
    for use in uses:
        object_name = use.written_object.of
        if use.written.by is WriteSource.LAST_APPLIED:
            kind_name = use.resource.full_name
            show_command = kubectl(
                "apply view-last-applied", kind_name, object_name.name, object_name.namespace, "-o", "yaml"
            )
            yield from rewrite_remedies(
                use.row, path, file_name(object_name.name), f"{show_command} > {file_name(object_name.name)}"
            )
    replacement = replacement_text(uses[0].row, path)
    for manager in _client_names(uses):
        if manager.startswith("helm"):
            yield Remedy.of("upgrade-chart", then=replacement)
        elif not manager.startswith("kubectl"):
            yield Remedy.of("update-manager", manager=manager, then=replacement)
        elif not any(use.written.by is WriteSource.LAST_APPLIED for use in uses):
            yield Remedy.of("find-writer", then=replacement)


def _harmless_findings(uses: Iterable[_ApiUse]) -> Iterator[Finding]:
    """Harmless uses, grouped by their explanation."""
    by_reason: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for use in uses:
        by_reason[use.written.kind, use.written.api_version, use.harmless_reason][
            str(Subject(use.written_object.of.kind, use.written_object.of.name, use.written_object.of.namespace))
        ] = None
    for (kind, api_version, reason), names in by_reason.items():
        subject = Subject(kind, join_names(list(names)))
        yield Finding.of("api-written/explained", subject, api_version=api_version, why=reason)


# Requests for removed APIs, as the metrics of the API server count them.


_MAX_LINE_LENGTH = 200  # characters of a line that could not be read


def judge_requests(facts: CheckFacts) -> Iterator[Finding]:
    """The metric names the removal release of each request, which decides where the table has no row."""
    path, lines = facts.path, facts.api.requested
    removes_apis = any(not row.is_alpha for row in removed_between(path.now, path.target))
    if isinstance(lines, Unknown):
        if removes_apis:
            unknown_requests = unknown_finding("api-requested", cluster_subject(facts), lines)
            yield replace(
                unknown_requests,
                remedy=(*unknown_requests.remedy, *_insight_remedies(facts, format_version(path.target))),
            )
        return
    counted_requests = parse_deprecated_requests("\n".join(lines))
    if counted_requests.unreadable and path.steps:
        reason = Unknown(f"a line of the metric cannot be read: {counted_requests.unreadable[0][:_MAX_LINE_LENGTH]}")
        yield unknown_finding("api-requested", cluster_subject(facts), reason)
    removed_requests = [
        (each, removed)
        for each in counted_requests.requests
        if (removed := _removed_in(each)) is not None
        and (path.now < minor_of(removed) and not path.target < minor_of(removed))
    ]
    for request, removed in removed_requests:
        yield _request_finding(facts, request, removed)
    if removes_apis and not removed_requests and not counted_requests.unreadable:
        rule = rule_basis("deprecated-requests")
        evidence = (rule.clause, str(rule.source))
        yield Finding.of("api-requested/none", cluster_subject(facts), evidence, target=format_version(path.target))


def _row_of_request(request: DeprecatedRequest) -> RemovedApi | None:
    """The row of the subresource, such as evictions, or else of the resource."""
    subresource_row = find_by_resource(request.api_version, f"{request.resource}/{request.subresource}")
    return subresource_row or request.row


def _removed_in(request: DeprecatedRequest) -> Version | None:
    """The removal release by the table, or else by the server."""
    row = _row_of_request(request)
    return request.removed if row is None else row.removed


def _request_finding(facts: CheckFacts, request: DeprecatedRequest, removed: Version) -> Finding:
    row, subresource = _row_of_request(request), f"/{request.subresource}" if request.subresource else ""
    resource = f"{request.resource}{subresource}"
    labels = f'group="{request.group}",version="{request.version}",resource="{request.resource}"'
    metric_text = f"{METRIC}{{{labels}}}, removed_release {request.removed_release or 'not said'}"
    evidence = (metric_text, "it has no client names, and counts only since this API server started")
    name = ".".join(filter(None, (f"{request.resource}{subresource}", request.version, request.group)))
    return Finding.of(
        "api-requested/asked",
        Subject("API", name),
        (*evidence, *(removal_sources(row) if row is not None else ())),
        severity=Severity.HIGH if row is None else removal_severity(row, Severity.HIGH),
        remedy=tuple(_client_remedies(facts, row, format_version(minor_of(removed)))),
        root_cause=Subject("API", request.api_version),
        what=resource,
        api_version=request.api_version,
        in_words=format_version(minor_of(removed)),
    )


def _client_remedies(facts: CheckFacts, row: RemovedApi | None, removed: str) -> Iterator[Remedy]:
    """Source: EKS best practices, cluster upgrades (query of the audit log)."""
    yield from _insight_remedies(facts, removed)
    yield Remedy.of(
        "ask-audit-log",
        command=_audit_log_command(facts.cluster_name, region_flags(facts)) if facts.cluster_name else "",
    )
    yield Remedy.of("update-client", then=replacement_text(row, facts.path) if row is not None else "")


def _insight_remedies(facts: CheckFacts, version: str) -> Iterator[Remedy]:
    """Source: EKS API, ListInsights and DescribeInsight (deprecationDetails, clientStats)."""
    yield Remedy.of("ask-insights", command=_insights_command(facts, version) if facts.cluster_name else "")


def _insights_command(facts: CheckFacts, version: str) -> str:
    filter_flags = ("--filter", f"kubernetesVersions={version}")
    return aws_command(facts, "eks", "list-insights", "--cluster-name", facts.cluster_name, *filter_flags)


_AUDIT_LOG_QUERY = (
    'fields @message | filter `annotations.k8s.io/deprecated` = "true" | '
    "stats count(*) by userAgent, user.username, requestURI"
)


def _audit_log_command(cluster: str, region_flags: tuple[str, ...]) -> str:
    log = shell("aws", "logs", "start-query", "--log-group-name", f"/aws/eks/{cluster}/cluster", *region_flags)
    times = "--start-time $(($(date +%s) - 86400)) --end-time $(date +%s)"
    start_command = (
        f"{log} {times} {shell('--query-string', _AUDIT_LOG_QUERY, '--query', 'queryId', '--output', 'text')}"
    )
    results = shell("aws", "logs", "get-query-results", *region_flags)
    return f'query=$({start_command}) && sleep 20 && {results} --query-id "$query"'
