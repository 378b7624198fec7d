"""Grammar of CoreDNS plugins: whether a plugin and its options accept the arguments in a Corefile, by the table of
known plugins.

An argument kind accepts only values that CoreDNS accepts for certain. Arguments that fit no kind are reported as
doubtful and not refused, because plugins differ in the arguments they ignore.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.coredns import Block, Corefile, CorefileError, Directive, Token
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version, go_duration, parse_version

from .corefile import TokenReader

OLDEST_KNOWN, NEWEST_KNOWN = Version(1, 1, 3), Version(1, 14, 2)
"""Versions outside of this range are not checked."""


@frozen
class PluginForm:
    """`form` and `options` as the knowledge file explains them."""

    form: str
    source: KnowledgeSource
    options: tuple[str, ...] = ()
    unknown: str | None = None


_FORMS = records(PluginForm, "corefile_plugins")


@frozen
class KnownPlugin:
    """A plugin or one of its options. `arguments` None: not checked. `unknown`: CoreDNS's message for an unknown
    option, None if it is not known."""

    name: str
    arguments: tuple[str, ...] | None
    since: Version = OLDEST_KNOWN
    until: Version = NEWEST_KNOWN
    options: tuple[KnownPlugin, ...] = ()
    once: bool = False
    required: bool = False
    inline: bool = False
    unknown: str | None = None

    @property
    def has_own_check(self) -> bool:
        return self.arguments == ("!",)

    def exists_in(self, version: Version) -> bool:
        return not version.older_than(self.since) and not self.until.older_than(version)


@cache
def known_plugins() -> dict[str, KnownPlugin]:
    """By name, in their order."""
    parsed_plugins = (
        replace(_parse_form(each.form), options=tuple(map(_parse_form, each.options)), unknown=each.unknown)
        for each in _FORMS
    )
    return {each.name: each for each in parsed_plugins}


def _parse_form(line: str) -> KnownPlugin:
    name, *words = line.split()
    since, until = OLDEST_KNOWN, NEWEST_KNOWN
    for each in words:
        if each.startswith("@"):
            begins, _, ends = each[1:].partition("..")
            since, until = _version_or(begins, OLDEST_KNOWN), _version_or(ends, NEWEST_KNOWN)
    arguments = tuple(each for each in words if not each.startswith("@") and each not in _FORM_FLAGS)
    once, required, inline = (each in words for each in _FORM_FLAGS)
    return KnownPlugin(name, None if arguments == ("?",) else arguments, since, until, (), once, required, inline)


_FORM_FLAGS = ("once", "required", "inline")


def _version_or(text: str, default: Version) -> Version:
    return parse_version(text) or default


# Listen addresses of CoreDNS, and the zones of its server blocks.
#
# Sources: Go, net.SplitHostPort and url.Parse; coredns, plugin/normalize.go (SplitHostPort),
# core/dnsserver/register.go.


MAX_PORT = 65535


def address_error(text: str) -> str:
    """The error message of Go's net.SplitHostPort, "" if it is an address."""
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
    """The host, without brackets, and the port; None if it is not an address."""
    if address_error(text):
        return None
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), port


def listener_error(text: str) -> str | None:
    """Why a plugin cannot listen on `text`, "" if no reason is known. None for a service name, whose port only the
    machine knows."""
    split = split_host_port(text)
    port = split[1] if split else ""
    if port.isascii() and port.isdigit():
        return f"listen tcp: address {port}: invalid port" if int(port) > MAX_PORT else ""
    return None if port else ""


def zone_refusals(corefile: Corefile) -> tuple[CorefileError, ...]:
    """Invalid zone names, which CoreDNS reports before any plugin is set up."""
    return tuple(
        CorefileError(f"error inspecting server blocks: {problem}", key.line)
        for block in corefile.server_blocks
        for key in block.keys
        if not key.has_environment and (problem := _zone_error(_split_scheme(key.text)[1]))
    )


