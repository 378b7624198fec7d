"""The replacement of the nodes as the check has planned it: by node group, over time, and what its budgets allow."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.drain.outcome import DrainTarget, TargetVerdict
from kubectl_eksdoc.render.check.page.shown import CheckPage
from kubectl_eksdoc.render.drain.page import budgets
from kubectl_eksdoc.render.drain.plan import DrainView
from kubectl_eksdoc.render.drain.rows import NONE
from kubectl_eksdoc.render.drain.signs import BAD, GOOD, OPEN, WARN
from kubectl_eksdoc.render.drain.timeline import NO_GROUP, over_the_drain
from kubectl_eksdoc.render.drain.verdict import verdict
from kubectl_eksdoc.render.html import Html, el, lines, put, table
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.pages import command_list
from kubectl_eksdoc.render.tables import Cell, Column, Row
from kubectl_eksdoc.render.text import duration, listing

MOST_BUDGETS = 40
"""Budgets of which a page shows the headroom; the worst come first."""
_MOST_NAMES = 8

_PLAN = "kubectl eksdoc drain plan "
_HOW = (
    "As the update of a managed node group does it: one new node joins first; pods without a controller and with"
    " emptyDir are evicted, too. No order was searched."
)


def drain(shown: CheckPage) -> Html:
    """Nothing where nothing is to be drained, or no plan was made."""
    view = shown.drain
    if view is None:
        return Html("")
    target = in_words(shown.plan.facts.way.target)
    return lines(
        [
            el("p", f"All nodes that are older than {target}. ", verdict(view)),
            el("p", _HOW, " What blocks is among the findings." if shown.plan.wish.whole else "", class_="soft"),
            _groups(shown, view),
            el("h3", "Over time"),
            over_the_drain(view) or el("p", "No node can be emptied, so there is no course of time to show."),
            _budgets(view),
            _own_pages(shown),
        ]
    )


def _groups(shown: CheckPage, view: DrainView) -> Html:
    columns = [
        Column("NODE GROUP"),
        Column("NODES", right=True),
        Column("CAN GO", right=True),
        Column("EVICTIONS", right=True, drop=1),
        Column("DONE AFTER", right=True),
        Column("VERDICT"),
        Column("NOT EMPTIED"),
    ]
    rows = [_group(view, name, anchor) for name, anchor in shown.group_anchors.items()]
    return table(columns, rows)


def _group(view: DrainView, name: str, anchor: str) -> Row:
    targets = [target for target in view.targets if target.node.group == name]
    drained = [target for target in targets if target.order]
    done = [view.spans[each.node.name].done_s for each in drained if each.node.name in view.spans]
    names = [target.node.name for target in targets if not target.order]
    return [
        el("b", name or NO_GROUP, id=anchor),
        str(len(targets)),
        str(len(drained)),
        str(sum(target.evictions for target in drained)),
        duration(max(done)) if done else NONE,
        _standing(targets),
        listing(names, _MOST_NAMES, Look()) or NONE,
    ]


def _standing(targets: Sequence[DrainTarget]) -> Cell:
    """Of a group: all, some or none can be emptied."""
    drained = sum(target.order > 0 for target in targets)
    if drained == len(targets):
        sign, tone = GOOD
        return Cell(f"{sign} all can go", tone)
    unknown = any(target.verdict is TargetVerdict.UNKNOWN for target in targets)
    sign, tone = WARN if drained else OPEN if unknown else BAD
    return Cell(f"{sign} {'some can go' if drained else 'not judged' if unknown else 'none can go'}", tone)


def _budgets(view: DrainView) -> Html:
    told = budgets(view, MOST_BUDGETS)
    return put(el("h3", "Headroom of the budgets"), told) if told else Html("")


def _own_pages(shown: CheckPage) -> Html:
    """By the commands of the checklist, so that they lead to the same cluster."""
    plans = dict.fromkeys(
        f"{line} -o html"
        for step in shown.plan.checklist
        for line in step.commands
        if line.startswith(_PLAN) and "--nodegroup" in line
    )
    if not plans:
        return Html("")
    said = "The whole plan of one group, each with its own page:"
    return el("div", el("p", said), command_list(list(plans)), class_="card")
