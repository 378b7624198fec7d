"""Record what commands of kubectl take: tests hold what remedies print to tests/data/commands.json.

    python -m tools.record_flags PROGRAM

It writes the flags of each command of kubectl that is listed there, as the help of that PROGRAM has them, with the kind
of their value. What others take (eksctl, helm, kubectl's plugin convert, Terraform) is read from their sources and
written by hand.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

RECORD = Path(__file__).parents[1] / "tests" / "data" / "commands.json"
PLUGINS = ("convert",)
_FLAG = re.compile(r"^    (?:(-\w), )?(--[\w-]+)=(.*):$", re.MULTILINE)
OPTIONAL = ("--dry-run", "--cascade", "--validate")
"""The next word is not their value (kubernetes, staging/src/k8s.io/kubectl/pkg/cmd: NoOptDefVal)."""


def kind(flag: str, default: str) -> str:
    """The kind of its value: bool, int, duration, optional or text."""
    if default in ("true", "false"):
        return "bool"
    if re.fullmatch(r"-?\d+", default):
        return "int"
    if re.fullmatch(r"(\d+(\.\d+)?(h|ms|m|s))+", default):
        return "duration"
    return "optional" if flag in OPTIONAL else "text"


def flags_of(program: str, command: str) -> dict[str, str]:
    """The flags in its help; "options" are those of every command.

    Raises:
        ValueError: there is no such command.
    """
    words = [program, *command.split(), *(() if command == "options" else ("--help",))]
    told = subprocess.run(words, capture_output=True, text=True, timeout=30)
    known = f"kubectl {command} " in told.stdout or command == "options"
    if told.returncode or not known:
        raise ValueError(f"{program} has no {command}")
    return {
        name: kind(flag, default)
        for short, flag, default in _FLAG.findall(told.stdout)
        for name in filter(None, (short, flag))
    }


def version_of(program: str) -> str:
    """The version of a kubectl: ``v1.33.1``."""
    words = [program, "version", "--client", "-o", "json"]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True, timeout=30).stdout)
    return str(told["clientVersion"]["gitVersion"])


def main(argv: Sequence[str] = tuple(sys.argv[1:])) -> int:
    if len(argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    found, program = record["kubectl"], argv[0]
    found["source"] = f"kubectl {version_of(program)}, kubectl COMMAND --help and kubectl options"
    found["options"] = flags_of(program, "options")
    found["commands"] = {
        each: was if each in PLUGINS else flags_of(program, each) for each, was in found["commands"].items()
    }
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
