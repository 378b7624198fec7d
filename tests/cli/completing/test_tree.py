"""The whole command tree: for every position it is decided what completion offers."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator

import pytest

from kubectl_eksdoc.cli import completion_sources as sources
from kubectl_eksdoc.cli.commands import COMMANDS, Command, command_parser, listed_commands
from kubectl_eksdoc.cli.completion_candidates import allowed_words, completion_source, long_flag_name, takes_value
from kubectl_eksdoc.cli.flags import OUTPUTS
from kubectl_eksdoc.cli.parser import Parser, RefusedFlag
from kubectl_eksdoc.cli.rights import BY_COMMAND
from tests.cli.completing.asked import at


def commands(parser: Parser, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Parser]]:
    yield " ".join(path), parser
    for name, under in (parser.command_parsers() or {}).items():
        yield from commands(under, (*path, name))


EVERY = dict(commands(command_parser()))
LEAVES = {path: parser for path, parser in EVERY.items() if parser.command_parsers() is None}
FLAGS = [(path, flag) for path, parser in EVERY.items() for flag in parser.flags()]


def test_what_follows_each_flag_is_decided() -> None:
    """A new flag needs a type with known words, or a line in the table of sources."""
    undecided = [
        f"{path} {long_flag_name(flag)}"
        for path, flag in FLAGS
        if takes_value(flag) and not isinstance(flag, RefusedFlag)
        if allowed_words(flag) is None and completion_source(path, flag) is None
    ]
    assert undecided == []


def test_the_table_has_no_flag_that_is_gone() -> None:
    there = {long_flag_name(flag) for _, flag in FLAGS} | {f"{path} {long_flag_name(flag)}" for path, flag in FLAGS}
    assert set(sources.SOURCE_BY_FLAG) - there == set()
    for table in (sources.WORDS_BY_COMMAND, sources.FORMATS_BY_COMMAND):
        known = {*EVERY, *(f"{path} {long_flag_name(flag)}" for path, flag in FLAGS)}
        assert set(table) - known == set()
    told_by_parser = {long_flag_name(flag) for _, flag in FLAGS if allowed_words(flag) is not None}
    assert set(sources.SOURCE_BY_FLAG) & told_by_parser == set()


def test_files_are_those_whose_help_says_so() -> None:
    for path, flag in FLAGS:
        if flag.metavar in ("FILE", "MANIFESTS", "PATH") and takes_value(flag):
            assert completion_source(path, flag) == sources.CompletedName(sources.OwnNames.FILES), (
                f"{path} {long_flag_name(flag)}"
            )


def test_every_command_that_names_something_says_what() -> None:
    usages = {
        path: (parser.usage or "").split("[flags]")[0].replace("%(prog)s", "").strip()
        for path, parser in LEAVES.items()
    }
    assert {path for path, names in usages.items() if names} == {
        path for path in sources.WORDS_BY_COMMAND if path in LEAVES
    }


@pytest.mark.parametrize("place", sorted(set(sources.FORMATS_BY_COMMAND.values())))
def test_formats_are_those_of_the_command(place: str) -> None:
    module, _, name = place.rpartition(".")
    found = getattr(importlib.import_module(f"kubectl_eksdoc.{module}"), name)
    assert set(getattr(found, "formats", found)) <= set(OUTPUTS)


def test_the_list_of_commands_is_what_their_parsers_say() -> None:
    def check(them: tuple[Command, ...], parser: Parser) -> None:
        assert [(each.name, each.about) for each in them if each.about] == parser.listed_commands()
        assert [each.name for each in them] == list(parser.command_parsers() or {})
        for each in them:
            if each.subcommands:
                check(each.subcommands, (parser.command_parsers() or {})[each.name])

    check(COMMANDS, command_parser())
    assert listed_commands(("drain", "plan")) is None and listed_commands(("nonsense",)) is None


NO_WORK = ("completion", "plugins")
OTHER_RIGHTS = {"changes": "the rights of the kind of change", "drain rehearse": "the rights of rehearse"}
ONE_SENTENCE = ("drain pause", "drain abort")
"""They have no report: their answer is one sentence in every format."""


def test_every_command_that_reads_a_cluster_has_rights_and_formats() -> None:
    working = {path: parser for path, parser in LEAVES.items() if path.split()[0] not in NO_WORK}
    flags = {
        path: {name for flag in parser.flags() for name in flag.option_strings} for path, parser in working.items()
    }
    rights, formats = ({key.partition(" --")[0] for key in table} for table in (BY_COMMAND, sources.FORMATS_BY_COMMAND))
    assert {path for path in working if "--context" in flags[path]} - rights == set(OTHER_RIGHTS)
    assert {path for path in working if "--output" in flags[path]} - formats == set(ONE_SENTENCE)


@pytest.mark.parametrize("path", sorted(LEAVES))
def test_one_command_alone_is_as_in_the_whole_tree(path: str) -> None:
    words = path.split()
    alone = dict(commands(command_parser(only_path=tuple(words))))
    beside = {each for each in alone if not path.startswith(each) and words[0] not in NO_WORK}
    assert beside == set()
    assert alone[path].format_help() == LEAVES[path].format_help()


@pytest.mark.parametrize("path", sorted(LEAVES))
def test_every_flag_of_its_help_is_offered(path: str) -> None:
    offered = at(*path.split(), "-").offers
    shown = {
        name for flag in LEAVES[path].flags() if flag.help is not argparse.SUPPRESS for name in flag.option_strings
    }
    assert shown <= set(offered) and all(offered.values())
    refused = {name for flag in LEAVES[path].flags() if isinstance(flag, RefusedFlag) for name in flag.option_strings}
    assert not refused & set(offered)
