"""HTTP server of the simulated API: reads requests from connections and writes the replies. Also virtual time while it
is used.

A page in a browser could send requests to a port of this machine. So a request must name the address it was sent to in
its Host header (which excludes a name that resolves to 127.0.0.1), must carry no Origin, and needs a token.

kubectl sends no credentials without TLS (client-go, tools/clientcmd), but it keeps the path of the server's address: so
the token may be there, as in ``http://127.0.0.1:40000/as/TOKEN``. Where kubectl drops the path (``get --raw``), the
token may come as the user of a proxy; this server acts as that proxy.
"""

from __future__ import annotations

import binascii
import contextlib
import socket
import struct
import sys
from base64 import b64decode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal, ApiStatus, StatusDetails, bad_request
from kubectl_eksdoc.kubernetes.guards import TOKEN_PREFIX
from kubectl_eksdoc.simulator.controllers import VirtualTime

from .requests import (
    ConnectionLost,
    NoAnswer,
    Reply,
    RequestHandler,
    ServedRequest,
    status_reply,
)

MAX_BODY_BYTES = 3 * 1024 * 1024
"""Maximum size of a request, as in the API server (MaxRequestBodyBytes)."""

MAX_REST_BYTES = 16 * 1024 * 1024
LINGER_S = 1.0
"""Maximum bytes that are still read from a refused request, and maximum pause between them in seconds."""

_REASONS = {400: "BadRequest", 405: "MethodNotAllowed"}


class _Handler(BaseHTTPRequestHandler):
    """The server sets `api` and `hosts` (the accepted Host headers), and `timeout`: how many seconds a client may be
    idle, or receive nothing, before its connection is closed. Its Date is real time, not the objects' time: a lock (a
    Lease) is renewed in real seconds, and expires by the Date (kube/lease.py)."""

    protocol_version = "HTTP/1.1"
    server_version = "eksdoc"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one write
    api: RequestHandler
    hosts: frozenset[str]
    _has_unread_body = False

    def _handle(self) -> None:
        try:
            reply = self.api.handle(self._request())
        except ApiRefusal as refusal:
            # The rest of the body must not be parsed as the next request.
            self.close_connection = self._has_unread_body = True
            reply = status_reply(refusal.status)
        except ConnectionLost:
            # Close without a response, so that the client gets a reset and not an end of file.
            self.close_connection = True
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            return
        except NoAnswer:
            # Send nothing until the client closes the connection, or is idle for too long.
            self.close_connection = True
            with contextlib.suppress(OSError):
                _peek(self.connection)
            return
        if reply.stream is None:
            self._send(reply)
        else:
            self._stream(reply, reply.stream)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle

    def _request(self) -> ServedRequest:
        """Read the request.

        Raises:
            ApiRefusal: 403, it may come from a web page; 400, 411 and 413, it cannot be read.
        """
        if self.headers.get("Host", "") not in self.hosts or self.headers.get("Origin") is not None:
            text = "this server answers programs on this machine, and no web page"
            raise ApiRefusal(ApiStatus(403, "Forbidden", text, StatusDetails()))
        path, query = _split_target(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._body(headers)
        if path.startswith(TOKEN_PREFIX):
            token, _, path = path.removeprefix(TOKEN_PREFIX).partition("/")
            headers["authorization"] = f"Bearer {token}"
            path = f"/{path}"
        elif "authorization" not in headers and (token := _proxy_user(headers.get("proxy-authorization", ""))):
            headers["authorization"] = f"Bearer {token}"
        return ServedRequest(self.command, path, query, headers, body)

    def _body(self, headers: Mapping[str, str]) -> bytes:
        if "transfer-encoding" in headers:
            raise ApiRefusal(ApiStatus(411, "LengthRequired", "the length of the body must be in Content-Length"))
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise bad_request("Content-Length is no number")
        if len(length) > len(str(MAX_BODY_BYTES)) or int(length) > MAX_BODY_BYTES:
            text = f"Request entity too large: limit is {MAX_BODY_BYTES}"
            raise ApiRefusal(ApiStatus(413, "RequestEntityTooLarge", text))
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise bad_request("unexpected EOF")
        return body

    def _head(self, reply: Reply) -> None:
        self.send_response(reply.status)
        if reply.status != 204:
            self.send_header("Content-Type", reply.content_type)
        self.send_header("Cache-Control", "no-cache, private")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")

    def _send(self, reply: Reply) -> None:
        self._head(reply)
        if reply.status != 204:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body if reply.sent_bytes is None else reply.body[: reply.sent_bytes])
        self.close_connection = self.close_connection or reply.sent_bytes is not None
        self.wfile.flush()

    def _stream(self, reply: Reply, pieces: Iterator[bytes]) -> None:
        """Send chunks as they come until the client closes the connection. HTTP/1.0 has no chunks: the response ends
        with the connection."""
        chunked = self.request_version not in ("HTTP/0.9", "HTTP/1.0")
        self.close_connection = self.close_connection or not chunked
        self._head(reply)
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        try:
            for piece in pieces:
                if piece:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
                    self.wfile.flush()
                elif self._client_closed():
                    self.close_connection = True
                    return
        except ConnectionLost:
            self.close_connection = True
            return
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()

    def _client_closed(self) -> bool:
        """Whether the client has closed the connection. It cannot be noticed otherwise while nothing is sent."""
        self.connection.settimeout(0.0)
        try:
            return not _peek(self.connection)
        except BlockingIOError:
            return False
        finally:
            self.connection.settimeout(self.timeout)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer invalid HTTP, or an unsupported method, with a Status like all other errors."""
        status_code = 405 if code == 501 else code
        self.close_connection = self._has_unread_body = True
        self._send(status_reply(ApiStatus(status_code, _REASONS.get(status_code, ""), message or "", StatusDetails())))

    def finish(self) -> None:
        """Close in two steps: closing a connection while the client still sends would reset it, and lose the response.
        So the response is ended first, then the rest of the request is read."""
        super().finish()
        if not self._has_unread_body:
            return
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(LINGER_S)
            remaining_bytes = MAX_REST_BYTES
            while remaining_bytes > 0 and (piece := self.connection.recv(65536)):
                remaining_bytes -= len(piece)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: stderr belongs to the command."""


