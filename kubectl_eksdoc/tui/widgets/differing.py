"""Which part of a line is new: the colours of the rest need not be sent once more."""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip


def where_it_differs(before: Strip | None, now: Strip) -> tuple[int, int]:
    """From which column of the terminal to which (exclusive) two lines look otherwise; the same twice where they do
    not. Where it is not worth to look closely it is the whole line."""
    length = now.cell_length
    if before is None or before.cell_length != length:
        return 0, length
    if before == now:
        return 0, 0
    old, new = _cells(before), _cells(now)
    if len(old) != length or len(new) != length:  # a sign is wider than one column
        return 0, length
    start = next((at for at in range(length) if old[at] != new[at]), length)
    end = next((at for at in range(length, start, -1) if old[at - 1] != new[at - 1]), start)
    return start, end


def _cells(strip: Strip) -> list[tuple[str, Style | None]]:
    return [(sign, segment.style) for segment in strip for sign in segment.text]
