"""Reading a cluster, step by step: the progress in the screen's head, and the time of the next read."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.tui.model import (
    CHANGED_COST_FACTOR,
    CHANGED_INTERVAL_S,
    MAX_RETRY_S,
    UNWATCHED_INTERVAL_S,
    WATCHED_INTERVAL_S,
    ScreenReads,
    WatchState,
    without_address,
)

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=timezone.utc)
REFUSED = ("https://api cannot be reached: the connection is refused", "Is the VPN up?")


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


READ = ScreenReads(live=True).read_started(at(0)).read_succeeded(at(2))


def due_in(reads: ScreenReads) -> float:
    assert reads.next_due is not None
    return (reads.next_due - NOW).total_seconds()


def test_what_stays_as_it_is_is_never_read_anew() -> None:
    fixed = ScreenReads(live=False).read_started(at(0)).read_succeeded(at(1))
    assert fixed.next_due is None and not fixed.is_due(at(10**6))
    assert ScreenReads().read_started(at(0)).read_failed(at(1), *REFUSED).next_due is None


def test_it_is_read_seldom_while_nothing_changes_and_soon_after_a_change() -> None:
    assert due_in(READ) == UNWATCHED_INTERVAL_S
    watched = READ.watch_started()
    assert due_in(watched) == WATCHED_INTERVAL_S
    assert due_in(watched.cluster_changed(at(5))) == CHANGED_INTERVAL_S
    assert not watched.is_due(at(WATCHED_INTERVAL_S - 1)) and watched.is_due(at(WATCHED_INTERVAL_S))


def test_what_the_first_one_costs_is_not_counted_and_what_others_cost_is() -> None:
    again = READ.read_started(at(10)).read_succeeded(at(13)).cluster_changed(at(14))
    assert due_in(again) == 10 + CHANGED_COST_FACTOR * 3


def test_a_change_while_it_is_read_is_read_once_more_and_one_before_it_is_not() -> None:
    assert READ.cluster_changed(at(5)).read_started(at(10)).read_succeeded(at(11)).changed_at is None
    during = READ.read_started(at(10)).cluster_changed(at(10.5)).read_succeeded(at(11))
    assert during.changed_at == at(10.5) and due_in(during) < 10 + WATCHED_INTERVAL_S


def test_nothing_is_due_while_it_is_being_read() -> None:
    assert not READ.cluster_changed(at(5)).read_started(at(20)).is_due(at(1000))


def test_a_clock_that_is_set_back_does_not_make_it_wait() -> None:
    assert READ.is_due(at(-3600))


@given(st.integers(1, 40))
def test_failures_are_tried_again_ever_later_but_not_too_late(times: int) -> None:
    reads, waits = READ, []
    for attempt in range(times):
        reads = reads.read_started(at(attempt)).read_failed(at(attempt), *REFUSED)
        waits.append(due_in(reads) - attempt)
    assert waits == sorted(waits) and waits[0] <= 5 and max(waits) <= MAX_RETRY_S
    mended = reads.read_started(at(99)).read_succeeded(at(100))
    assert not mended.is_failing and not mended.reason and mended.stale_since() is None


@pytest.mark.parametrize(
    ("reads", "said"),
    [
        (READ, "live, read 48s ago"),
        (READ.read_started(at(40)), "live, read 48s ago"),
        (READ.read_started(at(30)), "live, read 48s ago, being read for 18s"),
        (
            READ.read_started(at(40)).read_failed(at(46), *REFUSED),
            "! stale 48s, retry in 2s: cannot be reached: the connection is refused",
        ),
        (
            READ.read_started(at(30)).read_failed(at(31), *REFUSED).read_started(at(47)),
            "! stale 48s, trying now: cannot be reached: the connection is refused",
        ),
        (READ.watch_started().watch_lost(at(38), "nobody answers"), "! stale 10s: nobody answers"),
        (
            READ.watch_started().watch_lost(at(38), "nobody answers").watch_lost(at(44), "still not"),
            "! stale 10s: still not",
        ),
        (READ.watch_started().watch_lost(at(38), "nobody answers").watch_started(), "live, read 48s ago"),
        (
            READ.watch_started().watch_lost(at(8), "nobody").read_started(at(40)).read_succeeded(at(41)),
            "live, read 8s ago",
        ),
        (READ.read_started(at(40)).watch_lost(at(41), "nobody").read_succeeded(at(42)), "! stale 7s: nobody"),
    ],
)
def test_what_the_head_says(reads: ScreenReads, said: str) -> None:
    assert reads.age_text(at(48)) == said


def test_whoever_watches_can_stop_to() -> None:
    over = READ.watch_started().watch_ended("you may not")
    assert over.watch is WatchState.NONE and due_in(over) == UNWATCHED_INTERVAL_S and over.stale_since() is None


def test_an_address_at_the_beginning_is_left_out() -> None:
    assert (
        without_address("http://a:1/x through the proxy http://b cannot be reached: refused")
        == "cannot be reached: refused"
    )
    untrusted = "the certificate of https://a:1 is not trusted: self-signed"
    assert without_address(untrusted) == "the certificate is not trusted: self-signed"
    assert without_address(untrusted, "the server ") == "the certificate of the server is not trusted: self-signed"
    assert without_address("context 'x' does not exist") == "context 'x' does not exist"
