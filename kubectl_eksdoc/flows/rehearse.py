"""Try a drain in virtual time: the plan is made from the stage, and then done on it, eviction by eviction.

It goes about it as a careful run does: all targets are cordoned first, a node is begun when what it needs has joined
and its wave has come, a pod is asked for when its budget allows it, and what is refused waits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kubectl_eksdoc.core.model.cluster import Cluster, Identity
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.duration.clock import NEW_NODE_S, SETTLE_S, Clock
from kubectl_eksdoc.core.plan.drain.landing.new_nodes import surged
from kubectl_eksdoc.core.plan.drain.outcome import Eviction, Target
from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.core.plan.drain.rehearsal import Happened, Moment, Rehearsal, Waiting
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.core.plan.drain.survey import survey
from kubectl_eksdoc.core.sim.cluster.kubelets import Pace
from kubectl_eksdoc.flows.drain import plan_drain
from kubectl_eksdoc.flows.ports import Stage

GIVE_UP_S = 3600.0
"""So long nothing of the drain may happen until it is given up: no start or stop takes longer."""

RETRY_S = 5.0
"""What was refused for another reason than its budget is asked for again after this."""


class PlannedPace:
    """As long as the plan's usual run has them take."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def start_s(self, pod: Pod) -> float:
        return self._clock.usual_times(pod)[1]

    def stop_s(self, pod: Pod) -> float:
        return self._clock.usual_times(pod)[0]

    def run_s(self, pod: Pod) -> float:
        """Of Jobs nothing tells how long they run."""
        return float("inf")


def pace_of(cluster: Cluster) -> Pace:
    """How long the pods of a cluster take, learned from those that run."""
    return PlannedPace(Clock(survey(cluster, (), DrainPolicy())))


def rehearse(
    stage: Stage, targeting: Targeting, policy: DrainPolicy, given: Identity | None = None
) -> tuple[Cluster, Rehearsal]:
    """Plan the drain of what is on `stage`, and do it there; `given` as for `plan_drain`.

    Raises:
        as `plan_drain`.
    """
    cluster, plan = plan_drain(stage, targeting, policy, given)
    targets = tuple(target.node for target in plan.targets)
    stage.start(PlannedPace(Clock(survey(cluster, targets, policy))))
    return cluster, _Run(stage, plan).to_the_end()


