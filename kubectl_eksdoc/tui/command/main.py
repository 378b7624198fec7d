"""``kubectl eksdoc`` without a command: opens the terminal user interface on a terminal."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import bare, streams
from kubectl_eksdoc.cli import opening as looks
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext, no_terminal
from kubectl_eksdoc.cli.options import asked
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
    from kubectl_eksdoc.ports import Field

    from ..opening import LiveClusterAccess, Opening, Progress


# Access of the screens to a live cluster: its address, the cached view, change events, other contexts.


class Pinned:
    """The connection with a fixed context: once resolved, later changes of the kubeconfig's current context do not
    affect it. Mutable."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known = False

    def __call__(self) -> Connection:
        """Raises ConfigError: the kubeconfig cannot be used; the next call tries again."""
        if not self._known:
            self._connection, self._known = sources.pinned(self._connection), True
        return self._connection


def live_of(
    reached: Pinned, around: CommandContext, opened: Callable[[CommandContext, str], Opening]
) -> LiveClusterAccess:
    """`open_with` opens the same screens with other options, for a chosen context."""
    from ..opening import LiveClusterAccess

    def there(context: str) -> Opening:
        options = replace(around.options, connection=at(around.connection, context))
        return opened(replace(around, options=options), context)

    def watch() -> AbstractContextManager[Field]:
        return around.edges.open_watch(reached())

    return LiveClusterAccess(
        where=lambda: sources.whereabouts(reached()),
        last_view=lambda: sources.last_view(around.connection, around.environ),
        remember=lambda cluster: sources.remember(reached(), around.environ, cluster),
        watch=watch,
        contexts=lambda: sources.contexts(around.connection),
        denied=lambda asked: around.edges.denied(reached(), asked),
        pod_report=lambda pod: around.edges.pod_report(reached(), pod),
        at=there,
    )


def at(connection: Connection, context: str) -> Connection:
    """The connection to another context of the same kubeconfig; flags for another server or its user are dropped."""
    return Connection(
        kubeconfig=connection.kubeconfig,
        context=context,
        impersonate_user=connection.impersonate_user,
        impersonate_groups=connection.impersonate_groups,
        impersonate_uid=connection.impersonate_uid,
        request_timeout=connection.request_timeout,
        read_timeout=connection.read_timeout,
        disable_compression=connection.disable_compression,
        page_size=connection.page_size,
    )


COMMAND = "drain plan"
THEME = "EKSDOC_THEME"
LIGHT = "light"
THEMES = ("", "dark", LIGHT)
PRODUCTION = "EKSDOC_PROD"

NO_TERMINAL = """\
error: the screens need a terminal, and {} is not one.
Without one: kubectl eksdoc drain plan --nodegroup NAME (and -o json, markdown or html); drain run carries it out.
"""


def open_screens(args: argparse.Namespace, leaf: Parser, around: CommandContext) -> CommandAnswer:
    """Run the screens until the user leaves; without a terminal, print the help and alternatives.

    Raises:
        UsageError: contradictory data sources.
    """
    missing = no_terminal(around)
    written = bare.replayed(args)
    if written is not None:
        light = around.environ.get(THEME, "").lower() == LIGHT
        return replay.show_again(written, missing, light, asked(args, around))
    if missing:
        streams.say(around.stderr, leaf.format_help() + "\n" + NO_TERMINAL.format(missing))
        return CommandAnswer("", streams.USAGE)
    from kubectl_eksdoc.drain.command.screen_runs import ScreenRuns

    around = asked(args, around)
    with ScreenRuns(around) as runs:
        code = around.open_screens(opening(around, runs))
    return CommandAnswer("", streams.STOPPED if runs.left_in_the_middle else code)


def opening(around: CommandContext, runs: ScreenRuns, chosen: str = "") -> Opening:
    """`kube_context`: the context chosen on the screens, "" for that of the command line."""
    from ..opening import Opening

    source, reached = around.source, Pinned(around.connection)

    def read(progress: Progress) -> Cluster:
        if not source.live:
            where = runs.source
            cluster = around.open_reader(where.source, where.options.connection, progress).read(kinds.ALL)
            return where.named(cluster)
        with looks.explaining(COMMAND):
            cluster = around.open_reader(source, reached(), progress).read(kinds.ALL)
        return _with_stops(cluster, reached(), around)

    def reached_by(cluster: Cluster) -> tuple[str, ...]:
        return looks.words(around, cluster.identity.context)

    def targeting() -> Targeting:
        from kubectl_eksdoc.drain.policy import Targeting

        if not source.demo:
            return Targeting()
        from kubectl_eksdoc.embedded.demo.reader import DEFAULT_NODEGROUP

        return Targeting(nodegroups=(DEFAULT_NODEGROUP,))

    look = looks.decide(around, around.stderr)
    live = None
    if source.live:
        live = live_of(reached, around, lambda there, name: opening(there, runs, name))
    keys, wrong = read_keymap(around.environ)
    theme = around.environ.get(THEME, "").lower()
    not_a_theme = () if theme in THEMES else (f"{THEME} is {theme!r}, and neither dark nor light: it is dark",)
    production, not_a_pattern = _production(around)
    return Opening(
        read,
        targeting,
        reached_by,
        runs.now,
        ascii=look.ascii,
        plain=not look.colour,
        desk=runs.desk_at(lambda: replace(around.options, connection=reached())),
        no_desk=runs.why_not,
        live=live,
        light=theme == LIGHT,
        keys=keys,
        production=production,
        wrong=(*wrong, *not_a_pattern, *not_a_theme),
        needs=_needs,
        context=chosen,
    )


def _production(around: CommandContext) -> tuple[str, tuple[str, ...]]:
    """The pattern of production names, and its problem. An invalid pattern matches every name: a superfluous warning is
    better than a missing one."""
    pattern = around.environ.get(PRODUCTION, "")
    try:
        re.compile(pattern)
    except re.error as error:
        return ".", (f"{PRODUCTION} is no regular expression ({error}): every cluster is marked as production",)
    return pattern, ()


def _with_stops(cluster: Cluster, connection: Connection, around: CommandContext) -> Cluster:
    from kubectl_eksdoc.drain.command.stop_times import stop_times
    from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

    said: list[str] = []
    stops = stop_times(connection, JOURNAL_NAMESPACE, around, said.append)(cluster.identity)
    return replace(cluster, stops=stops, notes=(*cluster.notes, *said))


def _needs() -> PlanPermissions:
    """The rights that a plan and a run need."""
    from kubectl_eksdoc.cli import rights
    from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

    return rights.needs(JOURNAL_NAMESPACE)
