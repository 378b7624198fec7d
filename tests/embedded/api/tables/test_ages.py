"""Ages as kubectl writes them."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from kubectl_eksdoc.embedded.api.tables import fields

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (2 * MINUTE - 1, "119s"),
        (2 * MINUTE, "2m"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE + 30, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR + 30 * MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY + 12 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (3 * YEAR + 40 * DAY, "3y40d"),
        (8 * YEAR + 100 * DAY, "8y"),
    ],
)
def test_human(seconds: float, text: str) -> None:
    assert fields.human(seconds) == text


NOW = datetime(2026, 11, 20, 9, 0, 0, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        ("2026-11-20T08:59:15Z", "45s"),
        ("2026-11-20T08:59:15.500000Z", "44s"),
        ("2026-11-20T08:59:15.123456789Z", "44s"),
        ("2026-11-20T17:59:15+09:00", "45s"),
        (None, "<unknown>"),
        ("2026-02-30T00:00:00Z", "<unknown>"),
        ("yesterday", "<unknown>"),
    ],
)
def test_since(time: str | None, text: str) -> None:
    assert fields.since(time, NOW) == text