def server_refusals(corefile: Corefile) -> Iterator[CorefileError]:
    """Ports and zones that cannot be served, reported after all plugins are set up. Blocks with `bind` or `view` may
    share a zone."""
    for block in corefile.server_blocks:
        for key in block.keys:
            port = _port(key)
            if port and int(port) > MAX_PORT:
                yield CorefileError(f"address {port}: invalid port", key.line)
    served: set[tuple[str, str, str]] = set()
    for block in corefile.server_blocks:
        if corefile.imported_files or any(_binds_or_filters(corefile, block)):
            continue
        for key in block.keys:
            if key.has_environment:
                continue
            scheme, zone = _split_scheme(key.text)
            port = _port(key) or _PORTS[scheme]
            name = zone.rpartition(":")[0] if _port(key) else zone
            name = name.lower() if name.endswith(".") else f"{name.lower()}."
            if (scheme, name, port) in served:
                yield CorefileError(f"cannot serve {scheme}://{name}:{port} - it is already defined", key.line)
            served.add((scheme, name, port))


def _binds_or_filters(corefile: Corefile, block: Block) -> Iterator[bool]:
    for each in corefile.expand(block):
        yield isinstance(each, Directive) and (each.name in ("bind", "view") or each.tokens[0].has_environment)


_PORTS = {"dns": "53", "tls": "853", "quic": "853", "grpc": "443", "https": "443", "https3": "443"}


def _split_scheme(text: str) -> tuple[str, str]:
    """The scheme, and the rest after it."""
    scheme, parted, rest = text.partition("://")
    return (scheme, rest) if parted and scheme in _PORTS else ("dns", text)


def _port(key: Token) -> str:
    port = key.text.rpartition(":")[2] if ":" in key.text else ""
    return port if port.isascii() and port.isdigit() else ""


def _zone_error(text: str) -> str:
    """The error message, "" for a valid zone."""
    if text.endswith(":"):
        return f'expecting data after last colon: "{text}"'
    zone, _, port = text.rpartition(":")
    zone = zone if port.isascii() and port.isdigit() else text
    if len(zone) > 255:
        return f"specified zone is too long: {len(zone)} > 255"
    labels = zone.removesuffix(".").split(".") if zone not in (".", "") else []
    if _is_network_zone(zone) or ("\\" in zone):
        return ""
    wrong = any(not 0 < len(each.encode()) < 64 for each in labels)
    return f"zone is not a valid domain name: {zone}" if wrong else ""


