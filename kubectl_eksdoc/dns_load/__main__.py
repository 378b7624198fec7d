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
    STALL_AFTER_S,
    UDP_PERSISTENT,
    BadPlan,
    DnsQuery,
    FinishedQuery,
    LinePrinter,
    LoadSettings,
    LoadStream,
    PersistentSocket,
    QueryResult,
    TalliedSecond,
    Tally,
    parse_plan,
    send_query,
)

_HEARTBEAT_S = 0.05
_REPORT_DELAY_S = 0.5
"""A second is printed this long after the timeout of its last query."""

ReportSecond = Callable[[int, dict[LoadStream, TalliedSecond]], object]


class LoadRun:
    """One run of a plan. Mutable."""

    def __init__(self, settings: LoadSettings, report_second: ReportSecond) -> None:
        self._settings = settings
        self._report_second = report_second
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self.tally = Tally(settings, self._started)
        self._stop, self._abort = asyncio.Event(), asyncio.Event()
        self._open_queries: dict[asyncio.Task[None], tuple[LoadStream, float, float]] = {}
        self._sockets = {
            stream: PersistentSocket() for stream in settings.streams if stream.transport == UDP_PERSISTENT
        }

    def stop(self) -> None:
        """Send no more queries; open queries may still be answered. The second call aborts them."""
        if self._stop.is_set():
            self._abort.set()
        self._stop.set()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    async def run(self) -> None:
        """Run until the plan's time is over or `stop` is called, and every query is finished."""
        heartbeat = asyncio.create_task(self._heartbeat())
        try:
            await self._send_queries()
            waits = {asyncio.create_task(self._abort.wait()), asyncio.create_task(self._all_finished())}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for task in waits:
                task.cancel()
        finally:
            heartbeat.cancel()
            for task, (stream, due, sent) in list(self._open_queries.items()):
                task.cancel()
                self.tally.add(stream, FinishedQuery(due, sent, self._loop.time(), None))
            self._open_queries.clear()
            for persistent_socket in self._sockets.values():
                persistent_socket.close()
        for number in self.tally.pending_seconds:
            self._report_second(number, self.tally.pop_second(number))

    async def _all_finished(self) -> None:
        while self._open_queries:
            await asyncio.wait(set(self._open_queries))

    async def _send_queries(self) -> None:
        """Each stream has its own offset, so that the streams do not send at the same time."""
        streams, gap_s = self._settings.streams, 1 / self._settings.queries_per_second
        for number in range(round(self._settings.queries_per_second * self._settings.seconds)):
            for index, stream in enumerate(streams):
                due = self._started + (number + index / len(streams)) * gap_s
                await self._wait_until(due)
                if self.stopped:
                    return
                self._start_query(stream, due)

    async def _wait_until(self, due: float) -> None:
        wait_s = due - self._loop.time()
        if wait_s <= 0:
            await asyncio.sleep(0)  # while behind schedule, the loop must still receive responses
            return
        try:
            await asyncio.wait_for(self._stop.wait(), wait_s)
        except (asyncio.TimeoutError, TimeoutError):
            return

    def _start_query(self, stream: LoadStream, due: float) -> None:
        now = self._loop.time()
        if now - due >= STALL_AFTER_S:
            self.tally.add(stream, FinishedQuery(due, None, now, None))
            return
        task = self._loop.create_task(self._query(stream, due, now))
        self._open_queries[task] = (stream, due, now)
        task.add_done_callback(lambda done: self._open_queries.pop(done, None))

    async def _query(self, stream: LoadStream, due: float, sent: float) -> None:
        result: QueryResult | None = None
        reason = ""
        try:
            question, persistent_socket = DnsQuery(self._settings.parent_name, stream.v6), self._sockets.get(stream)
            result, reason = await send_query(stream, question, self._settings.timeout, persistent_socket)
        except OSError as error:
            reason = f"this machine: {error.strerror or error}"
        if asyncio.current_task() in self._open_queries:
            self.tally.add(stream, FinishedQuery(due, sent, self._loop.time(), result, reason))

    async def _heartbeat(self) -> None:
        """Record when the event loop was blocked, and report finished seconds."""
        last, next_second = self._loop.time(), 0
        while True:
            await asyncio.sleep(_HEARTBEAT_S)
            now = self._loop.time()
            self.tally.stalls.add(last + _HEARTBEAT_S, now)
            last = now
            while (
                now >= self._started + next_second + 1 + self._settings.timeout + _REPORT_DELAY_S
                and not self._has_open_query(next_second)
            ):
                self._report_second(next_second, self.tally.pop_second(next_second))
                next_second += 1

    def _has_open_query(self, second: int) -> bool:
        return any(self.tally.second_of(due) <= second for _, due, _ in self._open_queries.values())


def main(argv: Sequence[str]) -> int:
    printer = LinePrinter(sys.stdout)
    try:
        if len(argv) != 2 or argv[0] != "--plan":
            raise BadPlan("usage: dns_load --plan JSON")
        settings = parse_plan(argv[1])
    except BadPlan as error:
        printer.print_error(str(error))
        return 2
    asyncio.run(_run_load(settings, printer))
    return 0


async def _run_load(settings: LoadSettings, printer: LinePrinter) -> None:
    load_run = LoadRun(settings, printer.print_second)
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, load_run.stop)
    printer.print_start(settings, time.time())
    await load_run.run()
    printer.print_end(load_run.stopped, load_run.tally.sums)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
