"""The way as a checklist whose boxes a reader ticks, on the screen or on paper."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from kubectl_eksdoc.check.areas import Gate
from kubectl_eksdoc.check.checklist.steps import Step
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.render.check import steps
from kubectl_eksdoc.render.check.page.shown import Shown, about
from kubectl_eksdoc.render.html import Html, command, el, folded, lines, put
from kubectl_eksdoc.render.pages import command_list

_MOST_LINKS = 15

_HINT = "Nothing is stored: ticks last as long as the page stays open. On paper the boxes are empty or ticked as here."


def checklist(shown: Shown) -> Html:
    """With a heading for each phase; nothing where no checklist was made."""
    parts = [
        put(
            el("h3", f"{phase.value[:1].upper()}{phase.value[1:]}"),
            el("ul", lines(_step(shown, step) for step in group), class_="way"),
        )
        for phase, group in groupby(shown.plan.checklist, key=lambda step: step.phase)
    ]
    return lines([el("p", _HINT, class_="soft"), *parts]) if parts else Html("")


def _step(shown: Shown, step: Step) -> Html:
    waiting = steps.waits(shown.plan, step)
    name = put(f"{step.number}. {step.title}", *([" ", el("span", waiting, class_="tag bad")] if waiting else []))
    box = el("label", el("input", type="checkbox"), el("span", name))
    return el("li", box, folded("Why, how, done when", _inside(shown, step)), id=f"step-{step.number}")


def _inside(shown: Shown, step: Step) -> Html:
    done = el("p", f"Done when {step.done_when}.") if step.done_when else ""
    verify = command(step.verify) if step.verify else ""
    forms = [
        part for form in step.forms for part in (el("p", f"With {form.tool}: {form.text}"), command_list(form.commands))
    ]
    how = (command_list(step.commands), *forms)
    return el("div", lines([el("p", f"Why: {steps.why(step)}"), *_links(shown, step), *how, done, verify]))


def _links(shown: Shown, step: Step) -> Iterator[Html]:
    """To what is to be mended first, and to the drain of the nodes that it is about."""
    waiting = shown.plan.waiting(step)
    if waiting:
        kept = [_link(shown, each) for each in waiting[:_MOST_LINKS]]
        left = len(waiting) - len(kept)
        more = el("li", put("and ", el("a", f"{left} more", href="#findings"))) if left else ""
        yield put(el("p", "First fix:"), el("ul", *kept, more, class_="evidence"))
    if shown.drain is not None and step.gate is Gate.BEFORE_NODES:
        yield el("p", "What its drain would do: ", _drains(shown, step), ".")


def _link(shown: Shown, found: Finding) -> Html:
    return el("li", el("a", f"{found.code.name}: {about(found)}", href=f"#{shown.link(found)}"))


def _drains(shown: Shown, step: Step) -> Html:
    """Of its groups, or of all."""
    links = [
        el("a", name or "nodes without a group", href=f"#{anchor}")
        for name, anchor in shown.group_anchors.items()
        if name in step.about
    ]
    return put(*(links or [el("a", "all nodes that are behind", href="#drain")]), between=", ")
