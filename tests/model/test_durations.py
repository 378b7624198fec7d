"""Durations as Go reads them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kubectl_eksdoc.model.quantities import duration, go_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h30m", 5400),
        ("4h", 14400),
        ("1.5h", 5400),
        (".5m", 30),
        ("90s", 90),
        ("1500ms", 1.5),
        ("-1m", -60),
        ("+1m", 60),
        ("0", 0),
        ("1m1m", 120),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert go_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "-", "true", "4", "4d", "h", "1h ", "1 h", "99999999999h", "1h30", "." + "s"])
def test_what_is_no_duration(text: str) -> None:
    assert go_duration(text) is None


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0s"), (119.6, "2m00s"), (-1, "0s"), (95, "1m35s"), (1339, "22m19s"), (7500, "2h05m00s")]
)
def test_a_duration_is_written_in_one_way(seconds: float, words: str) -> None:
    assert duration(seconds) == words
