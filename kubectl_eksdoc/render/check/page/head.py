"""The first screen: the answer, what stands before which step, and the areas as a traffic light in signs and words."""

from __future__ import annotations

from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.check.areas import Gate
from kubectl_eksdoc.check.causes import DECIDING
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.render.check import words
from kubectl_eksdoc.render.check.page.shown import Light, Part, Shown
from kubectl_eksdoc.render.html import Html, command, el, lines, put
from kubectl_eksdoc.render.text import counted

BAD, OPEN, GOOD = ("✗", "bad"), ("?", "open"), ("✓", "good")
PASSED_OVER = ("○", "unseen")

LIGHTS = {
    Light.GRAVE: ("✗", "bad", "something critical or high fails"),
    Light.FAILS: ("!", "warn", "something less severe fails"),
    Light.UNKNOWN: ("?", "open", "something is not known"),
    Light.PASSED_OVER: (*PASSED_OVER, "nothing counts, but for --fail-on or a suppression alone"),
    Light.FINE: ("✓", "good", "all that was checked is fine"),
    Light.UNSEEN: ("–", "unseen", "not checked"),
}
"""Of each its sign, its class, and what it means."""


_GATES = {
    Gate.BEFORE_CONTROL_PLANE: "Before the control plane",
    Gate.BEFORE_NODES: "Before the nodes",
    Gate.AFTER: "Before the end",
}


def first(shown: Shown) -> Html:
    """Where something hurts, its likely causes come next, and not the areas."""
    hurts = shown.plan.diagnosis is not None
    return lines([_answer(shown), *([] if hurts else [_lights(shown), _deciding(shown)])])


def route(shown: Shown) -> Html:
    """``1.33 → 1.34``, large."""
    way = shown.plan.facts.way
    versions = [el("b", in_words(each)) for each in dict.fromkeys((way.now, *way.steps))]
    assumed = el("span", f" ({way.told_by})", class_="soft") if way.assumed else ""
    return el("p", "Kubernetes ", put(*versions, between=" → "), assumed, class_="route")


def _answer(shown: Shown) -> Html:
    plan = shown.plan
    if plan.diagnosis is not None:
        return _verdict(*(BAD if plan.diagnosis.suspects else OPEN), words.symptom(plan.diagnosis))
    said = words.verdict(plan)
    rest = said.rest.lstrip(":; ")
    below = el("p", f"{rest[:1].upper()}{rest[1:]}{words.suppressed(plan)}{words.left_out(plan)}")
    partly = words.partly(plan)
    part = el("p", el("b", partly), class_="part") if partly else ""
    gates = el("ol", *(_gate(shown, gate) for gate in Gate), class_="gates") if plan.wish.whole else ""
    return _verdict(*_standing(shown, said), said.head, below, part, gates)


def _verdict(sign: str, tone: str, head: str, *below: str) -> Html:
    return el("div", el("strong", f"{sign} {head}"), *below, class_=f"verdict {tone}")


def _standing(shown: Shown, verdict: words.Verdict) -> tuple[str, str]:
    """The sign and the tone of the answer."""
    if not verdict.against:
        return GOOD
    return BAD if any(shown.plan.of(gate, Status.FAIL) for gate in Gate) else OPEN


def _gate(shown: Shown, gate: Gate) -> Html:
    plan = shown.plan
    found, accepted = words.at_gate(plan, gate), words.accepted_at(plan, gate)
    fails = plan.of(gate, Status.FAIL)
    sign, tone = BAD if fails else OPEN if found else GOOD
    if not found and (earlier := words.causes(plan.causes_of((*fails, *plan.of(gate, Status.UNKNOWN))))):
        found = f"{earlier} of those above"
        sign, tone = BAD if fails else OPEN
    if not found:
        found = f"{len(accepted)} unknown, accepted" if accepted else "nothing stands against it"
    if gate is Gate.AFTER and plan.facts.way.steps:
        (sign, tone), found = PASSED_OVER, "judged after the last step"
    if (sign, tone) == GOOD and (slight := words.slight_at(plan, gate)):
        sign, tone = PASSED_OVER
        found = f"nothing counts at --fail-on {plan.wish.fail_on.value}; {slight} less severe"
    return el("li", el("b", _GATES[gate]), el("span", f"{sign} {found}", class_=tone))


def _deciding(shown: Shown) -> Html:
    """What the next step waits for first, and with which command to begin."""
    plan = shown.plan
    rows = [
        el(
            "li",
            el("a", f"{each.severity.value}: {words.cause(each)}", href=f"#{shown.link(each.first)}"),
            f": {words.because(plan, each)} ({words.before(plan, each.gate)}). {each.do.text}",
            command(each.do.command),
        )
        for each in plan.causes[:DECIDING]
    ]
    return put(el("h2", "What decides"), el("ul", *rows, class_="worst")) if rows else Html("")


def _lights(shown: Shown) -> Html:
    seen = [part for part in shown.parts if part.judged]
    parts = shown.parts if shown.plan.wish.whole else seen
    means = [put(sign, f" {said}") for light, (sign, _, said) in LIGHTS.items() if any(p.light == light for p in parts)]
    return put(
        el("h2", "Areas", id="areas"),
        el("ul", *map(_light, parts), class_="lights"),
        el("p", put(*means, between=" · "), class_="key"),
    )


def _light(part: Part) -> Html:
    sign, tone, _ = LIGHTS[part.light]
    name = el("a", called(part), href=f"#{part.anchor}") if part.judged else called(part)
    return el("li", el("span", sign, class_="sign", aria_hidden="true"), el("b", name), el("span", figures(part)),
              class_=tone)  # fmt: skip


def called(part: Part) -> str:
    """As it stands at the beginning of a line."""
    name = part.area.value
    return f"{name[:1].upper()}{name[1:]}"


def figures(part: Part) -> str:
    """``6 causes, worst high; 1 unknown``, and what does not count though it is there. A cause counts in one area."""
    if not part.judged:
        return "not checked"
    fails, unknown = part.causes
    elsewhere = "part of causes elsewhere"
    parts = (
        f"{counted(fails, 'cause') if fails else elsewhere}, worst {part.fails[0].severity.value}"
        if part.fails
        else "",
        f"{unknown} unknown" if unknown else elsewhere if part.unknown and not part.fails else "",
        f"{part.slight} less severe" if part.slight else "",
        f"{part.suppressed} suppressed" if part.suppressed else "",
    )
    return "; ".join(filter(None, parts)) or "fine"
