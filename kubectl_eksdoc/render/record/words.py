"""What of a drain is said in the same words, whether it was run or rehearsed."""

from __future__ import annotations

from kubectl_eksdoc.core.run.moments import ASKED
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.text import counted, joined


def asked(view: RecordView) -> str:
    """``36 evictions and 1 restart``, "" where nothing was asked to go."""
    nouns = zip(ASKED, ("eviction", "restart", "deletion"), strict=True)
    return joined([counted(view.asked[what], noun) for what, noun in nouns if view.asked[what]])
