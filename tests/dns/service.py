"""A Service in front of responders, as kube-proxy implements it: each flow goes to one of its endpoints, and an
endpoint that has ended is removed only after a delay. Packets to a removed responder get no answer, as with a deleted
pod."""

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
    """A Service on the port `port` of 127.0.0.1. Mutable: endpoints are removed; `flows`: the number of flows to each
    endpoint over each transport."""

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
        """Remove an endpoint: the proxy has received its end."""
        self._loop.call_soon_threadsafe(self._endpoints.remove, endpoint)

    def chosen(self, transport: str) -> int:
        """A random endpoint, as by kube-proxy's rules: a round robin would be in step with clients that ask in turn."""
        endpoint = random.choice(self._endpoints)
        self.flows[transport, endpoint] += 1
        return endpoint

    def tracked(self, addr: tuple[str, int]) -> int:
        """A known flow keeps its endpoint until that is removed, as with conntrack."""
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
        """Relay one flow: its answer goes back to its source."""
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
    """The answers of one flow; an error because no process listens is ignored, as with packets to an unused address."""

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
