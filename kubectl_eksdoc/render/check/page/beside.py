"""What became of findings since an earlier answer: what came first, what went below it."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.baseline.changes import Became, Since
from kubectl_eksdoc.render.html import Html, el, folded, put
from kubectl_eksdoc.render.since.screen import WORDS, counts, remarks, told

_OPEN = (Became.NEW, Became.CHANGED, Became.FIXED)
"""What somebody must see without a click."""


def beside(since: Since | None) -> Html:
    """Nothing where no earlier answer was given."""
    if since is None:
        return put()
    said = (el("p", remark, class_="note") for remark in remarks(since))
    return put(el("p", counts(since)), *said, *_each(since))


def _each(since: Since) -> Iterator[Html]:
    for became, word in WORDS.items():
        found = since.of(became)
        if found:
            listed = el("ul", *(el("li", told(change)) for change in found))
            yield folded(f"{word.capitalize()} ({len(found)})", listed, open_=became in _OPEN)
