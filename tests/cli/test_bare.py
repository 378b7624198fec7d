"""Flags without a command are parsed without loading any command, with the same result as in the whole command tree."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from importlib import import_module

import pytest

from kubectl_eksdoc.cli.bare import parse_without_command
from kubectl_eksdoc.cli.commands import COMMANDS, Command, command_parser, help_text
from kubectl_eksdoc.cli.entry_point import PROG
from kubectl_eksdoc.cli.parser import expand_bare_flags
from tests.contracts.source import PACKAGE, files, text

ALONE = (
    [],
    ["--demo"],
    ["--demo=false"],
    ["--context", "drain"],
    ["--snapshot", "dump.tar.gz", "--no-color", "--ascii"],
    ["--kubeconfig=rehearse", "--request-timeout", "30s"],
)
MORE = (
    ["drain"],
    ["drain", "plan", "--demo"],
    ["--demo", "drain", "plan"],
    ["--help"],
    ["--version"],
    ["--demo", "--no-such-flag"],
    ["--demo=perhaps"],
    ["--context"],
    ["--demo", "--", "node-1"],
    ["node-1"],
)


@pytest.mark.parametrize("argv", ALONE, ids=str)
def test_flags_alone_mean_what_the_whole_tree_says(argv: list[str]) -> None:
    found = parse_without_command(argv, PROG)
    assert found is not None
    parser = command_parser()
    whole, extras = parser.parse_known_args(expand_bare_flags(argv, parser.flags_without_value()))
    assert not extras
    assert _said(found) == _said(whole)


def _said(args: argparse.Namespace) -> dict[str, object]:
    """The parsed values, without the parser's name and --version, which is answered at once."""
    return {name: value for name, value in vars(args).items() if name not in ("leaf", "version")}


@pytest.mark.parametrize("argv", MORE, ids=str)
def test_a_word_a_question_or_a_mistake_is_for_the_whole_tree(argv: list[str]) -> None:
    assert parse_without_command(argv, PROG) is None


def test_the_help_that_loads_no_command_is_that_of_the_whole_tree() -> None:
    whole, below = command_parser(), command_parser().command_parsers() or {}
    assert help_text(()) == whole.format_help()
    for command in ("drain", "check", "completion"):
        assert help_text((command,)) == below[command].format_help()


def _of(commands: Sequence[Command]) -> Iterator[str]:
    for each in commands:
        yield each.function_path
        yield from _of(each.subcommands)


_LATE = re.compile(r'\blate\("([a-z_.A-Z]+)"\)')
PLACES = sorted({*_of(COMMANDS), *(place for path in files(PACKAGE) for place in _LATE.findall(text(path)))})


@pytest.mark.parametrize("place", PLACES)
def test_it_is_there(place: str) -> None:
    module, _, name = place.rpartition(".")
    assert callable(getattr(import_module(f"kubectl_eksdoc.{module}"), name))
