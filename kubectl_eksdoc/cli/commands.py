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
    from kubectl_eksdoc.cli import drain

    return drain.add_to(commands)


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


_REHEARSED = "try a drain on a simulated cluster, or serve one"

_UNDER_DRAIN = (
    Command("plan", "what a drain would do, in which order, and what blocks it", _plan),
    Command("run", "drain nodes: shown first, typed back, written down, and stopped by its guards", _run),
    Command("status", "which runs there are, and how they stand", _status),
    Command("pause", "evict nothing more for now, from any machine", _pause),
    Command("abort", "end a run, from any machine; nodes stay cordoned", _abort),
    Command("resume", "go on with a run, on any machine", _resume),
    Command("rollback", "take back what a run did to nodes; pods do not move back", _rollback),
    Command("rehearse", _REHEARSED, _rehearse_below),
)

COMMANDS: tuple[Command, ...] = (
    Command("drain", "plan the drain of nodes, and do it", _drain, _UNDER_DRAIN),
    Command("rehearse", _REHEARSED, _rehearse),
    Command("check", "whether this cluster may be upgraded, and in which order", _check),
    Command("addon-diff", "what an add-on's update will really change", _addon_diff),
    Command("imds-probe", "who loses the instance metadata service, and why", _imds_probe),
    Command("coredns-lameduck", "whether DNS survives its nodes, and how to make it", _coredns_lameduck),
    Command("interruption", "whether Karpenter receives Spot interruption events, and what is missing", _interruption),
    Command("snapshot", "write all that is read to a file, without secrets, to answer from it later", _snapshot),
    Command("completion", "complete words with the Tab key: install it, take it away, look", _completion),
    Command("plugins", "make kubectl eksdoc-drain and the other entry points, remove them, list them", _plugins),
    Command("permissions", "the ClusterRole and the IAM policy of a command, and whether you have them", _permissions),
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


def _grow(commands: Commands, them: Sequence[Command], only: tuple[str, ...] | None) -> None:
    for command in them:
        if only is None or only[:1] == (command.name,):
            under = command.add_to(commands)
            if under is not None:
                _grow(under, command.under, None if only is None else only[1:])


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
