"""The page from its head to its foot: the answer first, then what blocks, then everything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubectl_eksdoc.drain.outcome import TargetVerdict
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.render.drain import fence, steps
from kubectl_eksdoc.render.drain.comparison import words
from kubectl_eksdoc.render.drain.course import course, ordered_by
from kubectl_eksdoc.render.drain.groups import grouped
from kubectl_eksdoc.render.drain.page import tables
from kubectl_eksdoc.render.drain.page.after import after
from kubectl_eksdoc.render.drain.page.comparison import compared
from kubectl_eksdoc.render.drain.page.findings import cards
from kubectl_eksdoc.render.drain.page.timeline import timeline
from kubectl_eksdoc.render.drain.verdict import blocker_count, verdict
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.html import Html, command, el, folded, lines, put
from kubectl_eksdoc.render.identity import called
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.pages import STYLE, Section, framed, origin
from kubectl_eksdoc.render.text import counted


def page(view: DrainView, look: Look) -> str:
    """The plan as one HTML document."""
    name = f"Drain plan for {called(view.cluster)}"
    foot = f"kubectl eksdoc {view.tool_version} · nothing was changed"
    return framed(name, STYLE, origin(view.cluster), _verdict(view, look), _sections(view), foot, look)


def _verdict(view: DrainView, look: Look) -> Html:
    said = steps.answer(view, look, where="below")
    how = el("p", course(view)) if course(view) else ""
    return el("div", el("strong", said), el("span", verdict(view)), how, class_=f"verdict {_tone(view)}")


def _tone(view: DrainView) -> str:
    if any(target.verdict is TargetVerdict.DRAINS for target in view.targets):
        return "warn" if view.blockers or view.plan.unknowns else "good"
    return "bad" if view.blockers else "open"


def _sections(view: DrainView) -> Iterator[Section]:
    blockers = grouped(view.blockers, view)
    if view.comparison is not None:
        yield Section("compared", "Compared", words.title(view.comparison, view), compared(view.comparison, view))
    yield Section("timeline", "Timeline", "Timeline: bars p50, tails p95", timeline(view))
    yield Section("blockers", "Blockers", f"Blockers ({blocker_count(blockers)})", cards(blockers, view))
    yield Section("next", "Next", "Next", _next(view))
    yield Section("targets", "Targets", f"Targets, {ordered_by(view)}", tables.drained(view))
    yield Section(
        "skipped", "Not drained", f"Targets that are not drained{fence.not_drained(view)}", tables.undrained(view)
    )
    yield Section("budgets", "Budgets", "Budgets", tables.budgets(view))
    yield Section("unknown", "Unknown", "Unknown: what could not be judged is not taken as fine", _unknowns(view))
    yield Section("warnings", "Warnings", "Warnings: these stop nothing", _warnings(view))
    yield Section("evictions", "Evictions", "Evictions, by round", tables.evictions(view))
    yield Section("left", "Left", "Pods that are not evicted", tables.left(view))
    yield Section("unread", "Not read", "Not read", tables.unread(view))
    yield Section("notes", "Notes", "Notes", _list(view.cluster.notes))
    yield Section("not-judged", "Not judged", "Not judged by this plan", _list(view.plan.not_judged))
    yield Section("after", "After the drain", "After the drain: how new nodes come and old ones leave", after(view))


def _next(view: DrainView) -> Html:
    found = steps.steps(view)
    parts = [put(el("p", step.text + (":" if step.command else ".")), _command(step.command)) for step in found]
    return el("div", lines(parts), class_="card") if parts else Html("")


def _command(line: str) -> Html:
    return command(line) if line else Html("")


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
