"""The pool of TLS connections: the official client's, with three things put right.

Proxies (35 ignores a kubeconfig's `proxy-url` and forgets NO_PROXY); the roots of this machine when the
kubeconfig names no CA, as kubectl has it; and certificates that the strict mode of Python 3.13 refuses
though kubectl accepts them.
"""

from __future__ import annotations

import ssl
import tempfile
import threading
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.kube.credentials import Credential
from kubectl_eksdoc.kube.sockets import OpenSockets, keeping_alive
from kubectl_eksdoc.kube.target import Target

if TYPE_CHECKING:
    import urllib3

CONNECTIONS = 8
"""So many are kept for the next request: those of a drain's acts and watches."""


class Pools:
    """Makes the pool of connections; a new one only when a plugin brings another client certificate."""

    def __init__(self, target: Target, proxy: str) -> None:
        self._target = target
        self._proxy = proxy
        self._lock = threading.Lock()
        self._open = OpenSockets()
        self._made: tuple[str, urllib3.PoolManager] | None = None

    def of(self, credential: Credential) -> urllib3.PoolManager:
        """Raises ConfigError: a certificate, key or CA cannot be used."""
        with self._lock:
            if self._made is None or self._made[0] != credential.certificate:
                manager = self._make(credential)
                self._open.remember(manager)
                self._made = (credential.certificate, manager)
            return self._made[1]

    def cut(self) -> None:
        """Whatever is under way breaks down at once."""
        self._open.cut()

    def close(self) -> None:
        """Connections that nobody uses are closed; others are when they are given back."""
        with self._lock:
            manager = self._made[1] if self._made is not None else None
        if manager is None:
            return
        for key in manager.pools.keys():  # noqa: SIM118 (it is no dict, and cannot be iterated over)
            pool = manager.pools.get(key)
            if pool is not None:
                pool.close()  # to forget it is not enough: it closes when the garbage collector comes
        manager.clear()

    def _make(self, credential: Credential) -> urllib3.PoolManager:
        import urllib3
        from kubernetes import client

        server = self._target.server
        configuration = client.Configuration()
        configuration.host = server.url
        configuration.proxy = None  # decided by `proxies`; the client's own reading of NO_PROXY is broken
        configuration.verify_ssl = not server.skip_verify
        configuration.tls_server_name = server.tls_server_name or None
        configuration.connection_pool_maxsize = CONNECTIONS
        manager = client.ApiClient(configuration).rest_client.pool_manager
        options = {**manager.connection_pool_kw, "socket_options": keeping_alive()}
        if server.secure:
            options["ssl_context"] = _tls(self._target, credential)
            options["ca_certs"] = None  # they are in the context
        if server.skip_verify:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        if not self._proxy:
            return urllib3.PoolManager(**options)
        login = urlsplit(self._proxy)
        secret = f"{unquote(login.username or '')}:{unquote(login.password or '')}"
        proxy_headers = urllib3.util.make_headers(proxy_basic_auth=secret) if login.username else None
        return urllib3.ProxyManager(self._proxy, proxy_headers=proxy_headers, **options)


def _tls(target: Target, credential: Credential) -> ssl.SSLContext:
    """Whom we trust and what we show. Without a CA: this machine's roots and Mozilla's."""
    import certifi
    from urllib3.util.ssl_ import create_urllib3_context

    server = target.server
    context = create_urllib3_context(cert_reqs=ssl.CERT_NONE if server.skip_verify else ssl.CERT_REQUIRED)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    what = server.ca_file or "certificate-authority-data"
    try:
        if server.ca_data:
            context.load_verify_locations(cadata=server.ca_data)
        elif server.ca_file:
            context.load_verify_locations(cafile=server.ca_file)
        elif not server.skip_verify:
            context.load_default_certs()
            context.load_verify_locations(cafile=certifi.where())
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(f"the certificate authority {what} cannot be used: {_reason(error)}") from error
    _show_certificate(context, target, credential)
    return context


def _show_certificate(context: ssl.SSLContext, target: Target, credential: Credential) -> None:
    """The ssl module takes client certificates from files only: data live in one for a moment."""
    user = target.user
    certificate = credential.certificate or user.certificate_data
    key = credential.key or user.key_data
    if not certificate and not user.certificate_file:
        return
    if not key and not user.key_file:
        raise ConfigError(f"user {target.user_name!r} has a client certificate but no client key")
    what = user.certificate_file or "client-certificate-data"
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
        raise ConfigError(f"the client certificate {what} or its key cannot be used: {_reason(error)}") from error


def _no_password() -> str:
    """Called for an encrypted key: an empty answer makes loading fail instead of asking the terminal."""
    return ""


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
