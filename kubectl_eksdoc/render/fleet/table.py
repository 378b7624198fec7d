"""``-o table``: a row a cluster, the worst first, and what many of them share. ``-o wide``: all of it, nothing cut."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model.fleet import Unanswered
from kubectl_eksdoc.core.plan.fleet.plan import FleetPlan
from kubectl_eksdoc.render.fleet import words
from kubectl_eksdoc.render.fleet.rows import clusters, lacking, shared
from kubectl_eksdoc.render.fleet.view import FleetView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.sections import MARGIN, Drawn, Title, drawn, more, titled, told
from kubectl_eksdoc.render.tables import plain
from kubectl_eksdoc.render.text import shown, wrap

MOST_SHARED = 10


def table(view: FleetView, look: Look) -> str:
    """Every cluster has its row, however many there are."""
    return _text(view, look, full=False)


def wide(view: FleetView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: FleetView, look: Look, full: bool) -> str:
    plan = view.plan
    columns, rows = clusters(plan, full)
    sections = [
        [look.paint(line, Tone.TITLE) for line in wrap(shown(words.in_short(plan), look), look.columns)],
        titled(Title("Clusters"), plain(columns, rows, look, indent=len(MARGIN), fit=not full), look),
        list(_reasons(plan, look, full)),
        _most(Title("Findings", " that clusters share"), shared(plan, full), look, full),
        _most(Title("Rights", " that are missing in several clusters"), lacking(plan, full), look, full),
        told(Title("Notes"), plan.notes, look),
        wrap(f"One of them alone: kubectl eksdoc {view.command} {_alone(plan)}. For a program: -o json", look.columns),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _alone(plan: FleetPlan) -> str:
    return "--snapshot FILE" if all(row.member.snapshot for row in plan.rows) else "--context NAME"


def _most(title: Title, table: Drawn, look: Look, full: bool) -> list[str]:
    if full:
        return drawn(title, table, look, full)
    columns, rows = table
    lines = plain(columns, rows[:MOST_SHARED], look, indent=len(MARGIN))
    return titled(title, [*lines, *more(len(rows) - MOST_SHARED, look)], look)


def _reasons(plan: FleetPlan, look: Look, full: bool) -> Iterator[str]:
    """Why some could not be judged, whole: in a row of the table it is cut."""
    lines: list[str] = []
    for row in plan.rows:
        if isinstance(row.outcome, Unanswered):
            said = f"✗ {row.member.name}: {row.outcome.reason} (exit code {row.outcome.exit_code})"
            head = wrap(shown(said, look), look.columns, MARGIN, MARGIN * 2)
            lines += [look.paint(head[0], Tone.BAD), *head[1:]]
            if row.outcome.hint and full:
                lines += wrap(shown(f"→ {row.outcome.hint}", look), look.columns, MARGIN * 2, MARGIN * 3)
    yield from titled(Title("Not judged"), lines, look)
