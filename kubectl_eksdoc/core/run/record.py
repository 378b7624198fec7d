"""What came of a drain that was tried in virtual time, and where it differs from what the plan said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.core.run.moments import ASKED, Happened, Moment


class Waiting(NamedTuple):
    """A pod without a node when it was over, and what the scheduler said."""

    pod: str
    why: str


@dataclass(frozen=True, slots=True)
class Record:
    """`undone` are nodes of the plan that were not emptied, each with the pods (ns/name) that were left of it.

    `pending` and `coming`: replacements that had no node at the end, or one and were not Ready. `ended_s` is when the
    last node was done, or nothing happened any more; `paused_s`: for so long of it somebody wanted nothing to be asked
    for.
    """

    plan: DrainPlan
    moments: tuple[Moment, ...]
    ended_s: float
    pending: tuple[Waiting, ...] = ()
    undone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    coming: tuple[Waiting, ...] = ()
    paused_s: float = 0.0

    @property
    def refusals(self) -> Counter[str]:
        """How often each cause was given."""
        return Counter(moment.why for moment in self.moments if moment.what is Happened.REFUSED)

    @property
    def re_evicted(self) -> tuple[str, ...]:
        """Pods whose replacement was evicted as well: by name, which only those keep that have one of their own."""
        evicted = Counter(moment.subject for moment in self.moments if moment.what in ASKED)
        return tuple(sorted(pod for pod, times in evicted.items() if times > 1))

    @property
    def late_s(self) -> float | None:
        """How much longer than the plan's usual run; negative: sooner. None where one of both has no end."""
        estimate = self.plan.estimate
        return None if estimate is None or self.undone else self.ended_s - estimate.usual_s
