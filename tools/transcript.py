"""What a plan of the built-in cluster prints, for the README: run, not written."""

from __future__ import annotations

import io

from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.surroundings import Surroundings

COMMAND = ("drain", "plan", "--demo")
WIDTH = "100"
BLOCKERS_SHOWN = 2


def excerpt() -> str:
    """The verdict, the first blockers and the tables of nodes, as a code block; ``[…]`` marks what is left out."""
    out, err = io.StringIO(), io.StringIO()
    code = run(COMMAND, out, err, around=Surroundings(out, err, {"COLUMNS": WIDTH}))
    if code != 1:
        raise SystemExit(f"the demo must show blockers and exit 1, not {code}: {err.getvalue()}")
    shown: list[str] = []
    blockers = 0
    for paragraph in out.getvalue().rstrip("\n").split("\n\n"):
        blocker = paragraph.startswith("✗") or "\n✗" in paragraph
        blockers += blocker
        keep = not shown or (blocker and blockers <= BLOCKERS_SHOWN) or paragraph.startswith("TARGETS")
        if keep:
            shown.append(paragraph)
        elif shown[-1] != "[…]":
            shown.append("[…]")
    lines = ["```console", f"$ kubectl eksdoc {' '.join(COMMAND)}", err.getvalue() + "\n\n".join(shown), "```"]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"
