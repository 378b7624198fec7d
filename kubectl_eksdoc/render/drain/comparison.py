"""A plan beside a saved one: the words of the comparison, its rows, and its sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from kubectl_eksdoc.baseline.changes import ChangedOption
from kubectl_eksdoc.drain.comparison.changes import (
    BudgetChange,
    Change,
    Comparison,
    FindingChange,
    Measure,
    PlanFigure,
    TargetChange,
    Value,
)
from kubectl_eksdoc.model.baseline import BudgetOutline, FindingOutline, TargetOutline
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.drain.plan import BUDGET_SIGN, TARGET_SIGN, DrainView
from kubectl_eksdoc.render.drain.rows import NONE
from kubectl_eksdoc.render.report import (
    SIGNS,
    Lines,
    Markdown,
    Points,
    ReportFigure,
    Screen,
    Section,
    Table,
    Written,
    flush,
)
from kubectl_eksdoc.render.since.screen import counts
from kubectl_eksdoc.render.text import (
    MARGIN,
    Cell,
    Column,
    Drawn,
    Look,
    Row,
    Title,
    Tone,
    age,
    between,
    columns_of,
    counted,
    joined,
    name_column,
    number_column,
    rfc3339,
    text_column,
    wrapped,
)

FIGURES = {
    Measure.NODES: "nodes to drain",
    Measure.DRAINED: "nodes that can be drained",
    Measure.PARTIAL: "nodes drained in part",
    Measure.SKIPPED: "nodes skipped",
    Measure.REFUSED: "nodes refused",
    Measure.NOT_JUDGED: "nodes not judged",
    Measure.EVICTIONS: "evictions",
    Measure.LEFT: "pods left",
    Measure.ROUNDS: "rounds",
    Measure.WAVES: "waves",
    Measure.P50: "time, p50",
    Measure.P95: "time, p95",
    Measure.BOUND: "no run takes less than",
    Measure.BINDS: "what decides",
    Measure.GAP: "longer than any order",
    Measure.PEAK: "most pods away at once",
    Measure.BLOCKERS: "findings that block",
    Measure.UNKNOWNS: "findings that are unknown",
    Measure.WARNINGS: "findings that warn",
}

FINDING = {
    Change.NEW: "new",
    Change.NOT_JUDGED_BEFORE: "not judged before",
    Change.CHANGED: "changed",
    Change.NOT_JUDGED_NOW: "not judged now",
    Change.GONE: "gone",
}

_SECONDS = frozenset({Measure.P50, Measure.P95, Measure.BOUND})
_MORE_IS_BETTER = frozenset({Measure.DRAINED})
_LESS_IS_BETTER = frozenset(
    {
        Measure.SKIPPED,
        Measure.NOT_JUDGED,
        Measure.P50,
        Measure.P95,
        Measure.BLOCKERS,
        Measure.UNKNOWNS,
    }
)
"""Good or bad by itself, for the same nodes. More evictions are neither, for more may go; nor are more warnings, for a
flag turns what blocks into one."""


def title(comparison: Comparison, view: DrainView) -> str:
    """`` with old.json (live data of 2026-11-19T08:51:00Z, 24h older)``."""
    baseline = comparison.baseline
    data = f"{baseline.source.value} data of {rfc3339(baseline.observed_at)}"
    passed = between(baseline.observed_at, view.cluster.observed_at)
    older = f"{age(abs(passed))} {'older' if passed.total_seconds() > 0 else 'newer'} than this plan's"
    if rfc3339(baseline.observed_at) == rfc3339(view.cluster.observed_at):  # a document has no fractions
        older = "as old as this plan's"
    return f" with {baseline.file} ({data}, {older})"


def remarks(comparison: Comparison, view: DrainView) -> Iterator[str]:
    """What must be known before the rows are read, a sentence each."""
    if comparison.since.changes:
        yield f"Of what blocks or is unknown: {counts(comparison.since)}."
    if comparison.doubt:
        yield f"It is unknown whether both plans are of one cluster: {comparison.doubt}."
    made_by = comparison.baseline.tool_version
    if made_by != view.tool_version:
        yield f"Version {made_by} made the baseline, this is {view.tool_version}: the tool may make the difference."
    only_now = sum(change.before is None for change in comparison.targets)
    only_then = sum(change.now is None for change in comparison.targets)
    parts = [f"{count} only {when}" for count, when in ((only_then, "in the baseline"), (only_now, "now")) if count]
    if parts:
        yield f"The plans are of different nodes ({joined(parts)}): what came or went may be theirs."
    for kinds, when, instead in ((comparison.read_before, "for the baseline", "now"),
                                 (comparison.read_now, "now", "for the baseline")):  # fmt: skip
        if kinds:
            yield f"Read only {when}: {', '.join(kinds)}. What hangs on them could not be judged {instead}."
    if comparison.nothing_differs:
        yield "Nothing differs."


def unchanged(comparison: Comparison) -> str:
    """``12 findings are in both plans.``"""
    count = comparison.unchanged
    return f"{counted(count, 'finding')} {'is' if count == 1 else 'are'} the same in both plans." if count else ""


def figure_value(what: Measure, value: Value) -> str:
    if value is None:
        return NONE
    if isinstance(value, str):
        return value
    if what in _SECONDS:
        return duration(value)
    return f"{_percent(value)}%" if what is Measure.GAP else str(value)


def figure_change(figure: PlanFigure) -> str:
    """``+3``, ``-1m20s (-12%)``, ``changed``; "" for what is the same, ``-`` for what cannot be compared."""
    change, before = figure.change, figure.before
    if not figure.differs:
        return "same"
    if change is None:
        words = isinstance(before, str) and isinstance(figure.now, str)
        return "changed" if words else NONE
    sign = "+" if change > 0 else "-"
    if figure.what is Measure.GAP:
        points = abs(_percent(figure.now) - _percent(before))
        return f"{sign}{points} points" if points else "under 1 point"
    if figure.what not in _SECONDS:
        return f"{sign}{abs(change):g}"
    share = f" ({change / before:+.0%})" if isinstance(before, (int, float)) and before else ""
    return f"{sign}{duration(abs(change))}{share}"


def _percent(share: Value) -> int:
    """As it is written, so that what is shown adds up."""
    return round(share * 100) if isinstance(share, (int, float)) else 0


def figure_tone(figure: PlanFigure) -> Tone | None:
    change = figure.change
    if not change or figure.what not in _MORE_IS_BETTER | _LESS_IS_BETTER:
        return None
    return Tone.GOOD if (change > 0) == (figure.what in _MORE_IS_BETTER) else Tone.WARN


# The rows of a comparison's tables, whatever draws them.


_NO_TARGET = "no target"

_TARGETS = {verdict.value: sign for verdict, sign in TARGET_SIGN.items()}
_BUDGETS = {verdict.value: sign for verdict, sign in BUDGET_SIGN.items()}

_STATUSES = {Status.FAIL: "blocks", Status.UNKNOWN: "unknown", Status.PASS: "warns"}


def asked(found: Sequence[ChangedOption]) -> Drawn:
    """The options that were given differently."""
    return columns_of("ASKED DIFFERENTLY", *(text_column(each, 12, 3) for each in ("BASELINE", "NOW"))), [
        ["nodes by name" if each.option == "nodes" else f"--{each.option}", _given(each.before), _given(each.now)]
        for each in found
    ]


def figures(comparison: Comparison, found: Sequence[PlanFigure]) -> Drawn:
    """Only where like is compared with like is a figure better or worse."""
    columns = [text_column("WHAT", 20, 2), *(text_column(each, 18, 3) for each in ("BASELINE", "NOW"))]
    rows: list[Row] = []
    for f in found:
        change = Cell(figure_change(f), figure_tone(f) if comparison.like_with_like else None)
        rows.append([FIGURES[f.what], figure_value(f.what, f.before), figure_value(f.what, f.now), change])
    return columns_of(*columns, "CHANGE"), rows


def targets(found: Sequence[TargetChange], full: bool = True) -> Drawn:
    """Nodes with another verdict: why it is not drained, or what kept it from that before; not `full`: the first."""
    return columns_of(name_column("NODE"), "BASELINE", "NOW", text_column("WHY", 24, 3)), [
        [t.name, _verdict(t.before), _verdict(t.now), _why(t, full)] for t in found
    ]


def budgets(found: Sequence[BudgetChange]) -> Drawn:
    return columns_of(
        name_column("BUDGET", 20),
        "BASELINE",
        number_column("AT ONCE"),
        "NOW",
        number_column("AT ONCE"),
    ), [[b.key, *_allowance(b.before), *_allowance(b.now)] for b in found]


def findings(comparison: Comparison, found: Sequence[FindingChange], full: bool = False) -> Drawn:
    """What came, changed or went; `full` adds what the finding says."""
    return columns_of(
        "FINDING",
        Column("BASELINE", drop=1),
        Column("NOW", drop=1),
        "CODE",
        text_column("ABOUT", 18, 3),
        *(["MESSAGE"] if full else []),
    ), [
        [
            Cell(FINDING[f.change], _tone(f, comparison.like_with_like)),
            _said(f.before, full or _of_one_status(f)),
            _said(f.now, full or _of_one_status(f)),
            f.either.code,
            f"{f.either.subject.kind} {f.either.subject}",
            *([f.either.message] if full else []),
        ]
        for f in found
    ]


def worth_a_line(change: FindingChange) -> bool:
    """False for what is only a note in both plans."""
    return any(
        said is not None and (said.status is not Status.PASS or said.severity is not Severity.INFO)
        for said in (change.before, change.now)
    )


def _given(value: object) -> str:
    """As one would write it: a list with commas, a switch as true or false."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or NONE
    return f"{value:g}" if isinstance(value, float) else str(value)


