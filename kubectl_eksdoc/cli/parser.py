"""argparse with the conventions of kubectl: Go's booleans, flags in any place, errors as sentences.

All functions raise `UsageError` or `ShowText`; none writes or exits.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from kubectl_eksdoc.errors import UsageError, did_you_mean

from .entry_point import VERSION

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
"""The action to which commands are added."""

_INVALID_CHOICE = re.compile(r"invalid choice: '([^']*)'")
_COMMAND = "COMMAND"


class ShowText(Exception):
    """The command line asks for a text (help, version): it is the answer, with exit code 0."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Formatter(argparse.RawDescriptionHelpFormatter):
    """One line for each flag: ``-o, --output FORMAT``; switches as ``--force[=false]`` where that is of use."""

    def __init__(self, prog: str, width: int = 100) -> None:
        super().__init__(prog, max_help_position=36, width=width)

    def _format_action(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._SubParsersAction):
            # Only the list of commands; argparse would add a line with the metavar.
            return "".join(super(Formatter, self)._format_action(a) for a in action._get_subactions())
        return super()._format_action(action)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        names = ", ".join(action.option_strings)
        if isinstance(action, Switch):
            return f"{names}[=false]" if action.default is True else names
        return names if action.nargs == 0 else f"{names} {action.metavar}"


