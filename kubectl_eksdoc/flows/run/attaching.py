"""Watch drains that somebody else is running, until nothing of them is left; nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.run.others import OthersNode, drained_by_others
from kubectl_eksdoc.core.run.seen import Seen
from kubectl_eksdoc.flows.ports import ClusterReader, Field
from kubectl_eksdoc.flows.run.draining import Clock

LOOK_S = 2.0
"""So often it is shown anew, if something has changed."""

Show = Callable[[Cluster, Sequence[OthersNode]], object]


def attach(
    reader: ClusterReader, field: Field, clock: Clock, names: frozenset[str], show: Show, leave: Callable[[], bool]
) -> tuple[OthersNode, ...]:
    """Until every node is empty, or `leave` says so; `names` none: all nodes that somebody drains. How it stands then.

    Raises:
        ClusterError: the cluster cannot be read or watched.
    """
    facts = reader.read(kinds.ALL)
    seen, begun_s = Seen(facts), clock.monotonic()
    shown: list[object] | None = None
    while True:
        there = seen.now(facts, clock.monotonic() - begun_s)
        nodes = drained_by_others(there, names)
        facts_now: list[object] = [node.facts for node in nodes]
        if facts_now != shown:
            shown = facts_now
            show(there, nodes)
        if leave() or all(node.empty for node in nodes):
            return nodes
        until_s = clock.monotonic() + LOOK_S
        while (left_s := until_s - clock.monotonic()) > 0 and not leave():
            for news in field.news(left_s):
                seen.take(news)
