"""Groups of options that commands share: where the cluster is, how to answer, and from what to read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from kubectl_eksdoc.cli import values
from kubectl_eksdoc.cli.flags import HONOURED, OUTPUTS, REFUSED, Flag, Takes
from kubectl_eksdoc.cli.parser import Refusal
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.wiring.sources import SourceChoice

LEVELS = 3
"""Global flags are taken at so many depths: ``kubectl eksdoc HERE drain HERE plan HERE``."""

_OUTPUT_HINTS = ("jsonpath", "custom-columns", "go-template", "template")


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """kubectl's global flags and ours. `connection` holds those that decide how a cluster is reached."""

    connection: Connection = Connection()
    namespace: str = ""
    all_namespaces: bool = False
    region: str = ""
    cluster_name: str = ""
    profile: str = ""
    output: str = "table"
    no_headers: bool = False
    no_color: bool = False
    ascii: bool = False
    debug: bool = False

    @staticmethod
    def add_to(parser: argparse.ArgumentParser, level: int, own: Sequence[str] = ()) -> None:
        """Add the global flags; `level` is how many commands stand before them. `own`: flags of kubectl that this
        command honours itself."""
        for flag in HONOURED:
            _add(parser, flag, level)
        for refused in REFUSED:
            if refused.names[-1] in own:
                continue
            parser.add_argument(
                *refused.names,
                action=Refusal,
                nargs="?",  # a switch as well: it is another command's, so that "=true" may stand behind it
                const=refused.why,
                default=argparse.SUPPRESS,
                help=argparse.SUPPRESS,
            )

    @staticmethod
    def from_args(args: argparse.Namespace) -> GlobalOptions:
        """What was given at any level; the last one wins, repeated flags add up."""
        given: dict[str, Any] = {}
        for flag in HONOURED:
            if flag.takes is Takes.REPEATED:
                levels = (getattr(args, f"{flag.dest}_{level}", ()) for level in range(LEVELS))
                given[flag.dest] = tuple(word for words in levels for word in words)
            elif hasattr(args, flag.dest):
                given[flag.dest] = getattr(args, flag.dest)
        connection = {f.name: given.pop(f.name) for f in fields(Connection) if f.name in given}
        return GlobalOptions(connection=Connection(**connection), **given)


def _add(parser: argparse.ArgumentParser, flag: Flag, level: int) -> None:
    # Without a default: that of a command further right would undo what was given further left.
    common: dict[str, Any] = {"dest": flag.dest, "default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
    if flag.takes is Takes.SWITCH:
        parser.add_argument(*flag.names, action="switch", **common)
        return
    common["metavar"] = flag.metavar
    if flag.takes is Takes.REPEATED:
        parser.add_argument(*flag.names, action="append", **(common | {"dest": f"{flag.dest}_{level}"}))
    elif flag.takes is Takes.SECONDS:
        parser.add_argument(*flag.names, type=values.seconds, **common)
    elif flag.takes is Takes.OUTPUT:
        parser.add_argument(*flag.names, type=_output, **common)
    else:
        parser.add_argument(*flag.names, **common)


def _output(text: str) -> str:
    if text.partition("=")[0] in _OUTPUT_HINTS:
        raise argparse.ArgumentTypeError(f"{text!r} is not supported; use -o json and a JSON tool such as jq")
    return values.OneOf(OUTPUTS, "output format")(text)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What a reading command reads: a live cluster unless ``--snapshot`` or ``--demo`` says otherwise."""

    choice: SourceChoice = SourceChoice()

    @staticmethod
    def add_to(parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group("Read from (default: the live cluster of your kubeconfig)")
        group.add_argument(
            "--snapshot",
            metavar="PATH",
            default=argparse.SUPPRESS,
            help="a folder, archive or file of 'kubectl get … -A -o json' ('-': standard input)",
        )
        group.add_argument("--demo", action="switch", default=argparse.SUPPRESS, help="the built-in cluster")

    @staticmethod
    def add_early(parser: argparse.ArgumentParser) -> None:
        """Take the same flags, unseen in help, before the command they are meant for."""
        hidden: dict[str, Any] = {"default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
        parser.add_argument("--snapshot", metavar="PATH", **hidden)
        parser.add_argument("--demo", action="switch", **hidden)

    @staticmethod
    def check_live(args: argparse.Namespace) -> None:
        """For a command that knows no other source: the flags are taken before it, and must not be passed over.

        Raises:
            UsageError: something else than the live cluster was asked for.
        """
        if not SourceOptions.from_args(args).choice.live:
            raise UsageError(
                "runs are of the live cluster: --demo and --snapshot do not go with them",
                "To practise: kubectl eksdoc rehearse --serve --demo, and its kubeconfig.",
            )

    @staticmethod
    def from_args(args: argparse.Namespace) -> SourceOptions:
        """
        Raises:
            UsageError: both were given, or an empty path.
        """
        demo = getattr(args, "demo", False)
        path = getattr(args, "snapshot", None)
        if path is not None and demo:
            raise UsageError(
                "--snapshot and --demo exclude each other", "Give one of them, or none for the live cluster."
            )
        if path == "":
            raise UsageError("--snapshot needs the path of a dump")
        return SourceOptions(SourceChoice(snapshot=path or "", demo=demo))
