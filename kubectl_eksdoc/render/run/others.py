"""Drains of others, as they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from kubectl_eksdoc.core.model.run_notes import RunNote
from kubectl_eksdoc.core.rules.group_updates import PATIENCE
from kubectl_eksdoc.core.run.others import OthersNode
from kubectl_eksdoc.render.drain.blocks import command_line
from kubectl_eksdoc.render.drain.rows import NONE
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.sections import MARGIN, Title, drawn, titled
from kubectl_eksdoc.render.tables import Column
from kubectl_eksdoc.render.text import counted, shown, wrap
from kubectl_eksdoc.render.times import duration, rfc3339

NOBODY = "No node is cordoned or tainted by somebody who drains it."

_GROUPS_OWN = (
    "A managed node group's own update gives up on a node after "
    f"{PATIENCE.total_seconds() / 60:.0f} minutes (PodEvictionFailure); since when it waits is not known here."
)


Command = Callable[[RunNote], str]
"""What shows a run of this tool, to be copied into a shell."""


def page(nodes: Sequence[OthersNode], at: datetime, look: Look, full: bool, command: Command) -> str:
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
        _runs(nodes, look, command),
        wrap(shown(_GROUPS_OWN, look), look.columns) if any(node.run is None for node in waiting) else [],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _runs(nodes: Sequence[OthersNode], look: Look, command: Command) -> list[str]:
    """Of the runs of this tool among them: where they are looked at in full."""
    lines: list[str] = []
    for note in dict.fromkeys(node.run for node in nodes if node.run is not None):
        where = f", journal in {note.journal}" if note.journal else ""
        lines += wrap(shown(f"- run {note.run} of eksdoc{where}:", look), look.columns, MARGIN, MARGIN * 2)
        lines.append(command_line(command(note), look))
    return titled(Title("Runs of eksdoc"), lines, look) if lines else []


def _left(node: OthersNode) -> str:
    if node.empty:
        return "empty"
    return NONE if node.left_s is None else duration(node.left_s)
