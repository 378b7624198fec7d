"""``-o table``: what fits a screen. The verdict, the nodes, the blockers by cause with a command each, times and one
next command; of everything else only that it is there. ``-o wide`` has all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.kinds import KindRead
from kubectl_eksdoc.render.drain import fence, rows, steps
from kubectl_eksdoc.render.drain.blocks import command_line, step_lines
from kubectl_eksdoc.render.drain.by_cause import Cause, causes_of
from kubectl_eksdoc.render.drain.comparison import screen as compared
from kubectl_eksdoc.render.drain.course import joining, ordered_by
from kubectl_eksdoc.render.drain.groups import Group, grouped
from kubectl_eksdoc.render.drain.verdict import NO_TIMES, OPEN, TARGET_SIGN, blocker_count, unmeasured, verdict
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import plain
from kubectl_eksdoc.render.text import counted, cut, duration, joined, shown, wrap

MOST_LINES = 45
"""Of the page on a terminal of 100 columns, without what a baseline is compared with."""

_MOST_DRAINED = 8
_MOST_SKIPPED = 12
_FEWEST = 3
"""Nodes of either table, and causes, that are shown whatever the rest of the page takes."""

_MOST_UNKNOWN = 3
_MOST_NAMES = 2

_MARGIN = "  "
_WIDE = "(-o wide)"


def page(view: DrainView, look: Look, *, next_command: bool = True) -> str:
    """`next_command` False: the page is read before the plan is carried out, and nothing is to be typed but that."""
    said = _verdict(view, look)
    after = [
        _times(view, look),
        _unknowns(view, look),
        _elsewhere(view, look),
        _next(view, look) if next_command else [],
    ]
    causes = [_cause(cause, look) for cause in causes_of(view)]
    title = f"BLOCKERS ({blocker_count(grouped(view.blockers, view))}), by cause, each with the command for its first"
    room = MOST_LINES + 1 - _height([said, *after])
    nodes = _nodes(view, look, room - _height([_blockers(title, causes[:_FEWEST], len(causes), look)]))
    blockers = _fitting(title, causes, room - _height(nodes), look)
    sections = [said, compared.section(view, look, False), *nodes, blockers, *after]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _height(sections: Iterable[Sequence[str]]) -> int:
    """Lines, with the empty one behind each."""
    return sum(len(lines) + 1 for lines in sections if lines)


def _nodes(view: DrainView, look: Look, room: int) -> list[list[str]]:
    """Both tables; first the skipped nodes, then the others give way where there is no room for all."""
    drained, skipped = _MOST_DRAINED, _MOST_SKIPPED
    while True:
        found = [_drained(view, look, drained), _skipped(view, look, skipped)]
        if _height(found) <= room or (drained, skipped) == (_FEWEST, _FEWEST):
            return found
        if skipped > _FEWEST:
            skipped -= 1
        else:
            drained -= 1


def _fitting(title: str, causes: Sequence[list[str]], room: int, look: Look) -> list[str]:
    """As many causes as there is room for."""
    number = len(causes)
    while number > _FEWEST and _height([_blockers(title, causes[:number], len(causes), look)]) > room:
        number -= 1
    return _blockers(title, causes[:number], len(causes), look)


def _verdict(view: DrainView, look: Look) -> list[str]:
    lines = [look.paint(text, Tone.TITLE) for text in wrap(shown(verdict(view), look), look.columns)]
    said = joining(view) if any(target.order for target in view.targets) else ""
    return lines + (wrap(shown(said, look), look.columns) if said else [])


def _titled(title: str, lines: Sequence[str], look: Look) -> list[str]:
    return [look.paint(_cut(title, look, ""), Tone.TITLE), *lines] if lines else []


def _cut(text: str, look: Look, margin: str = _MARGIN) -> str:
    """One line, whatever it takes."""
    return margin + cut(shown(text, look), look.columns - len(margin), look)


def _more(count: int, what: str, look: Look) -> list[str]:
    return [f"{_MARGIN}{look.ellipsis} {counted(count, f'more {what}')} {_WIDE}"] if count > 0 else []


def _drained(view: DrainView, look: Look, most: int) -> list[str]:
    columns, all_rows = rows.drained(view)
    kept = all_rows if len(all_rows) <= most + 1 else all_rows[:most]
    lines = plain(columns, kept, look, indent=len(_MARGIN))
    return _titled(f"TARGETS, {ordered_by(view)}", lines + _more(len(all_rows) - len(kept), "target", look), look)


def _skipped(view: DrainView, look: Look, most: int) -> list[str]:
    """A line for each node: its name, its verdict, and the causes by code and subject."""
    left_out = [target for target in view.targets if not target.order]
    named = rows.causes(view)
    width = max((len(target.node.name) for target in left_out), default=0)
    kept = left_out if len(left_out) <= most + 1 else left_out[:most]
    lines = []
    for target in kept:
        name, sign = target.node.name, TARGET_SIGN[target.verdict][0]
        why = "; ".join(named.get(name, target.why))
        lines.append(_cut(f"{name.ljust(width)}  {sign} {target.verdict.value}: {why}", look))
    title = f"TARGETS that are not drained ({len(left_out)}){fence.not_drained(view)}"
    return _titled(title, lines + _more(len(left_out) - len(kept), "target", look), look)


def _blockers(title: str, causes: Sequence[list[str]], of: int, look: Look) -> list[str]:
    """These of so many causes."""
    lines = [line for each in causes for line in each]
    return _titled(title, lines + _more(of - len(causes), "cause", look), look)


def _cause(cause: Cause, look: Look) -> list[str]:
    """What it is, on how many nodes, what its fix frees, and the one command or sentence that fixes it."""
    about = ", ".join(cause.subjects[:_MOST_NAMES])
    if len(cause.subjects) > _MOST_NAMES:
        about += f" and {len(cause.subjects) - _MOST_NAMES} more"
    on = f" on {counted(len(cause.nodes), 'node')}" if cause.nodes else ""
    head = f"✗ {cause.code}{on}, {cause.frees}: {about}"
    # A command is never cut, so that it can be copied.
    fix = command_line(cause.command, look) if cause.command else _cut(cause.text, look, _MARGIN * 2)
    return [_cut(head, look, ""), fix]


def _times(view: DrainView, look: Look) -> list[str]:
    estimate = view.plan.estimate
    if not view.evictions:
        return []
    if estimate is None:
        return wrap(shown(NO_TIMES, look), look.columns)
    texts = [f"p50 {duration(estimate.p50_s)}, p95 {duration(estimate.p95_s)}{unmeasured(estimate)}"]
    if estimate.least:
        texts.append(f"no run takes less than {duration(estimate.least[0].seconds)}")
    lines = [_cut("; ".join(texts), look)]
    if estimate.bounds:
        faster = [f"; {each.change}: {duration(each.makespan_s)}" for each in estimate.relaxations if each.saved_s >= 1]
        lines.append(_cut(f"what decides: {estimate.bounds[0].about}{''.join(faster[:1])}", look))
    return _titled("TIMES", lines, look)


def _unknowns(view: DrainView, look: Look) -> list[str]:
    accepted = view.plan.policy.accept_unknown
    groups = [group for group in grouped(view.unknowns, view) if group.first.code.name not in accepted]
    lines = [_unknown(group, look) for group in groups[:_MOST_UNKNOWN]]
    lines += _more(len(groups) - len(lines), "question", look)
    return _titled("UNKNOWN: what could not be judged is not taken as fine", lines, look)


def _unknown(group: Group, look: Look) -> str:
    first = group.first
    missing = f"missing {first.missing}: " if first.missing else ""
    return _cut(f"{OPEN[0]} {first.code.name} ({first.severity.value}): {missing}{first.message}", look, "")


def _elsewhere(view: DrainView, look: Look) -> list[str]:
    """A line of what was not judged, one of notes, and one of what only ``-o wide`` has."""
    told = [("Not judged", view.plan.not_judged), ("Note", view.cluster.notes)]
    lines = [_first_of(title, texts, look) for title, texts in told if texts]
    return [*lines, _cut(f"More in -o wide: {joined(list(_wide_only(view)))}", look, "")]


def _first_of(title: str, texts: Sequence[str], look: Look) -> str:
    more = f"; {len(texts) - 1} more {_WIDE}" if len(texts) > 1 else ""
    return cut(shown(f"{title}: {texts[0]}", look), look.columns - len(more), look) + more


def _wide_only(view: DrainView) -> Iterable[str]:
    warnings = grouped(view.warnings, view)
    said = sum(group.first.severity is not Severity.INFO for group in warnings)
    if said:
        yield counted(said, "warning")
    if said < len(warnings):
        yield counted(len(warnings) - said, "note")
    if view.budgets:
        yield counted(len(view.budgets), "budget")
    if unread := [read for read in view.cluster.reads if not read.known]:
        yield _not_read(unread)
    yield "all fixes, pods, assumptions"


def _not_read(unread: Sequence[KindRead]) -> str:
    """``not read: poddisruptionbudgets (forbidden)``, or how many for each reason: ``3 kinds forbidden``."""
    if len(unread) == 1:
        return f"not read: {unread[0].resource.plural} ({unread[0].state.value})"
    why = Counter(read.state.value.replace("-", " ") for read in unread).most_common()
    return ", ".join(f"{counted(count, 'kind')} {state}" for state, count in why)


def _next(view: DrainView, look: Look) -> list[str]:
    found = steps.steps(view)
    step = next((each for each in found if each.text.startswith(steps.DO_IT)), found[0] if found else None)
    if step is None:
        return []
    return _titled("NEXT (nothing was changed)", step_lines(step, look), look)
