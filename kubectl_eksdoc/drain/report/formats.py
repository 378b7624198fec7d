"""Formats of a drain plan: one screen, the wide page, a ticket, an HTML page, JSON, or node names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.markdown import block as code_block
from kubectl_eksdoc.report.markdown import code, escape, folded, more
from kubectl_eksdoc.report.report import (
    PLAIN,
    SIGNS,
    Head,
    Line,
    Lines,
    OwnFormat,
    Points,
    Report,
    ReportFigure,
    Screen,
    Section,
    Table,
    Written,
    flush,
)
from kubectl_eksdoc.report.text import (
    MARGIN,
    Look,
    Title,
    Tone,
    counted,
    cut,
    few,
    joined,
    plain,
    shown,
    wrap,
    wrapped,
)

from ..outcome import BudgetVerdict
from . import comparison, handoffs, rows
from . import verdict as steps
from .findings import (
    Cause,
    Group,
    block,
    by_when,
    causes_of,
    command_line,
    evidence,
    grouped,
    step,
    unknown_of,
    unread,
)
from .plan import DrainView
from .timeline import TITLE, timeline
from .verdict import (
    NO_TIMES,
    blocker_count,
    course,
    estimate_lines,
    joining,
    left_by_verdict,
    new_names,
    ordered_by,
    unmeasured,
    verdict,
)

BLOCKERS, ESTIMATE, NEXT = Title("Blockers"), Title("Estimate"), Title("Next", " (nothing was changed)")
UNKNOWN = Title("Unknown", ": what could not be judged is not taken as fine")
WARNINGS = Title("Warnings", ": these stop nothing")
_NAMES = frozenset({"BUDGET", "OWNER", "SCHEDULED ON"})


@frozen
class DrainReport(DrainView, Report):
    """`preview`: the plan is shown before it is run, so no next command is printed."""

    of = "a plan"
    formats = MappingProxyType(
        {
            **PLAIN,
            "table": OwnFormat(lambda report, look: screen(report, look)),
            "html": OwnFormat(lambda report, look: report.page(look)),
            "name": OwnFormat(lambda report, look: "".join(f"node/{name}\n" for name in report.drained)),
        }
    )

    preview: bool = False

    def sections(self, full: bool) -> Iterator[Section | None]:
        """The sections of a wide page."""
        blockers = grouped(self.blockers, self)
        yield Head(verdict(self), [course(self)])
        yield from comparison.sections(self, full)
        yield _blocks(Title("Blockers", f" ({blocker_count(blockers)})"), blockers, self, [""])
        yield Table(_targets(self), rows.drained(self, full))
        yield Lines(ESTIMATE, estimate_lines(self))
        yield ReportFigure(TITLE, lambda look, full: timeline(self, look, len(MARGIN), slow_s=self.slow_s))
        below = [steps.BALANCERS] if self.plan.cordoned_only else ()
        yield Table(_undrained(self), rows.undrained(self, full), below=below)
        yield Table("Budgets", rows.budgets(self, full, len(self.budgets)))
        yield Table(Title("Evictions", ", in order"), rows.evictions(self.evictions, self), below=_new_names(self))
        left = left_by_verdict(self)
        yield Table(Title("Pods", " that are not evicted"), rows.left(self.left, self), above=left)
        yield _blocks(WARNINGS, grouped(self.warnings, self), self)
        unknown, accepted = unknown_of(self)
        yield _blocks(UNKNOWN, unknown, self, accepted=accepted)
        yield Table("Not read", rows.unread(self.unread))
        yield Lines("Notes", self.cluster.notes)
        yield Lines(Title("Not judged", " by this plan"), self.plan.not_judged)
        yield handoffs.section(self.handoffs, full)
        if not self.preview:
            answer = Line(steps.answer(self, Look()), hang=0, tone=Tone.TITLE)
            lines = [answer, *(line for each in steps.steps(self) for line in step(*each))]
            formats = "For a ticket: -o markdown; for a browser: -o html; for a program: -o json"
            yield Lines(NEXT, [*lines, flush(formats)])  # The headline again: the end of a long page shows it too.

    def ticket(self, most: int) -> Iterator[Section | None]:
        """The sections of a ticket; long tables are folded, at the end."""
        blockers, warnings = grouped(self.blockers, self), grouped(self.warnings, self)
        yield Head(verdict(self), [course(self)], "Drain plan for")
        yield comparison.written(self, most)
        yield Written(Title("Blockers", f" ({blocker_count(blockers)})"), _items(blockers, most, self))
        yield Table(_targets(self), rows.drained(self), "targets", names=_NAMES)
        yield Written(ESTIMATE, [escape(line).replace("\\- ", "- ", 1) for line in estimate_lines(self)])
        yield ReportFigure(TITLE, lambda look, full: timeline(self, look, slow_s=self.slow_s))
        yield Table(_undrained(self), rows.undrained(self, full=True), "targets", names=_NAMES)
        yield Table(Title("Budgets", " that matter"), rows.budgets(self), "budgets", names=_NAMES)
        unknown, accepted = unknown_of(self)
        known = [f"- accepted by `--accept-unknown`: {', '.join(code(name) for name in accepted)}"] if accepted else []
        yield Written(UNKNOWN, _items(unknown, most, self) + known)
        yield Table("Not read", rows.unread(self.unread), "kinds")
        yield Points("Notes", self.cluster.notes)
        yield Points(Title("Not judged", " by this plan"), self.plan.not_judged)
        yield handoffs.written(self.handoffs, most)
        items = _items(warnings, most, self)
        yield Written(None, folded(f"{counted(len(warnings), 'warning')}{WARNINGS.rest}", items))
        every = f"{counted(len(self.evictions), 'eviction')}, in order"
        evictions = rows.evictions(self.evictions, self)
        yield Table("", evictions, "evictions", below=_new_names(self), names=_NAMES, fold=every)
        yield Table("", rows.left(self.left, self), "pods", names=_NAMES, fold=left_by_verdict(self))
        if fits := sum(each.verdict is BudgetVerdict.FITS for each in self.budgets):
            every = f"All {counted(len(self.budgets), 'budget')} with pods on these nodes; {fits} fit"
            yield Table("", rows.budgets(self, full=True), "budgets", names=_NAMES, fold=every)

    def page(self, look: Look) -> str:
        from .page import page

        return page(self, look)

    def result(self) -> object:
        from .result import PlanResult

        return PlanResult.of(self)


def _targets(view: DrainView) -> Title:
    return Title("Targets", f", {ordered_by(view)}")


def _undrained(view: DrainView, count: str = "") -> Title:
    return Title("Targets", f" that are not drained{count}{steps.not_drained(view)}")


def _new_names(view: DrainView) -> list[str]:
    return [meant] if (meant := new_names(view)) else []


# Wide page: no cell is cut and no column dropped, so lines may be wider than the terminal.


def _blocks(
    title: Title, groups: Sequence[Group], view: DrainView, gap: Sequence[str] = (), accepted: Sequence[str] = ()
) -> ReportFigure:
    def draw(look: Look, full: bool) -> list[str]:
        lines = [line for group in groups for line in [*gap, *block(group, look, view)]][len(gap) :]
        told = f"Accepted by --accept-unknown: {', '.join(accepted)}."
        return lines + (wrap(told, look.columns, MARGIN) if accepted else [])

    return ReportFigure(title, draw)


# Markdown.


def _items(groups: Sequence[Group], most: int, view: DrainView) -> list[str]:
    lines = [line for group in groups[:most] for line in _item(group, view)]
    rest = more(len(groups) - most, "findings")
    return [*lines, "", *rest] if rest else lines


def _item(group: Group, view: DrainView) -> list[str]:
    first, told = group.first, evidence(group)
    sign = SIGNS[first.status][0]
    lines = [f"- {sign} **{code(first.code.name)}** ({first.severity.value}): {escape(group.about)}"]
    lines += [f"  - {escape(message)}" for message in group.messages]
    lines += [f"  - {', '.join(code(name) for name in group.listed)}"] if group.listed else []
    lines += [f"  - on {', '.join(code(node) for node in group.elsewhere)}"] if group.elsewhere else []
    lines += [f"  - missing: {code(first.missing)}"] if first.missing else []
    lines += [f"  - {escape(text)}" for text in told[0]]
    lines += [f"  - and {told[1]} more"] if told[1] else []
    for when, remedy, commands in by_when(unread(group, view)):
        lines.append(f"  - *{when}*: {escape(remedy)}")
        if commands:
            lines += ["", *(f"    {line}" for line in code_block(commands)), ""]
    return lines


# The page that fits a screen: summary, nodes, blockers by cause with a command each, times and one next command. The
# rest is only named.


MOST_LINES = 45
"""Lines of the page on a terminal of 100 columns, without the comparison with a baseline."""

_MOST_DRAINED = 8
_MOST_SKIPPED = 12
_FEWEST = 3
"""Nodes of either table, and causes, that are always shown."""

_MOST_UNKNOWN = 3
_MOST_NAMES = 2

_WIDE = "(-o wide)"
_PAGE = Screen()


def screen(view: DrainReport, look: Look) -> str:
    joins = joining(view) if view.drained else ""
    said = _PAGE.lines(Head(verdict(view), [joins]), look)
    after = [_times(view, look), _questions(view, look), _elsewhere(view, look)]
    if not view.preview and (first := steps.first_step(view)) is not None:
        after.append(_PAGE.lines(Lines(NEXT, step(*first)), look))
    causes = [_cause(cause, look) for cause in causes_of(view)]
    title = f"BLOCKERS ({blocker_count(grouped(view.blockers, view))}), by cause, each with the command for its first"

    def blockers(most: int) -> list[str]:
        lines = [line for each in causes[:most] for line in each]
        return _listed(title, lines, look, len(causes) - most, "cause")

    room = MOST_LINES + 1 - _height([said, *after])
    nodes = _nodes(view, look, room - _height([blockers(_FEWEST)]))
    most = max(len(causes), _FEWEST)
    while most > _FEWEST and _height([blockers(most)]) > room - _height(nodes):
        most -= 1
    against = (_PAGE.lines(each, look) for each in comparison.sections(view, False) if each is not None)
    sections = [said, *against, *nodes, blockers(most), *after]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _height(sections: Iterable[Sequence[str]]) -> int:
    """Number of lines, with the empty line after each section."""
    return sum(len(lines) + 1 for lines in sections if lines)


def _nodes(view: DrainView, look: Look, room: int) -> list[list[str]]:
    """Both tables; without room for all rows, first the skipped nodes are cut, then the others."""
    drained, skipped = _MOST_DRAINED, _MOST_SKIPPED
    targets, causes = rows.drained(view), rows.causes(view)
    while True:
        columns, every = targets
        kept = few(every, drained)
        lines = plain(columns, kept, look, indent=len(MARGIN))
        found = [
            _listed(_targets(view).screen, lines, look, len(every) - len(kept), "target"),
            _skipped(view, look, causes, skipped),
        ]
        if _height(found) <= room or (drained, skipped) == (_FEWEST, _FEWEST):
            return found
        if skipped > _FEWEST:
            skipped -= 1
        else:
            drained -= 1


def _listed(title: str, lines: Sequence[str], look: Look, left_out: int = 0, what: str = "") -> list[str]:
    rest = [f"{MARGIN}{look.ellipsis} {counted(left_out, f'more {what}')} {_WIDE}"] if left_out > 0 else []
    return [look.paint(_cut(title, look, ""), Tone.TITLE), *lines, *rest] if lines else []


def _cut(text: str, look: Look, margin: str = MARGIN) -> str:
    """One line, cut to the width."""
    return margin + cut(shown(text, look), look.columns - len(margin), look)


def _skipped(view: DrainView, look: Look, causes: Mapping[str, Sequence[str]], most: int) -> list[str]:
    """A line for each node: its name, its verdict, and the causes by code and subject."""
    every = view.undrained
    width = max((len(target.node.name) for target in every), default=0)
    kept = few(every, most)
    lines = []
    for target in kept:
        name = target.node.name
        why = "; ".join(causes.get(name, target.why))
        lines.append(_cut(f"{name.ljust(width)}  {rows.verdict(target).text}: {why}", look))
    title = _undrained(view, f" ({len(every)})").screen
    return _listed(title, lines, look, len(every) - len(kept), "target")


def _cause(cause: Cause, look: Look) -> list[str]:
    """Code, number of nodes, what its fix frees, and the one command or sentence that fixes it."""
    about = ", ".join(cause.subjects[:_MOST_NAMES])
    if len(cause.subjects) > _MOST_NAMES:
        about += f" and {len(cause.subjects) - _MOST_NAMES} more"
    on = f" on {counted(len(cause.nodes), 'node')}" if cause.nodes else ""
    # A command is never cut, so that it can be copied.
    fix = command_line(cause.command, look) if cause.command else _cut(cause.text, look, MARGIN * 2)
    return [_cut(f"✗ {cause.code}{on}, {cause.frees}: {about}", look, ""), fix]


def _times(view: DrainView, look: Look) -> list[str]:
    estimate = view.plan.estimate
    if not view.evictions:
        return []
    if estimate is None:
        return wrapped(NO_TIMES, look)
    text = f"p50 {duration(estimate.p50_s)}, p95 {duration(estimate.p95_s)}{unmeasured(estimate)}"
    if estimate.least:
        text += f"; no run takes less than {duration(estimate.least[0].seconds)}"
    lines = [_cut(text, look)]
    if estimate.bounds:
        faster = [f"; {each.change}: {duration(each.makespan_s)}" for each in estimate.relaxations if each.saved_s >= 1]
        lines.append(_cut(f"what decides: {estimate.bounds[0].about}{''.join(faster[:1])}", look))
    return _listed("TIMES", lines, look)


def _questions(view: DrainView, look: Look) -> list[str]:
    groups, _ = unknown_of(view)
    lines = []
    for group in groups[:_MOST_UNKNOWN]:
        first = group.first
        missing = f"missing {first.missing}: " if first.missing else ""
        lines.append(_cut(f"? {first.code.name} ({first.severity.value}): {missing}{first.message}", look, ""))
    return _listed(UNKNOWN.screen, lines, look, len(groups) - len(lines), "question")


def _elsewhere(view: DrainView, look: Look) -> list[str]:
    """One line on checks that were not judged, one on notes, and one on what only ``-o wide`` shows."""
    lines = []
    for title, texts in (("Not judged", view.plan.not_judged), ("Note", view.cluster.notes)):
        more = f"; {len(texts) - 1} more {_WIDE}" if len(texts) > 1 else ""
        lines += [cut(shown(f"{title}: {texts[0]}", look), look.columns - len(more), look) + more] if texts else []
    return [*lines, _cut(f"More in -o wide: {joined(list(_wide_only(view)))}", look, "")]


def _wide_only(view: DrainView) -> Iterator[str]:
    warnings = grouped(view.warnings, view)
    said = sum(group.first.severity is not Severity.INFO for group in warnings)
    for count, what in ((said, "warning"), (len(warnings) - said, "note"), (len(view.budgets), "budget")):
        if count:
            yield counted(count, what)
    if len(view.unread) == 1:
        yield f"not read: {view.unread[0].resource.plural} ({view.unread[0].state.value})"
    elif view.unread:
        why = Counter(read.state.value.replace("-", " ") for read in view.unread).most_common()
        yield ", ".join(f"{counted(count, 'kind')} {state}" for state, count in why)
    yield "all fixes, pods, assumptions"
