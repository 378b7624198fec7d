"""Rows and columns of the plan's tables, for every format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from kubectl_eksdoc.model.kinds import KindRead
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    TableData,
    as_columns,
    format_age,
    name_column,
    number_column,
    text_column,
    time_between,
)

from ..outcome import BudgetVerdict, DrainTarget, Eviction, NotEvictedPod
from ..result import Headroom
from .findings import grouped
from .plan import (
    BUDGET_SYMBOLS,
    POD_SYMBOLS,
    TARGET_SYMBOLS,
    DrainView,
    VerdictSymbol,
    current_status,
)

UNKNOWN = "unknown"
NONE = "-"


NODE_COLUMNS: Mapping[str, Column] = {
    column.title: column
    for column in (
        Column("GROUP", drop_order=2),
        Column("TYPE", drop_order=6),
        Column("CAPACITY", drop_order=7),
        Column("ZONE"),
        Column("KUBELET", drop_order=4),
        Column("OS IMAGE"),
        number_column("AGE", 9),
    )
}
"""Columns about a node by title, the same on every page and screen."""
_WIDE_ONLY = ("ZONE", "OS IMAGE")


def node_cells(node: Node, now: datetime) -> dict[str, str]:
    """The cells of `NODE_COLUMNS`; "" is unknown."""
    created = node.created_at
    return {
        "GROUP": node.group,
        "TYPE": node.instance_type,
        "CAPACITY": node.capacity_type,
        "ZONE": node.zone,
        "KUBELET": str(node.kubelet or node.kubelet_text),
        "OS IMAGE": node.os_image,
        "AGE": "" if created is None else format_age(time_between(created, now)),
    }


def drained(view: DrainView, full: bool = False) -> TableData:
    """The targets that are drained, in order; `full` adds the columns of ``-o wide``."""
    targets = [t for t in view.targets if t.order]
    generations = view.plan.uses_generations
    wave = number_column("GENERATION" if generations else "WAVE", short_title="GEN" if generations else "")
    columns = as_columns(
        number_column("#"),
        name_column("NODE"),
        *(column for title, column in NODE_COLUMNS.items() if full or title not in _WIDE_ONLY),
        number_column("EVICTIONS"),
        number_column("LEFT"),
        *([wave] if _in_waves(view) else []),
        number_column("EMPTY IN ROUND", short_title="ROUND"),
        number_column("DONE AFTER", 3, short_title="DONE"),
        "VERDICT",
    )
    rows = [_drained(t, view, full) for t in targets]
    if full and any(t.needs for t in targets):
        columns.append(Column("WAITS FOR"))
        for row, t in zip(rows, targets, strict=True):
            row.append(", ".join(f"{name} (new)" for name in t.needs) or NONE)
    if any(t.why for t in targets):
        columns.append(text_column("WHY", 24, 3))
        for row, t in zip(rows, targets, strict=True):
            row.append("; ".join(t.why))
    return columns, rows


def _drained(target: DrainTarget, view: DrainView, full: bool) -> list[str | int | Cell]:
    node = target.node
    cells = node_cells(node, view.cluster.observed_at)
    cells |= {"GROUP": node.group or NONE, "KUBELET": node.kubelet_text if full else cells["KUBELET"]}
    return [
        target.order,
        node.name,
        *(cells[title] or UNKNOWN for title in NODE_COLUMNS if full or title not in _WIDE_ONLY),
        target.evictions,
        target.left,
        *([str(target.wave)] if _in_waves(view) else []),
        str(target.finish_round) if target.finish_round else NONE,
        format_duration(view.spans[node.name].done_s) if node.name in view.spans else NONE,
        verdict(target),
    ]


def _in_waves(view: DrainView) -> bool:
    return any(target.wave > 1 for target in view.targets)


def undrained(view: DrainView, full: bool = False) -> TableData:
    """The targets that are not drained, by name, with the reason: blockers by code and subject, or with `full` in
    words."""
    causes_by_node = {} if full else causes(view)
    return as_columns(
        name_column("NODE"),
        Column("GROUP", drop_order=3),
        Column("OWNER", drop_order=5),
        Column("KUBELET", drop_order=4),
        number_column("LEFT", 2),
        "VERDICT",
        text_column("WHY", 45, 6),
    ), [
        [
            target.node.name,
            target.node.group or NONE,
            target.node.owner.value,
            node_cells(target.node, view.cluster.observed_at)["KUBELET"] or UNKNOWN,
            target.left,
            verdict(target),
            "; ".join(causes_by_node.get(target.node.name, target.why)),
        ]
        for target in view.targets
        if not target.order
    ]


def causes(view: DrainView) -> dict[str, list[str]]:
    """For each node its blockers by code: ``budget-never-allows shop/ads, shop/sale``."""
    subjects: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for group in grouped(view.blockers, view):
        for node in group.nodes:
            subjects[node][group.first.code.name].append(group.short_name)
    return {
        node: [f"{code} {', '.join(names)}".rstrip() for code, names in codes.items()]
        for node, codes in subjects.items()
    }


def budgets(view: DrainView, full: bool = False, limit: int | None = None) -> TableData:
    """Budgets, worst first, then the slowest; at most `limit` of each verdict.

    Only `full` includes budgets that fit, and the reasons: a budget that blocks is a finding as well.
    """
    return as_columns(
        name_column("BUDGET"),
        Column("RULE", drop_order=2),
        number_column("HEALTHY", 1),
        number_column("NEEDED", 1),
        number_column("ALLOWED"),
        number_column("TO EVICT"),
        number_column("AT ONCE", 3),
        number_column("ROUNDS"),
        "VERDICT",
        *(["OWNER", "WHY"] if full else []),
    ), [_budget(h, full) for h in budget_order(view, full, limit)]


def budget_order(view: DrainView, full: bool = False, limit: int | None = None) -> list[Headroom]:
    """The budgets in the order of the table's rows."""
    shown: list[Headroom] = []
    for verdict in BudgetVerdict:
        if full or verdict is not BudgetVerdict.FITS:
            same_verdict = (h for h in view.budgets if h.verdict is verdict)
            shown += sorted(same_verdict, key=lambda h: -h.rounds)[:limit]
    return shown


