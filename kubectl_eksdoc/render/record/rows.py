"""The rows of the tables: what stands in them, whatever draws them."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.run.moments import Moment
from kubectl_eksdoc.render.drain.rows import NONE
from kubectl_eksdoc.render.drain.verdict import BAD, GOOD
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.record.view import NodeRun, RecordView
from kubectl_eksdoc.render.sections import Drawn
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.render.text import listing
from kubectl_eksdoc.render.times import duration

UNSAID = "nothing was said"


def nodes(view: RecordView) -> Drawn:
    """Those that the plan drains, in its order; times from the start."""
    generations = view.plan.in_generations
    columns = [
        Column("#", right=True, drop=2),
        Column("NODE", middle=True),
        Column("GENERATION" if generations else "WAVE", right=True, drop=1, short="GEN" if generations else ""),
        Column("BEGUN", right=True),
        Column("EMPTY", right=True),
        Column("DONE", right=True),
        Column("EVICTIONS", right=True),
        Column("REFUSALS", right=True),
        Column("OUTCOME"),
    ]
    return columns, [_node(node) for node in view.nodes]


def _node(node: NodeRun) -> list[str | Cell]:
    sign, tone = GOOD if node.emptied else BAD
    return [
        str(node.target.order),
        node.name,
        str(node.target.wave) if node.target.wave else NONE,
        _when(node.begun_s),
        _when(node.empty_s),
        _when(node.done_s),
        str(node.evictions),
        str(node.refusals),
        Cell(f"{sign} {'emptied' if node.emptied else 'not emptied'}", tone),
    ]


def refusals(view: RecordView) -> Drawn:
    columns = [Column("COUNT", right=True), Column("CAUSE", floor=20, lines=4)]
    return columns, [[str(each.times), each.cause or UNSAID] for each in view.refusals]


def pending(view: RecordView) -> Drawn:
    """BEFORE: whether it waited before the drain began."""
    columns = [Column("POD", middle=True), Column("BEFORE"), Column("THE SCHEDULER SAYS", floor=24, lines=4)]
    return columns, [[each.pod, "yes" if each.before else "no", each.why or UNSAID] for each in view.pending]


def re_evicted(view: RecordView) -> Drawn:
    return [Column("POD", middle=True)], [[pod] for pod in view.re_evicted]


def not_emptied(view: RecordView, most: int | None = None) -> Drawn:
    """At most `most` pods of each node are named."""
    columns = [Column("NODE", middle=True), Column("LEFT", right=True), Column("PODS", floor=30, lines=6)]
    return columns, [[node.name, str(len(node.left)), _left(node, most)] for node in view.not_emptied]


def _left(node: NodeRun, most: int | None) -> str:
    pods = listing(node.left, len(node.left) if most is None else most, Look()) or NONE
    if node.seen_empty:
        return "seen empty, and not looked at once more"
    if node.why:
        return f"{pods}; left alone: {node.why}"
    return pods if node.begun_s is not None else f"never begun: {pods}"


def placements(view: RecordView) -> Drawn:
    columns = [Column("NODE", middle=True), Column("PLANNED", right=True), Column("SCHEDULED", right=True), Column("")]
    shown = view.record.placements if view.record.placed is not None else ()
    return columns, [
        [each.node, str(each.planned), str(each.placed), Cell("✗ a target", BAD[1]) if each.target else ""]
        for each in shown
    ]


def faults(view: RecordView) -> Drawn:
    columns = [Column("TIME", right=True), Column("SUBJECT", middle=True), Column("WHAT", floor=24, lines=4)]
    return columns, [[duration(m.at_s), m.subject, m.why] for m in view.faults]


def moments(rows: Iterable[Moment]) -> Drawn:
    columns = [Column("TIME", right=True), Column("WHAT"), Column("SUBJECT"), Column("NODE"), Column("WHY")]
    return columns, [[duration(m.at_s), m.what.value, m.subject, m.node or NONE, m.why or NONE] for m in rows]


def _when(seconds: float | None) -> str:
    return NONE if seconds is None else duration(seconds)
