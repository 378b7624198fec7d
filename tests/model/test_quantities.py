"""Quantities, durations and versions are parsed exactly and strictly, as apimachinery, Go and kubelets do."""

from __future__ import annotations

import math
from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model.quantities import (
    NANOS,
    InvalidQuantity,
    Version,
    format_duration,
    go_duration,
    millis,
    nanos,
    parse_version,
    wholes,
)

SUFFIXES = {
    "": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40), "Pi": Fraction(2**50),
}  # fmt: skip
MOST = (2**63 - 1) * NANOS


@pytest.mark.parametrize(
    ("text", "milli", "whole"),
    [
        ("0", 0, 0),
        (".5", 500, 1),
        ("5.", 5000, 5),
        ("1.5Gi", 1610612736000, 1610612736),
        ("1E", 10**21, 10**18),
        ("1u", 1, 1),
        ("100n", 1, 1),
        ("0.0000000001", 1, 1),
        ("-1500m", -1500, -1),
    ],
)
def test_amounts(text: str, milli: int, whole: int) -> None:
    assert (millis(nanos(text)), wholes(nanos(text))) == (milli, whole)


@pytest.mark.parametrize(
    "text",
    ["", "1 ", "m", ".", "+-1", "1K", "1e", "1.2.3", "1_000",
     "١", "1Gim", "NaN", "1\n", "1" * 65],
)  # fmt: skip
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(InvalidQuantity):
        nanos(text)


NUMBERS = st.one_of(
    st.integers(0, 10**12).map(str),
    st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)).map(lambda pair: f"{pair[0]}.{pair[1]}"),
)


@given(NUMBERS, st.sampled_from(sorted(SUFFIXES)), st.sampled_from(["", "+", "-"]))
def test_an_amount_is_what_it_says_rounded_away_from_zero(number: str, suffix: str, sign: str) -> None:
    exact = Fraction(number) * SUFFIXES[suffix] * NANOS
    size = min(math.ceil(exact), MOST)
    assert nanos(f"{sign}{number}{suffix}") == (-size if sign == "-" else size)


@given(NUMBERS, st.integers(-30, 30))
def test_exponents(number: str, power: int) -> None:
    exact = Fraction(number) * Fraction(10) ** power * NANOS
    assert nanos(f"{number}e{power}") == min(math.ceil(exact), MOST)


@given(st.integers(1, 9), st.sampled_from(["e9999", "e-9999", "Ei", "E"]))
def test_far_exponents_are_cut_not_computed(number: int, suffix: str) -> None:
    found = nanos(f"{number}{suffix}")
    assert found == (1 if "-" in suffix else min(number * 2**60 * NANOS, MOST) if suffix == "Ei" else
                     min(number * 10**18 * NANOS, MOST) if suffix == "E" else MOST)  # fmt: skip


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        nanos(text)
    except InvalidQuantity as error:
        assert repr(text) in str(error)


@given(st.lists(st.integers(0, 10**12), max_size=5))
def test_rounding_comes_after_adding(amounts: list[int]) -> None:
    total = sum(nanos(f"{a}n") for a in amounts)
    assert wholes(total) == math.ceil(Fraction(sum(amounts), NANOS))
    assert millis(total) == math.ceil(Fraction(sum(amounts), 10**6))


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
    assert format_duration(seconds) == words


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.33", Version(1, 33)),
        ("1.33", Version(1, 33)),
        ("1.33.1", Version(1, 33, 1)),
        ("v1.33.1-eks-1b3e656", Version(1, 33, 1)),
        ("v1.36.0-beta.0+4f5a", Version(1, 36, 0)),
        ("v1.27+", Version(1, 27)),
        (" v1.33 \n", Version(1, 33)),
    ],
)
def test_parse(text: str, version: Version) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize("text", ["", "v", "1", "v1.", "1.x", "one.two", "v1.33.1.2", "v1.33 beta", "-1.33", "12345.1"])
def test_what_is_no_version(text: str) -> None:
    assert parse_version(text) is None


@pytest.mark.parametrize(
    ("kubelet", "than", "older"),
    [
        ("v1.32.5", "v1.33", True),
        ("v1.33.0", "v1.33", False),
        ("v1.9.0", "v1.10", True),
        ("v1.33.0", "v1.33.1", True),
        ("v1.33.1", "v1.33.1", False),
        ("v1.33", "v1.33.1", True),
        ("v2.0.0", "v1.33", False),
    ],
)
def test_older_than(kubelet: str, than: str, older: bool) -> None:
    left, right = parse_version(kubelet), parse_version(than)
    assert left is not None and right is not None
    assert left.older_than(right) == older


@pytest.mark.parametrize("text", ["v1.33", "v1.33.1"])
def test_printed_as_kubernetes_writes_it(text: str) -> None:
    assert str(parse_version(text)) == text


def test_versions_sort_with_and_without_patch() -> None:
    written = ["v1.33.1", "v1.9", "v1.33", "v1.33.0", "v1.32.5"]
    in_order = ["v1.9", "v1.32.5", "v1.33", "v1.33.0", "v1.33.1"]
    assert [str(v) for v in sorted(v for v in map(parse_version, written) if v)] == in_order
