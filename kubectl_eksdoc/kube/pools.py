"""The pool of TLS connections: that of the official client, with three corrections.

Proxies (35 ignores a kubeconfig's `proxy-url` and forgets NO_PROXY); the roots of this machine when the kubeconfig
names no CA, as in kubectl; and certificates that the strict mode of Python 3.13 refuses though kubectl accepts them.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from kubectl_eksdoc.bounds import BoundedResponse, current_limits
from kubectl_eksdoc.errors import ConfigError, os_error_text

from .target import Credential, KubeTarget

if TYPE_CHECKING:
    import urllib3


# The open sockets of a connection pool, tracked so that requests under way can be cut. Responses are read within the
# limits of `bounds`.
#
# They are also kept alive: load balancers in front of API servers drop a connection that is idle for minutes (a network
# load balancer after 350 s), and neither side learns of it before the connection is used again.


KEEPALIVE_IDLE_S, KEEPALIVE_INTERVAL_S, KEEPALIVE_PROBES = 20, 5, 4
"""Seconds without a byte before the peer is probed, seconds between two probes, and the number of probes before the
connection counts as lost."""


_thread = threading.local()


@contextlib.contextmanager
def check_before_each_byte(check: Callable[[], object]) -> Iterator[None]:
    """Within this context the thread calls `check` before it sends, once the connection is open. If `check` raises,
    nothing is sent, or only half a request, which a server does not process."""
    _thread.word = check
    try:
        yield
    finally:
        _thread.word = None


class OpenSockets:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def track(self, manager: urllib3.PoolManager) -> None:
        """Track the connections that `manager` opens from now on."""
        pools: dict[str, Any] = manager.pool_classes_by_scheme
        manager.pool_classes_by_scheme = {
            scheme: _tracked_pool_class(pool, self._add) for scheme, pool in pools.items()
        }

    def shut_down(self) -> None:
        """Shut down all sockets: a thread that waits for one gets an error."""
        with self._lock:
            open_sockets = list(self._sockets)
        for open_socket in open_sockets:
            with contextlib.suppress(OSError):
                # Not the method of the TLS socket: it would remove the session while another thread reads.
                socket.socket.shutdown(open_socket, socket.SHUT_RDWR)

    def _add(self, opened: socket.socket) -> None:
        with self._lock:
            self._sockets.add(opened)


def _tracked_pool_class(pool: Any, on_connect: Callable[[socket.socket], None]) -> Any:
    """A subclass of the pool class `pool` whose connections pass their sockets to `on_connect`."""

    class TrackedConnection(pool.ConnectionCls):  # type: ignore[misc]
        response_class = BoundedResponse

        def send(self, data: Any) -> None:
            word = getattr(_thread, "word", None)
            if word is not None:
                if self.sock is None:
                    self.connect()  # may take long, so it comes before the check
                word()
            bounds = current_limits()
            if bounds is not None and self.sock is not None:
                self.sock.settimeout(bounds.wait_s())  # the last response may have set a very short timeout
            super().send(data)

        def connect(self) -> None:
            super().connect()
            if self.sock is not None:
                on_connect(self.sock)

    return type(pool.__name__, (pool,), {"ConnectionCls": TrackedConnection})


def socket_options() -> list[tuple[int, int, int]]:
    """Socket options, as far as this system has them."""
    keepalive = {
        "TCP_KEEPIDLE": KEEPALIVE_IDLE_S,
        "TCP_KEEPINTVL": KEEPALIVE_INTERVAL_S,
        "TCP_KEEPCNT": KEEPALIVE_PROBES,
    }
    options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in keepalive.items():
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options


POOL_SIZE = 8
"""Connections that are kept for later requests: those of a drain's actions and watches."""


