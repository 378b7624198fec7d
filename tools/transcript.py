"""Output of plans and rehearsals of the built-in cluster, for the README and docs/: generated, not written."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.model.baseline import Baseline
from kubectl_eksdoc.session.sources import read_baseline

COMMAND = ("drain", "plan", "--demo")
WHAT_IF = ("--assume-budget", "shop/checkout=2", "--assume-budget", "data/postgres=2")
SAVED = "before.json"
WIDTH = "100"


def excerpt() -> str:
    """The verdict, the nodes and the first blockers, as a code block; ``[…]`` marks what is left out."""
    text, notes = _ran(*COMMAND)
    verdict, *paragraphs = text.split("\n\n")
    shown = [each for each in paragraphs if each.startswith("TARGETS")]
    (blockers,) = (each for each in paragraphs if each.startswith("BLOCKERS"))
    shown.append("\n".join(blockers.splitlines()[:7]))
    return _console(f"$ kubectl eksdoc {' '.join(COMMAND)}", notes + "\n\n".join((verdict, *shown)) + "\n[…]")


def comparison() -> str:
    """A saved plan, and its comparison with a what-if: the verdict and the differences."""
    saved, _ = _ran(*COMMAND, "-o", "json")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, SAVED)
        path.write_text(saved, encoding="utf-8")
        baseline = replace(read_baseline(str(path)), file=SAVED)
    text, _ = _ran(*COMMAND, *WHAT_IF, "--since", SAVED, read=lambda _: baseline)
    before = f"$ kubectl eksdoc {' '.join(COMMAND)} -o json > {SAVED}"
    command = f"$ kubectl eksdoc {' '.join((*COMMAND, *WHAT_IF))} --since {SAVED}"
    return _console(f"{before}\n{command}", text[: text.index("  most pods away")].rstrip("\n") + "\n\n[…]")


def _ran(*argv: str, read: Callable[[str], Baseline] = read_baseline, expected: int = 1) -> tuple[str, str]:
    """Its answer and its notes; the demo has blockers."""
    out, err = io.StringIO(), io.StringIO()
    code = run(argv, out, err, context=CommandContext(out, err, {"COLUMNS": WIDTH}, read_baseline=read))
    if code != expected:
        raise SystemExit(f"the demo must exit with {expected}, as it has blockers, not {code}: {err.getvalue()}")
    return out.getvalue(), err.getvalue()


def _console(commands: str, said: str) -> str:
    lines = ["```console", commands, said, "```"]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


def snapshot() -> str:
    """The content of a snapshot of the demo."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "demo.eksdoc"))
        text, _ = _ran("snapshot", path, "--demo", expected=0)
    shown = text.replace(path, "demo.eksdoc").splitlines()
    return _console("$ kubectl eksdoc snapshot demo.eksdoc --demo", "\n".join((*shown[:9], "  […]", *shown[-4:])))
