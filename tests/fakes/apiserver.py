"""A fake kube-apiserver for reading, over real sockets: lists with pages, refusals as recorded, faults on demand.

Without a script it behaves like the recorded server: unknown paths are 404, an unknown token is 401.
"""

from __future__ import annotations

import base64
import gzip
import http.server
import json
import socket
import socketserver
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from tests.fakes import recordings

DATE = "Fri, 20 Nov 2026 09:30:00 GMT"


@dataclass(frozen=True)
class Request:
    path: str
    query: dict[str, str]
    headers: tuple[tuple[str, str], ...]
    server_name: str | None
    client: str  # common name of the client's certificate, "" without one

    def header(self, name: str) -> str:
        return ", ".join(value for key, value in self.headers if key.lower() == name.lower())


@dataclass(frozen=True)
class Reply:
    """`sent`: bytes of the body after which the connection is reset; None sends all. `delay`: seconds. `raw`: bytes
    that are sent instead, until the client disconnects."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    sent: int | None = None
    delay: float = 0.0
    drip: float = 0.0  # seconds between the bytes of the body, or the parts of `raw`
    raw: Callable[[], Iterator[bytes]] | None = None


def recorded(name: str, **more: Any) -> Reply:
    status, headers, body = recordings.response(name)
    return Reply(status, headers, body, **more)


def json_reply(document: Any, status: int = 200, **more: Any) -> Reply:
    body = json.dumps(document, separators=(",", ":")).encode()
    return Reply(status, {"Content-Type": "application/json"}, body, **more)


def refused(message: str, reason: str, code: int, **headers: str) -> Reply:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    body = json.dumps({**status, "message": message, "reason": reason, "code": code}).encode()
    return Reply(code, {"Content-Type": "application/json", **headers}, body)


class ApiServer:
    """Use as a context manager. `lists` holds the objects of each resource; custom resources start unserved."""

    def __init__(self, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self.requests: list[Request] = []
        self.lists: dict[Resource, list[Any]] = {r: [] for r in kinds.ALL if not r.custom}
        self.lists[kinds.NODES] = [recordings.document("node")]
        self.lists[kinds.PODS] = recordings.document("pods on node")["items"]
        self.lists[kinds.BUDGETS] = recordings.document("pdbs")["items"]
        self.forbidden: set[Resource] = set()
        self.accepts: Callable[[Request], bool] = lambda request: True
        self.expiring: int = 0  # so many continue tokens are answered with 410
        self.always: dict[str, Callable[[Request], Reply]] = {}  # by path: what answers instead
        self.open = threading.Event()  # cleared: lists are not answered until it is set again
        self.open.set()
        self._scripts: dict[str, list[Reply]] = {}
        self._lock = threading.Lock()
        self._names: dict[int, str | None] = {}
        self._http = ThreadedServer(("127.0.0.1", 0), _handler(self))
        self._host = host
        self._scheme = "http"
        if tls is not None:
            self._scheme = "https"
            tls.sni_callback = lambda sock, name, _context: self._names.__setitem__(sock.fileno(), name)
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self._host}:{self.port}"

    def __enter__(self) -> ApiServer:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def script(self, path: str, *replies: Reply) -> None:
        """Answer the next requests for `path` with these replies, one each, then as before."""
        self._scripts.setdefault(path, []).extend(replies)

    def asked(self, path: str) -> list[Request]:
        return [request for request in self.requests if request.path == path]

    def reply(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
        if request.path != "/version":
            self.open.wait(10)
        with self._lock:
            if not self.accepts(request):
                return recorded("unauthorized")
            if self._scripts.get(request.path):
                return self._scripts[request.path].pop(0)
            if request.path in self.always:
                return self.always[request.path](request)
            if request.path == "/version":
                return recorded("version")
            for resource in self.lists:
                if resource.path == request.path:
                    return self._list(resource, request)
            return recorded("unknown path")

    def _list(self, resource: Resource, request: Request) -> Reply:
        if resource in self.forbidden:
            what = f'{resource.plural} is forbidden: User "viewer" cannot list resource "{resource.plural}" in API'
            return refused(f'{what} group "{resource.group}" at the cluster scope', "Forbidden", 403)
        token = request.query.get("continue", "")
        if token and self.expiring > 0:
            self.expiring -= 1
            return recorded("pods page 2, continue token expired (watch cache on)")
        start = int(base64.b64decode(token)) if token else 0
        # As real servers do it: with resourceVersion=0 the limit is ignored.
        limit = 0 if request.query.get("resourceVersion") == "0" else int(request.query.get("limit", "0"))
        items = self.lists[resource]
        page = items[start : start + limit] if limit else items[start:]
        metadata: dict[str, Any] = {"resourceVersion": "1328"}
        if start + len(page) < len(items):
            metadata["continue"] = base64.b64encode(str(start + len(page)).encode()).decode()
            metadata["remainingItemCount"] = len(items) - start - len(page)
        kind, version = f"{resource.kind}List", resource.api_version
        if "as=PartialObjectMetadataList" in request.header("accept"):
            kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
            page = [{"metadata": item["metadata"]} for item in page]
        return json_reply({"kind": kind, "apiVersion": version, "metadata": metadata, "items": page})


class ThreadedServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def server_bind(self) -> None:
        """Bind without a resolver request for the name of 127.0.0.1, which http.server would send."""
        socketserver.TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error: many tests have a client that disconnects, or a handshake that fails."""


def _handler(server: ApiServer) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            split = urlsplit(self.path)
            names = dict(x[0] for x in self._certificate().get("subject", ()))
            request = Request(
                split.path,
                {key: values[-1] for key, values in parse_qs(split.query).items()},
                tuple(self.headers.items()),
                server._names.get(self.connection.fileno()),
                names.get("commonName", ""),
            )
            self._send(server.reply(request), request)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.do_GET()

        def _certificate(self) -> Any:
            return (isinstance(self.connection, ssl.SSLSocket) and self.connection.getpeercert()) or {}

        def _send(self, reply: Reply, request: Request) -> None:
            time.sleep(reply.delay)
            if reply.raw is not None:
                self.close_connection = True
                for part in reply.raw():
                    self.wfile.write(part)
                    time.sleep(reply.drip)
                return
            body = reply.body
            headers = {"Date": DATE, **reply.headers}
            if "gzip" in request.header("Accept-Encoding") and len(body) > 128 * 1024:
                body = gzip.compress(body, 1)
                headers["Content-Encoding"] = "gzip"
            self.send_response_only(reply.status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if reply.drip:
                for i in range(len(body)):
                    self.wfile.write(body[i : i + 1])
                    time.sleep(reply.drip)
                return
            self.wfile.write(body[: reply.sent])
            if reply.sent is not None:
                self._reset()

        def _reset(self) -> None:
            """Send RST instead of a normal close."""
            self.wfile.flush()
            time.sleep(0.02)  # the written bytes must have been sent, or the reset discards them
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler
