"""Whether plugins and their options take what a Corefile gives them, by the table of `known`.

A kind of argument says yes only to what CoreDNS takes for certain; what no kind fits is doubted and not refused, as
plugins differ in what they pass over.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence

from kubectl_eksdoc.kubernetes.corefile.addresses import no_address, split_host_port
from kubectl_eksdoc.kubernetes.corefile.known import NEWEST, KnownPlugin
from kubectl_eksdoc.kubernetes.corefile.parser import TokenReader
from kubectl_eksdoc.model.durations import go_duration
from kubectl_eksdoc.model.versions import Version

ONCE = "this plugin can only be used once per Server Block"


class CorefileDoubted(Exception):
    """Whether CoreDNS takes it is not known: why, in a clause."""


def judge(over: TokenReader, plugin: KnownPlugin, version: Version) -> None:
    """Over all of a block's uses of `plugin`. Raises `Refused`, or else `CorefileDoubted`."""
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
    """Its name."""
    name, line = over.value, over.token.line
    named = [each for each in plugin.options if each.name == name]
    option = next((each for each in named if each.known_to(version)), None)
    if option is None and plugin.inline and _address(name):
        over.arguments()  # an entry, as in /etc/hosts
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
    """Each kind takes as many as it can."""
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


def _network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _regex(text: str) -> bool:
    """What Go's engine lacks is doubted."""
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
    """Of NAT64."""
    length = text.partition("/")[2]
    return ":" in text and _network(text) and length.isdigit() and 32 <= int(length) <= 96 and int(length) % 8 == 0


_SCHEMES = ("dns://", "tls://")
_RESOLV = "/etc/resolv.conf"
"""The kubelet writes it into every container."""


def _without_scheme(text: str) -> str:
    return next((text.removeprefix(each) for each in _SCHEMES if text.startswith(each)), text)


def _upstream(text: str) -> bool | None:
    """None where a file decides, or a scheme that is not judged."""
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
    return whole and all(e == "*" or e in _TYPES for e in of_types) and all(e == "*" or _network(e) for e in of_nets)


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
    """Of `rewrite`, those that most people write."""
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
"""Kinds of all that is left on the line."""
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
    "network": _network,
    "percentage": _percentage,
    "regex": _regex,
    "template": _template,
    "type": _TYPES.__contains__,
    "rcode": lambda text: text in ("NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"),
    "upstream": lambda text: _upstream(text) is True,
    "peer": _peer,
}
