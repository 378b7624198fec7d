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

from kubectl_eksdoc.drain.duration.generations import NEW_NODE_TIMES_S, EvictionTimes, PlannedKubeletTimes, RandomTime
from kubectl_eksdoc.drain.new_nodes import surge_nodes
from kubectl_eksdoc.drain.nodes import drain_context
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import StopTimeSource, no_stop_times, plan_drain
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.other_drains import Replanner
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.result import PendingPod, Record
from kubectl_eksdoc.model.actions import Hook
from kubectl_eksdoc.model.cluster import Cluster, Identity
from kubectl_eksdoc.ports import SimulatedCluster

IDLE_TIMEOUT_S = 3600.0
"""The rehearsal ends when the drain made no progress for this long, plus the waits that the user requested: no start or
stop takes longer."""

CHECK_INTERVAL_S = 60.0
"""Interval of the check whether there is still something to wait for."""


def rehearse(
    simulated: SimulatedCluster,
    targeting: Targeting,
    policy: DrainPolicy,
    identity: Identity | None = None,
    limits: RunLimits = RunLimits(),
    stop_times: StopTimeSource = no_stop_times,
) -> tuple[Cluster, Record]:
    """Plan the drain of the cluster `simulated`, and execute it there; `identity` and `stop_times` as for `plan_drain`.

    Raises:
        as `plan_drain`.
    """
    cluster, plan = plan_drain(simulated, targeting, policy, identity, stop_times)
    targets = tuple(target.node for target in plan.targets)
    level = plan.estimate.level if plan.estimate is not None else 0.0
    simulated.start(PlannedKubeletTimes(EvictionTimes(drain_context(cluster, targets, policy)), level))
    return cluster, _Rehearsal(simulated, cluster, plan, limits).run_to_end()


class _Rehearsal:
    """One drain on one simulated cluster. Mutable, and private to one call of `rehearse`."""

    def __init__(self, simulated: SimulatedCluster, cluster: Cluster, plan: DrainPlan, limits: RunLimits) -> None:
        self._simulated = simulated
        self._plan = plan
        self._engine = Engine(plan, ObservedState(cluster), replace(limits, ready_s=0.0))  # it ends like the plan
        self._replanning = Replanner(self._engine, cluster)
        eviction_interval_s = 1 / plan.policy.evictions_per_second if plan.policy.evictions_per_second else 0.0
        self._idle_timeout_s = IDLE_TIMEOUT_S + limits.soak_s + eviction_interval_s + plan.policy.wait_jobs
        self._started_s = simulated.seconds
        level = plan.estimate.level if plan.estimate is not None else 0.0
        self._new_node_s = RandomTime.from_quantiles(*NEW_NODE_TIMES_S).draw(level)
        self._joining: list[tuple[float, str]] = []  # when a new node joins, and which node it replaces

    @property
    def _now(self) -> float:
        return self._simulated.seconds - self._started_s

    def run_to_end(self) -> Record:
        drained = [target.node for target in self._plan.targets if target.order]
        for i, (_, model) in enumerate(surge_nodes(drained, self._plan.policy.surge or 0), 1):
            self._join_node(model.name, f"{model.name}-surge-{i}")
        last_event_s = self._now
        while True:
            self._run_step()
            if any(event.what is not DrainEventKind.REFUSED for event in self._new_events()):
                last_event_s = self._now
            if (
                self._engine.is_finished
                or self._engine.is_settled(self._now)
                or self._now - last_event_s >= self._idle_timeout_s
            ):
                break
            self._simulated.pass_time(self._started_s + self._next_s())
        pending = tuple(PendingPod(*each) for each in self._simulated.pending())
        events = (*self._engine.events, *self._fault_events())
        engine = self._engine
        undone, placements, cordoned_nodes = engine.not_drained, engine.placed, engine.cordoned_only
        return Record(
            self._plan, events, last_event_s, pending, undone, placed=placements, cordoned_only=cordoned_nodes
        )

    def _run_step(self) -> None:
        """Do everything that can be done now."""
        for when, node in list(self._joining):
            if when <= self._now:
                self._joining.remove((when, node))
                if self._join_node(node, f"{node}-new"):
                    self._engine.record_joined(node)
        engine, now_s = self._engine, self._now
        self._take_updates()
        while actions := engine.due_actions(now_s):
            for action in actions:
                assert not isinstance(action, Hook), "it has none"
                engine.handle(self._simulated.do(action), now_s)
            self._take_updates()

    def _take_updates(self) -> None:
        for update in self._simulated.updates():
            self._engine.handle(update, self._now)
        self._replanning.replan_if_needed(lambda: self._now)

    def _new_events(self) -> Sequence[DrainEvent]:
        """The events since the last call; a node that is done is replaced where the policy has ``--surge``."""
        new_events = self._engine.new_events()
        replaces_nodes = self._plan.policy.surge is not None
        for event in new_events:
            if event.what is DrainEventKind.DONE and replaces_nodes and not self._staying_pods[event.subject]:
                self._joining.append((self._now + self._new_node_s, event.subject))
        return new_events

    @cached_property
    def _staying_pods(self) -> Mapping[str, int]:
        """Node name → how many of its pods the plan does not evict."""
        return {target.node.name: target.left for target in self._plan.targets}

    def _join_node(self, model_name: str, name: str) -> bool:
        joined = self._simulated.join_node(model_name, name)
        self._engine.record_event(self._now, DrainEventKind.JOINED if joined else DrainEventKind.MISSING, name)
        return joined

    def _next_s(self) -> float:
        """When this run has something to do by itself; the simulated cluster may have something earlier."""
        own_times_s = (self._engine.next_s(self._now), self._replanning.next_s, self._now + CHECK_INTERVAL_S)
        return min((*own_times_s, *(when for when, _ in self._joining)))

    def _fault_events(self) -> Iterable[DrainEvent]:
        """The faults that were injected during the drain."""
        for at_s, subject, effect in self._simulated.injected_faults:
            yield DrainEvent(max(0.0, at_s - self._started_s), DrainEventKind.BEFALLEN, subject, why=effect)
