"""Formats of a drain plan: one screen, the wide page, a ticket, an HTML page, JSON, or node names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.markdown import code_block, code_span, collapsible, escape_markdown, omitted_note
from kubectl_eksdoc.report.report import (
    DEFAULT_BACKENDS,
    SYMBOLS,
    BulletList,
    CustomBackend,
    Heading,
    Line,
    MarkdownBlock,
    Report,
    ReportFigure,
    Section,
    Table,
    TerminalBackend,
    TextBlock,
    flush_left,
)
from kubectl_eksdoc.report.text import (
    MARGIN,
    Appearance,
    Title,
    Tone,
    first_items,
    format_table,
    join_words,
    pluralize,
    printable,
    truncate,
    wrap,
    wrap_printable,
)

from ..outcome import BudgetVerdict
from . import comparison, handoffs, rows
from . import verdict as steps
from .findings import (
    BlockerCause,
    FindingGroup,
    blocker_causes,
    by_when,
    command_line,
    evidence_lines,
    finding_lines,
    grouped,
    merged_remedies,
    step_lines,
    unknown_groups,
)
from .plan import DrainView
from .timeline import TITLE, timeline
from .verdict import (
    NO_TIMES,
    blocker_count,
    estimate_lines,
    new_node_names,
    not_evicted_summary,
    order_name,
    order_summary,
    plan_summary,
    surge_summary,
    unmeasured_note,
)

BLOCKERS, ESTIMATE, NEXT = Title("Blockers"), Title("Estimate"), Title("Next", " (nothing was changed)")
UNKNOWN = Title("Unknown", ": what could not be judged is not taken as fine")
WARNINGS = Title("Warnings", ": these stop nothing")
_NAMES = frozenset({"BUDGET", "OWNER", "SCHEDULED ON"})


@frozen
class DrainReport(DrainView, Report):
    """`preview`: the plan is shown before it is run, so no next command is printed."""

    noun_phrase = "a plan"
    formats = MappingProxyType(
        {
            **DEFAULT_BACKENDS,
            "table": CustomBackend(lambda report, look: screen(report, look)),
            "html": CustomBackend(lambda report, look: report.page(look)),
            "name": CustomBackend(lambda report, look: "".join(f"node/{name}\n" for name in report.drained)),
        }
    )

    preview: bool = False

    def sections(self, full: bool) -> Iterator[Section | None]:
        """The sections of a wide page."""
        blockers = grouped(self.blockers, self)
        yield Heading(plan_summary(self), [order_summary(self)])
        yield from comparison.sections(self, full)
        yield _findings_figure(Title("Blockers", f" ({blocker_count(blockers)})"), blockers, self, [""])
        yield Table(_targets_title(self), rows.drained(self, full))
        yield TextBlock(ESTIMATE, estimate_lines(self))
        yield ReportFigure(TITLE, lambda look, full: timeline(self, look, len(MARGIN), p95_done_s=self.p95_done_s))
        below = [steps.LOAD_BALANCER_NOTE] if self.plan.cordoned_only else ()
        yield Table(_undrained_title(self), rows.undrained(self, full), notes=below)
        yield Table("Budgets", rows.budgets(self, full, len(self.budgets)))
        yield Table(Title("Evictions", ", in order"), rows.evictions(self.evictions, self), notes=_new_node_names(self))
        left = not_evicted_summary(self)
        yield Table(Title("Pods", " that are not evicted"), rows.not_evicted(self.left, self), intro=left)
        yield _findings_figure(WARNINGS, grouped(self.warnings, self), self)
        unknown, accepted = unknown_groups(self)
        yield _findings_figure(UNKNOWN, unknown, self, accepted=accepted)
        yield Table("Not read", rows.not_read(self.not_read))
        yield TextBlock("Notes", self.cluster.notes)
        yield TextBlock(Title("Not judged", " by this plan"), self.plan.not_judged)
        yield handoffs.section(self.handoffs, full)
        if not self.preview:
            answer = Line(steps.headline(self, Appearance()), hang=0, tone=Tone.TITLE)
            lines = [answer, *(line for each in steps.next_steps(self) for line in step_lines(*each))]
            formats = "For a ticket: -o markdown; for a browser: -o html; for a program: -o json"
            yield TextBlock(
                NEXT, [*lines, flush_left(formats)]
            )  # The headline again: the end of a long page shows it too.

    def ticket(self, max_rows: int) -> Iterator[Section | None]:
        """The sections of a ticket; long tables are folded, at the end."""
        blockers, warnings = grouped(self.blockers, self), grouped(self.warnings, self)
        yield Heading(plan_summary(self), [order_summary(self)], "Drain plan for")
        yield comparison.written(self, max_rows)
        yield MarkdownBlock(
            Title("Blockers", f" ({blocker_count(blockers)})"), _finding_items(blockers, max_rows, self)
        )
        yield Table(_targets_title(self), rows.drained(self), "targets", code_columns=_NAMES)
        yield MarkdownBlock(ESTIMATE, [escape_markdown(line).replace("\\- ", "- ", 1) for line in estimate_lines(self)])
        yield ReportFigure(TITLE, lambda look, full: timeline(self, look, p95_done_s=self.p95_done_s))
        yield Table(_undrained_title(self), rows.undrained(self, full=True), "targets", code_columns=_NAMES)
        yield Table(Title("Budgets", " that matter"), rows.budgets(self), "budgets", code_columns=_NAMES)
        unknown, accepted = unknown_groups(self)
        accepted_lines = (
            [f"- accepted by `--accept-unknown`: {', '.join(code_span(name) for name in accepted)}"] if accepted else []
        )
        yield MarkdownBlock(UNKNOWN, _finding_items(unknown, max_rows, self) + accepted_lines)
        yield Table("Not read", rows.not_read(self.not_read), "kinds")
        yield BulletList("Notes", self.cluster.notes)
        yield BulletList(Title("Not judged", " by this plan"), self.plan.not_judged)
        yield handoffs.written(self.handoffs, max_rows)
        items = _finding_items(warnings, max_rows, self)
        yield MarkdownBlock(None, collapsible(f"{pluralize(len(warnings), 'warning')}{WARNINGS.detail}", items))
        fold_title = f"{pluralize(len(self.evictions), 'eviction')}, in order"
        evictions = rows.evictions(self.evictions, self)
        yield Table(
            "", evictions, "evictions", notes=_new_node_names(self), code_columns=_NAMES, fold_summary=fold_title
        )
        yield Table(
            "", rows.not_evicted(self.left, self), "pods", code_columns=_NAMES, fold_summary=not_evicted_summary(self)
        )
        if fitting := sum(each.verdict is BudgetVerdict.FITS for each in self.budgets):
            fold_title = f"All {pluralize(len(self.budgets), 'budget')} with pods on these nodes; {fitting} fit"
            yield Table("", rows.budgets(self, full=True), "budgets", code_columns=_NAMES, fold_summary=fold_title)

    def page(self, appearance: Appearance) -> str:
        from .page import page

        return page(self, appearance)

    def result(self) -> object:
        from .result import PlanResult

        return PlanResult.of(self)


def _targets_title(view: DrainView) -> Title:
    return Title("Targets", f", {order_name(view)}")


def _undrained_title(view: DrainView, count: str = "") -> Title:
    return Title("Targets", f" that are not drained{count}{steps.not_drained_note(view)}")


def _new_node_names(view: DrainView) -> list[str]:
    return [text] if (text := new_node_names(view)) else []


# Wide page: no cell is cut and no column dropped, so lines may be wider than the terminal.


def _findings_figure(
    title: Title, groups: Sequence[FindingGroup], view: DrainView, gap: Sequence[str] = (), accepted: Sequence[str] = ()
) -> ReportFigure:
    def draw(appearance: Appearance, full: bool) -> list[str]:
        lines = [line for group in groups for line in [*gap, *finding_lines(group, appearance, view)]][len(gap) :]
        accepted_text = f"Accepted by --accept-unknown: {', '.join(accepted)}."
        return lines + (wrap(accepted_text, appearance.columns, MARGIN) if accepted else [])

    return ReportFigure(title, draw)


# Markdown.


def _finding_items(groups: Sequence[FindingGroup], limit: int, view: DrainView) -> list[str]:
    lines = [line for group in groups[:limit] for line in _finding_item(group, view)]
    rest = omitted_note(len(groups) - limit, "findings")
    return [*lines, "", *rest] if rest else lines


def _finding_item(group: FindingGroup, view: DrainView) -> list[str]:
    first, evidence_texts = group.first, evidence_lines(group)
    sign = SYMBOLS[first.status][0]
    lines = [f"- {sign} **{code_span(first.code.name)}** ({first.severity.value}): {escape_markdown(group.about)}"]
    lines += [f"  - {escape_markdown(message)}" for message in group.messages]
    lines += [f"  - {', '.join(code_span(name) for name in group.listed_names)}"] if group.listed_names else []
    lines += [f"  - on {', '.join(code_span(node) for node in group.other_nodes)}"] if group.other_nodes else []
    lines += [f"  - missing: {code_span(first.missing)}"] if first.missing else []
    lines += [f"  - {escape_markdown(text)}" for text in evidence_texts[0]]
    lines += [f"  - and {evidence_texts[1]} more"] if evidence_texts[1] else []
    for when, remedy, commands in by_when(merged_remedies(group, view)):
        lines.append(f"  - *{when}*: {escape_markdown(remedy)}")
        if commands:
            lines += ["", *(f"    {line}" for line in code_block(commands)), ""]
    return lines


# The page that fits a screen: summary, nodes, blockers by cause with a command each, times and one next command. The
# rest is only named.


MAX_LINES = 45
"""Lines of the page on a terminal of 100 columns, without the comparison with a baseline."""

_MAX_DRAINED = 8
_MAX_SKIPPED = 12
_MIN_ROWS = 3
"""Nodes of either table, and causes, that are always shown."""

_MAX_UNKNOWN = 3
_MAX_NAMES = 2

_IN_WIDE = "(-o wide)"
_SCREEN = TerminalBackend()


def screen(view: DrainReport, appearance: Appearance) -> str:
    surge_text = surge_summary(view) if view.drained else ""
    head_lines = _SCREEN.section_lines(Heading(plan_summary(view), [surge_text]), appearance)
    sections_below = [_time_lines(view, appearance), _unknown_lines(view, appearance), _wide_note(view, appearance)]
    if not view.preview and (first := steps.first_next_step(view)) is not None:
        sections_below.append(_SCREEN.section_lines(TextBlock(NEXT, step_lines(*first)), appearance))
    causes = [_cause_lines(cause, appearance) for cause in blocker_causes(view)]
    title = f"BLOCKERS ({blocker_count(grouped(view.blockers, view))}), by cause, each with the command for its first"

    def blockers(limit: int) -> list[str]:
        lines = [line for each in causes[:limit] for line in each]
        return _titled_lines(title, lines, appearance, len(causes) - limit, "cause")

    room = MAX_LINES + 1 - _height([head_lines, *sections_below])
    nodes = _node_tables(view, appearance, room - _height([blockers(_MIN_ROWS)]))
    shown_causes = max(len(causes), _MIN_ROWS)
    while shown_causes > _MIN_ROWS and _height([blockers(shown_causes)]) > room - _height(nodes):
        shown_causes -= 1
    comparison_sections = (
        _SCREEN.section_lines(each, appearance) for each in comparison.sections(view, False) if each is not None
    )
    sections = [head_lines, *comparison_sections, *nodes, blockers(shown_causes), *sections_below]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _height(sections: Iterable[Sequence[str]]) -> int:
    """Number of lines, with the empty line after each section."""
    return sum(len(lines) + 1 for lines in sections if lines)


def _node_tables(view: DrainView, appearance: Appearance, height: int) -> list[list[str]]:
    """Both tables; without room for all rows, first the skipped nodes are cut, then the others."""
    drained, skipped = _MAX_DRAINED, _MAX_SKIPPED
    targets, causes = rows.drained(view), rows.causes(view)
    while True:
        columns, all_rows = targets
        shown_rows = first_items(all_rows, drained)
        lines = format_table(columns, shown_rows, appearance, indent=len(MARGIN))
        tables = [
            _titled_lines(
                _targets_title(view).screen_title, lines, appearance, len(all_rows) - len(shown_rows), "target"
            ),
            _skipped_table(view, appearance, causes, skipped),
        ]
        if _height(tables) <= height or (drained, skipped) == (_MIN_ROWS, _MIN_ROWS):
            return tables
        if skipped > _MIN_ROWS:
            skipped -= 1
        else:
            drained -= 1


def _titled_lines(
    title: str, lines: Sequence[str], appearance: Appearance, hidden: int = 0, noun: str = ""
) -> list[str]:
    rest = [f"{MARGIN}{appearance.ellipsis} {pluralize(hidden, f'more {noun}')} {_IN_WIDE}"] if hidden > 0 else []
    return [appearance.paint(_cut_line(title, appearance, ""), Tone.TITLE), *lines, *rest] if lines else []


def _cut_line(text: str, appearance: Appearance, margin: str = MARGIN) -> str:
    """One line, cut to the width."""
    return margin + truncate(printable(text, appearance), appearance.columns - len(margin), appearance)


def _skipped_table(
    view: DrainView, appearance: Appearance, causes: Mapping[str, Sequence[str]], limit: int
) -> list[str]:
    """A line for each node: its name, its verdict, and the causes by code and subject."""
    undrained = view.undrained
    width = max((len(target.node.name) for target in undrained), default=0)
    shown_targets = first_items(undrained, limit)
    lines = []
    for target in shown_targets:
        name = target.node.name
        reason = "; ".join(causes.get(name, target.why))
        lines.append(_cut_line(f"{name.ljust(width)}  {rows.verdict(target).text}: {reason}", appearance))
    title = _undrained_title(view, f" ({len(undrained)})").screen_title
    return _titled_lines(title, lines, appearance, len(undrained) - len(shown_targets), "target")


def _cause_lines(cause: BlockerCause, appearance: Appearance) -> list[str]:
    """Code, number of nodes, what its fix frees, and the one command or sentence that fixes it."""
    subjects = ", ".join(cause.subjects[:_MAX_NAMES])
    if len(cause.subjects) > _MAX_NAMES:
        subjects += f" and {len(cause.subjects) - _MAX_NAMES} more"
    node_count = f" on {pluralize(len(cause.nodes), 'node')}" if cause.nodes else ""
    # A command is never cut, so that it can be copied.
    fix = command_line(cause.command, appearance) if cause.command else _cut_line(cause.text, appearance, MARGIN * 2)
    return [_cut_line(f"✗ {cause.code}{node_count}, {cause.frees}: {subjects}", appearance, ""), fix]


def _time_lines(view: DrainView, appearance: Appearance) -> list[str]:
    estimate = view.plan.estimate
    if not view.evictions:
        return []
    if estimate is None:
        return wrap_printable(NO_TIMES, appearance)
    text = f"p50 {format_duration(estimate.p50_s)}, p95 {format_duration(estimate.p95_s)}{unmeasured_note(estimate)}"
    if estimate.lower_bounds:
        text += f"; no run takes less than {format_duration(estimate.lower_bounds[0].seconds)}"
    lines = [_cut_line(text, appearance)]
    if estimate.bounds:
        faster = [
            f"; {each.change}: {format_duration(each.makespan_s)}" for each in estimate.relaxations if each.saved_s >= 1
        ]
        lines.append(_cut_line(f"what decides: {estimate.bounds[0].about}{''.join(faster[:1])}", appearance))
    return _titled_lines("TIMES", lines, appearance)


def _unknown_lines(view: DrainView, appearance: Appearance) -> list[str]:
    groups, _ = unknown_groups(view)
    lines = []
    for group in groups[:_MAX_UNKNOWN]:
        first = group.first
        missing = f"missing {first.missing}: " if first.missing else ""
        lines.append(
            _cut_line(f"? {first.code.name} ({first.severity.value}): {missing}{first.message}", appearance, "")
        )
    return _titled_lines(UNKNOWN.screen_title, lines, appearance, len(groups) - len(lines), "question")


def _wide_note(view: DrainView, appearance: Appearance) -> list[str]:
    """One line on checks that were not judged, one on notes, and one on what only ``-o wide`` shows."""
    lines = []
    for title, texts in (("Not judged", view.plan.not_judged), ("Note", view.cluster.notes)):
        more = f"; {len(texts) - 1} more {_IN_WIDE}" if len(texts) > 1 else ""
        lines += (
            [truncate(printable(f"{title}: {texts[0]}", appearance), appearance.columns - len(more), appearance) + more]
            if texts
            else []
        )
    return [*lines, _cut_line(f"More in -o wide: {join_words(list(_wide_contents(view)))}", appearance, "")]


def _wide_contents(view: DrainView) -> Iterator[str]:
    warnings = grouped(view.warnings, view)
    warning_count = sum(group.first.severity is not Severity.INFO for group in warnings)
    for count, noun in (
        (warning_count, "warning"),
        (len(warnings) - warning_count, "note"),
        (len(view.budgets), "budget"),
    ):
        if count:
            yield pluralize(count, noun)
    if len(view.not_read) == 1:
        yield f"not read: {view.not_read[0].resource.plural} ({view.not_read[0].state.value})"
    elif view.not_read:
        states = Counter(read.state.value.replace("-", " ") for read in view.not_read).most_common()
        yield ", ".join(f"{pluralize(count, 'kind')} {state}" for state, count in states)
    yield "all fixes, pods, assumptions"
