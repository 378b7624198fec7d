"""What is to be done about an API version that goes: what follows it, what converts manifests, what people must do."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.amazon.upgrades.conversions import PLUGIN, by_hand, convertible
from kubectl_eksdoc.amazon.upgrades.conversions import convert as converting
from kubectl_eksdoc.amazon.upgrades.removed_apis import RemovedApi, gone, instead, removed_api
from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.check.way import UpgradePath
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.findings import Remedy, Severity, Subject, When


def gone_already(api_version: str, kind: str, way: UpgradePath) -> RemovedApi | None:
    """Its row, if the control plane does not serve it now."""
    row = removed_api(api_version, kind)
    return None if row is None or way.now < row.removed else row


def gone_on(way: UpgradePath, api_version: str, kind: str) -> RemovedApi | None:
    """Its row, if it is served now, and is not at the target."""
    return gone(api_version, kind, way.now, way.target)


def not_served(row: RemovedApi) -> str:
    """``which Kubernetes 1.34 does not serve``."""
    return f"which Kubernetes {in_words(row.removed)} does not serve"


def of_api(row: RemovedApi) -> Subject:
    """The root cause of all that is written in it, or asks for it."""
    return Subject("API", row.api_version)


def severity(row: RemovedApi, worst: Severity) -> Severity:
    """What is only planned may come later, or never."""
    return Severity.MEDIUM if row.planned and worst is not Severity.LOW else worst


def sources(row: RemovedApi) -> tuple[str, ...]:
    """Whence the removal is known, and how surely."""
    planned = (f"its removal with {in_words(row.removed)} is announced, and was not seen yet",) if row.planned else ()
    return (*planned, str(row.source))


def follows(row: RemovedApi, way: UpgradePath) -> str:
    """Which version to write in its place, a sentence; "" where nothing replaces it."""
    found = instead(row, way.now)
    if isinstance(found, Unknown):
        return f"What to write instead is to be looked up: {found.why}."
    if not found:
        return ""
    again = gone_on(way, found, row.kind)
    then = f" {found} goes itself with {in_words(again.removed)}: do the same again before that." if again else ""
    return f"Write {found} instead.{then}"


def rewritten(row: RemovedApi, way: UpgradePath, file: str, before: str = "") -> Iterator[Remedy]:
    """Of a manifest in `file`, "" where it is in none. `before`: the command that makes it, "" where it is there."""
    found, said = instead(row, way.now), follows(row, way)
    if file and isinstance(found, str) and found and convertible(row):
        convert = converting(file, found)
        yield Remedy(f"{said} {PLUGIN}.", f"{before} && {convert}" if before else convert, When.LATER)
    elif said:
        yield Remedy(said, "", When.LATER)
    for each in by_hand(row):
        yield Remedy(each.what, "", When.LATER)
