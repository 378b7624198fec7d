"""``-o markdown``: what came of a run, for the ticket of the upgrade: estimate against actual, and the hand-off."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.drain import afterwards
from kubectl_eksdoc.render.drain.ticket import handed_off
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.markdown import block, code, escape
from kubectl_eksdoc.render.record import rows, titles
from kubectl_eksdoc.render.record.tickets import chart, moments
from kubectl_eksdoc.render.record.words import cordoned_only, placed
from kubectl_eksdoc.render.run import words
from kubectl_eksdoc.render.run.table import AGAINST, NEXT
from kubectl_eksdoc.render.run.view import Outcome, RunView
from kubectl_eksdoc.render.tickets import cluster, fitting, items, origin, table
from kubectl_eksdoc.render.times import rfc3339


def ticket(view: RunView, look: Look) -> str:
    """Headings from the second level, so that it can stand below a title of its own; short enough for GitHub."""
    return fitting(lambda most: _ticket(view, look, most))


def _ticket(view: RunView, look: Look, most: int) -> str:
    record = view.record
    by = f"run {code(view.run)} · by {escape(view.who)} on {escape(view.host)}"
    lines = [
        f"## Drain of {cluster(record.cluster)}",
        "",
        f"**{escape(words.verdict(view))}**",
        "",
        f"{by} · {rfc3339(view.begun_at)} to {rfc3339(view.ended_at)}",
        "",
        origin(record.cluster, record.tool_version),
    ]
    for heading, body in _sections(view, look, most):
        if body:
            lines += ["", f"### {escape(heading)}", "", *body]
    lines += ["", *moments(record, most)]
    return markdown.signed(lines, look).rstrip("\n") + "\n"


def _sections(view: RunView, look: Look, most: int) -> Iterator[tuple[str, list[str]]]:
    record = view.record
    yield AGAINST.heading, items(words.against_plan(view))
    yield titles.NODES.heading, table(rows.nodes(record), "nodes", most)
    yield titles.TIMELINE.heading, chart(record, look)
    yield titles.NOT_EMPTIED.heading, table(rows.not_emptied(record, most), "nodes", most)
    yield (
        "Placements",
        [
            *items(each for each in (placed(record), cordoned_only(record)) if each),
            "",
            *table(rows.placements(record), "nodes", most),
        ],
    )
    yield titles.REFUSALS.heading, table(rows.refusals(record), "causes", most)
    yield titles.PENDING.heading, table(rows.pending(record), "pods", most)
    handoffs = record.planned.handoffs[:most] if view.outcome is Outcome.DONE else ()
    handed = [line for each in handoffs for line in handed_off(each, most)]
    yield afterwards.TITLE.capitalize(), handed
    yield NEXT.heading, [line for step in view.steps for line in [f"{escape(step.text)}:", *block([step.command]), ""]]
