"""Stop times of pods in earlier runs: from the journals of this machine, and from those of the cluster if they can be
read. Used by both plan commands and the screens."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

from kubectl_eksdoc.errors import EksdocError

if TYPE_CHECKING:  # help must not load facts and plans
    from kubectl_eksdoc.cli.context import CommandContext
    from kubectl_eksdoc.model.cluster import Identity
    from kubectl_eksdoc.model.connection import Connection

MAX_RUNS = 3
"""Number of the cluster's runs whose journals are read."""


def stop_times(
    connection: Connection, namespace: str, context: CommandContext, say: Callable[[str], object]
) -> Callable[[Identity], tuple[tuple[str, float], ...]]:
    """Return a function from a cluster's identity to template and seconds of each pod that stopped. `namespace`: of the
    journals in the cluster; `say` receives a line if they cannot be used. A run whose journal is on this machine is not
    read from the cluster."""

    def found(identity: Identity) -> tuple[tuple[str, float], ...]:
        from ..run.journal import stop_times_in

        edges = context.edges
        by_run = edges.earlier_journals(context.environ, identity.uid)
        try:
            runs = edges.open_runs(connection, edges.journal_location("", namespace, context.environ))
            for each in runs.all()[:MAX_RUNS]:
                if each.run not in by_run:
                    by_run[each.run] = runs.entries(each.run)
        except EksdocError as error:
            say(f"stop times in journals of the cluster are not used: {error.message}")
        return tuple(chain(*map(stop_times_in, by_run.values())))

    return found
