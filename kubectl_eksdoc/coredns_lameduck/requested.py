"""What somebody wishes of CoreDNS, and how it is written."""

from __future__ import annotations

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.quantities import go_duration


@frozen
class AutoscalerRange:
    """The add-on's autoscaler keeps so many replicas."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least}:{self.most}"


@frozen
class Wishes:
    """None: it stays as it is. `on_demand`: CoreDNS is kept off Spot nodes."""

    lameduck_s: int | None = None
    on_demand: bool = False
    scale: AutoscalerRange | None = None

    def __bool__(self) -> bool:
        return self.lameduck_s is not None or self.on_demand or self.scale is not None


@frozen
class ChangeRefused:
    """Why it is not done, a clause, and what to do instead, a sentence. `missing`: the right without which it is not
    known whether it could be, "" where it is known."""

    why: str
    hint: str = ""
    missing: str = ""


LEAST_REPLICAS, MOST_REPLICAS = 2, 1000
"""The bounds of the add-on's schema (minReplicas, maxReplicas)."""


def lameduck_wished(text: str) -> int | ChangeRefused:
    """Seconds of a duration as CoreDNS reads it."""
    length = go_duration(text)
    if length is None:
        if text.isdigit():
            return ChangeRefused(f"{text} has no unit: CoreDNS would refuse it", f"Write {text}s.")
        return ChangeRefused(f"{text!r} is no duration that CoreDNS takes", "Write it as 20s.")
    seconds = length.total_seconds()
    if seconds < 0 or seconds != int(seconds):
        return ChangeRefused(f"{text} is no number of whole seconds", "Write it as 20s.")
    return int(seconds)


def scale_wished(text: str) -> AutoscalerRange | ChangeRefused:
    """Of ``MIN:MAX``."""
    low, colon, high = text.partition(":")
    if not colon or not (low.isascii() and high.isascii() and low.isdigit() and high.isdigit()):
        return ChangeRefused(f"{text!r} is not MIN:MAX", "Write it as 3:10.")
    found = AutoscalerRange(int(low), int(high))
    if found.least < LEAST_REPLICAS:
        return ChangeRefused(
            f"at least {LEAST_REPLICAS} replicas are needed: with {low}, DNS lookups fail while it is replaced"
        )
    if found.most > MOST_REPLICAS:
        return ChangeRefused(f"{high} replicas are more than the add-on takes, which is {MOST_REPLICAS}")
    if found.most < found.least:
        return ChangeRefused(f"the most replicas ({high}) are fewer than the least ({low})", "Write it as MIN:MAX.")
    return found
