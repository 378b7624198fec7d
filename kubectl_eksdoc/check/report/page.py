"""HTML page of an upgrade check: the verdict first, then blockers, upgrade steps, and the data behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from kubectl_eksdoc.amazon.versions import format_version
from kubectl_eksdoc.baseline import report as screen
from kubectl_eksdoc.baseline.changes import FindingChangeKind, ResultComparison
from kubectl_eksdoc.drain.report.rows import NONE
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.report.identity import cluster_title
from kubectl_eksdoc.report.pages import STYLE as COMMON
from kubectl_eksdoc.report.pages import (
    Html,
    PageSection,
    bullet_list,
    collapsible,
    command_block,
    command_list,
    concat,
    element,
    html_lines,
    html_table,
    omitted_note,
    origin_paragraph,
    render_page,
)
from kubectl_eksdoc.report.text import Appearance, Cell, Column, Row, Tone, as_columns, pluralize, rfc3339

from ..checking import MAX_TOP_CAUSES, Gate
from ..plan import CheckPlan
from ..steps import UpgradeStep
from . import verdict
from .diagnosis import five_lines, split_command
from .shown import (
    BAD_SYMBOL,
    GOOD_SYMBOL,
    LIGHTS,
    MAX_SIMILAR_FINDINGS,
    NOT_COUNTED_SYMBOL,
    OPEN_SYMBOL,
    CheckPage,
    drain_section,
    findings_section,
    subject_text,
    unknown_section,
)
from .verdict import AreaPart


def render_check_page(check_page: CheckPage, since: ResultComparison | None, appearance: Appearance) -> str:
    """The check as one HTML document."""
    cluster = check_page.plan.facts.cluster
    tool = f"kubectl eksdoc {check_page.tool_version}"
    header = concat(path_line(check_page), origin_paragraph(cluster, tool))
    name = f"Upgrade check of {cluster_title(cluster)}"
    # With a symptom, its possible causes come next instead of the areas.
    area_parts = () if check_page.plan.diagnosis is not None else (_area_lights(check_page), _top_causes(check_page))
    return render_page(
        name,
        STYLE,
        header,
        html_lines([_verdict_box(check_page), *area_parts]),
        _page_sections(check_page, since),
        f"{tool} · nothing was changed",
        appearance,
    )


def _page_sections(check_page: CheckPage, since: ResultComparison | None) -> Iterator[PageSection]:
    plan = check_page.plan
    observed = plan.facts.cluster.observed_at
    yield PageSection(
        "since", "Since", screen.title(since, observed) if since is not None else "", comparison_section(since)
    )
    finding_count = len([each for part in check_page.area_parts for each in part.counted])
    unknown_count = sum(len(part.unknown) for part in check_page.area_parts)
    yield PageSection("causes", "Likely causes", "Likely causes", suspects_section(plan))
    since_text = rfc3339(plan.changes.since) if plan.changes is not None else ""
    yield PageSection("changed", "Changed", f"Changed since {since_text}", changes_section(plan))
    yield PageSection(
        "findings", "Findings", f"Findings by area, the worst first ({finding_count})", findings_section(check_page)
    )
    yield PageSection(
        "way",
        "Upgrade steps",
        f"Upgrade steps to {format_version(plan.facts.path.target)}",
        checklist_section(check_page),
    )
    yield PageSection("drain", "Nodes", "The replacement of the nodes", drain_section(check_page))
    suppressed = f"Suppressed: found, and accepted for a time ({len(plan.suppressed)})"
    yield PageSection("suppressed", "Suppressed", suppressed, suppressed_section(plan))
    yield PageSection("unknown", "Unknown", f"Not known, and why ({unknown_count})", unknown_section(check_page))
    yield PageSection("judged", "What was judged", "What was judged, and by what", judged_section(check_page))


# The first screen: the verdict, what blocks which step, and the areas as a traffic light in symbols and words.


_GATES = {
    Gate.BEFORE_CONTROL_PLANE: "Before the control plane",
    Gate.BEFORE_NODES: "Before the nodes",
    Gate.AFTER: "Before the end",
}


def path_line(check_page: CheckPage) -> Html:
    """The upgrade path ``1.33 → 1.34`` in large type."""
    path = check_page.plan.facts.path
    versions = [element("b", format_version(each)) for each in dict.fromkeys((path.now, *path.steps))]
    assumed = element("span", f" ({path.told_by})", class_="soft") if path.assumed else ""
    return element("p", "Kubernetes ", concat(*versions, between=" → "), assumed, class_="route")


def _verdict_box(check_page: CheckPage) -> Html:
    plan = check_page.plan
    if plan.diagnosis is not None:
        return _box(*(BAD_SYMBOL if plan.diagnosis.suspects else OPEN_SYMBOL), verdict.symptom_summary(plan.diagnosis))
    check_verdict, has_failures = verdict.build_verdict(plan), any(plan.findings_at(gate, Status.FAIL) for gate in Gate)
    explanation_text = check_verdict.explanation.lstrip(":; ")
    explanation = element(
        "p",
        f"{explanation_text[:1].upper()}{explanation_text[1:]}{verdict.suppressed_text(plan)}{verdict.left_out_text(plan)}",
    )
    partial_text = verdict.partial_text(plan)
    partial_line = element("p", element("b", partial_text), class_="part") if partial_text else ""
    gates = (
        element("ol", *(_gate_item(check_page, gate) for gate in Gate), class_="gates")
        if plan.scope.is_complete
        else ""
    )
    return _box(
        *(GOOD_SYMBOL if not check_verdict.is_blocked else BAD_SYMBOL if has_failures else OPEN_SYMBOL),
        check_verdict.headline,
        explanation,
        partial_line,
        gates,
    )


def _box(symbol: str, tone: str, head: str, *content: str) -> Html:
    return element("div", element("strong", f"{symbol} {head}"), *content, class_=f"verdict {tone}")


def _gate_item(check_page: CheckPage, gate: Gate) -> Html:
    plan = check_page.plan
    causes, unknown_findings = verdict.causes_at_gate(plan, gate), plan.findings_at(gate, Status.UNKNOWN)
    accepted = sum(each.code.name in plan.scope.accepted for each in unknown_findings)
    symbol, tone = BAD_SYMBOL if plan.findings_at(gate, Status.FAIL) else OPEN_SYMBOL if causes else GOOD_SYMBOL
    if not causes:
        causes = f"{accepted} unknown, accepted" if accepted else "nothing stands against it"
    if gate is Gate.AFTER and plan.facts.path.steps:
        (symbol, tone), causes = NOT_COUNTED_SYMBOL, "judged after the last step"
    if (symbol, tone) == GOOD_SYMBOL and (less_severe := verdict.less_severe_at(plan, gate)):
        symbol, tone = NOT_COUNTED_SYMBOL
        causes = f"nothing counts at --fail-on {plan.scope.fail_on.value}; {less_severe} less severe"
    return element("li", element("b", _GATES[gate]), element("span", f"{symbol} {causes}", class_=tone))


def _top_causes(check_page: CheckPage) -> Html:
    """The causes that the next step waits for first, each with its first command."""
    plan = check_page.plan
    rows = [
        element(
            "li",
            element(
                "a", f"{each.severity.value}: {verdict.cause_name(each)}", href=f"#{check_page.anchor_of(each.first)}"
            ),
            f": {verdict.cause_reason(plan, each)} ({verdict.before_gate(plan, each.gate)}). {each.do.text}",
            command_block(each.do.command),
        )
        for each in plan.causes[:MAX_TOP_CAUSES]
    ]
    return concat(element("h2", "What decides"), element("ul", *rows, class_="worst")) if rows else Html("")


def _area_lights(check_page: CheckPage) -> Html:
    parts = [part for part in check_page.area_parts if part.judged or check_page.plan.scope.is_complete]
    legend = [
        concat(sign, f" {said}") for light, (sign, _, said) in LIGHTS.items() if any(p.light == light for p in parts)
    ]
    return concat(
        element("h2", "Areas", id="areas"),
        element("ul", *map(_area_light, parts), class_="lights"),
        element("p", concat(*legend, between=" · "), class_="key"),
    )


def _area_light(part: AreaPart) -> Html:
    symbol, tone, _ = LIGHTS[part.light]
    name = element("a", part.title, href=f"#{part.anchor}") if part.judged else part.title
    return element("li", element("span", symbol, class_="sign", aria_hidden="true"), element("b", name),
                   element("span", part.figures), class_=tone)  # fmt: skip


# Diagnosis of a symptom: possible causes, the likeliest first, and recent changes.


_MAX_ROWS = 200


def suspects_section(plan: CheckPlan) -> Html:
    """Empty without a symptom."""
    diagnosis = plan.diagnosis
    if diagnosis is None:
        return Html("")
    cards = []
    for number, suspect in enumerate(diagnosis.suspects[:_MAX_ROWS], 1):
        first, *rest = five_lines(suspect)
        texts = (
            concat(element("p", text.strip()) if text else "", command_block(line))
            for text, line in map(split_command, rest)
        )
        head = first if number == 1 else f"{number}. {suspect.what} ({suspect.code})"
        body = element("div", html_lines(texts), bullet_list(suspect.evidence, "evidence"))
        cards.append(collapsible(head, body, open_=number == 1))
    next_places = [
        concat(element("p", suspect.text), command_block(suspect.command)) for suspect in diagnosis.elsewhere
    ]
    elsewhere = (
        concat(element("h3", "Where to look next"), element("div", *next_places, class_="card")) if next_places else ""
    )
    return html_lines([*cards, omitted_note(len(diagnosis.suspects) - len(cards), "possible causes"), elsewhere])


def changes_section(plan: CheckPlan) -> Html:
    """Empty where no changes were requested."""
    recent_changes = plan.changes
    if recent_changes is None:
        return Html("")
    columns = as_columns("AT", "SUBJECT", "WHAT")
    rows: list[Row] = [
        [rfc3339(e.at), f"{e.subject.kind} {e.subject}", e.what] for e in recent_changes.changes[:_MAX_ROWS]
    ]
    more_line = omitted_note(len(recent_changes.changes) - len(rows))
    not_read = bullet_list(f"? not known: {each}" for each in recent_changes.not_read)
    return html_lines([html_table(columns, rows) or element("p", "Nothing that still shows."), more_line, not_read])


# The upgrade steps as a checklist with boxes to tick, on the screen or on paper.


_MAX_LINKS = 15

_HINT = "Nothing is stored: ticks last as long as the page stays open. On paper the boxes are empty or ticked as here."


def checklist_section(check_page: CheckPage) -> Html:
    """With a heading for each phase; empty without a checklist."""
    parts = [
        concat(
            element("h3", f"{phase.value[:1].upper()}{phase.value[1:]}"),
            element("ul", html_lines(_step_item(check_page, step) for step in group), class_="way"),
        )
        for phase, group in groupby(check_page.plan.checklist, key=lambda step: step.phase)
    ]
    return html_lines([element("p", _HINT, class_="soft"), *parts]) if parts else Html("")


def _step_item(check_page: CheckPage, step: UpgradeStep) -> Html:
    waiting_text = verdict.waiting_text(check_page.plan, step)
    name = concat(
        f"{step.number}. {step.title}",
        *([" ", element("span", waiting_text, class_="tag bad")] if waiting_text else []),
    )
    box = element("label", element("input", type="checkbox"), element("span", name))
    done_line = element("p", f"Done when {step.done_when}.") if step.done_when else ""
    command_blocks = [command_list(step.commands)]
    for form in step.forms:
        command_blocks += [element("p", f"With {form.tool}: {form.text}"), command_list(form.commands)]
    reason_line = element("p", f"Why: {verdict.step_reason(step)}")
    return element(
        "li",
        box,
        collapsible(
            "Why, how, done when",
            element(
                "div",
                html_lines(
                    [
                        reason_line,
                        *_step_links(check_page, step),
                        *command_blocks,
                        done_line,
                        command_block(step.verify),
                    ]
                ),
            ),
        ),
        id=f"step-{step.number}",
    )


def _step_links(check_page: CheckPage, step: UpgradeStep) -> Iterator[Html]:
    """Links to the findings to fix first, and to the drains of the step's nodes."""
    blocking = check_page.plan.blocking_findings(step)
    if blocking:
        shown_findings = blocking[:_MAX_LINKS]
        links = [
            element("a", f"{each.code.name}: {subject_text(each)}", href=f"#{check_page.anchor_of(each)}")
            for each in shown_findings
        ]
        if hidden_count := len(blocking) - len(shown_findings):
            links.append(concat("and ", element("a", f"{hidden_count} more", href="#findings")))
        yield concat(element("p", "First fix:"), bullet_list(links, "evidence"))
    if check_page.drain is not None and step.gate is Gate.BEFORE_NODES:
        groups = ((name, anchor) for name, anchor in check_page.group_anchors.items() if name in step.about)
        drains = [element("a", name or "nodes without a group", href=f"#{anchor}") for name, anchor in groups]
        all_nodes_link = [element("a", "all nodes that are behind", href="#drain")]
        yield element("p", "What its drain would do: ", concat(*(drains or all_nodes_link), between=", "), ".")


