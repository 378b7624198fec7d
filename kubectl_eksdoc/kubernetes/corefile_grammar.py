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
from kubectl_eksdoc.model.coredns import Block, Corefile, CorefileRefusal, Directive, Token
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version, go_duration, parse

from .corefile import TokenReader

OLDEST, NEWEST = Version(1, 1, 3), Version(1, 14, 2)
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
    since: Version = OLDEST
    until: Version = NEWEST
    options: tuple[KnownPlugin, ...] = ()
    once: bool = False
    required: bool = False
    inline: bool = False
    unknown: str | None = None

    @property
    def by_code(self) -> bool:
        return self.arguments == ("!",)

    def known_to(self, version: Version) -> bool:
        return not version.older_than(self.since) and not self.until.older_than(version)


@cache
def plugins() -> dict[str, KnownPlugin]:
    """By name, in their order."""
    found = (
        replace(_takes(each.form), options=tuple(map(_takes, each.options)), unknown=each.unknown) for each in _FORMS
    )
    return {each.name: each for each in found}


def _takes(line: str) -> KnownPlugin:
    name, *words = line.split()
    since, until = OLDEST, NEWEST
    for each in words:
        if each.startswith("@"):
            begins, _, ends = each[1:].partition("..")
            since, until = _version(begins, OLDEST), _version(ends, NEWEST)
    arguments = tuple(each for each in words if not each.startswith("@") and each not in _MARKS)
    once, required, inline = (each in words for each in _MARKS)
    return KnownPlugin(name, None if arguments == ("?",) else arguments, since, until, (), once, required, inline)


_MARKS = ("once", "required", "inline")


def _version(text: str, other: Version) -> Version:
    return parse(text) or other


# Listen addresses of CoreDNS, and the zones of its server blocks.
#
# Sources: Go, net.SplitHostPort and url.Parse; coredns, plugin/normalize.go (SplitHostPort),
# core/dnsserver/register.go.


MOST = 65535


def no_address(text: str) -> str:
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
    if no_address(text):
        return None
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), port


def no_listener(text: str) -> str | None:
    """Why a plugin cannot listen on `text`, "" if no reason is known. None for a service name, whose port only the
    machine knows."""
    split = split_host_port(text)
    port = split[1] if split else ""
    if port.isascii() and port.isdigit():
        return f"listen tcp: address {port}: invalid port" if int(port) > MOST else ""
    return None if port else ""


def zone_refusals(corefile: Corefile) -> tuple[CorefileRefusal, ...]:
    """Invalid zone names, which CoreDNS reports before any plugin is set up."""
    return tuple(
        CorefileRefusal(f"error inspecting server blocks: {why}", key.line)
        for block in corefile.servers
        for key in block.keys
        if not key.environment and (why := _no_zone(_plain(key.text)[1]))
    )


def server_refusals(corefile: Corefile) -> Iterator[CorefileRefusal]:
    """Ports and zones that cannot be served, reported after all plugins are set up. Blocks with `bind` or `view` may
    share a zone."""
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
    """The scheme, and the rest after it."""
    scheme, parted, rest = text.partition("://")
    return (scheme, rest) if parted and scheme in _PORTS else ("dns", text)


def _port(key: Token) -> str:
    port = key.text.rpartition(":")[2] if ":" in key.text else ""
    return port if port.isascii() and port.isdigit() else ""


def _no_zone(text: str) -> str:
    """The error message, "" for a valid zone."""
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


ONCE = "this plugin can only be used once per Server Block"


class CorefileDoubted(Exception):
    """It is not known whether CoreDNS accepts it; the message gives the reason, a clause."""


