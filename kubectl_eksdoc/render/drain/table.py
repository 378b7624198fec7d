"""``-o table``: one screen for somebody who was just woken up. ``-o wide``: the same and everything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubectl_eksdoc.core.model.findings import Severity
from kubectl_eksdoc.core.model.kinds import ReadState
from kubectl_eksdoc.core.plan.drain.outcome import BudgetVerdict
from kubectl_eksdoc.render.drain import afterwards, fence, rows, steps, timeline
from kubectl_eksdoc.render.drain.blocks import block, brief, command_line, line, remedies
from kubectl_eksdoc.render.drain.comparison import screen, words
from kubectl_eksdoc.render.drain.course import course, new_names, ordered_by
from kubectl_eksdoc.render.drain.groups import Group, grouped
from kubectl_eksdoc.render.drain.unread import unread
from kubectl_eksdoc.render.drain.verdict import blocker_count, estimate_lines, left_by_verdict, verdict
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.sections import Drawn
from kubectl_eksdoc.render.tables import plain
from kubectl_eksdoc.render.text import counted, shown, wrap

_MOST_ROWS = 30
_MOST_BUDGETS = 8
"""Of each verdict: many that block must not hide those that make it slow."""
_MOST_BLOCKS = 8
_MOST_LINES = 24
_MOST_WARNINGS = 10

_FORMATS = "Every pod and budget: -o wide; for a ticket: -o markdown; for a browser: -o html; for a program: -o json"

_INDENT = 2


def table(view: DrainView, look: Look) -> str:
    """The verdict, what differs from a baseline, what blocks, targets in order, budgets, warnings, unknowns, next."""
    return _text(view, look, full=False)


def wide(view: DrainView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def preview(view: DrainView, look: Look, full: bool = False) -> str:
    """What is read before it is done: the same without the commands that one would type next."""
    return _text(view, look, full, steps=False)


def _text(view: DrainView, look: Look, full: bool, steps: bool = True) -> str:
    sections: list[list[str]] = [
        _summary(view, look),
        _compared(view, look, full),
        _blockers(view, look, full),
        _drained(view, look, full),
        _estimate(view, look),
        _timeline(view, look) if full else [],
        _undrained(view, look, full),
        _budgets(view, look, full),
        *([_evictions(view, look), _left(view, look)] if full else [_left_summary(view, look)]),
        _warnings(view, look, full),
        _unknowns(view, look, full),
        _unread(view, look, full),
        _notes(view, look),
        _not_judged(view, look),
        _afterwards(view, look, full),
        _next(view, look) if steps else [],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _summary(view: DrainView, look: Look) -> list[str]:
    lines = [look.paint(text, Tone.TITLE) for text in wrap(shown(verdict(view), look), look.columns)]
    return lines + (wrap(shown(said, look), look.columns) if (said := course(view)) else [])


def _compared(view: DrainView, look: Look, full: bool) -> list[str]:
    if view.comparison is None:
        return []
    title = words.title(view.comparison, view)
    said = f"COMPARED{title.removeprefix('Compared')}"
    lines = wrap(shown(said, look), look.columns, rest=" " * _INDENT)
    return [*(look.paint(text, Tone.TITLE) for text in lines), *screen.lines(view.comparison, view, look, full)]


def _titled(title: str, lines: Sequence[str], look: Look) -> list[str]:
    return [look.paint(shown(title, look), Tone.TITLE), *lines] if lines else []


def _drawn(drawn: Drawn, look: Look, full: bool, most: int) -> list[str]:
    """A table of at most `most` rows, or all of them, and how many are not shown."""
    columns, all_rows = drawn
    kept = all_rows if full or len(all_rows) <= most + 1 else all_rows[:most]
    lines = plain(columns, kept, look, indent=_INDENT, fit=not full)
    return lines + _more(len(all_rows) - len(kept), look)


def _more(count: int, look: Look, what: str = "") -> list[str]:
    if count <= 0:
        return []
    text = f"{look.ellipsis} and {count} more{' ' + what if what else ''} (-o wide)"
    return [" " * _INDENT + text]


def _blockers(view: DrainView, look: Look, full: bool) -> list[str]:
    """The first of each kind in full, of the others the message and what helps tonight, then how many more."""
    groups = grouped(view.blockers, view)
    whole = groups if full or len(groups) <= _MOST_BLOCKS else _first_of_each(groups)[:_MOST_BLOCKS]
    others = [group for group in groups if group not in whole]
    lines = [text for group in whole for text in ["", *block(group, look, full)]][1:]
    lines += ["", *(text for group in others[:_MOST_LINES] for text in brief(group, look))] if others else []
    lines += _more(len(others) - _MOST_LINES, look, "blockers")
    if others:
        lines.append(" " * _INDENT + f"All that helps with the last {len(others)}: -o wide")
    return _titled(f"BLOCKERS ({blocker_count(groups)})", lines, look)


def _first_of_each(groups: Sequence[Group]) -> tuple[Group, ...]:
    return tuple({group.first.code.name: group for group in reversed(groups)}.values())[::-1]


def _drained(view: DrainView, look: Look, full: bool) -> list[str]:
    lines = _drawn(rows.drained(view, full), look, full, _MOST_ROWS)
    return _titled(f"TARGETS, {ordered_by(view)}", lines, look)


def _estimate(view: DrainView, look: Look) -> list[str]:
    margin = " " * _INDENT
    lines = []
    for text in estimate_lines(view):
        lines += wrap(shown(text, look), look.columns, margin, margin + ("  " if text.startswith("- ") else ""))
    return _titled("ESTIMATE", lines, look)


def _timeline(view: DrainView, look: Look) -> list[str]:
    return _titled(
        timeline.TITLE.replace("Timeline", "TIMELINE"), timeline.timeline(view, look, _INDENT, slow_s=view.slow_s), look
    )


def _undrained(view: DrainView, look: Look, full: bool) -> list[str]:
    lines = _drawn(rows.undrained(view, full), look, full, _MOST_ROWS)
    if not lines:
        return []
    title = wrap(
        shown(f"TARGETS that are not drained{fence.not_drained(view)}", look), look.columns, rest=" " * _INDENT
    )
    return [*(look.paint(text, Tone.TITLE) for text in title), *lines]


def _left_summary(view: DrainView, look: Look) -> list[str]:
    summary = left_by_verdict(view)
    return wrap(shown(summary, look), look.columns, rest=" " * _INDENT) if summary else []


def _budgets(view: DrainView, look: Look, full: bool) -> list[str]:
    drawn = rows.budgets(view, full, len(view.budgets) if full else _MOST_BUDGETS)
    lines = _drawn(drawn, look, full, len(view.budgets))
    fits = sum(h.verdict is BudgetVerdict.FITS for h in view.budgets)
    if not full:
        lines += _more(len(view.budgets) - fits - len(drawn[1]), look)
    if fits and not full:
        which = counted(fits, "other") if lines else f"{counted(fits, 'budget')} with pods on these nodes"
        lines.append(" " * _INDENT + f"{which} {'fits' if fits == 1 else 'fit'} (-o wide).")
    return _titled("BUDGETS", lines, look)


def _evictions(view: DrainView, look: Look) -> list[str]:
    columns, body = rows.evictions(view.evictions, view)
    lines = plain(columns, body, look, indent=_INDENT, fit=False)
    if meant := new_names(view):
        lines += wrap(meant, look.columns, " " * _INDENT)
    return _titled("EVICTIONS, in order", lines, look)


def _left(view: DrainView, look: Look) -> list[str]:
    columns, body = rows.left(view.left, view)
    return _titled("PODS that are not evicted", plain(columns, body, look, indent=_INDENT, fit=False), look)


def _warnings(view: DrainView, look: Look, full: bool) -> list[str]:
    groups = grouped(view.warnings, view)
    said = groups if full else tuple(g for g in groups if g.first.severity is not Severity.INFO)
    kept = said if full else said[:_MOST_WARNINGS]
    show: Callable[[Group], list[str]] = (lambda g: block(g, look, True)) if full else (lambda g: line(g, look))
    lines = [text for group in kept for text in show(group)]
    lines += _more(len(said) - len(kept), look, "warnings")
    if len(groups) > len(said):
        lines.append(" " * _INDENT + f"{counted(len(groups) - len(said), 'note')} (-o wide).")
    return _titled("WARNINGS: these stop nothing", lines, look)


def _unknowns(view: DrainView, look: Look, full: bool) -> list[str]:
    """What could not be judged, and the flag that takes it as it is."""
    accepted = view.plan.policy.accept_unknown
    groups = grouped(view.unknowns, view)
    still = [g for g in groups if g.first.code.name not in accepted]
    lines = []
    for group in still:
        steps_to_it = unread(group, view)
        lines += block(group, look, True, steps_to_it) if full else line(group, look) + remedies(steps_to_it, look)
    known = sorted({g.first.code.name for g in groups} & accepted)
    if known:
        lines += wrap(f"Accepted by --accept-unknown: {', '.join(known)}.", look.columns, first=" " * _INDENT)
    return _titled("UNKNOWN: what could not be judged is not taken as fine", lines, look)


def _unread(view: DrainView, look: Look, full: bool) -> list[str]:
    """What a dump does not hold is a list of names; why the rest was not read differs from kind to kind."""
    missing = [read for read in view.cluster.reads if not read.known]
    absent = [] if full else [read.resource.full_name for read in missing if read.state is ReadState.NOT_HELD]
    lines = _drawn(rows.unread(r for r in missing if r.resource.full_name not in absent), look, full, _MOST_ROWS)
    if absent:
        text = f"not in the dump: {', '.join(absent)}"
        lines += wrap(shown(text, look), look.columns, first=" " * _INDENT, rest=" " * 4)
    return _titled("NOT READ", lines, look)


def _notes(view: DrainView, look: Look) -> list[str]:
    lines = [t for note in view.cluster.notes for t in wrap(shown(note, look), look.columns, first=" " * _INDENT)]
    return _titled("NOTES", lines, look)


def _not_judged(view: DrainView, look: Look) -> list[str]:
    lines = [t for text in view.plan.not_judged for t in wrap(shown(text, look), look.columns, first=" " * _INDENT)]
    return _titled("NOT JUDGED by this plan", lines, look)


def _afterwards(view: DrainView, look: Look, full: bool) -> list[str]:
    if full:
        return _titled(afterwards.TITLE, afterwards.afterwards(view, look), look)
    return _titled(afterwards.BRIEFLY, afterwards.briefly(view, look), look)


def _next(view: DrainView, look: Look) -> list[str]:
    """The answer once more, so that the last screen has it, and command lines to copy."""
    margin = " " * _INDENT
    lines = [look.paint(text, Tone.TITLE) for text in wrap(shown(steps.answer(view, look), look), look.columns, margin)]
    for step in steps.steps(view):
        lines += wrap(shown(step.text + (":" if step.command else "."), look), look.columns, margin)
        lines += [command_line(step.command, look)] if step.command else []
    lines += wrap(_FORMATS, look.columns, margin)
    return _titled("NEXT (nothing was changed)", lines, look)
