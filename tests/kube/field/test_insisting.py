"""How often a read is tried again, and when nobody insists on it any more."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.kube.exchanges import RetryPolicy, Timing
from kubectl_eksdoc.kube.field.reads import FailureStreak, GaveUp
from tests.fakes.sender import Hands


def insisted() -> tuple[Hands, FailureStreak]:
    hands = Hands(0.0)
    timing = Timing(hands.sleep, lambda: hands.seconds, lambda: 1.0)
    return hands, FailureStreak(RetryPolicy(), timing, longest_s=60.0)


def test_a_read_that_only_fails_is_given_up_after_its_time() -> None:
    hands, insisting = insisted()
    with pytest.raises(GaveUp, match="500 broken"):
        while True:
            insisting.failed(ClusterError("500 broken"))
    assert 60.0 <= hands.seconds <= 70.0


def test_one_that_succeeds_now_and_then_never_is() -> None:
    hands, insisting = insisted()
    while hands.seconds < 1000.0:
        insisting.failed(ClusterError("500 broken"))
        insisting.failed(ClusterError("500 broken"))
        insisting.succeeded()
