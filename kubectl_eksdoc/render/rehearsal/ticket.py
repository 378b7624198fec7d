"""``-o markdown``: the rehearsal for a ticket or a pull request, with what is long folded away."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.drain.rows import unread
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.markdown import escape
from kubectl_eksdoc.render.record import rows, titles
from kubectl_eksdoc.render.record.tickets import chart, moments
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.record.words import cordoned_only, placed
from kubectl_eksdoc.render.rehearsal import words
from kubectl_eksdoc.render.sections import Title
from kubectl_eksdoc.render.tickets import cluster, fitting, items, origin, table


def ticket(view: RecordView, look: Look) -> str:
    """Headings from the second level, so that it can stand below a title of its own; short enough for GitHub."""
    return fitting(lambda most: _ticket(view, look, most))


def _ticket(view: RecordView, look: Look, most: int) -> str:
    lines = [f"## Drain rehearsal for {cluster(view.cluster)}", "", f"**{escape(words.verdict(view))}**", ""]
    for text in (words.new_nodes(view), placed(view), cordoned_only(view), words.plan_in_words(view)):
        lines += [escape(text), ""] if text else []
    lines.append(origin(view.cluster, view.tool_version))
    for title, body in _sections(view, look, most):
        if body:
            lines += ["", f"### {escape(title.heading)}", "", *body]
    lines += ["", *moments(view, most)]
    return markdown.signed(lines, look).rstrip("\n") + "\n"


def _sections(view: RecordView, look: Look, most: int) -> Iterable[tuple[Title, list[str]]]:
    yield titles.NODES, table(rows.nodes(view), "nodes", most)
    yield titles.TIMELINE, chart(view, look)
    yield titles.NOT_EMPTIED, table(rows.not_emptied(view, most), "nodes", most)
    yield titles.PLACEMENTS, table(rows.placements(view), "nodes", most)
    yield titles.FAULTS, table(rows.faults(view), "faults", most)
    yield titles.REFUSALS, table(rows.refusals(view), "causes", most)
    yield titles.PENDING, table(rows.pending(view), "pods", most)
    yield titles.RE_EVICTED, table(rows.re_evicted(view), "pods", most)
    yield titles.DIFFERENCES, items(words.differences(view))
    yield titles.NOT_SHOWN, items(words.NOT_SHOWN)
    missing = [read for read in view.cluster.reads if not read.known]
    yield titles.NOT_READ, table(unread(missing), "kinds", most)
    yield titles.NOTES, items(view.cluster.notes)
