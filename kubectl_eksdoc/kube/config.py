"""Access to an API server from kubectl's flags: server, credentials, connection pool, headers, and the EKS cluster.

No request is sent here and no credential plugin runs: that waits for the first request.
"""

from __future__ import annotations

import hashlib
import ipaddress
from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from urllib.parse import quote, urlsplit

from kubectl_eksdoc import __version__
from kubectl_eksdoc.bounds import ReadTime
from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.held_secrets import hold, hold_environment, hold_login
from kubectl_eksdoc.kubernetes.guards import address, token_in, without_user
from kubectl_eksdoc.model.connection import IN_CLUSTER, ClusterAddress, Connection
from kubectl_eksdoc.model.names import Name

from . import exec_plugin, kubeconfig
from . import target as credentials
from .identity import EksIdentity, identify
from .kubeconfig import choose
from .pools import Pools
from .target import (
    NO_HEADER,
    Credential,
    CredentialContext,
    Credentials,
    ExecPlugin,
    Impersonation,
    KubeTarget,
    ServerEntry,
    is_secret,
)

# The proxy between this machine and the API server, by the rules of kubectl.
#
# A kubeconfig's `proxy-url` is used as it is. Otherwise HTTPS_PROXY (HTTP_PROXY for http servers) unless
# NO_PROXY names the server. Source: golang.org/x/net/http/httpproxy and client-go's use of it.


_PORTS = {"http": 80, "https": 443}


def proxy_for(server: str, configured: str, environ: Mapping[str, str]) -> str:
    """URL of the proxy for `server`, "" for none.

    Raises:
        ConfigError: a kind of proxy that is not supported.
    """
    if configured:
        return _usable(configured, "proxy-url of the kubeconfig")
    parts = urlsplit(server)
    name = "HTTPS_PROXY" if parts.scheme == "https" else "HTTP_PROXY"
    proxy = environ.get(name) or environ.get(name.lower()) or ""
    if not proxy or _direct(parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443), environ):
        return ""
    return _usable(proxy if "://" in proxy else f"http://{proxy}", name)


