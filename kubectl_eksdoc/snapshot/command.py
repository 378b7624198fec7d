"""``kubectl eksdoc snapshot``.

Belongs here: its flags, and which file is written.
Never here: what is asked (that is `recording`), and what of it may be written down.
"""

from __future__ import annotations

import argparse
import os

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import exits, opening, options
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import add_command
from kubectl_eksdoc.cli.parser import Commands, add_switch
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.session.sources import SourceChoice

# ``kubectl eksdoc snapshot FILE``: its flags, and its answer.


NAME = "snapshot"

_ABOUT = """\
Save everything that this tool reads from the cluster and AWS to one file, to plan offline, to share it with a colleague
or to compare with later. Commands that only read, rehearse and the interactive UI accept it with --snapshot FILE. It
contains no Secrets; of Helm releases only which release has which objects. Values of variables, annotations, arguments
and ConfigMaps are included where a check needs them; all others are replaced by a digest.

Examples:
  %(prog)s prod.eksdoc
  %(prog)s prod.eksdoc --context prod --profile audit
  %(prog)s prod.eksdoc --overwrite -o json
  %(prog)s demo.eksdoc --demo
  kubectl eksdoc check --snapshot prod.eksdoc
"""

_EXIT_CODES = """\
Exit codes: 0 complete, 5 written, but something could not be read; 2 usage, 3 cluster, 4 AWS.
"""


def add_to(commands: Commands) -> None:
    """Add ``snapshot``."""
    parser = add_command(
        commands,
        NAME,
        "save the cluster and AWS data to a file, without secrets, for offline use",
        "FILE [flags]",
        _ABOUT,
        _EXIT_CODES,
        run,
    )
    group = parser.add_argument_group("Read from (default: the live cluster of your kubeconfig)")
    add_switch(group, "--demo", "the built-in cluster", default=argparse.SUPPRESS)
    group = parser.add_argument_group("Output file")
    add_switch(group, "--overwrite", "overwrite FILE if it exists")
    options.add_without(parser.add_argument_group("What is in it"), *permissions.SKIPPABLE)


def _path_from(args: argparse.Namespace, source: SourceChoice) -> str:
    """
    Raises:
        UsageError: no file is named, or several, or one that is there, or a snapshot is to be read.
    """
    if not args.words:
        raise UsageError("the file is not named to which the snapshot is to be written", f"{NAME} FILE")
    if len(args.words) > 1:
        raise UsageError(f"one file is written, and {len(args.words)} are named: {', '.join(args.words)}")
    if source.snapshot:
        raise UsageError("a snapshot is made of a cluster that lives, or of --demo, not of another one")
    path = str(args.words[0])
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):  # /dev/null would be replaced
        raise UsageError(f"{path!r} is no file to write to: its parts are put together at its end", "Name a file.")
    if os.path.exists(path) and not args.overwrite:
        raise UsageError(f"{path} is there already", "Name another file, or give --overwrite.")
    return path


def run(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line, the cluster, AWS or the file is at fault; the error says which.
    """
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from kubectl_eksdoc.snapshot.report import SnapshotReport

    path, without = _path_from(args, around.source), options.without_from(args)
    SnapshotReport.check(around.options.output)
    with opening.explaining(NAME), ProgressLine(around.stderr) as progress:
        taken = around.take_snapshot(path, around.source, around.connection, around.aws, progress, __version__, without)
    report = SnapshotReport(taken, path, without)
    whole = all(
        scene.aws is None and not scene.left_out and all(read.known for read in scene.reads)
        for scene in taken.snapshot.scenes.values()
    )
    return opening.answer(report, around, exits.CLEAN if whole else exits.UNKNOWN)
