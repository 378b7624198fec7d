"""Messages, help texts, headings and findings contain only plain technical English."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kubectl_eksdoc.cli.parser import Parser
from tests.contracts.source import PACKAGE, ROOT, files

LIST = json.loads((Path(__file__).parent / "phrases.json").read_text(encoding="utf-8"))
BANNED = {re.compile(rf"\b(?:{phrase})\b", re.IGNORECASE): better for phrase, better in LIST["phrases"]}
ANY = re.compile("|".join(pattern.pattern for pattern in BANNED), re.IGNORECASE)
EXCEPTIONS: dict[str, str] = LIST["exceptions"]


@cache
def texts(path: Path) -> tuple[str, ...]:
    return tuple(_texts(path))


def _texts(path: Path) -> Iterator[str]:
    """String literals of more than one word that are not docstrings: texts that a user may read."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):  # a statement comes before what is in it
        if isinstance(node, ast.Expr):
            docstrings.add(id(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from () if id(node) in docstrings else (node.value,)


def of_knowledge(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for each in value.values() for text in of_knowledge(each))
    elif isinstance(value, list):
        yield from (text for each in value for text in of_knowledge(each))


def found(where: str, text: str) -> Iterator[str]:
    for pattern, better in BANNED.items() if ANY.search(text) else ():
        for match in pattern.finditer(text):
            said = f"{where}: {match[0]}"
            if said not in EXCEPTIONS:
                yield f"{said!r} in {' '.join(text.split())[:100]!r}: write {better}"


def test_messages_are_plain_english() -> None:
    """A new exception needs a reason beside it."""
    wrong = [
        line for path in files(PACKAGE) for text in texts(path) for line in found(str(path.relative_to(ROOT)), text)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", ["completion", "cordon_marks", "faults", "findings", "keys", "rights"])
def test_texts_in_records_are_plain_english(name: str) -> None:
    path = PACKAGE / "knowledge" / f"{name}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    wrong = [line for text in of_knowledge(document) for line in found(path.name, text)]
    assert wrong == []


PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
MOST_PAGES, MOST_WORDS, README_LINES = 35, 35_000, 150


def test_pages_are_few_and_short() -> None:
    texts = [path.read_text(encoding="utf-8") for path in PAGES]
    assert len(PAGES) <= MOST_PAGES
    assert sum(len(text.split()) for text in texts) <= MOST_WORDS
    assert len(texts[0].splitlines()) <= README_LINES


def test_pages_are_plain_english() -> None:
    wrong = [line for path in PAGES for line in found(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))]
    assert wrong == []


def test_public_classes_are_called_by_what_they_are() -> None:
    """By a noun of Kubernetes, EKS or Python: a participle without a noun tells a newcomer nothing."""
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in files(PACKAGE)
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        if name in LIST["names"]
    ]
    assert wrong == []


def test_a_phrase_is_seen_in_a_message_and_not_in_a_docstring(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text('def f() -> str:\n    """Nobody minds this."""\n    return "ask whoever mends it"\n')
    assert [len([*found("x.py", text)]) for text in texts(path)] == [2]


def test_every_exception_is_still_needed() -> None:
    every = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files(PACKAGE)
        for text in texts(path)
        if ANY.search(text)
        for pattern in BANNED
        for match in pattern.finditer(text)
    }
    assert [each for each in EXCEPTIONS if each not in every] == []


HELP_LINES = 24


def test_help_is_short_before_its_flags() -> None:
    """The purpose of a command and its examples fit on a screen."""
    from kubectl_eksdoc.cli.commands import command_parser

    def each(parser: Parser, name: str) -> Iterator[tuple[str, int]]:
        yield name, len((parser.description or "").strip().splitlines())
        for word, below in (parser.command_parsers() or {}).items():
            yield from each(below, f"{name} {word}".strip())

    assert [(name, count) for name, count in each(command_parser(), "") if count > HELP_LINES] == []
