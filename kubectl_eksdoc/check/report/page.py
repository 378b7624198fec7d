"""HTML page of an upgrade check: the verdict first, then blockers, upgrade steps, and the data behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from kubectl_eksdoc.amazon.versions import in_words
from kubectl_eksdoc.baseline import report as screen
from kubectl_eksdoc.baseline.changes import FindingChangeKind, ResultComparison
from kubectl_eksdoc.drain.report.rows import NONE
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.report.identity import called
from kubectl_eksdoc.report.pages import STYLE as COMMON
from kubectl_eksdoc.report.pages import (
    Html,
    Section,
    bullets,
    command,
    command_list,
    el,
    folded,
    framed,
    lines,
    more,
    origin,
    put,
    table,
)
from kubectl_eksdoc.report.text import Cell, Column, Look, Row, Tone, columns_of, counted, rfc3339

from ..checking import DECIDING, Gate
from ..plan import CheckPlan
from ..steps import UpgradeStep
from . import verdict
from .diagnosis import five, pasted
from .shown import (
    BAD,
    GOOD,
    LIGHTS,
    MOST_ALIKE,
    OPEN,
    PASSED_OVER,
    CheckPage,
    about,
    drain,
    findings,
    unknown,
)
from .verdict import AreaPart


def page(shown: CheckPage, since: ResultComparison | None, look: Look) -> str:
    """The check as one HTML document."""
    cluster = shown.plan.facts.cluster
    tool = f"kubectl eksdoc {shown.tool_version}"
    top = put(route(shown), origin(cluster, tool))
    name = f"Upgrade check of {called(cluster)}"
    # With a symptom, its possible causes come next instead of the areas.
    areas = () if shown.plan.diagnosis is not None else (_lights(shown), _deciding(shown))
    return framed(
        name,
        STYLE,
        top,
        lines([_answer(shown), *areas]),
        _sections(shown, since),
        f"{tool} · nothing was changed",
        look,
    )


def _sections(shown: CheckPage, since: ResultComparison | None) -> Iterator[Section]:
    plan = shown.plan
    observed = plan.facts.cluster.observed_at
    yield Section("since", "Since", screen.title(since, observed) if since is not None else "", beside(since))
    count = len([each for part in shown.parts for each in part.counting])
    unsure = sum(len(part.unknown) for part in shown.parts)
    yield Section("causes", "Likely causes", "Likely causes", causes(plan))
    moment = rfc3339(plan.changes.since) if plan.changes is not None else ""
    yield Section("changed", "Changed", f"Changed since {moment}", changes(plan))
    yield Section("findings", "Findings", f"Findings by area, the worst first ({count})", findings(shown))
    yield Section("way", "Upgrade steps", f"Upgrade steps to {in_words(plan.facts.way.target)}", checklist(shown))
    yield Section("drain", "Nodes", "The replacement of the nodes", drain(shown))
    suppressed = f"Suppressed: found, and accepted for a time ({len(plan.suppressed)})"
    yield Section("suppressed", "Suppressed", suppressed, accepted(plan))
    yield Section("unknown", "Unknown", f"Not known, and why ({unsure})", unknown(shown))
    yield Section("judged", "What was judged", "What was judged, and by what", judged(shown))


# The first screen: the verdict, what blocks which step, and the areas as a traffic light in symbols and words.


_GATES = {
    Gate.BEFORE_CONTROL_PLANE: "Before the control plane",
    Gate.BEFORE_NODES: "Before the nodes",
    Gate.AFTER: "Before the end",
}


def route(shown: CheckPage) -> Html:
    """The upgrade path ``1.33 → 1.34`` in large type."""
    way = shown.plan.facts.way
    versions = [el("b", in_words(each)) for each in dict.fromkeys((way.now, *way.steps))]
    assumed = el("span", f" ({way.told_by})", class_="soft") if way.assumed else ""
    return el("p", "Kubernetes ", put(*versions, between=" → "), assumed, class_="route")


def _answer(shown: CheckPage) -> Html:
    plan = shown.plan
    if plan.diagnosis is not None:
        return _verdict(*(BAD if plan.diagnosis.suspects else OPEN), verdict.symptom(plan.diagnosis))
    said, fails = verdict.verdict(plan), any(plan.of(gate, Status.FAIL) for gate in Gate)
    rest = said.rest.lstrip(":; ")
    below = el("p", f"{rest[:1].upper()}{rest[1:]}{verdict.suppressed(plan)}{verdict.left_out(plan)}")
    partly = verdict.partly(plan)
    part = el("p", el("b", partly), class_="part") if partly else ""
    gates = el("ol", *(_gate(shown, gate) for gate in Gate), class_="gates") if plan.wish.whole else ""
    return _verdict(*(GOOD if not said.against else BAD if fails else OPEN), said.head, below, part, gates)


def _verdict(sign: str, tone: str, head: str, *below: str) -> Html:
    return el("div", el("strong", f"{sign} {head}"), *below, class_=f"verdict {tone}")


def _gate(shown: CheckPage, gate: Gate) -> Html:
    plan = shown.plan
    found, unknown = verdict.at_gate(plan, gate), plan.of(gate, Status.UNKNOWN)
    accepted = sum(each.code.name in plan.wish.accepted for each in unknown)
    sign, tone = BAD if plan.of(gate, Status.FAIL) else OPEN if found else GOOD
    if not found:
        found = f"{accepted} unknown, accepted" if accepted else "nothing stands against it"
    if gate is Gate.AFTER and plan.facts.way.steps:
        (sign, tone), found = PASSED_OVER, "judged after the last step"
    if (sign, tone) == GOOD and (slight := verdict.slight_at(plan, gate)):
        sign, tone = PASSED_OVER
        found = f"nothing counts at --fail-on {plan.wish.fail_on.value}; {slight} less severe"
    return el("li", el("b", _GATES[gate]), el("span", f"{sign} {found}", class_=tone))


def _deciding(shown: CheckPage) -> Html:
    """The causes that the next step waits for first, each with its first command."""
    plan = shown.plan
    rows = [
        el(
            "li",
            el("a", f"{each.severity.value}: {verdict.cause(each)}", href=f"#{shown.link(each.first)}"),
            f": {verdict.because(plan, each)} ({verdict.before(plan, each.gate)}). {each.do.text}",
            command(each.do.command),
        )
        for each in plan.causes[:DECIDING]
    ]
    return put(el("h2", "What decides"), el("ul", *rows, class_="worst")) if rows else Html("")


def _lights(shown: CheckPage) -> Html:
    parts = [part for part in shown.parts if part.judged or shown.plan.wish.whole]
    means = [put(sign, f" {said}") for light, (sign, _, said) in LIGHTS.items() if any(p.light == light for p in parts)]
    return put(
        el("h2", "Areas", id="areas"),
        el("ul", *map(_light, parts), class_="lights"),
        el("p", put(*means, between=" · "), class_="key"),
    )


def _light(part: AreaPart) -> Html:
    sign, tone, _ = LIGHTS[part.light]
    name = el("a", part.title, href=f"#{part.anchor}") if part.judged else part.title
    return el("li", el("span", sign, class_="sign", aria_hidden="true"), el("b", name), el("span", part.figures),
              class_=tone)  # fmt: skip


# Diagnosis of a symptom: possible causes, the likeliest first, and recent changes.


_MOST_SHOWN = 200


def causes(plan: CheckPlan) -> Html:
    """Empty without a symptom."""
    found = plan.diagnosis
    if found is None:
        return Html("")
    cards = []
    for number, each in enumerate(found.suspects[:_MOST_SHOWN], 1):
        first, *rest = five(each)
        said = (put(el("p", text.strip()) if text else "", command(line)) for text, line in map(pasted, rest))
        head = first if number == 1 else f"{number}. {each.what} ({each.code})"
        inside = el("div", lines(said), bullets(each.evidence, "evidence"))
        cards.append(folded(head, inside, open_=number == 1))
    where = [put(el("p", each.text), command(each.command)) for each in found.elsewhere]
    elsewhere = put(el("h3", "Where to look next"), el("div", *where, class_="card")) if where else ""
    return lines([*cards, more(len(found.suspects) - len(cards), "possible causes"), elsewhere])


def changes(plan: CheckPlan) -> Html:
    """Empty where no changes were requested."""
    found = plan.changes
    if found is None:
        return Html("")
    columns = columns_of("AT", "SUBJECT", "WHAT")
    rows: list[Row] = [[rfc3339(e.at), f"{e.subject.kind} {e.subject}", e.what] for e in found.changes[:_MOST_SHOWN]]
    left = more(len(found.changes) - len(rows))
    unread = bullets(f"? not known: {each}" for each in found.unread)
    return lines([table(columns, rows) or el("p", "Nothing that still shows."), left, unread])


# The upgrade steps as a checklist with boxes to tick, on the screen or on paper.


_MOST_LINKS = 15

_HINT = "Nothing is stored: ticks last as long as the page stays open. On paper the boxes are empty or ticked as here."


def checklist(shown: CheckPage) -> Html:
    """With a heading for each phase; empty without a checklist."""
    parts = [
        put(
            el("h3", f"{phase.value[:1].upper()}{phase.value[1:]}"),
            el("ul", lines(_step(shown, step) for step in group), class_="way"),
        )
        for phase, group in groupby(shown.plan.checklist, key=lambda step: step.phase)
    ]
    return lines([el("p", _HINT, class_="soft"), *parts]) if parts else Html("")


def _step(shown: CheckPage, step: UpgradeStep) -> Html:
    waiting = verdict.waits(shown.plan, step)
    name = put(f"{step.number}. {step.title}", *([" ", el("span", waiting, class_="tag bad")] if waiting else []))
    box = el("label", el("input", type="checkbox"), el("span", name))
    done = el("p", f"Done when {step.done_when}.") if step.done_when else ""
    how = [command_list(step.commands)]
    for form in step.forms:
        how += [el("p", f"With {form.tool}: {form.text}"), command_list(form.commands)]
    why = el("p", f"Why: {verdict.why(step)}")
    return el(
        "li",
        box,
        folded("Why, how, done when", el("div", lines([why, *_links(shown, step), *how, done, command(step.verify)]))),
        id=f"step-{step.number}",
    )


def _links(shown: CheckPage, step: UpgradeStep) -> Iterator[Html]:
    """Links to the findings to fix first, and to the drains of the step's nodes."""
    waiting = shown.plan.waiting(step)
    if waiting:
        kept = waiting[:_MOST_LINKS]
        links = [el("a", f"{each.code.name}: {about(each)}", href=f"#{shown.link(each)}") for each in kept]
        if left := len(waiting) - len(kept):
            links.append(put("and ", el("a", f"{left} more", href="#findings")))
        yield put(el("p", "First fix:"), bullets(links, "evidence"))
    if shown.drain is not None and step.gate is Gate.BEFORE_NODES:
        groups = ((name, anchor) for name, anchor in shown.group_anchors.items() if name in step.about)
        drains = [el("a", name or "nodes without a group", href=f"#{anchor}") for name, anchor in groups]
        every = [el("a", "all nodes that are behind", href="#drain")]
        yield el("p", "What its drain would do: ", put(*(drains or every), between=", "), ".")


