"""Validation of Corefiles like CoreDNS does it, with its messages; and how long CoreDNS waits when it stops.

Sources: coredns v1.13.1, plugin/{health,ready,reload,loop}/setup.go for the plugins that are checked here; the others
by knowledge/corefile_plugins.json. Verified with 289 Corefiles that were given to a real CoreDNS 1.13.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.coredns import Corefile, CorefileError, Directive, Import, Token
from kubectl_eksdoc.model.quantities import Version, go_duration

from .corefile import CorefileSyntaxError, TokenReader
from .corefile_grammar import (
    NEWEST_KNOWN,
    OLDEST_KNOWN,
    ONCE_MESSAGE,
    CorefileDoubted,
    KnownPlugin,
    address_error,
    check_plugin_uses,
    known_plugins,
    listener_error,
    server_refusals,
    zone_refusals,
)

DEFAULT_VERSION = Version(1, 13, 1)
"""Used if the version is not known: the version that was recorded."""
MIN_INTERVAL, MIN_JITTER = timedelta(seconds=2), timedelta(seconds=1)
_MONITORS, _MONITORS_SINCE = ("until-ready", "continuously"), Version(1, 12, 2)


@frozen
class CorefileVerdict:
    """`refusals` in the order in which CoreDNS finds them; it stops at the first. `doubts`: parts that are not checked,
    one clause each."""

    refusals: tuple[CorefileError, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool | None:
        """None if it is not known."""
        return False if self.refusals else None if self.doubts else True


def check_corefile(
    corefile: Corefile | CorefileError,
    version: Version | None = DEFAULT_VERSION,
    alone: bool = False,
    own_build: bool = False,
) -> CorefileVerdict:
    """Check a Corefile for CoreDNS `version`; None: an unknown version, for which only what holds for all versions is
    reported. `alone`: there is no other file in its folder to import; `own_build`: CoreDNS may have additional plugins.
    """
    if isinstance(corefile, CorefileError):
        return CorefileVerdict((corefile,))
    if version is None:
        return _verdict_of_any_version(corefile, alone, own_build)
    missing_files = tuple(_missing_import_errors(corefile)) if alone else ()
    if missing_files:
        return CorefileVerdict(missing_files)
    files = [each for each in corefile.imported_files if not (alone and _is_in_corefile_folder(each))]
    doubts = [f"it imports {', '.join(files)}"] if files else []
    if version.older_than(OLDEST_KNOWN):
        doubts.append(f"the options of CoreDNS {version} are not known")
    refusals = [*_unknown_plugins(corefile, version, own_build, doubts), *zone_refusals(corefile)]
    refusals += _plugin_errors(corefile, version, doubts)
    refusals += [*_listener_errors(corefile, doubts), *server_refusals(corefile)]
    return CorefileVerdict(tuple(refusals), tuple(doubts))


def refusals(corefile: Corefile, version: Version | None = DEFAULT_VERSION) -> tuple[CorefileError, ...]:
    """Why CoreDNS refuses it; () if no reason is known."""
    return check_corefile(corefile, version).refusals


_WILDCARDS = "*?[]"
_COREFILE_FOLDER = "/etc/coredns/"
"""Folder of the Corefile, and of relative imports."""


def _is_in_corefile_folder(target: str) -> bool:
    return not target.startswith("/") or target.startswith(_COREFILE_FOLDER)


def _missing_import_errors(corefile: Corefile) -> Iterator[CorefileError]:
    """A pattern may match no file; a name must match one."""
    for each in (*corefile.imports, *corefile.expanded):
        name = each.target.text if isinstance(each, Import) else ""
        if name and name not in corefile.snippets and _is_in_corefile_folder(name) and not set(name) & set(_WILDCARDS):
            assert isinstance(each, Import), "it has a target"
            yield CorefileError(f"Error during parsing: File to import not found: {name}", each.target.line)


def _verdict_of_any_version(corefile: Corefile, alone: bool, own_build: bool) -> CorefileVerdict:
    """A refusal by both the default version and an old one holds for all versions in between."""
    now, old = (check_corefile(corefile, each, alone, own_build) for each in (DEFAULT_VERSION, Version(1, 6, 6)))
    common_refusals = tuple(each for each in now.refusals if each in old.refusals)
    return CorefileVerdict(common_refusals, (*now.doubts, "the version of CoreDNS is not known"))


def _unknown_plugins(
    corefile: Corefile, version: Version, own_build: bool, doubts: list[str]
) -> Iterator[CorefileError]:
    """Plugins that this version does not have."""
    for each in corefile.directives:
        plugin = known_plugins().get(each.name)
        if each.tokens[0].has_environment:
            doubts.append(f"the plugin of line {each.line} is named by the environment")
        elif plugin is not None and plugin.exists_in(min(version, NEWEST_KNOWN)):
            continue
        elif version > NEWEST_KNOWN or (own_build and plugin is None):
            doubts.append(f"whether CoreDNS {version} has a plugin {each.name} (line {each.line})")
        else:
            yield CorefileError(f"Error during parsing: Unknown directive '{each.name}'", each.line)


def _plugin_errors(corefile: Corefile, version: Version, doubts: list[str]) -> Iterator[CorefileError]:
    """CoreDNS sets up one plugin for every block before the next plugin."""
    blocks = corefile.directives_by_block
    used = {each.name for directives in blocks for each in directives}
    for plugin in known_plugins().values():
        for directives in blocks if plugin.name in used else ():
            tokens = [token for each in directives if each.name == plugin.name for token in each.tokens]
            if any(token.has_environment for token in tokens):
                doubts.append(f"{plugin.name} (line {tokens[0].line}) is given something by the environment")
            elif tokens:
                try:
                    _check_plugin(TokenReader(tokens, plugin.name), plugin, version)
                except CorefileSyntaxError as syntax_error:
                    yield _with_line(syntax_error.error, tokens)
                except CorefileDoubted as doubt:
                    doubts.append(str(doubt))


def _check_plugin(reader: TokenReader, plugin: KnownPlugin, version: Version) -> None:
    if plugin.has_own_check:
        _PLUGIN_CHECKS[plugin.name](reader, version)
    else:
        check_plugin_uses(reader, plugin, version)


def _listener_errors(corefile: Corefile, doubts: list[str]) -> Iterator[CorefileError]:
    """Addresses on which a plugin cannot listen; CoreDNS reports them after all plugins are set up."""
    for name in ("health", "ready", "prometheus"):
        for each in corefile.directives:
            address = _address_token(each) if each.name == name else None
            problem = "" if address is None or address.has_environment else listener_error(address.text)
            if problem is None and name == "health":
                port = address.text.rpartition(":")[2] if address else ""
                problem = f'parse "http://:{port}": invalid port ":{port}" after host'
            if problem is None:
                doubts.append(f"the port of {name} (line {each.line})")
            elif problem:
                yield CorefileError(problem, each.line)


def _address_token(directive: Directive) -> Token | None:
    reader = TokenReader(directive.tokens)
    reader.next()
    return next(iter(reader.arguments()), None)


def listen_addresses(corefile: Corefile, plugin: str, default: str) -> tuple[str, ...]:
    """Where `plugin` listens: one address for each block that uses it; of several uses, the last that names
    one counts."""
    by_block = []
    for block in corefile.directives_by_block:
        uses = [each for each in block if each.name == plugin]
        if uses:
            named_addresses = [token.text for each in uses if (token := _address_token(each)) is not None]
            by_block.append(named_addresses[-1] if named_addresses else default)
    return tuple(by_block)


def _with_line(refusal: CorefileError, tokens: Iterable[Token]) -> CorefileError:
    """If CoreDNS names no line, use the line of the plugin."""
    return refusal if refusal.line else CorefileError(refusal.said, next(iter(tokens)).line, refusal.plugin)


def lameduck_values(directives: Iterable[Directive]) -> Iterator[Token]:
    """The values of ``lameduck`` of all ``health`` plugins, in their order; within one plugin the last one counts."""
    for each in directives:
        if each.name != "health":
            continue
        reader = TokenReader(each.tokens)
        reader.arguments()
        while reader.next_in_block():
            if reader.value == "lameduck":
                yield from reader.arguments()[:1]


def health_plugins(corefile: Corefile) -> tuple[tuple[Token, ...], ...]:
    """For each server block with `health`, its values of ``lameduck``; the last one counts. A plugin is set up once for
    a block, however many zones it has: caddy runs a directive's setup only for the first key (since 1.8.5). Imported
    files are not included."""
    blocks = ([each for each in block if each.name == "health"] for block in corefile.directives_by_block)
    return tuple(tuple(lameduck_values(uses)) for uses in blocks if uses)


def may_hide_health(corefile: Corefile) -> bool:
    """Whether CoreDNS may see more of `health` than this text shows: a variable names a plugin, or a snippet is
    imported within the plugin's own block."""
    return any(
        each.tokens[0].has_environment
        or (each.name == "health" and any(token.text == "import" for token in each.tokens))
        for each in corefile.directives
    )


