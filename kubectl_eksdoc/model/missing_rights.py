"""What is done about a right that is missing, and about one that was missing when a snapshot was taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Finding, Remedy
from kubectl_eksdoc.model.kinds import LEFT_OUT, NoAws, NotHeld, Unknown
from kubectl_eksdoc.model.permissions import how_to


def allow(right: str) -> Remedy:
    return _with_opt_in(f"Allow {right}, or ask a person who has it.", right)


def learned(why: Unknown) -> Remedy:
    """What is done about something that is not known, so that it is."""
    if why.missing:
        return allow(why.missing)
    if why == LEFT_OUT:
        return Remedy("Run it without --no-aws.")
    if isinstance(why, NotHeld):
        return Remedy("Ask the live cluster, or a snapshot that kubectl eksdoc snapshot takes now.")
    return Remedy(_ASK_AWS if isinstance(why, NoAws) else _ASK_AGAIN)


_ASK_AWS = (
    "Ask the live cluster, with --region, --cluster-name and --profile where AWS could not be asked; --debug shows "
    "what was asked."
)
_ASK_AGAIN = (
    "Ask again; --debug shows what was asked. What stays unknown, find out by other means, and accept it with "
    "--accept-unknown."
)


def as_read(findings: Iterable[Finding], source: Source) -> tuple[Finding, ...]:
    """What is done about a right that was missing goes by what was read."""
    return tuple(map(of_snapshot, findings) if source is Source.SNAPSHOT else findings)


def of_snapshot(found: Finding) -> Finding:
    """`found` of a snapshot: what nobody might read then is not in it, whoever looks now."""
    again = _with_opt_in(f"Allow {found.missing}, and take the snapshot again.", found.missing)
    return replace(found, remedy=tuple(again if each == allow(found.missing) else each for each in found.remedy))


def _with_opt_in(sentence: str, right: str) -> Remedy:
    """An opt-in is named, with its risk."""
    return Remedy(" ".join(filter(None, (sentence, how_to(right)))))
