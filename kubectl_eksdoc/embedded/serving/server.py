"""The HTTP server: on this machine's loopback address alone, and for nobody's web page.

A page in a browser could send requests to a port of this machine. So a request must name the address it was sent to in
its Host header (a name that was made to resolve to 127.0.0.1 is none), must carry no Origin, and needs a token.

kubectl sends no credentials without TLS (client-go, tools/clientcmd), but it keeps the path of the server's address: so
the token may be there, too, as in ``http://127.0.0.1:40000/as/TOKEN``.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from kubectl_eksdoc.core.rules.api.statuses import Details, Status
from kubectl_eksdoc.embedded.serving.faults import ConnectionLost, Handler
from kubectl_eksdoc.embedded.serving.messages import Reply, Request
from kubectl_eksdoc.objects.single import encode

LOOPBACK = "127.0.0.1"
AS = "/as/"
"""Before a token in a path."""

LONGEST_BODY = 3 * 1024 * 1024
"""Of a request, as the API server has it (MaxRequestBodyBytes)."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "eksdoc"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one write
    api: Handler
    hosts: frozenset[str]

    def _handle(self) -> None:
        try:
            reply = self._refusal() or self._answered()
        except ConnectionLost:
            self._reset()
            return
        if reply.stream is None:
            self._send(reply)
        else:
            self._stream(reply, reply.stream)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle

    def _refusal(self) -> Reply | None:
        host = self.headers.get("Host", "")
        if host not in self.hosts or self.headers.get("Origin") is not None:
            self.close_connection = True
            text = "this server answers programs on this machine, and no web page"
            return Reply(403, encode(Status(403, "Forbidden", text, Details()).doc()))
        return None

    def _answered(self) -> Reply:
        parts = urlsplit(self.path)
        query: dict[str, tuple[str, ...]] = {}
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            query[name] = (*query.get(name, ()), value)
        length = self.headers.get("Content-Length") or "0"
        if not length.isdigit() or int(length) > LONGEST_BODY:
            self.close_connection = True
            text = f"Request entity too large: limit is {LONGEST_BODY}"
            return Reply(413, encode(Status(413, "RequestEntityTooLarge", text).doc()))
        body = self.rfile.read(int(length))
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = unquote(parts.path)
        if path.startswith(AS):
            token, _, path = path.removeprefix(AS).partition("/")
            headers["authorization"] = f"Bearer {token}"
            path = f"/{path}"
        return self.api.handle(Request(self.command, path, query, headers, body))

    def _reset(self) -> None:
        """Close without an answer, so that the client sees a reset and not an end."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _head(self, reply: Reply) -> None:
        self.send_response(reply.status)
        if reply.status != 204:
            self.send_header("Content-Type", reply.content_type)
        self.send_header("Cache-Control", "no-cache, private")
        for name, value in reply.headers.items():
            self.send_header(name, value)

    def _send(self, reply: Reply) -> None:
        self._head(reply)
        if reply.status != 204:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)
        self.wfile.flush()

    def _stream(self, reply: Reply, pieces: Iterator[bytes]) -> None:
        """In chunks, each as it comes; who goes away ends it."""
        self._head(reply)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        with contextlib.suppress(ConnectionError, TimeoutError):
            for piece in pieces:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: stderr belongs to whoever serves."""


class Server(ThreadingHTTPServer):
    """Serves an API until it is closed; each connection has a thread, as has each watch."""

    daemon_threads = True
    allow_reuse_address = False
    request_queue_size = 128

    def __init__(self, api: Handler, port: int = 0) -> None:
        """Port 0: any free one. Raises OSError: it is taken."""

        class Ours(_Handler):
            pass

        super().__init__((LOOPBACK, port), Ours)
        Ours.api = api
        Ours.hosts = frozenset(f"{name}:{self.port}" for name in (LOOPBACK, "localhost"))

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def url(self, token: str = "") -> str:
        """With a `token` in it everything is done as its user."""
        return f"http://{LOOPBACK}:{self.port}" + (AS + token if token else "")

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        """A client that went away is no error of ours."""


@contextlib.contextmanager
def serving(api: Handler, port: int = 0) -> Iterator[Server]:
    """A server in a thread of its own, until the block ends."""
    with Server(api, port) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
