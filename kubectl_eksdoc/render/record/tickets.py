"""The parts that the tickets of a run and of a rehearsal share."""

from __future__ import annotations

from kubectl_eksdoc.render import markdown
from kubectl_eksdoc.render.drain import timeline
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.markdown import escape, folded
from kubectl_eksdoc.render.record import rows, titles
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.render.tickets import CODE_WIDTH, table


def moments(view: RecordView, most: int) -> list[str]:
    """All that happened, folded."""
    happened = table(rows.moments(view.moments), "moments", most)
    return folded(f"{counted(len(view.moments), 'moment')}: all that happened", happened)


def chart(view: RecordView, look: Look) -> list[str]:
    """Its nodes as a Gantt."""
    lines = timeline.timeline(view, Look(width=CODE_WIDTH, ascii=look.ascii), whole=titles.WHOLE)
    said = titles.without_bar(view, look)
    return [*markdown.block(lines, "text"), *(["", escape(said)] if said else [])] if lines else []
