"""Record what commands and resources take: tests hold what remedies print to tests/data/commands.json.

    python -m tools.record_flags kubectl PROGRAM
    terraform providers schema -json | python -m tools.record_flags terraform

The first writes the flags of each command that is listed there, as that kubectl's own help has them, with the kind of
their value; the second the arguments of each resource, as the provider's schema has them. What these programs do not
tell (eksctl, helm, kubectl's plugin convert, modules of Terraform) is read from their sources and written by hand.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

RECORD = Path(__file__).parents[1] / "tests" / "data" / "commands.json"
PLUGINS = ("convert",)
_FLAG = re.compile(r"^    (?:(-\w), )?(--[\w-]+)=(.*):$", re.MULTILINE)
OPTIONAL = ("--dry-run", "--cascade", "--validate")
"""A word that follows is none of theirs (kubernetes, staging/src/k8s.io/kubectl/pkg/cmd: NoOptDefVal)."""


def kind(flag: str, default: str) -> str:
    """Of its value: bool, int, duration, optional or text."""
    if default in ("true", "false"):
        return "bool"
    if re.fullmatch(r"-?\d+", default):
        return "int"
    if re.fullmatch(r"(\d+(\.\d+)?(h|ms|m|s))+", default):
        return "duration"
    return "optional" if flag in OPTIONAL else "text"


def flags_of(program: str, command: str) -> dict[str, str]:
    """By its help; "options" are those of every command.

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
    """``v1.33.1``, of a kubectl."""
    words = [program, "version", "--client", "-o", "json"]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True, timeout=30).stdout)
    return str(told["clientVersion"]["gitVersion"])


def _kubectl(record: dict[str, Any], program: str) -> None:
    found = record["kubectl"]
    found["source"] = f"kubectl {version_of(program)}, kubectl COMMAND --help and kubectl options"
    found["options"] = flags_of(program, "options")
    found["commands"] = {
        each: was if each in PLUGINS else flags_of(program, each) for each, was in found["commands"].items()
    }


def _terraform(record: dict[str, Any], schemas: TextIO) -> None:
    (provider,) = (each for name, each in json.load(schemas)["provider_schemas"].items() if name.endswith("/aws"))
    found = record["terraform"]
    found["resources"] = {each: arguments(provider["resource_schemas"][each]["block"]) for each in found["resources"]}


def arguments(block: Mapping[str, Any]) -> Sequence[str]:
    """That may be set: of a resource, and of its blocks as ``launch_template.version``."""
    below, told = block.get("block_types", {}), block.get("attributes", {})
    own = [name for name, each in told.items() if each.get("required") or each.get("optional")]
    deep = [f"{name}.{each}" for name, of in below.items() for each in arguments(of["block"]) if "." not in each]
    return sorted((*own, *below, *deep))


def main(argv: Sequence[str] = tuple(sys.argv[1:])) -> int:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    if argv[:1] == ("kubectl",) and len(argv) == 2:
        _kubectl(record, argv[1])
    elif argv == ("terraform",):
        _terraform(record, sys.stdin)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
