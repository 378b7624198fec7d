"""The words of a comparison: its title and remarks, the names of its figures, and how each is written."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.drain.comparison.changes import Change, Comparison, Figure, Measure, Value
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.since.screen import counts
from kubectl_eksdoc.render.text import age, between, counted, duration, joined, rfc3339

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

_NONE = "-"


def title(comparison: Comparison, view: DrainView) -> str:
    """``Compared with old.json (live data of 2026-11-19T08:51:00Z, 24h older)``."""
    baseline = comparison.baseline
    data = f"{baseline.source.value} data of {rfc3339(baseline.observed_at)}"
    return f"Compared with {baseline.file} ({data}, {_older(comparison, view)})"


def _older(comparison: Comparison, view: DrainView) -> str:
    passed = between(comparison.baseline.observed_at, view.cluster.observed_at)
    if rfc3339(comparison.baseline.observed_at) == rfc3339(view.cluster.observed_at):  # a document has no fractions
        return "as old as this plan's"
    return f"{age(abs(passed))} {'older' if passed.total_seconds() > 0 else 'newer'} than this plan's"


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
        return _NONE
    if isinstance(value, str):
        return value
    if what in _SECONDS:
        return duration(value)
    return f"{_percent(value)}%" if what is Measure.GAP else str(value)


def figure_change(figure: Figure) -> str:
    """``+3``, ``-1m20s (-12%)``, ``changed``; "" for what is the same, ``-`` for what cannot be compared."""
    change, before = figure.change, figure.before
    if not figure.differs:
        return "same"
    if change is None:
        words = isinstance(before, str) and isinstance(figure.now, str)
        return "changed" if words else _NONE
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


def figure_tone(figure: Figure) -> Tone | None:
    change = figure.change
    if not change or figure.what not in _MORE_IS_BETTER | _LESS_IS_BETTER:
        return None
    return Tone.GOOD if (change > 0) == (figure.what in _MORE_IS_BETTER) else Tone.WARN
