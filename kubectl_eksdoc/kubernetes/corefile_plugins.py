"""Validation of Corefiles like CoreDNS does it, with its messages; and how long CoreDNS waits when it stops.

Sources: coredns v1.13.1, plugin/{health,ready,reload,loop}/setup.go for the plugins that are checked here; the others
by knowledge/corefile_plugins.json. Verified with 289 Corefiles that were given to a real CoreDNS 1.13.1.
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
"""Used if the version is not known: the version that was recorded."""
LEAST_INTERVAL, LEAST_JITTER = timedelta(seconds=2), timedelta(seconds=1)
_MONITORS, _MONITORS_SINCE = ("until-ready", "continuously"), Version(1, 12, 2)


@frozen
class JudgedCorefile:
    """`refusals` in the order in which CoreDNS finds them; it stops at the first. `doubts`: parts that are not checked,
    one clause each."""

    refusals: tuple[CorefileRefusal, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool | None:
        """None if it is not known."""
        return False if self.refusals else None if self.doubts else True


def judged(
    corefile: Corefile | CorefileRefusal,
    version: Version | None = DEFAULT,
    alone: bool = False,
    own_build: bool = False,
) -> JudgedCorefile:
    """Check a Corefile for CoreDNS `version`; None: an unknown version, for which only what holds for all versions is
    reported. `alone`: there is no other file in its folder to import; `own_build`: CoreDNS may have additional plugins.
    """
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
    """Why CoreDNS refuses it; () if no reason is known."""
    return judged(corefile, version).refusals


_WILD = "*?[]"
_HOME = "/etc/coredns/"
"""Folder of the Corefile, and of relative imports."""


def _beside(target: str) -> bool:
    return not target.startswith("/") or target.startswith(_HOME)


def _not_found(corefile: Corefile) -> Iterator[CorefileRefusal]:
    """A pattern may match no file; a name must match one."""
    for each in (*corefile.imports, *corefile.held):
        name = each.target.text if isinstance(each, Import) else ""
        if name and name not in corefile.snippets and _beside(name) and not set(name) & set(_WILD):
            assert isinstance(each, Import), "it has a target"
            yield CorefileRefusal(f"Error during parsing: File to import not found: {name}", each.target.line)


def _by_all(corefile: Corefile, alone: bool, own_build: bool) -> JudgedCorefile:
    """A refusal by both the default version and an old one holds for all versions in between."""
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
    """CoreDNS sets up one plugin for every block before the next plugin."""
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
    """Addresses on which a plugin cannot listen; CoreDNS reports them after all plugins are set up."""
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
    """Where `plugin` listens: one address for each block that uses it; of several uses, the last that names
    one counts."""
    found = []
    for block in corefile.by_block:
        held = [each for each in block if each.name == plugin]
        if held:
            given = [token.text for each in held if (token := _address_of(each)) is not None]
            found.append(given[-1] if given else default)
    return tuple(found)


def _placed(refusal: CorefileRefusal, tokens: Iterable[Token]) -> CorefileRefusal:
    """If CoreDNS names no line, use the line of the plugin."""
    return refusal if refusal.line else CorefileRefusal(refusal.said, next(iter(tokens)).line, refusal.plugin)


def lameducks(directives: Iterable[Directive]) -> Iterator[Token]:
    """The values of ``lameduck`` of all ``health`` plugins, in their order; within one plugin the last one counts."""
    for each in directives:
        if each.name != "health":
            continue
        over = TokenReader(each.tokens)
        over.arguments()
        while over.next_in_block():
            if over.value == "lameduck":
                yield from over.arguments()[:1]


def health_plugins(corefile: Corefile) -> tuple[tuple[Token, ...], ...]:
    """For each server block with `health`, its values of ``lameduck``; the last one counts. A plugin is set up once for
    a block, however many zones it has: caddy runs a directive's setup only for the first key (since 1.8.5). Imported
    files are not included."""
    blocks = ([each for each in block if each.name == "health"] for block in corefile.by_block)
    return tuple(tuple(lameducks(held)) for held in blocks if held)


def unread(corefile: Corefile) -> bool:
    """Whether CoreDNS may see more of `health` than this text shows: a variable names a plugin, or a snippet is
    imported within the plugin's own block."""
    return any(
        each.tokens[0].environment or (each.name == "health" and any(token.text == "import" for token in each.tokens))
        for each in corefile.directives
    )


def lameduck_s(corefile: Corefile) -> float | None:
    """Seconds for which CoreDNS continues to answer after SIGTERM: its health plugins wait one after the other
    (github.com/coredns/caddy, Instance.ShutdownCallbacks). None if an environment variable decides, or a value is not a
    duration.
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
        whole += max(0.0, length.total_seconds())  # a negative duration is ignored
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
    """Before `_MONITORS_SINCE` CoreDNS does not read the block; since then it ignores unknown options."""
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
    """The error message of Go's time.ParseDuration."""
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
    """Quotes like Go's package time: non-ASCII bytes in hexadecimal."""
    plain = {ord("\\"): "\\\\", ord('"'): '\\"'}
    return '"' + "".join(plain.get(e, chr(e) if 0x20 <= e < 0x80 else f"\\x{e:02x}") for e in text.encode()) + '"'


def _letters(text: str) -> int:
    return next((at for at, sign in enumerate(text) if sign == "." or sign.isdigit()), len(text))
