"""``-o markdown``: the plan for a ticket or a pull request, with what is long folded away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubectl_eksdoc.drain.handoff.offers import HandOff, Step
from kubectl_eksdoc.drain.outcome import BudgetVerdict
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.drain import afterwards, fence, rows, timeline
from kubectl_eksdoc.render.drain.comparison import ticket as against
from kubectl_eksdoc.render.drain.comparison import words
from kubectl_eksdoc.render.drain.course import course, new_names, ordered_by
from kubectl_eksdoc.render.drain.groups import Advice, Group, evidence, grouped, unread
from kubectl_eksdoc.render.drain.verdict import STATUS_SIGN, blocker_count, estimate_lines, left_by_verdict, verdict
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.markdown import code, escape, folded
from kubectl_eksdoc.render.tables import Drawn
from kubectl_eksdoc.render.text import counted

_LONGEST = 65_536
"""What GitHub takes for an issue or a comment, in characters."""

_MOST_ROWS = (200, 100, 50, 25, 10)
"""How many rows a table may have: the first number with which the ticket is not too long, else the last."""

_CODE_WIDTH = 80
"""Columns of a block of code that GitHub shows without a scroll bar."""

_NAMES = frozenset({"NODE", "BUDGET", "POD", "OWNER", "SCHEDULED ON", "KIND"})


def ticket(view: DrainView, look: Look) -> str:
    """Headings from the second level, so that it can stand below a title of its own; short enough for GitHub."""
    text = ""
    for most in _MOST_ROWS:
        text = _ticket(view, look, most)
        if len(text) <= _LONGEST:
            break
    return text


def _ticket(view: DrainView, look: Look, most: int) -> str:
    lines = [
        f"## Drain plan for {markdown.cluster(view.cluster)}",
        "",
        f"**{escape(verdict(view))}**",
        "",
        *_course(view),
        markdown.origin(view.cluster, view.tool_version),
    ]
    for title, body in _sections(view, look, most):
        if body:
            lines += ["", f"### {title}", "", *body]
    if view.handoffs:
        lines += ["", f"### {escape(afterwards.TITLE.capitalize())}"]
        lines += [line for handoff in view.handoffs[:most] for line in handed_off(handoff, most)]
        lines += ["", _more(len(view.handoffs) - most, "groups of nodes")] if len(view.handoffs) > most else []
    for details in _details(view, most):
        if details:
            lines += ["", *details]
    return markdown.signed(lines, look)


def _course(view: DrainView) -> list[str]:
    said = course(view)
    return [escape(said), ""] if said else []


def _sections(view: DrainView, look: Look, most: int) -> Iterable[tuple[str, list[str]]]:
    if view.comparison is not None:
        yield escape(words.title(view.comparison, view)), against.lines(view.comparison, view, most, _table)
    blockers = grouped(view.blockers, view)
    yield f"Blockers ({blocker_count(blockers)})", _items(blockers, most, view)
    yield f"Targets, {ordered_by(view)}", _table(rows.drained(view), "targets", most)
    yield "Estimate", [escape(line).replace("\\- ", "- ", 1) for line in estimate_lines(view)]
    yield "Before the first eviction", _fence(view)
    yield timeline.TITLE, _timeline(view, look)
    yield (
        escape(f"Targets that are not drained{fence.not_drained(view)}"),
        _table(rows.undrained(view, full=True), "targets", most),
    )
    yield "Budgets that matter", _table(rows.budgets(view), "budgets", most)
    yield "Unknown: what could not be judged is not taken as fine", _unknowns(view, most)
    missing = [read for read in view.cluster.reads if not read.known]
    yield "Not read", _table(rows.unread(missing), "kinds", most)
    yield "Notes", [f"- {escape(note)}" for note in view.cluster.notes]
    yield "Not judged by this plan", [f"- {escape(text)}" for text in view.plan.not_judged]


def _fence(view: DrainView) -> list[str]:
    step = fence.fence(view)
    return [] if step is None else [f"{escape(step.text)}:", "", *markdown.block([step.command])]


def _timeline(view: DrainView, look: Look) -> list[str]:
    lines = timeline.timeline(view, Look(width=_CODE_WIDTH, ascii=look.ascii), slow_s=view.slow_s)
    return markdown.block(lines, "text") if lines else []


def _details(view: DrainView, most: int) -> Iterable[list[str]]:
    warnings = grouped(view.warnings, view)
    yield folded(f"{counted(len(warnings), 'warning')}: these stop nothing", _items(warnings, most, view))
    evictions = rows.evictions(view.evictions, view)
    told = [*_table(evictions, "evictions", most), *(["", escape(said)] if (said := new_names(view)) else [])]
    yield folded(f"{counted(len(view.evictions), 'eviction')}, in order", told if view.evictions else [])
    left = left_by_verdict(view)
    yield folded(left, _table(rows.left(view.left, view), "pods", most))
    fits = sum(h.verdict is BudgetVerdict.FITS for h in view.budgets)
    title = f"All {counted(len(view.budgets), 'budget')} with pods on these nodes; {fits} fit"
    yield folded(title, _table(rows.budgets(view, full=True), "budgets", most) if fits else [])


def _table(drawn: Drawn, what: str, most: int) -> list[str]:
    columns, body = drawn
    lines = markdown.table(columns, body[:most], _NAMES)
    return [*lines, "", _more(len(body) - most, what)] if len(body) > most else lines


def _more(count: int, what: str) -> str:
    return f"… and {count} more {what}; all of them are in `-o json`."


def _unknowns(view: DrainView, most: int) -> list[str]:
    accepted = view.plan.policy.accept_unknown
    groups = grouped(view.unknowns, view)
    lines = _items([group for group in groups if group.first.code.name not in accepted], most, view)
    known = sorted({group.first.code.name for group in groups} & accepted)
    if known:
        lines.append(f"- accepted by `--accept-unknown`: {', '.join(code(name) for name in known)}")
    return lines


def _items(groups: Sequence[Group], most: int, view: DrainView) -> list[str]:
    lines = [line for group in groups[:most] for line in _item(group, view)]
    return [*lines, "", _more(len(groups) - most, "findings")] if len(groups) > most else lines


def _item(group: Group, view: DrainView) -> list[str]:
    first = group.first
    sign = STATUS_SIGN[first.status][0]
    lines = [f"- {sign} **{code(first.code.name)}** ({first.severity.value}): {escape(group.about)}"]
    lines += [f"  - {escape(message)}" for message in group.messages]
    if group.listed:
        lines.append(f"  - {', '.join(code(name) for name in group.listed)}")
    nodes = [node for node in group.nodes if node not in group.names]
    if nodes:
        lines.append(f"  - on {', '.join(code(node) for node in nodes)}")
    if first.missing:
        lines.append(f"  - missing: {code(first.missing)}")
    told, uncounted = evidence(group)
    lines += [f"  - {escape(text)}" for text in told]
    lines += [f"  - and {uncounted} more"] if uncounted else []
    return lines + _remedies(unread(group, view))


def _remedies(advice: Sequence[Advice]) -> list[str]:
    lines: list[str] = []
    for when in When:
        for remedy, commands in advice:
            if remedy.when is not when:
                continue
            lines.append(f"  - *{when.value}*: {escape(remedy.text)}")
            if commands:
                lines += ["", *(f"    {line}" for line in markdown.block(commands)), ""]
    return lines


def handed_off(handoff: HandOff, most: int) -> list[str]:
    """A group's steps, and folded: what to beware of, and for a managed group the ways compared."""
    lines = ["", f"#### {escape(afterwards.head(handoff))}", ""]
    lines += _steps("New nodes", handoff.arrive, most) + _steps("Old nodes", handoff.leave, most)
    beware = [f"- {escape(text)}." for text in handoff.beware]
    lines += ["", *folded(f"{len(beware)} to beware of", beware)] if beware else []
    update = afterwards.update_of(handoff)
    if update is None:
        return lines
    columns, body = afterwards.comparison(handoff.instead)
    lines += ["", *markdown.table(columns, body), ""]
    lines += [f"- nodes added by {afterwards.WAYS[o.way].lower()}: {escape(o.surge_why)}" for o in handoff.instead]
    for text, pods in afterwards.pods_of(update):
        names = ", ".join(code(pod) for pod in pods[:most])
        more = f" {_more(len(pods) - most, 'pods')}" if len(pods) > most else ""
        lines.append(f"- the group's own update: {escape(text)} {counted(len(pods), 'pod')}: {names}{more}")
    return lines


def _steps(title: str, steps: Iterable[Step], most: int) -> list[str]:
    lines: list[str] = []
    for step in steps:
        lines.append(f"- *{title}*: {escape(step.text)}")
        if step.commands:
            lines += ["", *(f"  {line}" for line in markdown.block(step.commands[:most])), ""]
        if len(step.commands) > most:
            lines += [f"  {_more(len(step.commands) - most, 'commands')}", ""]
    return lines
