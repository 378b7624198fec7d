"""After any bytes on its port, the server answers the next request and keeps no thread for the former one."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer
from tests.embedded.clients import worlds
from tests.examples import one_in

SILENCE_S = 0.5


@pytest.fixture
def server() -> Iterator[SimulatedApiServer]:
    before = threading.active_count()
    with worlds.served("small-traps", ManualTime(), silence_s=SILENCE_S) as (server, _):
        yield server
        until(lambda: threading.active_count() <= before + 1)  # the server's own
    assert threading.active_count() <= before


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, "it does not come to pass"
        threading.Event().wait(0.02)


def send(server: SimulatedApiServer, data: bytes, finish: bool = True) -> bytes:
    """The bytes received until the connection was closed."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        got = b""
        with contextlib.suppress(OSError):
            connection.sendall(data)
            if finish:
                connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                got += piece
    return got


def well(server: SimulatedApiServer) -> None:
    asked = (
        f"GET /as/{worlds.ADMIN_TOKEN}/healthz HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n"
    )
    assert send(server, asked.encode()).endswith(b"\r\n\r\nok")


def pieces(server: SimulatedApiServer) -> list[bytes]:
    """The parts of the requests, valid and invalid."""
    token = f"/as/{worlds.ADMIN_TOKEN}".encode()
    return [
        b"GET ",
        b"POST ",
        b"PATCH ",
        b"HEAD ",
        b" HTTP/1.1\r\n",
        b" HTTP/1.0\r\n",
        b" HTTP/9.9\r\n",
        b" HTTP/x\r\n",
        token,
        b"/api/v1/namespaces/default/pods",
        b"/api/v1/nodes?watch=1&timeoutSeconds=1",
        b"//[",
        b"http://[::1",
        b"/%ff%00",
        b"\r\n",
        b"\r\n\r\n",
        b"Host: 127.0.0.1:%d\r\n" % server.port,
        b"Content-Length: 7\r\n",
        b"Content-Length: 700\r\n",
        b"Content-Type: application/vnd.kubernetes.protobuf\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n",
        b"A: " + b"b" * 70_000 + b"\r\n",
        b"C: d\r\n" * 200,
        b'{"kind": "Pod"}',
        b"k8s\0\x0a\x04",
        b"\0\xff\xfe",
    ]


def test_made_of_pieces(server: SimulatedApiServer) -> None:
    chance = random.Random(7)
    parts = pieces(server)
    for _ in range(150):
        answer = send(server, b"".join(chance.choices(parts, k=chance.randint(1, 9))))
        assert b" 500 " not in answer[:40] and b"Traceback" not in answer
    well(server)


@pytest.mark.parametrize(
    "said",
    one_in(
        4,
        [
            b"",
            b"GET /api",
            b"GET /api HTTP/1.1\r\nHost: x",
            b"POST /as/{token}/api/v1/nodes HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 900\r\n\r\nhalf",
        ],
    ),
)
def test_who_falls_silent_is_hung_up_on(server: SimulatedApiServer, said: bytes) -> None:
    begun = time.monotonic()
    whole = said.replace(b"{token}", worlds.ADMIN_TOKEN.encode()).replace(b"{port}", str(server.port).encode())
    assert send(server, whole, finish=False) == b""
    assert SILENCE_S * 0.9 <= time.monotonic() - begun < 10
    well(server)


def test_the_answer_arrives_though_not_all_was_read(server: SimulatedApiServer) -> None:
    head = f"POST /api/v1/nodes HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 9000000\r\n\r\n"
    assert b"Request entity too large" in send(server, head.encode() + b"x" * 9_000_000)


def test_a_watcher_that_is_gone_is_noticed(server: SimulatedApiServer) -> None:
    """This holds although no event occurs that could be sent to it."""
    before = threading.active_count()
    watch = f"GET /as/{worlds.ADMIN_TOKEN}/api/v1/nodes?watch=1 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
    gone = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(10)]
    for connection in gone:
        connection.sendall(watch.encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    assert threading.active_count() == before + 10
    for connection in gone:
        connection.close()
    until(lambda: threading.active_count() == before)


def test_closing_ends_every_watch() -> None:
    before = threading.active_count()
    with worlds.served("small-traps", ManualTime()) as (server, _):
        ask = f"GET /as/{worlds.ADMIN_TOKEN}/api/v1/nodes?watch=1 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
        watching = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(5)]
        for connection in watching:
            connection.sendall(ask.encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    assert threading.active_count() == before
    for connection in watching:
        while connection.recv(65536):
            pass
        connection.close()
