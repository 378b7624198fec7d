"""Many clusters are asked, some at once, and their answers summed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from kubectl_eksdoc.model.cluster import Identity, JudgedMember, Member, Outcome
from kubectl_eksdoc.model.findings import Severity

from .clusters import FleetPlan, summed

LOOK_S = 0.1
"""So often it is looked whether somebody wants it to end."""


class Members(Protocol):
    """Asks clusters, each apart from all others; nothing is raised for one that cannot be."""

    def begin(self, member: Member) -> None:
        """Ask it; returns at once."""
        ...

    def ended(self, wait_s: float) -> Sequence[tuple[Member, Outcome]]:
        """Those that have answered, or will not, since this was asked last; waits so long for the first."""
        ...

    def close(self) -> None:
        """Those that are still asked are left alone, with all that was begun for it."""
        ...


Progress = Callable[[int, Sequence[str]], None]
"""Called with how many have ended, and the names of those that are being asked."""


def ask_fleet(
    members: Sequence[Member],
    asking: Members,
    at_once: int,
    told_to_end: Callable[[], object],
    progress: Progress,
    whose: Callable[[Member], Identity],
    least: Severity = Severity.INFO,
) -> FleetPlan:
    """All of them, at most `at_once` at a time, in their order. `whose`: which cluster one is, as far as that is known
    without asking; `least`: what is less severe does not count.

    Raises:
        KeyboardInterrupt: it was told to end; nobody is asked any more by then.
    """
    waiting, asked = deque(members), dict[str, Member]()
    found: list[tuple[Member, Outcome]] = []
    try:
        while waiting or asked:
            if told_to_end():
                raise KeyboardInterrupt
            while waiting and len(asked) < at_once:
                member = waiting.popleft()
                asked[member.name] = member
                asking.begin(member)
            progress(len(found), tuple(asked))
            for member, outcome in asking.ended(LOOK_S):
                del asked[member.name]
                found.append((member, _known(outcome, member, whose)))
    finally:
        asking.close()
    return summed(found, least)


def _known(outcome: Outcome, member: Member, whose: Callable[[Member], Identity]) -> Outcome:
    """Which account it is matters most where its credentials are not accepted."""
    return outcome if isinstance(outcome, JudgedMember) else replace(outcome, who=whose(member))
