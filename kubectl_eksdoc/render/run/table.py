"""``-o table``: what came of a run, on a screen below its events. ``-o wide``: the same, and how old nodes leave."""

from __future__ import annotations

from kubectl_eksdoc.render.drain import afterwards
from kubectl_eksdoc.render.drain.blocks import command_line
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.record import rows, titles
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.record.words import cordoned_only, placed
from kubectl_eksdoc.render.run import words
from kubectl_eksdoc.render.run.view import Outcome, RunView
from kubectl_eksdoc.render.sections import MARGIN, Title, drawn, titled, told
from kubectl_eksdoc.render.text import shown, wrap

AGAINST = Title("Against the plan")
NEXT = Title("Next")


def table(view: RunView, look: Look, full: bool = False) -> str:
    record = view.record
    head = [look.paint(text, Tone.TITLE) for text in wrap(shown(words.verdict(view), look), look.columns)]
    sections = [
        head,
        drawn(titles.NODES, rows.nodes(record), look, full),
        drawn(titles.NOT_EMPTIED, rows.not_emptied(record), look, full),
        _placed(record, look),
        drawn(titles.PLACEMENTS, rows.placements(record), look, full) if full else [],
        drawn(titles.REFUSALS, rows.refusals(record), look, full),
        drawn(titles.PENDING, rows.pending(record), look, full),
        told(AGAINST, words.against_plan(view), look),
        _after(view, look, full),
        _next(view, look),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _placed(record: RecordView, look: Look) -> list[str]:
    said = [text for text in (placed(record), cordoned_only(record)) if text]
    return [line for text in said for line in wrap(shown(text, look), look.columns)]


def _after(view: RunView, look: Look, full: bool) -> list[str]:
    """Only of a drain that was done: the plan's words are about that."""
    if view.outcome is not Outcome.DONE:
        return []
    planned = view.record.planned
    lines = afterwards.afterwards(planned, look) if full else afterwards.briefly(planned, look)
    title = afterwards.TITLE if full else afterwards.BRIEFLY
    return [look.paint(shown(title, look), Tone.TITLE), *lines] if lines else []


def _next(view: RunView, look: Look) -> list[str]:
    lines: list[str] = []
    for step in view.steps:
        lines += wrap(shown(f"- {step.text}:", look), look.columns, MARGIN, MARGIN * 2)
        lines.append(command_line(step.command, look))
    return titled(NEXT, lines, look)