def _proxy_user(header: str) -> str:
    """Return the user of basic credentials (RFC 7617), "" without any."""
    scheme, _, credentials = header.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return b64decode(credentials, validate=True).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _split_target(target: str) -> tuple[str, Mapping[str, tuple[str, ...]]]:
    """Return path and query of a request line.

    Raises:
        ApiRefusal: 400, it is invalid.
    """
    try:
        parts = urlsplit(target)
    except ValueError as error:
        raise bad_request(f"the request names no path: {error}") from error
    query: dict[str, tuple[str, ...]] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        query[name] = (*query.get(name, ()), value)
    return unquote(parts.path), query


def _peek(connection: socket.socket) -> bytes:
    """Return received bytes without consuming them; for TLS the encrypted bytes, because decrypted ones cannot be
    peeked."""
    return socket.socket.recv(connection, 1, socket.MSG_PEEK)


# The HTTP server, only on the loopback address.


LOOPBACK = "127.0.0.1"

IDLE_TIMEOUT_S = 120.0
"""A client that sends or receives nothing for this long loses its connection."""


class _ServerStopped(Exception):
    """A server's loop has ended."""


class SimulatedApiServer(ThreadingHTTPServer):
    """Serves an API until it is closed; each connection and each watch has a thread. `errors`: the latest internal
    errors of connections."""

    daemon_threads = True
    allow_reuse_address = False
    request_queue_size = 128

    def __init__(self, api: RequestHandler, port: int = 0, silence_s: float = IDLE_TIMEOUT_S) -> None:
        """Port 0: any free one. Raises OSError: it is in use."""
        self.errors: deque[Exception] = deque(maxlen=10)
        self._lock = Lock()
        self._open: dict[socket.socket, Thread] = {}
        self._ending = False

        class Connection(_Handler):
            timeout = silence_s

        super().__init__((LOOPBACK, port), Connection)
        Connection.api = api
        Connection.hosts = frozenset(f"{name}:{self.port}" for name in (LOOPBACK, "localhost"))

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def url(self, token: str = "") -> str:
        """With a `token` in it all requests are made as its user."""
        return f"http://{LOOPBACK}:{self.port}" + (TOKEN_PREFIX + token if token else "")

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = Thread(target=self._serve, args=(request, client_address), daemon=True, name=f"to {client_address}")
        with self._lock:
            self._open[request] = thread
        try:
            thread.start()
        except RuntimeError:  # the machine has no more threads
            self._forget(request)
            self.shutdown_request(request)

    def serve_forever(self, poll_interval: float = 0.5) -> None:
        with contextlib.suppress(_ServerStopped):
            super().serve_forever(poll_interval)

    def shutdown(self) -> None:
        """Stop at once: an own connection wakes the accepting thread. It is reset, so that the port is free
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
            raise _ServerStopped

    def server_close(self) -> None:
        """Close all connections and watches."""
        super().server_close()
        with self._lock:
            connections = dict(self._open)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in connections.values():
            thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep the error, unless the client closed the connection."""
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
def serving(api: RequestHandler, port: int = 0, silence_s: float = IDLE_TIMEOUT_S) -> Iterator[SimulatedApiServer]:
    """Run a server in its own thread until the block ends."""
    with SimulatedApiServer(api, port, silence_s) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


# Virtual time of the cluster while it is served.


class TimeDriver(Protocol):
    """Brings the agenda up to date before every access to the cluster."""

    def advance(self, agenda: VirtualTime) -> None: ...

    def real_s(self, virtual_s: float) -> float:
        """Return the real duration of a virtual one."""


class ScaledTime:
    """Real time, `speed` times as fast. `monotonic` returns seconds that never decrease."""

    def __init__(self, monotonic: Callable[[], float], speed: float = 1.0) -> None:
        self._monotonic = monotonic
        self._speed = speed
        self._start: tuple[float, float] | None = None

    def advance(self, agenda: VirtualTime) -> None:
        now = self._monotonic()
        if self._start is None:
            self._start = now, agenda.seconds
        since, seconds = self._start
        agenda.run_until(seconds + (now - since) * self._speed)

    def real_s(self, virtual_s: float) -> float:
        return virtual_s / self._speed


class ManualTime:
    """Time passes only when the caller lets it: for tests, and for runs that take no time."""

    def advance(self, agenda: VirtualTime) -> None:
        """Run only what is due now."""
        agenda.run_until(agenda.seconds)

    def real_s(self, virtual_s: float) -> float:
        return virtual_s
