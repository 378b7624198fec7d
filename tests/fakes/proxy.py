"""A small HTTP proxy: tunnels CONNECT and forwards plain GETs, always to one port of this machine."""

from __future__ import annotations

import http.client
import http.server
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

from tests.fakes.apiserver import ThreadedServer


class Proxy:
    """`seen` holds (method, target, Proxy-Authorization). Every name leads to `port` on loopback."""

    def __init__(self, port: int, refuse: int = 0) -> None:
        self.seen: list[tuple[str, str, str]] = []
        self._http = ThreadedServer(("127.0.0.1", 0), _handler(self.seen, port, refuse))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def _handler(seen: list[tuple[str, str, str]], port: int, refuse: int) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            seen.append(("CONNECT", self.path, self.headers.get("Proxy-Authorization", "")))
            if refuse:
                self.send_error(refuse)
                return
            with socket.create_connection(("127.0.0.1", port)) as far:
                self.send_response_only(200)
                self.end_headers()
                back = threading.Thread(target=_pump, args=(far, self.connection), daemon=True)
                back.start()
                _pump(self.connection, far)
                back.join(1)
            self.close_connection = True

        def do_GET(self) -> None:
            split = urlsplit(self.path)
            seen.append(("GET", self.path, self.headers.get("Proxy-Authorization", "")))
            far = http.client.HTTPConnection("127.0.0.1", port)
            far.request("GET", split.path, headers=dict(self.headers))
            answer = far.getresponse()
            body = answer.read()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass
