"""Checks the clusters of a fleet in parallel and sums up their outcomes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from kubectl_eksdoc.model.cluster import FleetMember, Identity, JudgedMember, MemberOutcome
from kubectl_eksdoc.model.findings import Severity

from .clusters import FleetPlan, summarize

POLL_S = 0.1
"""Interval at which a request to end is checked."""


class MemberRunner(Protocol):
    """Checks clusters, each isolated from all others; a failing cluster raises nothing."""

    def start(self, member: FleetMember) -> None:
        """Start the check of a cluster; returns at once."""
        ...

    def finished(self, wait_s: float) -> Sequence[tuple[FleetMember, MemberOutcome]]:
        """Return the checks that ended since the last call; wait at most `wait_s` for the first."""
        ...

    def close(self) -> None:
        """Abandon the running checks and everything started for them."""
        ...


Progress = Callable[[int, Sequence[str]], None]
"""Called with the number of finished checks, and the names of the running ones."""


def check_fleet(
    members: Sequence[FleetMember],
    runner: MemberRunner,
    parallel: int,
    told_to_end: Callable[[], object],
    progress: Progress,
    identity_of: Callable[[FleetMember], Identity],
    min_severity: Severity = Severity.INFO,
) -> FleetPlan:
    """Check all clusters in their order, at most `parallel` in parallel. `identity_of`: the identity of a cluster as
    far as it is known without a request; `min_severity`: findings of lower severity do not count.

    Raises:
        KeyboardInterrupt: the process was told to end; no check is running any more.
    """
    waiting, running = deque(members), dict[str, FleetMember]()
    outcomes: list[tuple[FleetMember, MemberOutcome]] = []
    try:
        while waiting or running:
            if told_to_end():
                raise KeyboardInterrupt
            while waiting and len(running) < parallel:
                member = waiting.popleft()
                running[member.name] = member
                runner.start(member)
            progress(len(outcomes), tuple(running))
            for member, outcome in runner.finished(POLL_S):
                del running[member.name]
                outcomes.append((member, _with_identity(outcome, member, identity_of)))
    finally:
        runner.close()
    return summarize(outcomes, min_severity)


def _with_identity(
    outcome: MemberOutcome, member: FleetMember, identity_of: Callable[[FleetMember], Identity]
) -> MemberOutcome:
    """Add the identity to a failed check: the account matters most if its credentials are not accepted."""
    return outcome if isinstance(outcome, JudgedMember) else replace(outcome, who=identity_of(member))
