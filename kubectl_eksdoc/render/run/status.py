"""Runs as the cluster has them: a list, or one of them in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from kubectl_eksdoc.amazon.group_updates import PATIENCE
from kubectl_eksdoc.drain.run.account import nodes_of, phase_words
from kubectl_eksdoc.drain.run.journal import Journaled
from kubectl_eksdoc.drain.run.others import OthersNode
from kubectl_eksdoc.model.journal import DONE, ROLLED_BACK, Phase, RunNote, RunSummary
from kubectl_eksdoc.render.drain.blocks import command_line
from kubectl_eksdoc.render.drain.rows import NONE
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.run.status_view import StatusView, table
from kubectl_eksdoc.render.tables import MARGIN, Column, Drawn, Title, drawn, titled, told
from kubectl_eksdoc.render.text import age, between, counted, duration, rfc3339, shown, wrap

_NOTHING = "No run is kept in namespace {}."


def _list(view: StatusView, look: Look) -> str:
    if view.history:
        return "\n".join(table(view.history, look)) + "\n"
    runs = _rows(view, look) if view.runs else [_NOTHING.format(view.namespace)]
    return "\n\n".join("\n".join(lines) for lines in (runs, _beside(view, look)) if lines) + "\n"


def _beside(view: StatusView, look: Look) -> list[str]:
    """What nodes say, and what is not known."""
    lines: list[str] = []
    for each in view.without:
        lines += wrap(shown(f"- {each.said}:", look), look.columns, MARGIN, MARGIN * 2)
        lines.append(command_line(each.command, look))
    found = titled(Title("By the notes on nodes"), lines, look) if lines else []
    return [*found, *(line for note in view.notes for line in wrap(shown(f"note: {note}", look), look.columns))]


def _rows(view: StatusView, look: Look) -> list[str]:
    columns = [Column("RUN"), Column("PHASE"), Column("AGE", right=True), Column("UPDATED", right=True, drop=1)]
    columns += [Column("LEADER", floor=16, drop=2), Column("SAID", floor=30, lines=2)]
    rows = [
        [run.run, _phase(run, view), _ago(run.begun, view), _ago(run.updated, view), run.leader, run.said or NONE]
        for run in view.runs
    ]
    return drawn(Title(""), (columns, list(rows)), look, False)[1:]


def _phase(run: RunSummary, view: StatusView) -> str:
    """The lock is of one run at a time: who leads another one than its holder leads nothing."""
    held = view.held
    if run.phase == Phase.ENDED.value or held is None or (held.led and held.holder == run.leader):
        return run.phase
    return f"{run.phase}, unled"


def _ago(when: datetime | None, view: StatusView) -> str:
    return NONE if when is None else age(between(when, view.now))


def _one(view: StatusView, look: Look, full: bool) -> str:
    assert view.run is not None and view.journaled is not None
    run, journaled = view.run, view.journaled
    led = view.held is None or (view.held.led and view.held.holder == run.leader)
    head = f"Run {run.run}: {phase_words(journaled, led)}"
    lines = [look.paint(text, Tone.TITLE) for text in wrap(shown(head, look), look.columns)]
    begun = journaled.begun
    if begun is not None:
        began = f"begun by {begun.who} on {begun.host} at {rfc3339(begun.at)}"
        lines += wrap(shown(f"{began}, led {'' if led else 'last '}by {run.leader or 'nobody'}", look), look.columns)
    if run.said and run.updated is not None and journaled.phase is not Phase.ENDED:
        lines += wrap(shown(f"{_ago(run.updated, view)} ago: {run.said}", look), look.columns)
    sections = [
        lines,
        drawn(Title("Nodes"), _nodes(journaled), look, full),
        told(Title("Not taken into account"), journaled.dropped, look),
        told(Title("Next"), _next(view, led), look),
        _beside(view, look),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _nodes(journaled: Journaled) -> Drawn:
    columns = [Column("NODE", middle=True), Column("WAVE", right=True, drop=1), Column("STATE")]
    columns += [Column(each, right=True) for each in ("GRANTED", "GONE BEFORE", "REFUSED", "IN DOUBT")]
    return columns, [
        [n.node, str(n.wave) if n.wave else NONE, n.state, *map(str, (n.granted, n.gone, n.refused, n.in_doubt))]
        for n in nodes_of(journaled)
    ]


def _next(view: StatusView, led: bool) -> list[str]:
    assert view.run is not None and view.journaled is not None
    run, journaled = view.run.run, view.journaled
    if journaled.phase is not Phase.ENDED and led:
        return [f"kubectl eksdoc drain pause {run}, or abort {run}: from any machine"]
    found = (
        []
        if journaled.ended in (DONE, ROLLED_BACK) or journaled.rolled_back or journaled.begun is None
        else [f"kubectl eksdoc drain resume {run}: go on, on this machine"]
    )
    if journaled.cordoned:
        count, planned = len(journaled.cordoned), len(journaled.begun.aims) if journaled.begun is not None else 0
        asks = f" (in a script: --yes --expect-nodes {planned})" if planned else ""
        found.append(f"kubectl eksdoc drain rollback {run}: give {count} cordoned node{'s' * (count > 1)} back{asks}")
    return found


def _screen(view: StatusView, look: Look, full: bool) -> str:
    return _one(view, look, full) if view.run is not None else _list(view, look)


def _result(view: StatusView) -> object:
    from kubectl_eksdoc.render.run.status_result import StatusResult

    return StatusResult.of(view)


FORMATS: Formats[StatusView] = Formats(
    "the status of runs",
    {
        "table": lambda view, look: _screen(view, look, full=False),
        "wide": lambda view, look: _screen(view, look, full=True),
        **documents(_result),
    },
)


# Drains of others, as they stand.


NOBODY = "No node is cordoned or tainted by a client that drains it."

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