# Data for audits: which checks were made and their results, what was read, what was requested, which findings are
# suppressed, and how findings have changed since an earlier check.


_MOST_SUPPRESSED = MOST_ALIKE * 10


def accepted(plan: CheckPlan) -> Html:
    """Empty where nothing is suppressed and no suppression is out of date."""
    columns = columns_of("FINDING", "REASON", "UNTIL", Column("WHERE", drop=1))
    rows: list[Row] = [
        [
            put(
                el("b", f"{each.finding.severity.value} {each.finding.code.name}"),
                f": {about(each.finding)}: {each.finding.message}",
            ),
            each.by.reason,
            each.by.until.isoformat(),
            each.by.where,
        ]
        for each in plan.suppressed[:_MOST_SUPPRESSED]
    ]
    notes = put(el("h3", "Out of date"), bullets(plan.notes)) if plan.notes else ""
    return lines([table(columns, rows), more(len(plan.suppressed) - len(rows)), notes])


_OPEN = (FindingChangeKind.NEW, FindingChangeKind.CHANGED, FindingChangeKind.FIXED)
"""Changes that are visible without a click."""


def beside(since: ResultComparison | None) -> Html:
    """Empty without an earlier result."""
    if since is None:
        return put()
    said = (el("p", remark, class_="note") for remark in screen.remarks(since))
    changes = ((word, since.of(became), became in _OPEN) for became, word in screen.WORDS.items())
    each = (
        folded(f"{word.capitalize()} ({len(found)})", bullets(map(screen.told, found)), open_=open_)
        for word, found, open_ in changes
    )
    return put(el("p", screen.counts(since)), *said, *each)


