"""What CoreDNS takes and what it refuses, in its own words, and how long it waits when it ends.

Sources: coredns v1.13.1, plugin/{health,ready,reload,loop}/setup.go for the plugins that are judged here; the others by
knowledge/corefile_plugins.json. Held against 289 Corefiles that a real CoreDNS 1.13.1 was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.coredns import Corefile, CorefileRefusal, Directive, Import, Token
from kubectl_eksdoc.model.quantities import Version, go_duration

from .corefile import CorefileSyntaxError, TokenReader
from .corefile_grammar import (
    NEWEST,
    OLDEST,
    ONCE,
    CorefileDoubted,
    KnownPlugin,
    judge,
    no_address,
    no_listener,
    plugins,
    server_refusals,
    zone_refusals,
)

DEFAULT = Version(1, 13, 1)
"""Where no version is known: the one that was recorded."""
LEAST_INTERVAL, LEAST_JITTER = timedelta(seconds=2), timedelta(seconds=1)
_MONITORS, _MONITORS_SINCE = ("until-ready", "continuously"), Version(1, 12, 2)


@frozen
class JudgedCorefile:
    """`refusals` in the order in which CoreDNS comes to them; it stops at the first. `doubts`: what is not judged, each
    in a clause."""

    refusals: tuple[CorefileRefusal, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool | None:
        """None where that is not known."""
        return False if self.refusals else None if self.doubts else True


def judged(
    corefile: Corefile | CorefileRefusal,
    version: Version | None = DEFAULT,
    alone: bool = False,
    own_build: bool = False,
) -> JudgedCorefile:
    """By a CoreDNS of `version`; None for one that is not known, of which only what holds for all is said. `alone`: no
    file lies beside the Corefile that it could import; `own_build`: it may have plugins of its own."""
    if isinstance(corefile, CorefileRefusal):
        return JudgedCorefile((corefile,))
    if version is None:
        return _by_all(corefile, alone, own_build)
    lost = tuple(_not_found(corefile)) if alone else ()
    if lost:
        return JudgedCorefile(lost)
    files = [each for each in corefile.files if not (alone and _beside(each))]
    doubts = [f"it imports {', '.join(files)}"] if files else []
    if version.older_than(OLDEST):
        doubts.append(f"the options of CoreDNS {version} are not known")
    refusals = [*_unknown(corefile, version, own_build, doubts), *zone_refusals(corefile)]
    refusals += _of_plugins(corefile, version, doubts)
    refusals += [*_of_listeners(corefile, doubts), *server_refusals(corefile)]
    return JudgedCorefile(tuple(refusals), tuple(doubts))


def refusals(corefile: Corefile, version: Version | None = DEFAULT) -> tuple[CorefileRefusal, ...]:
    """Why CoreDNS does not take it; () where nothing is known against it."""
    return judged(corefile, version).refusals


_WILD = "*?[]"
_HOME = "/etc/coredns/"
"""Where the Corefile lies, and relative imports with it."""


def _beside(target: str) -> bool:
    return not target.startswith("/") or target.startswith(_HOME)


def _not_found(corefile: Corefile) -> Iterator[CorefileRefusal]:
    """A pattern may match nothing, a name may not."""
    for each in (*corefile.imports, *corefile.held):
        name = each.target.text if isinstance(each, Import) else ""
        if name and name not in corefile.snippets and _beside(name) and not set(name) & set(_WILD):
            assert isinstance(each, Import), "it has a target"
            yield CorefileRefusal(f"Error during parsing: File to import not found: {name}", each.target.line)


def _by_all(corefile: Corefile, alone: bool, own_build: bool) -> JudgedCorefile:
    """What the default refuses and an old one as well is refused by all between."""
    now, old = (judged(corefile, each, alone, own_build) for each in (DEFAULT, Version(1, 6, 6)))
    both = tuple(each for each in now.refusals if each in old.refusals)
    return JudgedCorefile(both, (*now.doubts, "the version of CoreDNS is not known"))


def _unknown(corefile: Corefile, version: Version, own_build: bool, doubts: list[str]) -> Iterator[CorefileRefusal]:
    """Plugins that this version does not have."""
    for each in corefile.directives:
        plugin = plugins().get(each.name)
        if each.tokens[0].environment:
            doubts.append(f"the plugin of line {each.line} is named by the environment")
        elif plugin is not None and plugin.known_to(min(version, NEWEST)):
            continue
        elif version > NEWEST or (own_build and plugin is None):
            doubts.append(f"whether CoreDNS {version} has a plugin {each.name} (line {each.line})")
        else:
            yield CorefileRefusal(f"Error during parsing: Unknown directive '{each.name}'", each.line)


def _of_plugins(corefile: Corefile, version: Version, doubts: list[str]) -> Iterator[CorefileRefusal]:
    """A plugin is set up for every block before the next one is."""
    blocks = corefile.by_block
    used = {each.name for held in blocks for each in held}
    for plugin in plugins().values():
        for held in blocks if plugin.name in used else ():
            tokens = [token for each in held if each.name == plugin.name for token in each.tokens]
            if any(token.environment for token in tokens):
                doubts.append(f"{plugin.name} (line {tokens[0].line}) is given something by the environment")
            elif tokens:
                try:
                    _judge(TokenReader(tokens, plugin.name), plugin, version)
                except CorefileSyntaxError as refused:
                    yield _placed(refused.refusal, tokens)
                except CorefileDoubted as doubted:
                    doubts.append(str(doubted))


def _judge(over: TokenReader, plugin: KnownPlugin, version: Version) -> None:
    if plugin.by_code:
        _JUDGES[plugin.name](over, version)
    else:
        judge(over, plugin, version)


def _of_listeners(corefile: Corefile, doubts: list[str]) -> Iterator[CorefileRefusal]:
    """What a plugin cannot listen on it says when all are set up."""
    for name in ("health", "ready", "prometheus"):
        for each in corefile.directives:
            given = _address_of(each) if each.name == name else None
            why = "" if given is None or given.environment else no_listener(given.text)
            if why is None and name == "health":
                port = given.text.rpartition(":")[2] if given else ""
                why = f'parse "http://:{port}": invalid port ":{port}" after host'
            if why is None:
                doubts.append(f"the port of {name} (line {each.line})")
            elif why:
                yield CorefileRefusal(why, each.line)


def _address_of(directive: Directive) -> Token | None:
    over = TokenReader(directive.tokens)
    over.next()
    return next(iter(over.arguments()), None)


def addresses(corefile: Corefile, plugin: str, default: str) -> tuple[str, ...]:
    """Where `plugin` listens, one address for each block that has it, of several uses the last that names one."""
    found = []
    for block in corefile.by_block:
        held = [each for each in block if each.name == plugin]
        if held:
            given = [token.text for each in held if (token := _address_of(each)) is not None]
            found.append(given[-1] if given else default)
    return tuple(found)


def _placed(refusal: CorefileRefusal, tokens: Iterable[Token]) -> CorefileRefusal:
    """Where CoreDNS names no line, that of the plugin helps to find it."""
    return refusal if refusal.line else CorefileRefusal(refusal.said, next(iter(tokens)).line, refusal.plugin)


def lameducks(directives: Iterable[Directive]) -> Iterator[Token]:
    """The values of ``lameduck`` of all ``health`` plugins, in their order; in one plugin the last one counts."""
    for each in directives:
        if each.name != "health":
            continue
        over = TokenReader(each.tokens)
        over.arguments()
        while over.next_in_block():
            if over.value == "lameduck":
                yield from over.arguments()[:1]


def health_plugins(corefile: Corefile) -> tuple[tuple[Token, ...], ...]:
    """Of each server block with `health` its values of ``lameduck``, of which the last one counts. It is set up once
    for a block, however many zones that has: caddy runs a directive's setup for the first key only (since 1.8.5). What
    is imported from files is not in here."""
    blocks = ([each for each in block if each.name == "health"] for block in corefile.by_block)
    return tuple(tuple(lameducks(held)) for held in blocks if held)


def unread(corefile: Corefile) -> bool:
    """What CoreDNS makes of it may have more of `health` than is seen here: a variable names a plugin, or a snippet is
    imported within the plugin's own block."""
    return any(
        each.tokens[0].environment or (each.name == "health" and any(token.text == "import" for token in each.tokens))
        for each in corefile.directives
    )


