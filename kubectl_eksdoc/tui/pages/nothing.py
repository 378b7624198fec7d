"""What stands in the place of a plan where there is none: an empty frame could be read as "nothing is in the way"."""

from __future__ import annotations

from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.sheets.sheet import EMPTY, Sheet, text_sheet

_UNMARKED = text_sheet(("Nothing is marked, so nothing is planned: [1] and space mark nodes.",))
_PLANNING = text_sheet(("planning…",))


def no_plan(model: Model) -> Sheet:
    if model.stale:
        return _PLANNING
    return _UNMARKED if model.facts is not None and not model.choice.ask.marked else EMPTY
