"""``-o table``: one screen that says whether the plan holds. ``-o wide``: the same, and all that happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kubectl_eksdoc.drain.run.moments import ASKED, Happened
from kubectl_eksdoc.model.durations import in_words
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.drain import timeline
from kubectl_eksdoc.render.drain.rows import unread
from kubectl_eksdoc.render.drain.verdict import verdict as verdict_of_plan
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.markdown import cluster, escape, fitting, items, origin
from kubectl_eksdoc.render.markdown import ticket_table as tickets_table
from kubectl_eksdoc.render.record import rows
from kubectl_eksdoc.render.record.rows import asked, chart, cordoned_only, held_by_name, placed
from kubectl_eksdoc.render.record.rows import ticket_moments as moments
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.tables import MARGIN, Title, drawn, titled, told
from kubectl_eksdoc.render.text import counted, duration, joined, listing, shown, wrap

# A rehearsal in sentences: its verdict, where it differs from the plan, and what it cannot show.


NOT_SHOWN = (
    "what is neither in the facts it was made from nor asked for by --fault: images that are slow to pull, webhooks, "
    "other people and programs that change the cluster meanwhile",
    "Jobs that end: they do only where it is known when",
    "preemption: no pod pushes out another of lower priority",
)
"""What a rehearsal says nothing about, so that nobody takes its silence for a pass."""

NOTHING_DIFFERS = (
    "Nothing differs: it takes as long as the plan says, every node is emptied, nothing is refused, and no pod "
    "is evicted twice or ends without a node that was not waiting for one before."
)

NOTHING_REHEARSED = "Nothing was rehearsed: the plan drains no node."

_MOST_NAMES = 4


def verdict(view: RecordView) -> str:
    """``Rehearsed: 8 of 8 nodes emptied by 37 evictions in 3m05s; the plan says about 2m54s (p95 4m59s).``"""
    if not view.nodes:
        return NOTHING_REHEARSED
    total, undone = len(view.nodes), len(view.not_emptied)
    by = f" by {asked(view)}" if view.asked else ", with nothing to evict,"
    ended = duration(view.ended_s)
    head = f"Rehearsed: {total - undone} of {counted(total, 'node')} emptied"
    if not undone:
        return f"{head}{by} in {ended}; {_planned(view)}.{_left_out(view)}"
    count = asked(view) or "no eviction"
    names = listing((node.name for node in view.not_emptied), _MOST_NAMES, Look())
    was = "is" if undone == 1 else "are"
    end = f"{count}, and nothing more happened after {ended}; {_planned(view)}.{_left_out(view)}"
    return f"{head}, {undone} {was} not ({names}); {end}"


def _left_out(view: RecordView) -> str:
    """Nodes that the plan drains are not all that were meant."""
    left = len(view.planned.targets) - len(view.nodes)
    if not left:
        return ""
    return f" {left} of {counted(len(view.planned.targets), 'node')} to drain {'is' if left == 1 else 'are'} left out."


def plan_in_words(view: RecordView) -> str:
    """What the plan says by itself: its blockers and open questions are no smaller for a rehearsal that went well."""
    return f"The plan: {verdict_of_plan(view.planned)}"


def new_nodes(view: RecordView) -> str:
    """``2 new nodes joined, the last at 4m10s.`` or "" when none did."""
    if not view.joined:
        return ""
    when = duration(view.joined[-1].at_s)
    return f"{counted(len(view.joined), 'new node')} joined, {'the last ' if len(view.joined) > 1 else ''}at {when}."


def differences(view: RecordView) -> tuple[str, ...]:
    """Where the rehearsal and the plan disagree, a sentence each; one that says so where they do not."""
    if not view.nodes:
        return ()
    said = (
        _not_emptied(view),
        _late(view),
        _nodes(view),
        _missing(view),
        _not_made(view),
        _refused(view),
        _on_targets(view),
        held_by_name(view),
        _twice(view),
        _waiting(view),
    )
    return tuple(text for text in said if text) or (NOTHING_DIFFERS,)


def _planned(view: RecordView) -> str:
    estimate = view.plan.estimate
    if estimate is None:
        return "the plan does not tell how long it takes"
    return f"the plan says about {duration(estimate.p50_s)} (p95 {duration(estimate.p95_s)})"


def _not_emptied(view: RecordView) -> str:
    names = [node.name for node in view.not_emptied]
    if not names:
        return ""
    are = "is" if len(names) == 1 else "are"
    return f"{counted(len(names), 'node')} that the plan drains {are} not emptied."


def _late(view: RecordView) -> str:
    estimate, late = view.plan.estimate, view.late_s
    if estimate is None:
        return "Whether it is late is unknown: the plan has no duration."
    if late is None:
        return f"It does not come to its end; the plan's p50 is {duration(estimate.p50_s)}."
    if not round(late):
        return ""
    than = f"{_words(late)} {'longer' if late > 0 else 'less'} than the plan's p50 of {duration(estimate.p50_s)}"
    beyond = f", and more than its p95 of {duration(estimate.p95_s)}" if view.ended_s > estimate.p95_s else ""
    return f"It takes {than}{beyond}."


def _nodes(view: RecordView) -> str:
    """Which are done at another time, how many and by how much at most."""
    planned = view.planned.spans
    apart = [(node.done_s - planned[name].done_s, name) for name, node in view.spans.items() if name in planned]
    late = [each for each in apart if round(each[0]) > 0]
    early = [(-by, name) for by, name in apart if round(by) < 0]
    parts = [
        f"{counted(len(those), 'node')} {'is' if len(those) == 1 else 'are'} done {than} than planned ({_most(those)})"
        for those, than in ((late, "later"), (early, "sooner"))
        if those
    ]
    return f"{joined(parts)}." if parts else ""


def _most(those: list[tuple[float, str]]) -> str:
    by, name = max(those, key=lambda each: each[0])
    return f"{name} by {_words(by)}" if len(those) == 1 else f"most of all {name}, by {_words(by)}"


def _missing(view: RecordView) -> str:
    count = len(view.missing)
    return f"{counted(count, 'new node')} that the plan waits for did not join." if count else ""


def _not_made(view: RecordView) -> str:
    made = Counter(moment.subject for moment in view.moments if moment.what in (*ASKED, Happened.FINISHED))
    missing = sum((Counter(eviction.pod.key for eviction in view.plan.evictions) - made).values())
    if not missing:
        return ""
    return f"{missing} of {counted(len(view.plan.evictions), 'planned eviction')} {_was(missing)} not made."


def _refused(view: RecordView) -> str:
    count = sum(each.times for each in view.refusals)
    return f"Evictions were refused {counted(count, 'time')}; the plan expects no refusal." if count else ""


def _on_targets(view: RecordView) -> str:
    count = view.record.on_targets
    if not count:
        return ""
    return f"{counted(count, 'replacement')} {_was(count)} scheduled onto targets; the plan has all on other nodes."


def _twice(view: RecordView) -> str:
    count = len(view.re_evicted)
    return f"{counted(count, 'pod')} {_was(count)} evicted more than once; the plan expects none." if count else ""


def _waiting(view: RecordView) -> str:
    """Those that waited before are no news."""
    count = sum(not each.before for each in view.pending)
    if not count:
        return ""
    placeless = sum(not eviction.lands_on for eviction in view.plan.evictions)
    plan = f"the plan reserves none for {placeless} of its evictions" if placeless else "the plan has one for all"
    end = "ends" if count == 1 else "end"
    return f"{counted(count, 'pod')} {end} without a node that {_was(count)} not waiting for one before; {plan}."


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _words(seconds: float) -> str:
    return in_words(round(abs(seconds)))


_FORMATS = "All that happened: -o wide; for a ticket: -o markdown; for a program: -o json"


def table(view: RecordView, look: Look) -> str:
    """The verdict, nodes, refusals, pods without a node, what differs from the plan, what cannot be shown."""
    return _text(view, look, full=False)


def wide(view: RecordView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: RecordView, look: Look, full: bool) -> str:
    sections: list[list[str]] = [
        _summary(view, look),
        drawn(rows.NODES, rows.nodes(view), look, full),
        _timeline(view, look) if full else [],
        drawn(rows.NOT_EMPTIED, rows.not_emptied(view), look, full),
        drawn(rows.PLACEMENTS, rows.placements(view), look, full) if full else [],
        drawn(rows.FAULTS, rows.faults(view), look, full),
        drawn(rows.REFUSALS, rows.refusals(view), look, full),
        drawn(rows.PENDING, rows.pending(view), look, full),
        drawn(rows.RE_EVICTED, rows.re_evicted(view), look, full),
        drawn(rows.MOMENTS, rows.moments(view.moments), look, full) if full else [],
        told(rows.DIFFERENCES, differences(view), look),
        told(rows.NOT_SHOWN, NOT_SHOWN, look),
        _not_read(view, look, full),
        told(rows.NOTES, view.cluster.notes, look),
        [] if full else wrap(_FORMATS, look.columns),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _summary(view: RecordView, look: Look) -> list[str]:
    lines = [look.paint(text, Tone.TITLE) for text in wrap(shown(verdict(view), look), look.columns)]
    for text in (new_nodes(view), placed(view), cordoned_only(view), plan_in_words(view)):
        lines += wrap(shown(text, look), look.columns) if text else []
    return lines


def _not_read(view: RecordView, look: Look, full: bool) -> list[str]:
    """What a dump does not hold is a list of names; why the rest was not read differs from kind to kind."""
    missing = [read for read in view.cluster.reads if not read.known]
    absent = [] if full else [read.resource.full_name for read in missing if read.state is ReadState.NOT_HELD]
    table = drawn(rows.NOT_READ, unread(read for read in missing if read.resource.full_name not in absent), look, full)
    lines = table[1:]
    if absent:
        text = f"not in the dump: {', '.join(absent)}"
        lines += wrap(shown(text, look), look.columns, first=MARGIN, rest=MARGIN * 2)
    return titled(rows.NOT_READ, lines, look)


def _timeline(view: RecordView, look: Look) -> list[str]:
    lines = timeline.timeline(view, look, len(MARGIN), rows.WHOLE)
    if lines and (text := rows.without_bar(view, look)):
        lines += wrap(shown(text, look), look.columns, MARGIN)
    return titled(rows.TIMELINE, lines, look)


# ``-o markdown``: the rehearsal for a ticket or a pull request, with what is long folded away.


def ticket(view: RecordView, look: Look) -> str:
    """Headings from the second level, so that it can stand below a title of its own; short enough for GitHub."""
    return fitting(lambda most: _ticket(view, look, most))


def _ticket(view: RecordView, look: Look, most: int) -> str:
    lines = [f"## Drain rehearsal for {cluster(view.cluster)}", "", f"**{escape(verdict(view))}**", ""]
    for text in (new_nodes(view), placed(view), cordoned_only(view), plan_in_words(view)):
        lines += [escape(text), ""] if text else []
    lines.append(origin(view.cluster, view.tool_version))
    for title, body in _sections(view, look, most):
        if body:
            lines += ["", f"### {escape(title.heading)}", "", *body]
    lines += ["", *moments(view, most)]
    return markdown.signed(lines, look).rstrip("\n") + "\n"


def _sections(view: RecordView, look: Look, most: int) -> Iterable[tuple[Title, list[str]]]:
    yield rows.NODES, tickets_table(rows.nodes(view), "nodes", most)
    yield rows.TIMELINE, chart(view, look)
    yield rows.NOT_EMPTIED, tickets_table(rows.not_emptied(view, most), "nodes", most)
    yield rows.PLACEMENTS, tickets_table(rows.placements(view), "nodes", most)
    yield rows.FAULTS, tickets_table(rows.faults(view), "faults", most)
    yield rows.REFUSALS, tickets_table(rows.refusals(view), "causes", most)
    yield rows.PENDING, tickets_table(rows.pending(view), "pods", most)
    yield rows.RE_EVICTED, tickets_table(rows.re_evicted(view), "pods", most)
    yield rows.DIFFERENCES, items(differences(view))
    yield rows.NOT_SHOWN, items(NOT_SHOWN)
    missing = [read for read in view.cluster.reads if not read.known]
    yield rows.NOT_READ, tickets_table(unread(missing), "kinds", most)
    yield rows.NOTES, items(view.cluster.notes)
