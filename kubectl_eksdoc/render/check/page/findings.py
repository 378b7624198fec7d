"""The findings, area by area and the worst first: what is so in a line, what to do below it, evidence folded; and what
is not known, and which right or fact is missing: what could not be judged is not taken as fine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Status, When
from kubectl_eksdoc.render.check import verdict
from kubectl_eksdoc.render.check.causes import of_aws
from kubectl_eksdoc.render.check.page.shown import LONGEST_NAME, AreaLight, AreaPart, CheckPage, about, few
from kubectl_eksdoc.render.drain import rows
from kubectl_eksdoc.render.html import TONES, Html, bullets, el, folded, lines, more, put, table
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.pages import advice
from kubectl_eksdoc.render.tables import SIGNS, Column, Row
from kubectl_eksdoc.render.text import counted, cut, listing

BAD, OPEN, GOOD = ("✗", "bad"), ("?", "open"), ("✓", "good")
PASSED_OVER = ("○", "unseen")

LIGHTS = {
    AreaLight.GRAVE: ("✗", "bad", "something critical or high fails"),
    AreaLight.FAILS: ("!", "warn", "something less severe fails"),
    AreaLight.UNKNOWN: ("?", "open", "something is not known"),
    AreaLight.PASSED_OVER: (*PASSED_OVER, "nothing counts, but for --fail-on or a suppression alone"),
    AreaLight.FINE: ("✓", "good", "all that was checked is fine"),
    AreaLight.UNSEEN: ("–", "unseen", "not checked"),
}
"""Of each its sign, its class, and what it means."""


_LONGEST = 400
"""Characters of a message in one line of the list; below it stands all of it."""
_MOST_EVIDENCE = 25
_MOST_NODES = 6
_STATUS = {Status.FAIL: "fail", Status.UNKNOWN: "are not known", Status.PASS: "block nothing"}


def findings(shown: CheckPage) -> Html:
    """Areas in which all is fine are named, too."""
    return lines(_area(shown, part) for part in shown.worst_first)


def _area(shown: CheckPage, part: AreaPart) -> Html:
    sign, tone, _ = LIGHTS[part.light]
    head = el("h3", el("span", f"{sign} {part.title}", class_=tone), " ", el("span", part.figures, class_="soft"),
              id=part.anchor)  # fmt: skip
    besides = f"{counted(len(part.others), 'finding')} that {'blocks' if len(part.others) == 1 else 'block'} nothing"
    others = folded(besides, el("div", lines(_cards(shown, part.others)))) if part.others else ""
    return put(head, lines([*_cards(shown, part.counting), others]))


def _cards(shown: CheckPage, found: Sequence[Finding]) -> Iterator[Html]:
    kept, counted_only = few(found)
    for each in kept:
        sign, tone = SIGNS[each.status]
        word = "unknown" if each.status is Status.UNKNOWN else each.severity.value
        head = el("span", f"{sign} {word}", class_=f"code {TONES[tone]}")
        summary = put(head, " ", el("b", about(each)), f": {cut(each.message, _LONGEST, Look())}")
        yield folded(summary, _inside(shown, each))
    for rest in counted_only:
        yield more(rest.left, f"of {rest.code.name} that {_STATUS[rest.status]}")


def _inside(shown: CheckPage, found: Finding) -> Html:
    name = f"{found.subject.kind} {found.subject}"
    too_long = len(name) > LONGEST_NAME or len(found.message) > _LONGEST  # for the line above
    kept, left = found.evidence[:_MOST_EVIDENCE], len(found.evidence[_MOST_EVIDENCE:])
    evidence = bullets([*kept, *([f"and {left} more (in -o json)"] if left else [])], "evidence")
    parts = [
        el("p", _what_waits(shown, found), class_="soft"),
        folded("In full", el("p", f"{name}: {found.message}")) if too_long else "",
        el("p", "Missing: ", el("b", found.missing)) if found.missing else "",
        _held_up(shown, found),
        *(
            advice(each.when.value, each.text, [each.command] if each.command else [])
            for when in When
            for each in found.remedy
            if each.when is when
        ),
        folded(f"Evidence: {counted(len(found.evidence), 'line')}", evidence),
    ]
    return el("div", lines(parts), id=shown.anchors.get(found, False))


def _what_waits(shown: CheckPage, found: Finding) -> str:
    """Its code, how bad it is, and what waits for it."""
    waits = "blocks nothing"
    if found.status is not Status.PASS:
        gate = shown.gate_of(found)
        done = "to be known" if found.status is Status.UNKNOWN else "to be fixed"
        waits = "no step waits for it" if gate is None else f"{done} {verdict.before(shown.plan, gate)}"
    return f"{found.code.name} · {found.severity.value} · {waits}"


def _held_up(shown: CheckPage, found: Finding) -> Html:
    """Of a finding about drains: which nodes it keeps from being emptied, as the drain's plan has it."""
    drains = found.status is not Status.PASS and found.code in Code.of_area("drain")
    nodes = shown.drain.holds_up(found) if drains and shown.drain is not None else ()
    link = el("a", "the replacement of the nodes", href="#drain")
    return el("p", f"Holds up {listing(nodes, _MOST_NODES, Look())}: see ", link, ".") if nodes else put()


