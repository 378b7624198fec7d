"""The table of commands: the help line of each, and the function that adds its parser.

A command does not import the modules of another one: completion uses this table at every press of Tab.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .entry_point import PROG, lazy_call

if TYPE_CHECKING:
    from .parser import Commands, Parser


class Command(NamedTuple):
    """`about` is the help line of its parser, "" for a hidden command. `function_path`: the function that adds the
    parser, and returns the action to which `subcommands` are added."""

    name: str
    about: str
    function_path: str
    subcommands: tuple[Command, ...] = ()

    def add_to(self, commands: Commands) -> Commands | None:
        found: Commands | None = lazy_call(self.function_path)(commands)
        return found


_REHEARSE_ABOUT = "rehearse a drain on a simulated cluster, or serve that cluster"

_DRAIN_COMMANDS = (
    Command("plan", "plan a drain: order, duration and blockers", "drain.command.plan.add_plan"),
    Command(
        "run", "drain nodes after a typed confirmation, with a journal and guards", "drain.command.options.add_run"
    ),
    Command("status", "list runs and show their state", "drain.command.options.add_status"),
    Command("pause", "pause a run, from any machine", "drain.command.options.add_pause"),
    Command("abort", "abort a run, from any machine; nodes stay cordoned", "drain.command.options.add_abort"),
    Command("resume", "resume a run, on any machine", "drain.command.options.add_resume"),
    Command(
        "rollback",
        "uncordon the nodes of a run and restore their annotations; pods do not move back",
        "drain.command.options.add_rollback",
    ),
    Command("rehearse", _REHEARSE_ABOUT, "rehearse.command.add_to"),
)

COMMANDS: tuple[Command, ...] = (
    Command("drain", "plan and run node drains", "cli.bare.add_drain", _DRAIN_COMMANDS),
    Command("rehearse", _REHEARSE_ABOUT, "rehearse.command.add_at_top"),
    Command(
        "check", "check whether the cluster can be upgraded, and list the upgrade steps", "check.command.main.add_to"
    ),
    Command("addon-diff", "predict what an add-on update changes and resets", "addon_diff.command.main.add_to"),
    Command(
        "imds-probe",
        "find pods that cannot reach the instance metadata service, and fix them",
        "imds_probe.command.main.add_to",
    ),
    Command(
        "coredns-lameduck",
        "check and fix CoreDNS graceful shutdown and placement",
        "coredns_lameduck.command.main.add_to",
    ),
    Command(
        "interruption", "verify Karpenter interruption handling (SQS, EventBridge, IAM)", "interruption.command.add_to"
    ),
    Command("changes", "list the changes begun on this machine, and resume or undo one", "changes.command.add_to"),
    Command(
        "snapshot",
        "save the cluster and AWS data to a file, without secrets, for offline use",
        "snapshot.command.add_to",
    ),
    Command("completion", "install or remove shell completion", "cli.completion.add_to"),
    Command("plugins", "create, remove or list the entry points such as kubectl eksdoc-drain", "cli.plugins.add_to"),
    Command(
        "permissions",
        "print the ClusterRole and IAM policy that a command needs, or check that you have them",
        "permissions.command.main.add_to",
    ),
    Command("options", "", "cli.bare.add_options"),
)
"""In the order of the help; a new command is one module with `add_to`, and one line here."""


def command_parser(prog: str = PROG, only_path: tuple[str, ...] | None = None) -> Parser:
    """The parser with every command; or only with the command that `only_path` names, one word for each level."""
    from . import bare

    parser = bare.root_parser(prog)
    parser.show_version_flag()
    _add_commands(parser.add_commands(), COMMANDS, only_path)
    return parser


def help_text(path: tuple[str, ...], prog: str = PROG) -> str:
    """The output of ``--help`` of the command `path`. Its subcommands are not imported."""
    from . import bare

    parser = bare.root_parser(prog, only_help=not path)
    parser.show_version_flag()
    _add_commands(parser.add_commands(), COMMANDS, path, list_names=True)
    for word in path:
        parser = (parser.command_parsers() or {})[word]
    return parser.format_help()


def _add_commands(
    commands: Commands, entries: Sequence[Command], only_path: tuple[str, ...] | None, *, list_names: bool = False
) -> None:
    """`list_names`: below `only_path`, add the commands with their help lines and without their flags."""
    for command in entries:
        if list_names and not only_path and command.about:
            commands.add_parser(command.name, help=command.about)
        elif only_path is None or only_path[:1] == (command.name,):
            subparsers = command.add_to(commands)
            if subparsers is not None:
                _add_commands(
                    subparsers, command.subcommands, None if only_path is None else only_path[1:], list_names=list_names
                )


def find_command(path: Sequence[str]) -> Command | None:
    """The command that the words of `path` name, one level each; None where there is none in this table. An empty path
    names the program itself."""
    found: Command | None = Command("", "", "", COMMANDS)
    for word in path:
        found = next((each for each in (found.subcommands if found else ()) if each.name == word), None)
    return found


def listed_commands(path: Sequence[str]) -> tuple[Command, ...] | None:
    """The commands under `path` that help shows, in its order; None where `path` is not a command with subcommands in
    this table."""
    command = find_command(path)
    return tuple(each for each in command.subcommands if each.about) if command and command.subcommands else None
