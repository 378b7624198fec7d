"""Two answers to the same question: which options were given differently."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

BESIDE = frozenset({"since", "baseline"})
"""Options that ask for the comparison itself: of course only one of the answers has them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An option that was given differently, as JSON values; None where it was not given."""

    option: str
    before: object
    now: object


def asked_differently(
    before: Mapping[str, object], now: Mapping[str, object], beside: Collection[str] = BESIDE
) -> Iterator[Asked]:
    """What is off or empty is not given: another version may not write it at all."""
    for option in sorted((before.keys() | now.keys()) - set(beside)):
        if (before.get(option) or None) != (now.get(option) or None):
            yield Asked(option, before.get(option), now.get(option))
