"""What does not go on this way: API versions that are deprecated and go later, and those of custom resources, which go
with an update of the software that brings them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from kubectl_eksdoc.amazon.upgrades.custom_apis import CustomApi
from kubectl_eksdoc.amazon.upgrades.removed_apis import RemovedApi
from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.check.checks.api_rewriting import follows, of_api
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_usage import Document, Manifest
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.model.missing_rights import allow

Said = Callable[[list[Document]], tuple[str, ...]]
"""Documents as evidence."""


def deprecated(facts: CheckFacts, code: Code, subject: Subject, manifest: Manifest, said: Said) -> Iterator[Finding]:
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
        yield Finding(code, Severity.LOW, Status.PASS, subject, message, evidence, remedies, root_cause=of_api(row))


def custom(facts: CheckFacts, code: Code, subject: Subject, manifest: Manifest, said: Said) -> Iterator[Finding]:
    """What the cluster serves, its CustomResourceDefinitions tell."""
    found: dict[tuple[CustomApi, str], list[Document]] = defaultdict(list)
    for each in manifest.documents:
        row = facts.tables.custom_api(each.of.api_version, each.of.kind)
        if row is not None:
            found[row, each.of.kind].append(each)
    for (row, kind), documents in found.items():
        yield _custom(facts, code, subject, (row, kind), len(documents), said(documents))


def _custom(
    facts: CheckFacts, code: Code, subject: Subject, of: tuple[CustomApi, str], count: int, evidence: tuple[str, ...]
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
        return Finding(code, bad, status, subject, message, evidence, (*right, *remedies), missing, api)
    if served:
        message = f"{what}, which the cluster serves: {newer}"
        return Finding(code, Severity.LOW, Status.PASS, subject, message, evidence, remedies, root_cause=api)
    message = f"{what}, which the cluster does not serve: {newer}"
    return Finding(code, Severity.MEDIUM, Status.FAIL, subject, message, evidence, remedies, root_cause=api)


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