def judge(over: TokenReader, plugin: KnownPlugin, version: Version) -> None:
    """Check all uses of `plugin` in a block. Raises `CorefileSyntaxError`, or else `CorefileDoubted`."""
    uses, doubts, wanted = 0, list[str](), {each.name.split()[0] for each in plugin.options if each.required}
    while over.next():
        uses += 1
        if uses > 1 and plugin.once:
            raise over.plain_error(ONCE)
        if plugin.arguments is None:
            raise CorefileDoubted(f"plugin {plugin.name} is not judged (line {over.token.line})")
        line = over.token.line
        arguments = [each.text for each in over.arguments()]
        if plugin.arguments == ("rule",):
            arguments += [over.value for _ in iter(over.next_in_block, False)]
        elif not arguments and plugin.name == "autopath":
            raise over.plain_error("no resolv-conf specified")
        elif plugin.name == "forward":
            _forward(over, arguments)
        if not _fit(plugin.arguments, arguments):
            doubts.append(f"the arguments of {plugin.name} (line {line})")
        given = {_option(over, plugin, version, doubts) for _ in iter(over.next_in_block, False)}
        doubts += [f"{plugin.name} without {each} (line {line})" for each in sorted(wanted - given)]
    if doubts:
        raise CorefileDoubted(f"not judged: {', '.join(doubts)}")


def _forward(over: TokenReader, arguments: Sequence[str]) -> None:
    if len(arguments) < 2:
        raise over.argument_error()
    for each in arguments[1:]:
        if _upstream(each) is False:
            raise over.plain_error(f'not an IP address or file: "{_without_scheme(each)}"')


def _option(over: TokenReader, plugin: KnownPlugin, version: Version, doubts: list[str]) -> str:
    """Check one option, and return its name."""
    name, line = over.value, over.token.line
    named = [each for each in plugin.options if each.name == name]
    option = next((each for each in named if each.known_to(version)), None)
    if option is None and plugin.inline and _address(name):
        over.arguments()  # an entry as in /etc/hosts
    elif option is None and plugin.unknown is not None and not version > NEWEST:
        raise over.argument_error() if not plugin.unknown else over.error(plugin.unknown.format(name))
    elif option is None:
        over.arguments()
        doubts.append(f"option {name} of {plugin.name} (line {line})")
    else:
        given = [each.text for each in over.arguments()]
        if option.arguments is None or not _fit(option.arguments, given):
            doubts.append(f"the arguments of {name} in {plugin.name} (line {line})")
    return name


def _fit(kinds: Sequence[str], given: Sequence[str]) -> bool:
    """Each kind takes as many arguments as it can."""
    left = list(given)
    for kind in kinds:
        name, many = (kind[:-1], kind[-1]) if kind[-1] in "?*+" else (kind, "")
        if name in _WHOLE:
            return _WHOLE[name](left)
        fits = _KINDS.get(name) or set(name.split("|")).__contains__
        count = 0
        while left and fits(left[0]) and (many in ("*", "+") or count == 0):
            left.pop(0)
            count += 1
        if count == 0 and many in ("", "+"):
            return False
    return not left


_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")
_DOMAIN = re.compile(r"[A-Za-z0-9_*/.-]{1,255}(:[0-9]{1,5})?")
_PIECE = re.compile(r"\.\w+(\.\w+)*|index \.\w+(\.\w+)* \d+|parseInt \.\w+(\.\w+)* \d+ \d+")


def _number(least: int, most: int = 2**31) -> Callable[[str], bool]:
    return lambda text: bool(_INTEGER.fullmatch(text)) and least <= int(text) <= most


def _duration(text: str) -> bool:
    found = go_duration(text)
    return found is not None and found.total_seconds() >= 0


def _address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _grammar_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _regex(text: str) -> bool:
    """Patterns that Go's engine does not support count as doubtful."""
    if re.search(r"\(\?(?!P<|:|i\))|\\[1-9]|[*+?}]\+", text):
        return False
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _template(text: str) -> bool:
    return all(_PIECE.fullmatch(each.strip()) for each in re.findall(r"\{\{(.*?)\}\}", text)) and text.count(
        "{{"
    ) == text.count("}}")


def _percentage(text: str) -> bool:
    return text.endswith("%") and _number(10, 90)(text[:-1])