def lameduck_s(corefile: Corefile) -> float | None:
    """Seconds for which CoreDNS continues to answer after SIGTERM: its health plugins wait one after the other
    (github.com/coredns/caddy, Instance.ShutdownCallbacks). None if an environment variable decides, or a value is not a
    duration.
    """
    if may_hide_health(corefile):
        return None
    total_s = 0.0
    for values in health_plugins(corefile):
        if not values:
            continue
        duration = None if values[-1].has_environment else go_duration(values[-1].text)
        if duration is None:
            return None
        total_s += max(0.0, duration.total_seconds())  # a negative duration is ignored
    return total_s


def _check_health(reader: TokenReader, version: Version) -> None:
    while reader.next():
        _check_address(reader)
        while reader.next_in_block():
            if reader.value != "lameduck":
                raise reader.argument_error()
            arguments = reader.arguments()
            if len(arguments) != 1:
                raise reader.argument_error()
            text = arguments[0].text
            if go_duration(text) is None:
                raise reader.plain_error(f"unable to parse lameduck duration value: '{text}' : {_duration_error(text)}")


def _check_ready(reader: TokenReader, version: Version) -> None:
    """Before `_MONITORS_SINCE` CoreDNS does not read the block; since then it ignores unknown options."""
    used = False
    while reader.next():
        if used:
            raise reader.plain_error(ONCE_MESSAGE)
        used = True
        _check_address(reader)
        while reader.next_in_block():
            name, arguments = reader.value, reader.arguments()
            if name != "monitor" or version.older_than(_MONITORS_SINCE):
                continue
            if len(arguments) != 1:
                raise reader.argument_error()
            if arguments[0].text not in _MONITORS:
                raise reader.error(f"monitor type '{arguments[0].text}' not supported")