def lameduck_s(corefile: Corefile) -> float | None:
    """So many seconds CoreDNS goes on answering after it was told to end: its health plugins wait one after the other
    (github.com/coredns/caddy, Instance.ShutdownCallbacks). None where the environment decides, or no duration is said.
    """
    if unread(corefile):
        return None
    whole = 0.0
    for values in health_plugins(corefile):
        if not values:
            continue
        length = None if values[-1].environment else go_duration(values[-1].text)
        if length is None:
            return None
        whole += max(0.0, length.total_seconds())  # a negative one is passed over
    return whole


def _health(over: TokenReader, version: Version) -> None:
    while over.next():
        _address(over)
        while over.next_in_block():
            if over.value != "lameduck":
                raise over.argument_error()
            arguments = over.arguments()
            if len(arguments) != 1:
                raise over.argument_error()
            text = arguments[0].text
            if go_duration(text) is None:
                raise over.plain_error(f"unable to parse lameduck duration value: '{text}' : {_no_duration(text)}")


def _ready(over: TokenReader, version: Version) -> None:
    """Before `_MONITORS_SINCE` CoreDNS does not look into the block; then it passes over what it does not know."""
    used = False
    while over.next():
        if used:
            raise over.plain_error(ONCE)
        used = True
        _address(over)
        while over.next_in_block():
            name, arguments = over.value, over.arguments()
            if name != "monitor" or version.older_than(_MONITORS_SINCE):
                continue
            if len(arguments) != 1:
                raise over.argument_error()
            if arguments[0].text not in _MONITORS:
                raise over.error(f"monitor type '{arguments[0].text}' not supported")


