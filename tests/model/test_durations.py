"""Durations as Go reads them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kubectl_eksdoc.model.quantities import go_duration, in_words


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
    ("seconds", "words"), [(0, "0 s"), (119.9, "119 s"), (120, "2 min"), (1339, "22 min"), (5400, "90 min")]
)
def test_in_words_it_is_never_more_than_it_was(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
