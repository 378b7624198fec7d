"""A service in front of responders, as kube-proxy makes one: each flow goes to one of its endpoints, and one that has
ended is taken out only after a while. What is sent to one that is gone meets silence, as with a pod that is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any, cast

from tests.dns.responder import HOSTS


class Service:
    """On the port `port` of 127.0.0.1. Mutable: endpoints are taken out; `flows`: how many went to each over each
    transport."""

    def __init__(self, endpoints: Sequence[int]) -> None:
        self._endpoints = list(endpoints)
        self.flows: Counter[tuple[str, int]] = Counter()
        self.port = 0
        self._tracked: dict[tuple[str, int], int] = {}
        self._loop = asyncio.new_event_loop()
        self._up: list[asyncio.DatagramTransport] = []

    @property
    def endpoints(self) -> Sequence[int]:
        return tuple(self._endpoints)

    def take_out(self, endpoint: int) -> None:
        """The proxy has heard that it has ended."""
        self._loop.call_soon_threadsafe(self._endpoints.remove, endpoint)

    def chosen(self, transport: str) -> int:
        """By chance, as kube-proxy's rules do it: turns would be in step with those who ask in turns."""
        endpoint = random.choice(self._endpoints)
        self.flows[transport, endpoint] += 1
        return endpoint

    def tracked(self, addr: tuple[str, int]) -> int:
        """A flow that is known goes on to its endpoint until that is taken out, as with conntrack."""
        if self._tracked.get(addr) not in self._endpoints:
            self._tracked[addr] = self.chosen("udp")
        return self._tracked[addr]

    async def open(self) -> None:
        while True:
            server = await asyncio.start_server(self._tcp, HOSTS[0], 0)
            self.port = server.sockets[0].getsockname()[1]
            try:
                await self._loop.create_datagram_endpoint(lambda: _Front(self), local_addr=(HOSTS[0], self.port))
            except OSError:
                server.close()
                continue
            return

    async def relay(self, data: bytes, reply: asyncio.DatagramTransport, addr: tuple[str, int]) -> None:
        """One flow: its answer goes back to where it came from."""
        transport, _ = await self._loop.create_datagram_endpoint(
            lambda: _Back(reply, addr), remote_addr=(HOSTS[0], self.tracked(addr))
        )
        transport.sendto(data)

    async def _tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(HOSTS[0], self.chosen("tcp"))
        except OSError:
            await reader.read()  # silence, until the client goes
            await reader.read()
            writer.close()
            return
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await asyncio.gather(_copied(reader, back), _copied(there, writer))
        for each in (writer, back):
            each.close()

    def begin(self) -> threading.Thread:
        opened = threading.Event()

        def run() -> None:
            asyncio.set_event_loop(self._loop)
            self._loop.run_until_complete(self.open())
            opened.set()
            self._loop.run_forever()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        assert opened.wait(30)
        return thread

    def end(self, thread: threading.Thread) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        thread.join(30)


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(4096):
        writer.write(data)
    if writer.can_write_eof():
        writer.write_eof()


class _Front(asyncio.DatagramProtocol):
    def __init__(self, service: Service) -> None:
        self._service = service
        self._tasks: set[asyncio.Task[Any]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        made: Coroutine[Any, Any, None] = self._service.relay(data, self._transport, addr)
        task = asyncio.get_running_loop().create_task(made)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Back(asyncio.DatagramProtocol):
    """What comes of one flow; that nobody listens there is passed over, as packets to nowhere are."""

    def __init__(self, reply: asyncio.DatagramTransport, addr: tuple[str, int]) -> None:
        self._reply, self._addr = reply, addr

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._reply.sendto(data, self._addr)
        self._transport.close()

    def error_received(self, exc: Exception) -> None:
        self._transport.close()


@contextlib.contextmanager
def serving(endpoints: Sequence[int]) -> Iterator[Service]:
    service = Service(endpoints)
    thread = service.begin()
    try:
        yield service
    finally:
        service.end(thread)
