"""``-o table``: one screen that says whether the plan holds. ``-o wide``: the same, and all that happened."""

from __future__ import annotations

from kubectl_eksdoc.core.model.kinds import ReadState
from kubectl_eksdoc.render.drain import timeline
from kubectl_eksdoc.render.drain.rows import unread
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.record import rows, titles
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.record.words import cordoned_only, placed
from kubectl_eksdoc.render.rehearsal import words
from kubectl_eksdoc.render.sections import MARGIN, drawn, titled, told
from kubectl_eksdoc.render.text import shown, wrap

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
        drawn(titles.NODES, rows.nodes(view), look, full),
        _timeline(view, look) if full else [],
        drawn(titles.NOT_EMPTIED, rows.not_emptied(view), look, full),
        drawn(titles.PLACEMENTS, rows.placements(view), look, full) if full else [],
        drawn(titles.FAULTS, rows.faults(view), look, full),
        drawn(titles.REFUSALS, rows.refusals(view), look, full),
        drawn(titles.PENDING, rows.pending(view), look, full),
        drawn(titles.RE_EVICTED, rows.re_evicted(view), look, full),
        drawn(titles.MOMENTS, rows.moments(view.moments), look, full) if full else [],
        told(titles.DIFFERENCES, words.differences(view), look),
        told(titles.NOT_SHOWN, words.NOT_SHOWN, look),
        _not_read(view, look, full),
        told(titles.NOTES, view.cluster.notes, look),
        [] if full else wrap(_FORMATS, look.columns),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _summary(view: RecordView, look: Look) -> list[str]:
    lines = [look.paint(text, Tone.TITLE) for text in wrap(shown(words.verdict(view), look), look.columns)]
    for text in (words.new_nodes(view), placed(view), cordoned_only(view), words.plan_in_words(view)):
        lines += wrap(shown(text, look), look.columns) if text else []
    return lines


def _not_read(view: RecordView, look: Look, full: bool) -> list[str]:
    """What a dump does not hold is a list of names; why the rest was not read differs from kind to kind."""
    missing = [read for read in view.cluster.reads if not read.known]
    absent = [] if full else [read.resource.full_name for read in missing if read.state is ReadState.NOT_HELD]
    table = drawn(
        titles.NOT_READ, unread(read for read in missing if read.resource.full_name not in absent), look, full
    )
    lines = table[1:]
    if absent:
        text = f"not in the dump: {', '.join(absent)}"
        lines += wrap(shown(text, look), look.columns, first=MARGIN, rest=MARGIN * 2)
    return titled(titles.NOT_READ, lines, look)


def _timeline(view: RecordView, look: Look) -> list[str]:
    lines = timeline.timeline(view, look, len(MARGIN), titles.WHOLE)
    if lines and (text := titles.without_bar(view, look)):
        lines += wrap(shown(text, look), look.columns, MARGIN)
    return titled(titles.TIMELINE, lines, look)
