"""``kubectl eksdoc drain status --attach``: watch a drain that somebody else is running."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import exits, rights
from kubectl_eksdoc.cli import look as looks
from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions
from kubectl_eksdoc.cli.progress import ProgressLine
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.run.carrying import reached_by
from kubectl_eksdoc.cli.streams import is_left
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.core.model.kinds import ReadState
from kubectl_eksdoc.errors import Forbidden, UsageError
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.model.run_notes import RunNote
    from kubectl_eksdoc.core.run.others import OthersNode

COMMAND = "drain status --attach"

FORMATS = ("table", "wide", "json")
"""Each change is a table, or a line of JSON."""


def run_attach(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """Every change is told as it comes; at the end nothing is left to say. With ``-w=false``: as it stands now.

    Raises:
        EksdocError: there is no such node, or the cluster is at fault.
    """
    from kubectl_eksdoc.flows.run.attaching import attach
    from kubectl_eksdoc.render.run import events, others
    from kubectl_eksdoc.render.run.watch_result import watch

    SourceOptions.check_live(args)
    options = GlobalOptions.from_args(args)
    if options.output not in FORMATS:
        raise UsageError(f"drains of others have no output format {options.output!r}", "choose table, wide or json")
    look = looks.decide(options, around.stdout, around.environ)

    def command(note: RunNote) -> str:
        reached = reached_by(options, note.journal or run_options.namespace_from(args))
        return shlex.join(["kubectl", "eksdoc", "drain", "status", note.run, "-w", *reached])

    unread: set[str] = set()

    def show(cluster: Cluster, nodes: Sequence[OthersNode]) -> None:
        for each in cluster.reads:
            if each.state is ReadState.FORBIDDEN and each.resource.full_name not in unread:
                unread.add(each.resource.full_name)
                around.note(f"how long it takes may be wrong: missing right list {each.resource.full_name}")
        missing = sorted(set(words) - {node.name for node in cluster.nodes})
        if missing:
            raise UsageError(f"there is no node {missing[0]}", "kubectl get nodes lists them.")
        now = around.now()
        if options.output == "json":
            around.say(events.json_line(watch(nodes, now, command)))
        else:
            around.say(others.page(nodes, now, look, options.output == "wide", command) + "\n")

    edges = around.edges
    try:
        with edges.told_to_stop() as told, edges.open_watch(options.connection) as watched:
            with ProgressLine(around.stderr) as progress:
                reader = around.open_reader(SourceChoice(), options.connection, progress)
            attach(reader, watched, edges.clock, frozenset(words), show, lambda: told() > 0 or is_left(around.stdout))
    except Forbidden as error:
        raise rights.explained(error, COMMAND) from error
    return Answer("", exits.CLEAN)
