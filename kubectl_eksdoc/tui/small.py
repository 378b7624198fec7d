"""What is shown where the terminal is too small for a screen: it lies over all of them, and keys still work."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widgets import Static

LEAST = (60, 16)
"""Columns and rows that a page needs."""


def too_small(columns: int, rows: int) -> bool:
    return columns < LEAST[0] or rows < LEAST[1]


def lines(columns: int, rows: int, run: Sequence[str] = ()) -> list[str]:
    """As many as fit into `rows`. `run`: what must be seen of a run that is under way, and its keys."""
    told = [f"eksdoc needs {LEAST[0]}x{LEAST[1]} (now {columns}x{rows})", *run]
    told = told if run else [*told, "q quit"]
    spaced = [line for each in told for line in ("", each)]
    return spaced if len(spaced) <= rows else told[: max(rows, 1)]


class TooSmall(Static):
    """The message, over whatever screen it is mounted on."""
