"""Drain rehearsal in virtual time: the plan is made from the simulated cluster, and executed on it, eviction by
eviction.

It works like a careful run: all targets are cordoned first, a node is started when the nodes it needs have joined and
its wave has come, a pod is evicted when its budget allows it, and refused evictions wait. Hooks are not run: the
systems that they check do not exist here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from kubectl_eksdoc.drain.duration.generations import NEW_NODE_S, EvictionTimes, PlannedPace, Time
from kubectl_eksdoc.drain.new_nodes import surged
from kubectl_eksdoc.drain.nodes import survey
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import Stops, no_stops, plan_drain
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import Happened, RunMoment
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.other_drains import Replanning
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.result import PendingPod, Record
from kubectl_eksdoc.model.actions import Hook
from kubectl_eksdoc.model.cluster import Cluster, Identity
from kubectl_eksdoc.ports import SimulatedCluster

GIVE_UP_S = 3600.0
"""The rehearsal ends when the drain made no progress for this long, plus the waits that the user requested: no start or
stop takes longer."""

LOOK_S = 60.0
"""Interval of the check whether there is still something to wait for."""


def rehearse(
    stage: SimulatedCluster,
    targeting: Targeting,
    policy: DrainPolicy,
    given: Identity | None = None,
    limits: RunLimits = RunLimits(),
    stops: Stops = no_stops,
) -> tuple[Cluster, Record]:
    """Plan the drain of the cluster `simulated`, and execute it there; `identity` and `stop_times` as for `plan_drain`.

    Raises:
        as `plan_drain`.
    """
    cluster, plan = plan_drain(stage, targeting, policy, given, stops)
    targets = tuple(target.node for target in plan.targets)
    level = plan.estimate.level if plan.estimate is not None else 0.0
    stage.start(PlannedPace(EvictionTimes(survey(cluster, targets, policy)), level))
    return cluster, _Run(stage, cluster, plan, limits).to_the_end()


class _Run:
    """One drain on one simulated cluster. Mutable, and private to one call of `rehearse`."""

    def __init__(self, stage: SimulatedCluster, cluster: Cluster, plan: DrainPlan, limits: RunLimits) -> None:
        self._stage = stage
        self._plan = plan
        self._engine = Engine(plan, ObservedState(cluster), replace(limits, ready_s=0.0))  # it ends like the plan
        self._replanning = Replanning(self._engine, cluster)
        between_s = 1 / plan.policy.evictions_per_second if plan.policy.evictions_per_second else 0.0
        self._give_up_s = GIVE_UP_S + limits.soak_s + between_s + plan.policy.wait_jobs
        self._begun_s = stage.seconds
        level = plan.estimate.level if plan.estimate is not None else 0.0
        self._new_node_s = Time.of(*NEW_NODE_S).drawn(level)
        self._joining: list[tuple[float, str]] = []  # when a new node joins, and which node it replaces

    @property
    def _now(self) -> float:
        return self._stage.seconds - self._begun_s

    def to_the_end(self) -> Record:
        drained = [target.node for target in self._plan.targets if target.order]
        for i, (_, like) in enumerate(surged(drained, self._plan.policy.surge or 0), 1):
            self._new_node(like.name, f"{like.name}-surge-{i}")
        last_s = self._now
        while True:
            self._step()
            if any(moment.what is not Happened.REFUSED for moment in self._new()):
                last_s = self._now
            if self._engine.over or self._engine.is_settled(self._now) or self._now - last_s >= self._give_up_s:
                break
            self._stage.pass_time(self._begun_s + self._next_s())
        pending = tuple(PendingPod(*each) for each in self._stage.pending())
        moments = (*self._engine.moments, *self._faults())
        engine = self._engine
        undone, placed, skipped = engine.undone, engine.placed, engine.cordoned_only
        return Record(self._plan, moments, last_s, pending, undone, placed=placed, cordoned_only=skipped)

    def _step(self) -> None:
        """Do everything that can be done now."""
        for when, node in list(self._joining):
            if when <= self._now:
                self._joining.remove((when, node))
                if self._new_node(node, f"{node}-new"):
                    self._engine.renewed(node)
        engine, now_s = self._engine, self._now
        self._hear()
        while acts := engine.acts(now_s):
            for act in acts:
                assert not isinstance(act, Hook), "it has none"
                engine.take(self._stage.do(act), now_s)
            self._hear()

    def _hear(self) -> None:
        for news in self._stage.news():
            self._engine.take(news, self._now)
        self._replanning.look(lambda: self._now)

    def _new(self) -> Sequence[RunMoment]:
        """The events since the last call; a node that is done is replaced where the policy has ``--surge``."""
        new = self._engine.new_moments()
        replaced = self._plan.policy.surge is not None
        for moment in new:
            if moment.what is Happened.DONE and replaced and not self._stays[moment.subject]:
                self._joining.append((self._now + self._new_node_s, moment.subject))
        return new

    @cached_property
    def _stays(self) -> Mapping[str, int]:
        """Node name → how many of its pods the plan does not evict."""
        return {target.node.name: target.left for target in self._plan.targets}

    def _new_node(self, like: str, name: str) -> bool:
        came = self._stage.join(like, name)
        self._engine.tell(self._now, Happened.JOINED if came else Happened.MISSING, name)
        return came

    def _next_s(self) -> float:
        """When this run has something to do by itself; the simulated cluster may have something earlier."""
        own_s = (self._engine.next_s(self._now), self._replanning.next_s, self._now + LOOK_S)
        return min((*own_s, *(when for when, _ in self._joining)))

    def _faults(self) -> Iterable[RunMoment]:
        """The faults that were injected during the drain."""
        for at_s, subject, what in self._stage.befallen:
            yield RunMoment(max(0.0, at_s - self._begun_s), Happened.BEFALLEN, subject, why=what)
