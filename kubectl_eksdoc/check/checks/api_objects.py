"""In which versions the objects of the cluster were written, and who will be refused when those go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kubectl_eksdoc.amazon.upgrades.removed_apis import RemovedApi
from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.amazon.upgrades.written_kinds import going, gone_before
from kubectl_eksdoc.amazon.upgrades.written_versions import KEPT_BY_SERVER, STAYS, innocent
from kubectl_eksdoc.check.checking import cluster_of, unknown
from kubectl_eksdoc.check.checks.api_rewriting import (
    follows,
    gone_already,
    gone_on,
    not_served,
    of_api,
    rewritten,
    severity,
    sources,
)
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.check.way import UpgradePath
from kubectl_eksdoc.check.wording import doubted, listed
from kubectl_eksdoc.model.api_usage import KindUsage, Written, WrittenBy, WrittenObject
from kubectl_eksdoc.model.asked import NOT_ASKED, Confidence, Unknown
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.commands import file_of, kubectl, shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.model.kinds import Resource

_MOST = 5
_SOMEBODY = "a client without a name"
_APPLY = "kubectl-client-side-apply"
_APPLIED_ANEW = "kubectl has applied it in a newer version since: what it wrote before stays in managedFields"


@dataclass(frozen=True, slots=True)
class _Use:
    """A sign of a version that goes. `why`: nobody has to do anything about it, "" where somebody may have to."""

    of: WrittenObject
    resource: Resource
    sign: Written
    row: RemovedApi
    why: str = ""


def judge(facts: CheckFacts) -> Iterator[Finding]:
    """What is written in a version that goes on the way."""
    way = facts.way
    for resource in going(way.now, way.target):
        told = _told(facts, resource)
        if isinstance(told.objects, Unknown):
            yield _unknown(facts, resource, f"in which version {resource.full_name} are written", told.objects)
        elif told.lacking is not None:
            yield _unknown(facts, resource, f"in which version clients write {resource.full_name}", told.lacking)
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


def _unknown(facts: CheckFacts, resource: Resource, what: str, why: Unknown) -> Finding:
    found = unknown(Code.of("api-written"), Subject("Resource", resource.full_name), what, why)
    if facts.cluster.source is not Source.SNAPSHOT or why.missing:  # what was forbidden is no matter of a dump
        return found
    dump = shell("kubectl", "get", resource.full_name, "-A", "-o", "json", "--show-managed-fields")
    dumped = Remedy("Add them to the dump:", f"{dump} > {resource.plural}.json")
    return replace(found, remedy=(*found.remedy, dumped))


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
    """The annotation is written together with these fields, by the same kubectl apply."""
    applied = [sign for sign in each.signs if sign.by is WrittenBy.LAST_APPLIED]
    return bool(applied) and all(
        gone_on(way, sign.api_version, sign.kind) is None and gone_already(sign.api_version, sign.kind, way) is None
        for sign in applied
    )


def _found(uses: list[_Use], way: UpgradePath) -> Finding:
    """Of one object; the surest sign decides, then the version that goes first."""
    first = min(uses, key=lambda use: (use.sign.by is not WrittenBy.LAST_APPLIED, use.row.removed.minor))
    applied = first.sign.by is WrittenBy.LAST_APPLIED
    clients = _managers(use for use in uses if use.row == first.row)
    how = "it was last applied" if applied else f"{' and '.join(clients)} wrote it"
    stays = () if applied else (f"{STAYS} (confidence: {Confidence.MEDIUM.value})",)
    of = first.of.of
    return Finding.of(
        "api-written/found",
        Subject(of.kind, of.name, of.namespace),
        (*(_evidence(use.sign) for use in uses[:_MOST]), *stays, *sources(first.row)),
        severity=severity(first.row, Severity.HIGH if applied else Severity.MEDIUM),
        remedy=tuple(_remedies(uses, way)),
        root_cause=of_api(first.row),
        how=how,
        api_version=first.sign.api_version,
        not_served=not_served(first.row),
    )


def _evidence(sign: Written) -> str:
    if sign.by is WrittenBy.LAST_APPLIED:
        return f"{sign.by.value}: {sign.api_version}"
    part = f", {sign.subresource}" if sign.subresource else ""
    when = f", last at {sign.time}" if sign.time else ""
    return f"{sign.by.value}: {sign.api_version} by {sign.manager or _SOMEBODY} ({sign.operation}{part}){when}"


def _managers(uses: Iterable[_Use]) -> tuple[str, ...]:
    """Who wrote it, by the names that they give themselves, each once."""
    clients = (use.sign.manager or _SOMEBODY for use in uses if use.sign.by is WrittenBy.MANAGED_FIELDS)
    return tuple(dict.fromkeys(clients))


def _remedies(uses: Sequence[_Use], way: UpgradePath) -> Iterator[Remedy]:
    """Whoever applies the manifest has its fields, too."""
    for use in uses:
        of = use.of.of
        if use.sign.by is WrittenBy.LAST_APPLIED:
            word = use.resource.full_name
            shown = kubectl("apply view-last-applied", word, of.name, of.namespace, "-o", "yaml")
            yield from rewritten(use.row, way, file_of(of.name), f"{shown} > {file_of(of.name)}")
    then = follows(uses[0].row, way)
    for manager in _managers(uses):
        if manager.startswith("helm"):
            yield Remedy(f"Upgrade its chart, and the release with it. {then}".strip(), "", When.LATER)
        elif not manager.startswith("kubectl"):
            yield Remedy(f"Update {manager}, or the manifests that it applies. {then}".strip(), "", When.LATER)
        elif not any(use.sign.by is WrittenBy.LAST_APPLIED for use in uses):
            yield Remedy(f"Find who writes it with kubectl, and the manifest. {then}".strip(), "", When.LATER)


def _explained(uses: Iterable[_Use]) -> Iterator[Finding]:
    """Those that nobody has to mind, together by what explains them."""
    alike: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for use in uses:
        alike[use.sign.kind, use.sign.api_version, use.why][str(_subject(use.of))] = None
    for (kind, api_version, why), names in alike.items():
        subject = Subject(kind, listed(list(names)))
        yield Finding.of("api-written/explained", subject, api_version=api_version, why=why)


def _subject(of: WrittenObject) -> Subject:
    return Subject(of.of.kind, of.of.name, of.of.namespace)


def judge_refused(facts: CheckFacts) -> Iterator[Finding]:
    """What was last applied in a version that is gone already."""
    way = facts.way
    missing = [
        (resource, told.objects)
        for resource in gone_before(way.now)
        if isinstance((told := _told(facts, resource)).objects, Unknown)
    ]
    if missing:
        yield _not_listed(facts, missing)
    for told in facts.api.written:
        for each in () if isinstance(told.objects, Unknown) else told.objects:
            for sign in each.signs:
                row = gone_already(sign.api_version, sign.kind, way)
                applied = sign.by is WrittenBy.LAST_APPLIED and innocent(sign, each.of.name) is None
                if row is not None and applied:
                    yield _refused(_Use(each, told.resource, sign, row), way)


def _not_listed(facts: CheckFacts, missing: list[tuple[Resource, Unknown]]) -> Finding:
    """One for all of them: it may be that nobody has to know."""
    names = ", ".join(resource.full_name for resource, _ in missing)
    rights = ", ".join(dict.fromkeys(why.missing for _, why in missing if why.missing))
    what = f"in which version the objects of {len(missing)} resources were applied last"
    found = unknown(
        Code.of("api-refused-today"), cluster_of(facts), what, Unknown(missing[0][1].why, rights), Severity.LOW
    )
    return replace(found, evidence=(names,), missing=rights or names)


def _refused(use: _Use, way: UpgradePath) -> Finding:
    of = use.of.of
    message = f"it was last applied in {use.sign.api_version}, which is not served since {in_words(use.row.removed)}"
    stays = Remedy("The object itself stays, in the newer version; only its manifest is refused.", "", When.LATER)
    subject = Subject(of.kind, of.name, of.namespace)
    evidence, remedies = (_evidence(use.sign), *sources(use.row)), (*_remedies((use,), way), stays)
    code, api = Code.of("api-refused-today"), of_api(use.row)
    return Finding(code, Severity.LOW, Status.FAIL, subject, message, evidence, remedies, root_cause=api)