def _usable(proxy: str, origin: str) -> str:
    try:
        parts = urlsplit(proxy)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"{origin} is not a URL: {address(proxy)}") from error
    shown = address(proxy)
    if parts.scheme in ("socks5", "socks5h"):
        raise ConfigError(
            f"{origin} is {shown}; SOCKS proxies are not supported",
            "Use an HTTP proxy (HTTPS_PROXY=http://…), or forward a port, for example with ssh -L, and "
            "give --server https://127.0.0.1:PORT --tls-server-name HOST.",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ConfigError(f"{origin} is {shown}; it should be http://HOST:PORT or https://HOST:PORT")
    return proxy


def _direct(host: str, port: int, environ: Mapping[str, str]) -> bool:
    """True if the proxy of the environment does not apply to this host: loopback, or named by NO_PROXY."""
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    entries = (environ.get("NO_PROXY") or environ.get("no_proxy") or "").split(",")
    return any(_names(entry.strip().lower(), host.lower(), port, address) for entry in entries)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None


def _names(entry: str, host: str, port: int, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None) -> bool:
    """Whether one entry of NO_PROXY matches: ``*``, an address, a CIDR, ``.suffix``, ``domain``, each with an optional
    port."""
    if not entry:
        return False
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    if _address(entry) is None and entry.rpartition(":")[2].isdecimal() and ":" in entry:
        entry, _, wanted = entry.rpartition(":")
        if int(wanted) != port:
            return False
    if address is not None:
        return _address(entry) == address
    if entry.startswith("*."):
        entry = entry[1:]
    if entry.startswith("."):
        return host.endswith(entry)
    return host == entry or host.endswith(f".{entry}")


@frozen
class ApiAccess:
    """All that a request needs. `headers` may repeat a name; `proxy` is for messages, without its password. All reads
    together may take `read_timeout` of `read_time`, 0: no limit."""

    target: KubeTarget
    eks: EksIdentity
    credentials: Credentials
    pools: Pools
    headers: tuple[tuple[str, str], ...]
    proxy: str = ""
    request_timeout: float = 0.0
    read_timeout: float = 0.0
    read_time: ReadTime = field(default_factory=ReadTime)

    @property
    def login(self) -> str:
        """The credential in use, for messages."""
        user = self.target.user
        if user.plugin is not None and not user.token:
            return f"credentials from {user.plugin.line!r}"
        name = f" of user {self.target.user_name!r}" if self.target.user_name else ""
        if user.token or user.token_file:
            return f"the token{name}"
        return f"the client certificate{name}" if user.has_certificate else f"the credentials{name}"


def connect(connection: Connection, around: CredentialContext) -> ApiAccess:
    """Choose the server and user, and prepare the connection pool and credentials.

    Raises:
        ConfigError: the kubeconfig, a flag or a proxy cannot be used.
    """
    target = choose(connection, around)
    proxy = proxy_for(target.server.url, target.server.proxy_url, around.environ)
    # Secrets that are not sent (plain http, an unused user) are redacted too; plugin credentials once they are fetched.
    user = target.user
    hold(user.token, user.password, user.key_data, token_in(target.server.url))
    hold(*(value for name, value in user.plugin.env if is_secret(name)) if user.plugin else ())
    for url in (target.server.url, proxy):
        hold_login(url)
    hold_environment(around.environ)
    headers = (
        ("Accept", "application/json"),
        ("Accept-Encoding", "identity" if target.server.disable_compression else "gzip"),
        ("User-Agent", f"kubectl-eksdoc/{__version__}"),
        *_impersonating(target.user.impersonation),
    )
    return ApiAccess(
        target=target,
        eks=identify(target, around.environ),
        credentials=_credentials(target, around),
        pools=Pools(target, proxy),
        headers=headers,
        proxy=address(proxy),
        request_timeout=connection.request_timeout,
        read_timeout=connection.read_timeout,
        read_time=around.read_time,
    )


def pinned(connection: Connection, around: CredentialContext) -> Connection:
    """The same cluster and user on every later connection, even if the current context of the kubeconfig changes.

    Raises:
        ConfigError: as `open_access`.
    """
    target = choose(connection, around)
    in_a_file = target.context and not (connection.context or target.context == IN_CLUSTER)
    return replace(connection, context=target.context) if in_a_file else connection


def _impersonating(who: Impersonation) -> tuple[tuple[str, str], ...]:
    found = (
        *((("Impersonate-User", who.user),) if who.user else ()),
        *((("Impersonate-Uid", who.uid),) if who.uid else ()),
        *(("Impersonate-Group", group) for group in who.groups),
        *((f"Impersonate-Extra-{quote(key, safe='')}", value) for key, value in who.extra),
    )
    if any(NO_HEADER.search(value) for _, value in found):
        raise ConfigError("who is impersonated (--as) has a name that no HTTP header may have", "It is one line.")
    return found


def _credentials(target: KubeTarget, around: CredentialContext) -> Credentials:
    """The credentials of a plugin are shared by all connections that would run it in the same way."""
    if _plugin_of(target) is None:
        return Credentials(_source(target, around), around.now)
    server = target.server
    login = (
        repr(server),
        server.url,
        server.proxy_url,
        repr(server.exec_config),
        target.user.plugin,
        tuple(sorted(around.environ.items())),
        around.interactive,
    )
    return around.logins.of(login, lambda: Credentials(_source(target, around), around.now))


def _plugin_of(target: KubeTarget) -> ExecPlugin | None:
    """The plugin that is run; None where another credential comes before it, or there is no plugin."""
    user = target.user
    others = user.token_file or user.token or user.username or user.password
    return None if others or user.has_certificate or not target.server.secure else user.plugin


def _source(target: KubeTarget, around: CredentialContext) -> credentials.Source:
    """In the order of kubectl: a token, then basic authentication, a certificate; a plugin only without any of these.

    Over plain http no credential is sent, as in kubectl.
    """
    user = target.user
    if not target.server.secure:
        return credentials.fixed(Credential())
    if user.token_file:
        return credentials.from_file(user.token_file, around.now)
    if user.token:
        return credentials.fixed(Credential(f"Bearer {user.token}"))
    if user.username or user.password:
        pair = b64encode(f"{user.username}:{user.password}".encode()).decode()
        return credentials.fixed(Credential(f"Basic {pair}"))
    plugin = _plugin_of(target)
    if plugin is not None:
        return lambda: exec_plugin.run(plugin, target.server, around)
    return credentials.fixed(Credential())


# The cluster that kubeconfig and flags select, found without a request.


_LARGEST_CA = 1 << 20


def whereabouts(connection: Connection, around: CredentialContext) -> ClusterAddress:
    """The address of the selected cluster.

    Raises:
        ConfigError: no usable kubeconfig, or a name in it or in the flags that does not exist.
    """
    target = choose(connection, around)
    who = target.user.impersonation
    parts = (target.context, target.user_name, who.user, who.uid, *who.groups)
    key = _digest((without_user(target.server.url), target.server.tls_server_name, *parts), _authority(target.server))
    return ClusterAddress(target.context, target.server.address, key)


def namespace_of(connection: Connection, around: CredentialContext) -> str:
    """The namespace of objects that are named without one, as in kubectl: that of the context, or ``default``.

    Raises:
        ConfigError: as `cluster_address`.
    """
    return choose(connection, around).namespace or "default"


def contexts(connection: Connection, around: CredentialContext) -> tuple[str, ...]:
    """The contexts of the kubeconfig, sorted; empty where it cannot be read: the connection to a cluster will raise the
    reason."""
    try:
        return tuple(sorted(kubeconfig.load(connection.kubeconfig, around).contexts))
    except ConfigError:
        return ()


def _authority(server: ServerEntry) -> bytes:
    """The certificate authority. A cluster that was created again at the same address has another one."""
    if server.ca_data or not server.ca_file:
        return server.ca_data.encode()
    try:
        with open(server.ca_file, "rb") as file:
            return file.read(_LARGEST_CA)
    except OSError:
        return server.ca_file.encode("utf-8", "surrogateescape")


def _digest(texts: Iterable[str], more: bytes) -> str:
    found = hashlib.sha256()
    for each in (*(text.encode("utf-8", "surrogatepass") for text in texts), more):
        found.update(len(each).to_bytes(8, "big"))
        found.update(each)
    return found.hexdigest()[:40]


def context_names(path: str, around: CredentialContext) -> tuple[Name, ...]:
    """The contexts, each with its cluster; `path` as of --kubeconfig."""
    try:
        config = kubeconfig.load(path, around)
    except ConfigError:
        return ()
    found = []
    for name, entry in sorted(config.contexts.items()):
        cluster = ""
        with suppress(ConfigError):
            cluster = kubeconfig.text(entry.fields, "cluster")
        now = "the current one" if name == config.current_context else ""
        found.append(Name(name, ", ".join(filter(None, (now, cluster if cluster != name else "")))))
    return tuple(found)