class ConnectionPools:
    """The connection pool of a target; a new one is created only when a plugin returns another client certificate."""

    def __init__(self, target: KubeTarget, proxy: str) -> None:
        self._target = target
        self._proxy = proxy
        self._lock = threading.Lock()
        self._sockets = OpenSockets()
        self._current: tuple[str, urllib3.PoolManager] | None = None

    def for_credential(self, credential: Credential) -> urllib3.PoolManager:
        """Raises ConfigError: a certificate, key or CA cannot be used."""
        with self._lock:
            if self._current is None or self._current[0] != credential.certificate:
                manager = self._create(credential)
                self._sockets.track(manager)
                self._current = (credential.certificate, manager)
            return self._current[1]

    def shut_down(self) -> None:
        """All requests under way fail at once."""
        self._sockets.shut_down()

    def close(self) -> None:
        """Close idle connections; connections in use are closed when they are returned to the pool."""
        with self._lock:
            manager = self._current[1] if self._current is not None else None
        if manager is None:
            return
        for key in manager.pools.keys():  # noqa: SIM118 (it is no dict, and cannot be iterated over)
            pool = manager.pools.get(key)
            if pool is not None:
                pool.close()  # without this it is closed only by the garbage collector
        manager.clear()

    def _create(self, credential: Credential) -> urllib3.PoolManager:
        import urllib3
        from kubernetes import client

        server = self._target.server
        configuration = client.Configuration()
        configuration.host = server.url
        configuration.proxy = None  # decided by `proxy_for`; the client's own reading of NO_PROXY is broken
        configuration.verify_ssl = not server.skip_verify
        configuration.tls_server_name = server.tls_server_name or None
        configuration.connection_pool_maxsize = POOL_SIZE
        manager = client.ApiClient(configuration).rest_client.pool_manager
        options = {**manager.connection_pool_kw, "socket_options": socket_options()}
        if server.secure:
            options["ssl_context"] = _tls_context(self._target, credential)
            options["ca_certs"] = None  # they are in the context
        if server.skip_verify:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        if not self._proxy:
            return urllib3.PoolManager(**options)
        proxy_url = urlsplit(self._proxy)
        secret = f"{unquote(proxy_url.username or '')}:{unquote(proxy_url.password or '')}"
        proxy_headers = urllib3.util.make_headers(proxy_basic_auth=secret) if proxy_url.username else None
        return urllib3.ProxyManager(self._proxy, proxy_headers=proxy_headers, **options)


def _tls_context(target: KubeTarget, credential: Credential) -> ssl.SSLContext:
    """The TLS context: trusted CAs and client certificate. Without a CA: the roots of this machine and of Mozilla."""
    import certifi
    from urllib3.util.ssl_ import create_urllib3_context

    server = target.server
    context = create_urllib3_context(cert_reqs=ssl.CERT_NONE if server.skip_verify else ssl.CERT_REQUIRED)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    ca_name = server.ca_file or "certificate-authority-data"
    try:
        if server.ca_data:
            context.load_verify_locations(cadata=server.ca_data)
        elif server.ca_file:
            context.load_verify_locations(cafile=server.ca_file)
        elif not server.skip_verify:
            context.load_default_certs()
            context.load_verify_locations(cafile=certifi.where())
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(f"the certificate authority {ca_name} cannot be used: {os_error_text(error)}") from error
    _load_client_certificate(context, target, credential)
    return context


def _load_client_certificate(context: ssl.SSLContext, target: KubeTarget, credential: Credential) -> None:
    """The ssl module takes client certificates from files only, so data is written to a file for a moment."""
    user = target.user
    certificate = credential.certificate or user.certificate_data
    key = credential.key or user.key_data
    if not certificate and not user.certificate_file:
        return
    if not key and not user.key_file:
        raise ConfigError(f"user {target.user_name!r} has a client certificate but no client key")
    certificate_name = user.certificate_file or "client-certificate-data"
    try:
        with tempfile.TemporaryDirectory(prefix="eksdoc-") as folder:  # readable by its owner only
            files = [user.certificate_file, user.key_file]
            for i, pem in enumerate((certificate, key)):
                if pem:
                    files[i] = f"{folder}/{i}.pem"
                    with open(files[i], "w", encoding="ascii") as file:
                        file.write(pem)
            context.load_cert_chain(files[0], files[1], password=_no_password)
    except OSError as error:
        raise ConfigError(
            f"the client certificate {certificate_name} or its key cannot be used: {os_error_text(error)}"
        ) from error


def _no_password() -> str:
    """Called for an encrypted key: an empty answer makes loading fail instead of asking the terminal."""
    return ""