def _is_network_zone(text: str) -> bool:
    try:
        return "/" in text and bool(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return False


ONCE_MESSAGE = "this plugin can only be used once per Server Block"


class CorefileDoubted(Exception):
    """It is not known whether CoreDNS accepts it; the message gives the reason, a clause."""


def check_plugin_uses(reader: TokenReader, plugin: KnownPlugin, version: Version) -> None:
    """Check all uses of `plugin` in a block. Raises `CorefileSyntaxError`, or else `CorefileDoubted`."""
    uses, doubts, required = 0, list[str](), {each.name.split()[0] for each in plugin.options if each.required}
    while reader.next():
        uses += 1
        if uses > 1 and plugin.once:
            raise reader.plain_error(ONCE_MESSAGE)
        if plugin.arguments is None:
            raise CorefileDoubted(f"plugin {plugin.name} is not judged (line {reader.token.line})")
        line = reader.token.line
        arguments = [each.text for each in reader.arguments()]
        if plugin.arguments == ("rule",):
            arguments += [reader.value for _ in iter(reader.next_in_block, False)]
        elif not arguments and plugin.name == "autopath":
            raise reader.plain_error("no resolv-conf specified")
        elif plugin.name == "forward":
            _check_forward(reader, arguments)
        if not _arguments_fit(plugin.arguments, arguments):
            doubts.append(f"the arguments of {plugin.name} (line {line})")
        used_options = {_check_option(reader, plugin, version, doubts) for _ in iter(reader.next_in_block, False)}
        doubts += [f"{plugin.name} without {each} (line {line})" for each in sorted(required - used_options)]
    if doubts:
        raise CorefileDoubted(f"not judged: {', '.join(doubts)}")


def _check_forward(reader: TokenReader, arguments: Sequence[str]) -> None:
    if len(arguments) < 2:
        raise reader.argument_error()
    for each in arguments[1:]:
        if _is_upstream(each) is False:
            raise reader.plain_error(f'not an IP address or file: "{_without_scheme(each)}"')


def _check_option(reader: TokenReader, plugin: KnownPlugin, version: Version, doubts: list[str]) -> str:
    """Check one option, and return its name."""
    name, line = reader.value, reader.token.line
    same_name = [each for each in plugin.options if each.name == name]
    option = next((each for each in same_name if each.exists_in(version)), None)
    if option is None and plugin.inline and _is_ip_address(name):
        reader.arguments()  # an entry as in /etc/hosts
    elif option is None and plugin.unknown is not None and not version > NEWEST_KNOWN:
        raise reader.argument_error() if not plugin.unknown else reader.error(plugin.unknown.format(name))
    elif option is None:
        reader.arguments()
        doubts.append(f"option {name} of {plugin.name} (line {line})")
    else:
        arguments = [each.text for each in reader.arguments()]
        if option.arguments is None or not _arguments_fit(option.arguments, arguments):
            doubts.append(f"the arguments of {name} in {plugin.name} (line {line})")
    return name


def _arguments_fit(kinds: Sequence[str], arguments: Sequence[str]) -> bool:
    """Each kind takes as many arguments as it can."""
    remaining = list(arguments)
    for kind in kinds:
        name, many = (kind[:-1], kind[-1]) if kind[-1] in "?*+" else (kind, "")
        if name in _LINE_KINDS:
            return _LINE_KINDS[name](remaining)
        fits = _ARGUMENT_KINDS.get(name) or set(name.split("|")).__contains__
        count = 0
        while remaining and fits(remaining[0]) and (many in ("*", "+") or count == 0):
            remaining.pop(0)
            count += 1
        if count == 0 and many in ("", "+"):
            return False
    return not remaining


_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")
_DOMAIN = re.compile(r"[A-Za-z0-9_*/.-]{1,255}(:[0-9]{1,5})?")
_PIECE = re.compile(r"\.\w+(\.\w+)*|index \.\w+(\.\w+)* \d+|parseInt \.\w+(\.\w+)* \d+ \d+")


def _number(minimum: int, maximum: int = 2**31) -> Callable[[str], bool]:
    return lambda text: bool(_INTEGER.fullmatch(text)) and minimum <= int(text) <= maximum


def _is_duration(text: str) -> bool:
    duration = go_duration(text)
    return duration is not None and duration.total_seconds() >= 0


def _is_ip_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _is_regex(text: str) -> bool:
    """Patterns that Go's engine does not support count as doubtful."""
    if re.search(r"\(\?(?!P<|:|i\))|\\[1-9]|[*+?}]\+", text):
        return False
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _is_template(text: str) -> bool:
    return all(_PIECE.fullmatch(each.strip()) for each in re.findall(r"\{\{(.*?)\}\}", text)) and text.count(
        "{{"
    ) == text.count("}}")


def _is_percentage(text: str) -> bool:
    return text.endswith("%") and _number(10, 90)(text[:-1])


def _is_nat64_prefix(text: str) -> bool:
    """Whether it is a NAT64 prefix."""
    length = text.partition("/")[2]
    return ":" in text and _is_network(text) and length.isdigit() and 32 <= int(length) <= 96 and int(length) % 8 == 0


_SCHEMES = ("dns://", "tls://")
_RESOLV = "/etc/resolv.conf"
"""The kubelet writes it into every container."""


def _without_scheme(text: str) -> str:
    return next((text.removeprefix(each) for each in _SCHEMES if text.startswith(each)), text)


def _is_upstream(text: str) -> bool | None:
    """None if a file decides, or for a scheme that is not checked."""
    host = _without_scheme(text)
    if host == _RESOLV:
        return True
    if "/" in host or not host:
        return None
    split = split_host_port(host)
    return _is_ip_address((split[0] if split else host).partition("%")[0])


def _is_peer(text: str) -> bool:
    split = split_host_port(text)
    return text == "*" or _is_ip_address(split[0] if split else text)


def _is_acl(arguments: Sequence[str]) -> bool:
    sections = re.findall(r"(type|net)((?: (?!type\b|net\b)\S+)+)", " ".join(arguments))
    of_types = [each for kind, listed in sections if kind == "type" for each in listed.split()]
    of_nets = [each for kind, listed in sections if kind == "net" for each in listed.split()]
    parsed_all = " ".join(f"{kind}{listed}" for kind, listed in sections) == " ".join(arguments)
    return (
        parsed_all
        and all(e == "*" or e in _TYPES for e in of_types)
        and all(e == "*" or _is_network(e) for e in of_nets)
    )


_MATCHES = ("exact", "prefix", "suffix", "substring", "regex")
_TYPES = frozenset(
    (
        "A",
        "AAAA",
        "ANY",
        "CAA",
        "CNAME",
        "DNSKEY",
        "DS",
        "HTTPS",
        "MX",
        "NAPTR",
        "NS",
        "PTR",
        "SOA",
        "SRV",
        "SVCB",
        "TXT",
    )
)


def _is_rewrite_rule(arguments: Sequence[str]) -> bool:
    """The common forms of `rewrite` rules."""
    kind, *rest = arguments[1:] if arguments[:1] in (["continue"], ["stop"]) else arguments or [""]
    by = rest.pop(0) if rest and rest[0] in _MATCHES else "exact"
    if kind == "edns0":
        return bool(
            re.fullmatch(
                r"local (set|replace|append) 0x[0-9a-f]{4} (0x([0-9a-f]{2})+|(?!0x)\S+)( revert)?", " ".join(rest)
            )
        )
    if len(rest) != 2 or (by == "regex" and not _is_regex(rest[0])):
        return False
    if kind == "type":
        return by == "exact" and _TYPES.issuperset(each.upper() for each in rest)
    return kind == "name" or (kind == "ttl" and _number(0)(rest[1]))


def _is_health_check(arguments: Sequence[str]) -> bool:
    return bool(re.fullmatch(r"(no_rec ?|domain [\w.-]+ ?)*", " ".join(arguments)))


def _is_search_path(arguments: Sequence[str]) -> bool:
    return (
        bool(arguments)
        and (arguments[-1].startswith("@") or arguments[-1] == _RESOLV)
        and all(map(_ARGUMENT_KINDS["zone"], arguments[:-1]))
    )


_LINE_KINDS: dict[str, Callable[[Sequence[str]], bool]] = {
    "acl": _is_acl,
    "balance": lambda given: list(given) in ([], ["round_robin"]) or (given[0] == "weighted" and len(given) == 2),
    "health": _is_health_check,
    "rule": _is_rewrite_rule,
    "search": _is_search_path,
}
"""Kinds that take all remaining arguments of the line."""
_ARGUMENT_KINDS: dict[str, Callable[[str], bool]] = {
    "word": lambda text: True,
    "zone": lambda text: bool(_DOMAIN.fullmatch(text)),
    "scope": lambda text: True,
    "integer": _number(-(2**31)),
    "natural": _number(0),
    "positive": _number(1),
    "ttl": _number(0, 3600),
    "lease": lambda text: _number(0)(text) or _is_duration(text),
    "duration": _is_duration,
    "address": lambda text: not address_error(text),
    "interface": lambda text: _is_ip_address(text) or text == "lo",
    "prefix": _is_nat64_prefix,
    "network": _is_network,
    "percentage": _is_percentage,
    "regex": _is_regex,
    "template": _is_template,
    "type": _TYPES.__contains__,
    "rcode": lambda text: text in ("NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"),
    "upstream": lambda text: _is_upstream(text) is True,
    "peer": _is_peer,
}
