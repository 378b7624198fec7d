"""The rows of the plan's tables: what stands in them, whatever draws them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from kubectl_eksdoc.drain.outcome import BudgetVerdict, Eviction, Left, Target
from kubectl_eksdoc.drain.result import Headroom
from kubectl_eksdoc.model.kinds import KindRead
from kubectl_eksdoc.render.drain.findings import grouped
from kubectl_eksdoc.render.drain.plan import DrainView, status_of
from kubectl_eksdoc.render.drain.signs import BUDGET_SIGN, POD_SIGN, TARGET_SIGN, Sign
from kubectl_eksdoc.render.tables import Cell, Column, Drawn, Row
from kubectl_eksdoc.render.text import age, between, duration

UNKNOWN = "unknown"
NONE = "-"


def drained(view: DrainView, full: bool = False) -> Drawn:
    """The targets that are drained, in order; `full` adds what the screen has no room for."""
    targets = [t for t in view.targets if t.order]
    columns = [
        Column("#", right=True),
        Column("NODE", middle=True),
        Column("GROUP", drop=1),
        Column("TYPE", drop=4),
        Column("CAPACITY", drop=5),
        *([Column("ZONE")] if full else []),
        Column("KUBELET", drop=3),
        *([Column("OS IMAGE")] if full else []),
        Column("AGE", right=True, drop=6),
        Column("EVICTIONS", right=True),
        Column("LEFT", right=True),
        *([_wave_column(view)] if _in_waves(view) else []),
        Column("EMPTY IN ROUND", right=True, short="ROUND"),
        Column("DONE AFTER", right=True, drop=2, short="DONE"),
        Column("VERDICT"),
    ]
    rows = [_drained(t, view, full) for t in targets]
    if full and any(t.needs for t in targets):
        columns.append(Column("WAITS FOR"))
        for row, t in zip(rows, targets, strict=True):
            row.append(", ".join(f"{name} (new)" for name in t.needs) or NONE)
    if any(t.why for t in targets):
        columns.append(Column("WHY", floor=24, lines=3))
        for row, t in zip(rows, targets, strict=True):
            row.append("; ".join(t.why))
    return columns, rows


def _drained(target: Target, view: DrainView, full: bool) -> list[str | Cell]:
    node = target.node
    return [
        str(target.order),
        node.name,
        node.group or NONE,
        node.instance_type or UNKNOWN,
        node.capacity_type or UNKNOWN,
        *([node.zone or UNKNOWN] if full else []),
        node.kubelet_text or UNKNOWN if full else _version(target),
        *([node.os_image or UNKNOWN] if full else []),
        _age(node.created_at, view),
        str(target.evictions),
        str(target.left),
        *([str(target.wave)] if _in_waves(view) else []),
        str(target.finish_round) if target.finish_round else NONE,
        duration(view.spans[node.name].done_s) if node.name in view.spans else NONE,
        verdict(target),
    ]


def _in_waves(view: DrainView) -> bool:
    return any(target.wave > 1 for target in view.targets)


def _wave_column(view: DrainView) -> Column:
    return Column("GENERATION", right=True, short="GEN") if view.plan.in_generations else Column("WAVE", right=True)


def undrained(view: DrainView, full: bool = False) -> Drawn:
    """The targets that are not drained, by name, and why: the blockers by code and subject, `full` in words."""
    columns = [
        Column("NODE", middle=True),
        Column("GROUP", drop=3),
        Column("OWNER", drop=5),
        Column("KUBELET", drop=4),
        Column("LEFT", right=True, drop=2),
        Column("VERDICT"),
        Column("WHY", floor=45, lines=6),
    ]
    named = {} if full else causes(view)
    rows: list[Row] = [
        [
            target.node.name,
            target.node.group or NONE,
            target.node.owner.value,
            _version(target),
            str(target.left),
            verdict(target),
            "; ".join(named.get(target.node.name, target.why)),
        ]
        for target in view.targets
        if not target.order
    ]
    return columns, rows


def causes(view: DrainView) -> dict[str, list[str]]:
    """For each node what holds it up, by code: ``budget-never-allows shop/ads, shop/sale``."""
    subjects: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for group in grouped(view.blockers, view):
        for node in group.nodes:
            subjects[node][group.first.code.name].append(group.short)
    return {
        node: [f"{code} {', '.join(names)}".rstrip() for code, names in codes.items()]
        for node, codes in subjects.items()
    }


def budgets(view: DrainView, full: bool = False, most: int | None = None) -> Drawn:
    """Worst first, then the slowest; at most `most` of each verdict.

    Only `full` has those that fit, and the reasons: what blocks is a finding as well.
    """
    columns = [
        Column("BUDGET", middle=True),
        Column("RULE", drop=2),
        Column("HEALTHY", right=True, drop=1),
        Column("NEEDED", right=True, drop=1),
        Column("ALLOWED", right=True),
        Column("TO EVICT", right=True),
        Column("AT ONCE", right=True, drop=3),
        Column("ROUNDS", right=True),
        Column("VERDICT"),
        *([Column("OWNER"), Column("WHY")] if full else []),
    ]
    return columns, [_budget(h, full) for h in budget_order(view, full, most)]


def budget_order(view: DrainView, full: bool = False, most: int | None = None) -> list[Headroom]:
    """The budgets of the table's rows."""
    shown: list[Headroom] = []
    for verdict in BudgetVerdict:
        if full or verdict is not BudgetVerdict.FITS:
            alike = (h for h in view.budgets if h.verdict is verdict)
            shown += sorted(alike, key=lambda h: -h.rounds)[:most]
    return shown