class _Run:
    """One drain on one stage. Mutable, and private to one call of `rehearse`."""

    def __init__(self, stage: Stage, plan: DrainPlan) -> None:
        self._stage = stage
        self._plan = plan
        self._begun_s = stage.seconds
        self._moments: list[Moment] = []
        self._left: dict[str, list[Eviction]] = defaultdict(list)  # by node, in the plan's order, not yet evicted
        for eviction in sorted(plan.evictions, key=lambda e: (e.round, e.position)):
            self._left[eviction.node].append(eviction)
        self._waiting = [target for target in plan.targets if target.order]
        self._active: dict[str, Target] = {}
        self._leaving: dict[str, list[Eviction]] = defaultdict(list)  # by node, evicted and not yet gone
        self._empty_s: dict[str, float] = {}
        self._done: set[str] = set()
        self._joining: list[tuple[float, str]] = []  # when a new node joins, and in the place of which one
        self._joined: set[str] = set()  # nodes in whose place new ones are
        self._not_before: dict[str, float] = {}  # by uid

    @property
    def _now(self) -> float:
        return self._stage.seconds - self._begun_s

    def to_the_end(self) -> Rehearsal:
        self._cordon()
        last_s = self._now
        while self._waiting or self._active:
            before = len(self._moments)
            self._step()
            if any(moment.what is not Happened.REFUSED for moment in self._moments[before:]):
                last_s = self._now
            elif self._now - last_s >= GIVE_UP_S:
                break
            self._stage.pass_time(self._begun_s + self._next_s())
        undone = {name: self._names(name) for name in (*self._active, *(t.node.name for t in self._waiting))}
        pending = tuple(Waiting(*each) for each in self._stage.pending())
        return Rehearsal(self._plan, (*self._moments, *self._faults()), last_s, pending, undone)

    def _faults(self) -> Iterable[Moment]:
        """What befell the stage while it was drained."""
        for at_s, subject, what in self._stage.befallen:
            yield Moment(max(0.0, at_s - self._begun_s), Happened.BEFALLEN, subject, why=what)

    def _cordon(self) -> None:
        policy = self._plan.policy
        drained = [target.node for target in self._plan.targets if target.order]
        for i, (_, like) in enumerate(surged(drained, policy.surge or 0), 1):
            self._new_node(like.name, f"{like.name}-surge-{i}")
        for target in self._plan.targets:
            if target.order:
                self._stage.cordon(target.node.name)
                self._note(Happened.CORDONED, target.node.name)

    def _step(self) -> None:
        """Everything that can be done now."""
        self._join()
        self._begin()
        for name in list(self._active):
            self._ask(name)
            self._see(name)

    def _join(self) -> None:
        for when, node in list(self._joining):
            if when <= self._now:
                self._joining.remove((when, node))
                if self._new_node(node, f"{node}-new"):
                    self._joined.add(node)

    def _new_node(self, like: str, name: str) -> bool:
        came = self._stage.join(like, name)
        self._note(Happened.JOINED if came else Happened.MISSING, name)
        return came

    def _begin(self) -> None:
        gated = bool(self._plan.policy.max_unavailable or self._plan.policy.pins)
        wave = min((t.wave for t in (*self._waiting, *self._active.values())), default=0)
        for target in list(self._waiting):
            if (not gated or target.wave == wave) and self._joined.issuperset(target.needs):
                self._waiting.remove(target)
                self._active[target.node.name] = target
                self._note(Happened.BEGUN, target.node.name)

    def _ask(self, node: str) -> None:
        """Ask for what may go: system-critical pods when the others of their node are gone."""
        left = self._left[node]
        for eviction in [each for each in left if not self._stage.is_there(each.pod)]:
            left.remove(eviction)  # by another's hand, or with its node
            self._note(Happened.GONE, eviction.pod.key, node)
        ordinary = [e for e in left if not e.pod.system_critical]
        if not ordinary and self._leaving[node] and any(not e.pod.system_critical for e in self._leaving[node]):
            return
        for eviction in ordinary or list(left):
            if self._not_before.get(eviction.pod.uid, 0.0) > self._now:
                continue
            if eviction.budget and self._stage.allowed(eviction.budget) <= 0:
                continue
            self._evict(node, eviction)

    def _evict(self, node: str, eviction: Eviction) -> None:
        pod = eviction.pod
        answer = self._stage.evict(pod)
        if answer.ok or answer.code == 404:
            self._left[node].remove(eviction)
            self._leaving[node].append(eviction)
            self._note(Happened.EVICTED, pod.key, node)
            return
        self._not_before[pod.uid] = self._now + RETRY_S
        self._note(Happened.REFUSED, pod.key, node, answer.cause or answer.message)

    def _see(self, node: str) -> None:
        """What has gone, and whether the node is empty, and done."""
        for eviction in list(self._leaving[node]):
            if not self._stage.is_there(eviction.pod):
                self._leaving[node].remove(eviction)
                self._note(Happened.GONE, eviction.pod.key, node)
        if self._left[node] or self._leaving[node]:
            return
        if node not in self._empty_s:
            self._empty_s[node] = self._now
            self._note(Happened.EMPTY, node)
        if self._now >= self._empty_s[node] + SETTLE_S:
            target = self._active.pop(node)
            self._done.add(node)
            self._note(Happened.DONE, node)
            if self._plan.policy.surge is not None and not target.left:
                self._joining.append((self._now + NEW_NODE_S[0], node))

    def _next_s(self) -> float:
        """When this run has something to do by itself; the stage may have something before."""
        moments = [self._now + RETRY_S]
        moments += [when for when, _ in self._joining]
        moments += [self._empty_s[node] + SETTLE_S for node in self._active if node in self._empty_s]
        return min((when for when in moments if when > self._now), default=self._now + RETRY_S)

    def _names(self, node: str) -> tuple[str, ...]:
        return tuple(e.pod.key for e in (*self._left[node], *self._leaving[node]))

    def _note(self, what: Happened, subject: str, node: str = "", why: str = "") -> None:
        self._moments.append(Moment(self._now, what, subject, node, why))
