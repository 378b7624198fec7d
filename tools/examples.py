"""Examples in documents: command lines in a comment, run on the built-in cluster, with their output.

``<!-- run: kubectl eksdoc check --demo ; show first, FINDINGS ; exit 1 -->`` begins a block, and ``<!-- end run -->``
ends it. Commands of one page run one after another in a folder of their own, so that one may read a file that another
wrote with ``> FILE``. ``show`` keeps paragraphs of the output by their beginnings, then ``items A|B`` keeps the items
of its lists that have A or B in them, then ``head N`` keeps the first lines. ``<!-- file: NAME -->`` before a block of
any language writes a file of that name into the folder, with the content of the block.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.main import run

_BLOCK = re.compile(r"(<!-- run: (.+?) -->\n).*?(<!-- end run -->)", re.DOTALL)
_FILE = re.compile(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```\n", re.DOTALL)
_EITHER = re.compile(f"{_BLOCK.pattern}|{_FILE.pattern}", re.DOTALL)
_ITEM = re.compile(r"( +)(?:[✗✓?!·…-]|\d+\.) (?=\S)")
_PROGRAM = ["kubectl", "eksdoc"]
_USUAL = (0, 1, 5)
"""Exit codes that need not be declared: the command has answered."""
LEFT_OUT = "[…]"


class BadExample(ValueError):
    """The command in the comment cannot be run, or has another result than declared."""


def filled(text: str) -> str:
    """`text` with the content of every block generated again.

    Raises:
        BadExample: one of them fails.
    """
    if not _BLOCK.search(text):
        return text
    with _folder():
        return _EITHER.sub(_filled, text)


def _filled(match: re.Match[str]) -> str:
    begin, said, end, name, content = match.groups()
    if name:
        Path(name).write_text(content, encoding="utf-8")
        return match.group(0)
    return f"{begin}{_block(said)}{end}"


@contextmanager
def _folder() -> Iterator[None]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def _block(said: str) -> str:
    command, *wishes = (part.strip() for part in said.split(" ; "))
    line, _, target = command.partition(" > ")
    words = shlex.split(line)
    if words[:2] != _PROGRAM:
        raise BadExample(f"no example is made of: {command}")
    code, text = _ran(words[2:])
    wanted = next((int(wish.removeprefix("exit ")) for wish in wishes if wish.startswith("exit ")), None)
    if code not in (_USUAL if wanted is None else (wanted,)):
        raise BadExample(f"{command} ends with {code}: {text}")
    if target:
        Path(target).write_text(text, encoding="utf-8")
        text = ""
    shown, items = (_wish(wishes, name) for name in ("show", "items"))
    kept = _kept(text.rstrip("\n"), [each.strip() for each in shown.split(",") if each.strip()])
    kept = _of_lists(kept, [each.strip() for each in items.split("|")]) if items else kept
    lines = [f"$ {command}", *_first(kept, int(_wish(wishes, "head") or len(kept)))]
    if wanted is not None:
        lines += ["$ echo $?", str(wanted)]
    return "\n".join(line.rstrip() for line in ["```console", *lines, "```"]) + "\n"


def _wish(wishes: Iterable[str], name: str) -> str:
    return next((wish.removeprefix(f"{name} ") for wish in wishes if wish.startswith(f"{name} ")), "")


def _first(lines: list[str], number: int) -> list[str]:
    """The first `number` of `lines`.

    Raises:
        BadExample: there are no more lines than that, so nothing would be left out.
    """
    if len(lines) < number:
        raise BadExample(f"it prints {len(lines)} lines, not {number}")
    return lines if len(lines) == number else [*lines[:number], LEFT_OUT]


def _of_lists(lines: list[str], wanted: list[str]) -> list[str]:
    """`lines` without the list items that have none of `wanted` in them. An item begins with a symbol, a number or a
    dash, and its further lines are indented deeper.

    Raises:
        BadExample: no item has one of them.
    """
    made: list[str] = []
    for item in _items(lines):
        begins = _ITEM.match(item[0])
        if begins is None or any(each in "\n".join(item) for each in wanted):
            made += item
        elif made[-1:] != [f"{begins.group(1)}{LEFT_OUT}"]:
            made.append(f"{begins.group(1)}{LEFT_OUT}")
    missing = [each for each in wanted if not any(each in line for line in made)]
    if missing:
        raise BadExample(f"no item has {', '.join(missing)} in it")
    return made


def _items(lines: Iterable[str]) -> Iterator[list[str]]:
    """Each outermost item of a list with its lines; any other line by itself."""
    item: list[str] = []
    depth = 0
    for line in lines:
        deeper = bool(line) and len(line) - len(line.lstrip()) > depth
        if item and not deeper:
            yield item
            item = []
        begins = _ITEM.match(line)
        if item:
            item.append(line)
        elif begins:
            item, depth = [line], len(begins.group(1))
        else:
            yield [line]
    if item:
        yield item


def _kept(text: str, wanted: list[str]) -> list[str]:
    """The paragraphs that begin with a word of `wanted` (``first``: the first paragraph); all paragraphs without
    `wanted`.

    Raises:
        BadExample: no paragraph begins with such a word.
    """
    if not wanted:
        return text.splitlines()
    found: list[str] = []
    paragraphs = text.split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        if (number == 0 and "first" in wanted) or paragraph.startswith(tuple(wanted)):
            found.append(paragraph)
        elif found[-1:] != [LEFT_OUT]:
            found.append(LEFT_OUT)
    missing = [each for each in wanted if each != "first" and not _begins(paragraphs, each)]
    if missing:
        raise BadExample(f"nothing begins with {', '.join(missing)} in: {text[:500]}")
    return "\n\n".join(found).splitlines()


def _begins(paragraphs: Iterable[str], word: str) -> bool:
    return any(paragraph.startswith(word) for paragraph in paragraphs)


def _ran(argv: list[str]) -> tuple[int, str]:
    """The exit code, and stdout, or stderr where stdout is empty."""
    out, err = io.StringIO(), io.StringIO()
    code = run(argv, out, err, context=CommandContext(out, err, {"COLUMNS": "100"}))
    return code, out.getvalue() or err.getvalue()
