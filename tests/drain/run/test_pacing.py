"""The pace: never faster than allowed, half as fast when the server complains, and back again."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.policy import burst
from kubectl_eksdoc.drain.run.answers import Next, Reading, RunTrouble
from kubectl_eksdoc.drain.run.asking import HIGHEST, EvictionRate

FINE = Reading(Next.LEAVES)
THROTTLED = Reading(Next.AGAIN, RunTrouble.THROTTLED, 1.0)
FAILED = Reading(Next.LOOK, RunTrouble.SERVER, 1.0)
REFUSED = Reading(Next.BUDGET, RunTrouble.BUDGET)

ANSWERS = st.sampled_from([FINE, FINE, FINE, THROTTLED, FAILED, REFUSED, THROTTLED._replace(after_s=7.0)])


def asked(pace: EvictionRate, until_s: float, start_s: float = 0.0, answer: Reading = FINE) -> list[float]:
    """When somebody asks who always wants to, and is answered at once."""
    now_s, found = start_s, []
    while (now_s := max(now_s, pace.next_s)) < until_s:
        pace.asked(now_s)
        found.append(now_s)
        pace.answered(answer, now_s)
    return found


@given(
    st.sampled_from([0.05, 0.5, 1.0, 3.0, 12.5]),
    st.lists(st.tuples(st.floats(0, 5), st.integers(0, 20), ANSWERS), max_size=40),
)
@example(3.0, [(0.0, 9, FINE), (0.5, 9, THROTTLED), (1.0, 9, FINE)])
def test_in_no_time_more_than_allowed(limit: float, steps: list[tuple[float, int, Reading]]) -> None:
    pace, now_s, times = EvictionRate(limit), 0.0, list[float]()
    for pause_s, wanted, answer in steps:
        now_s += pause_s
        for _ in range(wanted):
            if pace.next_s <= now_s:
                pace.asked(now_s)
                times.append(now_s)
                pace.answered(answer, now_s)
        assert pace.rate is not None and 0 < pace.rate <= limit
    for i, first in enumerate(times):
        for n, last in enumerate(times[i:], 1):
            assert n <= limit * (last - first) + burst(limit) + 1e-6


@given(st.one_of(st.just(0.0), st.floats(0.05, 50)), st.lists(st.sampled_from([THROTTLED, FAILED]), max_size=30))
def test_it_recovers(limit: float, complaints: list[Reading]) -> None:
    pace, now_s = EvictionRate(limit), 0.0
    for complaint in complaints:
        now_s = max(now_s + 2, pace.next_s)
        pace.asked(now_s)
        pace.answered(complaint, now_s)
    asking_s = now_s
    while pace.rate != (limit or None):
        asking_s = max(asking_s + 0.01, pace.next_s)
        assert asking_s < now_s + 120
        pace.asked(asking_s)
        pace.answered(FINE, asking_s)


@pytest.mark.parametrize("limit", [0.2, 1.0, 8.0])
def test_all_that_is_allowed_is_used(limit: float) -> None:
    assert len(asked(EvictionRate(limit), 100.0)) == pytest.approx(limit * 100 + burst(limit) - 1, abs=1)


def test_each_complaint_halves_it_and_those_at_once_only_once() -> None:
    pace = EvictionRate(8)
    for _ in range(5):
        pace.answered(FAILED, 10.0)
    assert pace.rate == 4
    pace.answered(THROTTLED, 12.0)
    assert pace.rate == 2


def test_who_has_no_limit_is_slowed_down_from_where_it_was() -> None:
    pace = EvictionRate(0)
    for tenth in range(10):
        pace.asked(tenth / 10)
    pace.answered(THROTTLED, 1.0)
    assert pace.rate == 5
    pace = EvictionRate(0)
    for _ in range(300):
        pace.asked(0.0)
    pace.answered(THROTTLED, 0.0)
    assert pace.rate == HIGHEST / 2


def test_nobody_is_asked_before_the_server_wants_it() -> None:
    for limit in (0.0, 5.0):
        pace = EvictionRate(limit)
        pace.answered(THROTTLED._replace(after_s=30.0), 4.0)
        assert pace.next_s == 34
        pace.answered(FAILED._replace(after_s=2.0), 5.0)
        assert pace.next_s == 34, "the latest time holds"


def test_an_empty_budget_is_no_complaint() -> None:
    pace = EvictionRate(2)
    pace.answered(REFUSED, 1.0)
    pace.answered(Reading(Next.AGAIN, RunTrouble.WEBHOOK_DOWN, 30.0), 1.0)
    assert pace.rate == 2 and pace.next_s <= 1
