"""How often a read is tried again, and when nobody insists on it any more."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.kube.exchanges import RetryPolicy, Timing
from kubectl_eksdoc.kube.field.reads import FailureStreak, GaveUp


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def timing(self) -> Timing:
        def sleep(seconds: float) -> None:
            self.now_s += seconds

        return Timing(sleep, lambda: self.now_s, lambda: 1.0)


def test_a_read_that_only_fails_is_given_up_after_its_time() -> None:
    clock = Clock()
    insisting = FailureStreak(RetryPolicy(), clock.timing(), longest_s=60.0)
    with pytest.raises(GaveUp, match="500 broken"):
        while True:
            insisting.failed(ClusterError("500 broken"))
    assert 60.0 <= clock.now_s <= 70.0


def test_one_that_succeeds_now_and_then_never_is() -> None:
    clock = Clock()
    insisting = FailureStreak(RetryPolicy(), clock.timing(), longest_s=60.0)
    while clock.now_s < 1000.0:
        insisting.failed(ClusterError("500 broken"))
        insisting.failed(ClusterError("500 broken"))
        insisting.succeeded()
