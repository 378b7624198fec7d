"""Schedules of CronJobs: which the API server takes, what is said of the others, and when they are due."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes import schedules

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", "2026-11-20 08:56"),
        ("*/15 * * * *", "2026-11-20 09:00"),
        ("0 0 1 * *", "2026-12-01 00:00"),
        ("0 9 * * mon-fri", "2026-11-20 09:00"),
        ("0 9 21 * 1", "2026-11-21 09:00"),
        ("0 9 23 * fri", "2026-11-20 09:00"),
        ("5,10 10-12 * feb *", "2027-02-01 10:05"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
        ("3/20 9 * * *", "2026-11-20 09:03"),
    ],
)
def test_schedules(text: str, expected: str) -> None:
    due = schedules.parse(text).after(datetime(2026, 11, 20, 8, 55, 30, tzinfo=timezone.utc))
    assert due is not None and due.strftime("%Y-%m-%d %H:%M") == expected


def test_a_day_that_never_comes() -> None:
    assert schedules.parse("0 0 31 2 *").after(NOON) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 9 */2 * 1", "2026-11-21 09:00"),  # a star with steps is none: either day will do
        ("0 9 ? * fri", "2026-11-20 09:00"),
        ("+5 9 * * *", "2026-11-20 09:05"),
        ("1,,2 9 * * *", "2026-11-20 09:01"),
        ("0 9 * JAN Sun", "2027-01-03 09:00"),
        ("@every 1h30m", "2026-11-20 10:25"),
        ("@every .5h", "2026-11-20 09:25"),
    ],
)
def test_what_the_server_takes_besides(text: str, expected: str) -> None:
    due = schedules.parse(text).after(datetime(2026, 11, 20, 8, 55, 30, tzinfo=timezone.utc))
    assert due is not None and due.strftime("%Y-%m-%d %H:%M") == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 9 * *", "it has 4 fields and needs 5: minute, hour, day of the month, month, day of the week"),
        ("0 24 * * *", "'24' of the hour: it goes from 0 to 23"),
        ("0 9 * * monday", "'monday' is no number or one of sun, mon"),
        ("0 9 * mon *", "'mon' is no number or one of jan, feb"),
        ("0 9 5-1 * *", "'5-1' of the day of the month: 5 is after 1"),
        ("0 9 1-2-3 * *", "more than one hyphen"),
        ("*/2/3 9 * * *", "more than one slash"),
        ("*/0 9 * * *", "steps of 0"),
        ("@Daily", "known are @yearly"),
        ("@daily ", "known are @yearly"),
        ("@every 5", "'5' is no time"),
        ("@every 1d", "'1d' is no time"),
        ("CRON_TZ=Europe/Berlin 0 9 * * *", "a time zone has a field of its own"),
    ],
)
def test_what_is_wrong_is_said_where(text: str, said: str) -> None:
    with pytest.raises(schedules.InvalidSchedule) as caught:
        schedules.parse(text)
    assert str(caught.value).startswith(f"{text!r} is no schedule: ") and said in str(caught.value)


def test_time_is_never_shorter_than_a_second() -> None:
    assert {schedules.parse(text) for text in ("@every 1ms", "@every 0", "@every -5m")} == {schedules.EverySeconds(1)}
    assert schedules.EverySeconds(2**60).after(NOON) is None


@given(st.text(st.sampled_from("0123456789*/-,? @abcdefgjmnorsuvwy+TZ.hé"), max_size=30))
def test_any_text_is_one_or_none(text: str) -> None:
    try:
        found = schedules.parse(text)
    except schedules.InvalidSchedule as error:
        assert repr(text) in str(error)
    else:
        due = found.after(NOON)
        assert due is None or due > NOON


_MINUTES = st.sets(st.integers(0, 59), min_size=1, max_size=5)


@given(_MINUTES, st.sets(st.integers(0, 23), min_size=1, max_size=5))
def test_what_is_listed_is_due(minutes: set[int], hours: set[int]) -> None:
    found = schedules.parse(f"{','.join(map(str, minutes))} {','.join(map(str, hours))} * * *")
    due = found.after(NOON)
    assert due is not None and due.minute in minutes and due.hour in hours and due - NOON <= timedelta(days=1)


@pytest.mark.parametrize("name", ["Europe/Berlin", "Etc/UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "UTC"])
def test_time_zones_have_a_form(name: str) -> None:
    schedules.check_time_zone(name)


@pytest.mark.parametrize("name", ["", " ", "Local", "local", "../etc/passwd", "Europe/", "Europe Berlin"])
def test_what_is_no_time_zone(name: str) -> None:
    with pytest.raises(schedules.InvalidSchedule, match="is no time zone"):
        schedules.check_time_zone(name)
