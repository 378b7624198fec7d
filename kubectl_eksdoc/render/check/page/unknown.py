"""What is not known, why, and which right or fact is missing: what could not be judged is not taken as fine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.render.check.brief import of_aws
from kubectl_eksdoc.render.check.page.shown import Shown, about
from kubectl_eksdoc.render.drain import rows
from kubectl_eksdoc.render.html import Html, el, folded, lines, more, put, table
from kubectl_eksdoc.render.tables import Column, Row
from kubectl_eksdoc.render.text import counted

_MOST = 100
"""Rows: equal ones are one."""
_MOST_TEXTS = 3
"""Of one code for want of one thing."""


def unknown(shown: Shown) -> Html:
    """Nothing where all is known."""
    every = [found for part in shown.worst_first for found in part.unknown]
    by_aws = of_aws(shown.plan)
    seen = frozenset(by_aws)
    return lines([_aws(shown, by_aws), _answers(shown, [each for each in every if each not in seen]), _lists(shown)])


def _aws(shown: Shown, found: Sequence[Finding]) -> Html:
    """The one reason for many answers is said once."""
    eks = shown.plan.facts.eks
    if not isinstance(eks, Unknown):
        return Html("")
    missing = put(" Missing: ", el("b", eks.missing), ".") if eks.missing else ""
    said = el("p", el("b", "? Nothing of AWS is known: "), f"{eks.why}.", missing, class_="open")
    codes = el("p", ", ".join(sorted({each.code.name for each in found})))
    return put(said, folded(f"Unknown by that: {counted(len(found), 'answer')}", codes) if found else "")


def _answers(shown: Shown, found: Sequence[Finding]) -> Html:
    columns = [Column("MISSING"), Column("WHAT AND WHY"), Column("OF"), Column("CODE", drop=1)]
    every = _alike(found)
    rows = [_row(shown, some) for some in every[:_MOST]]
    return put(table(columns, rows), more(sum(map(len, every[_MOST:]))))


def _alike(found: Sequence[Finding]) -> list[list[Finding]]:
    """What lacks the same and says the same goes together; so does what says too many different things."""
    said: dict[tuple[str, str], dict[str, list[Finding]]] = defaultdict(lambda: defaultdict(list))
    for each in found:
        said[each.code.name, each.missing][_masked(each)].append(each)
    groups: list[list[Finding]] = []
    for texts in said.values():
        groups += texts.values() if len(texts) <= _MOST_TEXTS else [[one for some in texts.values() for one in some]]
    return groups


def _row(shown: Shown, found: Sequence[Finding]) -> Row:
    first = found[0]
    others = f" and {len(found) - 1} more" if len(found) > 1 else ""
    link = el("a", first.code.name, href=f"#{shown.link(first)}")
    return [first.missing or "a fact that nothing tells", first.message, f"{about(first)}{others}", link]


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
