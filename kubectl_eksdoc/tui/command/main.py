"""``kubectl eksdoc`` without a command: opens the terminal user interface on a terminal."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import answers as looks
from kubectl_eksdoc.cli import bare, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext, non_terminal_stream
from kubectl_eksdoc.cli.options import context_from_args
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.host.user_files import read_keymap
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.permissions import PlanPermissions
from kubectl_eksdoc.session import sources

from . import replay

if TYPE_CHECKING:
    from kubectl_eksdoc.drain.command.screen_runs import ScreenRuns
    from kubectl_eksdoc.drain.policy import Targeting
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.ports import RunBackend

    from ..opening import LiveClusterAccess, Opening, Progress


# Access of the screens to a live cluster: its address, the cached view, change events, other contexts.


class PinnedConnection:
    """The connection with a fixed context: once resolved, later changes of the kubeconfig's current context do not
    affect it. Mutable."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._is_pinned = False

    def __call__(self) -> Connection:
        """Raises ConfigError: the kubeconfig cannot be used; the next call tries again."""
        if not self._is_pinned:
            self._connection, self._is_pinned = sources.pin_connection(self._connection), True
        return self._connection


def live_access(
    connection: PinnedConnection, context: CommandContext, open_with: Callable[[CommandContext, str], Opening]
) -> LiveClusterAccess:
    """`open_with` opens the same screens with other options, for a chosen context."""
    from ..opening import LiveClusterAccess

    def open_context(kube_context: str) -> Opening:
        options = replace(context.options, connection=with_kube_context(context.connection, kube_context))
        return open_with(replace(context, options=options), kube_context)

    def watch() -> AbstractContextManager[RunBackend]:
        return context.edges.open_watch(connection())

    return LiveClusterAccess(
        address=lambda: sources.cluster_address(connection()),
        last_view=lambda: sources.last_view(context.connection, context.environ),
        remember=lambda cluster: sources.save_last_view(connection(), context.environ, cluster),
        watch=watch,
        contexts=lambda: sources.context_names(context.connection),
        denied_rights=lambda asked: context.edges.denied_permissions(connection(), asked),
        pod_report=lambda pod: context.edges.pod_report(connection(), pod),
        open_context=open_context,
    )


def with_kube_context(connection: Connection, kube_context: str) -> Connection:
    """The connection to another context of the same kubeconfig; flags for another server or its user are dropped."""
    return Connection(
        kubeconfig=connection.kubeconfig,
        context=kube_context,
        impersonate_user=connection.impersonate_user,
        impersonate_groups=connection.impersonate_groups,
        impersonate_uid=connection.impersonate_uid,
        request_timeout=connection.request_timeout,
        read_timeout=connection.read_timeout,
        disable_compression=connection.disable_compression,
        page_size=connection.page_size,
    )


EXPLAINED_COMMAND = "drain plan"
THEME_VARIABLE = "EKSDOC_THEME"
LIGHT = "light"
THEMES = ("", "dark", LIGHT)
PRODUCTION_VARIABLE = "EKSDOC_PROD"

NO_TERMINAL = """\
error: the screens need a terminal, and {} is not one.
Without one: kubectl eksdoc drain plan --nodegroup NAME (and -o json, markdown or html); drain run carries it out.
"""


def open_screens(args: argparse.Namespace, leaf: Parser, context: CommandContext) -> CommandAnswer:
    """Run the screens until the user leaves; without a terminal, print the help and alternatives.

    Raises:
        UsageError: contradictory data sources.
    """
    missing_terminal = non_terminal_stream(context)
    replay_path = bare.replay_path(args)
    if replay_path is not None:
        light = context.environ.get(THEME_VARIABLE, "").lower() == LIGHT
        return replay.show_again(replay_path, missing_terminal, light, context_from_args(args, context))
    if missing_terminal:
        streams.write_note(context.stderr, leaf.format_help() + "\n" + NO_TERMINAL.format(missing_terminal))
        return CommandAnswer("", streams.USAGE)
    from kubectl_eksdoc.drain.command.screen_runs import ScreenRuns

    context = context_from_args(args, context)
    with ScreenRuns(context) as runs:
        exit_code = context.open_screens(screen_opening(context, runs))
    return CommandAnswer("", streams.STOPPED if runs.was_interrupted else exit_code)


def screen_opening(context: CommandContext, runs: ScreenRuns, kube_context: str = "") -> Opening:
    """`kube_context`: the context chosen on the screens, "" for that of the command line."""
    from ..opening import Opening

    source, connection = context.source, PinnedConnection(context.connection)

    def read(progress: Progress) -> Cluster:
        if not source.live:
            replayed_source = runs.source
            cluster = context.open_reader(replayed_source.source, replayed_source.options.connection, progress).read(
                kinds.ALL
            )
            return replayed_source.with_name(cluster)
        with looks.explain_forbidden(EXPLAINED_COMMAND):
            cluster = context.open_reader(source, connection(), progress).read(kinds.ALL)
        return _with_stop_times(cluster, connection(), context)

    def connection_args(cluster: Cluster) -> tuple[str, ...]:
        return looks.target_flags(context, cluster.identity.context)

    def targeting() -> Targeting:
        from kubectl_eksdoc.drain.policy import Targeting

        if not source.demo:
            return Targeting()
        from kubectl_eksdoc.embedded.demo.reader import DEFAULT_NODEGROUP

        return Targeting(nodegroups=(DEFAULT_NODEGROUP,))

    appearance = looks.appearance_for(context, context.stderr)
    live = None
    if source.live:
        live = live_access(connection, context, lambda there, name: screen_opening(there, runs, name))
    keys, key_problems = read_keymap(context.environ)
    theme = context.environ.get(THEME_VARIABLE, "").lower()
    theme_problems = (
        () if theme in THEMES else (f"{THEME_VARIABLE} is {theme!r}, and neither dark nor light: it is dark",)
    )
    production, pattern_problems = _production_pattern(context)
    return Opening(
        read,
        targeting,
        connection_args,
        runs.now,
        ascii=appearance.ascii,
        plain=not appearance.colour,
        run_controller=runs.controller_for(lambda: replace(context.options, connection=connection())),
        read_only_reason=runs.read_only_reason,
        live=live,
        light=theme == LIGHT,
        keys=keys,
        production_pattern=production,
        setting_problems=(*key_problems, *pattern_problems, *theme_problems),
        required_rights=_required_rights,
        context=kube_context,
    )


def _production_pattern(context: CommandContext) -> tuple[str, tuple[str, ...]]:
    """The pattern of production names, and its problem. An invalid pattern matches every name: a superfluous warning is
    better than a missing one."""
    pattern = context.environ.get(PRODUCTION_VARIABLE, "")
    try:
        re.compile(pattern)
    except re.error as error:
        return ".", (
            f"{PRODUCTION_VARIABLE} is no regular expression ({error}): every cluster is marked as production",
        )
    return pattern, ()


def _with_stop_times(cluster: Cluster, connection: Connection, context: CommandContext) -> Cluster:
    from kubectl_eksdoc.drain.command.stop_times import stop_times
    from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

    notes: list[str] = []
    stops = stop_times(connection, JOURNAL_NAMESPACE, context, notes.append)(cluster.identity)
    return replace(cluster, stops=stops, notes=(*cluster.notes, *notes))


def _required_rights() -> PlanPermissions:
    """The rights that a plan and a run need."""
    from kubectl_eksdoc.cli import rights
    from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

    return rights.plan_permissions(JOURNAL_NAMESPACE)
