"""How reading goes, step by step: what the head of the screen says, and when it is read next."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.tui.model import (
    COSTS,
    LONGEST_RETRY_S,
    SOONEST_S,
    UNWATCHED_S,
    WATCHED_S,
    ScreenReads,
    WatchState,
    brief,
)

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=timezone.utc)
REFUSED = ("https://api cannot be reached: the connection is refused", "Is the VPN up?")


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


READ = ScreenReads(live=True).begins(at(0)).succeeded(at(2))


def due_in(reads: ScreenReads) -> float:
    assert reads.next_due is not None
    return (reads.next_due - NOW).total_seconds()


def test_what_stays_as_it_is_is_never_read_anew() -> None:
    fixed = ScreenReads(live=False).begins(at(0)).succeeded(at(1))
    assert fixed.next_due is None and not fixed.due(at(10**6))
    assert ScreenReads().begins(at(0)).went_wrong(at(1), *REFUSED).next_due is None


def test_it_is_read_seldom_while_nothing_changes_and_soon_after_a_change() -> None:
    assert due_in(READ) == UNWATCHED_S
    watched = READ.watched()
    assert due_in(watched) == WATCHED_S
    assert due_in(watched.was_told(at(5))) == SOONEST_S
    assert not watched.due(at(WATCHED_S - 1)) and watched.due(at(WATCHED_S))


def test_what_the_first_one_costs_is_not_counted_and_what_others_cost_is() -> None:
    again = READ.begins(at(10)).succeeded(at(13)).was_told(at(14))
    assert due_in(again) == 10 + COSTS * 3


def test_a_change_while_it_is_read_is_read_once_more_and_one_before_it_is_not() -> None:
    assert READ.was_told(at(5)).begins(at(10)).succeeded(at(11)).changed is None
    during = READ.begins(at(10)).was_told(at(10.5)).succeeded(at(11))
    assert during.changed == at(10.5) and due_in(during) < 10 + WATCHED_S


def test_nothing_is_due_while_it_is_being_read() -> None:
    assert not READ.was_told(at(5)).begins(at(20)).due(at(1000))


def test_a_clock_that_is_set_back_does_not_make_it_wait() -> None:
    assert READ.due(at(-3600))


@given(st.integers(1, 40))
def test_failures_are_tried_again_ever_later_but_not_too_late(times: int) -> None:
    reads, waits = READ, []
    for attempt in range(times):
        reads = reads.begins(at(attempt)).went_wrong(at(attempt), *REFUSED)
        waits.append(due_in(reads) - attempt)
    assert waits == sorted(waits) and waits[0] <= 5 and max(waits) <= LONGEST_RETRY_S
    mended = reads.begins(at(99)).succeeded(at(100))
    assert not mended.failing and not mended.why and mended.stale_since() is None


@pytest.mark.parametrize(
    ("reads", "said"),
    [
        (READ, "live, read 48s ago"),
        (READ.begins(at(40)), "live, read 48s ago"),
        (READ.begins(at(30)), "live, read 48s ago, being read for 18s"),
        (
            READ.begins(at(40)).went_wrong(at(46), *REFUSED),
            "! stale 48s, retry in 2s: cannot be reached: the connection is refused",
        ),
        (
            READ.begins(at(30)).went_wrong(at(31), *REFUSED).begins(at(47)),
            "! stale 48s, trying now: cannot be reached: the connection is refused",
        ),
        (READ.watched().lost_sight(at(38), "nobody answers"), "! stale 10s: nobody answers"),
        (READ.watched().lost_sight(at(38), "nobody answers").lost_sight(at(44), "still not"), "! stale 10s: still not"),
        (READ.watched().lost_sight(at(38), "nobody answers").watched(), "live, read 48s ago"),
        (READ.watched().lost_sight(at(8), "nobody").begins(at(40)).succeeded(at(41)), "live, read 8s ago"),
        (READ.begins(at(40)).lost_sight(at(41), "nobody").succeeded(at(42)), "! stale 7s: nobody"),
    ],
)
def test_what_the_head_says(reads: ScreenReads, said: str) -> None:
    assert reads.said_of(at(48)) == said


def test_whoever_watches_can_stop_to() -> None:
    over = READ.watched().unwatched("you may not")
    assert over.watch is WatchState.NONE and due_in(over) == UNWATCHED_S and over.stale_since() is None


def test_an_address_at_the_beginning_is_left_out() -> None:
    assert brief("http://a:1/x through the proxy http://b cannot be reached: refused") == "cannot be reached: refused"
    untrusted = "the certificate of https://a:1 is not trusted: self-signed"
    assert brief(untrusted) == "the certificate is not trusted: self-signed"
    assert brief(untrusted, "the server ") == "the certificate of the server is not trusted: self-signed"
    assert brief("context 'x' does not exist") == "context 'x' does not exist"