class Parser(argparse.ArgumentParser):
    """A parser whose errors are `UsageError` and that knows its switches. `accepts_unknown_flags`: unknown flags are
    taken as words, for a command whose words are another command line. `opens_ui`: without a subcommand it opens the
    interactive UI."""

    accepts_unknown_flags = False
    opens_ui = False
    color = False  # Python 3.14 would colour the help depending on the stdout of the process

    def __init__(self, **settings: Any) -> None:
        super().__init__(add_help=False, allow_abbrev=False, formatter_class=Formatter, **settings)
        self.color = False
        self.register("action", "switch", Switch)
        self.add_argument("-h", "--help", action=_Help, nargs=0, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        self.add_argument("--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help=argparse.SUPPRESS)

    def show_version_flag(self) -> None:
        """Show --version in the help. Every command accepts it, as each may be a plugin of its own; only the help of
        the program shows it."""
        self._option_string_actions["--version"].help = "show the version"

    def error(self, message: str) -> NoReturn:
        """Raise `message` as a UsageError, with known names that are close to an unknown word."""
        message = re.sub(r"^argument ", "", message)
        choice = _INVALID_CHOICE.search(message)
        if choice and message.startswith(_COMMAND):
            word, known = choice.group(1), self.commands()
            suggestion = did_you_mean(word, known)
            message = f"{word!r} is no command of {self.prog!r}{suggestion}"
            drain_hint = (
                f"To drain a node: {self.prog} run {word}\n" if self.prog.endswith(" drain") and not suggestion else ""
            )
            raise UsageError(message, drain_hint + self._commands_hint())
        raise UsageError(message, f"More: {self.prog} --help")

    def missing_command_error(self) -> UsageError:
        return UsageError(f"{self.prog!r} needs a command", self._commands_hint())

    def _commands_hint(self) -> str:
        return f"Commands: {', '.join(sorted(self.commands()))}. More: {self.prog} --help"

    def subcommand_parser(self, argv: Iterable[str]) -> Parser:
        """The parser of the command that the first words of `argv` name."""
        parser = self
        for word in argv:
            subparser = (parser.command_parsers() or {}).get(word)
            if subparser is None:
                break
            parser = subparser
        return parser

    def add_commands(self) -> Commands:
        """The action for subcommands; without a subcommand help is shown."""
        self.set_defaults(leaf=self)
        return self.add_subparsers(metavar=_COMMAND, parser_class=Parser, title="Commands", prog=self.prog)

    def commands(self) -> list[str]:
        """The subcommands, without hidden ones."""
        return [name for name, _ in self.listed_commands()]

    def _subparsers_action(self) -> Commands | None:
        return next((each for each in self._actions if isinstance(each, argparse._SubParsersAction)), None)

    def command_parsers(self) -> Mapping[str, Parser] | None:
        """The parsers of the subcommands, with hidden ones; None for a command without subcommands."""
        action = self._subparsers_action()
        return None if action is None else action.choices

    def listed_commands(self) -> list[tuple[str, str]]:
        """As `commands`, each with its help line."""
        action = self._subparsers_action()
        return [(choice.dest, choice.help or "") for choice in action._choices_actions] if action is not None else []

    def flag(self, name: str) -> argparse.Action | None:
        return self._option_string_actions.get(name)

    def flags(self) -> list[argparse.Action]:
        """In the order of the help, with hidden ones."""
        return [action for action in self._actions if action.option_strings]

    def flags_without_value(self) -> dict[str, str]:
        """Every flag of this parser and of its subcommands that may stand without a value, and its meaning then."""
        values_by_flag: dict[str, str] = {}
        for parser in self._all_parsers():
            for name, action in parser._option_string_actions.items():
                if isinstance(action, Switch):
                    values_by_flag[name] = "true"
                elif alone := getattr(action.type, "alone", ""):
                    values_by_flag[name] = alone
        return values_by_flag

    def long_flags(self) -> set[str]:
        """Every long flag of this parser and of its subcommands, with hidden ones."""
        return {
            name for parser in self._all_parsers() for name in parser._option_string_actions if name.startswith("--")
        }

    def _all_parsers(self) -> Iterator[Parser]:
        yield self
        for child in (self.command_parsers() or {}).values():
            yield from child._all_parsers()


class Switch(argparse.Action):
    """A boolean flag. `expand_bare_flags` has turned a bare ``--force`` into ``--force=true``."""

    def __init__(self, option_strings: Sequence[str], dest: str, **settings: Any) -> None:
        from .values import parse_bool

        super().__init__(option_strings, dest, type=parse_bool, metavar="BOOL", **settings)

    def __call__(self, parser: object, namespace: argparse.Namespace, values: object, option: object = None) -> None:
        setattr(namespace, self.dest, values)


def add_flag(
    container: argparse._ActionsContainer,
    names: str,
    metavar: str,
    about: str,
    parse: Callable[[str], Any] = str,
    default: object = None,
    **settings: Any,
) -> None:
    """Add a flag that takes a value. `names`: with a space between them; `parse`: the function that reads the value."""
    container.add_argument(*names.split(), metavar=metavar, help=about, type=parse, default=default, **settings)


def add_text(container: argparse._ActionsContainer, names: str, metavar: str, about: str) -> None:
    """A flag whose value is a text, "" where it is not given."""
    add_flag(container, names, metavar, about, default="")


def add_switch(container: argparse._ActionsContainer, names: str, about: str, default: object = False) -> None:
    container.add_argument(*names.split(), action="switch", default=default, help=about)


def flag_name(dest: str) -> str:
    """The flag, by its name in the parsed arguments."""
    return f"--{dest.replace('_', '-')}"


class RefusedFlag(argparse.Action):
    """A flag that is refused by name; `const` is the reason."""

    def __call__(self, parser: object, namespace: object, values: object, option: object = None) -> NoReturn:
        raise UsageError(f"{option or self.option_strings[-1]} is not supported: {self.const}")


class _Version(argparse.Action):
    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise ShowText(VERSION)


class _Help(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, values: object, option: object = None
    ) -> NoReturn:
        raise ShowText(parser.format_help())


def split_at_dashes(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words before the first ``--``, and the words after it, which are names whatever they look like."""
    position = next((i for i, word in enumerate(argv) if word == "--"), len(argv))
    return list(argv[:position]), list(argv[position + 1 :])


def expand_bare_flags(argv: Iterable[str], values_by_flag: dict[str, str]) -> list[str]:
    """`argv` with each bare flag of `values_by_flag` (flag → value) written as ``--flag=value``.

    Go's flags take a boolean's value only after an equals sign, so ``--force node-1`` names a node; argparse would read
    it as the flag's value.
    """
    return [f"{word}={values_by_flag[word]}" if word in values_by_flag else word for word in argv]


def positional_words(extras: Sequence[str], leaf: Parser) -> list[str]:
    """The words that belong to no flag: names.

    Raises:
        UsageError: `extras` has a flag that `leaf` does not know.
    """
    for word in extras:
        if word.startswith("-") and word != "-" and not leaf.accepts_unknown_flags:
            raise unknown_flag_error(word, leaf)
    return list(extras)


def first_unknown_flag(argv: Iterable[str], root: Parser) -> str:
    """The first long flag that no command under `root` knows, "" where there is none.

    The word after such a flag was meant as its value, and argparse has read it as something else.
    """
    known = root.long_flags()
    flags = itertools.takewhile(lambda word: word != "--", argv)
    return next((w for w in flags if w.startswith("--") and w.split("=", 1)[0] not in known), "")


DRAIN_THE_DEMO = (
    "Drain the demo in the interactive UI: kubectl eksdoc --demo\n"
    "Or serve it, for kubectl and all commands: kubectl eksdoc rehearse --serve --demo"
)


def unknown_flag_error(word: str, parser: Parser) -> UsageError:
    name = word.split("=", 1)[0]
    if name == "--demo" and " drain " in parser.prog:
        return UsageError(f"--demo is no flag of {parser.prog!r}: it needs a cluster", DRAIN_THE_DEMO)
    hint = f"More: {parser.prog} --help, {' '.join(parser.prog.split()[:2])} options"
    return UsageError(f"{name} is no flag of {parser.prog!r}{did_you_mean(name, parser.long_flags())}", hint)