def _address(over: TokenReader) -> None:
    arguments = over.arguments()
    if len(arguments) > 1:
        raise over.argument_error()
    for each in arguments:
        trouble = no_address(each.text)
        if trouble:
            raise over.plain_error(f"address {each.text}: {trouble}")


def _reload(over: TokenReader, version: Version) -> None:
    while over.next():
        arguments = over.arguments()
        if len(arguments) > 2:
            raise over.argument_error()
        for each, least, name in zip(arguments, (LEAST_INTERVAL, LEAST_JITTER), ("interval", "jitter"), strict=False):
            length = go_duration(each.text)
            if length is None:
                raise over.plain_error(_no_duration(each.text))
            if length < least:
                seconds = int(least.total_seconds())
                raise over.plain_error(f"{name} value must be greater or equal to {seconds}s")


def _loop(over: TokenReader, version: Version) -> None:
    used = False
    while over.next():
        if used:
            raise over.plain_error(ONCE)
        used = True
        if over.next_argument():
            raise over.argument_error()


_JUDGES: dict[str, Callable[[TokenReader, Version], None]] = {
    "health": _health,
    "ready": _ready,
    "reload": _reload,
    "loop": _loop,
}


_NUMBER = re.compile(r"[0-9]*\.?[0-9]*")


def _no_duration(text: str) -> str:
    """As Go's time.ParseDuration says it."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    while rest:
        number = _NUMBER.match(rest)
        assert number is not None, "it matches nothing at least"
        if not number[0].strip("."):
            break
        rest = rest[number.end() :]
        unit = rest[: _letters(rest)]
        if not unit:
            return f"time: missing unit in duration {_quoted(text)}"
        if unit not in ("ns", "us", "µs", "μs", "ms", "s", "m", "h"):
            return f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}"
        rest = rest[len(unit) :]
    return f"time: invalid duration {_quoted(text)}"


def _quoted(text: str) -> str:
    """As package time quotes: bytes that are not of ASCII in hexadecimal."""
    plain = {ord("\\"): "\\\\", ord('"'): '\\"'}
    return '"' + "".join(plain.get(e, chr(e) if 0x20 <= e < 0x80 else f"\\x{e:02x}") for e in text.encode()) + '"'


def _letters(text: str) -> int:
    return next((at for at, sign in enumerate(text) if sign == "." or sign.isdigit()), len(text))
