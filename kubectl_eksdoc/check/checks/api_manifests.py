"""API versions in stored Helm manifests and in given files: removed on the upgrade path, removed later or already, and
those of custom resources.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from kubectl_eksdoc.amazon.removed_apis import (
    CustomApi,
    RemovedApi,
    is_convertible,
    is_unknown_kind,
    manual_conversions,
    removals_not_read,
    replacement_of,
)
from kubectl_eksdoc.amazon.versions import format_version
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import HelmRelease, ManifestObject, ManifestText, UnreadablePart
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.connection import namespace_flag, shell
from kubectl_eksdoc.model.findings import CodeName, Finding, Remedy, Severity, Subject, When
from kubectl_eksdoc.model.kinds import Unknown

from ..checking import CheckFacts, Judge, UpgradeCheck, cluster_subject, unknown_finding
from . import api_objects
from .api_objects import api_subject, removal_severity, removal_sources, replacement_text, rewrite_remedies

EvidenceOf = Callable[[list[ManifestObject]], tuple[str, ...]]
"""Formats documents as evidence."""


def deprecated_uses(
    facts: CheckFacts, code: CodeName, subject: Subject, manifest: ManifestText, evidence_of: EvidenceOf
) -> Iterator[Finding]:
    """Uses of deprecated versions that the target still serves."""
    documents_by_row: dict[RemovedApi, list[ManifestObject]] = defaultdict(list)
    for document in manifest.documents:
        row = facts.tables.find_removed_api(document.of.api_version, document.of.kind)
        if row is not None and not row.is_alpha and row.is_deprecated_at(facts.path.target):
            documents_by_row[row].append(document)
    for row, documents in documents_by_row.items():
        removal_text = f"its removal with {format_version(row.removed)} is {'announced' if row.is_planned else 'done'}"
        yield Finding.of(
            f"{code}/deprecated",
            subject,
            (*evidence_of(documents), removal_text, str(row.source)),
            root_cause=api_subject(row),
            count=len(documents),
            kind=row.kind,
            api_version=row.api_version,
            since=format_version(row.deprecated or row.removed),
            removed=format_version(row.removed),
            then=replacement_text(row, facts.path),
        )


def custom_resource_uses(
    facts: CheckFacts, code: CodeName, subject: Subject, manifest: ManifestText, evidence_of: EvidenceOf
) -> Iterator[Finding]:
    """Uses of custom resources; the CustomResourceDefinitions show which versions the cluster serves."""
    documents_by_row: dict[tuple[CustomApi, str], list[ManifestObject]] = defaultdict(list)
    for document in manifest.documents:
        row = facts.tables.find_custom_api(document.of.api_version, document.of.kind)
        if row is not None:
            documents_by_row[row, document.of.kind].append(document)
    for (row, kind), documents in documents_by_row.items():
        yield _custom_resource_finding(facts, code, subject, (row, kind), len(documents), evidence_of(documents))


def _custom_resource_finding(
    facts: CheckFacts,
    code: CodeName,
    subject: Subject,
    row_and_kind: tuple[CustomApi, str],
    count: int,
    evidence: tuple[str, ...],
) -> Finding:
    row, kind = row_and_kind
    served = _is_served(facts, row, kind)
    return Finding.of(
        f"{code}/custom-unknown"
        if isinstance(served, str)
        else f"{code}/custom-served"
        if served
        else f"{code}/custom-gone",
        subject,
        (*evidence, str(row.source)),
        root_cause=Subject("API", row.api_version),
        count=count,
        kind=kind,
        api_version=row.api_version,
        software=row.software,
        removed=row.removed and format_version(row.removed),
        deprecated=row.deprecated and format_version(row.deprecated),
        why=served if isinstance(served, str) else "",
        replacement=row.replacement,
    )


def _is_served(facts: CheckFacts, row: CustomApi, kind: str) -> bool | str:
    """Whether the cluster serves the version, or a text why that is unknown."""
    if facts.cluster.source is Source.FILE:
        return "no cluster was read"
    if unread_lists := facts.cluster.not_read(kinds.DEFINITIONS):
        return f"its CustomResourceDefinitions were not read ({unread_lists[0].detail or unread_lists[0].state.value})"
    group, _, version = row.api_version.rpartition("/")
    defined = [each for each in facts.cluster.definitions if each.kind == kind and each.name.endswith(f".{group}")]
    if not defined:
        return "the cluster has no CustomResourceDefinition of it"
    return any(each.name == version and each.served for of in defined for each in of.versions)


_MAX_DOCUMENTS = 10
_STDIN = "-"
_Uses = dict[RemovedApi, list[ManifestObject]]
_Find = Callable[[str, str], RemovedApi | None]
_T = TypeVar("_T")


def judge_releases(facts: CheckFacts) -> Iterator[Finding]:
    """Uses of versions that are removed on the path, and manifests that could not be read."""
    releases = facts.api.releases
    if isinstance(releases, Unknown):
        yield unknown_finding("api-in-helm/releases", cluster_subject(facts), releases)
        return
    for release in releases:
        if isinstance(release.manifest, Unknown):
            yield unknown_finding("api-in-helm/manifest", _release_subject(release), release.manifest)
            continue
        for manifest in (release.manifest, release.hooks):
            yield from _unread_parts(facts, "api-in-helm", _release_subject(release), manifest)
            for row, documents in _uses_of_removed(manifest, _removed_on_path(facts)).items():
                yield _helm_finding(
                    facts, release, row, documents, removal_severity(row, Severity.HIGH), manifest is release.hooks
                )


def judge_releases_today(facts: CheckFacts) -> Iterator[Finding]:
    """Uses of versions already removed or removed later, and custom resources; `judge_releases` reports unknowns."""
    releases = facts.api.releases
    for release in () if isinstance(releases, Unknown) else releases:
        if isinstance(release.manifest, Unknown):
            continue
        for manifest in (release.manifest, release.hooks):
            for row, documents in _uses_of_removed(manifest, _removed_already(facts)).items():
                yield _helm_finding(
                    facts, release, row, documents, Severity.MEDIUM, manifest is release.hooks, today=True
                )
        yield from _deprecated_and_custom(facts, "api-in-helm", _release_subject(release), release.manifest)


def judge_files(facts: CheckFacts) -> Iterator[Finding]:
    """Uses of versions that are removed on the path, and files that could not be read."""
    for manifest in facts.api.manifests:
        mistyped = tuple(_unknown_kinds(facts, manifest))
        yield from _unread_parts(
            facts, "api-in-manifest", file_subject(manifest), replace(manifest, unread=(*manifest.unread, *mistyped))
        )
        for row, documents in _uses_of_removed(manifest, _removed_on_path(facts)).items():
            yield _file_finding(facts, manifest, row, documents, removal_severity(row, Severity.HIGH))


def _unknown_kinds(facts: CheckFacts, manifest: ManifestText) -> Iterator[UnreadablePart]:
    """A misspelled kind such as ``kind: podDisruptionBudget`` is in no table."""
    for document in manifest.documents:
        if is_unknown_kind(document.of.api_version, document.of.kind, facts.path.target):
            yield UnreadablePart(document.line, f"{document.of.api_version} has no kind {document.of.kind}")


def judge_files_today(facts: CheckFacts) -> Iterator[Finding]:
    """Uses of versions already removed or removed later, and custom resources; `judge_files` reports unknowns."""
    for manifest in facts.api.manifests:
        for row, documents in _uses_of_removed(manifest, _removed_already(facts)).items():
            # The upgrade of a cluster does not change it; for manifests alone it is the only question.
            file_severity = Severity.HIGH if facts.cluster.source is Source.FILE else Severity.MEDIUM
            yield _file_finding(facts, manifest, row, documents, file_severity, today=True)
        yield from _deprecated_and_custom(facts, "api-in-manifest", file_subject(manifest), manifest)


def _deprecated_and_custom(
    facts: CheckFacts, code: CodeName, subject: Subject, manifest: ManifestText
) -> Iterator[Finding]:
    def evidence_of(documents: list[ManifestObject]) -> tuple[str, ...]:
        return _first_texts(documents, lambda each: f"{_location(manifest, each.line)} {_document_text(each)}".strip())

    for judge in (deprecated_uses, custom_resource_uses):
        yield from judge(facts, code, subject, manifest, evidence_of)


def _removed_on_path(facts: CheckFacts) -> _Find:
    return lambda api_version, kind: facts.tables.find_removed_between(
        api_version, kind, facts.path.now, facts.path.target
    )


def _removed_already(facts: CheckFacts) -> _Find:
    def find(api_version: str, kind: str) -> RemovedApi | None:
        row = facts.tables.find_removed_api(api_version, kind)
        return None if row is None or facts.path.now < row.removed else row

    return find


def _uses_of_removed(manifest: ManifestText, find: _Find) -> _Uses:
    documents_by_row: _Uses = defaultdict(list)
    for document in manifest.documents:
        row = find(document.of.api_version, document.of.kind)
        if row is not None:
            documents_by_row[row].append(document)
    return documents_by_row


def _helm_finding(
    facts: CheckFacts,
    release: HelmRelease,
    row: RemovedApi,
    documents: list[ManifestObject],
    finding_severity: Severity,
    hooks: bool,
    today: bool = False,
) -> Finding:
    """Helm builds the stored manifest before it upgrades (helm pkg/action/upgrade.go, performUpgrade); stored hooks run
    with a rollback, and the hooks of the chart are like them."""
    stored = f"revision {release.revision}, {release.status or 'of no known status'}"
    mapkubeapis = Remedy.of("helm-mapkubeapis", command=_helm_command("mapkubeapis", release) if row.mapped else "")
    return Finding.of(
        "api-in-helm/removed",
        _release_subject(release),
        (*_first_texts(documents, lambda document: _document_text(document)), stored, *removal_sources(row)),
        severity=finding_severity,
        remedy=(*(Remedy(hand.what, "", When.LATER) for hand in manual_conversions(row)), mapkubeapis),
        root_cause=api_subject(row),
        today=today,
        hooks=hooks,
        count=len(documents),
        kind=row.kind,
        api_version=row.api_version,
        removed=format_version(row.removed),
        then=replacement_text(row, facts.path),
        manifest=_helm_command("get manifest", release),
    )


def _helm_command(verb: str, release: HelmRelease) -> str:
    """A command about one release; a name that begins with a dash follows ``--``."""
    namespace = namespace_flag(release.namespace)
    words = (*namespace, "--", release.name) if release.name.startswith("-") else (release.name, *namespace)
    return shell("helm", *verb.split(), *words)


def _file_finding(
    facts: CheckFacts,
    manifest: ManifestText,
    row: RemovedApi,
    documents: list[ManifestObject],
    finding_severity: Severity,
    today: bool = False,
) -> Finding:
    evidence = _first_texts(
        documents, lambda document: f"{_location(manifest, document.line)} {_document_text(document)}"
    )
    is_convertible = not (manifest.template or manifest.unread) and len(set(_converted_groups(facts, manifest))) == 1
    file = manifest.path if is_convertible and manifest.path != _STDIN else ""
    return Finding.of(
        "api-in-manifest/removed",
        file_subject(manifest),
        (*evidence, *removal_sources(row)),
        severity=finding_severity,
        remedy=tuple(rewrite_remedies(row, facts.path, file)),
        root_cause=api_subject(row),
        today=today,
        count=len(documents),
        kind=row.kind,
        api_version=row.api_version,
        removed=format_version(row.removed),
    )


def _converted_groups(facts: CheckFacts, manifest: ManifestText) -> Iterator[str | None]:
    """For each object the API group after kubectl convert, None where it cannot convert. The command fails completely
    at an object of another group than that of its --output-version (kubernetes pkg/kubectl/cmd/convert/convert.go:
    tryConvert)."""
    for document in manifest.documents:
        row = facts.tables.find_removed_api(document.of.api_version, document.of.kind)
        new_version = document.of.api_version if row is None else replacement_of(row, facts.path.now)
        is_known = isinstance(new_version, str) and (row is None or is_convertible(row))
        yield str(new_version).rpartition("/")[0] if is_known else None


def _first_texts(items: list[_T], text_of: Callable[[_T], str]) -> tuple[str, ...]:
    more = (f"and {len(items) - _MAX_DOCUMENTS} more",) if len(items) > _MAX_DOCUMENTS else ()
    return (*map(text_of, items[:_MAX_DOCUMENTS]), *more)


def _document_text(document: ManifestObject) -> str:
    object_name = document.of
    return (
        f"{object_name.kind} {object_name.namespace}/{object_name.name}"
        if object_name.namespace
        else f"{object_name.kind} {object_name.name}"
    )


def _unread_parts(facts: CheckFacts, code: CodeName, subject: Subject, manifest: ManifestText) -> Iterator[Finding]:
    """Templates separately: they are valid, and another command renders objects that can be judged."""
    broken = [each for each in manifest.unread if not each.template]
    templates = [each for each in manifest.unread if each.template]
    for parts in filter(None, (broken, templates)):
        yield Finding.of(
            f"{code}/unread-parts",
            subject,
            _first_texts(
                [each for each in parts if each.line], lambda each: f"{_location(manifest, each.line)} {each.why}"
            ),
            line=str(parts[0].line or ""),
            why=parts[0].why,
            more=str(len(parts[1:]) or ""),
            maker=_render_command(facts, manifest.path) if parts is templates else "",
        )


def _render_command(facts: CheckFacts, path: str) -> str:
    """The command that renders the objects of a chart or of a kustomization; an example for other templates. Charts
    read the Kubernetes version from .Capabilities: it is Helm's default without --kube-version."""
    folder, _, name = path.rpartition("/")
    if name.lower().startswith("kustomization"):
        return shell("kubectl", "kustomize", folder or ".")
    chart, separator, _ = path.rpartition("/templates/")
    chart_path = chart if separator else (folder or ".") if name == "Chart.yaml" else "CHART"
    return shell("helm", "template", "--kube-version", format_version(facts.path.target), chart_path)


