"""How long EKS supports a Kubernetes version, what happens at the end, and what staying costs.

What DescribeClusterVersions says wins; the table is for clusters whose answer could not be had, and it has a date.

Sources: EKS user guide, kubernetes-versions with its history, and "disable extended support"; botocore 1.44.5,
eks/2017-11-01 (UpgradePolicyRequest, ClusterVersionInformation); AWS blog "Amazon EKS extended support for Kubernetes
versions pricing". All dates are days of UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.eks import ClusterVersion
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, basis, file, records
from kubectl_eksdoc.model.quantities import Version, parse

from .skew import in_words, minor_of

HOURS_A_MONTH = 730


def prices() -> tuple[Decimal, Decimal]:
    """US dollars for each hour of a cluster, in standard and in extended support: that is all of it, not on top (from
    2024-04-01)."""
    standard, extended = (basis(rule).number for rule in ("support-price", "support-price/extended"))
    return Decimal(standard).scaleb(-2), Decimal(extended).scaleb(-2)


def extra_a_month() -> Decimal:
    """US dollars that extended support adds to a month of 730 hours."""
    standard, extended = prices()
    return (extended - standard) * HOURS_A_MONTH


STANDARD_POLICY, EXTENDED_POLICY = "STANDARD", "EXTENDED"
"""``upgradePolicy.supportType``: a wish for the end of standard support, not what is being billed."""

LIVE = KnowledgeSource("EKS, DescribeClusterVersions")


@frozen
class CalendarRow:
    """Days in UTC. `released`: on EKS; `upstream`: by Kubernetes, None where that was not read. `extended_ends` is None
    for versions that never had extended support."""

    version: Version
    upstream: date | None
    released: date
    standard_ends: date
    extended_ends: date | None
    source: KnowledgeSource


ROWS = records(CalendarRow, "calendar")
AS_OF = date.fromisoformat(file("calendar")["source"]["read"])
"""When they were read; what DescribeClusterVersions says now is newer."""


class SupportPhase(str, Enum):
    """`EXTENDED` from the beginning of the day on which standard support ends: it is billed from then on. `ENDED` from
    the day on which the last support ends; EKS upgrades the control plane at some time after it."""

    STANDARD = "standard support"
    EXTENDED = "extended support"
    ENDED = "support has ended"


@frozen
class Support:
    """Of one version on the day `today`. `extended_ends` is None where extended support was never offered, either end
    where it is not told. `as_of`: the day of the table, None where EKS itself said it; `instead`: why the table, then.
    """

    version: Version
    phase: SupportPhase
    today: date
    standard_ends: date | None
    extended_ends: date | None
    source: KnowledgeSource
    as_of: date | None = None
    instead: str = ""

    @property
    def standard_days(self) -> int | None:
        """Days left to the end of standard support, 0 on that day, less after it."""
        return None if self.standard_ends is None else (self.standard_ends - self.today).days

    @property
    def extended_days(self) -> int | None:
        """The same for extended support."""
        return None if self.extended_ends is None else (self.extended_ends - self.today).days

    @property
    def extra_a_month(self) -> Decimal:
        """US dollars that its age costs now, in a month of 730 hours."""
        return extra_a_month() if self.phase is SupportPhase.EXTENDED else Decimal(0)


def support(version: Version, today: date, live: Sequence[ClusterVersion] | Unknown) -> Support | Unknown:
    """As EKS says it; by the table where EKS was not asked or does not list the version."""
    day = _day(today)
    if not isinstance(live, Unknown):
        told = next((each for each in live if _is(each, version)), None)
        if told is not None and (found := _as_told(version, day, told)) is not None:
            return found
    instead = live.why if isinstance(live, Unknown) else "DescribeClusterVersions does not list it"
    row = next((each for each in ROWS if each.version == minor_of(version)), None)
    if row is None:
        return Unknown(_not_listed(version, instead), live.missing if isinstance(live, Unknown) else "")
    if day < row.released:
        return Unknown(f"EKS has {in_words(row.version)} only from {row.released.isoformat()} on")
    phase = _phase(day, row.standard_ends, row.extended_ends)
    source = replace(row.source, document=f"EKS calendar of {AS_OF.isoformat()}: {row.source.document}")
    return Support(row.version, phase, day, row.standard_ends, row.extended_ends, source, AS_OF, instead)


class SupportEnd(str, Enum):
    """What EKS does."""

    AUTO_UPGRADE = "EKS upgrades the control plane by itself; nodes stay as they are"
    EXTENDED_BILLING = "extended support begins and is billed"


@frozen
class SupportEnding:
    """`on`: from that day on, None where the day is not told."""

    what: SupportEnd
    on: date | None
    why: str
    source: KnowledgeSource


def next_ending(of: Support, policy: str) -> SupportEnding | Unknown:
    """What happens next if nobody upgrades. `policy`: the cluster's `upgradePolicy.supportType`, "" if not told."""
    overdue, by_policy = basis("support-end/overdue").source, basis("support-end/policy").source
    if of.phase is SupportPhase.ENDED:
        last = of.extended_ends or of.standard_ends
        return SupportEnding(
            SupportEnd.AUTO_UPGRADE, last, "its last support has ended: at any time from now on", overdue
        )
    if policy not in (STANDARD_POLICY, EXTENDED_POLICY):
        return Unknown("the cluster's upgrade policy (STANDARD or EXTENDED) was not told", "eks:DescribeCluster")
    if policy == STANDARD_POLICY:
        why = "its upgrade policy is STANDARD: at the end of standard support"
        return SupportEnding(
            SupportEnd.AUTO_UPGRADE, of.standard_ends, why, by_policy if of.phase is SupportPhase.STANDARD else overdue
        )
    if of.phase is SupportPhase.STANDARD and of.extended_ends is None:
        return Unknown("whether this version gets extended support was not told", "eks:DescribeClusterVersions")
    if of.phase is SupportPhase.STANDARD:
        price = "${1} instead of ${0} for each hour, from the beginning of that day (UTC)".format(*prices())
        return SupportEnding(SupportEnd.EXTENDED_BILLING, of.standard_ends, price, by_policy)
    return SupportEnding(
        SupportEnd.AUTO_UPGRADE,
        of.extended_ends,
        "extended support ends: at any time after that day",
        basis("support-end").source,
    )


