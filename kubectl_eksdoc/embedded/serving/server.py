"""The HTTP server: on this machine's loopback address alone."""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
from collections import deque
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from kubectl_eksdoc.core.rules.addresses import AS
from kubectl_eksdoc.embedded.serving.handler import Handler
from kubectl_eksdoc.embedded.serving.messages import Answering

LOOPBACK = "127.0.0.1"

SILENCE_S = 120.0
"""A client that says nothing, or takes nothing, for so long loses its connection."""


class _Ended(Exception):
    """A server's loop is over."""


class Server(ThreadingHTTPServer):
    """Serves an API until it is closed; each connection has a thread, as has each watch. `errors`: the latest that went
    wrong with a connection by nobody's fault but ours."""

    daemon_threads = True
    allow_reuse_address = False
    request_queue_size = 128

    def __init__(self, api: Answering, port: int = 0, silence_s: float = SILENCE_S) -> None:
        """Port 0: any free one. Raises OSError: it is taken."""
        self.errors: deque[Exception] = deque(maxlen=10)
        self._lock = Lock()
        self._open: dict[socket.socket, Thread] = {}
        self._ending = False

        class Connection(Handler):
            timeout = silence_s

        super().__init__((LOOPBACK, port), Connection)
        Connection.api = api
        Connection.hosts = frozenset(f"{name}:{self.port}" for name in (LOOPBACK, "localhost"))

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def url(self, token: str = "") -> str:
        """With a `token` in it everything is done as its user."""
        return f"http://{LOOPBACK}:{self.port}" + (AS + token if token else "")

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = Thread(target=self._serve, args=(request, client_address), daemon=True, name=f"to {client_address}")
        with self._lock:
            self._open[request] = thread
        try:
            thread.start()
        except RuntimeError:  # the machine gives no more threads
            self._forget(request)
            self.shutdown_request(request)

    def serve_forever(self, poll_interval: float = 0.5) -> None:
        with contextlib.suppress(_Ended):
            super().serve_forever(poll_interval)

    def shutdown(self) -> None:
        """At once: a connection of our own wakes the thread that waits for one. It is reset, so that the port is free
        afterwards."""
        self._ending = True
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, self.port), 1.0) as waking:
            waking.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        super().shutdown()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return not self._ending

    def service_actions(self) -> None:
        """Called after each connection."""
        if self._ending:
            raise _Ended

    def server_close(self) -> None:
        """Nobody is served any more, and no watch goes on."""
        super().server_close()
        with self._lock:
            left = dict(self._open)
        for connection in left:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in left.values():
            thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of ours."""
        error = sys.exc_info()[1]
        if isinstance(error, Exception) and not isinstance(error, OSError):
            self.errors.append(error)

    def _serve(self, request: Any, client_address: Any) -> None:
        try:
            self.process_request_thread(request, client_address)
        finally:
            self._forget(request)

    def _forget(self, request: socket.socket) -> None:
        with self._lock:
            self._open.pop(request, None)


@contextlib.contextmanager
def serving(api: Answering, port: int = 0, silence_s: float = SILENCE_S) -> Iterator[Server]:
    """A server in a thread of its own, until the block ends."""
    with Server(api, port, silence_s) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
