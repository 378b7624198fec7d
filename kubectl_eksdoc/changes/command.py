"""``kubectl eksdoc changes``: list the changes that were started on this machine, and continue or revert one."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

from kubectl_eksdoc.cli import answers, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.entry_point import load_object
from kubectl_eksdoc.cli.options import add_command, check_writable
from kubectl_eksdoc.cli.parser import Commands
from kubectl_eksdoc.errors import LocalJournalError, UsageError
from kubectl_eksdoc.model.change_journal import (
    ADDON_UPDATE,
    DNS_CHANGE,
    METADATA_FIX,
    PLACEMENT,
    TEST_PODS,
    ChangeState,
)
from kubectl_eksdoc.model.connection import IN_CLUSTER
from kubectl_eksdoc.session.sources import SourceChoice

from .applying import SavedChangeRequest

NAME = "changes"
VERBS = ("resume", "undo")
_MAX_JOURNALS = 500
"""Maximum number of journals that are read."""
_MODULES_BY_KIND = {
    ADDON_UPDATE: "addon_diff.command.applying",
    DNS_CHANGE: "coredns_lameduck.command.changing",
    METADATA_FIX: "imds_probe.command.fixing",
    PLACEMENT: "in_cluster.command",
    TEST_PODS: "probes.command",
}

_ABOUT = """\
List the changes that were begun on this machine, from their journals, and continue or revert one of them: updates of
add-ons, changes of CoreDNS, fixes of the metadata service, objects of --in-cluster, and test pods of --active and
--measure that a killed process left. A typed confirmation comes before anything is changed.

Examples:
  %(prog)s
  %(prog)s -o json
  %(prog)s resume 20261120-193005-4f2a
  %(prog)s undo 20261120-193005-4f2a
"""

_EXIT_CODES = """\
Exit codes: 0 shown, 5 of a change it is not known how it stands; resume and undo: those of the command that began
the change, 6 no such journal, 7 another cluster.
"""


def add_to(commands: Commands) -> None:
    """Add ``changes``."""
    add_command(
        commands,
        NAME,
        "list the changes begun on this machine, and resume or undo one",
        "[resume ID | undo ID] [flags]",
        _ABOUT,
        _EXIT_CODES,
        run,
    )


def run(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Run the command.

    Raises:
        UsageError: the arguments are neither ``resume ID`` nor ``undo ID``.
        LocalJournalError: this machine has no journal of that change.
        EksdocError: as the command that started it.
    """
    from kubectl_eksdoc.wiring.runs import saved_change, saved_changes

    from .report import ChangesReport

    if not args.words:
        ChangesReport.check_format(context.options.output)
        location = context.edges.journal_location("", "", context.environ)
        report = ChangesReport(saved_changes(location.environ, location.home, _MAX_JOURNALS))
        unknown = any(each.state is ChangeState.UNKNOWN for each in report.changes)
        return answers.report_answer(report, context, streams.UNKNOWN if unknown else streams.CLEAN)
    if len(args.words) != 2 or args.words[0] not in VERBS:
        raise UsageError(
            f"{' '.join(args.words)!r} is neither resume ID nor undo ID",
            "List the changes and their IDs: kubectl eksdoc changes",
        )
    verb, ident = args.words
    check_writable(context.environ, f"{NAME} {verb}", f"{NAME} alone lists only")
    saved = saved_change(context.edges.journal_location(ident, "", context.environ))
    module = _MODULES_BY_KIND.get(saved.text("kind"))
    if module is None:
        raise LocalJournalError(f"change {ident}: {saved.unknown_reason}")
    handle_change: Callable[[SavedChangeRequest, CommandContext], CommandAnswer] = load_object(f"{module}.again")
    return handle_change(
        SavedChangeRequest(saved, verb == "undo"), _live_context(context, saved.text("cluster", "context"))
    )


def _live_context(command_context: CommandContext, kube_context: str) -> CommandContext:
    """Return a context for the live cluster: with the kube context of the change, unless another one is given."""
    command_context, connection = replace(command_context, source=SourceChoice()), command_context.connection
    if connection.context or connection.server or kube_context in ("", IN_CLUSTER):
        return command_context
    live_options = replace(command_context.options, connection=replace(connection, context=kube_context))
    return replace(command_context, options=live_options)
