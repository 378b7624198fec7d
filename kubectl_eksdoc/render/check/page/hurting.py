"""Where something hurts: what may cause it, the likeliest first, and what has changed since a moment."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.check.symptoms import Suspect
from kubectl_eksdoc.check.undoing import UNDO
from kubectl_eksdoc.render.check.diagnosis import COMMAND, five
from kubectl_eksdoc.render.html import Html, command, el, folded, lines, more, put, table
from kubectl_eksdoc.render.tables import Column, Row
from kubectl_eksdoc.render.text import rfc3339

_MOST = 200
_TOOLS = ("kubectl ", "aws ")


def causes(plan: CheckPlan) -> Html:
    """Nothing where no symptom was named."""
    found = plan.diagnosis
    if found is None:
        return Html("")
    cards = [_suspect(number, each) for number, each in enumerate(found.suspects[:_MOST], 1)]
    where = [put(el("p", each.text), command(each.command) if each.command else "") for each in found.elsewhere]
    elsewhere = put(el("h3", "Where to look next"), el("div", *where, class_="card")) if where else ""
    return lines([*cards, elsewhere])


def _suspect(number: int, of: Suspect) -> Html:
    first, *rest = five(of)
    head = first if number == 1 else f"{number}. {of.what} ({of.code})"
    return folded(head, el("div", lines(_said(rest)), *_evidence(of)), open_=number == 1)


def _said(rest: list[str]) -> Iterator[Html]:
    for line in rest:
        undo = line.removeprefix(UNDO)
        if line.startswith(COMMAND):
            yield command(line.strip())
        elif undo != line and undo.startswith(_TOOLS):
            yield put(el("p", UNDO.strip()), command(undo))
        else:
            yield el("p", line)


def _evidence(of: Suspect) -> list[Html]:
    return [el("ul", *(el("li", each) for each in of.evidence), class_="evidence")] if of.evidence else []


def changes(plan: CheckPlan) -> Html:
    """Nothing where nobody asked."""
    found = plan.changes
    if found is None:
        return Html("")
    columns = [Column("AT"), Column("SUBJECT"), Column("WHAT")]
    rows: list[Row] = [[rfc3339(e.at), f"{e.subject.kind} {e.subject}", e.what] for e in found.changes[:_MOST]]
    left = more(len(found.changes) - len(rows))
    unread = el("ul", *(el("li", f"? not known: {each}") for each in found.unread)) if found.unread else ""
    return lines([table(columns, rows) or el("p", "Nothing that still shows."), left, unread])
