"""Remedies for missing permissions, now or when a snapshot was taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .cluster import Source
from .findings import Finding, Remedy
from .kinds import AWS_DISABLED, AwsUnavailable, NotInSnapshot, Unknown
from .permissions import opt_in_hint


def allow_right(right: str) -> Remedy:
    """The remedy for a missing right; an opt-in is named, with its risk."""
    return Remedy.of("allow-right", right=right, how=opt_in_hint(right))


def remedy_for(unknown: Unknown) -> Remedy:
    """The remedy for an unknown fact."""
    if unknown.missing:
        return allow_right(unknown.missing)
    if unknown == AWS_DISABLED:
        return Remedy.of("without-no-aws")
    if isinstance(unknown, NotInSnapshot):
        return Remedy.of("ask-live")
    return Remedy.of("ask-aws" if isinstance(unknown, AwsUnavailable) else "ask-again")


def for_source(findings: Iterable[Finding], source: Source) -> tuple[Finding, ...]:
    """Findings with the remedies for missing rights that fit the source."""
    return tuple(map(for_snapshot, findings) if source is Source.SNAPSHOT else findings)


def for_snapshot(finding: Finding) -> Finding:
    """A finding of a snapshot: facts that could not be read then are not in it, whatever is allowed now."""
    remedy = Remedy.of("allow-and-snapshot", right=finding.missing, how=opt_in_hint(finding.missing))
    return replace(
        finding, remedy=tuple(remedy if each == allow_right(finding.missing) else each for each in finding.remedy)
    )