def _verdict(target: TargetOutline | None) -> Cell:
    if target is None:
        return Cell(_NO_TARGET)
    sign, tone = _TARGETS[target.verdict]
    return Cell(f"{sign} {target.verdict}", tone)


def _why(change: TargetChange, full: bool) -> str:
    """What keeps it from being drained now, or kept it when the baseline was made."""
    if change.now is None:
        return NONE
    if change.now.why or change.before is None or not change.before.why:
        return _clauses(change.now.why, full) or NONE
    return f"no longer: {_clauses(change.before.why, full)}"


def _clauses(why: Sequence[str], full: bool) -> str:
    if full or len(why) < 3:
        return "; ".join(why)
    return f"{why[0]}; and {len(why) - 1} more"


def _allowance(budget: BudgetOutline | None) -> tuple[Cell, str]:
    if budget is None:
        return Cell(NONE), NONE
    sign, tone = _BUDGETS[budget.verdict]
    return Cell(f"{sign} {budget.verdict}", tone), str(budget.per_round)


def _said(finding: FindingOutline | None, how_bad: bool) -> str:
    if finding is None:
        return NONE
    status = _STATUSES[finding.status]
    return f"{status} ({finding.severity.value})" if how_bad else status


def _of_one_status(change: FindingChange) -> bool:
    """Only the severity is another one."""
    return change.before is not None and change.now is not None and change.before.status is change.now.status


