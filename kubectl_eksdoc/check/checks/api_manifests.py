"""Which API versions are in the manifests that Helm has stored, and in files that the user names: those that go on the
way, those that go later, and those of custom resources.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from kubectl_eksdoc.amazon.custom_apis import CustomApi
from kubectl_eksdoc.amazon.removed_apis import RemovedApi, by_hand, convertible, instead, never_had, unread
from kubectl_eksdoc.amazon.skew import in_words
from kubectl_eksdoc.check.checking import Judge, UpgradeCheck, cluster_of, unknown
from kubectl_eksdoc.check.checks import api_objects
from kubectl_eksdoc.check.checks.api_objects import follows, not_served, of_api, rewritten, severity, sources
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Document, HelmRelease, ManifestText, Unread
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.connection import in_namespace, shell
from kubectl_eksdoc.model.findings import Code, CodeName, Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.missing_rights import allow

Said = Callable[[list[Document]], tuple[str, ...]]
"""Documents as evidence."""


def deprecated(
    facts: CheckFacts, code: CodeName, subject: Subject, manifest: ManifestText, said: Said
) -> Iterator[Finding]:
    """Told ahead: the target serves it still."""
    found: dict[RemovedApi, list[Document]] = defaultdict(list)
    for each in manifest.documents:
        row = facts.tables.removed_api(each.of.api_version, each.of.kind)
        if row is not None and not row.alpha and row.ahead(facts.way.target):
            found[row].append(each)
    for row, documents in found.items():
        goes = f"its removal with {in_words(row.removed)} is {'announced' if row.planned else 'done'}"
        message = (
            f"{len(documents)} of kind {row.kind} in {row.api_version}, deprecated since"
            f" {in_words(row.deprecated or row.removed)}: Kubernetes {in_words(row.removed)} will not serve it"
        )
        remedies = (Remedy(then, "", When.LATER),) if (then := follows(row, facts.way)) else ()
        evidence = (*said(documents), goes, str(row.source))
        yield Finding(
            Code.of(code), Severity.LOW, Status.PASS, subject, message, evidence, remedies, root_cause=of_api(row)
        )


def custom(
    facts: CheckFacts, code: CodeName, subject: Subject, manifest: ManifestText, said: Said
) -> Iterator[Finding]:
    """What the cluster serves, its CustomResourceDefinitions tell."""
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
    served, what, newer = _served(facts, row, kind), f"{count} of kind {kind} in {row.api_version}", _newer(row)
    remedies = (Remedy(f"Write {row.replacement} instead.", "", When.LATER),) if row.replacement else ()
    evidence, api = (*evidence, str(row.source)), Subject("API", row.api_version)
    if isinstance(served, Unknown):
        message = f"whether {what} can be applied is not known: {newer}, and {served.why}"
        right = (allow(served.missing),) if served.missing else ()
        missing = served.missing or "which versions the cluster serves"
        bad, status = Severity.MEDIUM, Status.UNKNOWN
        return Finding(Code.of(code), bad, status, subject, message, evidence, (*right, *remedies), missing, api)
    if served:
        message = f"{what}, which the cluster serves: {newer}"
        return Finding(Code.of(code), Severity.LOW, Status.PASS, subject, message, evidence, remedies, root_cause=api)
    message = f"{what}, which the cluster does not serve: {newer}"
    return Finding(Code.of(code), Severity.MEDIUM, Status.FAIL, subject, message, evidence, remedies, root_cause=api)


def _newer(row: CustomApi) -> str:
    if row.removed is None:
        return f"{row.software} {in_words(row.deprecated) if row.deprecated else ''} deprecates it".replace("  ", " ")
    return f"{row.software} {in_words(row.removed)} and newer do not serve it"


def _served(facts: CheckFacts, row: CustomApi, kind: str) -> bool | Unknown:
    if facts.cluster.source is Source.FILE:
        return Unknown("no cluster was read")
    if unread := facts.cluster.unread(kinds.DEFINITIONS):
        why = unread[0].detail or unread[0].state.value
        return Unknown(f"its CustomResourceDefinitions were not read ({why})")
    group, _, version = row.api_version.rpartition("/")
    defined = [each for each in facts.cluster.definitions if each.kind == kind and each.name.endswith(f".{group}")]
    if not defined:
        return Unknown("the cluster has no CustomResourceDefinition of it")
    return any(each.name == version and each.served for of in defined for each in of.versions)


_MOST = 10
_STDIN = "-"
_Uses = dict[RemovedApi, list[Document]]
_Find = Callable[[str, str], RemovedApi | None]
_T = TypeVar("_T")


def judge_releases(facts: CheckFacts) -> Iterator[Finding]:
    """What goes on the way, and what could not be read."""
    releases = facts.api.releases
    if isinstance(releases, Unknown):
        yield unknown("api-in-helm", cluster_of(facts), "which API versions the releases of Helm use", releases)
        return
    for each in releases:
        if isinstance(each.manifest, Unknown):
            yield unknown("api-in-helm", _release(each), "which API versions its manifest uses", each.manifest)
            continue
        for manifest, holds, fails in _parts(each):
            yield from _unread(facts, "api-in-helm", _release(each), manifest)
            for row, documents in _uses(manifest, _going(facts)).items():
                message = f"{holds} {_objects(row, documents)}, {not_served(row)}: then {fails}"
                yield _in_helm(facts, each, row, documents, severity(row, Severity.HIGH), message)


def _parts(each: HelmRelease) -> Iterator[tuple[ManifestText, str, str]]:
    """Each with what fails once a version in it is gone. Helm builds what it has stored before it upgrades (helm
    pkg/action/upgrade.go, performUpgrade); stored hooks run with a rollback, and those of the chart are like them."""
    if isinstance(each.manifest, ManifestText):
        yield each.manifest, "its manifest has", "helm upgrade fails"
        yield (
            each.hooks,
            "its hooks have",
            "what runs them fails: helm rollback, helm upgrade if its chart has them",
        )


def judge_releases_today(facts: CheckFacts) -> Iterator[Finding]:
    """What is gone already, what goes later, and custom resources; what is unknown `judge_releases` says."""
    releases = facts.api.releases
    for each in () if isinstance(releases, Unknown) else releases:
        for manifest, holds, fails in _parts(each):
            for row, documents in _uses(manifest, _gone(facts)).items():
                since = f"which is not served since {in_words(row.removed)}"
                message = f"{holds} {_objects(row, documents)}, {since}: today {fails}"
                yield _in_helm(facts, each, row, documents, Severity.MEDIUM, message)
        if isinstance(each.manifest, ManifestText):
            yield from _beside(facts, "api-in-helm", _release(each), each.manifest)


def judge_files(facts: CheckFacts) -> Iterator[Finding]:
    """What goes on the way, and what could not be read."""
    for each in facts.api.manifests:
        mistyped = tuple(_mistyped(facts, each))
        yield from _unread(facts, "api-in-manifest", file_of(each), replace(each, unread=(*each.unread, *mistyped)))
        for row, documents in _uses(each, _going(facts)).items():
            message = f"{_objects(row, documents)}, {not_served(row)}"
            yield _in_file(facts, each, row, documents, severity(row, Severity.HIGH), message)


def _mistyped(facts: CheckFacts, manifest: ManifestText) -> Iterator[Unread]:
    """``kind: podDisruptionBudget``: it is in no table, whatever was meant."""
    for at in manifest.documents:
        if never_had(at.of.api_version, at.of.kind, facts.way.target):
            yield Unread(at.line, f"{at.of.api_version} has no kind {at.of.kind}")


def judge_files_today(facts: CheckFacts) -> Iterator[Finding]:
    """What is gone already, what goes later, and custom resources; what is unknown `judge_files` says."""
    for each in facts.api.manifests:
        for row, documents in _uses(each, _gone(facts)).items():
            since = f"which is not served since {in_words(row.removed)}: it would be refused today"
            message = f"{_objects(row, documents)}, {since}"
            # The upgrade of a cluster changes nothing about it; of manifests alone it is all that is asked.
            bad = Severity.HIGH if facts.cluster.source is Source.FILE else Severity.MEDIUM
            yield _in_file(facts, each, row, documents, bad, message)
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


def _objects(row: RemovedApi, documents: list[Document]) -> str:
    return f"{len(documents)} of kind {row.kind} in {row.api_version}"


def _in_helm(
    facts: CheckFacts, each: HelmRelease, row: RemovedApi, documents: list[Document], how_bad: Severity, message: str
) -> Finding:
    rewrites = (
        "mapkubeapis rewrites what Helm has stored, where kind stands directly below apiVersion, and nothing in the "
        f"cluster: {_helm('mapkubeapis', each)}"
        if row.mapped
        else "mapkubeapis has no mapping for it: upgrade the release first."
    )
    late = "If the version goes before the release is upgraded, helm upgrade says 'no matches for kind'; the plugin"
    newer = f"Upgrade the release to a version of its chart without it. {follows(row, facts.way)}".strip()
    remedies = (
        Remedy(
            f"{newer} What is in it now:",
            _helm("get manifest", each),
            When.LATER,
        ),
        *(Remedy(hand.what, "", When.LATER) for hand in by_hand(row)),
        Remedy(f"{late} {rewrites}"),
    )
    stored = f"revision {each.revision}, {each.status or 'of no known status'}"
    evidence = (*_shown(documents, lambda document: _named(document)), stored, *sources(row))
    of, api = _release(each), of_api(row)
    return Finding(Code.of("api-in-helm"), how_bad, Status.FAIL, of, message, evidence, remedies, root_cause=api)


def _helm(verb: str, each: HelmRelease) -> str:
    """A command about one release, whatever its name looks like."""
    namespace = in_namespace(each.namespace)
    words = (*namespace, "--", each.name) if each.name.startswith("-") else (each.name, *namespace)
    return shell("helm", *verb.split(), *words)


def _in_file(
    facts: CheckFacts, each: ManifestText, row: RemovedApi, documents: list[Document], how_bad: Severity, message: str
) -> Finding:
    evidence = _shown(documents, lambda document: f"{_at(each, document.line)} {_named(document)}")
    whole = not (each.template or each.unread) and len(set(_converted(facts, each))) == 1
    file = each.path if whole and each.path != _STDIN else ""
    remedies = tuple(rewritten(row, facts.way, file))
    told, api = (*evidence, *sources(row)), of_api(row)
    return Finding(
        Code.of("api-in-manifest"), how_bad, Status.FAIL, file_of(each), message, told, remedies, root_cause=api
    )


def _converted(facts: CheckFacts, manifest: ManifestText) -> Iterator[str | None]:
    """Of each object the group that kubectl convert would give it, None where it gives none. It fails as a whole at an
    object of another group than that of its --output-version (kubernetes pkg/kubectl/cmd/convert/convert.go:
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
    """Templates apart: they are no mistake, and another command makes what can be judged of them."""
    broken = [each for each in manifest.unread if not each.template]
    templates = [each for each in manifest.unread if each.template]
    make = Remedy("Check what is made of it.", f"{_maker(facts, manifest.path)} | kubectl eksdoc check -f -")
    for parts, remedy in ((broken, Remedy("Fix it, or leave it out.")), (templates, make)):
        if not parts:
            continue
        line, why = parts[0].line, parts[0].why
        more = f"; {len(parts) - 1} more of its parts cannot be read" if len(parts) > 1 else ""
        message = f"which API versions it uses is not all known: {f'at line {line}, ' if line else ''}{why}{more}"
        evidence = _shown([each for each in parts if each.line], lambda each: f"{_at(manifest, each.line)} {each.why}")
        missing = "all of the manifest"
        yield Finding(Code.of(code), Severity.MEDIUM, Status.UNKNOWN, subject, message, evidence, (remedy,), missing)


def _maker(facts: CheckFacts, path: str) -> str:
    """The command that makes objects of a file of a chart or of a kustomization; of other templates an example. Charts
    ask .Capabilities which version they are made for: Helm's own default, unless it is told."""
    folder, _, name = path.rpartition("/")
    if name.lower().startswith("kustomization"):
        return shell("kubectl", "kustomize", folder or ".")
    chart, found, _ = path.rpartition("/templates/")
    of = chart if found else (folder or ".") if name == "Chart.yaml" else "CHART"
    return shell("helm", "template", "--kube-version", in_words(facts.way.target), of)


def _at(manifest: ManifestText, line: int) -> str:
    """``deploy/web.yaml:12``; of what is no file, ``line 12``."""
    return f"line {line}" if manifest.path in ("", _STDIN) else f"{manifest.path}:{line}"


def _release(each: HelmRelease) -> Subject:
    return Subject("HelmRelease", each.name, each.namespace)


def file_of(each: ManifestText) -> Subject:
    return Subject("File", "standard input" if each.path == _STDIN else each.path)


# APIs that Kubernetes stops serving on the way: who asks for them, and what is written in them.


def _to_the_end(code: CodeName, judge: Judge) -> Judge:
    """With it said where the table of removed APIs ends before the way does."""

    def judged(facts: CheckFacts) -> Iterator[Finding]:
        yield from judge(facts)
        beyond = unread(facts.way.target) if facts.way.steps else None
        if beyond is not None and (code != "api-in-manifest" or facts.api.manifests):
            target = in_words(facts.way.target)
            of = Subject("Kubernetes", target) if facts.cluster.source is Source.FILE else cluster_of(facts)
            yield unknown(code, of, f"which APIs {target} does not serve", beyond)

    return judged


def _on_the_way(code: CodeName, judge: Judge) -> UpgradeCheck:
    return UpgradeCheck.of(code, _to_the_end(code, judge))


def _today(code: CodeName, judge: Judge) -> UpgradeCheck:
    """Of custom resources their definitions tell what is served."""
    return UpgradeCheck.of(code, judge, kinds.DEFINITIONS).also(judge, None)


CHECKS = (
    _on_the_way("api-requested", api_objects.judge_requests),
    _on_the_way("api-written", api_objects.judge),
    _on_the_way("api-in-helm", judge_releases),
    _on_the_way("api-in-manifest", judge_files),
    # What is refused today is so with or without an upgrade.
    UpgradeCheck.of("api-refused-today", api_objects.judge_refused),
    _today("api-in-helm", judge_releases_today),
    _today("api-in-manifest", judge_files_today),
)
