"""Rows and columns of the plan's tables, for every format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from kubectl_eksdoc.model.kinds import KindRead
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Drawn,
    age,
    between,
    columns_of,
    name_column,
    number_column,
    text_column,
)

from ..outcome import BudgetVerdict, DrainTarget, Eviction, NotEvictedPod
from ..result import Headroom
from .findings import grouped
from .plan import (
    BUDGET_SIGN,
    POD_SIGN,
    TARGET_SIGN,
    DrainView,
    Sign,
    status_of,
)

UNKNOWN = "unknown"
NONE = "-"


OF_NODE: Mapping[str, Column] = {
    column.title: column
    for column in (
        Column("GROUP", drop=2),
        Column("TYPE", drop=6),
        Column("CAPACITY", drop=7),
        Column("ZONE"),
        Column("KUBELET", drop=4),
        Column("OS IMAGE"),
        number_column("AGE", 9),
    )
}
"""Columns about a node by title, the same on every page and screen."""
_WIDE = ("ZONE", "OS IMAGE")


def of_node(node: Node, at: datetime) -> dict[str, str]:
    """The cells of `NODE_COLUMNS`; "" is unknown."""
    created = node.created_at
    return {
        "GROUP": node.group,
        "TYPE": node.instance_type,
        "CAPACITY": node.capacity_type,
        "ZONE": node.zone,
        "KUBELET": str(node.kubelet or node.kubelet_text),
        "OS IMAGE": node.os_image,
        "AGE": "" if created is None else age(between(created, at)),
    }


def drained(view: DrainView, full: bool = False) -> Drawn:
    """The targets that are drained, in order; `full` adds the columns of ``-o wide``."""
    targets = [t for t in view.targets if t.order]
    generations = view.plan.in_generations
    wave = number_column("GENERATION" if generations else "WAVE", short="GEN" if generations else "")
    columns = columns_of(
        number_column("#"),
        name_column("NODE"),
        *(column for title, column in OF_NODE.items() if full or title not in _WIDE),
        number_column("EVICTIONS"),
        number_column("LEFT"),
        *([wave] if _in_waves(view) else []),
        number_column("EMPTY IN ROUND", short="ROUND"),
        number_column("DONE AFTER", 3, short="DONE"),
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
    told = of_node(node, view.cluster.observed_at)
    told |= {"GROUP": node.group or NONE, "KUBELET": node.kubelet_text if full else told["KUBELET"]}
    return [
        target.order,
        node.name,
        *(told[title] or UNKNOWN for title in OF_NODE if full or title not in _WIDE),
        target.evictions,
        target.left,
        *([str(target.wave)] if _in_waves(view) else []),
        str(target.finish_round) if target.finish_round else NONE,
        duration(view.spans[node.name].done_s) if node.name in view.spans else NONE,
        verdict(target),
    ]


def _in_waves(view: DrainView) -> bool:
    return any(target.wave > 1 for target in view.targets)


def undrained(view: DrainView, full: bool = False) -> Drawn:
    """The targets that are not drained, by name, with the reason: blockers by code and subject, or with `full` in
    words."""
    named = {} if full else causes(view)
    return columns_of(
        name_column("NODE"),
        Column("GROUP", drop=3),
        Column("OWNER", drop=5),
        Column("KUBELET", drop=4),
        number_column("LEFT", 2),
        "VERDICT",
        text_column("WHY", 45, 6),
    ), [
        [
            target.node.name,
            target.node.group or NONE,
            target.node.owner.value,
            of_node(target.node, view.cluster.observed_at)["KUBELET"] or UNKNOWN,
            target.left,
            verdict(target),
            "; ".join(named.get(target.node.name, target.why)),
        ]
        for target in view.targets
        if not target.order
    ]


def causes(view: DrainView) -> dict[str, list[str]]:
    """For each node its blockers by code: ``budget-never-allows shop/ads, shop/sale``."""
    subjects: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for group in grouped(view.blockers, view):
        for node in group.nodes:
            subjects[node][group.first.code.name].append(group.short)
    return {
        node: [f"{code} {', '.join(names)}".rstrip() for code, names in codes.items()]
        for node, codes in subjects.items()
    }


def budgets(view: DrainView, full: bool = False, most: int | None = None) -> Drawn:
    """Budgets, worst first, then the slowest; at most `limit` of each verdict.

    Only `full` includes budgets that fit, and the reasons: a budget that blocks is a finding as well.
    """
    return columns_of(
        name_column("BUDGET"),
        Column("RULE", drop=2),
        number_column("HEALTHY", 1),
        number_column("NEEDED", 1),
        number_column("ALLOWED"),
        number_column("TO EVICT"),
        number_column("AT ONCE", 3),
        number_column("ROUNDS"),
        "VERDICT",
        *(["OWNER", "WHY"] if full else []),
    ), [_budget(h, full) for h in budget_order(view, full, most)]


def budget_order(view: DrainView, full: bool = False, most: int | None = None) -> list[Headroom]:
    """The budgets in the order of the table's rows."""
    shown: list[Headroom] = []
    for verdict in BudgetVerdict:
        if full or verdict is not BudgetVerdict.FITS:
            alike = (h for h in view.budgets if h.verdict is verdict)
            shown += sorted(alike, key=lambda h: -h.rounds)[:most]
    return shown


def _budget(headroom: Headroom, full: bool) -> list[str | int | Cell]:
    budget, status = headroom.budget, status_of(headroom.budget)
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
        _signed(BUDGET_SIGN[headroom.verdict], word),
        *([headroom.owner or UNKNOWN, headroom.why] if full else []),
    ]


def evictions(rows: Iterable[Eviction], view: DrainView) -> Drawn:
    return columns_of(
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
            duration(view.grace(e.pod)),
            e.lands_on or NONE,
            e.reason,
        ]
        for e in rows
    ]


def left(rows: Iterable[NotEvictedPod], view: DrainView) -> Drawn:
    return columns_of("NODE", "POD", "OWNER", "VERDICT", "CODES", "REASON"), [
        [
            row.node,
            row.pod.key,
            view.app(row.pod) or NONE,
            _signed(POD_SIGN[row.verdict], row.verdict.value),
            ",".join(row.codes) or NONE,
            row.reason,
        ]
        for row in rows
    ]


def unread(reads: Iterable[KindRead]) -> Drawn:
    return columns_of("KIND", "STATE", text_column("BECAUSE", 20)), [
        [read.resource.full_name, read.state.value, read.detail or NONE] for read in reads
    ]


def verdict(target: DrainTarget) -> Cell:
    return _signed(TARGET_SIGN[target.verdict], target.verdict.value)


def _signed(sign: Sign, word: str) -> Cell:
    return Cell(f"{sign[0]} {word}", sign[1])
