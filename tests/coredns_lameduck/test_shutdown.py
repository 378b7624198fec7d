"""The arithmetic of CoreDNS' end: what EKS ships, what is usually advised, and what holds for any numbers."""

from __future__ import annotations

from datetime import datetime, timezone

from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.coredns_lameduck.shutdown import (
    CLOSING_S,
    MARGIN_S,
    Shutdown,
    arithmetic,
    budget,
    grace_for,
    propagation_s,
)
from kubectl_eksdoc.model.coredns import Propagation

EKS = Shutdown(grace_s=30, lameduck_s=5)


def test_what_eks_ships_may_be_too_short_and_the_usual_advice_does_not_fit() -> None:
    """Only what is shorter than any node hears of it is short for certain; the rest is an estimate."""
    found = budget(EKS, nodes=100)
    assert (found.propagation.seconds, found.least_s, found.advised_s, found.most_s) == (2, 7, 20, 25)
    assert found.maybe_short and not found.too_short and not found.too_long and found.fits
    assert budget(Shutdown(30), 100).too_short
    usual = budget(Shutdown(30, lameduck_s=30), nodes=100)
    assert usual.too_long and grace_for(30) == 40
    assert arithmetic(30, EKS) == "lameduck 30 s + closing 5 s + margin 5 s = 40 s of a grace period of 30 s"


def test_from_21_to_25_s_only_the_margin_is_broken() -> None:
    for lameduck in (21, 22, 25):
        found = budget(Shutdown(30, lameduck_s=lameduck), 100)
        assert found.tight and not found.too_long
    assert budget(Shutdown(30, lameduck_s=26), 100).too_long and not budget(Shutdown(30, lameduck_s=20), 100).tight


def test_a_hook_before_the_end_is_counted() -> None:
    held = Shutdown(30, pre_stop_s=10)
    assert budget(held, 10).advised_s == 10 and grace_for(20, 10) == 40
    assert arithmetic(20, held).startswith("preStop 10 s + lameduck 20 s")


def test_news_of_endpoints_takes_one_to_ten_seconds() -> None:
    assert [propagation_s(nodes) for nodes in (0, 1, 1000, 5000)] == [1, 2, 10, 10]


_SECONDS = some.integers(0, 600)


@given(grace=_SECONDS, hook=_SECONDS, lameduck=some.integers(0, 600), nodes=some.integers(0, 10_000))
def test_what_is_advised_ends_in_time_and_is_the_most_that_does(
    grace: int, hook: int, lameduck: int, nodes: int
) -> None:
    of = Shutdown(grace, hook, lameduck)
    found = budget(of, nodes)
    if found.advised_s > 0:
        assert grace_for(found.advised_s, hook) <= grace < grace_for(found.advised_s + 1, hook)
    assert found.too_long is (hook + lameduck + CLOSING_S > grace)
    assert found.fits is (propagation_s(nodes) + MARGIN_S <= max(0, grace - hook - CLOSING_S - MARGIN_S))
    assert propagation_s(nodes) <= propagation_s(nodes + 1)


WHEN = datetime(2026, 11, 20, tzinfo=timezone.utc)


def test_a_measurement_replaces_the_estimate() -> None:
    """Without loss it needs no margin; with a loss it is certain, and needs one."""
    enough = Propagation(5, 100, WHEN)
    assert not budget(EKS, 100, enough).maybe_short and budget(Shutdown(30, lameduck_s=4), 100, enough).maybe_short
    lost = budget(EKS, 100, Propagation(6, 100, WHEN, lost=True))
    assert lost.too_short and lost.least_s == 6 + MARGIN_S
    assert not budget(Shutdown(30, lameduck_s=6), 100, lost.propagation).too_short


def test_a_measurement_says_nothing_about_a_much_larger_cluster() -> None:
    enough = Propagation(5, 100, WHEN)
    assert not budget(EKS, 200, enough).maybe_short and budget(EKS, 201, enough).maybe_short
