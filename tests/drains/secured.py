"""A served cluster behind TLS as well: tokens are sent over nothing else."""

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
    """Says whether the client of a watch has gone, for which TLS has no word: whatever it sends then is its end."""

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        if flags != socket.MSG_PEEK:
            return super().recv(buflen, flags)
        readable, _, _ = select.select([self], [], [], 0)
        if not readable:
            raise BlockingIOError
        return b""


class _Secured(SimulatedApiServer):
    """Hands are shaken by each connection's own thread: a slow one holds up nobody."""

    context: ssl.SSLContext

    def get_request(self) -> tuple[Any, Any]:
        connection: tuple[socket.socket, Any] = super().get_request()
        return self.context.wrap_socket(connection[0], server_side=True, do_handshake_on_connect=False), connection[1]


@contextlib.contextmanager
def secured(api: RequestHandler) -> Iterator[tuple[str, bytes]]:
    """Its URL, and the certificate (PEM) of the authority that vouches for it."""
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
