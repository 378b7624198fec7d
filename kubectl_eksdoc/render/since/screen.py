"""What became of findings on a screen: a line of counts, the new ones first, and what was fixed."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.model.findings import Status
from kubectl_eksdoc.core.plan.since.changes import Became, FindingSince, Since
from kubectl_eksdoc.render.findings import SIGNS
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.sections import MARGIN, Title, more, titled
from kubectl_eksdoc.render.since import words
from kubectl_eksdoc.render.text import shown, wrap

MOST = 6
"""Findings of one kind of change that a page shows."""

_DOWN = {
    Became.FIXED: ("✓", Tone.GOOD),
    Became.KNOWN: ("✓", Tone.GOOD),
    Became.SUPPRESSED: ("⊘", Tone.FAINT),
    Became.NOT_JUDGED: ("?", Tone.UNKNOWN),
    Became.NOT_KNOWN: ("?", Tone.UNKNOWN),
}


def section(
    since: Since | None, observed: datetime, look: Look, full: bool, tool_version: str = __version__
) -> list[str]:
    """None without an earlier answer. `observed`: when this one was made of the cluster."""
    if since is None:
        return []
    lines = wrap(shown(f"{words.counts(since)}.", look), look.columns, MARGIN)
    for text in words.remarks(since, tool_version):
        lines += wrap(shown(text, look), look.columns, MARGIN)
    for became in Became:
        found = since.of(became)
        kept = found if full or len(found) <= MOST + 1 else found[:MOST]
        lines += [line for each in kept for line in _change(each, look)]
        lines += more(len(found) - len(kept), look)
    head, _, rest = words.title(since, observed).partition(" ")
    return titled(Title(head, f" {rest}"), lines, look)


def _change(change: FindingSince, look: Look) -> list[str]:
    sign, tone = _DOWN.get(change.became) or SIGNS[change.either.status]
    if change.became is Became.CHANGED and change.either.status is not Status.UNKNOWN and change.worse is False:
        tone = Tone.WARN
    lines = wrap(shown(f"{sign} {words.told(change)}", look), look.columns, MARGIN, MARGIN * 2)
    return [look.paint(lines[0], tone), *lines[1:]]
