"""How new nodes come and old ones leave, one group of nodes at a time, with the ways compared."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.drain.handoff.offers import HandOff, Step
from kubectl_eksdoc.render.drain import afterwards
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.html import Html, el, folded, lines, more, put, table
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.pages import command_list
from kubectl_eksdoc.render.text import counted, listing

_MOST_PODS, _MOST_NODES = 200, 100
"""Of which so many names are listed."""


def after(view: DrainView) -> Html:
    return lines(_group(handoff) for handoff in view.handoffs)


def _group(handoff: HandOff) -> Html:
    names = listing(handoff.kept, _MOST_NODES, Look())
    kept = el("p", f"Not in full: {names}") if names else ""
    inside = [kept, *_steps("New nodes", handoff.arrive), *_steps("Old nodes", handoff.leave)]
    beware = el("ul", *(el("li", f"{text}.") for text in handoff.beware)) if handoff.beware else ""
    inside += [folded(f"{len(handoff.beware)} to beware of", beware), *_instead(handoff)]
    return folded(afterwards.head(handoff), el("div", lines(inside)))


def _steps(title: str, steps: Sequence[Step]) -> list[Html]:
    return [
        el("div", el("p", el("b", f"{title}: "), step.text), command_list(step.commands), class_="remedy")
        for step in steps
    ]


def _instead(handoff: HandOff) -> list[Html]:
    update = afterwards.update_of(handoff)
    if update is None:
        return []
    columns, rows = afterwards.comparison(handoff.instead)
    parts = [el("h3", "The ways compared"), table(columns, rows)]
    parts += [
        el("p", f"Nodes added by {afterwards.WAYS[option.way].lower()}: {option.surge_why}", class_="soft")
        for option in handoff.instead
    ]
    for said, pods in afterwards.pods_of(update):
        names = el("ul", *(el("li", pod, class_="name") for pod in pods[:_MOST_PODS]))
        left = more(len(pods) - _MOST_PODS, "pods")
        parts.append(folded(put("The group's own update: ", said, f" {counted(len(pods), 'pod')}"), names, left))
    return parts
