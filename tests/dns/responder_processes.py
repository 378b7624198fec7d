"""Responders as separate processes, and their state as seen by a client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.model.coredns import Corefile
from tests.dns.responder import HOSTS, Behaviour, Responder

ROOT = Path(__file__).parents[2]
LONGEST_S = 30.0
_QUERY = b"\x12\x34\x01\x00\0\1\0\0\0\0\0\0\x01a\0\0\1\0\1"


def until(holds: Callable[[], bool], what: str = "") -> None:
    ends_s = time.monotonic() + LONGEST_S
    while not holds():
        assert time.monotonic() < ends_s, what or "it took too long"
        time.sleep(0.005)


@dataclass(frozen=True)
class Seen:
    """The answering ports at one moment; None: the responder has no such port."""

    udp: bool
    tcp: bool
    health: bool | None
    ready: bool | None


@dataclass
class Leaving:
    """A process, its ports, and the time of its signal. Mutable: it ends."""

    process: subprocess.Popen[str]
    port: int
    v6: bool
    health: int | None
    ready: int | None

    @property
    def hosts(self) -> Sequence[str]:
        return HOSTS if self.v6 else HOSTS[:1]

    def tell(self, number: signal.Signals = signal.SIGTERM) -> float:
        """Send the signal; returns the time just before."""
        now = time.monotonic()
        self.process.send_signal(number)
        return now

    @property
    def gone(self) -> bool:
        return self.process.poll() is not None

    def seen(self) -> Seen:
        """/ready is checked first: if it is closed, so is every port that was closed before it."""
        ready = None if self.ready is None else gets(self.ready, "/ready")
        health = None if self.health is None else gets(self.health, "/health")
        return Seen(asks_udp(self.port), asks_tcp(self.port), health, ready)


@contextmanager
def responding(corefile: str, scale: float = 1.0, *flags: str) -> Iterator[Leaving]:
    argv = [sys.executable, "-m", "tests.dns.responder", "--corefile", corefile, "--scale", str(scale), *flags]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environ) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            yield Leaving(process, told["port"], len(told["hosts"]) > 1, told.get("health"), told.get("ready"))
        finally:
            process.kill()


@contextmanager
def several(count: int, corefile: str, scale: float = 1.0) -> Iterator[list[Leaving]]:
    with ExitStack() as stack:
        yield [stack.enter_context(responding(corefile, scale)) for _ in range(count)]


@contextmanager
def answering(behaviours: Mapping[str, Behaviour]) -> Iterator[dict[str, int]]:
    """Servers in a thread of this process that do not shut down; returns the port of each."""
    loop = asyncio.new_event_loop()
    corefile = parse_corefile(".:53 {\n health\n}\n")
    assert isinstance(corefile, Corefile)
    responders = {name: Responder(corefile, 1.0, behaviour) for name, behaviour in behaviours.items()}
    ports = {name: cast(int, loop.run_until_complete(each.open())["port"]) for name, each in responders.items()}
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield ports
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for each in responders.values():
            loop.run_until_complete(each.leave())
        loop.close()


def asks_udp(port: int, wait_s: float = 0.2) -> bool:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
        sock.settimeout(wait_s)
        sock.connect((HOSTS[0], port))
        try:
            sock.send(_QUERY)
            return sock.recv(512)[:2] == _QUERY[:2]
        except OSError:
            return False


def asks_tcp(port: int, wait_s: float = 0.2) -> bool:
    try:
        with closing(socket.create_connection((HOSTS[0], port), wait_s)) as sock:
            sock.sendall(len(_QUERY).to_bytes(2, "big") + _QUERY)
            return sock.recv(512)[2:4] == _QUERY[:2]
    except OSError:
        return False


def gets(port: int, path: str, wait_s: float = 0.2) -> bool:
    try:
        with closing(socket.create_connection((HOSTS[0], port), wait_s)) as sock:
            sock.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            return sock.recv(512).startswith(b"HTTP/1.1 200")
    except OSError:
        return False
