"""Times in the formats that the API server accepts."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.kubernetes.schedules import parse_time


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-11-20T08:51:00Z", "2026-11-20T08:51:00+00:00"),
        ("2026-11-20T08:51:00.123456789Z", "2026-11-20T08:51:00.123456+00:00"),
        ("2026-11-20T08:51:00+02:30", "2026-11-20T06:21:00+00:00"),
        ("2026-11-20T08:51:00-02:30", "2026-11-20T11:21:00+00:00"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:00"),
    ],
)
def test_times(text: str, utc: str) -> None:
    found = parse_time(text)
    assert found is not None and found.isoformat() == utc


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-11-20",
        "2026-13-20T08:51:00Z",
        "2026-11-20 08:51:00Z",
        "9999-12-31T23:59:59-23:59",
        "0001-01-01T00:00:00+23:59",
        "2026-11-20T08:51:00Z\n",
    ],
)
def test_others_are_none(text: str) -> None:
    assert parse_time(text) is None
