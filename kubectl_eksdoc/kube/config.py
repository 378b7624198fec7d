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
from kubectl_eksdoc.held_secrets import register_environment_secrets, register_secrets, register_url_login
from kubectl_eksdoc.kubernetes.guards import redact_url, strip_user_info, url_token
from kubectl_eksdoc.model.connection import IN_CLUSTER, ClusterAddress, Connection
from kubectl_eksdoc.model.names import CompletionName

from . import exec_plugin, kubeconfig
from . import target as credentials
from .identity import EksIdentity, identify_cluster
from .kubeconfig import choose_target
from .pools import ConnectionPools
from .target import (
    INVALID_IN_HEADER,
    Credential,
    CredentialContext,
    Credentials,
    ExecPlugin,
    Impersonation,
    KubeTarget,
    ServerEntry,
    is_secret_name,
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
        return _check_proxy(configured, "proxy-url of the kubeconfig")
    parts = urlsplit(server)
    name = "HTTPS_PROXY" if parts.scheme == "https" else "HTTP_PROXY"
    proxy = environ.get(name) or environ.get(name.lower()) or ""
    if not proxy or _bypasses_proxy(parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443), environ):
        return ""
    return _check_proxy(proxy if "://" in proxy else f"http://{proxy}", name)


def _check_proxy(proxy: str, origin: str) -> str:
    try:
        parts = urlsplit(proxy)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"{origin} is not a URL: {redact_url(proxy)}") from error
    shown = redact_url(proxy)
    if parts.scheme in ("socks5", "socks5h"):
        raise ConfigError(
            f"{origin} is {shown}; SOCKS proxies are not supported",
            "Use an HTTP proxy (HTTPS_PROXY=http://…), or forward a port, for example with ssh -L, and "
            "give --server https://127.0.0.1:PORT --tls-server-name HOST.",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ConfigError(f"{origin} is {shown}; it should be http://HOST:PORT or https://HOST:PORT")
    return proxy


def _bypasses_proxy(host: str, port: int, environ: Mapping[str, str]) -> bool:
    """True if the proxy of the environment does not apply to this host: loopback, or named by NO_PROXY."""
    address = _ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    entries = (environ.get("NO_PROXY") or environ.get("no_proxy") or "").split(",")
    return any(_matches_no_proxy(entry.strip().lower(), host.lower(), port, address) for entry in entries)


def _ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None


def _matches_no_proxy(
    entry: str, host: str, port: int, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
) -> bool:
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
    if _ip_address(entry) is None and entry.rpartition(":")[2].isdecimal() and ":" in entry:
        entry, _, entry_port = entry.rpartition(":")
        if int(entry_port) != port:
            return False
    if address is not None:
        return _ip_address(entry) == address
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
    pools: ConnectionPools
    headers: tuple[tuple[str, str], ...]
    proxy: str = ""
    request_timeout: float = 0.0
    read_timeout: float = 0.0
    read_time: ReadTime = field(default_factory=ReadTime)

    @property
    def credential_description(self) -> str:
        """The credential in use, for messages."""
        user = self.target.user
        if user.plugin is not None and not user.token:
            return f"credentials from {user.plugin.safe_command_line!r}"
        name = f" of user {self.target.user_name!r}" if self.target.user_name else ""
        if user.token or user.token_file:
            return f"the token{name}"
        return f"the client certificate{name}" if user.has_certificate else f"the credentials{name}"


def open_access(connection: Connection, credential_context: CredentialContext) -> ApiAccess:
    """Choose the server and user, and prepare the connection pool and credentials.

    Raises:
        ConfigError: the kubeconfig, a flag or a proxy cannot be used.
    """
    target = choose_target(connection, credential_context)
    proxy = proxy_for(target.server.url, target.server.proxy_url, credential_context.environ)
    # Secrets that are not sent (plain http, an unused user) are redacted too; plugin credentials once they are fetched.
    user = target.user
    register_secrets(user.token, user.password, user.key_data, url_token(target.server.url))
    register_secrets(*(value for name, value in user.plugin.env if is_secret_name(name)) if user.plugin else ())
    for url in (target.server.url, proxy):
        register_url_login(url)
    register_environment_secrets(credential_context.environ)
    headers = (
        ("Accept", "application/json"),
        ("Accept-Encoding", "identity" if target.server.disable_compression else "gzip"),
        ("User-Agent", f"kubectl-eksdoc/{__version__}"),
        *_impersonation_headers(target.user.impersonation),
    )
    return ApiAccess(
        target=target,
        eks=identify_cluster(target, credential_context.environ),
        credentials=_credentials(target, credential_context),
        pools=ConnectionPools(target, proxy),
        headers=headers,
        proxy=redact_url(proxy),
        request_timeout=connection.request_timeout,
        read_timeout=connection.read_timeout,
        read_time=credential_context.read_time,
    )


def pin_context(connection: Connection, credential_context: CredentialContext) -> Connection:
    """The same cluster and user on every later connection, even if the current context of the kubeconfig changes.

    Raises:
        ConfigError: as `open_access`.
    """
    target = choose_target(connection, credential_context)
    from_kubeconfig = target.context and not (connection.context or target.context == IN_CLUSTER)
    return replace(connection, context=target.context) if from_kubeconfig else connection


def _impersonation_headers(impersonation: Impersonation) -> tuple[tuple[str, str], ...]:
    headers = (
        *((("Impersonate-User", impersonation.user),) if impersonation.user else ()),
        *((("Impersonate-Uid", impersonation.uid),) if impersonation.uid else ()),
        *(("Impersonate-Group", group) for group in impersonation.groups),
        *((f"Impersonate-Extra-{quote(key, safe='')}", value) for key, value in impersonation.extra),
    )
    if any(INVALID_IN_HEADER.search(value) for _, value in headers):
        raise ConfigError("who is impersonated (--as) has a name that no HTTP header may have", "It is one line.")
    return headers


def _credentials(target: KubeTarget, credential_context: CredentialContext) -> Credentials:
    """The credentials of a plugin are shared by all connections that would run it in the same way."""
    if _plugin_in_use(target) is None:
        return Credentials(_credential_source(target, credential_context), credential_context.now)
    server = target.server
    login = (
        repr(server),
        server.url,
        server.proxy_url,
        repr(server.exec_config),
        target.user.plugin,
        tuple(sorted(credential_context.environ.items())),
        credential_context.interactive,
    )
    return credential_context.shared_credentials.for_login(
        login, lambda: Credentials(_credential_source(target, credential_context), credential_context.now)
    )


def _plugin_in_use(target: KubeTarget) -> ExecPlugin | None:
    """The plugin that is run; None where another credential comes before it, or there is no plugin."""
    user = target.user
    other_credentials = user.token_file or user.token or user.username or user.password
    return None if other_credentials or user.has_certificate or not target.server.secure else user.plugin


def _credential_source(target: KubeTarget, credential_context: CredentialContext) -> credentials.Source:
    """In the order of kubectl: a token, then basic authentication, a certificate; a plugin only without any of these.

    Over plain http no credential is sent, as in kubectl.
    """
    user = target.user
    if not target.server.secure:
        return credentials.fixed_source(Credential())
    if user.token_file:
        return credentials.token_file_source(user.token_file, credential_context.now)
    if user.token:
        return credentials.fixed_source(Credential(f"Bearer {user.token}"))
    if user.username or user.password:
        pair = b64encode(f"{user.username}:{user.password}".encode()).decode()
        return credentials.fixed_source(Credential(f"Basic {pair}"))
    plugin = _plugin_in_use(target)
    if plugin is not None:
        return lambda: exec_plugin.run_plugin(plugin, target.server, credential_context)
    return credentials.fixed_source(Credential())


# The cluster that kubeconfig and flags select, found without a request.


_MAX_CA_BYTES = 1 << 20


def cluster_address(connection: Connection, credential_context: CredentialContext) -> ClusterAddress:
    """The address of the selected cluster.

    Raises:
        ConfigError: no usable kubeconfig, or a name in it or in the flags that does not exist.
    """
    target = choose_target(connection, credential_context)
    impersonation = target.user.impersonation
    parts = (target.context, target.user_name, impersonation.user, impersonation.uid, *impersonation.groups)
    key = _digest((strip_user_info(target.server.url), target.server.tls_server_name, *parts), _ca_bytes(target.server))
    return ClusterAddress(target.context, target.server.address, key)


def default_namespace(connection: Connection, credential_context: CredentialContext) -> str:
    """The namespace of objects that are named without one, as in kubectl: that of the context, or ``default``.

    Raises:
        ConfigError: as `cluster_address`.
    """
    return choose_target(connection, credential_context).namespace or "default"


def kube_contexts(connection: Connection, credential_context: CredentialContext) -> tuple[str, ...]:
    """The contexts of the kubeconfig, sorted; empty where it cannot be read: the connection to a cluster will raise the
    reason."""
    try:
        return tuple(sorted(kubeconfig.load(connection.kubeconfig, credential_context).contexts))
    except ConfigError:
        return ()


def _ca_bytes(server: ServerEntry) -> bytes:
    """The certificate authority. A cluster that was created again at the same address has another one."""
    if server.ca_data or not server.ca_file:
        return server.ca_data.encode()
    try:
        with open(server.ca_file, "rb") as file:
            return file.read(_MAX_CA_BYTES)
    except OSError:
        return server.ca_file.encode("utf-8", "surrogateescape")


def _digest(texts: Iterable[str], ca: bytes) -> str:
    digest = hashlib.sha256()
    for part in (*(text.encode("utf-8", "surrogatepass") for text in texts), ca):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:40]


def context_names(path: str, credential_context: CredentialContext) -> tuple[CompletionName, ...]:
    """The contexts, each with its cluster; `path` as of --kubeconfig."""
    try:
        config = kubeconfig.load(path, credential_context)
    except ConfigError:
        return ()
    context_list = []
    for name, entry in sorted(config.contexts.items()):
        cluster = ""
        with suppress(ConfigError):
            cluster = kubeconfig.text_field(entry.fields, "cluster")
        current = "the current one" if name == config.current_context else ""
        context_list.append(
            CompletionName(name, ", ".join(filter(None, (current, cluster if cluster != name else ""))))
        )
    return tuple(context_list)
