"""``-o table``: what came of a run, on a screen below its events. ``-o wide``: the same, and how old nodes leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.drain.handoff.offers import HandOff
from kubectl_eksdoc.drain.run.moments import Happened, Moment
from kubectl_eksdoc.drain.run.record import WAITED_S
from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.drain import afterwards
from kubectl_eksdoc.render.drain.blocks import command_line
from kubectl_eksdoc.render.drain.ticket import handed_off
from kubectl_eksdoc.render.drain.verdict import soaked
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.markdown import block, cluster, code, escape, fitting, items, origin
from kubectl_eksdoc.render.markdown import ticket_table as tickets_table
from kubectl_eksdoc.render.record import rows
from kubectl_eksdoc.render.record.rows import against_times, asked, chart, cordoned_only, held_by_name, placed
from kubectl_eksdoc.render.record.rows import ticket_moments as moments
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.run.view import Outcome, RunView
from kubectl_eksdoc.render.tables import MARGIN, Title, drawn, titled, told
from kubectl_eksdoc.render.text import counted, duration, listing, rfc3339, sentences, shown, wrap

# A run in sentences: what came of it, against what was planned.


_MOST_NAMES = 4

_BESIDES = {
    Happened.ADOPTED: "left to others who drain it",
    Happened.LOST: "gone from the cluster",
}


def verdict(view: RunView) -> str:
    """``Drained: 12 of 12 nodes emptied by 175 evictions in 1m04s; planned: about 1m08s (p95 1m50s).``"""
    record = view.record
    total, undone = len(record.nodes), len(record.not_emptied)
    counts = f"{total - undone} of {counted(total, 'node')} emptied by {asked(record) or 'no eviction'}"
    paused_s = record.record.paused_s
    drain_s, ready_s = record.record.drain_s, record.record.ready_s
    took = f"in {duration(drain_s)}" + (f" ({duration(paused_s)} of it paused)" if paused_s else "")
    if ready_s >= WAITED_S and view.outcome is not Outcome.STOPPED and not record.record.unready:
        took = f"{took}, their replacements Ready {duration(ready_s)} later"
    if view.outcome is Outcome.STOPPED:
        return sentences(f"Stopped: {view.stopped}", f"{counts} {took}; {_planned(view)}")
    head = "Drained" if view.outcome is Outcome.DONE else "Drained in part"
    return f"{head}: {counts} {took}; {_planned(view)}."


def against_plan(view: RunView) -> tuple[str, ...]:
    """Estimate against actual, and all else that did not go as planned; a sentence each."""
    return tuple(_differences(view)) or ("All went as planned.",)


def _differences(view: RunView) -> Iterator[str]:
    record, estimate = view.record, view.record.plan.estimate
    if view.resumed:
        yield "This part of the run was planned again when it was resumed: times are from then."
    if estimate is not None and not record.record.undone and view.outcome is Outcome.DONE and record.evictions:
        took_s = record.record.drain_s - record.waited_s
        without = " (without its pause)" if record.record.paused_s else ""
        yield f"It took{without} {against_times(estimate.p50_s, estimate.p95_s, took_s, record.record.causes)}."
    if undone := [node.name for node in record.not_emptied if not node.seen_empty]:
        yield f"Not emptied: {listing(undone, _MOST_NAMES, Look())}."
    if empty := [node.name for node in record.not_emptied if node.seen_empty]:
        yield f"Seen empty, and not checked again before it ended: {listing(empty, _MOST_NAMES, Look())}."
    if refused := sum(each.times for each in record.refusals):
        times = record.asked.total() + refused
        yield f"{refused} of {times} evictions that were asked for were refused ({refused / times:.1%})."
    if said := held_by_name(record):
        yield said
    if record.re_evicted:
        yield f"Evicted more than once, by name: {listing(record.re_evicted, _MOST_NAMES, Look())}."
    if waiting := [each.pod for each in record.pending if not each.before]:
        yield f"Without a node at the end: {listing(waiting, _MOST_NAMES, Look())}."
    if coming := [each.pod for each in record.record.coming]:
        when = f"{duration(record.record.ready_s)} after the last node was done" if record.record.unready else ""
        yield f"Not Ready {when or 'at the end, or not yet'}: {listing(coming, _MOST_NAMES, Look())}."
    if (held := _held(record.moments, record.ended_s)) is not None:
        yield held
    happened = {moment.what for moment in record.moments}
    for what, said in _BESIDES.items():
        if what in happened:
            subjects = dict.fromkeys(m.subject for m in record.moments if m.what is what)
            why = next(m.why for m in record.moments if m.what is what)
            yield f"{listing(subjects, _MOST_NAMES, Look())}: {said} ({why})."


def _held(moments: Sequence[Moment], ended_s: float) -> str | None:
    """``It was held back for 40s (the user paused it).``; None where it never was."""
    since_s, held_s, times = None, 0.0, 0
    why: dict[str, None] = {}
    for moment in moments:
        if moment.what is Happened.HELD:
            times += since_s is None
            since_s = moment.at_s if since_s is None else since_s
            why[moment.why] = None
        elif moment.what is Happened.RELEASED and since_s is not None:
            held_s, since_s = held_s + moment.at_s - since_s, None
    if not times:
        return None
    still = ", to its end" if since_s is not None else ""
    held_s += ended_s - since_s if since_s is not None else 0.0
    often = f" {counted(times, 'time')}," if times > 1 else ""
    return f"It was held back{often} for {duration(held_s)}{still} ({listing(why, _MOST_NAMES, Look(), '; ')})."


def _planned(view: RunView) -> str:
    estimate = view.record.plan.estimate
    if estimate is None:
        return "the plan did not tell how long it takes"
    return f"planned: about {duration(estimate.p50_s)} (p95 {duration(estimate.p95_s)}){soaked(view.record.soak)}"


AGAINST = Title("Against the plan")
NEXT = Title("Next")


def table(view: RunView, look: Look, full: bool = False) -> str:
    record = view.record
    head = [look.paint(text, Tone.TITLE) for text in wrap(shown(verdict(view), look), look.columns)]
    sections = [
        head,
        drawn(rows.NODES, rows.nodes(record), look, full),
        drawn(rows.NOT_EMPTIED, rows.not_emptied(record), look, full),
        _placed(record, look),
        drawn(rows.PLACEMENTS, rows.placements(record), look, full) if full else [],
        drawn(rows.REFUSALS, rows.refusals(record), look, full),
        drawn(rows.PENDING, rows.pending(record), look, full),
        told(AGAINST, against_plan(view), look),
        _after(view, look, full),
        _next(view, look),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _placed(record: RecordView, look: Look) -> list[str]:
    said = [text for text in (placed(record), cordoned_only(record)) if text]
    return [line for text in said for line in wrap(shown(text, look), look.columns)]


def _after(view: RunView, look: Look, full: bool) -> list[str]:
    lines = (afterwards.afterwards if full else afterwards.briefly)(_handoffs(view), look)
    title = afterwards.TITLE if full else afterwards.BRIEFLY
    return [look.paint(shown(title, look), Tone.TITLE), *lines] if lines else []


def _handoffs(view: RunView) -> tuple[HandOff, ...]:
    """Only of a drain that was done: the plan's words are about that."""
    planned = view.record.planned.handoffs if view.outcome is Outcome.DONE else ()
    return tuple(handoff.once_drained for handoff in planned)


