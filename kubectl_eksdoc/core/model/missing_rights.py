"""What is done about a right that is missing, and about one that was missing when a snapshot was taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kubectl_eksdoc.core.model.cluster import Source
from kubectl_eksdoc.core.model.findings import Finding, Remedy


def allow(right: str) -> Remedy:
    return Remedy(f"Allow {right}, or have somebody look who may.")


def as_read(findings: Iterable[Finding], source: Source) -> tuple[Finding, ...]:
    """What is done about a right that was missing goes by what was read."""
    return tuple(map(of_snapshot, findings) if source is Source.SNAPSHOT else findings)


def of_snapshot(found: Finding) -> Finding:
    """`found` of a snapshot: what nobody might read then is not in it, whoever looks now."""
    again = Remedy(f"Allow {found.missing}, and take the snapshot again.")
    return replace(found, remedy=tuple(again if each == allow(found.missing) else each for each in found.remedy))
