"""Random numbers that follow from a seed alone: the same on every machine, and in every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

STEP = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def mixed(state: int) -> int:
    """64 bits from 64 bits, uniformly distributed (splitmix64, by S. Vigna: public domain)."""
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
    state = (state ^ state >> 27) * 0x94D049BB133111EB & MASK
    return state ^ state >> 31


def of_text(seed: int, text: str) -> float:
    """In [0, 1), the same for the same text: selects a share of all texts, independent of which texts come in which
    order."""
    state = mixed((seed + 1) * STEP & MASK)
    for byte in text.encode():
        state = mixed(state + STEP + byte & MASK)
    return (state >> 11) / (1 << 53)


class Chance:
    """Mutable: each draw is the next of a sequence."""

    def __init__(self, seed: int = 0) -> None:
        self._state = mixed((seed + 1) * STEP & MASK)

    def next(self) -> float:
        """In [0, 1)."""
        self._state = self._state + STEP & MASK
        return (mixed(self._state) >> 11) / (1 << 53)

    def one_of(self, items: Sequence[T]) -> T:
        """Raises IndexError if `items` is empty."""
        return items[int(self.next() * len(items))]