def _budget(headroom: Headroom, full: bool) -> list[str | int | Cell]:
    budget, status = headroom.budget, current_status(headroom.budget)
    word = "+".join(v.value for v in (headroom.verdict, *headroom.also)) if full else headroom.verdict.value
    healthy = f"{status.current}/{status.expected}" if status else UNKNOWN
    return [
        budget.key,
        budget.rule,
        healthy,
        str(status.desired) if status else UNKNOWN,
        budget.status.allowed,
        f"{headroom.to_evict} of {headroom.on_targets}",
        headroom.per_round,
        str(headroom.rounds) if headroom.rounds else NONE,
        _with_symbol(BUDGET_SYMBOLS[headroom.verdict], word),
        *([headroom.owner or UNKNOWN, headroom.why] if full else []),
    ]


def evictions(rows: Iterable[Eviction], view: DrainView) -> TableData:
    return as_columns(
        number_column("#"),
        number_column("ROUND"),
        "NODE",
        "POD",
        "OWNER",
        "BUDGET",
        number_column("GRACE"),
        "SCHEDULED ON",
        "REASON",
    ), [
        [
            e.position,
            e.round,
            e.node,
            e.pod.key,
            view.app(e.pod) or NONE,
            e.budget or NONE,
            format_duration(view.grace(e.pod)),
            e.lands_on or NONE,
            e.reason,
        ]
        for e in rows
    ]


def not_evicted(rows: Iterable[NotEvictedPod], view: DrainView) -> TableData:
    return as_columns("NODE", "POD", "OWNER", "VERDICT", "CODES", "REASON"), [
        [
            row.node,
            row.pod.key,
            view.app(row.pod) or NONE,
            _with_symbol(POD_SYMBOLS[row.verdict], row.verdict.value),
            ",".join(row.codes) or NONE,
            row.reason,
        ]
        for row in rows
    ]


def not_read(reads: Iterable[KindRead]) -> TableData:
    return as_columns("KIND", "STATE", text_column("BECAUSE", 20)), [
        [read.resource.full_name, read.state.value, read.detail or NONE] for read in reads
    ]


def verdict(target: DrainTarget) -> Cell:
    return _with_symbol(TARGET_SYMBOLS[target.verdict], target.verdict.value)


def _with_symbol(symbol: VerdictSymbol, word: str) -> Cell:
    return Cell(f"{symbol[0]} {word}", symbol[1])
