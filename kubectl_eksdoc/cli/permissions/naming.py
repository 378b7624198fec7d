"""Commands as words of the command line: ``drain run check addon-diff --apply`` are three."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.core.model.spelling import maybe
from kubectl_eksdoc.errors import UsageError

_OWN = "permissions"
_ALIASES = {"drain rehearse": "rehearse"}
_SWITCHED_OFF = ("false", "0", "f")


def known() -> tuple[str, ...]:
    """All that have rights of their own, sorted; ``permissions --check`` needs none that must be granted."""
    every = {*rights.BY_COMMAND, *rights.ASKED_OF_AWS}
    return tuple(sorted(each for each in every if each.split()[0] != _OWN))


def flags() -> frozenset[str]:
    """Those by which a command has other rights than without them."""
    return frozenset(word for name in known() for word in name.split() if word.startswith("--"))


def named(words: Sequence[str]) -> tuple[str, ...]:
    """The commands that `words` name, in their order, each once.

    Raises:
        UsageError: something is no command, or a flag is not one of the command before it.
    """
    return tuple(dict.fromkeys(_named(words)))


def _named(words: Sequence[str]) -> Iterator[str]:
    at, base, taken = 0, "", False
    while at < len(words):
        if words[at].startswith("-"):
            flag, _, value = words[at].partition("=")
            if value not in _SWITCHED_OFF:
                yield _with(base, flag)
                taken = True
            at += 1
            if at < len(words) and flag in _TAKE_VALUES and not value and not _begins(words[at:]):
                at += 1
            continue
        if base and not taken:
            yield base
        base, taken = _longest(words[at:]), False
        at += len(base.split())
    if base and not taken:
        yield _ALIASES.get(base, base)


_TAKE_VALUES = ("--changed-since", "--fleet", "--set", "--place", "--autoscale")


def _with(base: str, flag: str) -> str:
    """
    Raises:
        UsageError: it is no flag of the command, or makes no difference to its rights.
    """
    name = f"{_ALIASES.get(base, base)} {flag}"
    if name in known():
        return name
    if not base:
        raise UsageError(f"{flag} is a flag of a command, and stands before any", f"As in: {_with_flag(flag)}")
    of_base = [each.partition(f"{base} ")[2] for each in known() if each.startswith(f"{base} --")]
    hint = f"Flags of {base} with rights of their own: {', '.join(of_base)}" if of_base else ""
    raise UsageError(f"with {flag}, {base!r} needs no other rights than without it{maybe(flag, of_base)}", hint)


def _with_flag(flag: str) -> str:
    return next((each for each in known() if each.endswith(f" {flag}")), flag)


def _longest(words: Sequence[str]) -> str:
    """
    Raises:
        UsageError: no command begins so.
    """
    for count in (2, 1):
        name = " ".join(words[:count])
        if len(words) >= count and name in _bases():
            return name
    under = [each for each in _bases() if each.startswith(f"{words[0]} ")]
    if under:
        asked = " ".join(words[:2])
        raise UsageError(f"{asked!r} is no command with rights of its own{maybe(asked, under)}", _listed(under))
    raise UsageError(f"{words[0]!r} is no command with rights of its own{maybe(words[0], _bases())}", _listed(_bases()))


def _begins(words: Sequence[str]) -> bool:
    return any(" ".join(words[:count]) in _bases() for count in (1, 2))


def next_words(words: Sequence[str]) -> tuple[str, ...]:
    """What may be behind `words`: the rest of a command of which the first word is there, else the first of any."""
    under = [each.partition(" ")[2] for each in _bases() if words and each.startswith(f"{words[-1]} ")]
    return tuple(dict.fromkeys(sorted(under or [each.split()[0] for each in _bases()])))


def _bases() -> tuple[str, ...]:
    return (*(each for each in known() if " --" not in each), *_ALIASES)


def _listed(names: Iterable[str]) -> str:
    return f"Commands: {', '.join(names)}"
