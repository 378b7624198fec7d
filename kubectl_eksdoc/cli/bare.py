"""The command line as far as it goes without a command: flags alone, which is how the screens are opened.

Every other command line is for the whole tree (`cli.main`), whose commands load much that no first paint needs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kubectl_eksdoc.cli import replay
from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions
from kubectl_eksdoc.cli.parser import Parser, ShowText, spelled_out, until_dashes
from kubectl_eksdoc.errors import UsageError

_ABOUT = (
    "Check, plan and run the risky steps of an Amazon EKS upgrade: node drains, add-on updates, "
    "the instance metadata service (IMDS), DNS and Spot interruptions. Without a command, open "
    "the interactive UI (--demo for the built-in cluster)."
)


def root(prog: str) -> Parser:
    """The parser without any command."""
    parser = Parser(
        prog=prog,
        usage="%(prog)s COMMAND [flags]",
        description=_ABOUT,
        epilog=f'"{prog} options" lists the flags that every command takes.',
    )
    parser.set_defaults(leaf=parser)
    GlobalOptions.add_to(parser, level=0)
    SourceOptions.add_early(parser)
    replay.add_to(parser)
    return parser


def flags_alone(argv: Sequence[str], prog: str) -> argparse.Namespace | None:
    """The flags, None where there is more than flags that stand without a command: a word, a question, a mistake."""
    flags, names = until_dashes(argv)
    if names or not all(word.startswith("-") for word in flags[:1]):
        return None
    parser = root(prog)
    try:
        args, extras = parser.parse_known_args(spelled_out(flags, parser.bare()))
    except (ShowText, UsageError):
        return None
    return None if extras else args
