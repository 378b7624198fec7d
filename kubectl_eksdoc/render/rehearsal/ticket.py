"""``-o markdown``: the rehearsal for a ticket or a pull request, with what is long folded away."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.drain import timeline
from kubectl_eksdoc.render.drain.rows import Drawn, unread
from kubectl_eksdoc.render.identity import UNKNOWN, named
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.markdown import code, escape, folded
from kubectl_eksdoc.render.rehearsal import rows, titles, words
from kubectl_eksdoc.render.rehearsal.titles import Title
from kubectl_eksdoc.render.rehearsal.view import RehearsalView
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.render.times import rfc3339

_LONGEST = 65_536
"""What GitHub takes for an issue or a comment, in characters."""

_MOST_ROWS = (400, 200, 100, 50, 25, 10)
"""How many rows a table may have: the first number with which the ticket is not too long, else the last."""

_CODE_WIDTH = 80
"""Columns of a block of code that GitHub shows without a scroll bar."""

_NAMES = frozenset({"NODE", "POD", "SUBJECT", "KIND"})


def ticket(view: RehearsalView, look: Look) -> str:
    """Headings from the second level, so that it can stand below a title of its own; short enough for GitHub."""
    text = ""
    for most in _MOST_ROWS:
        text = _ticket(view, look, most)
        if len(text) <= _LONGEST:
            break
    return text


def _ticket(view: RehearsalView, look: Look, most: int) -> str:
    lines = [f"## Drain rehearsal for {_cluster(view)}", "", f"**{escape(words.verdict(view))}**", ""]
    for text in (words.new_nodes(view), words.plan_in_words(view)):
        lines += [escape(text), ""] if text else []
    lines += _origin(view)
    for title, body in _sections(view, look, most):
        if body:
            lines += ["", f"### {escape(title.heading)}", "", *body]
    happened = _table(rows.moments(view.moments), "moments", most)
    lines += ["", *folded(f"{counted(len(view.moments), 'moment')}: all that happened", happened)]
    return markdown.signed(lines, look).rstrip("\n") + "\n"


def _cluster(view: RehearsalView) -> str:
    who = view.cluster.identity
    return code(who.cluster or who.context) if who.cluster or who.context else "an unknown cluster"


def _origin(view: RehearsalView) -> list[str]:
    who = view.cluster.identity
    parts = [
        f"{word} {code(value) if value else UNKNOWN}" for word, value in (*named(who), ("server", who.server_version))
    ]
    source = f"{view.cluster.source.value} data of {rfc3339(view.cluster.observed_at)}"
    return [f"{' · '.join(parts)} · {source} · kubectl eksdoc {escape(view.tool_version)}"]


def _sections(view: RehearsalView, look: Look, most: int) -> Iterable[tuple[Title, list[str]]]:
    yield titles.NODES, _table(rows.nodes(view), "nodes", most)
    yield titles.TIMELINE, _timeline(view, look)
    yield titles.NOT_EMPTIED, _table(rows.not_emptied(view, most), "nodes", most)
    yield titles.FAULTS, _table(rows.faults(view), "faults", most)
    yield titles.REFUSALS, _table(rows.refusals(view), "causes", most)
    yield titles.PENDING, _table(rows.pending(view), "pods", most)
    yield titles.RE_EVICTED, _table(rows.re_evicted(view), "pods", most)
    yield titles.DIFFERENCES, _items(words.differences(view))
    yield titles.NOT_SHOWN, _items(words.NOT_SHOWN)
    missing = [read for read in view.cluster.reads if not read.known]
    yield titles.NOT_READ, _table(unread(missing), "kinds", most)
    yield titles.NOTES, _items(view.cluster.notes)


def _timeline(view: RehearsalView, look: Look) -> list[str]:
    lines = timeline.timeline(view, Look(width=_CODE_WIDTH, ascii=look.ascii), whole=titles.WHOLE)
    said = titles.without_bar(view, look)
    return [*markdown.block(lines, "text"), *(["", escape(said)] if said else [])] if lines else []


def _items(texts: Iterable[str]) -> list[str]:
    return [f"- {escape(text)}" for text in texts]


def _table(drawn: Drawn, what: str, most: int) -> list[str]:
    columns, body = drawn
    lines = markdown.table(columns, body[:most], _NAMES)
    more = len(body) - most
    return [*lines, "", f"… and {more} more {what}; all of them are in `-o json`."] if more > 0 else lines