# What is not known.


_MOST_ROWS = 100
"""Rows: equal ones are one."""
_MOST_TEXTS = 3
"""Of one code for want of one thing."""


def unknown(shown: CheckPage) -> Html:
    """Nothing where all is known."""
    by_aws = of_aws(shown.plan)
    seen = frozenset(by_aws)
    groups = _alike(found for part in shown.worst_first for found in part.unknown if found not in seen)
    columns = [Column("MISSING"), Column("WHAT AND WHY"), Column("OF"), Column("CODE", drop=1)]
    answers = table(columns, [_row(shown, some) for some in groups[:_MOST_ROWS]])
    unread = [read for read in shown.plan.facts.cluster.reads if not read.known]
    lists = folded(f"{counted(len(unread), 'kind')} not read completely", table(*rows.unread(unread)))
    return lines([_aws(shown, by_aws), put(answers, more(sum(map(len, groups[_MOST_ROWS:])))), lists])


def _aws(shown: CheckPage, found: Sequence[Finding]) -> Html:
    """The one reason for many answers is said once."""
    eks = shown.plan.facts.eks
    if not isinstance(eks, Unknown):
        return Html("")
    missing = put(" Missing: ", el("b", eks.missing), ".") if eks.missing else ""
    said = el("p", el("b", "? Nothing of AWS is known: "), f"{eks.why}.", missing, class_="open")
    codes = el("p", ", ".join(sorted({each.code.name for each in found})))
    return put(said, folded(f"Unknown by that: {counted(len(found), 'answer')}", codes) if found else "")


def _alike(found: Iterable[Finding]) -> list[list[Finding]]:
    """What lacks the same and says the same goes together; so does what says too many different things."""
    said: dict[tuple[str, str], dict[str, list[Finding]]] = defaultdict(lambda: defaultdict(list))
    for each in found:
        # Without the subject's name, to see whether the same is said of another.
        masked = each.message.replace(str(each.subject), "").replace(each.subject.name, "")
        said[each.code.name, each.missing][masked].append(each)
    groups: list[list[Finding]] = []
    for texts in said.values():
        groups += texts.values() if len(texts) <= _MOST_TEXTS else [[one for some in texts.values() for one in some]]
    return groups


def _row(shown: CheckPage, found: Sequence[Finding]) -> Row:
    first = found[0]
    others = f" and {len(found) - 1} more" if len(found) > 1 else ""
    link = el("a", first.code.name, href=f"#{shown.link(first)}")
    return [first.missing or "a fact that nothing tells", first.message, f"{about(first)}{others}", link]
