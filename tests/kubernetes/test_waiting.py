"""When waiting for pods to go ends, and on whose word."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kubectl_eksdoc.kubernetes.disruption_targets import End, Limits, Pause, Unreadable, Waiting, look, pause
from tests.builders import NOW, a_pod, ago

ONE, TWO = a_pod("web-1"), a_pod("web-2")
SECOND = timedelta(seconds=1)


def test_a_pod_that_left_is_not_looked_at_again() -> None:
    waiting = look(Waiting((ONE, TWO)), {ONE.key: None, TWO.key: TWO}, NOW)
    assert waiting == Waiting((TWO,))
    assert look(waiting, {TWO.key: replace(TWO, uid="another")}, NOW) == Waiting((), End.ALL_LEFT)


def test_a_failed_read_forgets_who_left_in_the_same_look() -> None:
    waiting = look(Waiting((ONE, TWO)), {ONE.key: None, TWO.key: Unreadable("timeout")}, NOW)
    assert waiting == Waiting((ONE, TWO), End.READ_FAILED, "timeout")


@pytest.mark.parametrize(("late", "end"), [(10, None), (11, End.ALL_LEFT)])
def test_a_pod_past_its_deadline_is_given_up_only_after_the_limit(late: int, end: End | None) -> None:
    seen = replace(ONE, deletion_deadline=ago(late))
    assert look(Waiting((ONE,)), {ONE.key: seen}, NOW, skip_deleting_after=10).end is end


def test_nothing_to_wait_for_is_over_at_once() -> None:
    assert look(Waiting(()), {}, NOW).end is End.ALL_LEFT


@pytest.mark.parametrize(
    ("times_out", "cancelled", "expected"),
    [
        (None, None, Pause(NOW + SECOND)),
        (2.0, 3.0, Pause(NOW + SECOND)),
        (0.5, None, Pause(NOW + SECOND / 2, End.TIMED_OUT)),
        (0.5, 0.25, Pause(NOW + SECOND / 4, End.CANCELLED)),
        (0.25, 0.5, Pause(NOW + SECOND / 4, End.TIMED_OUT)),
        (1.0, None, Pause(NOW + SECOND, End.TIMED_OUT)),
        (None, -5.0, Pause(NOW, End.CANCELLED)),
    ],
)
def test_the_limit_that_comes_first_ends_the_pause(
    times_out: float | None, cancelled: float | None, expected: Pause
) -> None:
    at = [None if seconds is None else ago(-seconds) for seconds in (times_out, cancelled)]
    assert pause(NOW, Limits(SECOND, at[0], at[1])) == expected
