"""A run in sentences: what came of it, against what was planned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.core.run.moments import Happened, Moment
from kubectl_eksdoc.core.run.record import WAITED_S
from kubectl_eksdoc.render.drain.verdict import baked
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.record.words import against_times, asked, held_by_name
from kubectl_eksdoc.render.run.view import Outcome, RunView
from kubectl_eksdoc.render.text import counted, listing, sentences
from kubectl_eksdoc.render.times import duration

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
        yield "This part of the run was planned anew when it was resumed: times are from then."
    if estimate is not None and not record.record.undone and view.outcome is Outcome.DONE and record.evictions:
        took_s = record.record.drain_s - record.waited_s
        without = " (without its pause)" if record.record.paused_s else ""
        yield f"It took{without} {against_times(estimate.p50_s, estimate.p95_s, took_s, record.record.causes)}."
    if undone := [node.name for node in record.not_emptied if not node.seen_empty]:
        yield f"Not emptied: {listing(undone, _MOST_NAMES, Look())}."
    if empty := [node.name for node in record.not_emptied if node.seen_empty]:
        yield f"Seen empty, and not looked at once more before it ended: {listing(empty, _MOST_NAMES, Look())}."
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
    return f"planned: about {duration(estimate.p50_s)} (p95 {duration(estimate.p95_s)}){baked(view.record.bake)}"
