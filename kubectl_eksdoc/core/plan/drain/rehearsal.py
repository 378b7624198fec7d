"""What came of a drain that was tried in virtual time, and where it differs from what the plan said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from kubectl_eksdoc.core.plan.drain.result import DrainPlan


class Happened(str, Enum):
    CORDONED = "cordoned"
    BEGUN = "begun"  # the node's first eviction may be asked for
    EVICTED = "evicted"
    REFUSED = "refused"
    GONE = "gone"  # the pod's object
    EMPTY = "empty"  # nothing that is evicted is on the node any more
    DONE = "done"  # the node is empty since some seconds
    JOINED = "joined"  # a new node in the place of one that is done, or before the drain
    MISSING = "missing"  # a new node that should have joined
    BEFALLEN = "befallen"  # a fault that was asked for


class Moment(NamedTuple):
    """`at_s` from the start of the drain; `subject` is a node, or a pod (ns/name), `node` the pod's. `why` of a
    refusal: the server's cause, or its message; of a fault what became of the subject."""

    at_s: float
    what: Happened
    subject: str
    node: str = ""
    why: str = ""


class Waiting(NamedTuple):
    """A pod without a node when it was over, and what the scheduler said."""

    pod: str
    why: str


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """`undone` are nodes of the plan that were not emptied, each with the pods (ns/name) that were left of it.

    `ended_s` is when the last node was done, or nothing happened any more.
    """

    plan: DrainPlan
    moments: tuple[Moment, ...]
    ended_s: float
    pending: tuple[Waiting, ...] = ()
    undone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def refusals(self) -> Counter[str]:
        """How often each cause was given."""
        return Counter(moment.why for moment in self.moments if moment.what is Happened.REFUSED)

    @property
    def re_evicted(self) -> tuple[str, ...]:
        """Pods whose replacement was evicted as well: by name, which only those keep that have one of their own."""
        evicted = Counter(moment.subject for moment in self.moments if moment.what is Happened.EVICTED)
        return tuple(sorted(pod for pod, times in evicted.items() if times > 1))

    @property
    def late_s(self) -> float | None:
        """How much longer than the plan's usual run; negative: sooner. None where one of both has no end."""
        estimate = self.plan.estimate
        return None if estimate is None or self.undone else self.ended_s - estimate.usual_s
