"""What some plugins take, in CoreDNS's own words.

Sources: coredns v1.12, plugin/{health,ready,reload,loop}/setup.go; 108 Corefiles that a real CoreDNS was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta

from kubectl_eksdoc.core.model.corefile import Block, Corefile, Directive, Refusal, Token
from kubectl_eksdoc.core.model.durations import go_duration
from kubectl_eksdoc.core.rules.corefile.dispenser import Dispenser, Refused

LEAST_INTERVAL, LEAST_JITTER = timedelta(seconds=2), timedelta(seconds=1)
_ONCE = "this plugin can only be used once per Server Block"


def refusals(corefile: Corefile) -> tuple[Refusal, ...]:
    """Of every server block and judged plugin, each with its first; CoreDNS stops at the first of all."""
    return tuple(found for block in corefile.servers for found in _of_block(corefile, block))


def _of_block(corefile: Corefile, block: Block) -> Iterator[Refusal]:
    held = [each for each in corefile.whole(block) if isinstance(each, Directive)]
    for name, judge in _JUDGES.items():
        tokens = [token for each in held if each.name == name for token in each.tokens]
        if any(token.environment for token in tokens):
            continue  # what it will be is not in the text
        try:
            judge(Dispenser(tokens, name))
        except Refused as refused:
            yield _placed(refused.refusal, tokens)


def _placed(refusal: Refusal, tokens: Iterable[Token]) -> Refusal:
    """Where CoreDNS names no line, that of the plugin helps to find it."""
    return refusal if refusal.line else Refusal(refusal.said, next(iter(tokens)).line, refusal.plugin)


def lameducks(directives: Iterable[Directive]) -> Iterator[Token]:
    """The values of ``lameduck`` of all ``health`` plugins, in their order; in one plugin the last one counts."""
    for each in directives:
        if each.name != "health":
            continue
        over = Dispenser(each.tokens)
        over.arguments()
        while over.next_in_block():
            if over.value == "lameduck":
                yield from over.arguments()[:1]


def health_plugins(corefile: Corefile) -> tuple[tuple[Token, ...], ...]:
    """Of each server block with `health` its values of ``lameduck``, of which the last one counts. It is set up once
    for a block, however many zones that has: caddy runs a directive's setup for the first key only (since 1.8.5). What
    is imported from files is not in here."""
    found = []
    for block in corefile.servers:
        held = [each for each in corefile.whole(block) if isinstance(each, Directive) and each.name == "health"]
        if held:
            found.append(tuple(lameducks(held)))
    return tuple(found)


def unread(corefile: Corefile) -> bool:
    """What CoreDNS makes of it may have more of `health` than is seen here: a variable names a plugin, or a snippet is
    imported within the plugin's own block."""
    held = [each for block in corefile.servers for each in corefile.whole(block) if isinstance(each, Directive)]
    return any(
        each.tokens[0].environment or (each.name == "health" and any(token.text == "import" for token in each.tokens))
        for each in held
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


def _health(over: Dispenser) -> None:
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


def _ready(over: Dispenser) -> None:
    """The block is that of newer versions, in which older ones do not look."""
    used = False
    while over.next():
        if used:
            raise over.plain_error(_ONCE)
        used = True
        _address(over)
        while over.next_in_block():
            over.arguments()


def _address(over: Dispenser) -> None:
    arguments = over.arguments()
    if len(arguments) > 1:
        raise over.argument_error()
    for each in arguments:
        trouble = _not_host_port(each.text)
        if trouble:
            raise over.plain_error(f"address {each.text}: {trouble}")


def _reload(over: Dispenser) -> None:
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


def _loop(over: Dispenser) -> None:
    used = False
    while over.next():
        if used:
            raise over.plain_error(_ONCE)
        used = True
        if over.next_argument():
            raise over.argument_error()


_JUDGES: dict[str, Callable[[Dispenser], None]] = {
    "health": _health,
    "ready": _ready,
    "reload": _reload,
    "loop": _loop,
}


def _no_duration(text: str) -> str:
    """As Go's time.ParseDuration says it."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    digits = len(unsigned) - len(unsigned.lstrip("0123456789."))
    if not unsigned or digits == 0:
        return f'time: invalid duration "{text}"'
    at = 0
    while at < len(unsigned):
        number = len(unsigned[at:]) - len(unsigned[at:].lstrip("0123456789."))
        if number == 0:
            return f'time: invalid duration "{text}"'
        at += number
        unit = unsigned[at : at + _letters(unsigned[at:])]
        if not unit:
            return f'time: missing unit in duration "{text}"'
        if unit not in ("ns", "us", "µs", "μs", "ms", "s", "m", "h"):
            return f'time: unknown unit "{unit}" in duration "{text}"'
        at += len(unit)
    return f'time: invalid duration "{text}"'


def _letters(text: str) -> int:
    return next((at for at, sign in enumerate(text) if sign == "." or sign.isdigit()), len(text))


def _not_host_port(text: str) -> str:
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