def _location(manifest: ManifestText, line: int) -> str:
    """``deploy/web.yaml:12``; ``line 12`` without a file."""
    return f"line {line}" if manifest.path in ("", _STDIN) else f"{manifest.path}:{line}"


def _release_subject(release: HelmRelease) -> Subject:
    return Subject("HelmRelease", release.name, release.namespace)


def file_subject(manifest: ManifestText) -> Subject:
    return Subject("File", "standard input" if manifest.path == _STDIN else manifest.path)


# Checks of APIs that Kubernetes removes on the upgrade path: clients that request them, and objects written in them.


def _with_table_end(code: CodeName, judge: Judge) -> Judge:
    """`judge`, with an unknown finding where the table of removed APIs ends before the target."""

    def judge_with_end(facts: CheckFacts) -> Iterator[Finding]:
        yield from judge(facts)
        beyond_table = removals_not_read(facts.path.target) if facts.path.steps else None
        if beyond_table is not None and (code != "api-in-manifest" or facts.api.manifests):
            target = format_version(facts.path.target)
            subject = Subject("Kubernetes", target) if facts.cluster.source is Source.FILE else cluster_subject(facts)
            yield unknown_finding(f"{code}/table-ends", subject, beyond_table, target=target)

    return judge_with_end


def _path_check(code: CodeName, judge: Judge) -> UpgradeCheck:
    return UpgradeCheck.of(code, _with_table_end(code, judge))


def _present_check(code: CodeName, judge: Judge) -> UpgradeCheck:
    """A check of the present; the CustomResourceDefinitions show which custom resources are served."""
    return UpgradeCheck.of(code, judge, kinds.DEFINITIONS).at_gate(judge, None)


CHECKS = (
    _path_check("api-requested", api_objects.judge_requests),
    _path_check("api-written", api_objects.judge_objects),
    _path_check("api-in-helm", judge_releases),
    _path_check("api-in-manifest", judge_files),
    _present_check("api-in-helm", judge_releases_today),
    _present_check("api-in-manifest", judge_files_today),
)
