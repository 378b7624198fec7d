"""Addresses that CoreDNS listens on, and the zones of its server blocks.

Sources: Go, net.SplitHostPort and url.Parse; coredns, plugin/normalize.go (SplitHostPort), core/dnsserver/register.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from kubectl_eksdoc.model.coredns import Block, Corefile, CorefileRefusal, Directive, Token

MOST = 65535


def no_address(text: str) -> str:
    """What Go's net.SplitHostPort says to it, "" if it is one."""
    last = text.rfind(":")
    if last < 0:
        return "missing port in address"
    if text.startswith("["):
        end = text.find("]")
        if end < 0:
            return "missing ']' in address"
        if end + 1 == len(text):
            return "missing port in address"
        return "" if end + 1 == last else "too many colons in address"
    return "too many colons in address" if ":" in text[:last] else ""


def split_host_port(text: str) -> tuple[str, str] | None:
    """The host, without brackets, and the port; None for no address."""
    if no_address(text):
        return None
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), port


def no_listener(text: str) -> str | None:
    """Why nothing can listen on `text`, "" for nothing known against it. None for a name of a service, of which only
    the machine knows the port."""
    split = split_host_port(text)
    port = split[1] if split else ""
    if port.isascii() and port.isdigit():
        return f"listen tcp: address {port}: invalid port" if int(port) > MOST else ""
    return None if port else ""


def zone_refusals(corefile: Corefile) -> tuple[CorefileRefusal, ...]:
    """Of the names of zones, before any plugin is set up."""
    return tuple(
        CorefileRefusal(f"error inspecting server blocks: {why}", key.line)
        for block in corefile.servers
        for key in block.keys
        if not key.environment and (why := _no_zone(_plain(key.text)[1]))
    )


def server_refusals(corefile: Corefile) -> Iterator[CorefileRefusal]:
    """Of what is served where, once all plugins are set up. Where a block binds or filters, two may share a zone."""
    for block in corefile.servers:
        for key in block.keys:
            port = _port(key)
            if port and int(port) > MOST:
                yield CorefileRefusal(f"address {port}: invalid port", key.line)
    seen: set[tuple[str, str, str]] = set()
    for block in corefile.servers:
        if corefile.files or any(_sets_apart(corefile, block)):
            continue
        for key in block.keys:
            if key.environment:
                continue
            scheme, zone = _plain(key.text)
            port = _port(key) or _PORTS[scheme]
            name = zone.rpartition(":")[0] if _port(key) else zone
            name = name.lower() if name.endswith(".") else f"{name.lower()}."
            if (scheme, name, port) in seen:
                yield CorefileRefusal(f"cannot serve {scheme}://{name}:{port} - it is already defined", key.line)
            seen.add((scheme, name, port))


def _sets_apart(corefile: Corefile, block: Block) -> Iterator[bool]:
    for each in corefile.whole(block):
        yield isinstance(each, Directive) and (each.name in ("bind", "view") or each.tokens[0].environment)


_PORTS = {"dns": "53", "tls": "853", "quic": "853", "grpc": "443", "https": "443", "https3": "443"}


def _plain(text: str) -> tuple[str, str]:
    """The scheme, and what is behind it."""
    scheme, parted, rest = text.partition("://")
    return (scheme, rest) if parted and scheme in _PORTS else ("dns", text)


def _port(key: Token) -> str:
    port = key.text.rpartition(":")[2] if ":" in key.text else ""
    return port if port.isascii() and port.isdigit() else ""


def _no_zone(text: str) -> str:
    """Why it is none, "" for a zone."""
    if text.endswith(":"):
        return f'expecting data after last colon: "{text}"'
    zone, _, port = text.rpartition(":")
    zone = zone if port.isascii() and port.isdigit() else text
    if len(zone) > 255:
        return f"specified zone is too long: {len(zone)} > 255"
    labels = zone.removesuffix(".").split(".") if zone not in (".", "") else []
    if _network(zone) or ("\\" in zone):
        return ""
    wrong = any(not 0 < len(each.encode()) < 64 for each in labels)
    return f"zone is not a valid domain name: {zone}" if wrong else ""


def _network(text: str) -> bool:
    try:
        return "/" in text and bool(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return False
