"""API versions in stored Helm manifests and in given files: removed on the upgrade path, removed later or already, and
those of custom resources.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from kubectl_eksdoc.amazon.removed_apis import CustomApi, RemovedApi, by_hand, convertible, instead, never_had, unread
from kubectl_eksdoc.amazon.versions import in_words
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Document, HelmRelease, ManifestText, Unread
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.connection import in_namespace, shell
from kubectl_eksdoc.model.findings import CodeName, Finding, Remedy, Severity, Subject, When
from kubectl_eksdoc.model.kinds import Unknown

from ..checking import CheckFacts, Judge, UpgradeCheck, cluster_of, unknown
from . import api_objects
from .api_objects import follows, of_api, rewritten, severity, sources

Said = Callable[[list[Document]], tuple[str, ...]]
"""Formats documents as evidence."""


def deprecated(
    facts: CheckFacts, code: CodeName, subject: Subject, manifest: ManifestText, said: Said
) -> Iterator[Finding]:
    """Uses of deprecated versions that the target still serves."""
    found: dict[RemovedApi, list[Document]] = defaultdict(list)
    for each in manifest.documents:
        row = facts.tables.removed_api(each.of.api_version, each.of.kind)
        if row is not None and not row.alpha and row.ahead(facts.way.target):
            found[row].append(each)
    for row, documents in found.items():
        goes = f"its removal with {in_words(row.removed)} is {'announced' if row.planned else 'done'}"
        yield Finding.of(
            f"{code}/deprecated",
            subject,
            (*said(documents), goes, str(row.source)),
            root_cause=of_api(row),
            count=len(documents),
            kind=row.kind,
            api_version=row.api_version,
            since=in_words(row.deprecated or row.removed),
            removed=in_words(row.removed),
            then=follows(row, facts.way),
        )


def custom(
    facts: CheckFacts, code: CodeName, subject: Subject, manifest: ManifestText, said: Said
) -> Iterator[Finding]:
    """Uses of custom resources; the CustomResourceDefinitions show which versions the cluster serves."""
    found: dict[tuple[CustomApi, str], list[Document]] = defaultdict(list)
    for each in manifest.documents:
        row = facts.tables.custom_api(each.of.api_version, each.of.kind)
        if row is not None:
            found[row, each.of.kind].append(each)
    for (row, kind), documents in found.items():
        yield _custom(facts, code, subject, (row, kind), len(documents), said(documents))


def _custom(
    facts: CheckFacts,
    code: CodeName,
    subject: Subject,
    of: tuple[CustomApi, str],
    count: int,
    evidence: tuple[str, ...],
) -> Finding:
    row, kind = of
    served = _served(facts, row, kind)
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
        removed=row.removed and in_words(row.removed),
        deprecated=row.deprecated and in_words(row.deprecated),
        why=served if isinstance(served, str) else "",
        replacement=row.replacement,
    )


def _served(facts: CheckFacts, row: CustomApi, kind: str) -> bool | str:
    """Whether the cluster serves the version, or a text why that is unknown."""
    if facts.cluster.source is Source.FILE:
        return "no cluster was read"
    if unread := facts.cluster.unread(kinds.DEFINITIONS):
        return f"its CustomResourceDefinitions were not read ({unread[0].detail or unread[0].state.value})"
    group, _, version = row.api_version.rpartition("/")
    defined = [each for each in facts.cluster.definitions if each.kind == kind and each.name.endswith(f".{group}")]
    if not defined:
        return "the cluster has no CustomResourceDefinition of it"
    return any(each.name == version and each.served for of in defined for each in of.versions)


_MOST = 10
_STDIN = "-"
_Uses = dict[RemovedApi, list[Document]]
_Find = Callable[[str, str], RemovedApi | None]
_T = TypeVar("_T")


def judge_releases(facts: CheckFacts) -> Iterator[Finding]:
    """Uses of versions that are removed on the path, and manifests that could not be read."""
    releases = facts.api.releases
    if isinstance(releases, Unknown):
        yield unknown("api-in-helm/releases", cluster_of(facts), releases)
        return
    for each in releases:
        if isinstance(each.manifest, Unknown):
            yield unknown("api-in-helm/manifest", _release(each), each.manifest)
            continue
        for manifest in (each.manifest, each.hooks):
            yield from _unread(facts, "api-in-helm", _release(each), manifest)
            for row, documents in _uses(manifest, _going(facts)).items():
                yield _in_helm(facts, each, row, documents, severity(row, Severity.HIGH), manifest is each.hooks)


def judge_releases_today(facts: CheckFacts) -> Iterator[Finding]:
    """Uses of versions already removed or removed later, and custom resources; `judge_releases` reports unknowns."""
    releases = facts.api.releases
    for each in () if isinstance(releases, Unknown) else releases:
        if isinstance(each.manifest, Unknown):
            continue
        for manifest in (each.manifest, each.hooks):
            for row, documents in _uses(manifest, _gone(facts)).items():
                yield _in_helm(facts, each, row, documents, Severity.MEDIUM, manifest is each.hooks, today=True)
        yield from _beside(facts, "api-in-helm", _release(each), each.manifest)


def judge_files(facts: CheckFacts) -> Iterator[Finding]:
    """Uses of versions that are removed on the path, and files that could not be read."""
    for each in facts.api.manifests:
        mistyped = tuple(_mistyped(facts, each))
        yield from _unread(facts, "api-in-manifest", file_of(each), replace(each, unread=(*each.unread, *mistyped)))
        for row, documents in _uses(each, _going(facts)).items():
            yield _in_file(facts, each, row, documents, severity(row, Severity.HIGH))


def _mistyped(facts: CheckFacts, manifest: ManifestText) -> Iterator[Unread]:
    """A misspelled kind such as ``kind: podDisruptionBudget`` is in no table."""
    for at in manifest.documents:
        if never_had(at.of.api_version, at.of.kind, facts.way.target):
            yield Unread(at.line, f"{at.of.api_version} has no kind {at.of.kind}")


def judge_files_today(facts: CheckFacts) -> Iterator[Finding]:
    """Uses of versions already removed or removed later, and custom resources; `judge_files` reports unknowns."""
    for each in facts.api.manifests:
        for row, documents in _uses(each, _gone(facts)).items():
            # The upgrade of a cluster does not change it; for manifests alone it is the only question.
            bad = Severity.HIGH if facts.cluster.source is Source.FILE else Severity.MEDIUM
            yield _in_file(facts, each, row, documents, bad, today=True)
        yield from _beside(facts, "api-in-manifest", file_of(each), each)


def _beside(facts: CheckFacts, code: CodeName, subject: Subject, manifest: ManifestText) -> Iterator[Finding]:
    def said(documents: list[Document]) -> tuple[str, ...]:
        return _shown(documents, lambda each: f"{_at(manifest, each.line)} {_named(each)}".strip())

    for judge in (deprecated, custom):
        yield from judge(facts, code, subject, manifest, said)


def _going(facts: CheckFacts) -> _Find:
    return lambda api_version, kind: facts.tables.gone(api_version, kind, facts.way.now, facts.way.target)


def _gone(facts: CheckFacts) -> _Find:
    def found(api_version: str, kind: str) -> RemovedApi | None:
        row = facts.tables.removed_api(api_version, kind)
        return None if row is None or facts.way.now < row.removed else row

    return found


def _uses(manifest: ManifestText, find: _Find) -> _Uses:
    found: _Uses = defaultdict(list)
    for document in manifest.documents:
        row = find(document.of.api_version, document.of.kind)
        if row is not None:
            found[row].append(document)
    return found


def _in_helm(
    facts: CheckFacts,
    each: HelmRelease,
    row: RemovedApi,
    documents: list[Document],
    how_bad: Severity,
    hooks: bool,
    today: bool = False,
) -> Finding:
    """Helm builds the stored manifest before it upgrades (helm pkg/action/upgrade.go, performUpgrade); stored hooks run
    with a rollback, and the hooks of the chart are like them."""
    stored = f"revision {each.revision}, {each.status or 'of no known status'}"
    late = Remedy.of("helm-mapkubeapis", command=_helm("mapkubeapis", each) if row.mapped else "")
    return Finding.of(
        "api-in-helm/removed",
        _release(each),
        (*_shown(documents, lambda document: _named(document)), stored, *sources(row)),
        severity=how_bad,
        remedy=(*(Remedy(hand.what, "", When.LATER) for hand in by_hand(row)), late),
        root_cause=of_api(row),
        today=today,
        hooks=hooks,
        count=len(documents),
        kind=row.kind,
        api_version=row.api_version,
        removed=in_words(row.removed),
        then=follows(row, facts.way),
        manifest=_helm("get manifest", each),
    )


def _helm(verb: str, each: HelmRelease) -> str:
    """A command about one release; a name that begins with a dash follows ``--``."""
    namespace = in_namespace(each.namespace)
    words = (*namespace, "--", each.name) if each.name.startswith("-") else (each.name, *namespace)
    return shell("helm", *verb.split(), *words)


def _in_file(
    facts: CheckFacts,
    each: ManifestText,
    row: RemovedApi,
    documents: list[Document],
    how_bad: Severity,
    today: bool = False,
) -> Finding:
    evidence = _shown(documents, lambda document: f"{_at(each, document.line)} {_named(document)}")
    whole = not (each.template or each.unread) and len(set(_converted(facts, each))) == 1
    file = each.path if whole and each.path != _STDIN else ""
    return Finding.of(
        "api-in-manifest/removed",
        file_of(each),
        (*evidence, *sources(row)),
        severity=how_bad,
        remedy=tuple(rewritten(row, facts.way, file)),
        root_cause=of_api(row),
        today=today,
        count=len(documents),
        kind=row.kind,
        api_version=row.api_version,
        removed=in_words(row.removed),
    )


def _converted(facts: CheckFacts, manifest: ManifestText) -> Iterator[str | None]:
    """For each object the API group after kubectl convert, None where it cannot convert. The command fails completely
    at an object of another group than that of its --output-version (kubernetes pkg/kubectl/cmd/convert/convert.go:
    tryConvert)."""
    for each in manifest.documents:
        row = facts.tables.removed_api(each.of.api_version, each.of.kind)
        to = each.of.api_version if row is None else instead(row, facts.way.now)
        known = isinstance(to, str) and (row is None or convertible(row))
        yield str(to).rpartition("/")[0] if known else None


def _shown(found: list[_T], said: Callable[[_T], str]) -> tuple[str, ...]:
    more = (f"and {len(found) - _MOST} more",) if len(found) > _MOST else ()
    return (*map(said, found[:_MOST]), *more)


def _named(document: Document) -> str:
    of = document.of
    return f"{of.kind} {of.namespace}/{of.name}" if of.namespace else f"{of.kind} {of.name}"


def _unread(facts: CheckFacts, code: CodeName, subject: Subject, manifest: ManifestText) -> Iterator[Finding]:
    """Templates separately: they are valid, and another command renders objects that can be judged."""
    broken = [each for each in manifest.unread if not each.template]
    templates = [each for each in manifest.unread if each.template]
    for parts in filter(None, (broken, templates)):
        yield Finding.of(
            f"{code}/unread-parts",
            subject,
            _shown([each for each in parts if each.line], lambda each: f"{_at(manifest, each.line)} {each.why}"),
            line=str(parts[0].line or ""),
            why=parts[0].why,
            more=str(len(parts[1:]) or ""),
            maker=_maker(facts, manifest.path) if parts is templates else "",
        )


def _maker(facts: CheckFacts, path: str) -> str:
    """The command that renders the objects of a chart or of a kustomization; an example for other templates. Charts
    read the Kubernetes version from .Capabilities: it is Helm's default without --kube-version."""
    folder, _, name = path.rpartition("/")
    if name.lower().startswith("kustomization"):
        return shell("kubectl", "kustomize", folder or ".")
    chart, found, _ = path.rpartition("/templates/")
    of = chart if found else (folder or ".") if name == "Chart.yaml" else "CHART"
    return shell("helm", "template", "--kube-version", in_words(facts.way.target), of)


