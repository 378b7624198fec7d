"""Which proxy stands between us and the server, by the rules kubectl follows.

A kubeconfig's `proxy-url` is used as it is. Otherwise HTTPS_PROXY (HTTP_PROXY for http servers) unless
NO_PROXY names the server. Source: golang.org/x/net/http/httpproxy and client-go's use of it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from kubectl_eksdoc.core.rules.addresses import address
from kubectl_eksdoc.errors import ConfigError

_PORTS = {"http": 80, "https": 443}


def proxy_for(server: str, configured: str, environ: Mapping[str, str]) -> str:
    """URL of the proxy for `server`, "" for none.

    Raises:
        ConfigError: the proxy is of a kind we cannot use.
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
    """True if the proxy of the environment is not for this host: loopback, or named by NO_PROXY."""
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
    """One entry of NO_PROXY: ``*``, an address, a CIDR, ``.suffix``, ``domain``, each perhaps with a port."""
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
