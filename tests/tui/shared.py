"""Apps that stay open from test to test, because opening one costs more time than most tests.

Each test gets the app in its first state. If a test fails or leaves the app, no later test uses that app.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar

from tests.tui.typing_pilot import TypingPilot

A = TypeVar("A")

Work = Callable[[TypingPilot], Awaitable[None]]


class SharedApp(Generic[A]):
    """A shared app, which is open or not. `reset` returns it to its first state. Mutable."""

    def __init__(self, app: A, size: tuple[int, int], begin: Work, reset: Work) -> None:
        self.app = app
        self._reset = reset
        self._loop = asyncio.new_event_loop()
        self._asked: asyncio.Queue[tuple[Work, asyncio.Future[None]] | None] = asyncio.Queue()
        self._task = self._loop.create_task(self._keep_open(size))
        try:
            self.do(begin)
        except BaseException:
            self.close()
            raise

    async def _keep_open(self, size: tuple[int, int]) -> None:
        """This task does all work on the app, because Textual stores the active app in the task's context."""
        app: Any = self.app
        async with app.run_test(size=size):
            pilot = TypingPilot(app)
            while (asked := await self._asked.get()) is not None:
                work, done = asked
                try:
                    await work(pilot)
                except BaseException as error:
                    done.set_exception(error)
                else:
                    done.set_result(None)

    def do(self, work: Work) -> None:
        done = self._loop.create_future()
        self._asked.put_nowait((work, done))
        self._loop.run_until_complete(asyncio.wait((done, self._task), return_when=asyncio.FIRST_COMPLETED))
        if not done.done():
            self._task.result()
        done.result()

    @property
    def is_usable(self) -> bool:
        app: Any = self.app
        return not self._task.done() and app.is_running and app._exception is None

    def reset(self) -> None:
        self.do(self._reset)

    def close(self) -> None:
        """Close the app and raise the error that occurred in it, if any."""
        self._asked.put_nowait(None)
        try:
            self._loop.run_until_complete(self._task)
        finally:
            self._loop.close()


_OPEN: dict[Hashable, SharedApp[Any]] = {}


def with_shared(key: Hashable, opened: Callable[[], SharedApp[A]], work: Work) -> A:
    """Run `work` with the shared app of that `key`; return the app, which may be closed."""
    shared = _OPEN.pop(key, None) or opened()
    try:
        shared.do(work)
        if shared.is_usable:
            shared.reset()
    except BaseException:
        if not shared._loop.is_closed():
            shared.close()
        raise
    if shared.is_usable:
        _OPEN[key] = shared
    else:
        shared.close()
    return shared.app


def with_own(app: A, size: tuple[int, int], work: Work) -> A:
    """Run `work` with a new app, and close it afterwards."""
    opened: Any = app

    async def main() -> None:
        async with opened.run_test(size=size):
            pilot = TypingPilot(opened)
            await pilot.pause()
            await work(pilot)

    asyncio.run(main())
    return app


def close_all() -> None:
    while _OPEN:
        _OPEN.popitem()[1].close()