def _prefix(text: str) -> bool:
    """Whether it is a NAT64 prefix."""
    length = text.partition("/")[2]
    return (
        ":" in text and _grammar_network(text) and length.isdigit() and 32 <= int(length) <= 96 and int(length) % 8 == 0
    )


_SCHEMES = ("dns://", "tls://")
_RESOLV = "/etc/resolv.conf"
"""The kubelet writes it into every container."""


def _without_scheme(text: str) -> str:
    return next((text.removeprefix(each) for each in _SCHEMES if text.startswith(each)), text)


def _upstream(text: str) -> bool | None:
    """None if a file decides, or for a scheme that is not checked."""
    host = _without_scheme(text)
    if host == _RESOLV:
        return True
    if "/" in host or not host:
        return None
    split = split_host_port(host)
    return _address((split[0] if split else host).partition("%")[0])


def _peer(text: str) -> bool:
    split = split_host_port(text)
    return text == "*" or _address(split[0] if split else text)


def _acl(given: Sequence[str]) -> bool:
    sections = re.findall(r"(type|net)((?: (?!type\b|net\b)\S+)+)", " ".join(given))
    of_types = [each for kind, listed in sections if kind == "type" for each in listed.split()]
    of_nets = [each for kind, listed in sections if kind == "net" for each in listed.split()]
    whole = " ".join(f"{kind}{listed}" for kind, listed in sections) == " ".join(given)
    return (
        whole
        and all(e == "*" or e in _TYPES for e in of_types)
        and all(e == "*" or _grammar_network(e) for e in of_nets)
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


def _rule(given: Sequence[str]) -> bool:
    """The common forms of `rewrite` rules."""
    kind, *rest = given[1:] if given[:1] in (["continue"], ["stop"]) else given or [""]
    by = rest.pop(0) if rest and rest[0] in _MATCHES else "exact"
    if kind == "edns0":
        return bool(
            re.fullmatch(
                r"local (set|replace|append) 0x[0-9a-f]{4} (0x([0-9a-f]{2})+|(?!0x)\S+)( revert)?", " ".join(rest)
            )
        )
    if len(rest) != 2 or (by == "regex" and not _regex(rest[0])):
        return False
    if kind == "type":
        return by == "exact" and _TYPES.issuperset(each.upper() for each in rest)
    return kind == "name" or (kind == "ttl" and _number(0)(rest[1]))


def _health(given: Sequence[str]) -> bool:
    return bool(re.fullmatch(r"(no_rec ?|domain [\w.-]+ ?)*", " ".join(given)))


def _search(given: Sequence[str]) -> bool:
    return bool(given) and (given[-1].startswith("@") or given[-1] == _RESOLV) and all(map(_KINDS["zone"], given[:-1]))


_WHOLE: dict[str, Callable[[Sequence[str]], bool]] = {
    "acl": _acl,
    "balance": lambda given: list(given) in ([], ["round_robin"]) or (given[0] == "weighted" and len(given) == 2),
    "health": _health,
    "rule": _rule,
    "search": _search,
}
"""Kinds that take all remaining arguments of the line."""
_KINDS: dict[str, Callable[[str], bool]] = {
    "word": lambda text: True,
    "zone": lambda text: bool(_DOMAIN.fullmatch(text)),
    "scope": lambda text: True,
    "integer": _number(-(2**31)),
    "natural": _number(0),
    "positive": _number(1),
    "ttl": _number(0, 3600),
    "lease": lambda text: _number(0)(text) or _duration(text),
    "duration": _duration,
    "address": lambda text: not no_address(text),
    "interface": lambda text: _address(text) or text == "lo",
    "prefix": _prefix,
    "network": _grammar_network,
    "percentage": _percentage,
    "regex": _regex,
    "template": _template,
    "type": _TYPES.__contains__,
    "rcode": lambda text: text in ("NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"),
    "upstream": lambda text: _upstream(text) is True,
    "peer": _peer,
}
