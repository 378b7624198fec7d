"""Flags and commands of this tool that are named in sentences of findings exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.contracts.source import PACKAGE
from tests.contracts.test_remedies import AWS_GLOBALS, LISTED, of_ours, parsers


def named_in(sentence: str) -> Iterator[str]:
    """Names in a sentence of a record that do not exist: a flag of no command, a command of this tool."""
    ours = {each for parser in parsers().values() for flag in parser.flags() for each in flag.option_strings}
    listed = (
        each for of in LISTED.values() if "commands" in of for each in (of.get("options", {}), *of["commands"].values())
    )
    flags = {*ours, *AWS_GLOBALS, *(flag for each in listed for flag in each)}
    yield from (
        f"there is no flag {each}" for each in re.findall(r"(?<![\w-])--[a-z][a-z-]*", sentence) if each not in flags
    )
    for words in re.findall(r"\bkubectl eksdoc ([a-z][a-z-]*)", sentence):
        yield from of_ours([words])


def sentences() -> Iterator[str]:
    told = json.loads((PACKAGE / "knowledge" / "findings.json").read_text(encoding="utf-8"))
    yield from (each["about"] for records in told["areas"].values() for each in records)
    yield from (each["text"] for each in told["remedies"].values())
    texts = (text for records in told["areas"].values() for each in records for text in each.get("texts", {}).values())
    for each in texts:
        yield from (each["message"], *(remedy["text"] for remedy in each.get("remedies", ())))


def test_each_flag_and_command_that_a_sentence_names_exists() -> None:
    assert [f"{each}: {fault}" for each in sentences() for fault in named_in(each)] == []


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("Plan with --surge-single.", "there is no flag --surge-single"),
        ("Run kubectl eksdoc frobnicate.", "there is no kubectl eksdoc frobnicate"),
    ],
)
def test_a_sentence_that_names_what_is_not_there_is_a_fault(sentence: str, why: str) -> None:
    assert list(named_in(sentence)) == ([why] if why else [])
