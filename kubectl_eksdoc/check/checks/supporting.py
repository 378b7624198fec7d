"""How long the version is supported, what that costs, and whether the target can be had."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from kubectl_eksdoc.amazon.upgrades import gotchas, removed_apis
from kubectl_eksdoc.amazon.upgrades.calendar import (
    EXTRA_A_MONTH,
    Support,
    SupportEnd,
    SupportEnding,
    SupportPhase,
    next_ending,
    support,
)
from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.checking import UpgradeCheck, cluster_of, unknown
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.check.wording import aws, doubted, number
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.check_needs import CheckNeed
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, When
from kubectl_eksdoc.model.versions import Version, parse

SOON_DAYS = 90
"""An upgrade of a fleet takes weeks; EKS itself sends its notices about so long before."""
CLOSE_DAYS = 30


_ONWARD = (
    Remedy("Upgrade to a version with standard support; each step has its own line in the way.", when=When.LATER),
)


def _support(facts: CheckFacts) -> Support | Unknown:
    return support(facts.way.now, facts.cluster.observed_at, facts.aws.versions)


def _ends(facts: CheckFacts) -> Iterator[Finding]:
    found = _support(facts)
    if isinstance(found, Unknown):
        yield unknown(Code.of("support-ends"), cluster_of(facts), f"how long {_now(facts)} is supported", found)
        return
    days = found.standard_days
    if found.phase is not SupportPhase.STANDARD or days is None or days > SOON_DAYS:
        return
    ending = next_ending(found, _policy(facts))
    severity = Severity.HIGH if days <= CLOSE_DAYS else Severity.MEDIUM
    told = f"standard support of {_now(facts)} ends on {_on(found.standard_ends)}, in {number(days, 'day')}"
    if isinstance(ending, Unknown):
        yield Finding(
            Code.of("support-ends"),
            severity,
            Status.FAIL,
            cluster_of(facts),
            told,
            (*_whence(found), ending.why),
            _ONWARD,
        )
        return
    billed = f", about ${EXTRA_A_MONTH:.0f} a month more" if ending.what is SupportEnd.EXTENDED_BILLING else ""
    message = f"{told}; then {ending.what.value}{billed}"
    yield Finding(
        Code.of("support-ends"), severity, Status.FAIL, cluster_of(facts), message, _evidence(found, ending), _ONWARD
    )


def _extended(facts: CheckFacts) -> Iterator[Finding]:
    found = _support(facts)
    if isinstance(found, Unknown):
        what = f"whether {_now(facts)} is in extended support"
        yield unknown(Code.of("support-extended"), cluster_of(facts), what, found)
        return
    if found.phase is not SupportPhase.EXTENDED:
        return
    cost = f"about ${found.extra_a_month:.0f} a month more than with standard support"
    days = found.extended_days
    left = "" if days is None else f"; it ends on {_on(found.extended_ends)}, in {number(days, 'day')}"
    yield Finding.of(
        "support-extended",
        cluster_of(facts),
        (*_whence(found), "billed by versionStatus, whatever the cluster's upgrade policy says"),
        remedy=_ONWARD,
        now=_now(facts),
        cost=cost,
        left=left,
    )


def _over(facts: CheckFacts) -> Iterator[Finding]:
    found = _support(facts)
    if isinstance(found, Unknown):
        yield unknown(Code.of("support-over"), cluster_of(facts), "what EKS does when support ends", found)
        return
    ending = next_ending(found, _policy(facts))
    if isinstance(ending, Unknown):
        ending = facts.eks if isinstance(facts.eks, Unknown) else ending
        if found.phase is SupportPhase.EXTENDED:
            yield unknown(Code.of("support-over"), cluster_of(facts), "what EKS does when support ends", ending)
        return
    if ending.what is not SupportEnd.AUTO_UPGRADE:
        return
    days = None if ending.on is None else (ending.on - found.today).days
    if days is not None and days > SOON_DAYS:
        return
    overdue = found.phase is SupportPhase.ENDED
    when = (
        f"in {number(days, 'day')}, on {_on(ending.on)}" if days is not None and days > 0 else "at any time from now on"
    )
    yield Finding.of(
        "support-over",
        cluster_of(facts),
        _evidence(found, ending),
        severity=Severity.CRITICAL if overdue or (days is not None and days <= CLOSE_DAYS) else Severity.HIGH,
        when=when,
    )


def _target(facts: CheckFacts) -> Iterator[Finding]:
    target, offered = facts.way.target, facts.aws.versions
    if not facts.way.steps:
        return
    subject = cluster_of(facts)
    if isinstance(offered, Unknown):
        yield unknown(Code.of("target-version"), subject, f"whether EKS offers {in_words(target)}", offered)
    elif not facts.offers(target):
        newest = max((each.version for each in offered), key=_sorted, default="")
        yield Finding.of(
            "target-version",
            subject,
            in_words=in_words(target),
            value=newest or "none",
            command=aws(facts, "eks", "describe-cluster-versions"),
        )
    for beyond in filter(None, (removed_apis.unread(target), gotchas.unread(target))):
        yield unknown(Code.of("target-version"), subject, f"what else {in_words(target)} changes", beyond)


def _sorted(text: str) -> Version:
    return parse(text) or Version(0, 0)


def _policy(facts: CheckFacts) -> str:
    return "" if isinstance(facts.eks, Unknown) else facts.eks.support


def _now(facts: CheckFacts) -> str:
    return in_words(facts.way.now)


def _on(day: date | None) -> str:
    return "an unknown day" if day is None else day.isoformat()


def _evidence(found: Support, ending: SupportEnding) -> tuple[str, ...]:
    return (*_whence(found), doubted(ending.why, ending.source))


def _whence(found: Support) -> tuple[str, ...]:
    if found.as_of is None:
        return ("dates as EKS tells them (DescribeClusterVersions)",)
    sure = f", {found.source.doubt}" if found.source.doubt else ""
    return (f"dates of the table of {found.as_of.isoformat()}{sure}: {found.instead}",)


_WANTED = (CheckNeed.VERSIONS,)

CHECKS = (
    UpgradeCheck((Code.of("support-ends"),), Area.SUPPORT, None, _ends, needs=_WANTED),
    UpgradeCheck((Code.of("support-extended"),), Area.SUPPORT, None, _extended, needs=_WANTED),
    UpgradeCheck((Code.of("support-over"),), Area.SUPPORT, None, _over, needs=_WANTED),
    UpgradeCheck((Code.of("target-version"),), Area.SUPPORT, Gate.BEFORE_CONTROL_PLANE, _target, needs=_WANTED),
)
