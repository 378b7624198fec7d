"""Completions at the cursor: the command line before it, and the words that may follow."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Protocol, TypeVar

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.names import Name, NameKind

from .commands import listed
from .completion_offers import FILE_NAMES, NO_FILES, NO_SPACE, NOTHING, Offer, Offers
from .completion_sources import (
    BY_METAVAR,
    FLAGS,
    NAMES,
    CompletedName,
    Follows,
    NamedWords,
    NoOffer,
    OpenWords,
    OwnNames,
)
from .flags import HONOURED
from .parser import Parser, RefusedFlag, Switch

# The cursor: the command of the line, the flags before the cursor, and the flag whose value is typed.


class CursorKind(Enum):
    """The kind of the word at the cursor."""

    COMMAND = "a command"
    FLAG = "a flag"
    VALUE = "the value of a flag"
    NAME = "a word that belongs to no flag"
    NOTHING = "nothing is known of it"


@frozen
class Cursor:
    """`path` are the words of the command whose parser is `leaf`. `flag_values`: the values of each flag before the
    cursor, by its long name; `names`: words that belong to no flag. `partial` is the typed part of the word, or of the
    value of `flag`."""

    wanted: CursorKind
    leaf: Parser
    partial: str = ""
    path: tuple[str, ...] = ()
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    flag: argparse.Action | None = None

    @property
    def command(self) -> str:
        return " ".join(self.path)

    def last(self, flag: str) -> str:
        """The last value, which counts; "" where the flag was not given."""
        return self.given.get(flag, ("",))[-1]

    def switched(self, flag: str) -> bool:
        """Whether a boolean flag is on."""
        return flag in self.given and self.last(flag).lower() not in ("0", "f", "false")


def long_name(flag: argparse.Action) -> str:
    """The long name, the short one where there is none."""
    return next((name for name in flag.option_strings if name.startswith("--")), flag.option_strings[0])


def takes_value(flag: argparse.Action) -> bool:
    """Whether the next word is its value. Go's booleans, and flags that may stand alone, take a value only after
    ``=``."""
    return not isinstance(flag, Switch) and flag.nargs != 0 and not getattr(flag.type, "alone", "")


def cursor_at(parser: Parser, words: Sequence[str]) -> Cursor:
    """`words` as they come from the shell; the last is the typed part of the word at the cursor, "" for a new word."""
    reached = _Reached(parser)
    for word in words[:-1]:
        reached.pass_by(word)
    return reached.at(words[-1] if words else "")


class _Reached:
    """Reads the command line word by word. Mutable."""

    def __init__(self, parser: Parser) -> None:
        self._leaf = parser
        self._path: list[str] = []
        self._given: dict[str, tuple[str, ...]] = {}
        self._names: list[str] = []
        self._open: argparse.Action | None = None
        self._only_names = False
        self._lost = False

    def pass_by(self, word: str) -> None:
        if self._open is not None:
            self._give(self._open, word)
            self._open = None
        elif self._only_names:
            self._names.append(word)
        elif word == "--":
            self._only_names = True
        elif word.startswith("-") and word != "-":
            self._pass_flag(word)
        elif (under := self._leaf.under()) is None:
            self._names.append(word)
        elif word in under:
            self._leaf = under[word]
            self._path.append(word)
        else:
            self._lost = True

    def at(self, partial: str) -> Cursor:
        flag = self._open
        if flag is not None:
            return self._cursor(CursorKind.VALUE, partial, flag)
        if self._lost:
            return self._cursor(CursorKind.NOTHING, partial)
        if not self._only_names and partial.startswith("-"):
            name, equals, value = partial.partition("=")
            if not equals:
                return self._cursor(CursorKind.FLAG, partial)
            flag = self._leaf.flag(name)
            return self._cursor(CursorKind.NOTHING if flag is None else CursorKind.VALUE, value, flag)
        if self._leaf.under() is None:
            return self._cursor(CursorKind.NAME, partial)
        return self._cursor(CursorKind.NOTHING if self._only_names else CursorKind.COMMAND, partial)

    def _cursor(self, wanted: CursorKind, partial: str, flag: argparse.Action | None = None) -> Cursor:
        return Cursor(wanted, self._leaf, partial, tuple(self._path), self._given, tuple(self._names), flag)

    def _pass_flag(self, word: str) -> None:
        name, equals, value = word.partition("=")
        flag = self._leaf.flag(name)
        if flag is None and not word.startswith("--"):  # -nshop
            flag, equals, value = self._leaf.flag(word[:2]), "=", word[2:]
        if flag is None:
            return
        if equals or not takes_value(flag):
            self._give(flag, value)
        else:
            self._open = flag

    def _give(self, flag: argparse.Action, value: str) -> None:
        name = long_name(flag)
        self._given[name] = (*self._given.get(name, ()), value)


HELP = "--help"
_ABOUT = {name: flag.about for flag in HONOURED for name in flag.names} | {HELP: "show what the command does"}
"""The descriptions of flags that the help of no command shows."""

Found = TypeVar("Found")


class _Names(Protocol):
    """The lookup of names."""

    def of(self, what: NameKind | OwnNames, cursor: Cursor, where: str = "") -> Iterable[Name]:
        """`namespace_flag`: as `where` of `CompletedName`. Names that cannot be read are left out."""
        ...


def offers_at(cursor: Cursor, names: _Names) -> Offers:
    """The completions that start with the typed part."""
    if cursor.wanted is CursorKind.COMMAND:
        known = listed(cursor.path)
        under = cursor.leaf.listed() if known is None else [(each.name, each.about) for each in known]
        return Offers(tuple(Offer(*each) for each in under)).beginning(cursor.partial)
    if cursor.wanted is CursorKind.FLAG:
        return Offers(tuple(_flags(cursor))).beginning(cursor.partial)
    if cursor.wanted is CursorKind.VALUE and cursor.flag is not None:
        return _values(cursor, cursor.flag, names)
    if cursor.wanted is CursorKind.NAME:
        found: NamedWords | None = for_command(NAMES, cursor)
        if found is not None and len(cursor.names) < found.most:
            return _taken(found.takes, cursor, names)
    return NOTHING


def for_command(table: Mapping[str, Found], cursor: Cursor) -> Found | None:
    """The entry of the command with one of the given flags, else that of the command."""
    given = (f"{cursor.command} {flag}" for flag in cursor.given)
    return next((table[key] for key in (*given, cursor.command) if key in table), None)


def follows(command: str, flag: argparse.Action) -> Follows | None:
    """The completion source of the flag by the tables; None where it is in none of them."""
    name = long_name(flag)
    return FLAGS.get(f"{command} {name}") or FLAGS.get(name) or BY_METAVAR.get(str(flag.metavar))


def words_of(flag: argparse.Action) -> Callable[[], Sequence[str]] | None:
    """The words of a flag whose parser accepts only certain words; None for any other flag."""
    if isinstance(flag, Switch):
        return lambda: ("true", "false")
    found: Callable[[], Sequence[str]] | None = getattr(flag.type, "words", None)
    return found


def offered(flag: argparse.Action) -> bool:
    """Whether completion offers the flag: not for refused flags, old names and flags that exist only for compatibility
    with kubectl."""
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
            # The long name first; the short one is for a user who typed a single dash.
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
    found = follows(cursor.command, flag)
    if found is None or isinstance(found, NoOffer):
        return NOTHING
    if isinstance(found, OpenWords):
        offers = tuple(Offer(word, about) for word, about in found.words.items())
        return Offers(offers, _spaced(all(not word.endswith("=") for word in found.words))).beginning(cursor.partial)
    return _taken((found,), cursor, names)


def _taken(takes: Sequence[CompletedName], cursor: Cursor, names: _Names) -> Offers:
    if any(each.of is OwnNames.FILES for each in takes):
        return FILE_NAMES
    for each in takes:
        if each.listed:
            return _listed(cursor.partial, names.of(each.of, cursor, each.where))
    # After pod/ only pods are looked up; before anything is typed, the prefix alone is offered.
    fitting = [each for each in takes if cursor.partial.startswith(each.before)]
    opened = max(fitting, key=lambda each: len(each.before), default=None)
    if opened is not None:
        taken = {name.removeprefix(opened.before) for name in cursor.names}
        whole = tuple(
            Offer(f"{opened.before}{each.text}{opened.after}", each.about)
            for each in names.of(opened.of, cursor, opened.where)
            if each.text not in taken
        )
        others = () if opened.before else _prefixes(takes, cursor.partial)
        if whole or not others:
            return Offers((*whole, *others), _spaced(not opened.after and not others)).beginning(cursor.partial)
    return Offers(_prefixes(takes, cursor.partial), _spaced(False)).beginning(cursor.partial)


def _prefixes(takes: Sequence[CompletedName], partial: str) -> tuple[Offer, ...]:
    """Prefixes such as ``pod/``, where the user began to type one, or where every name needs one."""
    needed = all(each.before for each in takes)
    return tuple(
        Offer(each.before, f"one of the {each.of.value}")
        for each in takes
        if each.before and each.before.startswith(partial) and (partial or needed)
    )


def _listed(partial: str, names: Iterable[Name]) -> Offers:
    """Names separated by commas: each with the names before it, as the shell takes all as one word."""
    before, comma, _ = partial.rpartition(",")
    there = set(before.split(","))
    offers = (Offer(f"{before}{comma}{each.text}", each.about) for each in names if each.text not in there)
    return Offers(tuple(offers), _spaced(False)).beginning(partial)


def _spaced(space: bool) -> int:
    return NO_FILES if space else NO_FILES | NO_SPACE