def _budget(headroom: Headroom, full: bool) -> list[str | Cell]:
    budget, status = headroom.budget, status_of(headroom.budget)
    word = "+".join(v.value for v in (headroom.verdict, *headroom.also)) if full else headroom.verdict.value
    healthy = f"{status.current}/{status.expected}" if status else UNKNOWN
    return [
        budget.key,
        budget.rule,
        healthy,
        str(status.desired) if status else UNKNOWN,
        str(budget.status.allowed),
        f"{headroom.to_evict} of {headroom.on_targets}",
        str(headroom.per_round),
        str(headroom.rounds) if headroom.rounds else NONE,
        _signed(BUDGET_SIGN[headroom.verdict], word),
        *([headroom.owner or UNKNOWN, headroom.why] if full else []),
    ]


def evictions(rows: Iterable[Eviction], view: DrainView) -> Drawn:
    columns = [
        Column("#", right=True),
        Column("ROUND", right=True),
        Column("NODE"),
        Column("POD"),
        Column("OWNER"),
        Column("BUDGET"),
        Column("GRACE", right=True),
        Column("SCHEDULED ON"),
        Column("REASON"),
    ]
    return columns, [
        [
            str(e.position),
            str(e.round),
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


def left(rows: Iterable[Left], view: DrainView) -> Drawn:
    columns = [Column("NODE"), Column("POD"), Column("OWNER"), Column("VERDICT"), Column("CODES"), Column("REASON")]
    return columns, [
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
    columns = [Column("KIND"), Column("STATE"), Column("BECAUSE", floor=20)]
    return columns, [[read.resource.full_name, read.state.value, read.detail or NONE] for read in reads]


def verdict(target: Target) -> Cell:
    return _signed(TARGET_SIGN[target.verdict], target.verdict.value)


def _signed(sign: Sign, word: str) -> Cell:
    return Cell(f"{sign[0]} {word}", sign[1])


def _version(target: Target) -> str:
    node = target.node
    return str(node.kubelet) if node.kubelet else node.kubelet_text or UNKNOWN


def _age(created: datetime | None, view: DrainView) -> str:
    return UNKNOWN if created is None else age(between(created, view.cluster.observed_at))
