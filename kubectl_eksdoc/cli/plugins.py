"""``kubectl eksdoc plugins``: create, remove and list the entry points ``kubectl eksdoc-X`` of one installation."""

from __future__ import annotations

import argparse
from functools import partial

from kubectl_eksdoc.host.completers import (
    EntryPoint,
    EntryPointState,
    entry_points,
    link_entry_point,
    unlink_entry_point,
)

from .completion import (
    add_subcommand,
    dry_run_text,
    folder_and_notes,
    is_dry_run,
    lines_answer,
    remove_links,
    run_or_usage_error,
)
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
    subparsers = parser.add_commands()
    add_subcommand(subparsers, "link", "create links for the entry points", _LINK, link_entry_points, has_dry_run=True)
    add_subcommand(subparsers, "unlink", "remove these links", _UNLINK, unlink_entry_points, has_dry_run=True)
    add_subcommand(subparsers, "status", "list the entry points", _STATUS, show_status)


def link_entry_points(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Run ``plugins link``.

    Raises:
        UsageError: the location of this program is unknown, or its folder cannot be written to.
    """
    (folder, on_path), dry_run = folder_and_notes(args.words, context), is_dry_run(args)
    entries = entry_points(folder)
    lines = [_link_line(each, dry_run) for each in entries]
    if any(each.state is EntryPointState.MISSING for each in entries):
        lines.append("Tab completion for them: kubectl eksdoc completion install")
    return lines_answer(
        [*lines, *on_path], any(each.state in (EntryPointState.OTHER, EntryPointState.DANGLING) for each in entries)
    )


def unlink_entry_points(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Run ``plugins unlink``. Raises: as `link_entry_points`."""
    (folder, _), dry_run = folder_and_notes(args.words, context), is_dry_run(args)
    links = (each for each in entry_points(folder) if each.state in (EntryPointState.LINK, EntryPointState.DANGLING))
    return remove_links({each.path: partial(unlink_entry_point, each) for each in links}, folder, dry_run)


def show_status(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Run ``plugins status``. Raises: as `link_entry_points`."""
    folder, on_path = folder_and_notes(args.words, context)
    entries = entry_points(folder)
    lines = [f"kubectl eksdoc-{each.command}: {_state_text(each)}" for each in entries]
    if any(each.state is EntryPointState.MISSING for each in entries):
        lines.append("To make what is missing: kubectl eksdoc plugins link")
    all_exist = all(each.state in (EntryPointState.LINK, EntryPointState.INSTALLED) for each in entries)
    return lines_answer([*lines, *on_path], not all_exist or bool(on_path))


def _link_line(entry: EntryPoint, dry_run: bool) -> str:
    if entry.state is EntryPointState.MISSING:
        if not dry_run:
            run_or_usage_error(lambda: link_entry_point(entry), f"make {entry.path}")
        return f"{dry_run_text(dry_run, 'make', 'made')} {entry.path}"
    if entry.state in (EntryPointState.OTHER, EntryPointState.DANGLING):
        return f"left alone: {entry.path} {_state_text(entry)}"
    return f"there already: {entry.path} ({_state_text(entry)})"


def _state_text(entry: EntryPoint) -> str:
    return {
        EntryPointState.LINK: "a link to kubectl-eksdoc",
        EntryPointState.INSTALLED: "installed by krew or pip",
        EntryPointState.MISSING: "missing",
        EntryPointState.DANGLING: "a link to a program that is gone; kubectl eksdoc plugins unlink removes it",
        EntryPointState.OTHER: "is not a file of this tool; move it away and link again",
    }[entry.state]
