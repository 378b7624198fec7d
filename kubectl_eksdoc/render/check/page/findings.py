"""The findings, area by area and the worst first: what is so in a line, what to do below it, evidence folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Status, When
from kubectl_eksdoc.render.check import words
from kubectl_eksdoc.render.check.page.head import LIGHTS, called, figures
from kubectl_eksdoc.render.check.page.shown import LONGEST_NAME, Part, Shown, about, few
from kubectl_eksdoc.render.html import TONES, Html, el, folded, lines, more, put
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.pages import advice
from kubectl_eksdoc.render.tables import SIGNS
from kubectl_eksdoc.render.text import counted, cut, listing

_LONGEST = 400
"""Characters of a message in one line of the list; below it stands all of it."""
_MOST_EVIDENCE = 25
_MOST_NODES = 6
_STATUS = {Status.FAIL: "fail", Status.UNKNOWN: "are not known", Status.PASS: "block nothing"}


def findings(shown: Shown) -> Html:
    """Areas in which all is fine are named, too."""
    return lines(_area(shown, part) for part in shown.worst_first)


def _area(shown: Shown, part: Part) -> Html:
    sign, tone, _ = LIGHTS[part.light]
    head = el("h3", el("span", f"{sign} {called(part)}", class_=tone), " ", el("span", figures(part), class_="soft"),
              id=part.anchor)  # fmt: skip
    besides = f"{counted(len(part.others), 'finding')} that {'blocks' if len(part.others) == 1 else 'block'} nothing"
    others = folded(besides, el("div", lines(_cards(shown, part.others)))) if part.others else ""
    return put(head, lines([*_cards(shown, part.counting), others]))


def _cards(shown: Shown, found: Sequence[Finding]) -> Iterator[Html]:
    kept, counted_only = few(found)
    for each in kept:
        yield card(shown, each)
    for rest in counted_only:
        yield more(rest.count, f"of {rest.code.name} that {_STATUS[rest.status]}")


def card(shown: Shown, found: Finding) -> Html:
    sign, tone = SIGNS[found.status]
    word = "unknown" if found.status is Status.UNKNOWN else found.severity.value
    summary = put(
        el("span", f"{sign} {word}", class_=f"code {TONES[tone]}"), " ",
        el("b", about(found)), f": {cut(found.message, _LONGEST, Look())}",
    )  # fmt: skip
    return folded(summary, _inside(shown, found))


def _inside(shown: Shown, found: Finding) -> Html:
    missing = el("p", "Missing: ", el("b", found.missing)) if found.missing else ""
    remedies = [
        advice(each.when.value, each.text, [each.command] if each.command else [])
        for when in When
        for each in found.remedy
        if each.when is when
    ]
    head = el("p", _what_waits(shown, found), class_="soft")
    parts = [head, *_in_full(found), missing, _held_up(shown, found), *remedies, _evidence(found)]
    return el("div", lines(parts), id=shown.anchors.get(found, False))


def _in_full(found: Finding) -> Iterator[Html]:
    """What the line above had no room for."""
    name = f"{found.subject.kind} {found.subject}"
    if len(name) > LONGEST_NAME or len(found.message) > _LONGEST:
        yield folded("In full", el("p", f"{name}: {found.message}"))


def _what_waits(shown: Shown, found: Finding) -> str:
    """Its code, how bad it is, and what waits for it."""
    waits = "blocks nothing"
    if found.status is not Status.PASS:
        gate = shown.gate_of(found)
        done = "to be known" if found.status is Status.UNKNOWN else "to be fixed"
        waits = "no step waits for it" if gate is None else f"{done} {words.before(shown.plan, gate)}"
    return f"{found.code.name} · {found.severity.value} · {waits}"


def _held_up(shown: Shown, found: Finding) -> Html:
    """Of a finding about drains: which nodes it keeps from being emptied, as the drain's plan has it."""
    if shown.drain is None or found.status is Status.PASS or found.code not in Code.of_area("drain"):
        return Html("")
    nodes = shown.drain.holds_up(found)
    if not nodes:
        return Html("")
    link = el("a", "the replacement of the nodes", href="#drain")
    return el("p", f"Holds up {listing(nodes, _MOST_NODES, Look())}: see ", link, ".")


def _evidence(found: Finding) -> Html:
    if not found.evidence:
        return Html("")
    kept = found.evidence[:_MOST_EVIDENCE]
    left = len(found.evidence) - len(kept)
    items = [*kept, *([f"and {left} more (in -o json)"] if left else [])]
    said = f"Evidence: {counted(len(found.evidence), 'line')}"
    return folded(said, el("ul", *(el("li", each) for each in items), class_="evidence"))
