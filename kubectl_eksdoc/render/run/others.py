"""Drains of others, as they stand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kubectl_eksdoc.core.model.documents import API_VERSION, DRAIN_WATCH
from kubectl_eksdoc.core.rules.group_updates import PATIENCE
from kubectl_eksdoc.core.run.others import OthersNode
from kubectl_eksdoc.render.document import Fields, known
from kubectl_eksdoc.render.drain.rows import NONE
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.sections import Title, drawn
from kubectl_eksdoc.render.tables import Column
from kubectl_eksdoc.render.text import counted, shown, wrap
from kubectl_eksdoc.render.times import duration, rfc3339

NOBODY = "No node is cordoned or tainted by somebody who drains it."

_GROUPS_OWN = (
    "A managed node group's own update gives up on a node after "
    f"{PATIENCE.total_seconds() / 60:.0f} minutes (PodEvictionFailure); since when it waits is not known here."
)


def page(nodes: Sequence[OthersNode], at: datetime, look: Look, full: bool) -> str:
    """Ending with a line end."""
    if not nodes:
        return f"{NOBODY}\n"
    waiting = [node for node in nodes if not node.empty]
    head = f"{rfc3339(at)}: {len(nodes) - len(waiting)} of {counted(len(nodes), 'node')} empty"
    columns = [Column("NODE", middle=True), Column("DRAINED BY", floor=16), Column("PODS LEFT", right=True)]
    columns += [Column("LEAVING", right=True), Column("ABOUT", right=True)]
    rows = [[n.node, n.who, str(len(n.pods)), str(sum(p.leaving for p in n.pods)), _left(n)] for n in nodes]
    pods = [Column("POD", middle=True), Column("NODE", middle=True), Column("WHY IT IS STILL THERE", floor=30, lines=3)]
    why = [[pod.pod, node.node, pod.why] for node in waiting for pod in node.pods]
    sections = [
        [look.paint(shown(head, look), Tone.TITLE)],
        drawn(Title("Nodes"), (columns, list(rows)), look, full),
        drawn(Title("Pods"), (pods, list(why)), look, full),
        wrap(shown(_GROUPS_OWN, look), look.columns) if waiting else [],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def document(nodes: Sequence[OthersNode], at: datetime) -> Fields:
    """As DrainWatch.json says."""
    return {
        "apiVersion": API_VERSION,
        "kind": DRAIN_WATCH,
        "at": rfc3339(at),
        "nodes": [
            {
                "node": node.node,
                "drainedBy": node.who,
                "leftSeconds": None if node.left_s is None else round(node.left_s, 3),
                "pods": [
                    {"pod": pod.pod, "leaving": pod.leaving, "budget": known(pod.budget), "why": pod.why}
                    for pod in node.pods
                ],
            }
            for node in nodes
        ],
    }


def _left(node: OthersNode) -> str:
    if node.empty:
        return "empty"
    return NONE if node.left_s is None else duration(node.left_s)
