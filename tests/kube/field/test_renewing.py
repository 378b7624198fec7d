"""A field that is begun anew: nothing that it was asked for before is sent any more, and everything is told again."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import Delayed, Fault, Faulty
from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.errors import LockLost, Unauthorized
from kubectl_eksdoc.kube.field.live import WORKERS, LiveRunField, RenewableField
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.news import (
    AllBudgets,
    AllNodes,
    AllPods,
    News,
    PodsFound,
    RequestAnswered,
    WatchInterrupted,
    WatchRestored,
)
from kubectl_eksdoc.model.acts import Act, Evict, ListPods, Look
from tests.builders import a_pod
from tests.kube.field.fields import RUN, SHORT, connection, read
from tests.kube.field.test_fence import PATIENT, FakeLock, arriving


class Still:
    """A field on which nothing happens by itself."""

    def __init__(self, told: Sequence[News] = (), error: Exception | None = None) -> None:
        self.asked: list[Act] = []
        self.told = list(told)
        self.closed = False
        self._error = error

    def do(self, act: Act) -> None:
        self.asked.append(act)

    def news(self, wait_s: float) -> Sequence[News]:
        found, self.told = self.told, []
        if not found and self._error is not None:
            raise self._error
        return found

    def close(self) -> None:
        self.closed = True


def test_what_has_no_answer_is_answered_and_what_only_looks_is_done_again() -> None:
    fields = [Still(), Still()]
    field = RenewableField(iter(fields).__next__)
    first, second, look, there = Evict(a_pod("a")), Evict(a_pod("b")), Look(a_pod("a")), ListPods("old-0")
    for act in (first, second, look, there):
        field.do(act)
    fields[0].told = [RequestAnswered(first, ApiStatus(201)), PodsFound(there, ())]
    field.renew()
    assert fields[0].closed and fields[1].asked == [look]
    told = field.news(0)
    assert list(told[:2]) == [RequestAnswered(first, ApiStatus(201)), PodsFound(there, ())]
    (late,) = told[2:]
    assert isinstance(late, RequestAnswered) and late.act is second and isinstance(late.answer, LostAnswer)
    assert field.news(0) == []


def test_what_the_one_before_had_listed_does_not_count_as_listed_anew() -> None:
    """Nobody knows how old it is: it may have been listed before the lock was in doubt, or while it was."""
    before = [AllPods((), 7), AllNodes(()), AllBudgets((), 7)]
    fields = [Still(before), Still([AllNodes(())])]
    field = RenewableField(iter(fields).__next__)
    field.renew()
    told = [news for _ in range(3) for news in field.news(0)]
    assert told == [AllNodes(())]


def test_two_acts_that_are_alike_are_answered_each() -> None:
    fields = [Still(), Still()]
    field = RenewableField(iter(fields).__next__)
    acts = [Evict(a_pod("a")), Evict(a_pod("a"))]
    for act in acts:
        field.do(act)
    fields[0].told = [RequestAnswered(acts[1], ApiStatus(429))]
    assert len(field.news(0)) == 1
    field.renew()
    (late,) = field.news(0)
    assert isinstance(late, RequestAnswered) and late.act is acts[0]


@pytest.mark.parametrize("error", [LockLost("it is late"), Unauthorized("who?")])
def test_what_ended_the_one_before_does_not_end_the_next(error: Exception) -> None:
    fields = [Still([WatchInterrupted("no answer")], error), Still()]
    field = RenewableField(iter(fields).__next__)
    assert field.news(0) == [WatchInterrupted("no answer")]
    with pytest.raises(type(error)):
        field.news(0)
    field.renew()
    assert field.news(0) == [WatchRestored()], "the next one says itself how it fares"
    field.close()
    assert fields[1].closed


def test_acts_that_wait_are_not_sent_by_the_one_that_was_closed(api: Api, tmp_path: Path) -> None:
    """Though the lock is held all the time, or again."""
    lock, enough = FakeLock(), threading.Event()
    slow = Faulty(api, [Fault(Delayed(0.4), r"/eviction$")], time.sleep)
    handler = arriving(slow, lambda count: count == WORKERS and enough.set())
    with serving(handler) as server:
        to = connection(server, tmp_path)
        acts = [Evict(pod, None) for pod in read(server, tmp_path).pods[:12]]
        field = RenewableField(
            lambda: LiveRunField(to, RUN, fence=lock.must_be_held, patience=PATIENT, following=SHORT)
        )
        with contextlib.closing(field):
            for act in acts:
                field.do(act)
            assert enough.wait(10)
            field.renew()
            unseen, answered = {AllPods, AllNodes, AllBudgets}, 0
            ends_s = time.monotonic() + 20
            while unseen or answered < len(acts):
                assert time.monotonic() < ends_s
                for news in field.news(0.1):
                    unseen.discard(type(news))  # type: ignore[arg-type]
                    answered += isinstance(news, RequestAnswered)
            assert answered == len(acts) and len(handler.requests) <= WORKERS
