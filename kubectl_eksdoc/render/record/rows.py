"""The rows of the tables: what stands in them, whatever draws them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kubectl_eksdoc.drain.run.moments import ASKED, Happened, Moment
from kubectl_eksdoc.model.journal import Cause
from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.drain import timeline
from kubectl_eksdoc.render.drain.rows import NONE
from kubectl_eksdoc.render.drain.verdict import BAD, GOOD
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.markdown import CODE_WIDTH, escape, folded
from kubectl_eksdoc.render.markdown import ticket_table as table
from kubectl_eksdoc.render.record.view import NodeRun, RecordView
from kubectl_eksdoc.render.tables import Cell, Column, Drawn, Title
from kubectl_eksdoc.render.text import counted, duration, joined, listing

UNSAID = "no reason was given"


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
        return "seen empty, and not checked again"
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


# What the parts are called, on a screen as in a ticket.


NODES = Title("Nodes", ", in the order of the plan; times from the start")
TIMELINE = Title("Timeline", ", nodes in the order in which they are begun")
NOT_EMPTIED = Title("Not emptied", ", and the pods that are left")
REFUSALS = Title("Refused", ", by cause")
PENDING = Title("Pending", " at the end: pods without a node")
RE_EVICTED = Title("Evicted more than once")
PLACEMENTS = Title("Placements", " of the replacements, by node; planned and what happened")
FAULTS = Title("Faults", ": what went wrong because it was asked for")
MOMENTS = Title("Moments", ": all that happened")
DIFFERENCES = Title("Differences", " from the plan")
NOT_SHOWN = Title("Not shown", ": what no rehearsal can tell")
NOT_READ = Title("Not read")
NOTES = Title("Notes")

WHOLE = "-o json"
"""Where every node is, however many there are."""


MOST_NAMES = 20


def without_bar(view: RecordView, look: Look) -> str:
    """Nodes that are not in the picture, because they are never done; "" where all are."""
    names = [node.name for node in view.nodes if node.name not in view.spans]
    return f"Without a bar, because never done: {listing(names, MOST_NAMES, look)}." if names else ""


# The parts that the tickets of a run and of a rehearsal share.


def ticket_moments(view: RecordView, most: int) -> list[str]:
    """All that happened, folded."""
    happened = table(moments(view.moments), "moments", most)
    return folded(f"{counted(len(view.moments), 'moment')}: all that happened", happened)


def chart(view: RecordView, look: Look) -> list[str]:
    """Its nodes as a Gantt."""
    lines = timeline.timeline(view, Look(width=CODE_WIDTH, ascii=look.ascii), whole=WHOLE)
    said = without_bar(view, look)
    return [*markdown.block(lines, "text"), *(["", escape(said)] if said else [])] if lines else []


# What of a drain is said in the same words, whether it was run or rehearsed.


_MOST_NAMES = 6


def asked(view: RecordView) -> str:
    """``36 evictions and 1 restart``, "" where nothing was asked to go."""
    nouns = zip(ASKED, ("eviction", "restart", "deletion"), strict=True)
    return joined([counted(view.asked[what], noun) for what, noun in nouns if view.asked[what]])


def placed(view: RecordView) -> str:
    """``0 of 36 replacements were scheduled onto targets; the others onto green-1 (12), green-2 (24).``; "" where that
    was not seen, or nothing was replaced."""
    record = view.record
    if not record.placed:
        return ""
    total, on_targets = sum(record.placed.values()), record.on_targets
    others = [f"{each.node} ({each.placed})" for each in record.placements if each.placed and not each.target]
    onto = listing(others, _MOST_NAMES, Look())
    where = f"; {'the others' if on_targets else 'all'} onto {onto}" if others else ""
    text = f"{on_targets} of {counted(total, 'replacement')} {'was' if total == 1 else 'were'} scheduled onto targets"
    names = [f"{each.node} ({each.placed})" for each in record.placements if each.placed and each.target]
    again = f" ({listing(names, _MOST_NAMES, Look())}), and have to be evicted again" if names else ""
    return f"{text}{again}{where}."


def cordoned_only(view: RecordView) -> str:
    """``3 skipped targets were cordoned, too, and stay so until a rollback: blue-6, blue-7, blue-8.``, or ""."""
    names = view.record.cordoned_only
    if not names:
        return ""
    are, stay = ("was", "stays") if len(names) == 1 else ("were", "stay")
    listed = listing(names, _MOST_NAMES, Look())
    return f"{counted(len(names), 'skipped target')} {are} cordoned and {stay} so until a rollback: {listed}."


def against_times(p50_s: float, p95_s: float, took_s: float, causes: Mapping[Cause, float]) -> str:
    """``57s less than p50 (2m54s, -33%), within p95 (4m59s): stopping -40s, budgets -17s``."""
    late_s = took_s - p50_s
    share = f", {late_s / p50_s:+.0%}" if p50_s else ""
    than = f"{duration(abs(late_s))} {'longer' if late_s > 0 else 'less'} than p50 ({duration(p50_s)}{share})"
    beyond = f"{'more than' if took_s > p95_s else 'within'} p95 ({duration(p95_s)})"
    return f"{than}, {beyond}{f': {because(causes)}' if because(causes) else ''}"


def because(causes: Mapping[Cause, float]) -> str:
    """``stopping -40s, budgets +17s``, those that matter, the largest first."""
    most_s = max(map(abs, causes.values()), default=0.0)
    worth = [each for each in causes.items() if abs(each[1]) >= max(1.0, most_s / 10)]
    worth.sort(key=lambda each: -abs(each[1]))
    return ", ".join(f"{cause.value} {'+' if late_s > 0 else '-'}{duration(abs(late_s))}" for cause, late_s in worth)


def held_by_name(view: RecordView) -> str:
    """``Budgets counted pods as evicted that came back under their names …: data/kafka.``, or ""."""
    held = Counter(moment.subject for moment in view.moments if moment.what is Happened.HELD_BY_NAME)
    if not held:
        return ""
    names = listing((f"{budget} ({times} times)" if times > 1 else budget for budget, times in held.items()), 4, Look())
    return f"Budgets counted pods as evicted that came back under their names, for up to 2 min each: {names}."
