"""Connections that are kept alive, can be cut from outside, and whose bounds can change while they are read."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import urllib3

from kubectl_eksdoc.bounds import AnswerLimits, within
from kubectl_eksdoc.kube.pools import OpenSockets, asked_before_each_byte, keeping_alive

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@contextlib.contextmanager
def listening(head: bytes) -> Iterator[str]:
    """Somebody who answers every connection with `head`, and says no more; its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken, _ = server.accept()
                    held.append(taken)
                    taken.recv(4096)
                    taken.sendall(head)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)
        for each in held:
            each.close()


def asked(manager: urllib3.PoolManager, url: str, read_s: float) -> urllib3.BaseHTTPResponse:
    timeout = urllib3.Timeout(connect=5, read=read_s)
    return manager.request("GET", url, retries=False, preload_content=False, timeout=timeout)


ENDLESS = [HEAD + b"Transfer-Encoding: chunked\r\n\r\n", HEAD + b"Connection: close\r\n\r\n"]
"""Answers without an end: in chunks, and one that ends with its connection, which is the answer's alone then."""


@pytest.mark.parametrize("head", ENDLESS)
def test_who_reads_is_told_when_it_is_cut(head: bytes) -> None:
    sockets, manager = OpenSockets(), urllib3.PoolManager()
    sockets.remember(manager)
    with listening(head) as url:
        response = asked(manager, url, 30.0)
        begun_s = time.monotonic()
        threading.Timer(0.1, sockets.cut).start()
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            assert response.read1() == b""
        assert time.monotonic() - begun_s < 5.0
        response.close()


@pytest.mark.parametrize("head", ENDLESS)
def test_the_time_for_a_beginning_is_not_that_for_the_rest(head: bytes) -> None:
    sockets, manager = OpenSockets(), urllib3.PoolManager()
    sockets.remember(manager)
    with listening(head) as url:
        bounds = AnswerLimits(time.monotonic, 30.0)
        with within(bounds):
            response = asked(manager, url, 30.0)
        bounds.following(0.2)
        begun_s = time.monotonic()
        with pytest.raises(urllib3.exceptions.ReadTimeoutError):
            response.read1()
        assert time.monotonic() - begun_s < 5.0
        response.close()


def test_connections_ask_whether_the_other_side_is_there() -> None:
    manager = urllib3.PoolManager(socket_options=keeping_alive())
    OpenSockets().remember(manager)
    with listening(ENDLESS[0]) as url:
        response = asked(manager, url, 5.0)
        opened: socket.socket = response.connection.sock  # type: ignore[union-attr]
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        response.close()


def test_the_last_word_is_asked_when_the_connection_stands_and_before_a_byte_is_sent() -> None:
    sockets, manager, said = OpenSockets(), urllib3.PoolManager(), []
    sockets.remember(manager)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"

        def word() -> None:
            taken, _ = server.accept()  # it stands already
            said.append(taken)
            raise LookupError("not any more")

        with pytest.raises(LookupError), asked_before_each_byte(word):
            manager.request("POST", url, body=b"{}", retries=False, timeout=5)
        said[0].settimeout(5)
        assert said[0].recv(4096) == b"", "it was closed, and nothing was sent"
        said[0].close()
        with pytest.raises(urllib3.exceptions.HTTPError):
            manager.request("GET", url, retries=False, timeout=0.2)
        taken, _ = server.accept()
        with taken:
            assert taken.recv(4096).startswith(b"GET / "), "another request is not asked about"
