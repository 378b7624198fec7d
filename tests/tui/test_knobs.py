"""The knobs: each turn is what a flag says, and stays within what the planner takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.policy import ALL, ZONE, DrainPolicy
from kubectl_eksdoc.model.budgets import Amount
from kubectl_eksdoc.tui import knobs


@given(targets=st.integers(0, 9), turns=st.lists(st.sampled_from((-1, 1)), max_size=30))
def test_nodes_at_once_are_between_one_and_no_limit(targets: int, turns: list[int]) -> None:
    policy = DrainPolicy(max_unavailable=((ZONE, Amount(1)),))
    for by in turns:
        before = knobs.parallel_of(policy)
        policy = knobs.with_parallel(policy, by, targets)
        now = knobs.parallel_of(policy)
        assert now is None or 1 <= now < targets
        if by < 0 and targets > 1:
            assert now is not None and (before is None or now <= before)
        assert dict(policy.max_unavailable)[ZONE] == Amount(1), "what else was asked for stays"


def test_one_less_than_no_limit_are_all_but_one() -> None:
    assert knobs.parallel_of(knobs.with_parallel(DrainPolicy(), -1, 8)) == 7
    back = knobs.with_parallel(DrainPolicy(max_unavailable=((ALL, Amount(7)),)), 1, 8)
    assert back == DrainPolicy()


@pytest.mark.parametrize(
    ("given_s", "by", "then_s"),
    [(None, 1, 30), (30, -1, None), (300, 1, 300), (None, -1, None), (45, 1, 60), (45, -1, 30), (900, 1, 300)],
)
def test_grace_periods(given_s: int | None, by: int, then_s: int | None) -> None:
    assert knobs.with_grace(DrainPolicy(grace_seconds=given_s), by).grace_seconds == then_s


@given(
    wave=st.integers(1, 6),
    others=st.lists(st.integers(1, 6), max_size=5),
    by=st.sampled_from((-1, 1)),
    pin=st.booleans(),
)
def test_a_node_moves_by_one_wave_and_never_out_of_them(wave: int, others: list[int], by: int, pin: bool) -> None:
    waves = {f"other-{at}": each for at, each in enumerate(others)} | {"node": wave}
    policy = DrainPolicy(pins=(("other-0", 1), *((("node", wave),) if pin else ())))
    moved = dict(knobs.moved(policy, "node", by, waves).pins)
    assert moved["node"] == min(max(wave + by, 1), max(waves.values()) + 1)
    assert moved["other-0"] == 1
    assert knobs.pinned(policy, "node", None).pins == (("other-0", 1),)
