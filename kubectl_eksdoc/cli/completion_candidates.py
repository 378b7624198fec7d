"""Completions at the cursor: the command line before it, and the words that may follow."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Protocol, TypeVar

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.names import CompletionName, NameKind

from .commands import listed_commands
from .completion_offers import FILE_COMPLETIONS, NO_COMPLETIONS, NO_FILES, NO_SPACE, Completion, Completions
from .completion_sources import (
    SOURCE_BY_FLAG,
    SOURCE_BY_METAVAR,
    WORDS_BY_COMMAND,
    CompletedName,
    CompletionSource,
    NamedWords,
    NoCompletion,
    OpenWords,
    OwnNames,
)
from .flags import SUPPORTED_FLAGS
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

    kind: CursorKind
    leaf: Parser
    partial: str = ""
    path: tuple[str, ...] = ()
    flag_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    flag: argparse.Action | None = None

    @property
    def command(self) -> str:
        return " ".join(self.path)

    def last_value(self, flag: str) -> str:
        """The last value, which counts; "" where the flag was not given."""
        return self.flag_values.get(flag, ("",))[-1]

    def is_switched_on(self, flag: str) -> bool:
        """Whether a boolean flag is on."""
        return flag in self.flag_values and self.last_value(flag).lower() not in ("0", "f", "false")


def long_flag_name(flag: argparse.Action) -> str:
    """The long name, the short one where there is none."""
    return next((name for name in flag.option_strings if name.startswith("--")), flag.option_strings[0])


def takes_value(flag: argparse.Action) -> bool:
    """Whether the next word is its value. Go's booleans, and flags that may stand alone, take a value only after
    ``=``."""
    return not isinstance(flag, Switch) and flag.nargs != 0 and not getattr(flag.type, "alone", "")


def cursor_at(parser: Parser, words: Sequence[str]) -> Cursor:
    """`words` as they come from the shell; the last is the typed part of the word at the cursor, "" for a new word."""
    reader = _WordReader(parser)
    for word in words[:-1]:
        reader.read_word(word)
    return reader.cursor(words[-1] if words else "")


class _WordReader:
    """Reads the command line word by word. Mutable."""

    def __init__(self, parser: Parser) -> None:
        self._leaf = parser
        self._path: list[str] = []
        self._flag_values: dict[str, tuple[str, ...]] = {}
        self._names: list[str] = []
        self._pending_flag: argparse.Action | None = None
        self._only_names = False
        self._is_unknown_command = False

    def read_word(self, word: str) -> None:
        if self._pending_flag is not None:
            self._add_value(self._pending_flag, word)
            self._pending_flag = None
        elif self._only_names:
            self._names.append(word)
        elif word == "--":
            self._only_names = True
        elif word.startswith("-") and word != "-":
            self._read_flag(word)
        elif (under := self._leaf.command_parsers()) is None:
            self._names.append(word)
        elif word in under:
            self._leaf = under[word]
            self._path.append(word)
        else:
            self._is_unknown_command = True

    def cursor(self, partial: str) -> Cursor:
        flag = self._pending_flag
        if flag is not None:
            return self._cursor(CursorKind.VALUE, partial, flag)
        if self._is_unknown_command:
            return self._cursor(CursorKind.NOTHING, partial)
        if not self._only_names and partial.startswith("-"):
            name, equals, value = partial.partition("=")
            if not equals:
                return self._cursor(CursorKind.FLAG, partial)
            flag = self._leaf.flag(name)
            return self._cursor(CursorKind.NOTHING if flag is None else CursorKind.VALUE, value, flag)
        if self._leaf.command_parsers() is None:
            return self._cursor(CursorKind.NAME, partial)
        return self._cursor(CursorKind.NOTHING if self._only_names else CursorKind.COMMAND, partial)

    def _cursor(self, kind: CursorKind, partial: str, flag: argparse.Action | None = None) -> Cursor:
        return Cursor(kind, self._leaf, partial, tuple(self._path), self._flag_values, tuple(self._names), flag)

    def _read_flag(self, word: str) -> None:
        name, equals, value = word.partition("=")
        flag = self._leaf.flag(name)
        if flag is None and not word.startswith("--"):  # -nshop
            flag, equals, value = self._leaf.flag(word[:2]), "=", word[2:]
        if flag is None:
            return
        if equals or not takes_value(flag):
            self._add_value(flag, value)
        else:
            self._pending_flag = flag

    def _add_value(self, flag: argparse.Action, value: str) -> None:
        name = long_flag_name(flag)
        self._flag_values[name] = (*self._flag_values.get(name, ()), value)


HELP = "--help"
_ABOUT = {name: flag.about for flag in SUPPORTED_FLAGS for name in flag.names} | {HELP: "show what the command does"}
"""The descriptions of flags that the help of no command shows."""

Found = TypeVar("Found")


class _Names(Protocol):
    """The lookup of names."""

    def names_of(self, kind: NameKind | OwnNames, cursor: Cursor, namespace_flag: str = "") -> Iterable[CompletionName]:
        """`namespace_flag`: as `namespace_flag` of `CompletedName`. Names that cannot be read are left out."""
        ...


def completions_at(cursor: Cursor, lookup: _Names) -> Completions:
    """The completions that start with the typed part."""
    if cursor.kind is CursorKind.COMMAND:
        commands = listed_commands(cursor.path)
        subcommands = (
            cursor.leaf.listed_commands() if commands is None else [(each.name, each.about) for each in commands]
        )
        return Completions(tuple(Completion(*each) for each in subcommands)).with_prefix(cursor.partial)
    if cursor.kind is CursorKind.FLAG:
        return Completions(tuple(_flag_completions(cursor))).with_prefix(cursor.partial)
    if cursor.kind is CursorKind.VALUE and cursor.flag is not None:
        return _value_completions(cursor, cursor.flag, lookup)
    if cursor.kind is CursorKind.NAME:
        named_words: NamedWords | None = for_command(WORDS_BY_COMMAND, cursor)
        if named_words is not None and len(cursor.names) < named_words.most:
            return _name_completions(named_words.takes, cursor, lookup)
    return NO_COMPLETIONS


def for_command(table: Mapping[str, Found], cursor: Cursor) -> Found | None:
    """The entry of the command with one of the given flags, else that of the command."""
    keys_with_flag = (f"{cursor.command} {flag}" for flag in cursor.flag_values)
    return next((table[key] for key in (*keys_with_flag, cursor.command) if key in table), None)


def completion_source(command: str, flag: argparse.Action) -> CompletionSource | None:
    """The completion source of the flag by the tables; None where it is in none of them."""
    name = long_flag_name(flag)
    return (
        SOURCE_BY_FLAG.get(f"{command} {name}") or SOURCE_BY_FLAG.get(name) or SOURCE_BY_METAVAR.get(str(flag.metavar))
    )


def allowed_words(flag: argparse.Action) -> Callable[[], Sequence[str]] | None:
    """The words of a flag whose parser accepts only certain words; None for any other flag."""
    if isinstance(flag, Switch):
        return lambda: ("true", "false")
    words: Callable[[], Sequence[str]] | None = getattr(flag.type, "words", None)
    return words


def is_completed(flag: argparse.Action) -> bool:
    """Whether completion offers the flag: not for refused flags, old names and flags that exist only for compatibility
    with kubectl."""
    if isinstance(flag, RefusedFlag):
        return False
    return flag.help is not argparse.SUPPRESS or any(name in _ABOUT for name in flag.option_strings)


def _flag_completions(cursor: Cursor) -> Iterable[Completion]:
    formatter = cursor.leaf._get_formatter()
    for flag in cursor.leaf.flags():
        is_allowed = isinstance(flag, argparse._AppendAction) or long_flag_name(flag) not in cursor.flag_values
        if is_completed(flag) and is_allowed:
            abouts = [_ABOUT[name] for name in flag.option_strings if name in _ABOUT]
            about = abouts[0] if flag.help is argparse.SUPPRESS else formatter._expand_help(flag)
            # The long name first; the short one is for a user who typed a single dash.
            for name in sorted(flag.option_strings, key=len, reverse=True):
                yield Completion(name, about)


def _value_completions(cursor: Cursor, flag: argparse.Action, lookup: _Names) -> Completions:
    if isinstance(flag, RefusedFlag):
        return NO_COMPLETIONS
    words = allowed_words(flag)
    if words is not None:
        if flag.metavar == "CODE,…":
            return _list_completions(cursor.partial, [CompletionName(word) for word in words()])
        return Completions(tuple(map(Completion, words()))).with_prefix(cursor.partial)
    source = completion_source(cursor.command, flag)
    if source is None or isinstance(source, NoCompletion):
        return NO_COMPLETIONS
    if isinstance(source, OpenWords):
        completions = tuple(Completion(word, about) for word, about in source.words.items())
        return Completions(completions, _directive(all(not word.endswith("=") for word in source.words))).with_prefix(
            cursor.partial
        )
    return _name_completions((source,), cursor, lookup)


def _name_completions(name_kinds: Sequence[CompletedName], cursor: Cursor, lookup: _Names) -> Completions:
    if any(each.of is OwnNames.FILES for each in name_kinds):
        return FILE_COMPLETIONS
    for each in name_kinds:
        if each.listed:
            return _list_completions(cursor.partial, lookup.names_of(each.of, cursor, each.where))
    # After pod/ only pods are looked up; before anything is typed, the prefix alone is offered.
    matching = [each for each in name_kinds if cursor.partial.startswith(each.before)]
    name_kind = max(matching, key=lambda each: len(each.before), default=None)
    if name_kind is not None:
        given_names = {name.removeprefix(name_kind.before) for name in cursor.names}
        items = tuple(
            Completion(f"{name_kind.before}{each.text}{name_kind.after}", each.about)
            for each in lookup.names_of(name_kind.of, cursor, name_kind.where)
            if each.text not in given_names
        )
        prefixes = () if name_kind.before else _prefix_completions(name_kinds, cursor.partial)
        if items or not prefixes:
            return Completions((*items, *prefixes), _directive(not name_kind.after and not prefixes)).with_prefix(
                cursor.partial
            )
    return Completions(_prefix_completions(name_kinds, cursor.partial), _directive(False)).with_prefix(cursor.partial)


def _prefix_completions(name_kinds: Sequence[CompletedName], partial: str) -> tuple[Completion, ...]:
    """Prefixes such as ``pod/``, where the user began to type one, or where every name needs one."""
    needed = all(each.before for each in name_kinds)
    return tuple(
        Completion(each.before, f"one of the {each.of.value}")
        for each in name_kinds
        if each.before and each.before.startswith(partial) and (partial or needed)
    )


def _list_completions(partial: str, names: Iterable[CompletionName]) -> Completions:
    """Names separated by commas: each with the names before it, as the shell takes all as one word."""
    earlier_names, comma, _ = partial.rpartition(",")
    given_names = set(earlier_names.split(","))
    completions = (
        Completion(f"{earlier_names}{comma}{each.text}", each.about) for each in names if each.text not in given_names
    )
    return Completions(tuple(completions), _directive(False)).with_prefix(partial)


def _directive(space: bool) -> int:
    return NO_FILES if space else NO_FILES | NO_SPACE
