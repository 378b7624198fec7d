"""``-o wide``: everything that is known of a plan. What fits a screen is `screen`."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.render.drain import afterwards, fence, rows, timeline
from kubectl_eksdoc.render.drain import steps as next_steps
from kubectl_eksdoc.render.drain.blocks import block, step_lines
from kubectl_eksdoc.render.drain.comparison import screen
from kubectl_eksdoc.render.drain.course import course, new_names, ordered_by
from kubectl_eksdoc.render.drain.groups import grouped, unread
from kubectl_eksdoc.render.drain.verdict import blocker_count, estimate_lines, left_by_verdict, verdict
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import Drawn, plain
from kubectl_eksdoc.render.text import shown, wrap

_FORMATS = "For a ticket: -o markdown; for a browser: -o html; for a program: -o json"

_INDENT = 2


def wide(view: DrainView, look: Look, *, steps: bool = True) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal. Without `steps` the commands that
    one would type next are left out, for a plan that is read before it is done."""
    sections: list[list[str]] = [
        _summary(view, look),
        screen.section(view, look, True),
        _blockers(view, look),
        _drained(view, look),
        _estimate(view, look),
        _timeline(view, look),
        _undrained(view, look),
        _budgets(view, look),
        _evictions(view, look),
        _left(view, look),
        _warnings(view, look),
        _unknowns(view, look),
        _unread(view, look),
        _notes(view, look),
        _not_judged(view, look),
        _afterwards(view, look),
        _next(view, look) if steps else [],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _summary(view: DrainView, look: Look) -> list[str]:
    lines = [look.paint(text, Tone.TITLE) for text in wrap(shown(verdict(view), look), look.columns)]
    return lines + (wrap(shown(said, look), look.columns) if (said := course(view)) else [])


def _titled(title: str, lines: Sequence[str], look: Look) -> list[str]:
    return [look.paint(shown(title, look), Tone.TITLE), *lines] if lines else []


def _drawn(drawn: Drawn, look: Look) -> list[str]:
    columns, body = drawn
    return plain(columns, body, look, indent=_INDENT, fit=False)


def _blockers(view: DrainView, look: Look) -> list[str]:
    groups = grouped(view.blockers, view)
    lines = [text for group in groups for text in ["", *block(group, look)]][1:]
    return _titled(f"BLOCKERS ({blocker_count(groups)})", lines, look)


def _drained(view: DrainView, look: Look) -> list[str]:
    return _titled(f"TARGETS, {ordered_by(view)}", _drawn(rows.drained(view, True), look), look)


def _estimate(view: DrainView, look: Look) -> list[str]:
    margin = " " * _INDENT
    lines = []
    for text in estimate_lines(view):
        lines += wrap(shown(text, look), look.columns, margin, margin + ("  " if text.startswith("- ") else ""))
    return _titled("ESTIMATE", lines, look)


def _timeline(view: DrainView, look: Look) -> list[str]:
    lines = timeline.timeline(view, look, _INDENT, slow_s=view.slow_s)
    return _titled(timeline.TITLE.replace("Timeline", "TIMELINE"), lines, look)


def _undrained(view: DrainView, look: Look) -> list[str]:
    lines = _drawn(rows.undrained(view, True), look)
    if not lines:
        return []
    title = wrap(
        shown(f"TARGETS that are not drained{fence.not_drained(view)}", look), look.columns, rest=" " * _INDENT
    )
    if view.plan.cordoned_only:
        lines += wrap(shown(fence.BALANCERS, look), look.columns, " " * _INDENT)
    return [*(look.paint(text, Tone.TITLE) for text in title), *lines]


def _budgets(view: DrainView, look: Look) -> list[str]:
    return _titled("BUDGETS", _drawn(rows.budgets(view, True, len(view.budgets)), look), look)


def _evictions(view: DrainView, look: Look) -> list[str]:
    lines = _drawn(rows.evictions(view.evictions, view), look)
    if meant := new_names(view):
        lines += wrap(meant, look.columns, " " * _INDENT)
    return _titled("EVICTIONS, in order", lines, look)


def _left(view: DrainView, look: Look) -> list[str]:
    summary = left_by_verdict(view)
    lines = wrap(shown(summary, look), look.columns, " " * _INDENT, " " * _INDENT * 2) if summary else []
    return _titled("PODS that are not evicted", [*lines, *_drawn(rows.left(view.left, view), look)], look)


def _warnings(view: DrainView, look: Look) -> list[str]:
    lines = [text for group in grouped(view.warnings, view) for text in block(group, look)]
    return _titled("WARNINGS: these stop nothing", lines, look)


def _unknowns(view: DrainView, look: Look) -> list[str]:
    """What could not be judged, and the flag that takes it as it is."""
    accepted = view.plan.policy.accept_unknown
    groups = grouped(view.unknowns, view)
    still = [group for group in groups if group.first.code.name not in accepted]
    lines = [text for group in still for text in block(group, look, unread(group, view))]
    known = sorted({g.first.code.name for g in groups} & accepted)
    if known:
        lines += wrap(f"Accepted by --accept-unknown: {', '.join(known)}.", look.columns, first=" " * _INDENT)
    return _titled("UNKNOWN: what could not be judged is not taken as fine", lines, look)


def _unread(view: DrainView, look: Look) -> list[str]:
    missing = [read for read in view.cluster.reads if not read.known]
    return _titled("NOT READ", _drawn(rows.unread(missing), look), look)


def _notes(view: DrainView, look: Look) -> list[str]:
    lines = [t for note in view.cluster.notes for t in wrap(shown(note, look), look.columns, first=" " * _INDENT)]
    return _titled("NOTES", lines, look)


def _not_judged(view: DrainView, look: Look) -> list[str]:
    lines = [t for text in view.plan.not_judged for t in wrap(shown(text, look), look.columns, first=" " * _INDENT)]
    return _titled("NOT JUDGED by this plan", lines, look)


def _afterwards(view: DrainView, look: Look) -> list[str]:
    return _titled(afterwards.TITLE.screen, afterwards.afterwards(view.handoffs, look), look)


def _next(view: DrainView, look: Look) -> list[str]:
    """The answer once more, so that the last screen has it, and command lines to copy."""
    margin = " " * _INDENT
    lines = [
        look.paint(text, Tone.TITLE) for text in wrap(shown(next_steps.answer(view, look), look), look.columns, margin)
    ]
    for step in next_steps.steps(view):
        lines += step_lines(step, look)
    lines += wrap(_FORMATS, look.columns, margin)
    return _titled("NEXT (nothing was changed)", lines, look)
