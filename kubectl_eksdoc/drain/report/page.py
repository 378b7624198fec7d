"""The drain plan as one self-contained HTML page (``-o html``), for a browser or for printing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from kubectl_eksdoc.baseline import report as screen
from kubectl_eksdoc.model.budgets import BudgetStatus
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.report.identity import cluster_title
from kubectl_eksdoc.report.pages import (
    STYLE,
    TONES,
    Html,
    PageSection,
    collapsible,
    command_block,
    command_list,
    concat,
    element,
    html_lines,
    html_table,
    omitted_note,
    origin_paragraph,
    remedy_block,
    render_page,
)
from kubectl_eksdoc.report.report import SYMBOLS
from kubectl_eksdoc.report.text import Appearance, Column, TableData, first_items, list_names, pluralize

from ..outcome import BudgetVerdict, TargetVerdict
from ..plan_changes import PlanComparison
from ..rollover_offers import NodeGroupRollover
from . import comparison, handoffs, rows
from . import verdict as steps
from .findings import (
    FindingGroup,
    by_when,
    evidence_lines,
    grouped,
    merged_remedies,
    unknown_groups,
)
from .plan import DrainView, current_status
from .timeline import color_key, drain_timeline
from .verdict import (
    blocker_count,
    new_node_names,
    not_evicted_summary,
    order_name,
    order_summary,
    plan_summary,
)


def page(view: DrainView, appearance: Appearance) -> str:
    """The plan as one HTML document."""
    name = f"Drain plan for {cluster_title(view.cluster)}"
    foot = f"kubectl eksdoc {view.tool_version} · nothing was changed"
    tone = "bad" if view.blockers else "open"
    if any(target.verdict is TargetVerdict.DRAINS for target in view.targets):
        tone = "warn" if view.blockers or view.plan.unknowns else "good"
    order_html = element("p", order_text) if (order_text := order_summary(view)) else ""
    answer = element("strong", steps.headline(view, appearance, blockers_location="below"))
    first = element("div", answer, element("span", plan_summary(view)), order_html, class_=f"verdict {tone}")
    return render_page(name, STYLE, origin_paragraph(view.cluster), first, _sections(view), foot, appearance)


def _sections(view: DrainView) -> Iterator[PageSection]:
    blockers = grouped(view.blockers, view)
    if view.comparison is not None:
        title = screen.title(view.comparison.since, view.cluster.observed_at)
        yield PageSection("compared", "Compared", title, _comparison(view.comparison, view))
    yield PageSection("timeline", "Timeline", "Timeline: bars p50, tails p95", drain_timeline(view))
    yield PageSection("blockers", "Blockers", f"Blockers ({blocker_count(blockers)})", cards(blockers, view))
    next_steps = [
        concat(element("p", text + (":" if line else ".")), command_block(line) if line else "")
        for text, line in steps.next_steps(view)
    ]
    yield PageSection(
        "next", "Next", "Next", element("div", html_lines(next_steps), class_="card") if next_steps else Html("")
    )
    yield PageSection("targets", "Targets", f"Targets, {order_name(view)}", _folded_table(rows.drained(view)))
    not_drained = f"Targets that are not drained{steps.not_drained_note(view)}"
    yield PageSection("skipped", "Not drained", not_drained, _folded_table(rows.undrained(view), MAX_UNDRAINED))
    yield PageSection("budgets", "Budgets", "Budgets", budgets(view))
    not_accepted, accepted_codes = unknown_groups(view)
    accepted = element("p", f"Accepted by --accept-unknown: {', '.join(accepted_codes)}.") if accepted_codes else ""
    unknowns = html_lines([cards(not_accepted, view), accepted])
    yield PageSection("unknown", "Unknown", "Unknown: what could not be judged is not taken as fine", unknowns)
    warnings: list[FindingGroup] = []
    notes: list[FindingGroup] = []
    for group in grouped(view.warnings, view):
        (notes if group.first.severity is Severity.INFO else warnings).append(group)
    folded_notes = collapsible(pluralize(len(notes), "note"), cards(notes, view, expand=False))
    yield PageSection(
        "warnings",
        "Warnings",
        "Warnings: these stop nothing",
        html_lines([cards(warnings, view, expand=False), folded_notes]),
    )
    yield PageSection("evictions", "Evictions", "Evictions, by round", evictions(view))
    yield PageSection("left", "Left", "Pods that are not evicted", not_evicted_pods(view))
    yield PageSection("unread", "Not read", "Not read", html_table(*rows.not_read(view.not_read), _NAMES))
    yield PageSection("notes", "Notes", "Notes", _bullet_list(view.cluster.notes))
    yield PageSection("not-judged", "Not judged", "Not judged by this plan", _bullet_list(view.plan.not_judged))
    yield PageSection(
        "after", "After the drain", "After the drain: how new nodes come and old ones leave", after_drain(view)
    )


def _bullet_list(texts: Iterable[str]) -> Html:
    items = [element("li", text) for text in texts]
    return element("ul", *items) if items else Html("")


# Tables of the page: targets, budgets with their headroom as bars, evictions by round, pods that are not evicted.


_NAMES = frozenset({"NODE", "BUDGET", "POD", "SCHEDULED ON", "KIND"})

MAX_PODS = 1000
"""Maximum rows of pods on the page; further pods are only counted."""

MAX_UNDRAINED = 1000
"""Maximum rows of nodes that are not drained."""

_MAX_OPEN_ROWS = 300
"""Maximum rows of a table that are visible at first; further rows are folded."""

MAX_BUDGETS = 100
"""Maximum rows of budgets that block or are slow, and also of budgets that fit."""


def _folded_table(drawn_table: TableData, limit: int = 1 << 20) -> Html:
    """A table whose rows beyond `_MAX_OPEN_ROWS` are folded, because a browser needs long to lay them out."""
    columns, body = drawn_table
    rest = body[_MAX_OPEN_ROWS:limit]
    hidden = collapsible(f"{pluralize(len(rest), 'node')} more", html_table(columns, rest, _NAMES)) if rest else ""
    return concat(html_table(columns, body[:_MAX_OPEN_ROWS], _NAMES), hidden, omitted_note(len(body) - limit, "nodes"))


def budgets(view: DrainView, limit: int = MAX_BUDGETS) -> Html:
    """The table of budgets: at most `limit` that block or are slow, worst first, and at most `limit` that fit, folded.

    The reason why a budget blocks is shown among the blockers.
    """
    headrooms = rows.budget_order(view, full=True)
    fits = sum(h.verdict is BudgetVerdict.FITS for h in headrooms)
    columns, body = rows.budgets(view, full=True)
    fits_from = len(body) - fits
    verdict = next(i for i, column in enumerate(columns) if column.title == "VERDICT")
    columns = [columns[0], columns[verdict], Column("RULE AND HEADROOM"), *columns[2:verdict], columns[verdict + 1]]
    indexes = [*range(fits_from)][:limit] + [*range(fits_from, len(body))][:limit]
    drawn = [
        [
            row[0],
            row[verdict],
            concat(str(row[1]), _headroom(current_status(h.budget))),
            *row[2:verdict],
            row[verdict + 1],
        ]
        for row, h in ((body[i], headrooms[i]) for i in indexes)
    ]
    visible = min(fits_from, limit)
    folded_rows = concat(html_table(columns, drawn[visible:], _NAMES), omitted_note(fits - limit, "budgets"))
    parts = [
        html_table(columns, drawn[:visible], _NAMES),
        omitted_note(fits_from - limit, "budgets that block or are slow"),
    ]
    key = element(
        "p", color_key("bar"), "needed", color_key("spare"), "to spare", color_key("lack"), "lacking", class_="key"
    )
    parts += [collapsible(pluralize(fits, "budget") + " in which all fits", folded_rows) if fits else Html("")]
    return html_lines([*parts, key if body else ""])


def evictions(view: DrainView) -> Html:
    parts = []
    listed = view.evictions[:MAX_PODS]
    for number, members in groupby(sorted(listed, key=lambda e: (e.round, e.position)), key=lambda e: e.round):
        round_evictions = list(members)
        nodes = len({eviction.node for eviction in round_evictions})
        columns, body = rows.evictions(round_evictions, view)
        columns = [*columns[:1], *columns[2:]]
        body = [[*row[:1], *row[2:]] for row in body]
        title = f"Round {number}: {pluralize(len(round_evictions), 'eviction')} on {pluralize(nodes, 'node')}"
        parts.append(collapsible(title, html_table(columns, body, _NAMES)))
    names_note = element("p", names_text, class_="soft") if (names_text := new_node_names(view)) else ""
    return html_lines([*parts, names_note, omitted_note(len(view.evictions) - len(listed), "evictions")])


def not_evicted_pods(view: DrainView) -> Html:
    pods = view.left[:MAX_PODS]
    pods_table = (
        collapsible(not_evicted_summary(view), html_table(*rows.not_evicted(pods, view), _NAMES)) if pods else ""
    )
    return html_lines([pods_table, omitted_note(len(view.left) - len(pods), "pods")])


def _headroom(status: BudgetStatus | None) -> Html:
    """A bar of the healthy pods, the needed pods and the expected pods of a budget."""
    if status is None:
        return element("div", "status unknown", class_="open")
    total = max(status.expected, status.current, status.desired, 1)
    healthy_needed = min(status.current, status.desired)
    parts = (
        ("room", 0, total),
        ("bar", 0, healthy_needed),
        ("lack", healthy_needed, status.desired),
        ("spare", status.desired, status.current),
    )
    label = f"{status.current} of {status.expected} healthy, {status.desired} needed"
    bars = (
        element(
            "rect",
            class_=kind,
            x=f"{100 * start / total:.1f}%",
            width=f"{100 * (end - start) / total:.1f}%",
            height="100%",
        )
        for kind, start, end in parts
        if end > start
    )
    return element("svg", element("title", label), *bars, class_="headroom", role="img")


# Findings as cards that open and close: message, subjects, and commands that one click selects.


MAX_CARDS = 200
"""Maximum cards in one section; the worst findings come first."""
_MAX_OPEN_CARDS = 8
_MAX_NODES = 8
_MAX_LINES = 8


def cards(groups: Sequence[FindingGroup], view: DrainView, expand: bool = True) -> Html:
    """At most `MAX_CARDS` of `groups`. With `expand`, the first card of each code is open, up to `_MAX_OPEN_CARDS`."""
    codes_seen: set[str] = set()
    parts = []
    for group in groups[:MAX_CARDS]:
        code = group.first.code.name
        parts.append(_card(group, view, expand and code not in codes_seen and len(codes_seen) < _MAX_OPEN_CARDS))
        codes_seen.add(code)
    return html_lines([*parts, omitted_note(len(groups) - MAX_CARDS, "like these")])


def _card(group: FindingGroup, view: DrainView, expanded: bool) -> Html:
    first, nodes = group.first, group.other_nodes
    symbol, tone = SYMBOLS[first.status]
    shown_nodes = (
        nodes if len(nodes) <= _MAX_NODES + 1 else [*nodes[:_MAX_NODES], f"and {len(nodes) - _MAX_NODES} more"]
    )
    summary = concat(
        element("span", f"{symbol} {first.code.name}", class_=f"code {TONES[tone]}"),
        " ",
        element("span", first.severity.value, class_="tag"),
        " ",
        group.about,
        *(concat(" ", element("span", node, class_="tag name")) for node in shown_nodes),
    )
    texts, uncounted = evidence_lines(group)
    rest = [f"and {uncounted} more"] if uncounted else []
    body = [
        *(element("p", message) for message in group.messages),
        element("p", "missing: ", element("b", first.missing)) if first.missing else "",
        _evidence_list("on", nodes if len(shown_nodes) < len(nodes) else []),
        _evidence_list("subjects", group.listed_names),
        _evidence_list("lines of evidence", [*texts, *rest]),
        *(remedy_block(*each) for each in by_when(merged_remedies(group, view))),
    ]
    return collapsible(summary, element("div", html_lines(body)), open_=expanded)


def _evidence_list(noun: str, texts: Sequence[str]) -> Html:
    """A list; its items beyond the first few are folded."""
    if not texts:
        return Html("")
    first = first_items(texts, _MAX_LINES)
    rest = texts[len(first) :]
    visible = element("ul", *(element("li", text) for text in first), class_="evidence")
    return concat(
        visible,
        collapsible(f"{len(rest)} more {noun}", element("ul", *(element("li", text) for text in rest))) if rest else "",
    )


# The section with differences from a saved plan.


_COMPARED = frozenset({"NODE", "BUDGET"})


def _comparison(plan_comparison: PlanComparison, view: DrainView) -> Html:
    """Every figure of the comparison. The list of changed findings is folded where it is long."""
    since, changes = plan_comparison.since, plan_comparison.since.changes
    counts = comparison.NO_DIFFERENCES if plan_comparison.is_equal else f"{screen.counts_text(since)}."
    figures = comparison.figures(plan_comparison, plan_comparison.figures)
    drawn = (figures, comparison.targets(plan_comparison.targets), comparison.budgets(plan_comparison.budgets))
    findings_list = element("ul", *(element("li", screen.change_text(each)) for each in changes[:MAX_CARDS]))
    title = f"{pluralize(len(changes), 'finding')} came, changed or went"
    folded_findings = collapsible(
        title, concat(findings_list, omitted_note(len(changes) - MAX_CARDS, "findings")), open_=len(changes) <= 12
    )
    return html_lines(
        [
            *(element("p", text) for text in (counts, *screen.remarks(since, view.tool_version))),
            *(
                element("div", each, class_="apart")
                for each in (html_table(*rows, _COMPARED) for rows in drawn)
                if each
            ),
            folded_findings if changes else "",
        ]
    )


# How new nodes join and old nodes leave, one node group at a time, with the methods compared.


_MAX_PODS, _MAX_NOT_EMPTIED = 200, 100
"""Maximum names that are listed."""


def after_drain(view: DrainView) -> Html:
    return html_lines(_handoff_group(handoff) for handoff in view.handoffs)


def _handoff_group(handoff: NodeGroupRollover) -> Html:
    names = list_names(handoff.kept, _MAX_NOT_EMPTIED, Appearance())
    inside = [element("p", f"Not in full: {names}") if names else ""]
    for title, handoff_steps in (("New nodes", handoff.arrive), ("Old nodes", handoff.leave)):
        for step in handoff_steps:
            step_text = element("p", element("b", f"{title}: "), step.text)
            inside.append(element("div", step_text, command_list(step.commands), class_="remedy"))
    beware = element("ul", *(element("li", f"{text}.") for text in handoff.beware)) if handoff.beware else ""
    inside.append(collapsible(f"{len(handoff.beware)} to beware of", beware))
    update = handoffs.group_update(handoff)
    if update is not None:
        inside += [element("h3", "The methods compared"), html_table(*handoffs.comparison(handoff.instead))]
        added = (
            f"Nodes added by {handoffs.METHOD_TITLES[step.way].lower()}: {step.surge_why}" for step in handoff.instead
        )
        inside += [element("p", text, class_="soft") for text in added]
        for text, pods in handoffs.pods_by_effect(update):
            names = element("ul", *(element("li", pod, class_="name") for pod in pods[:_MAX_PODS]))
            step_text = concat("The group's own update: ", text, f" {pluralize(len(pods), 'pod')}")
            inside.append(collapsible(step_text, names, omitted_note(len(pods) - _MAX_PODS, "pods")))
    return collapsible(handoffs.heading_text(handoff), element("div", html_lines(inside)))
