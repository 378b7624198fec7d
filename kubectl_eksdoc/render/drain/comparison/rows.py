"""The rows of a comparison's tables, whatever draws them."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.baseline.changes import Asked
from kubectl_eksdoc.drain.comparison.changes import (
    BudgetChange,
    Change,
    Comparison,
    Figure,
    FindingChange,
    TargetChange,
)
from kubectl_eksdoc.model.baseline import BudgetOutline, TargetOutline
from kubectl_eksdoc.model.earlier import FindingOutline
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.render.drain.comparison.words import FIGURES, FINDING, figure_change, figure_tone, figure_value
from kubectl_eksdoc.render.drain.rows import NONE
from kubectl_eksdoc.render.drain.verdict import BUDGET_SIGN, STATUS_SIGN, TARGET_SIGN
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.tables import Cell, Column, Drawn, Row

_NO_TARGET = "no target"

_TARGETS = {verdict.value: sign for verdict, sign in TARGET_SIGN.items()}
_BUDGETS = {verdict.value: sign for verdict, sign in BUDGET_SIGN.items()}

_STATUSES = {Status.FAIL: "blocks", Status.UNKNOWN: "unknown", Status.PASS: "warns"}


def asked(found: Sequence[Asked]) -> Drawn:
    """The options that were given differently."""
    columns = [
        Column("ASKED DIFFERENTLY"),
        Column("BASELINE", floor=12, lines=3),
        Column("NOW", floor=12, lines=3),
    ]
    return columns, [[_flag(each.option), _given(each.before), _given(each.now)] for each in found]


def figures(comparison: Comparison, found: Sequence[Figure]) -> Drawn:
    """Only where like is compared with like is a figure better or worse."""
    columns = [
        Column("WHAT", floor=20, lines=2),
        Column("BASELINE", floor=18, lines=3),
        Column("NOW", floor=18, lines=3),
        Column("CHANGE"),
    ]
    rows: list[Row] = [
        [FIGURES[f.what], figure_value(f.what, f.before), figure_value(f.what, f.now), _change(f, comparison)]
        for f in found
    ]
    return columns, rows


def targets(found: Sequence[TargetChange], full: bool = True) -> Drawn:
    """Nodes with another verdict: why it is not drained, or what kept it from that before; not `full`: the first."""
    columns = [Column("NODE", middle=True), Column("BASELINE"), Column("NOW"), Column("WHY", floor=24, lines=3)]
    return columns, [[t.name, _verdict(t.before), _verdict(t.now), _why(t, full)] for t in found]


def budgets(found: Sequence[BudgetChange]) -> Drawn:
    columns = [
        Column("BUDGET", middle=True, floor=20),
        Column("BASELINE"),
        Column("AT ONCE", right=True),
        Column("NOW"),
        Column("AT ONCE", right=True),
    ]
    return columns, [[b.key, *_allowance(b.before), *_allowance(b.now)] for b in found]


def findings(comparison: Comparison, found: Sequence[FindingChange], full: bool = False) -> Drawn:
    """What came, changed or went; `full` adds what the finding says."""
    columns = [
        Column("FINDING"),
        Column("BASELINE", drop=1),
        Column("NOW", drop=1),
        Column("CODE"),
        Column("ABOUT", floor=18, lines=3),
        *([Column("MESSAGE")] if full else []),
    ]
    rows: list[Row] = [
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
    return columns, rows


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


def _flag(option: str) -> str:
    return "nodes by name" if option == "nodes" else f"--{option}"


def _change(figure: Figure, comparison: Comparison) -> Cell:
    return Cell(figure_change(figure), figure_tone(figure) if comparison.like_with_like else None)


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
    return STATUS_SIGN[change.either.status][1]
