"""Parts of a line, and what becomes of them where there is too little room: the least important is shortened first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import cut, shown
from kubectl_eksdoc.tui.sheets.sheet import cells

_LEAST = 12
"""So much of a name is seen."""


@dataclass(frozen=True, slots=True)
class FittingText:
    """`steps`: what takes its place, one after the other, "" for nothing; those of a higher rank come first. One
    without steps stays. `badge`: it stands out by more than its colour, with a space on both sides."""

    text: str
    steps: tuple[tuple[int, str], ...] = ()
    tone: Tone | None = None
    badge: bool = False


def dropped(text: str, rank: int, tone: Tone | None = None) -> FittingText:
    """One that may be left out."""
    return FittingText(text, ((rank, ""),), tone)


def fitted(parts: Sequence[FittingText], room: int, gap: str, look: Look) -> tuple[FittingText, ...]:
    """As much of them as fits. If nothing can be left out any more, the longest is cut in its middle."""
    kept = [_shown(part, look) for part in parts if part.text]
    while (excess := _length(kept, gap) - room) > 0:
        able = [at for at, part in enumerate(kept) if part.steps]
        if not able:
            at = max(range(len(kept)), key=lambda each: cells(kept[each].text))
            text = cut(kept[at].text, max(cells(kept[at].text) - excess, _LEAST), look, middle=True)
            kept[at] = replace(kept[at], text=text)
            break
        at = max(able, key=lambda each: kept[each].steps[0][0])
        (_, text), *later = kept[at].steps
        kept[at : at + 1] = [replace(kept[at], text=text, steps=tuple(later))] if text else []
    return tuple(kept)


def _shown(part: FittingText, look: Look) -> FittingText:
    return replace(part, text=shown(part.text, look), steps=tuple((at, shown(text, look)) for at, text in part.steps))


def _length(parts: Sequence[FittingText], gap: str) -> int:
    return sum(cells(part.text) + 2 * part.badge for part in parts) + cells(gap) * (len(parts) - 1)
