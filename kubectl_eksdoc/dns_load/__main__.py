"""``python dns-load.pyz --plan JSON``: sends DNS queries, prints the results of each second, and ends at its deadline
or at SIGTERM.

Exit codes: 0, also after SIGTERM; 2, the plan is invalid.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Sequence

from kubectl_eksdoc.dns_load.exchanges import (
    KEPT,
    STALL_S,
    BadPlan,
    DnsQuery,
    FinishedQuery,
    LinePrinter,
    LoadSettings,
    PersistentSocket,
    QueryResult,
    QueryStream,
    TalliedSecond,
    Tally,
    ask,
    read,
)

_BEAT_S = 0.05
_AFTER_S = 0.5
"""A second is printed this long after the timeout of its last query."""

Tell = Callable[[int, dict[QueryStream, TalliedSecond]], object]


class LoadRun:
    """One run of a plan. Mutable."""

    def __init__(self, asked: LoadSettings, tell: Tell) -> None:
        self._asked = asked
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self.tally = Tally(asked, self._began)
        self._stop, self._give_up = asyncio.Event(), asyncio.Event()
        self._open: dict[asyncio.Task[None], tuple[QueryStream, float, float]] = {}
        self._kept = {stream: PersistentSocket() for stream in asked.streams if stream.transport == KEPT}

    def stop(self) -> None:
        """Send no more queries; open queries may still be answered. The second call aborts them."""
        if self._stop.is_set():
            self._give_up.set()
        self._stop.set()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    async def run(self) -> None:
        """Run until the plan's time is over or `stop` is called, and every query is finished."""
        beat = asyncio.create_task(self._beat())
        try:
            await self._send()
            waits = {asyncio.create_task(self._give_up.wait()), asyncio.create_task(self._all_over())}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for task in waits:
                task.cancel()
        finally:
            beat.cancel()
            for task, (stream, due, sent) in list(self._open.items()):
                task.cancel()
                self.tally.hear(stream, FinishedQuery(due, sent, self._loop.time(), None))
            self._open.clear()
            for kept in self._kept.values():
                kept.close()
        for number in self.tally.numbers:
            self._tell(number, self.tally.take(number))

    async def _all_over(self) -> None:
        while self._open:
            await asyncio.wait(set(self._open))

    async def _send(self) -> None:
        """Each stream has its own offset, so that the streams do not send at the same time."""
        every, gap_s = self._asked.streams, 1 / self._asked.rate
        for number in range(round(self._asked.rate * self._asked.seconds)):
            for place, stream in enumerate(every):
                due = self._began + (number + place / len(every)) * gap_s
                await self._until(due)
                if self.stopped:
                    return
                self._one(stream, due)

    async def _until(self, when: float) -> None:
        left_s = when - self._loop.time()
        if left_s <= 0:
            await asyncio.sleep(0)  # while behind schedule, the loop must still receive responses
            return
        try:
            await asyncio.wait_for(self._stop.wait(), left_s)
        except (asyncio.TimeoutError, TimeoutError):
            return

    def _one(self, stream: QueryStream, due: float) -> None:
        now = self._loop.time()
        if now - due >= STALL_S:
            self.tally.hear(stream, FinishedQuery(due, None, now, None))
            return
        task = self._loop.create_task(self._asked_one(stream, due, now))
        self._open[task] = (stream, due, now)
        task.add_done_callback(lambda done: self._open.pop(done, None))

    async def _asked_one(self, stream: QueryStream, due: float, sent: float) -> None:
        end: QueryResult | None = None
        why = ""
        try:
            question, kept = DnsQuery(self._asked.question, stream.v6), self._kept.get(stream)
            end, why = await ask(stream, question, self._asked.timeout, kept)
        except OSError as error:
            why = f"this machine: {error.strerror or error}"
        if asyncio.current_task() in self._open:
            self.tally.hear(stream, FinishedQuery(due, sent, self._loop.time(), end, why))

    async def _beat(self) -> None:
        """Record when the event loop was blocked, and report finished seconds."""
        last, told = self._loop.time(), 0
        while True:
            await asyncio.sleep(_BEAT_S)
            now = self._loop.time()
            self.tally.stalls.add(last + _BEAT_S, now)
            last = now
            while now >= self._began + told + 1 + self._asked.timeout + _AFTER_S and not self._open_in(told):
                self._tell(told, self.tally.take(told))
                told += 1

    def _open_in(self, second: int) -> bool:
        return any(self.tally.second_of(due) <= second for _, due, _ in self._open.values())


def main(argv: Sequence[str]) -> int:
    printer = LinePrinter(sys.stdout)
    try:
        if len(argv) != 2 or argv[0] != "--plan":
            raise BadPlan("usage: dns_load --plan JSON")
        asked = read(argv[1])
    except BadPlan as error:
        printer.refused(str(error))
        return 2
    asyncio.run(_asked(asked, printer))
    return 0


async def _asked(asked: LoadSettings, printer: LinePrinter) -> None:
    asking = LoadRun(asked, printer.second)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asking.stop)
    printer.begun(asked, time.time())
    await asking.run()
    printer.over(asking.stopped, asking.tally.sums)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
