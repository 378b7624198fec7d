"""What became of findings in Markdown: counts, remarks, and the changes, those that are no news folded away."""

from __future__ import annotations

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.plan.since.changes import Became, Since
from kubectl_eksdoc.render import tickets
from kubectl_eksdoc.render.markdown import escape, folded
from kubectl_eksdoc.render.since import words

_NEWS = (Became.NEW, Became.CHANGED, Became.NOT_KNOWN)


def lines(since: Since | None, most: int, tool_version: str = __version__) -> list[str]:
    """Without the title; none without an earlier answer."""
    if since is None:
        return []
    said = [f"**{escape(words.counts(since))}**", "", *tickets.items(words.remarks(since, tool_version))]
    for became, word in words.WORDS.items():
        found = since.of(became)
        if not found:
            continue
        rest = tickets.more(len(found) - most, "findings")
        listed = [*tickets.items(map(words.told, found[:most])), *(["", *rest] if rest else [])]
        said += ["", *(listed if became in _NEWS else folded(f"{len(found)} {word}", listed))]
    return said
