"""What is not known, why, and which right or fact is missing: what could not be judged is not taken as fine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.findings import Finding
from kubectl_eksdoc.render.check.page.shown import Shown
from kubectl_eksdoc.render.drain import rows
from kubectl_eksdoc.render.html import Html, el, folded, lines, more, put, table
from kubectl_eksdoc.render.tables import Column, Row
from kubectl_eksdoc.render.text import counted

_MOST = 100
"""Rows: equal ones are one."""


def unknown(shown: Shown) -> Html:
    """Nothing where all is known."""
    return lines([_aws(shown), _answers(shown), _lists(shown)])


def _aws(shown: Shown) -> Html:
    """The one reason for many answers is said by itself."""
    eks = shown.plan.facts.eks
    if not isinstance(eks, Unknown):
        return Html("")
    missing = put(" Missing: ", el("b", eks.missing), ".") if eks.missing else ""
    return el("p", el("b", "? Nothing of AWS is known: "), f"{eks.why}.", missing, class_="open")


def _answers(shown: Shown) -> Html:
    alike: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for part in shown.worst_first:
        for found in part.unknown:
            alike[found.code.name, found.missing, _masked(found)].append(found)
    columns = [Column("MISSING"), Column("WHAT AND WHY"), Column("OF"), Column("AREA AND CODE", drop=1)]
    every = list(alike.values())
    drawn = table(columns, [_row(shown, found) for found in every[:_MOST]])
    left = sum(map(len, every[_MOST:]))
    return put(drawn, more(left))


def _row(shown: Shown, found: Sequence[Finding]) -> Row:
    first = found[0]
    of = f"{first.subject.kind} {first.subject}"
    others = f" and {len(found) - 1} more" if len(found) > 1 else ""
    link = el("a", first.code.name, href=f"#{shown.link(first)}")
    return [el("b", first.missing or "a fact that nothing tells"), first.message, f"{of}{others}", link]


def _masked(found: Finding) -> str:
    """The message without its subject's name, to see whether the same is said of another."""
    return found.message.replace(str(found.subject), "").replace(found.subject.name, "")


def _lists(shown: Shown) -> Html:
    """Of the cluster: which could not be read."""
    unread = [read for read in shown.plan.facts.cluster.reads if not read.known]
    return (
        folded(f"{counted(len(unread), 'kind')} not read completely", table(*rows.unread(unread)))
        if unread
        else Html("")
    )
