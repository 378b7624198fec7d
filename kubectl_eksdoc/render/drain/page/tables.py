"""The page's tables: targets, budgets with their headroom as bars, evictions by round, pods that are left."""

from __future__ import annotations

from itertools import groupby

from kubectl_eksdoc.drain.outcome import BudgetVerdict
from kubectl_eksdoc.model.budgets import BudgetStatus
from kubectl_eksdoc.render.drain import rows
from kubectl_eksdoc.render.drain.course import new_names
from kubectl_eksdoc.render.drain.verdict import left_by_verdict
from kubectl_eksdoc.render.drain.view import DrainView, status_of
from kubectl_eksdoc.render.html import Html, el, folded, lines, more, put, table
from kubectl_eksdoc.render.tables import Column, Drawn
from kubectl_eksdoc.render.text import counted

_NAMES = frozenset({"NODE", "BUDGET", "POD", "SCHEDULED ON", "KIND"})

MOST_PODS = 1000
"""Rows of pods that a page shows; the rest is counted."""

MOST_UNDRAINED = 1000
"""Rows of nodes that are not drained."""

_MOST_OPEN = 300
"""Rows of one table that are laid out at once."""

MOST_BUDGETS = 100
"""Rows of budgets, those that block or are slow and the others each."""


def drained(view: DrainView) -> Html:
    return _long(rows.drained(view))


def undrained(view: DrainView) -> Html:
    columns, body = rows.undrained(view)
    return put(_long((columns, body[:MOST_UNDRAINED])), more(len(body) - MOST_UNDRAINED, "nodes"))


def _long(drawn: Drawn) -> Html:
    """What a browser would take long to lay out is folded."""
    columns, body = drawn
    rest = body[_MOST_OPEN:]
    hidden = folded(f"{counted(len(rest), 'node')} more", table(columns, rest, _NAMES)) if rest else ""
    return put(table(columns, body[:_MOST_OPEN], _NAMES), hidden)


def budgets(view: DrainView, most: int = MOST_BUDGETS) -> Html:
    """Those that block or are slow, at most so many of each, worst first; the ones that fit are folded. Why one blocks
    stands among the blockers."""
    order = rows.budget_order(view, full=True)
    fits = sum(h.verdict is BudgetVerdict.FITS for h in order)
    columns, body = rows.budgets(view, full=True)
    at = len(body) - fits
    verdict = next(i for i, column in enumerate(columns) if column.title == "VERDICT")
    columns = [columns[0], columns[verdict], Column("RULE AND HEADROOM"), *columns[2:verdict], columns[verdict + 1]]
    kept = [*range(at)][:most] + [*range(at, len(body))][:most]
    drawn = [
        [row[0], row[verdict], put(str(row[1]), _headroom(status_of(h.budget))), *row[2:verdict], row[verdict + 1]]
        for row, h in ((body[i], order[i]) for i in kept)
    ]
    told = min(at, most)
    hidden = put(table(columns, drawn[told:], _NAMES), more(fits - most, "budgets"))
    shown = [table(columns, drawn[:told], _NAMES), more(at - most, "budgets that block or are slow")]
    key = el("p", _key("bar"), "needed", _key("spare"), "to spare", _key("lack"), "lacking", class_="key")
    shown += [folded(counted(fits, "budget") + " in which all fits", hidden) if fits else Html("")]
    return lines([*shown, key if body else ""])


def evictions(view: DrainView) -> Html:
    parts = []
    kept = view.evictions[:MOST_PODS]
    for number, members in groupby(sorted(kept, key=lambda e: (e.round, e.position)), key=lambda e: e.round):
        found = list(members)
        nodes = len({eviction.node for eviction in found})
        columns, body = rows.evictions(found, view)
        columns = [*columns[:1], *columns[2:]]
        body = [[*row[:1], *row[2:]] for row in body]
        title = f"Round {number}: {counted(len(found), 'eviction')} on {counted(nodes, 'node')}"
        parts.append(folded(title, table(columns, body, _NAMES)))
    meant = el("p", said, class_="soft") if (said := new_names(view)) else ""
    return lines([*parts, meant, more(len(view.evictions) - len(kept), "evictions")])


def left(view: DrainView) -> Html:
    kept = view.left[:MOST_PODS]
    shown = folded(left_by_verdict(view), table(*rows.left(kept, view), _NAMES)) if kept else ""
    return lines([shown, more(len(view.left) - len(kept), "pods")])


def unread(view: DrainView) -> Html:
    return table(*rows.unread(read for read in view.cluster.reads if not read.known), _NAMES)


def _headroom(status: BudgetStatus | None) -> Html:
    """Healthy pods against those that are needed, as parts of those that are expected."""
    if status is None:
        return el("div", "status unknown", class_="open")
    whole = max(status.expected, status.current, status.desired, 1)
    met = min(status.current, status.desired)
    parts = (
        ("room", 0, whole),
        ("bar", 0, met),
        ("lack", met, status.desired),
        ("spare", status.desired, status.current),
    )
    said = f"{status.current} of {status.expected} healthy, {status.desired} needed"
    bars = (_part(kind, start / whole, (stop - start) / whole) for kind, start, stop in parts if stop > start)
    return el("svg", el("title", said), *bars, class_="headroom", role="img")


def _part(kind: str, start: float, width: float) -> Html:
    return el("rect", class_=kind, x=f"{100 * start:.1f}%", width=f"{100 * width:.1f}%", height="100%")


def _key(kind: str) -> Html:
    return put(el("svg", el("rect", class_=kind, width="100%", height="100%", rx=2), aria_hidden="true"))
