"""The support calendar: the table is its source, EKS' own answer overrides it, and each day is on the correct side of
an end date."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest

from kubectl_eksdoc.amazon.versions import (
    CALENDAR,
    CALENDAR_DATE,
    Support,
    SupportEnd,
    SupportPhase,
    extended_cost_per_month,
    format_version,
    next_support_end,
    support_status,
)
from kubectl_eksdoc.model.eks import ClusterVersion
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.quantities import Version

SOURCE = json.loads(
    (Path(__file__).parents[1] / "data/upgrades/eks-calendar.json").read_text(encoding="utf-8"),
)
DENIED = Unknown("not allowed", "eks:DescribeClusterVersions")
DAY = timedelta(days=1)


def the(minor: int, today: date, live: list[ClusterVersion] | Unknown = DENIED) -> Support:
    found = support_status(Version(1, minor), today, live)
    assert isinstance(found, Support)
    return found


def told(minor: int, status: str = "STANDARD_SUPPORT", **days: datetime) -> ClusterVersion:
    return ClusterVersion(f"1.{minor}", status, False, **days)


def at(year: int, month: int, day: int, hour: int = 0) -> datetime:
    return datetime(year, month, day, hour, tzinfo=timezone.utc)


def _day(text: str | None) -> date | None:
    """The last day of the month, if only the month is known."""
    if text is None or len(text) == 10:
        return None if text is None else date.fromisoformat(text)
    assert text == "2021-05"
    return date(2021, 5, 31)


def test_the_table_is_its_source() -> None:
    assert SOURCE["as_of"] == CALENDAR_DATE.isoformat()
    ours = [
        (format_version(r.version), r.upstream, r.released, r.standard_ends, r.extended_ends, r.source.confidence.value)
        for r in CALENDAR
    ]
    names = ("upstream_release", "eks_release", "end_standard", "end_extended")
    assert ours == [
        (each["version"], *(_day(each[name]) for name in names), each["confidence"]) for each in SOURCE["versions"]
    ]


@pytest.mark.parametrize("row", CALENDAR, ids=lambda row: str(row.version))
def test_each_end_is_the_first_day_of_what_follows(row) -> None:
    minor, last = row.version.minor, row.extended_ends or row.standard_ends
    then = SupportPhase.EXTENDED if row.extended_ends else SupportPhase.ENDED
    assert the(minor, row.released).phase is SupportPhase.STANDARD
    assert the(minor, row.standard_ends - DAY).phase is SupportPhase.STANDARD
    assert the(minor, row.standard_ends).phase is then
    assert the(minor, last - DAY).phase is (SupportPhase.EXTENDED if row.extended_ends else SupportPhase.STANDARD)
    assert the(minor, last).phase is SupportPhase.ENDED
    assert isinstance(support_status(row.version, row.released - DAY, DENIED), Unknown)


def test_days_left_and_the_day_of_the_table() -> None:
    found = the(33, date(2026, 7, 27))
    assert (found.standard_days, found.extended_days, found.as_of) == (2, 367, CALENDAR_DATE)
    assert (found.table_reason, found.source.confidence) == ("not allowed", Confidence.HIGH)
    assert the(35, date(2026, 7, 27)).source.confidence is Confidence.MEDIUM
    assert the(33, date(2026, 8, 1)).standard_days == -3


def test_what_eks_says_wins() -> None:
    live = [told(33, standard_ends=at(2030, 1, 1), extended_ends=at(2031, 1, 1, 23))]
    found = the(33, date(2029, 12, 31), live)
    assert (found.phase, found.standard_days, found.as_of, found.table_reason) == (SupportPhase.STANDARD, 1, None, "")
    assert found.extended_ends == date(2031, 1, 1)
    assert the(33, date(2027, 1, 1), [told(33, "UNSUPPORTED")]).phase is SupportPhase.ENDED
    assert the(33, date(2026, 1, 1), [told(33, "EXTENDED_SUPPORT")]).phase is SupportPhase.EXTENDED


def test_a_status_nobody_knows_is_told_by_the_dates_and_else_by_the_table() -> None:
    later = told(33, "SOMETHING_NEW", standard_ends=at(2030, 1, 1))
    assert the(33, date(2029, 1, 1), [later]).as_of is None
    assert the(33, date(2026, 1, 1), [told(33, "SOMETHING_NEW")]).as_of == CALENDAR_DATE


def test_a_version_that_eks_does_not_list_is_looked_up() -> None:
    assert the(30, date(2026, 1, 1), [told(33)]).table_reason == "DescribeClusterVersions does not list it"


@pytest.mark.parametrize("minor", [13, 37, 99])
def test_what_nobody_lists_is_unknown(minor: int) -> None:
    found = support_status(Version(1, minor), date(2026, 11, 20), DENIED)
    assert isinstance(found, Unknown)
    assert found.missing == "eks:DescribeClusterVersions"
    assert "1.14 to 1.36" in found.why
    assert isinstance(support_status(Version(1, minor), date(2026, 11, 20), [told(33)]), Unknown)


def test_days_are_those_of_utc() -> None:
    east = timezone(timedelta(hours=9))
    found = support_status(Version(1, 33), datetime(2026, 7, 29, 8, tzinfo=east), DENIED)  # 28 July, 23:00 in UTC
    assert isinstance(found, Support)
    assert (found.today, found.phase) == (date(2026, 7, 28), SupportPhase.STANDARD)


def test_what_it_costs() -> None:
    assert Decimal("365.00") == extended_cost_per_month()
    assert the(33, date(2026, 7, 28)).extra_cost_per_month == 0
    assert the(33, date(2026, 7, 29)).extra_cost_per_month == extended_cost_per_month()
    assert the(33, date(2027, 7, 29)).extra_cost_per_month == 0


@pytest.mark.parametrize(
    ("today", "policy", "what", "on"),
    [
        (date(2026, 7, 28), "STANDARD", SupportEnd.AUTO_UPGRADE, date(2026, 7, 29)),
        (date(2026, 7, 28), "EXTENDED", SupportEnd.EXTENDED_BILLING, date(2026, 7, 29)),
        (date(2026, 7, 29), "EXTENDED", SupportEnd.AUTO_UPGRADE, date(2027, 7, 29)),
        (date(2026, 7, 29), "STANDARD", SupportEnd.AUTO_UPGRADE, date(2026, 7, 29)),
        (date(2027, 7, 29), "EXTENDED", SupportEnd.AUTO_UPGRADE, date(2027, 7, 29)),
        (date(2027, 7, 29), "", SupportEnd.AUTO_UPGRADE, date(2027, 7, 29)),
    ],
)
def test_what_happens_next(today: date, policy: str, what: SupportEnd, on: date) -> None:
    found = next_support_end(the(33, today), policy)
    assert not isinstance(found, Unknown)
    assert (found.effect, found.from_day) == (what, on)


@pytest.mark.parametrize("policy", ["", "PREMIUM"])
def test_without_a_policy_the_next_end_is_unknown(policy: str) -> None:
    found = next_support_end(the(33, date(2026, 1, 1)), policy)
    assert isinstance(found, Unknown)
    assert found.missing == "eks:DescribeCluster"


def test_before_the_end_of_a_version_without_extended_support_its_offer_is_unknown() -> None:
    assert isinstance(next_support_end(the(20, date(2022, 1, 1)), "EXTENDED"), Unknown)