def _next(view: RunView, look: Look) -> list[str]:
    lines: list[str] = []
    for step in view.steps:
        lines += wrap(shown(f"- {step.text}:", look), look.columns, MARGIN, MARGIN * 2)
        lines.append(command_line(step.command, look))
    return titled(NEXT, lines, look)


# ``-o markdown``: what came of a run, for the ticket of the upgrade: estimate against actual, and the hand-off.


def ticket(view: RunView, look: Look) -> str:
    """Headings from the second level, so that it can stand below a title of its own; short enough for GitHub."""
    return fitting(lambda most: _ticket(view, look, most))


def _ticket(view: RunView, look: Look, most: int) -> str:
    record = view.record
    by = f"run {code(view.run)} · by {escape(view.who)} on {escape(view.host)}"
    lines = [
        f"## Drain of {cluster(record.cluster)}",
        "",
        f"**{escape(verdict(view))}**",
        "",
        f"{by} · {rfc3339(view.begun_at)} to {rfc3339(view.ended_at)}",
        "",
        origin(record.cluster, record.tool_version),
    ]
    for heading, body in _sections(view, look, most):
        if body:
            lines += ["", f"### {escape(heading)}", "", *body]
    lines += ["", *moments(record, most)]
    return markdown.signed(lines, look).rstrip("\n") + "\n"


def _sections(view: RunView, look: Look, most: int) -> Iterator[tuple[str, list[str]]]:
    record = view.record
    yield AGAINST.heading, items(against_plan(view))
    yield rows.NODES.heading, tickets_table(rows.nodes(record), "nodes", most)
    yield rows.TIMELINE.heading, chart(record, look)
    yield rows.NOT_EMPTIED.heading, tickets_table(rows.not_emptied(record, most), "nodes", most)
    yield (
        "Placements",
        [
            *items(each for each in (placed(record), cordoned_only(record)) if each),
            "",
            *tickets_table(rows.placements(record), "nodes", most),
        ],
    )
    yield rows.REFUSALS.heading, tickets_table(rows.refusals(record), "causes", most)
    yield rows.PENDING.heading, tickets_table(rows.pending(record), "pods", most)
    handed = [line for each in _handoffs(view)[:most] for line in handed_off(each, most)]
    yield afterwards.TITLE.capitalize(), handed
    yield NEXT.heading, [line for step in view.steps for line in [f"{escape(step.text)}:", *block([step.command]), ""]]