def _tone(change: FindingChange, alike: bool) -> Tone | None:
    """A blocker that went with its node is not solved."""
    if change.change is Change.GONE:
        return Tone.GOOD if alike else None
    if change.change is Change.NOT_JUDGED_NOW:
        return Tone.UNKNOWN
    return SIGNS[change.either.status][1]


# The comparison for a terminal, what differs, and in a ticket every figure.


_MOST_ROWS = 10
_NO_TITLE = Title("")


def section(view: DrainView, full: bool) -> ReportFigure | None:
    comparison = view.comparison
    if comparison is None:
        return None

    def draw(look: Look, _: bool) -> list[str]:
        """Tables stand apart by a blank line."""
        head = wrapped(f"COMPARED{title(comparison, view)}", look, rest=MARGIN)
        found = (Screen(full).lines(part, look) for part in _parts(comparison, view, full))
        lines = [line for part in found if part for line in ["", *part]]
        return [*(look.paint(line, Tone.TITLE) for line in head), *lines[1:]]

    return ReportFigure(_NO_TITLE, draw)


def _parts(comparison: Comparison, view: DrainView, full: bool) -> Iterator[Section]:
    shown_figures = [figure for figure in comparison.figures if full or figure.differs]
    same = len(comparison.figures) - len(shown_figures)
    found = [change for change in comparison.findings if full or worth_a_line(change)]
    below = []
    if same and shown_figures:
        below.append(f"{counted(same, 'other figure')} {'is' if same == 1 else 'are'} the same (-o wide).")
    notes = len(comparison.findings) - len(found)
    beside = [f"{counted(notes, 'note')} came or went (-o wide)."] if notes else []
    beside += [unchanged(comparison)] if comparison.unchanged and not comparison.nothing_differs else []
    yield Lines(None, [flush(text) for text in remarks(comparison, view)])
    yield Table(_NO_TITLE, asked(comparison.asked), most=_MOST_ROWS)
    yield Table(_NO_TITLE, figures(comparison, shown_figures), below=below)
    yield Table(_NO_TITLE, targets(_in_both_first(comparison.targets, full), full), most=_MOST_ROWS)
    yield Table(_NO_TITLE, budgets(_in_both_first(comparison.budgets, full)), most=_MOST_ROWS)
    yield Table(_NO_TITLE, findings(comparison, found, full), most=_MOST_ROWS, below=beside)


_Beside = TypeVar("_Beside", TargetChange, BudgetChange)


def _in_both_first(changes: Sequence[_Beside], full: bool) -> Sequence[_Beside]:
    """What only one of the plans has is less of a surprise, so it is what is cut where there is no room."""
    return changes if full else sorted(changes, key=lambda change: change.before is None or change.now is None)


def written(view: DrainView, most: int) -> Written | None:
    """In Markdown; what came or went is folded away where it is long."""
    comparison = view.comparison
    if comparison is None:
        return None
    names = {"BUDGET"}
    parts = (
        Points(_NO_TITLE, remarks(comparison, view)),
        Table(_NO_TITLE, asked(comparison.asked), "options"),
        Written(None, markdown.table(*figures(comparison, comparison.figures))),
        Table(_NO_TITLE, targets(comparison.targets), "targets"),
        Table(_NO_TITLE, budgets(comparison.budgets), "budgets", names=names),
        Table(
            _NO_TITLE,
            findings(comparison, comparison.findings, full=True),
            "findings",
            fold=f"{counted(len(comparison.findings), 'finding')} came, changed or went",
        ),
    )
    lines = [line for part in parts for line in Markdown.lines(part, Look(), most)]
    return Written(Title("Compared", title(comparison, view)), [*lines, unchanged(comparison)])
