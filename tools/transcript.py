"""What plans of the built-in cluster print, for the README and docs/: run, not written."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.core.model.baseline import Baseline
from kubectl_eksdoc.wiring import read_baseline

COMMAND = ("drain", "plan", "--demo")
WHAT_IF = ("--delete-emptydir-data", "--assume-budget", "shop/checkout=2", "--assume-budget", "data/postgres=2")
SAVED = "before.json"
WIDTH = "100"
BLOCKERS_SHOWN = 2


def excerpt() -> str:
    """The verdict, the first blockers and the tables of nodes, as a code block; ``[…]`` marks what is left out."""
    text, notes = _ran(*COMMAND)
    shown: list[str] = []
    blockers = 0
    for paragraph in text.rstrip("\n").split("\n\n"):
        blocker = paragraph.startswith("✗") or "\n✗" in paragraph
        blockers += blocker
        keep = not shown or (blocker and blockers <= BLOCKERS_SHOWN) or paragraph.startswith("TARGETS")
        if keep:
            shown.append(paragraph)
        elif shown[-1] != "[…]":
            shown.append("[…]")
    return _console(f"$ kubectl eksdoc {' '.join(COMMAND)}", notes + "\n\n".join(shown))


def comparison() -> str:
    """A plan, saved, and what a what-if changes of it: the verdict and the comparison."""
    saved, _ = _ran(*COMMAND, "-o", "json")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, SAVED)
        path.write_text(saved, encoding="utf-8")
        baseline = replace(read_baseline(str(path)), file=SAVED)
    text, _ = _ran(*COMMAND, *WHAT_IF, "--baseline", SAVED, read=lambda _: baseline)
    before = f"$ kubectl eksdoc {' '.join(COMMAND)} -o json > {SAVED}"
    command = f"$ kubectl eksdoc {' '.join((*COMMAND, *WHAT_IF))} --baseline {SAVED}"
    return _console(f"{before}\n{command}", text[: text.index("BLOCKERS")].rstrip("\n") + "\n\n[…]")


def _ran(*argv: str, read: Callable[[str], Baseline] = read_baseline) -> tuple[str, str]:
    """Its answer and its notes; the demo has blockers."""
    out, err = io.StringIO(), io.StringIO()
    code = run(argv, out, err, around=Surroundings(out, err, {"COLUMNS": WIDTH}, read_baseline=read))
    if code != 1:
        raise SystemExit(f"the demo must show blockers and exit 1, not {code}: {err.getvalue()}")
    return out.getvalue(), err.getvalue()


def _console(commands: str, said: str) -> str:
    lines = ["```console", commands, said, "```"]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"
