"""A run on a simulated cluster whose time is faster than ours: it reckons in that one's seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from kubectl_eksdoc.wiring.runs import Hooks, Keeping, RunEdges

if TYPE_CHECKING:
    from kubectl_eksdoc.core.model.acts import Errand
    from kubectl_eksdoc.core.model.connection import Connection
    from kubectl_eksdoc.core.rules.news import News
    from kubectl_eksdoc.flows.ports import Field
    from kubectl_eksdoc.flows.run.draining import Clock

OpenRun = Callable[["Connection", Keeping, float, Hooks], AbstractContextManager[RunEdges]]


class HastenedClock:
    """From when it is made on, `speed` seconds pass in one of `clock`."""

    def __init__(self, clock: Clock, speed: float) -> None:
        self._clock = clock
        self._speed = speed
        self._since = clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic() * self._speed

    def now(self) -> datetime:
        return self._since + (self._clock.now() - self._since) * self._speed


class HastenedField:
    def __init__(self, field: Field, speed: float) -> None:
        self._field = field
        self._speed = speed

    def do(self, act: Errand) -> None:
        self._field.do(act)

    def news(self, wait_s: float) -> Sequence[News]:
        return self._field.news(wait_s / self._speed)

    def renew(self) -> None:
        self._field.renew()

    def close(self) -> None:
        self._field.close()


def hastened(open_run: OpenRun, clock: HastenedClock, speed: float) -> OpenRun:
    """The lock is kept alive in our own time: who else would hold it lives in that."""

    @contextmanager
    def opened(connection: Connection, keeping: Keeping, wait_s: float, hooks: Hooks) -> Iterator[RunEdges]:
        with open_run(connection, keeping, wait_s, hooks) as edges:
            yield replace(edges, field=HastenedField(edges.field, speed), clock=clock)

    return opened
