"""Command lines without a command, which open the interactive UI, and the parsers of commands that have subcommands.

All other command lines need the complete tree (`cli.main`), whose commands import much that the first paint does not
need.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kubectl_eksdoc.errors import UsageError

from .entry_point import lazy_call
from .parser import Commands, Parser, ShowText, add_flag, expand_bare_flags, split_at_dashes

REPLAY = "--replay"
_REPLAYED = "replayed"

_ABOUT = """\
Check, plan and run the risky steps of an Amazon EKS upgrade: node drains, add-on updates, the instance metadata service
(IMDS), DNS and Spot interruptions. Without a command, open the interactive UI (--demo for the built-in cluster).

Examples:
  %(prog)s check
  %(prog)s drain plan -l eks.amazonaws.com/nodegroup=blue
  %(prog)s addon-diff coredns --demo
"""


def root_parser(prog: str, *, only_help: bool = False) -> Parser:
    """The parser without any command. `only_help`: without the flags that its help does not show."""
    parser = Parser(
        prog=prog,
        usage="%(prog)s COMMAND [flags]",
        description=_ABOUT,
        epilog=f'"{prog} options" lists the flags that every command takes.',
    )
    parser.set_defaults(leaf=parser)
    if not only_help:
        _add_global_flags(parser, level=0)
    _add_replay(parser)
    parser.opens_ui = True
    return parser


def add_drain(commands: Commands) -> Commands:
    """Add ``drain``; returns the action to which its subcommands are added."""
    drain = commands.add_parser("drain", help="plan and run node drains", description="Plan and run node drains.")
    _add_global_flags(drain, level=1)
    _add_replay(drain)
    drain.opens_ui = True
    return drain.add_commands()


def _add_global_flags(parser: Parser, level: int) -> None:
    from .flags import GlobalOptions
    from .options import add_source_early

    GlobalOptions.add_to(parser, level=level)
    add_source_early(parser)


def _add_replay(parser: Parser) -> None:
    add_flag(
        parser,
        REPLAY,
        "FILE",
        "replay a run in the interactive UI from its journal, or from the output of 'drain run -o "
        "json'; needs no cluster",
        dest=_REPLAYED,
        default=argparse.SUPPRESS,
    )


def replay_path(args: argparse.Namespace) -> str | None:
    """The path that was given to `REPLAY`, None without that flag."""
    path: str | None = getattr(args, _REPLAYED, None)
    return path


def check_no_replay(args: argparse.Namespace, leaf: Parser) -> None:
    """For a command that follows the flag.

    Raises:
        UsageError: `REPLAY` was given.
    """
    if replay_path(args) is not None:
        raise UsageError(
            f"{REPLAY} before {leaf.prog.split()[-1]!r} opens the interactive UI and cannot be used with a command",
            "In lines: kubectl eksdoc drain status --replay FILE",
        )


def parse_without_command(argv: Sequence[str], prog: str) -> argparse.Namespace | None:
    """The parsed flags; None where the line is more than flags without a command: a word, ``--help``, a mistake."""
    flags, words_after_dashes = split_at_dashes(argv)
    if words_after_dashes or not all(word.startswith("-") for word in flags[:1]):
        return None
    parser = root_parser(prog)
    try:
        args, extras = parser.parse_known_args(expand_bare_flags(flags, parser.flags_without_value()))
    except (ShowText, UsageError):
        return None
    return None if extras else args


# ``kubectl eksdoc options``: the global flags, which are not in the help of each command, as in kubectl.


def add_options(commands: Commands) -> None:
    """Add the command; without a help text it is not listed."""
    parser = commands.add_parser("options", description="List the flags that every command takes.")
    parser.set_defaults(
        leaf=parser, command=lambda args, around: lazy_call("cli.context.CommandAnswer")(_options_text())
    )


def _options_text() -> str:
    """The flags of kubectl, the flags of this tool, and the refused flags of kubectl with the reason."""
    from .flags import REFUSED_FLAGS, SUPPORTED_FLAGS

    width = max(len(flag.help_name) for flag in SUPPORTED_FLAGS) + 2
    lines = ["Flags of kubectl, before or after the command:"]
    lines += [f"  {flag.help_name:<{width}}{flag.about}" for flag in SUPPORTED_FLAGS if not flag.is_own]
    lines += ["", "Flags of this tool, before or after the command:"]
    lines += [f"  {flag.help_name:<{width}}{flag.about}" for flag in SUPPORTED_FLAGS if flag.is_own]
    lines += ["", "Flags of kubectl that are refused:"]
    lines += [f"  {', '.join(names.split()):<{width}}{why}" for names, why in REFUSED_FLAGS.items()]
    return "\n".join(lines) + "\n"
