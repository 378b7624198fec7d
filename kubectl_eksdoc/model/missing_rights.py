"""Remedies for missing permissions, now or when a snapshot was taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .cluster import Source
from .findings import Finding, Remedy
from .kinds import LEFT_OUT, NoAws, NotHeld, Unknown
from .permissions import how_to


def allow(right: str) -> Remedy:
    """The remedy for a missing right; an opt-in is named, with its risk."""
    return Remedy.of("allow-right", right=right, how=how_to(right))


def learned(why: Unknown) -> Remedy:
    """The remedy for an unknown fact."""
    if why.missing:
        return allow(why.missing)
    if why == LEFT_OUT:
        return Remedy.of("without-no-aws")
    if isinstance(why, NotHeld):
        return Remedy.of("ask-live")
    return Remedy.of("ask-aws" if isinstance(why, NoAws) else "ask-again")


def as_read(findings: Iterable[Finding], source: Source) -> tuple[Finding, ...]:
    """Findings with the remedies for missing rights that fit the source."""
    return tuple(map(of_snapshot, findings) if source is Source.SNAPSHOT else findings)


def of_snapshot(found: Finding) -> Finding:
    """A finding of a snapshot: facts that could not be read then are not in it, whatever is allowed now."""
    again = Remedy.of("allow-and-snapshot", right=found.missing, how=how_to(found.missing))
    return replace(found, remedy=tuple(again if each == allow(found.missing) else each for each in found.remedy))
