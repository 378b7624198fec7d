"""``kubectl eksdoc plugins``: create, remove and list the entry points ``kubectl eksdoc-X`` of one installation."""

from __future__ import annotations

import argparse
from functools import partial

from kubectl_eksdoc.host.completers import EntryPoint, EntryPointState, entry_points, link_plugins, unlink_plugins

from .completion import add_under, answer, done, is_dry, located, unlinked, would
from .context import CommandAnswer, CommandContext
from .flags import LEVELS, GlobalOptions
from .parser import Commands

NAME = "plugins"

_ABOUT = """\
Six commands also have their own plugin name: kubectl eksdoc-drain is kubectl eksdoc drain. pip installs these entry
points. After an installation with krew, "plugins link" creates them in krew's folder without a second installation.
"""
_LINK = """\
Create a link kubectl-eksdoc_X to kubectl-eksdoc for each of the six commands, in the folder of kubectl-eksdoc. Existing
files are kept. The links stay valid after kubectl krew upgrade.
"""
_UNLINK = """\
Remove the links that "plugins link" created, and nothing else. Run it before kubectl krew uninstall eksdoc.
"""
_STATUS = """\
List the entry points of the six commands and their type. Exit codes: 0 all exist, 1 at least one is missing.
"""


def add_to(commands: Commands) -> None:
    about = "create, remove or list the entry points such as kubectl eksdoc-drain"
    parser = commands.add_parser(NAME, help=about, description=_ABOUT)
    GlobalOptions.add_to(parser, level=LEVELS - 2)
    under = parser.add_commands()
    add_under(under, "link", "create links for the entry points", _LINK, make, dry=True)
    add_under(under, "unlink", "remove these links", _UNLINK, remove, dry=True)
    add_under(under, "status", "list the entry points", _STATUS, status)


def make(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Run ``plugins link``.

    Raises:
        UsageError: the location of this program is unknown, or its folder cannot be written to.
    """
    (folder, on_path), dry = located(args.words, around), is_dry(args)
    entries = entry_points(folder)
    lines = [_made(each, dry) for each in entries]
    if any(each.state is EntryPointState.MISSING for each in entries):
        lines.append("Tab completion for them: kubectl eksdoc completion install")
    return answer(
        [*lines, *on_path], any(each.state in (EntryPointState.OTHER, EntryPointState.DANGLING) for each in entries)
    )


def remove(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Run ``plugins unlink``. Raises: as `link_entry_points`."""
    (folder, _), dry = located(args.words, around), is_dry(args)
    there = (each for each in entry_points(folder) if each.state in (EntryPointState.LINK, EntryPointState.DANGLING))
    return unlinked({each.path: partial(unlink_plugins, each) for each in there}, folder, dry)


def status(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Run ``plugins status``. Raises: as `link_entry_points`."""
    folder, on_path = located(args.words, around)
    entries = entry_points(folder)
    lines = [f"kubectl eksdoc-{each.command}: {_stands(each)}" for each in entries]
    if any(each.state is EntryPointState.MISSING for each in entries):
        lines.append("To make what is missing: kubectl eksdoc plugins link")
    there = all(each.state in (EntryPointState.LINK, EntryPointState.INSTALLED) for each in entries)
    return answer([*lines, *on_path], not there or bool(on_path))


def _made(each: EntryPoint, dry: bool) -> str:
    if each.state is EntryPointState.MISSING:
        if not dry:
            done(lambda: link_plugins(each), f"make {each.path}")
        return f"{would(dry, 'make', 'made')} {each.path}"
    if each.state in (EntryPointState.OTHER, EntryPointState.DANGLING):
        return f"left alone: {each.path} {_stands(each)}"
    return f"there already: {each.path} ({_stands(each)})"


def _stands(each: EntryPoint) -> str:
    return {
        EntryPointState.LINK: "a link to kubectl-eksdoc",
        EntryPointState.INSTALLED: "installed by krew or pip",
        EntryPointState.MISSING: "missing",
        EntryPointState.DANGLING: "a link to a program that is gone; kubectl eksdoc plugins unlink removes it",
        EntryPointState.OTHER: "is not a file of this tool; move it away and link again",
    }[each.state]