_ENDS: Mapping[Status, Cell] = {
    Status.PASS: Cell("✓ pass", Tone.GOOD),
    Status.FAIL: Cell("✗ fail", Tone.BAD),
    Status.UNKNOWN: Cell("? unknown", Tone.UNKNOWN),
}


def judged(shown: CheckPage) -> Html:
    columns = columns_of("RESULT", "AREA", "CODES", Column("HAS TO BE SO", drop=1))
    rows: list[Row] = [
        [
            _ENDS[each.status],
            each.check.area.value,
            ", ".join(sorted(code.name for code in each.check.codes)),
            NONE if each.check.gate is None else verdict.before(shown.plan, each.check.gate),
        ]
        for part in shown.parts
        for each in part.judged
    ]
    return folded(f"{counted(len(rows), 'check')}, and how each ended", table(columns, rows))


# Style of the page, in addition to the common style.


STYLE = (
    COMMON
    + """\
.route { font-size: 1.15rem; margin: .3rem 0; }
.route b { font-size: 1.5rem; }
.gates { list-style: none; display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .6rem; padding: 0;
  margin: .7rem 0 .1rem; }
.gates li { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .45rem .7rem; }
.gates b, .gates span { display: block; }
.gates span { font-weight: 600; }
.worst { margin: .4rem 0; } .worst li { margin: .25rem 0; }
.lights { list-style: none; display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .6rem; padding: 0;
  margin: .5rem 0; }
.lights li { display: grid; grid-template-columns: 2.3rem minmax(0, 1fr); align-content: center;
  background: var(--card); border: 1px solid var(--line); border-left: .35rem solid; border-radius: .4rem;
  padding: .45rem .6rem; break-inside: avoid; }
.lights .sign { grid-row: 1 / 3; align-self: center; font-size: 1.3rem; font-weight: 700; text-align: center; }
.lights b, .lights a { color: var(--ink); }
.lights li > span:last-child { font-size: .87rem; }
.unseen { color: var(--soft); }
#findings h3 { margin-top: 1.5rem; scroll-margin-top: .5rem; }
#findings h3 .soft { font-weight: 400; font-size: .9rem; }
[id^="finding-"] { scroll-margin-top: 4rem; }
:target { outline: 2px solid var(--bar); outline-offset: 3px; border-radius: .2rem; }
.way { list-style: none; padding: 0; }
.way > li { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; }
.way label { display: grid; grid-template-columns: 1.9rem minmax(0, 1fr); padding: .55rem 1rem .3rem; font-weight: 600;
  cursor: pointer; align-items: start; }
.way input { width: 1.15rem; height: 1.15rem; margin: .15rem 0 0; accent-color: var(--good); }
.way input:checked + span { color: var(--soft); text-decoration: line-through; }
.way details { border: 0; margin: 0 0 .2rem 1.9rem; background: none; }
.way summary { padding-top: .1rem; color: var(--soft); font-size: .9rem; }
.way .tag { font-weight: 600; }
#unknown td { overflow-wrap: anywhere; min-width: 6.5rem; }
.tag.bad { color: var(--bad); border-color: var(--bad); }
@media (max-width: 60rem) { .lights { grid-template-columns: repeat(3, minmax(0, 1fr)); } }
@media (max-width: 40rem) {
  .gates { grid-template-columns: 1fr; } .lights { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .4rem; }
  .lights li { grid-template-columns: 1.8rem minmax(0, 1fr); padding: .4rem; }
  .way label { padding: .5rem .7rem .3rem; } .way details { margin-left: 1.2rem; }
}
@media print {
  @page { margin: 13mm; }
  :root { font-size: 9pt; } body { font-size: 9pt; } h2 { margin-top: 1rem; }
  .lights { grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .35rem; } .lights li { padding: .25rem .4rem; }
  #findings, #way, #drain, #judged { break-before: page; }
  .lights li, .gates li, .worst li { break-inside: avoid; }
  summary { list-style: none; padding: .35rem .8rem; } summary::marker { content: ""; }
  details > :last-child { padding-bottom: .4rem; }
  details details { border: 0; margin: .1rem 0; } details details > summary { padding: .2rem 0; color: var(--soft); }
  details[open] > summary { border: 0; margin: 0; } details details > ul { padding: 0 0 0 1.2rem; }
  .way label { break-after: avoid; }
  .way summary { display: none; }
  .way input { appearance: none; -webkit-appearance: none; border: 1.5px solid #000; border-radius: 2px; }
  .way input:checked::before { content: "✓"; display: block; font-size: 1rem; line-height: 1; text-align: center; }
  #judged td.s { overflow-wrap: normal; }
}
"""
)
