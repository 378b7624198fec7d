"""``kubectl eksdoc options``: the global flags, kept out of each command's help as kubectl does."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kubectl_eksdoc.cli.flags import HONOURED, REFUSED
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command; without a help text it is not listed."""
    parser = commands.add_parser("options", description="List the flags that every command takes.")
    parser.set_defaults(leaf=parser, command=run)


def run(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    return Answer(text())


def text() -> str:
    """The flags of kubectl, ours, and those of kubectl that are refused, with the reason."""
    width = max(len(flag.shown) for flag in HONOURED) + 2
    lines = ["Flags of kubectl, before or after the command:"]
    lines += [f"  {flag.shown:<{width}}{flag.about}" for flag in HONOURED if not flag.ours]
    lines += ["", "Flags of this tool, before or after the command:"]
    lines += [f"  {flag.shown:<{width}}{flag.about}" for flag in HONOURED if flag.ours]
    lines += ["", "Flags of kubectl that are refused:"]
    lines += [f"  {', '.join(refused.names):<{width}}{refused.why}" for refused in REFUSED]
    return "\n".join(lines) + "\n"
