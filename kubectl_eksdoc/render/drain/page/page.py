"""The page from its head to its foot: the answer first, then what blocks, then everything else."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.findings import Severity
from kubectl_eksdoc.core.plan.drain.outcome import TargetVerdict
from kubectl_eksdoc.core.plan.drain.result import NOT_JUDGED
from kubectl_eksdoc.render.drain import steps
from kubectl_eksdoc.render.drain.comparison import words
from kubectl_eksdoc.render.drain.course import course, ordered_by
from kubectl_eksdoc.render.drain.groups import grouped
from kubectl_eksdoc.render.drain.page import tables
from kubectl_eksdoc.render.drain.page.after import after
from kubectl_eksdoc.render.drain.page.comparison import compared
from kubectl_eksdoc.render.drain.page.findings import cards
from kubectl_eksdoc.render.drain.page.gantt import gantt
from kubectl_eksdoc.render.drain.page.headroom import over_time
from kubectl_eksdoc.render.drain.page.style import STYLE
from kubectl_eksdoc.render.drain.verdict import blocker_count, estimate_lines, verdict
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.html import BREAK, Html, command, el, folded, lines, put
from kubectl_eksdoc.render.html import page as whole_page
from kubectl_eksdoc.render.identity import UNKNOWN, named
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.render.times import rfc3339

_Section = tuple[str, str, str, Html]
"""Its anchor, its name in the list of sections, its title, its content."""


def page(view: DrainView, look: Look) -> str:
    """The plan as one HTML document; with `look.ascii` what is not ASCII is a character reference."""
    who = view.cluster.identity
    name = f"Drain plan for {who.cluster or who.context or 'an unknown cluster'}"
    sections = [section for section in _sections(view) if section[3]]
    links = (el("a", short, href=f"#{anchor}") for anchor, short, _, _ in sections)
    body = [
        el("header", el("h1", name), _origin(view), el("nav", put(*links, between=" "))),
        _verdict(view, look),
        *(el("section", el("h2", title), BREAK, inside, id=anchor) for anchor, _, title, inside in sections),
        el("footer", f"kubectl eksdoc {view.tool_version} · nothing was changed"),
    ]
    text = whole_page(name, STYLE, lines(body))
    return text.encode("ascii", "xmlcharrefreplace").decode() if look.ascii else str(text)


def _origin(view: DrainView) -> Html:
    who = view.cluster.identity
    words = (*named(who), ("server", who.server_version))
    parts = [put(f"{word} ", el("b", value or UNKNOWN)) for word, value in words]
    data = f"{view.cluster.source.value} data of {rfc3339(view.cluster.observed_at)}"
    return el("p", put(*parts, data, between=" · "), class_="origin")


def _verdict(view: DrainView, look: Look) -> Html:
    said = steps.answer(view, look, where="below")
    how = el("p", course(view)) if course(view) else ""
    return el("div", el("strong", said), el("span", verdict(view)), how, class_=f"verdict {_tone(view)}")


def _tone(view: DrainView) -> str:
    if any(target.verdict is TargetVerdict.DRAINS for target in view.targets):
        return "warn" if view.blockers or view.plan.unknowns else "good"
    return "bad" if view.blockers else "open"


def _sections(view: DrainView) -> Iterable[_Section]:
    blockers = grouped(view.blockers, view)
    if view.comparison is not None:
        yield "compared", "Compared", words.title(view.comparison, view), compared(view.comparison, view)
    yield "timeline", "Timeline", "Timeline of the usual run", lines([gantt(view), over_time(view), _estimate(view)])
    yield "blockers", "Blockers", f"Blockers ({blocker_count(blockers)})", cards(blockers, view)
    yield "next", "Next", "Next", _next(view)
    yield "targets", "Targets", f"Targets, {ordered_by(view)}", tables.drained(view)
    yield "skipped", "Not drained", "Targets that are not drained", tables.undrained(view)
    yield "budgets", "Budgets", "Budgets", tables.budgets(view)
    yield "unknown", "Unknown", "Unknown: what could not be judged is not taken as fine", _unknowns(view)
    yield "warnings", "Warnings", "Warnings: these stop nothing", _warnings(view)
    yield "evictions", "Evictions", "Evictions, by round", tables.evictions(view)
    yield "left", "Left", "Pods that are not evicted", tables.left(view)
    yield "unread", "Not read", "Not read", tables.unread(view)
    yield "notes", "Notes", "Notes", _list(view.cluster.notes)
    yield "not-judged", "Not judged", "Not judged by this plan", _list(NOT_JUDGED)
    yield "after", "After the drain", "After the drain: how new nodes come and old ones leave", after(view)


def _next(view: DrainView) -> Html:
    found = steps.steps(view)
    parts = [put(el("p", step.text + (":" if step.command else ".")), _command(step.command)) for step in found]
    return el("div", lines(parts), class_="card") if parts else Html("")


def _command(line: str) -> Html:
    return command(line) if line else Html("")


def _estimate(view: DrainView) -> Html:
    """What bounds the time and what would shorten it; folded, what it rests on."""
    said = estimate_lines(view)
    assumed = [line.removeprefix("- ") for line in said if line.startswith("- ")]
    told = said[: -len(assumed) - 1] if assumed else said
    return put(*(el("p", line) for line in told), folded("What the times assume", _list(assumed)))


def _unknowns(view: DrainView) -> Html:
    accepted = view.plan.policy.accept_unknown
    groups = grouped(view.unknowns, view)
    known = sorted({group.first.code.name for group in groups} & accepted)
    still = cards([group for group in groups if group.first.code.name not in accepted], view)
    return lines([still, el("p", f"Accepted by --accept-unknown: {', '.join(known)}.") if known else ""])


def _warnings(view: DrainView) -> Html:
    groups = grouped(view.warnings, view)
    notes = [group for group in groups if group.first.severity is Severity.INFO]
    said = [group for group in groups if group.first.severity is not Severity.INFO]
    return lines(
        [cards(said, view, opened=False), folded(counted(len(notes), "note"), cards(notes, view, opened=False))]
    )


def _list(texts: Iterable[str]) -> Html:
    items = [el("li", text) for text in texts]
    return el("ul", *items) if items else Html("")
