"""The drain plan as one self-contained HTML page (``-o html``), for a browser or for printing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from kubectl_eksdoc.baseline import report as screen
from kubectl_eksdoc.model.budgets import BudgetStatus
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.report.identity import called
from kubectl_eksdoc.report.pages import (
    STYLE,
    TONES,
    Html,
    Section,
    advice,
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
from kubectl_eksdoc.report.report import SIGNS
from kubectl_eksdoc.report.text import Column, Drawn, Look, counted, few, listing

from ..outcome import BudgetVerdict, TargetVerdict
from ..plan_changes import Comparison
from ..rollover_offers import HandOff
from . import comparison, handoffs, rows
from . import verdict as steps
from .findings import (
    Group,
    by_when,
    evidence,
    grouped,
    unknown_of,
    unread,
)
from .plan import DrainView, status_of
from .timeline import colour, over_the_drain
from .verdict import (
    blocker_count,
    course,
    left_by_verdict,
    new_names,
    ordered_by,
    verdict,
)


def page(view: DrainView, look: Look) -> str:
    """The plan as one HTML document."""
    name = f"Drain plan for {called(view.cluster)}"
    foot = f"kubectl eksdoc {view.tool_version} · nothing was changed"
    tone = "bad" if view.blockers else "open"
    if any(target.verdict is TargetVerdict.DRAINS for target in view.targets):
        tone = "warn" if view.blockers or view.plan.unknowns else "good"
    how = el("p", said) if (said := course(view)) else ""
    answer = el("strong", steps.answer(view, look, where="below"))
    first = el("div", answer, el("span", verdict(view)), how, class_=f"verdict {tone}")
    return framed(name, STYLE, origin(view.cluster), first, _sections(view), foot, look)


def _sections(view: DrainView) -> Iterator[Section]:
    blockers = grouped(view.blockers, view)
    if view.comparison is not None:
        title = screen.title(view.comparison.since, view.cluster.observed_at)
        yield Section("compared", "Compared", title, _compared(view.comparison, view))
    yield Section("timeline", "Timeline", "Timeline: bars p50, tails p95", over_the_drain(view))
    yield Section("blockers", "Blockers", f"Blockers ({blocker_count(blockers)})", cards(blockers, view))
    next_steps = [
        put(el("p", text + (":" if line else ".")), command(line) if line else "") for text, line in steps.steps(view)
    ]
    yield Section("next", "Next", "Next", el("div", lines(next_steps), class_="card") if next_steps else Html(""))
    yield Section("targets", "Targets", f"Targets, {ordered_by(view)}", _long(rows.drained(view)))
    not_drained = f"Targets that are not drained{steps.not_drained(view)}"
    yield Section("skipped", "Not drained", not_drained, _long(rows.undrained(view), MOST_UNDRAINED))
    yield Section("budgets", "Budgets", "Budgets", budgets(view))
    still, known = unknown_of(view)
    accepted = el("p", f"Accepted by --accept-unknown: {', '.join(known)}.") if known else ""
    open_ = lines([cards(still, view), accepted])
    yield Section("unknown", "Unknown", "Unknown: what could not be judged is not taken as fine", open_)
    said: list[Group] = []
    notes: list[Group] = []
    for group in grouped(view.warnings, view):
        (notes if group.first.severity is Severity.INFO else said).append(group)
    folds = folded(counted(len(notes), "note"), cards(notes, view, opened=False))
    yield Section(
        "warnings", "Warnings", "Warnings: these stop nothing", lines([cards(said, view, opened=False), folds])
    )
    yield Section("evictions", "Evictions", "Evictions, by round", evictions(view))
    yield Section("left", "Left", "Pods that are not evicted", left(view))
    yield Section("unread", "Not read", "Not read", table(*rows.unread(view.unread), _NAMES))
    yield Section("notes", "Notes", "Notes", _points(view.cluster.notes))
    yield Section("not-judged", "Not judged", "Not judged by this plan", _points(view.plan.not_judged))
    yield Section("after", "After the drain", "After the drain: how new nodes come and old ones leave", after(view))


def _points(texts: Iterable[str]) -> Html:
    items = [el("li", text) for text in texts]
    return el("ul", *items) if items else Html("")


# Tables of the page: targets, budgets with their headroom as bars, evictions by round, pods that are not evicted.


_NAMES = frozenset({"NODE", "BUDGET", "POD", "SCHEDULED ON", "KIND"})

MOST_PODS = 1000
"""Maximum rows of pods on the page; further pods are only counted."""

MOST_UNDRAINED = 1000
"""Maximum rows of nodes that are not drained."""

_MOST_OPEN = 300
"""Maximum rows of a table that are visible at first; further rows are folded."""

MOST_BUDGETS = 100
"""Maximum rows of budgets that block or are slow, and also of budgets that fit."""


def _long(drawn: Drawn, most: int = 1 << 20) -> Html:
    """A table whose rows beyond `_MAX_OPEN_ROWS` are folded, because a browser needs long to lay them out."""
    columns, body = drawn
    rest = body[_MOST_OPEN:most]
    hidden = folded(f"{counted(len(rest), 'node')} more", table(columns, rest, _NAMES)) if rest else ""
    return put(table(columns, body[:_MOST_OPEN], _NAMES), hidden, more(len(body) - most, "nodes"))


def budgets(view: DrainView, most: int = MOST_BUDGETS) -> Html:
    """The table of budgets: at most `limit` that block or are slow, worst first, and at most `limit` that fit, folded.

    The reason why a budget blocks is shown among the blockers.
    """
    order = rows.budget_order(view, full=True)
    fits = sum(h.verdict is BudgetVerdict.FITS for h in order)
    columns, body = rows.budgets(view, full=True)
    at = len(body) - fits
    verdict = next(i for i, column in enumerate(columns) if column.title == "VERDICT")
    columns = [columns[0], columns[verdict], Column("RULE AND HEADROOM"), *columns[2:verdict], columns[verdict + 1]]
    kept = [*range(at)][:most] + [*range(at, len(body))][:most]
    drawn = [
        [row[0], row[verdict], put(str(row[1]), _headroom(status_of(h.budget))), *row[2:verdict], row[verdict + 1]]
        for row, h in ((body[i], order[i]) for i in kept)
    ]
    told = min(at, most)
    hidden = put(table(columns, drawn[told:], _NAMES), more(fits - most, "budgets"))
    shown = [table(columns, drawn[:told], _NAMES), more(at - most, "budgets that block or are slow")]
    key = el("p", colour("bar"), "needed", colour("spare"), "to spare", colour("lack"), "lacking", class_="key")
    shown += [folded(counted(fits, "budget") + " in which all fits", hidden) if fits else Html("")]
    return lines([*shown, key if body else ""])


def evictions(view: DrainView) -> Html:
    parts = []
    kept = view.evictions[:MOST_PODS]
    for number, members in groupby(sorted(kept, key=lambda e: (e.round, e.position)), key=lambda e: e.round):
        found = list(members)
        nodes = len({eviction.node for eviction in found})
        columns, body = rows.evictions(found, view)
        columns = [*columns[:1], *columns[2:]]
        body = [[*row[:1], *row[2:]] for row in body]
        title = f"Round {number}: {counted(len(found), 'eviction')} on {counted(nodes, 'node')}"
        parts.append(folded(title, table(columns, body, _NAMES)))
    meant = el("p", said, class_="soft") if (said := new_names(view)) else ""
    return lines([*parts, meant, more(len(view.evictions) - len(kept), "evictions")])


def left(view: DrainView) -> Html:
    kept = view.left[:MOST_PODS]
    shown = folded(left_by_verdict(view), table(*rows.left(kept, view), _NAMES)) if kept else ""
    return lines([shown, more(len(view.left) - len(kept), "pods")])


def _headroom(status: BudgetStatus | None) -> Html:
    """A bar of the healthy pods, the needed pods and the expected pods of a budget."""
    if status is None:
        return el("div", "status unknown", class_="open")
    whole = max(status.expected, status.current, status.desired, 1)
    met = min(status.current, status.desired)
    parts = (
        ("room", 0, whole),
        ("bar", 0, met),
        ("lack", met, status.desired),
        ("spare", status.desired, status.current),
    )
    said = f"{status.current} of {status.expected} healthy, {status.desired} needed"
    bars = (
        el("rect", class_=kind, x=f"{100 * x / whole:.1f}%", width=f"{100 * (to - x) / whole:.1f}%", height="100%")
        for kind, x, to in parts
        if to > x
    )
    return el("svg", el("title", said), *bars, class_="headroom", role="img")


# Findings as cards that open and close: message, subjects, and commands that one click selects.


MOST_CARDS = 200
"""Maximum cards in one section; the worst findings come first."""
_MOST_CARDS_OPEN = 8
_MOST_NODES = 8
_MOST_LINES = 8


def cards(groups: Sequence[Group], view: DrainView, opened: bool = True) -> Html:
    """At most `MAX_CARDS` of `groups`. With `expand`, the first card of each code is open, up to `_MAX_OPEN_CARDS`."""
    seen: set[str] = set()
    parts = []
    for group in groups[:MOST_CARDS]:
        code = group.first.code.name
        parts.append(_card(group, view, opened and code not in seen and len(seen) < _MOST_CARDS_OPEN))
        seen.add(code)
    return lines([*parts, more(len(groups) - MOST_CARDS, "like these")])


def _card(group: Group, view: DrainView, open_: bool) -> Html:
    first, nodes = group.first, group.elsewhere
    sign, tone = SIGNS[first.status]
    shown = nodes if len(nodes) <= _MOST_NODES + 1 else [*nodes[:_MOST_NODES], f"and {len(nodes) - _MOST_NODES} more"]
    summary = put(
        el("span", f"{sign} {first.code.name}", class_=f"code {TONES[tone]}"),
        " ",
        el("span", first.severity.value, class_="tag"),
        " ",
        group.about,
        *(put(" ", el("span", node, class_="tag name")) for node in shown),
    )
    told, uncounted = evidence(group)
    rest = [f"and {uncounted} more"] if uncounted else []
    inside = [
        *(el("p", message) for message in group.messages),
        el("p", "missing: ", el("b", first.missing)) if first.missing else "",
        _list("on", nodes if len(shown) < len(nodes) else []),
        _list("subjects", group.listed),
        _list("lines of evidence", [*told, *rest]),
        *(advice(*each) for each in by_when(unread(group, view))),
    ]
    return folded(summary, el("div", lines(inside)), open_=open_)


def _list(what: str, texts: Sequence[str]) -> Html:
    """A list; its items beyond the first few are folded."""
    if not texts:
        return Html("")
    kept = few(texts, _MOST_LINES)
    rest = texts[len(kept) :]
    shown = el("ul", *(el("li", text) for text in kept), class_="evidence")
    return put(shown, folded(f"{len(rest)} more {what}", el("ul", *(el("li", text) for text in rest))) if rest else "")


# The section with differences from a saved plan.


_COMPARED = frozenset({"NODE", "BUDGET"})


def _compared(found: Comparison, view: DrainView) -> Html:
    """Every figure of the comparison. The list of changed findings is folded where it is long."""
    since, changes = found.since, found.since.changes
    counts = comparison.NOTHING if found.nothing_differs else f"{screen.counts(since)}."
    figures = comparison.figures(found, found.figures)
    drawn = (figures, comparison.targets(found.targets), comparison.budgets(found.budgets))
    told = el("ul", *(el("li", screen.told(each)) for each in changes[:MOST_CARDS]))
    title = f"{counted(len(changes), 'finding')} came, changed or went"
    folds = folded(title, put(told, more(len(changes) - MOST_CARDS, "findings")), open_=len(changes) <= 12)
    return lines(
        [
            *(el("p", text) for text in (counts, *screen.remarks(since, view.tool_version))),
            *(el("div", each, class_="apart") for each in (table(*rows, _COMPARED) for rows in drawn) if each),
            folds if changes else "",
        ]
    )


# How new nodes join and old nodes leave, one node group at a time, with the methods compared.


_MOST_PODS, _MOST_KEPT = 200, 100
"""Maximum names that are listed."""


def after(view: DrainView) -> Html:
    return lines(_group(handoff) for handoff in view.handoffs)


def _group(handoff: HandOff) -> Html:
    names = listing(handoff.kept, _MOST_KEPT, Look())
    inside = [el("p", f"Not in full: {names}") if names else ""]
    for title, every in (("New nodes", handoff.arrive), ("Old nodes", handoff.leave)):
        for each in every:
            said = el("p", el("b", f"{title}: "), each.text)
            inside.append(el("div", said, command_list(each.commands), class_="remedy"))
    beware = el("ul", *(el("li", f"{text}.") for text in handoff.beware)) if handoff.beware else ""
    inside.append(folded(f"{len(handoff.beware)} to beware of", beware))
    update = handoffs.update_of(handoff)
    if update is not None:
        inside += [el("h3", "The methods compared"), table(*handoffs.comparison(handoff.instead))]
        added = (f"Nodes added by {handoffs.WAYS[each.way].lower()}: {each.surge_why}" for each in handoff.instead)
        inside += [el("p", text, class_="soft") for text in added]
        for text, pods in handoffs.pods_of(update):
            names = el("ul", *(el("li", pod, class_="name") for pod in pods[:_MOST_PODS]))
            said = put("The group's own update: ", text, f" {counted(len(pods), 'pod')}")
            inside.append(folded(said, names, more(len(pods) - _MOST_PODS, "pods")))
    return folded(handoffs.head(handoff), el("div", lines(inside)))
