"""An engine without a cluster: every act succeeds and is observed at once, unless a test answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus
from kubectl_eksdoc.kubernetes.updates import (
    AttachedVolumes,
    NodeChanged,
    PodChanged,
    PodRemoved,
    PodsFound,
    RequestAnswered,
    RunUpdate,
)
from kubectl_eksdoc.model.actions import (
    ClusterAction,
    Cordon,
    Evict,
    Exclude,
    Hook,
    ListAttachments,
    ListPods,
    Protect,
    ReadPod,
    Release,
)
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import EXCLUDE_FROM_LOAD_BALANCERS
from tests.drain.planning import plan_of

Answering = Callable[[ClusterAction], RunUpdate | list[RunUpdate] | None]
"""Answers an act; None: nothing comes for now."""

LONGEST_S = 10_000.0


class Driven:
    """Drains the nodes called old-*. `asked`: every act with its time; `answers`: by the kind of act. Mutable."""

    def __init__(
        self,
        cluster: Cluster,
        policy: DrainPolicy | None = None,
        limits: RunLimits = RunLimits(),
        run: str = "",
        **answers: Answering,
    ) -> None:
        self.engine = Engine(plan_of(cluster, policy=policy, roomy=False), ObservedState(cluster), limits, run=run)
        self.asked: list[tuple[float, ClusterAction]] = []
        self.answers = answers
        self.now_s = 0.0
        self._version = 0

    def hear(self, *news: RunUpdate) -> None:
        for each in news:
            self.engine.handle(each, self.now_s)

    def until(self, end_s: float) -> None:
        """Run everything that is due until that time."""
        while True:
            self.step()
            due_s = self.engine.next_s(self.now_s)
            assert due_s > self.now_s, "no time would pass"
            if due_s > end_s:
                self.now_s = end_s
                return
            self.now_s = due_s

    def to_the_end(self) -> None:
        while not (self.engine.is_finished or self.engine.is_settled(self.now_s)):
            assert self.now_s < LONGEST_S, self.engine.not_drained
            self.step()
            if self.engine.is_finished:
                return
            self.now_s = min(max(self.engine.next_s(self.now_s), self.now_s), self.now_s + 60)

    def step(self) -> None:
        while acts := self.engine.due_actions(self.now_s):
            for act in acts:
                assert not isinstance(act, Hook)
                self.asked.append((self.now_s, act))
                self._answer(act)

    def of(self, kind: type[ClusterAction]) -> list[ClusterAction]:
        return [act for _, act in self.asked if type(act) is kind]

    def at(self, kind: type[ClusterAction]) -> list[float]:
        return [at_s for at_s, act in self.asked if type(act) is kind]

    def told(self, what: DrainEventKind) -> list[tuple[str, str]]:
        return [(moment.subject, moment.why) for moment in self.engine.events if moment.what is what]

    def replaced(self, pod: str, node: str) -> PodChanged:
        """The pod that stands for an evicted one (ns/name) is Ready on another node."""
        old = next(each.pod for each in self.engine.plan.evictions if each.pod.key == pod)
        self._version += 1
        return PodChanged(replace(old, name=f"{old.name}-new", uid=f"{old.uid}-new", node=node), self._version)

    def _answer(self, act: ClusterAction) -> None:
        own = self.answers.get(type(act).__name__)
        if own is not None:
            if (news := own(act)) is not None:
                self.hear(*(news if isinstance(news, list) else [news]))
            return
        self.hear(*self._done(act))

    def _done(self, act: ClusterAction) -> Iterator[RunUpdate]:
        self._version += 1
        match act:
            case Cordon(name):
                yield RequestAnswered(act, ApiStatus(200))
                yield NodeChanged(replace(self.engine.observed.nodes[name], unschedulable=True))
            case Exclude(name, _):
                yield RequestAnswered(act, ApiStatus(200))
                node = self.engine.observed.nodes[name]
                yield NodeChanged(replace(node, labels={**node.labels, EXCLUDE_FROM_LOAD_BALANCERS: "true"}))
            case Evict(pod, _):
                yield RequestAnswered(act, ApiStatus(201))
                yield PodRemoved(pod.uid, self._version)
            case Protect() | Release():
                yield RequestAnswered(act, ApiStatus(200))
            case ReadPod(pod):
                found = self.engine.observed.pod(pod.uid)
                yield PodsFound(act, () if found is None else (found,))
            case ListPods(name):
                yield PodsFound(act, tuple(pod for pod in self.engine.observed.pods() if pod.node == name))
            case ListAttachments():
                yield AttachedVolumes(act)


def drained(
    cluster: Cluster, policy: DrainPolicy | None = None, limits: RunLimits = RunLimits(), **answers: Answering
) -> Driven:
    """Run the drain to its end."""
    driven = Driven(cluster, policy, limits, **answers)
    driven.to_the_end()
    return driven
