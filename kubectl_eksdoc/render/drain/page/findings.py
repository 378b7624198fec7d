"""Findings as cards that open and close: what is wrong, on what, and commands that one click selects."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.render.drain.groups import Advice, Group, evidence, unread
from kubectl_eksdoc.render.drain.verdict import STATUS_SIGN
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.html import TONES, Html, el, folded, lines, more, put
from kubectl_eksdoc.render.pages import advice

MOST_CARDS = 200
"""In one section; the worst come first."""
_MOST_OPEN = 8
_MOST_NODES = 8
_MOST_LINES = 8


def cards(groups: Sequence[Group], view: DrainView, opened: bool = True) -> Html:
    """Of `groups` so many as one can read; with `opened` the first of each code stands open, up to a few."""
    seen: set[str] = set()
    parts = []
    for group in groups[:MOST_CARDS]:
        code = group.first.code.name
        parts.append(_card(group, view, opened and code not in seen and len(seen) < _MOST_OPEN))
        seen.add(code)
    return lines([*parts, more(len(groups) - MOST_CARDS, "like these")])


def _card(group: Group, view: DrainView, open_: bool) -> Html:
    first = group.first
    sign, tone = STATUS_SIGN[first.status]
    nodes = [node for node in group.nodes if node not in group.names]
    shown = nodes if len(nodes) <= _MOST_NODES + 1 else [*nodes[:_MOST_NODES], f"and {len(nodes) - _MOST_NODES} more"]
    summary = put(
        el("span", f"{sign} {first.code.name}", class_=f"code {TONES[tone]}"),
        " ",
        el("span", first.severity.value, class_="tag"),
        " ",
        group.about,
        *(put(" ", el("span", node, class_="tag name")) for node in shown),
    )
    return folded(summary, _inside(group, view, nodes if len(shown) < len(nodes) else []), open_=open_)


def _inside(group: Group, view: DrainView, nodes: Sequence[str]) -> Html:
    told, uncounted = evidence(group)
    rest = [f"and {uncounted} more"] if uncounted else []
    return el(
        "div",
        lines(
            [
                *(el("p", message) for message in group.messages),
                el("p", "missing: ", el("b", group.first.missing)) if group.first.missing else "",
                _list("on", nodes),
                _list("subjects", group.listed),
                _list("lines of evidence", [*told, *rest]),
                *_remedies(unread(group, view)),
            ]
        ),
    )


def _list(what: str, texts: Sequence[str]) -> Html:
    """A list; where it is long, what is behind the first few opens with a click."""
    if not texts:
        return Html("")
    kept = texts if len(texts) <= _MOST_LINES + 1 else texts[:_MOST_LINES]
    rest = texts[len(kept) :]
    shown = el("ul", *(el("li", text) for text in kept), class_="evidence")
    return put(shown, folded(f"{len(rest)} more {what}", el("ul", *(el("li", text) for text in rest))) if rest else "")


def _remedies(found: Sequence[Advice]) -> list[Html]:
    return [
        advice(when.value, remedy.text, commands) for when in When for remedy, commands in found if remedy.when is when
    ]