def _as_told(version: Version, day: date, told: ClusterVersion) -> Support | None:
    ends = _of(told.standard_ends), _of(told.extended_ends)
    phase = _PHASES.get(told.status) or (None if ends == (None, None) else _phase(day, *ends))
    return None if phase is None else Support(version, phase, day, *ends, LIVE)


_PHASES = {
    "STANDARD_SUPPORT": SupportPhase.STANDARD,
    "EXTENDED_SUPPORT": SupportPhase.EXTENDED,
    "UNSUPPORTED": SupportPhase.ENDED,
}


def _phase(day: date, standard: date | None, extended: date | None) -> SupportPhase:
    if standard is not None and day < standard:
        return SupportPhase.STANDARD
    if extended is not None and day < extended:
        return SupportPhase.EXTENDED
    return SupportPhase.ENDED


def _not_listed(version: Version, instead: str) -> str:
    first, last = in_words(ROWS[0].version), in_words(ROWS[-1].version)
    table = f"the calendar of {AS_OF.isoformat()} has {first} to {last} only"
    return f"nothing is known of EKS {in_words(minor_of(version))}: {instead}, and {table}"


def _is(each: ClusterVersion, version: Version) -> bool:
    found = parse(each.version)
    return found is not None and minor_of(found) == minor_of(version)


def _of(moment: datetime | None) -> date | None:
    return None if moment is None else _day(moment)


def _day(moment: date) -> date:
    """In UTC, where it is a moment; one without a zone is taken for UTC."""
    if not isinstance(moment, datetime):
        return moment
    return (moment if moment.tzinfo is None else moment.astimezone(timezone.utc)).date()