def _check_address(reader: TokenReader) -> None:
    arguments = reader.arguments()
    if len(arguments) > 1:
        raise reader.argument_error()
    for each in arguments:
        problem = address_error(each.text)
        if problem:
            raise reader.plain_error(f"address {each.text}: {problem}")


def _check_reload(reader: TokenReader, version: Version) -> None:
    while reader.next():
        arguments = reader.arguments()
        if len(arguments) > 2:
            raise reader.argument_error()
        for each, minimum, name in zip(arguments, (MIN_INTERVAL, MIN_JITTER), ("interval", "jitter"), strict=False):
            duration = go_duration(each.text)
            if duration is None:
                raise reader.plain_error(_duration_error(each.text))
            if duration < minimum:
                seconds = int(minimum.total_seconds())
                raise reader.plain_error(f"{name} value must be greater or equal to {seconds}s")


def _check_loop(reader: TokenReader, version: Version) -> None:
    used = False
    while reader.next():
        if used:
            raise reader.plain_error(ONCE_MESSAGE)
        used = True
        if reader.next_argument():
            raise reader.argument_error()


_PLUGIN_CHECKS: dict[str, Callable[[TokenReader, Version], None]] = {
    "health": _check_health,
    "ready": _check_ready,
    "reload": _check_reload,
    "loop": _check_loop,
}


_NUMBER = re.compile(r"[0-9]*\.?[0-9]*")


def _duration_error(text: str) -> str:
    """The error message of Go's time.ParseDuration."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    while rest:
        number = _NUMBER.match(rest)
        assert number is not None, "it matches nothing at least"
        if not number[0].strip("."):
            break
        rest = rest[number.end() :]
        unit = rest[: _unit_length(rest)]
        if not unit:
            return f"time: missing unit in duration {_go_quoted(text)}"
        if unit not in ("ns", "us", "µs", "μs", "ms", "s", "m", "h"):
            return f"time: unknown unit {_go_quoted(unit)} in duration {_go_quoted(text)}"
        rest = rest[len(unit) :]
    return f"time: invalid duration {_go_quoted(text)}"


def _go_quoted(text: str) -> str:
    """Quotes like Go's package time: non-ASCII bytes in hexadecimal."""
    plain = {ord("\\"): "\\\\", ord('"'): '\\"'}
    return '"' + "".join(plain.get(e, chr(e) if 0x20 <= e < 0x80 else f"\\x{e:02x}") for e in text.encode()) + '"'


def _unit_length(text: str) -> int:
    return next((at for at, character in enumerate(text) if character == "." or character.isdigit()), len(text))
