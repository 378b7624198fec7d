"""From what stands at the cursor to what is offered there."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from kubectl_eksdoc.cli.commands import listed
from kubectl_eksdoc.cli.completing.cursor import Cursor, CursorKind, long_name
from kubectl_eksdoc.cli.completing.offers import FILE_NAMES, NO_FILES, NO_SPACE, NOTHING, Offer, Offers
from kubectl_eksdoc.cli.completing.sources import (
    FLAGS,
    NAMES,
    CompletedName,
    Follows,
    NamedWords,
    NoOffer,
    OpenWords,
    OwnNames,
)
from kubectl_eksdoc.cli.flags import HONOURED
from kubectl_eksdoc.cli.parser import RefusedFlag, Switch
from kubectl_eksdoc.model.names import Name, NameKind

HELP = "--help"
_ABOUT = {name: flag.about for flag in HONOURED for name in flag.names} | {HELP: "show what the command does"}
"""Of flags that no command's help shows."""

Found = TypeVar("Found")


class _Names(Protocol):
    """Where names are looked up."""

    def of(self, what: NameKind | OwnNames, cursor: Cursor, where: str = "") -> Iterable[Name]:
        """`where`: as of `CompletedName`. Whatever cannot be had is left out."""
        ...


def offers_at(cursor: Cursor, names: _Names) -> Offers:
    """What begins with what is typed already."""
    if cursor.wanted is CursorKind.COMMAND:
        known = listed(cursor.path)
        found = cursor.leaf.listed() if known is None else [(each.name, each.about) for each in known]
        return Offers(tuple(Offer(*each) for each in found)).beginning(cursor.partial)
    if cursor.wanted is CursorKind.FLAG:
        return Offers(tuple(_flags(cursor))).beginning(cursor.partial)
    if cursor.wanted is CursorKind.VALUE and cursor.flag is not None:
        return _values(cursor, cursor.flag, names)
    if cursor.wanted is CursorKind.NAME:
        return _named(cursor, names)
    return NOTHING


def for_command(table: Mapping[str, Found], cursor: Cursor) -> Found | None:
    """The entry of the command with one of the flags that were given, else that of the command."""
    given = (f"{cursor.command} {flag}" for flag in cursor.given)
    return next((table[key] for key in (*given, cursor.command) if key in table), None)


def follows(command: str, flag: str) -> Follows | None:
    """What may follow it by the table; None: nobody has decided that."""
    return FLAGS.get(f"{command} {flag}") or FLAGS.get(flag)


def words_of(flag: argparse.Action) -> Callable[[], Sequence[str]] | None:
    """Of a flag whose parser takes certain words only; None of any other."""
    if isinstance(flag, Switch):
        return lambda: ("true", "false")
    found: Callable[[], Sequence[str]] | None = getattr(flag.type, "words", None)
    return found


def offered(flag: argparse.Action) -> bool:
    """Whether somebody is to find it: refused flags, old names and what is kept for kubectl's sake are not."""
    if isinstance(flag, RefusedFlag):
        return False
    return flag.help is not argparse.SUPPRESS or any(name in _ABOUT for name in flag.option_strings)


def _flags(cursor: Cursor) -> Iterable[Offer]:
    formatter = cursor.leaf._get_formatter()
    for flag in cursor.leaf.flags():
        again = isinstance(flag, argparse._AppendAction) or long_name(flag) not in cursor.given
        if offered(flag) and again:
            known = [_ABOUT[name] for name in flag.option_strings if name in _ABOUT]
            about = known[0] if flag.help is argparse.SUPPRESS else formatter._expand_help(flag)
            # Long names tell more; the short one is for whoever typed a single dash.
            for name in sorted(flag.option_strings, key=len, reverse=True):
                yield Offer(name, about)


def _values(cursor: Cursor, flag: argparse.Action, names: _Names) -> Offers:
    if isinstance(flag, RefusedFlag):
        return NOTHING
    words = words_of(flag)
    if words is not None:
        if flag.metavar == "CODE,…":
            return _listed(cursor.partial, [Name(word) for word in words()])
        return Offers(tuple(map(Offer, words()))).beginning(cursor.partial)
    found = follows(cursor.command, long_name(flag))
    if found is None or isinstance(found, NoOffer):
        return NOTHING
    if isinstance(found, OpenWords):
        offers = tuple(Offer(word, about) for word, about in found.words.items())
        return Offers(offers, _spaced(all(not word.endswith("=") for word in found.words))).beginning(cursor.partial)
    return _taken((found,), cursor, names)


def _named(cursor: Cursor, names: _Names) -> Offers:
    found: NamedWords | None = for_command(NAMES, cursor)
    if found is None or len(cursor.names) >= found.most:
        return NOTHING
    return _taken(found.takes, cursor, names)


def _taken(takes: Sequence[CompletedName], cursor: Cursor, names: _Names) -> Offers:
    if any(each.of is OwnNames.FILES for each in takes):
        return FILE_NAMES
    for each in takes:
        if each.listed:
            return _listed(cursor.partial, names.of(each.of, cursor, each.where))
    # Behind pod/ nothing but pods is looked up; before anything is typed, that it may be written is enough.
    fitting = [each for each in takes if cursor.partial.startswith(each.before)]
    opened = max(fitting, key=lambda each: len(each.before), default=None)
    if opened is not None:
        whole = _whole(opened, cursor, names)
        others = () if opened.before else _prefixes(takes, cursor.partial)
        if whole or not others:
            return Offers((*whole, *others), _spaced(not opened.after and not others)).beginning(cursor.partial)
    return Offers(_prefixes(takes, cursor.partial), _spaced(False)).beginning(cursor.partial)


def _whole(takes: CompletedName, cursor: Cursor, names: _Names) -> tuple[Offer, ...]:
    taken = {name.removeprefix(takes.before) for name in cursor.names}
    found = names.of(takes.of, cursor, takes.where)
    return tuple(
        Offer(f"{takes.before}{each.text}{takes.after}", each.about) for each in found if each.text not in taken
    )


def _prefixes(takes: Sequence[CompletedName], partial: str) -> tuple[Offer, ...]:
    """Only where somebody began to write one, or where nothing stands without one."""
    needed = all(each.before for each in takes)
    return tuple(
        Offer(each.before, f"one of the {each.of.value}")
        for each in takes
        if each.before and each.before.startswith(partial) and (partial or needed)
    )


def _listed(partial: str, names: Iterable[Name]) -> Offers:
    """Names behind commas: each with those before it, as the word is one for the shell."""
    before, comma, _ = partial.rpartition(",")
    there = set(before.split(","))
    offers = (Offer(f"{before}{comma}{each.text}", each.about) for each in names if each.text not in there)
    return Offers(tuple(offers), _spaced(False)).beginning(partial)


def _spaced(space: bool) -> int:
    return NO_FILES if space else NO_FILES | NO_SPACE
