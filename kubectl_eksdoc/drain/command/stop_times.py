"""How long pods took to stop in earlier runs: by the journals of this machine, and by those of the cluster where they
may be read. One place for whoever plans: the two commands and the screens."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

from kubectl_eksdoc.errors import EksdocError

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.cli.context import CommandContext
    from kubectl_eksdoc.model.cluster import Identity
    from kubectl_eksdoc.model.connection import Connection

LATEST = 3
"""Of so many runs of the cluster the journals are read."""


def stop_times(
    connection: Connection, namespace: str, around: CommandContext, say: Callable[[str], object]
) -> Callable[[Identity], tuple[tuple[str, float], ...]]:
    """Template and seconds of each pod that stopped, for the cluster of an identity. `namespace`: of the journals in
    the cluster; `say` is told, in a line, why they are not used. A run whose journal is here is not read there."""

    def found(identity: Identity) -> tuple[tuple[str, float], ...]:
        from ..run.journal import stops_in

        edges = around.edges
        by_run = edges.earlier_journals(around.environ, identity.uid)
        try:
            runs = edges.open_runs(connection, edges.keeping("", namespace, around.environ))
            for each in runs.all()[:LATEST]:
                if each.run not in by_run:
                    by_run[each.run] = runs.entries(each.run)
        except EksdocError as error:
            say(f"stop times in journals of the cluster are not used: {error.message}")
        return tuple(chain(*map(stops_in, by_run.values())))

    return found
