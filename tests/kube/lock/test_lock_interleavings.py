"""Machines that stop anywhere, with lost requests and answers: at no moment do two of them believe that they hold the
lock."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.kube.lock import LeaseLock
from kubectl_eksdoc.kube.requests import JSON, ApiResponse, Clock
from kubectl_eksdoc.kubernetes.api.resources import LostResponse
from tests.fakes.sender import START
from tests.kube.spaces import SPACE, an_api, directly

PLAIN = ("take", "take", "renew", "renew", "release")
OPERATIONS = (*PLAIN, "regain")
LOSSES = ("", "", "", "request", "answer")


@dataclass(frozen=True)
class Step:
    """That much time passes, then one machine continues to its next request, answer or pause; an idle machine starts
    `operation`. `loss`: the fate of a request that it sends now. `skew`: the clock error of the answering API
    server."""

    machine: int
    seconds: float
    operation: str
    loss: str
    skew: float


STEPS = st.builds(
    Step,
    st.integers(0, 2),
    st.sampled_from((0.0, 0.01, 0.3, 2.0, 11.0, 19.0, 31.0, 58.0, 61.0, 63.0, 70.0, 300.0)),
    st.sampled_from(OPERATIONS),
    st.sampled_from(LOSSES),
    st.sampled_from((-2.0, 0.0, 2.0)),
)


class _Over(Exception):
    """The play is over."""


@dataclass
class World:
    seconds: float = 0.0
    step: Step = Step(0, 0, "take", "", 0)
    over: bool = False

    def __post_init__(self) -> None:
        self.sender = directly(an_api(), self._date)

    def _date(self) -> Any:
        return (START + timedelta(seconds=self.seconds + self.step.skew)).replace(microsecond=0)


@dataclass
class Machine:
    """A lock in its own thread, which advances only on command: from one request or answer to the next."""

    world: World
    name: str
    rate: float  # of its monotonic clock, which quartz keeps far better than this
    offset: float
    margin_s: float | None = None
    idle: bool = True
    _go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _parked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __post_init__(self) -> None:
        wall = timedelta(days=self.offset)
        clock = Clock(self.monotonic, lambda: START + wall + timedelta(seconds=self.world.seconds), self._sleep)
        self.lock = LeaseLock(self, SPACE, self.name, clock, margin_s=self.margin_s)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def monotonic(self) -> float:
        return self.offset + self.world.seconds * self.rate

    def go(self) -> None:
        """Continue to its next stop."""
        self._go.release()
        self._parked.acquire()

    def end(self) -> None:
        self.go()
        self._thread.join()

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: dict[str, Any] | None, content_type: str = JSON
    ) -> ApiResponse:
        self._stop()  # on its way there
        loss = self.world.step.loss
        if loss == "request":
            return ApiResponse(LostResponse("lost"), {})
        sent = self.world.sender.send(method, path, query, body, content_type)
        self._stop()  # on its way back
        return ApiResponse(LostResponse("lost"), {}) if loss == "answer" else sent

    def _sleep(self, seconds: float) -> None:
        until = self.monotonic() + seconds
        while self.monotonic() < until:
            self._stop()

    def _stop(self) -> None:
        self._parked.release()
        self._go.acquire()
        if self.world.over:
            raise _Over

    def _run(self) -> None:
        try:
            self._go.acquire()
            while not self.world.over:
                self.idle = False
                try:
                    getattr(self.lock, self.world.step.operation)()
                except EksdocError:
                    pass
                self.idle = True
                self._stop()
        except _Over:
            pass
        self._parked.release()


def play(steps: Sequence[Step], margin_s: float | None = None) -> list[str]:
    """The moments at which several machines believed that they hold the lock."""
    world = World()
    rates = ((1.0, 5.0), (1.001, 1e6), (0.999, -400.0))
    machines = [Machine(world, f"machine-{i}", rate, offset, margin_s) for i, (rate, offset) in enumerate(rates)]
    several: list[str] = []
    try:
        for step in steps:
            world.seconds += step.seconds
            world.step = step
            machines[step.machine].go()
            holding = [machine.name for machine in machines if machine.lock.held()]
            if len(holding) > 1:
                several.append(f"{world.seconds}: {' and '.join(holding)}")
    finally:
        world.over = True
        for machine in machines:
            machine.end()
    return several


@pytest.mark.long
@settings(max_examples=200)
@given(steps=st.lists(STEPS, min_size=20, max_size=200))
def test_never_two_at_once(steps: list[Step]) -> None:
    assert play(steps) == []


def drawn(seed: int, count: int) -> list[Step]:
    """Random steps; in most such plays the lock changes hands."""
    import random

    chance = random.Random(seed)
    seconds = (0.01, 0.3, 2.0, 11.0, 31.0, 61.0)
    return [
        Step(chance.randrange(3), chance.choice(seconds), chance.choice(PLAIN), chance.choice(LOSSES), 0.0)
        for _ in range(count)
    ]


def test_two_holders_would_be_seen() -> None:
    """Here each machine believes for too long that it holds the lock."""
    assert any(play(drawn(seed, 150), margin_s=-30.0) for seed in range(30))
