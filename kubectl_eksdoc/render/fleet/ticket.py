"""``-o markdown``: a fleet for a ticket: the verdict, a row a cluster, why some were not judged, what many share."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model.fleet import Unanswered
from kubectl_eksdoc.core.plan.fleet.plan import FleetPlan
from kubectl_eksdoc.render import markdown, tickets
from kubectl_eksdoc.render.fleet import words
from kubectl_eksdoc.render.fleet.rows import clusters, lacking, shared
from kubectl_eksdoc.render.fleet.view import FleetView
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.markdown import code, escape
from kubectl_eksdoc.render.text import counted


def ticket(view: FleetView, look: Look) -> str:
    """Headings from the second level, so that it can stand below a title of its own; short enough for GitHub."""
    return tickets.fitting(lambda most: markdown.signed(list(_lines(view, most)), look))


def _lines(view: FleetView, most: int) -> Iterator[str]:
    plan = view.plan
    yield from (f"## {code(f'kubectl eksdoc {view.command}')} of {counted(len(plan.rows), 'cluster')}", "")
    yield from (f"**{escape(words.in_short(plan))}**", "")
    seen = f"oldest observation {escape(plan.observed_at)} · " if plan.observed_at else ""
    yield from (f"{seen}kubectl eksdoc {escape(view.tool_version)}", "")
    for title, body in _sections(plan, most):
        if body:
            yield from (f"### {escape(title)}", "", *body, "")


def _sections(plan: FleetPlan, most: int) -> Iterator[tuple[str, list[str]]]:
    yield "Clusters", tickets.table(clusters(plan, full=False), "clusters", most)
    yield (
        "Not judged",
        tickets.items(
            f"{row.member.name}: {row.outcome.reason} (exit code {row.outcome.exit_code})"
            for row in plan.rows
            if isinstance(row.outcome, Unanswered)
        ),
    )
    yield "Findings that clusters share", tickets.table(shared(plan, full=False), "findings", most)
    yield "Rights that are missing in several clusters", tickets.table(lacking(plan, full=False), "rights", most)
    yield "Notes", tickets.items(plan.notes)
