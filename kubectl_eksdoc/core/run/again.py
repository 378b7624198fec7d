"""What is to be made of a run whose process is started again by itself: it goes on where nobody decided otherwise.

What somebody asked for while nobody led it holds: who pauses or aborts a run whose pod has just died must not see it
evict again a moment later.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model.journal import DONE, TOLD_TO_END, Entries, Note, Noted, Phase, RunSummary
from kubectl_eksdoc.core.run.journal import Journaled

_HOLD = (Phase.PAUSED.value, Phase.ABORTED.value)


@dataclass(frozen=True, slots=True)
class GoOn:
    """`wanted`: what holds from its first moment on, ``paused``, ``aborted`` or "", and `who` wants it."""

    wanted: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class Over:
    """It has come to an end that somebody, or a guard, decided on: `why`. `whole`: there is nothing to go on with."""

    why: str
    whole: bool = False


def again(run: RunSummary, entries: Entries, stands: Journaled) -> GoOn | Over:
    """`stands`: what `entries` come to."""
    if stands.ended is not None and stands.ended != TOLD_TO_END:
        return Over(stands.ended, stands.ended == DONE)
    if run.wanted in _HOLD:
        return GoOn(run.wanted, run.wanted_by)
    if stands.aborted:
        last = _last(entries, Noted.ABORTED)
        told = last is not None and last.why == TOLD_TO_END
        return GoOn() if told else GoOn(Phase.ABORTED.value, last.subject if last is not None else "")
    if stands.paused:
        last = _last(entries, Noted.PAUSED)
        return GoOn(Phase.PAUSED.value, last.subject if last is not None else "")
    return GoOn()


def _last(entries: Entries, what: Noted) -> Note | None:
    notes = [each for each in entries.entries if isinstance(each, Note) and each.what is what]
    return max(notes, key=lambda note: note.number, default=None)
