"""One time that is not the same in every run: a lognormal distribution, told by its median and 95th percentile."""

from __future__ import annotations

from math import exp, inf, log
from typing import NamedTuple

_Z95 = 1.6448536269514722
"""The 95th percentile of the normal distribution."""


class Time(NamedTuple):
    """Seconds: `usual_s` times e to the `spread` times a normal draw, at least `least_s` and at most `most_s`."""

    usual_s: float
    spread: float
    most_s: float = inf
    least_s: float = 0.0

    @classmethod
    def of(cls, usual_s: float, slow_s: float, most_s: float = inf, least_s: float = 0.0) -> Time:
        """What takes no time, or always the same, is not drawn."""
        return cls(usual_s, log(slow_s / usual_s) / _Z95 if slow_s > usual_s > 0 else 0.0, most_s, least_s)

    def drawn(self, normal: float) -> float:
        """For one draw of the normal distribution."""
        if not self.spread:
            return self.usual_s
        return max(self.least_s, min(self.usual_s * exp(self.spread * normal), self.most_s))

    @property
    def mean_s(self) -> float:
        """Of the distribution without its most."""
        return self.usual_s * exp(self.spread**2 / 2)

    @property
    def variance(self) -> float:
        """Likewise, in seconds squared."""
        return (exp(self.spread**2) - 1) * self.mean_s**2
