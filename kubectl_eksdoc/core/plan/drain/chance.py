"""Chance that is the same on every machine and at every time: it follows from a seed and a counter alone."""

from __future__ import annotations

from math import cos, log, pi, sin, sqrt

_WORD = (1 << 64) - 1
_HALF = (1 << 32) - 1
_TURN = 2.0 * pi


def chance(seed: int, i: int) -> float:
    """From 0 to 1, the same for the same numbers."""
    return _word(seed, i) / _WORD


def two_normals(seed: int, i: int) -> tuple[float, float]:
    """Two independent draws with mean 0 and standard deviation 1 (G. E. P. Box and M. E. Muller, 1958)."""
    word = _word(seed, i)
    far, angle = sqrt(-2.0 * log(((word >> 32) + 1) / (_HALF + 1))), _TURN * (word & _HALF) / (_HALF + 1)
    return far * cos(angle), far * sin(angle)


def _word(seed: int, i: int) -> int:
    """64 bits (SplitMix64, G. L. Steele et al., OOPSLA 2014)."""
    z = ((seed << 32) + (i + 1) * 0x9E3779B97F4A7C15) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)
