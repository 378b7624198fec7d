"""A drain of a simulated cluster, kept step by step as the run reports it: the events, and the state at that time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from kubectl_eksdoc.drain.duration.generations import learned_kubelet_times
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import DrainEvent
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.progress import RunProgress, run_progress
from kubectl_eksdoc.drain.run.remaining import RemainingTime
from kubectl_eksdoc.drain.run.result import PendingPod, Record
from kubectl_eksdoc.embedded.demo.reader import DEFAULT_NODEGROUP, DemoReader
from kubectl_eksdoc.embedded.stage import SimulatedStage, build_stage
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.options import ALL
from kubectl_eksdoc.objects.single import RawObjects

LOOK_S = 2.0
"""So often at least it is kept where it stands."""

LONGEST_S = 7200.0

BLUE = Targeting(nodegroups=(DEFAULT_NODEGROUP,))


@dataclass(frozen=True, slots=True)
class Step:
    """`moments`: the events since the step before."""

    at_s: float
    moments: tuple[DrainEvent, ...]
    standing: RunProgress


@dataclass(frozen=True, slots=True)
class Rehearsed:
    cluster: Cluster
    plan: DrainPlan
    steps: tuple[Step, ...]
    record: Record
    stopped: str = ""

    def upto(self, at_s: float) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.at_s <= at_s)


Meddle = Callable[[Engine, SimulatedStage, float], object]
"""What somebody does to the run, or to the cluster, before a step."""


def rehearsed(
    stage: SimulatedStage,
    targeting: Targeting = BLUE,
    policy: DrainPolicy = DrainPolicy(),
    meddle: Meddle = lambda engine, stage, now_s: None,
) -> Rehearsed:
    cluster, plan = plan_drain(stage, targeting, policy)
    stage.start(learned_kubelet_times(cluster))
    engine, course, steps = Engine(plan, ObservedState(cluster)), RemainingTime(plan), []
    while True:
        now_s = stage.seconds
        assert now_s < LONGEST_S, engine.not_drained
        meddle(engine, stage, now_s)
        _hear(engine, stage)
        while acts := engine.due_actions(now_s):
            for act in acts:
                engine.handle(stage.do(act), now_s)
            _hear(engine, stage)
        steps.append(Step(now_s, tuple(engine.new_events()), run_progress(engine, course, now_s)))
        if engine.is_finished or engine.is_settled(now_s):
            break
        stage.pass_time(min(engine.next_s(now_s), now_s + LOOK_S))
    pending = tuple(PendingPod(*each) for each in stage.pending())
    seen = {"drained_s": engine.drained_s, "placed": engine.placed, "cordoned_only": engine.cordoned_only}
    record = Record(plan, tuple(engine.events), stage.seconds, pending, engine.not_drained, **seen)  # type: ignore[arg-type]
    return Rehearsed(cluster, plan, tuple(steps), record, engine.stop_reason)


def _hear(engine: Engine, stage: SimulatedStage) -> None:
    for news in stage.updates():
        engine.handle(news, stage.seconds)


def demo_stage() -> SimulatedStage:
    raw = RawObjects()
    observed = DemoReader(raw).read(kinds.ALL)
    return build_stage(observed, raw)


@cache
def rehearsed_demo(at_once: int | None = None) -> Rehearsed:
    """The drain of the demo's default node group, undisturbed to its end; `at_once`: in waves of so many nodes."""
    waves = ((ALL, IntOrPercent(at_once)),) if at_once is not None else ()
    return rehearsed(demo_stage(), policy=DrainPolicy(max_unavailable=waves))
