"""What comes of one order, whole: who is drained in which turn, what lands where, and the run of exactly that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from kubectl_eksdoc.core.plan.drain.duration.clock import Clock
from kubectl_eksdoc.core.plan.drain.duration.estimate import Course, Usual
from kubectl_eksdoc.core.plan.drain.landing.reserving import Ground, Landing
from kubectl_eksdoc.core.plan.drain.order.rounds import Order
from kubectl_eksdoc.core.plan.drain.order.tasks import Work
from kubectl_eksdoc.core.plan.drain.verdicts.judging import Judgement


@dataclass(frozen=True, slots=True)
class Tried:
    """One order that was tried: seconds until it is through, and how many nodes it could not drain."""

    name: str
    makespan_s: float
    not_drained: int


class Score(NamedTuple):
    """By which of two plans the smaller is better: nodes that are not drained, evictions that are not made, seconds,
    replacements that wait for new nodes, pods away at once."""

    not_drained: int
    evictions: int  # negated
    makespan_s: float
    waiting: int
    peak_away: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """The plan for one order, the verdicts after landing included. `name` is that of the order. `activation` is the
    order in which nodes are begun, `begun_s` when in the run that found their places; `usual` is the run of exactly
    this, None where it is not known. `ground` holds what is reserved. `cut`: the effort was used up before
    the search came to its end."""

    name: str
    judgement: Judgement
    work: Work
    order: Order
    activation: tuple[str, ...]
    begun_s: Mapping[str, float]
    landing: Landing
    clock: Clock
    usual: Usual | None
    tried: tuple[Tried, ...]
    ground: Ground
    cut: bool = False

    @property
    def course(self) -> Course:
        """What is to be timed."""
        waits = self.landing.waits
        evicted = {task.pod.uid for tasks in self.work.tasks.values() for task in tasks} if waits else set()
        return Course(
            order=self.order,
            activation=self.activation,
            work=self.work,
            needs=self.landing.needs,
            waiting={uid: node for uid, node in waits.items() if uid in evicted},
            usual=self.usual,
            tried=len(self.tried) if self.cut else 0,
            asked={} if self.landing.homeless else self.ground.asked,
            most_away={key: judged.most_away for key, judged in self.judgement.budgets.items()},
        )

    def score(self, targets: int) -> Score:
        """Of so many nodes that could be drained."""
        course, timeline = self.course, self.usual.timeline if self.usual is not None else None
        return Score(
            targets - len(self.activation),
            -self.work.evictions,
            inf if timeline is None or timeline.stuck else timeline.makespan_s,
            len(course.waiting),
            timeline.peak_away if timeline is not None else 0,
        )
