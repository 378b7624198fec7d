"""A run on a generated cluster in virtual time: the real engine, journal and clock, without a connection."""

from __future__ import annotations

from typing import NamedTuple

from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.loop import DrainRunEnd
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.embedded.loading import load_documents
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import KindRead, ReadState
from kubectl_eksdoc.simulator.control_plane import ControlPlaneLags
from kubectl_eksdoc.simulator.faults import InjectedFault
from tests.drain.fields import KeptJournal, StageField, a_drain
from tests.drains.drainers import LAGS, START
from tests.drains.shapes import OLD, Shape
from tests.drains.watched import Watched

TARGETS = Targeting(nodegroups=(OLD,))


class Run(NamedTuple):
    plan: DrainPlan
    ended: DrainRunEnd
    watched: Watched

    @property
    def refused(self) -> int:
        return sum(moment.what is DrainEventKind.REFUSED for moment in self.ended.record.moments)


class Staged(NamedTuple):
    stage: SimulatedStage
    watched: Watched
    cluster: Cluster
    plan: DrainPlan


def planned(shape: Shape, policy: DrainPolicy = DrainPolicy(), stops: tuple[tuple[str, float], ...] = ()) -> Staged:
    """Plan before any controller is at work."""
    reads = tuple(KindRead(resource, ReadState.READ) for resource in kinds.ALL)
    observed = Cluster(Identity("lab", "lab"), Source.SNAPSHOT, START, reads=reads)
    plane = load_documents(shape.docs(), START, seed=7).plane
    late_s = LAGS.disruptions_s - ControlPlaneLags().disruptions_s
    stage = SimulatedStage(plane, observed, [InjectedFault(extra_delay_s=lambda: late_s)])
    return Staged(stage, Watched(plane), *plan_drain(stage, TARGETS, policy, stop_times=lambda _: stops))


def run(shape: Shape, policy: DrainPolicy = DrainPolicy()) -> Run:
    """Carry out the run to its end."""
    return carried_out(shape, planned(shape, policy))


def carried_out(shape: Shape, staged: Staged) -> Run:
    """Carry out the run to its end; no node is added meanwhile, so that a plan that needs one has none."""
    stage, watched, cluster, plan = staged
    stage.start(shape)
    ended = a_drain(Engine(plan, ObservedState(cluster)), StageField(stage, KeptJournal())).run()
    watched.settled()
    return Run(plan, ended, watched)
