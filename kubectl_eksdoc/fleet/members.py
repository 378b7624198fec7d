"""Checks the clusters of a fleet in parallel and sums up their outcomes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from kubectl_eksdoc.model.cluster import Identity, JudgedMember, Member, Outcome
from kubectl_eksdoc.model.findings import Severity

from .clusters import FleetPlan, summed

LOOK_S = 0.1
"""Interval at which a request to end is checked."""


class Members(Protocol):
    """Checks clusters, each isolated from all others; a failing cluster raises nothing."""

    def begin(self, member: Member) -> None:
        """Start the check of a cluster; returns at once."""
        ...

    def ended(self, wait_s: float) -> Sequence[tuple[Member, Outcome]]:
        """Return the checks that ended since the last call; wait at most `wait_s` for the first."""
        ...

    def close(self) -> None:
        """Abandon the running checks and everything started for them."""
        ...


Progress = Callable[[int, Sequence[str]], None]
"""Called with the number of finished checks, and the names of the running ones."""


def ask_fleet(
    members: Sequence[Member],
    asking: Members,
    at_once: int,
    told_to_end: Callable[[], object],
    progress: Progress,
    whose: Callable[[Member], Identity],
    least: Severity = Severity.INFO,
) -> FleetPlan:
    """Check all clusters in their order, at most `parallel` in parallel. `identity_of`: the identity of a cluster as
    far as it is known without a request; `min_severity`: findings of lower severity do not count.

    Raises:
        KeyboardInterrupt: the process was told to end; no check is running any more.
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
    """Add the identity to a failed check: the account matters most if its credentials are not accepted."""
    return outcome if isinstance(outcome, JudgedMember) else replace(outcome, who=whose(member))