def _at(manifest: ManifestText, line: int) -> str:
    """``deploy/web.yaml:12``; ``line 12`` without a file."""
    return f"line {line}" if manifest.path in ("", _STDIN) else f"{manifest.path}:{line}"


def _release(each: HelmRelease) -> Subject:
    return Subject("HelmRelease", each.name, each.namespace)


def file_of(each: ManifestText) -> Subject:
    return Subject("File", "standard input" if each.path == _STDIN else each.path)


# Checks of APIs that Kubernetes removes on the upgrade path: clients that request them, and objects written in them.


def _to_the_end(code: CodeName, judge: Judge) -> Judge:
    """`judge`, with an unknown finding where the table of removed APIs ends before the target."""

    def judged(facts: CheckFacts) -> Iterator[Finding]:
        yield from judge(facts)
        beyond = unread(facts.way.target) if facts.way.steps else None
        if beyond is not None and (code != "api-in-manifest" or facts.api.manifests):
            target = in_words(facts.way.target)
            of = Subject("Kubernetes", target) if facts.cluster.source is Source.FILE else cluster_of(facts)
            yield unknown(f"{code}/table-ends", of, beyond, target=target)

    return judged


def _on_the_way(code: CodeName, judge: Judge) -> UpgradeCheck:
    return UpgradeCheck.of(code, _to_the_end(code, judge))


def _today(code: CodeName, judge: Judge) -> UpgradeCheck:
    """A check of the present; the CustomResourceDefinitions show which custom resources are served."""
    return UpgradeCheck.of(code, judge, kinds.DEFINITIONS).also(judge, None)


CHECKS = (
    _on_the_way("api-requested", api_objects.judge_requests),
    _on_the_way("api-written", api_objects.judge),
    _on_the_way("api-in-helm", judge_releases),
    _on_the_way("api-in-manifest", judge_files),
    _today("api-in-helm", judge_releases_today),
    _today("api-in-manifest", judge_files_today),
)
