"""Schedules of CronJobs: those that the API server accepts, and the error messages for the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes import schedules


@pytest.mark.parametrize(
    "text",
    ["*/15 0 1 * *", "0 9 * JAN Mon-fri", "5,,10 0-23 1-31 12 0-6", "3/20 ? ? * ?", "+5 9 * * *"]
    + ["@midnight", "@every 1h30m", "@every .5h"],
)
def test_what_the_server_takes(text: str) -> None:
    schedules.check_schedule(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 9 * *", "it has 4 fields and needs 5: minute, hour, day of the month, month, day of the week"),
        ("9", "it has 1 field and needs 5"),
        ("0 24 * * *", "'24' of the hour: it goes from 0 to 23"),
        ("0 9 0 * *", "'0' of the day of the month: it goes from 1 to 31"),
        ("0 9 * * monday", "'monday' is no number or one of sun, mon"),
        ("0 9 * mon *", "'mon' is no number or one of jan, feb"),
        ("*/x 9 * * *", "'x' is no number"),
        ("0 9 5-1 * *", "'5-1' of the day of the month: 5 is after 1"),
        ("0 9 1-2-3 * *", "more than one hyphen"),
        ("*/2/3 9 * * *", "more than one slash"),
        ("*/0 9 * * *", "steps of 0"),
        ("@Daily", "known are @yearly"),
        ("@every 5", "'5' is no time"),
        ("CRON_TZ=Europe/Berlin 0 9 * * *", "a time zone has a field of its own"),
    ],
)
def test_what_is_wrong_is_said_where(text: str, said: str) -> None:
    with pytest.raises(schedules.InvalidSchedule) as caught:
        schedules.check_schedule(text)
    assert str(caught.value).startswith(f"{text!r} is no schedule: ") and said in str(caught.value)


@given(st.text(st.sampled_from("0123456789*/-,? @abcdefgjmnorsuvwy+TZ.hé"), max_size=30))
def test_any_text_is_one_or_none(text: str) -> None:
    try:
        schedules.check_schedule(text)
    except schedules.InvalidSchedule as error:
        assert repr(text) in str(error)


@pytest.mark.parametrize(
    ("name", "taken"),
    [("America/Argentina/Buenos_Aires", True), ("Etc/GMT+5", True), ("UTC", True)]
    + [(name, False) for name in ("", "Local", "../etc/passwd", "Europe/", "Europe Berlin")],
)
def test_time_zones_have_a_form(name: str, taken: bool) -> None:
    if taken:
        schedules.check_time_zone(name)
    else:
        with pytest.raises(schedules.InvalidSchedule, match="is no time zone"):
            schedules.check_time_zone(name)
