"""Examples of the documents: command lines that stand in a comment, run on the built-in cluster, with what they print.

``<!-- run: kubectl eksdoc check --demo ; show first, FINDINGS ; exit 1 -->`` begins a block, and ``<!-- end run -->``
ends it. Commands of one page run one after another in a folder of their own, so that one may read what another wrote
with ``> FILE``.
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

from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.surroundings import Surroundings

_BLOCK = re.compile(r"(<!-- run: (.+?) -->\n).*?(<!-- end run -->)", re.DOTALL)
_PROGRAM = ["kubectl", "eksdoc"]
_USUAL = (0, 1, 5)
"""Exit codes that need no word: it has answered."""
LEFT_OUT = "[…]"


class BadExample(ValueError):
    """What is written in the comment cannot be run, or ends in another way than it says."""


def filled(text: str) -> str:
    """`text` with every block's content made anew.

    Raises:
        BadExample: one of them.
    """
    if not _BLOCK.search(text):
        return text
    with _folder():
        return _BLOCK.sub(lambda match: f"{match.group(1)}{_block(match.group(2))}{match.group(3)}", text)


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
    shown = next((wish.removeprefix("show ") for wish in wishes if wish.startswith("show ")), "")
    lines = [f"$ {command}", *_kept(text.rstrip("\n"), [each.strip() for each in shown.split(",") if each.strip()])]
    if wanted is not None:
        lines += ["$ echo $?", str(wanted)]
    return "\n".join(line.rstrip() for line in ["```console", *lines, "```"]) + "\n"


def _kept(text: str, wanted: list[str]) -> list[str]:
    """The paragraphs that begin with a word of `wanted` (``first``: the first one, whatever it says); all, where none
    is named.

    Raises:
        BadExample: there is none of that beginning.
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
    """Its exit code, and what it says on stdout, or, where that is nothing, on stderr."""
    out, err = io.StringIO(), io.StringIO()
    code = run(argv, out, err, around=Surroundings(out, err, {"COLUMNS": "100"}))
    return code, out.getvalue() or err.getvalue()
