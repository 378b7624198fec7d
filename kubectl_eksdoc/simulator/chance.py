"""Random numbers that follow from a seed alone: the same on every machine, and in every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

SPLITMIX_STEP = 0x9E3779B97F4A7C15
MASK_64 = (1 << 64) - 1


def mix_bits(state: int) -> int:
    """64 bits from 64 bits, uniformly distributed (splitmix64, by S. Vigna: public domain)."""
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK_64
    state = (state ^ state >> 27) * 0x94D049BB133111EB & MASK_64
    return state ^ state >> 31


def text_fraction(seed: int, text: str) -> float:
    """In [0, 1), the same for the same text: selects a share of all texts, independent of which texts come in which
    order."""
    state = mix_bits((seed + 1) * SPLITMIX_STEP & MASK_64)
    for byte in text.encode():
        state = mix_bits(state + SPLITMIX_STEP + byte & MASK_64)
    return (state >> 11) / (1 << 53)


class RandomStream:
    """Mutable: each draw is the next of a sequence."""

    def __init__(self, seed: int = 0) -> None:
        self._state = mix_bits((seed + 1) * SPLITMIX_STEP & MASK_64)

    def next_fraction(self) -> float:
        """In [0, 1)."""
        self._state = self._state + SPLITMIX_STEP & MASK_64
        return (mix_bits(self._state) >> 11) / (1 << 53)

    def choose(self, items: Sequence[T]) -> T:
        """Raises IndexError if `items` is empty."""
        return items[int(self.next_fraction() * len(items))]
