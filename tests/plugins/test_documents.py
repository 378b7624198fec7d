"""The documents: their generated parts are as the program is, and every command line in them is one that it takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_eksdoc.cli.main import bare_values, tree
from kubectl_eksdoc.cli.parser import ShowText, spelled_out, strays, until_dashes
from tools import documents, examples
from tools.registry import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^```(?:sh|console|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_example_says_what_it_prints(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert documents.filled(text) == text, "run make docs"


def command_lines(text: str) -> Iterator[str]:
    """Those of this program in blocks of a shell, each without what a shell does around it."""
    for block in _FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            line = line.strip().removeprefix("$ ")
            if line.startswith("kubectl eksdoc"):
                yield line


def words_of(line: str) -> list[str]:
    """Up to a pipe, a redirection, another command, or a remark."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words: list[str] = []
    for word in lexer:
        if set(word) <= set("|&;<>"):
            break
        words.append(word)
    return words[1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_line_is_one_that_is_taken(page: Path) -> None:
    parser = tree()
    for line in command_lines(page.read_text(encoding="utf-8")):
        program, *words = words_of(line)
        if program != "eksdoc":
            words = [program.removeprefix("eksdoc-"), *words]
        flags, _ = until_dashes(words)
        try:
            args, extras = parser.parse_known_args(spelled_out(flags, bare_values(parser)))
            strays(extras, args.leaf)
        except ShowText:
            continue


def test_they_are_found() -> None:
    assert len(list(command_lines((ROOT / "README.md").read_text(encoding="utf-8")))) > 40


def test_an_example_shows_what_it_ran() -> None:
    text = "<!-- run: kubectl eksdoc --version -->\nold\n<!-- end run -->\n"
    assert examples.filled(text) == (
        "<!-- run: kubectl eksdoc --version -->\n```console\n$ kubectl eksdoc --version\nkubectl eksdoc 0.1.0\n```\n"
        "<!-- end run -->\n"
    )


def test_examples_of_a_page_share_a_folder_and_may_say_their_exit_code() -> None:
    text = (
        "<!-- run: kubectl eksdoc options > options.txt -->\n<!-- end run -->\n"
        "<!-- run: kubectl eksdoc check --snapshot options.txt ; exit 2 -->\n<!-- end run -->\n"
    )
    made = examples.filled(text)
    assert "$ kubectl eksdoc options > options.txt\n```\n" in made
    assert "options.txt is" in made or "options.txt" in made.partition("exit 2")[2]
    assert made.endswith("$ echo $?\n2\n```\n<!-- end run -->\n")
    assert examples.filled(made) == made


@pytest.mark.parametrize(
    "said",
    [
        "rm -rf /",
        "kubectl eksdoc no-such-command",
        "kubectl eksdoc options ; exit 1",
        "kubectl eksdoc drain plan --demo ; show NOTHING BEGINS SO",
    ],
)
def test_an_example_that_does_not_run_is_refused(said: str) -> None:
    with pytest.raises(examples.BadExample):
        examples.filled(f"<!-- run: {said} -->\n<!-- end run -->\n")


def test_paragraphs_are_left_out_where_some_are_named() -> None:
    made = examples.filled("<!-- run: kubectl eksdoc drain plan --demo ; show first, TARGETS, -->\n<!-- end run -->\n")
    assert made.count("[…]") >= 1 and "\nTARGETS, in the order" in made and "8 nodes to drain" in made
