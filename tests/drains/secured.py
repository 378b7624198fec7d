"""A served cluster that is also behind TLS: clients send tokens only over TLS."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import trustme

from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from kubectl_eksdoc.embedded.serving.requests import RequestHandler


class _Peeked(ssl.SSLSocket):
    """Detects that a watch's client has closed the connection: TLS has no call for that, so any data from the client
    counts as the end."""

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        if flags != socket.MSG_PEEK:
            return super().recv(buflen, flags)
        readable, _, _ = select.select([self], [], [], 0)
        if not readable:
            raise BlockingIOError
        return b""


class _Secured(SimulatedApiServer):
    """Each connection's own thread makes the TLS handshake: a slow client delays no other."""

    context: ssl.SSLContext

    def get_request(self) -> tuple[Any, Any]:
        connection: tuple[socket.socket, Any] = super().get_request()
        return self.context.wrap_socket(connection[0], server_side=True, do_handshake_on_connect=False), connection[1]


@contextlib.contextmanager
def secured(api: RequestHandler) -> Iterator[tuple[str, bytes]]:
    """Its URL, and the certificate (PEM) of the certificate authority that signed its certificate."""
    authority = trustme.CA()
    with _Secured(api) as server:
        server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.context.sslsocket_class = _Peeked
        authority.issue_cert("127.0.0.1").configure_cert(server.context)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server.url().replace("http:", "https:"), authority.cert_pem.bytes()
        finally:
            server.shutdown()
            thread.join()
    assert not server.errors
