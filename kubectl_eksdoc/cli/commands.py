"""The commands at the top: the line of each in the list, and where its parser is made.

What another command needs is not loaded for one of them: completion asks for one at every press of a key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kubectl_eksdoc.cli.called import PROG

if TYPE_CHECKING:
    import argparse

    from kubectl_eksdoc.cli.parser import Parser

    Commands = argparse._SubParsersAction[Parser]


class Command(NamedTuple):
    """`about` is "" where it is not listed; it is what its own parser says. `add_to` makes that parser, and gives back
    where those `under` it are added."""

    name: str
    about: str
    add_to: Callable[[Commands], Commands | None]
    under: tuple[Command, ...] = ()


def _drain(commands: Commands) -> Commands:
    from kubectl_eksdoc.cli import bare

    return bare.add_drain(commands)


def _plan(commands: Commands) -> None:
    from kubectl_eksdoc.cli import drain

    drain.add_plan(commands)


def _run(commands: Commands) -> None:
    from kubectl_eksdoc.cli.run import drain

    drain.add_to(commands)


def _status(commands: Commands) -> None:
    from kubectl_eksdoc.cli.run import status

    status.add_to(commands)


def _pause(commands: Commands) -> None:
    from kubectl_eksdoc.cli.run import status

    status.add_pause(commands)


def _abort(commands: Commands) -> None:
    from kubectl_eksdoc.cli.run import status

    status.add_abort(commands)


def _resume(commands: Commands) -> None:
    from kubectl_eksdoc.cli.run import resume

    resume.add_to(commands)


def _rollback(commands: Commands) -> None:
    from kubectl_eksdoc.cli.run import rollback

    rollback.add_to(commands)


def _rehearse_below(commands: Commands) -> None:
    from kubectl_eksdoc.cli import rehearse

    rehearse.add_to(commands)


def _rehearse(commands: Commands) -> None:
    from kubectl_eksdoc.cli import rehearse

    rehearse.add_to(commands, level=1)


def _check(commands: Commands) -> None:
    from kubectl_eksdoc.cli.check import command

    command.add_to(commands)


def _addon_diff(commands: Commands) -> None:
    from kubectl_eksdoc.cli.addon import command

    command.add_to(commands)


def _imds_probe(commands: Commands) -> None:
    from kubectl_eksdoc.cli.metadata import command

    command.add_to(commands)


def _coredns_lameduck(commands: Commands) -> None:
    from kubectl_eksdoc.cli.dns import command

    command.add_to(commands)


def _interruption(commands: Commands) -> None:
    from kubectl_eksdoc.cli import interruption

    interruption.add_to(commands)


def _changes(commands: Commands) -> None:
    from kubectl_eksdoc.cli import changes

    changes.add_to(commands)


def _snapshot(commands: Commands) -> None:
    from kubectl_eksdoc.cli import snapshot

    snapshot.add_to(commands)


def _completion(commands: Commands) -> None:
    from kubectl_eksdoc.cli import completion

    completion.add_to(commands)


def _plugins(commands: Commands) -> None:
    from kubectl_eksdoc.cli import plugins

    plugins.add_to(commands)


def _permissions(commands: Commands) -> None:
    from kubectl_eksdoc.cli.permissions import command

    command.add_to(commands, lambda path: tree(only=path))


def _options(commands: Commands) -> None:
    from kubectl_eksdoc.cli import flags

    flags.add_to(commands)


_REHEARSED = "rehearse a drain on a simulated cluster, or serve that cluster"

_UNDER_DRAIN = (
    Command("plan", "plan a drain: order, duration and blockers", _plan),
    Command("run", "drain nodes after a typed confirmation, with a journal and guards", _run),
    Command("status", "list runs and show their state", _status),
    Command("pause", "pause a run, from any machine", _pause),
    Command("abort", "abort a run, from any machine; nodes stay cordoned", _abort),
    Command("resume", "resume a run, on any machine", _resume),
    Command("rollback", "uncordon the nodes of a run and restore their annotations; pods do not move back", _rollback),
    Command("rehearse", _REHEARSED, _rehearse_below),
)

COMMANDS: tuple[Command, ...] = (
    Command("drain", "plan and run node drains", _drain, _UNDER_DRAIN),
    Command("rehearse", _REHEARSED, _rehearse),
    Command("check", "check whether the cluster can be upgraded, and list the upgrade steps", _check),
    Command("addon-diff", "predict what an add-on update changes and resets", _addon_diff),
    Command("imds-probe", "find pods that cannot reach the instance metadata service, and fix them", _imds_probe),
    Command("coredns-lameduck", "check and fix CoreDNS graceful shutdown and placement", _coredns_lameduck),
    Command("interruption", "verify Karpenter interruption handling (SQS, EventBridge, IAM)", _interruption),
    Command("changes", "list the changes begun on this machine, and resume or undo one", _changes),
    Command("snapshot", "save the cluster and AWS data to a file, without secrets, for offline use", _snapshot),
    Command("completion", "install or remove shell completion", _completion),
    Command("plugins", "create, remove or list the entry points such as kubectl eksdoc-drain", _plugins),
    Command(
        "permissions",
        "print the ClusterRole and IAM policy that a command needs, or check that you have them",
        _permissions,
    ),
    Command("options", "", _options),
)
"""In the order of the help; a new command is one module with `add_to`, and one line here."""


def tree(prog: str = PROG, only: tuple[str, ...] | None = None) -> Parser:
    """The parser with every command; or with the one that `only` leads to, a word for each level, and no other."""
    from kubectl_eksdoc.cli import bare

    parser = bare.root(prog)
    parser.show_version_flag()
    _grow(parser.add_commands(), COMMANDS, only)
    return parser


def help_of(path: tuple[str, ...], prog: str = PROG) -> str:
    """What ``--help`` prints for the command that `path` leads to. The commands under it are not loaded."""
    from kubectl_eksdoc.cli import bare

    parser = bare.root(prog, only_help=not path)
    parser.show_version_flag()
    _grow(parser.add_commands(), COMMANDS, path, names=True)
    for word in path:
        parser = (parser.under() or {})[word]
    return parser.format_help()


def _grow(commands: Commands, them: Sequence[Command], only: tuple[str, ...] | None, *, names: bool = False) -> None:
    """`names`: below what `only` leads to, the commands with their lines of help and without their flags."""
    for command in them:
        if names and not only and command.about:
            commands.add_parser(command.name, help=command.about)
        elif only is None or only[:1] == (command.name,):
            under = command.add_to(commands)
            if under is not None:
                _grow(under, command.under, None if only is None else only[1:], names=names)


def leads_to(path: Sequence[str]) -> Command | None:
    """The command that the words of `path` name, one level each; None where they name none of this table. No word names
    the program itself."""
    found = Command("", "", lambda _: None, COMMANDS)
    for word in path:
        below = next((each for each in found.under if each.name == word), None)
        if below is None:
            return None
        found = below
    return found


def listed(path: Sequence[str]) -> tuple[Command, ...] | None:
    """The commands under `path` that help shows, in its order; None where that is no command with others under it that
    this table knows."""
    them = COMMANDS
    for word in path:
        found = next((each for each in them if each.name == word and each.under), None)
        if found is None:
            return None
        them = found.under
    return tuple(each for each in them if each.about)