# Data for audits: which checks were made and their results, what was read, what was requested, which findings are
# suppressed, and how findings have changed since an earlier check.


_MAX_SUPPRESSED = MAX_SIMILAR_FINDINGS * 10


def suppressed_section(plan: CheckPlan) -> Html:
    """Empty where nothing is suppressed and no suppression is out of date."""
    columns = as_columns("FINDING", "REASON", "UNTIL", Column("WHERE", drop_order=1))
    rows: list[Row] = [
        [
            concat(
                element("b", f"{each.finding.severity.value} {each.finding.code.name}"),
                f": {subject_text(each.finding)}: {each.finding.message}",
            ),
            each.rule.reason,
            each.rule.until.isoformat(),
            each.rule.where,
        ]
        for each in plan.suppressed[:_MAX_SUPPRESSED]
    ]
    notes = concat(element("h3", "Out of date"), bullet_list(plan.notes)) if plan.notes else ""
    return html_lines([html_table(columns, rows), omitted_note(len(plan.suppressed) - len(rows)), notes])


_UNFOLDED = (FindingChangeKind.NEW, FindingChangeKind.CHANGED, FindingChangeKind.FIXED)
"""Changes that are visible without a click."""


def comparison_section(comparison: ResultComparison | None) -> Html:
    """Empty without an earlier result."""
    if comparison is None:
        return concat()
    notes = (element("p", remark, class_="note") for remark in screen.remarks(comparison))
    changes = ((word, comparison.of_kind(became), became in _UNFOLDED) for became, word in screen.KIND_WORDS.items())
    parts = (
        collapsible(f"{word.capitalize()} ({len(found)})", bullet_list(map(screen.change_text, found)), open_=open_)
        for word, found, open_ in changes
    )
    return concat(element("p", screen.counts_text(comparison)), *notes, *parts)


_RESULT_CELLS: Mapping[Status, Cell] = {
    Status.PASS: Cell("✓ pass", Tone.GOOD),
    Status.FAIL: Cell("✗ fail", Tone.BAD),
    Status.UNKNOWN: Cell("? unknown", Tone.UNKNOWN),
}


def judged_section(check_page: CheckPage) -> Html:
    columns = as_columns("RESULT", "AREA", "CODES", Column("HAS TO BE SO", drop_order=1))
    rows: list[Row] = [
        [
            _RESULT_CELLS[each.status],
            each.check.area.value,
            ", ".join(sorted(code.name for code in each.check.codes)),
            NONE if each.check.gate is None else verdict.before_gate(check_page.plan, each.check.gate),
        ]
        for part in check_page.area_parts
        for each in part.judged
    ]
    return collapsible(f"{pluralize(len(rows), 'check')}, and how each ended", html_table(columns, rows))


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
