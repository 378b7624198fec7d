"""What stands at the cursor: the command that was reached, the flags that were given, and whose value is typed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from kubectl_eksdoc.cli.parser import Parser, Switch


class CursorKind(Enum):
    """What the word at the cursor is to be."""

    COMMAND = "a command"
    FLAG = "a flag"
    VALUE = "the value of a flag"
    NAME = "a word that belongs to no flag"
    NOTHING = "nothing is known of it"


@dataclass(frozen=True, slots=True)
class Cursor:
    """`path` are the words of the command whose parser is `leaf`. `given`: the values of each flag before the cursor,
    by its long name; `names`: words that belong to no flag. `partial` is what is typed of the word, or of the value
    of `flag`."""

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
        """The value that counts, "" where it was not given."""
        return self.given.get(flag, ("",))[-1]

    def switched(self, flag: str) -> bool:
        """Whether a boolean flag is on."""
        return flag in self.given and self.last(flag).lower() not in ("0", "f", "false")


def long_name(flag: argparse.Action) -> str:
    """The one by which its users know it, ``-h`` where there is none."""
    return next((name for name in flag.option_strings if name.startswith("--")), flag.option_strings[0])


def takes_value(flag: argparse.Action) -> bool:
    """Whether the next word is its value: Go's booleans, and flags that may stand alone, take one only behind ``=``."""
    return not isinstance(flag, Switch) and flag.nargs != 0 and not getattr(flag.type, "alone", "")


def cursor_at(parser: Parser, words: Sequence[str]) -> Cursor:
    """`words` as they come from the shell; the last is what is typed of the one at the cursor, "" for a new one."""
    reached = _Reached(parser)
    for word in words[:-1]:
        reached.pass_by(word)
    return reached.at(words[-1] if words else "")


class _Reached:
    """Goes from word to word."""

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
