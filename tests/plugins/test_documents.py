"""The documentation: its generated parts match the program, and the program accepts every command line in it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli.main import command_parser
from kubectl_eksdoc.cli.parser import Parser, ShowText, expand_bare_flags, positional_words, split_at_dashes
from tools import documents, examples
from tools.registry import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
_REFUSED = re.compile(r"^<!-- run: .*?; exit 2\b.*?<!-- end run -->", re.DOTALL | re.MULTILINE)
"""Shown because they are wrong: that they are is seen when they are run."""
_FENCE = re.compile(r"^```(?:sh|console|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_make_check_fills_every_page_that_has_examples() -> None:
    """That command checks the printed output of each example; here no example is run again."""
    with_examples = [page for page in PAGES if re.search("^<!-- (run|begin)", page.read_text(encoding="utf-8"), re.M)]
    assert set(with_examples) <= set(documents.written()) and len(with_examples) > 10


def command_lines(text: str) -> Iterator[str]:
    """Command lines of this program in shell blocks, each without the shell syntax around it."""
    for block in _FENCE.findall(_REFUSED.sub("", text)):
        for line in block.replace("\\\n", " ").splitlines():
            line = line.strip().removeprefix("$ ")
            if line.startswith("kubectl eksdoc"):
                yield line


def words_of(line: str) -> list[str]:
    """The words up to a pipe, a redirection, another command, or a comment."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words: list[str] = []
    for word in lexer:
        if set(word) <= set("|&;<>"):
            break
        words.append(word)
    return words[1:]


@cache
def whole_tree() -> Parser:
    return command_parser()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_line_is_one_that_is_taken(page: Path) -> None:
    parser = whole_tree()
    for line in command_lines(page.read_text(encoding="utf-8")):
        program, *words = words_of(line)
        if program != "eksdoc":
            words = [program.removeprefix("eksdoc-"), *words]
        flags, _ = split_at_dashes(words)
        try:
            args, extras = parser.parse_known_args(expand_bare_flags(flags, parser.flags_without_value()))
            positional_words(extras, args.leaf)
        except ShowText:
            continue


FOREIGN = {
    *("--annotate-nodes", "--taint-node", "--interruption-queue", "--aws-region", "--aws-vpc-id"),  # controllers'
    *("--show-managed-fields", "--server-side", "--raw", "--manifest", "--archive", "--undo"),  # kubectl, krew
    *("--parallel", "--reuse-values", "--name"),  # eksctl, helm, aws
    *("--require-hashes",),  # pip
}
_SPAN, _FLAG = re.compile(r"`([^`\n]+)`"), re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def command_of(span: str) -> Parser | None:
    """The command with which a piece of code in a sentence begins."""
    parser: Parser | None = whole_tree()
    for word in span.removeprefix("kubectl eksdoc ").split():
        under = (parser and parser.command_parsers()) or {}
        if word not in under:
            break
        parser = under[word]
    return None if parser is None or parser is whole_tree() or parser.accepts_unknown_flags else parser


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_flag_in_a_sentence_is_one_that_is_there(page: Path) -> None:
    """After a command it is a flag of that command."""
    every = {name for parser in whole_tree()._all_parsers() for flag in parser.flags() for name in flag.option_strings}
    for span in _SPAN.findall(_BLOCK.sub("", page.read_text(encoding="utf-8"))):
        command = command_of(span)
        known = every if command is None else {name for flag in command.flags() for name in flag.option_strings}
        assert set(_FLAG.findall(span)) - FOREIGN <= known, span


_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
TRANSLATED = sorted(page for page in (ROOT / "docs/ko").rglob("*.md") if page.name != "README.md")
_RUN = re.compile(r"^<!-- run: (.*?) -->.*?^<!-- end run -->", re.DOTALL | re.MULTILINE)


def facts_of(page: Path) -> tuple[list[str], set[str], set[str]]:
    """Facts that a translation must contain as well: examples, names in code, and versions and other numbers with a
    point."""
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"\]\([^)]*\)", "]", _BLOCK.sub("", _RUN.sub("", text)))
    return _RUN.findall(text), set(re.findall(r"`([a-z][^`]*)`", prose)), set(re.findall(r"\d+(?:\.\d+)+", prose))


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: page.name)
def test_a_translation_tells_the_same_facts(page: Path) -> None:
    english = ROOT / "docs" / page.relative_to(ROOT / "docs/ko")
    examples_here, names_here, numbers_here = facts_of(page)
    examples_there, names_there, numbers_there = facts_of(english)
    assert examples_here == examples_there and numbers_here == numbers_there
    assert names_here == names_there


def test_an_example_shows_what_it_ran() -> None:
    text = "<!-- run: kubectl eksdoc --version -->\nold\n<!-- end run -->\n"
    assert examples.filled(text) == (
        "<!-- run: kubectl eksdoc --version -->\n```console\n$ kubectl eksdoc --version\n"
        f"kubectl eksdoc {__version__}\n```\n"
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
        "kubectl eksdoc check --demo ; show first, FINDINGS ; items nothing has that",
        "kubectl eksdoc --version ; head 9",
    ],
)
def test_an_example_that_does_not_run_is_refused(said: str) -> None:
    with pytest.raises(examples.BadExample):
        examples.filled(f"<!-- run: {said} -->\n<!-- end run -->\n")


LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The anchors of its headings, as GitHub generates them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link}: there is no {target}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: {target.name} has no such heading"
