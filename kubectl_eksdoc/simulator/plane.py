"""The simulated control plane: one store, all controllers, scheduler and kubelets on it, and virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.nodes import Pod

from .controllers import Controller, Loop, VirtualTime, WorkBudget, in_time
from .disruptions import DisruptionController, Evictions, StaleTargets
from .kubelets import Kubelets, KubeletTimes, Pulling, every_image, none_is
from .registry import FactSource, Registry
from .scheduling import NodeRoster, Scheduler
from .store import Key, Listener, Names, Store, StoredItem
from .workloads.daemon_sets import DaemonSets
from .workloads.deployments import Deployments
from .workloads.endpoint_slices import EndpointSlices
from .workloads.garbage import (
    ClaimProtection,
    DetachController,
    Garbage,
    Namespaces,
    PodGarbage,
)
from .workloads.jobs import Jobs
from .workloads.owning import Index
from .workloads.replica_sets import OtherControllers, ReplicaSets
from .workloads.stateful_sets import StatefulSets
from .workloads.taints import NodeTaints, TaintEvictions


@frozen
class ControlPlaneLags:
    """Seconds from a change until each part of the control plane handles it, and of each sync of a budget, as the
    disruption controller has one worker. `disruptions_extra_delay_s` is called each time it is woken, and adds to its
    delay. The disruption controller does not see the deletion of pods for which `misses_deletion` is true before the
    next pod of their name exists."""

    controllers_s: float = 0.01
    scheduler_s: float = 0.01
    disruptions_s: float = 0.02
    disruption_sync_s: float = 0.0
    disruptions_late_s: Callable[[], float] = in_time
    missed: Callable[[Pod], bool] = none_is


Workloads = Callable[[Registry], Iterable[Controller]]
"""Creates the workload controllers for a registry."""


class ControlPlane:
    """Mutable. Load objects, `start` it, then read and let time pass; everything runs in the caller's thread."""

    def __init__(self, start: datetime, facts: FactSource, seed: int = 0) -> None:
        self.store = Store()
        self.agenda = VirtualTime(start)
        self.registry = Registry(self.store, self.agenda, Names(seed))
        self.facts = facts
        self.roster = NodeRoster(self.store, facts)
        self.evictions = Evictions(self.registry, self.roster, facts)
        self._loops: list[Loop] = []
        self._listeners: tuple[Listener, ...] = ()
        self._begun: tuple[Workloads, ControlPlaneLags] | None = None

    def load(self, resource: str, docs: Iterable[Doc]) -> None:
        """Load objects from a dump: names, uids, times and statuses are kept, resourceVersions are new."""
        for doc in docs:
            namespace = str(at(doc, "metadata", "namespace") or "")
            self.store.add(resource, (namespace, str(doc["metadata"]["name"])), doc)

    def start(
        self,
        pace: KubeletTimes,
        workloads: Workloads,
        lags: ControlPlaneLags = ControlPlaneLags(),
        stuck: Callable[[Pod], bool] = none_is,
        pulling: Pulling = every_image,
    ) -> None:
        """Start all components. Pods for which `is_stuck` is true do not stop even when they are killed; `image_pull`
        tells which images can be pulled."""
        self._begun = (workloads, lags)
        WorkBudget(self.store, self.agenda)
        self._begin(DisruptionController.unfinished)
        Loop(Kubelets(self.registry, self.facts, pace, stuck, pulling), self.store, self.agenda)

    def restart(self) -> None:
        """Controllers and scheduler crash and restart: they have only the stored objects, and handle all of them again.
        Kubelets run on their nodes and go on."""
        for loop in self._loops:
            loop.stop()
        self._loops.clear()
        self.store.leave(self._listeners)
        self._begin(None)

    def _begin(self, first: Callable[[DisruptionController, StoredItem], Iterable[Key]] | None) -> None:
        assert self._begun is not None, "it was started"
        there = self.store.listeners
        self._work(*self._begun, first)
        self._listeners = tuple(each for each in self.store.listeners if each not in there)

    def _work(
        self,
        workloads: Workloads,
        lags: ControlPlaneLags,
        first: Callable[[DisruptionController, StoredItem], Iterable[Key]] | None,
    ) -> None:
        for controller in workloads(self.registry):
            self._run(controller, lags.controllers_s)
        disruptions = DisruptionController(self.registry, self.roster, lags.missed)
        loop = Loop(
            disruptions,
            self.store,
            self.agenda,
            lags.disruptions_s,
            lags.disruption_sync_s,
            first=None if first is None else partial(first, disruptions),
            late_s=lags.disruptions_late_s,
        )
        self._loops.append(loop)
        self._run(StaleTargets(self.registry, self.facts), lags.disruptions_s)
        self._run(Scheduler(self.registry, self.facts), lags.scheduler_s)

    def rest(self, most_s: float) -> None:
        """Let time pass until nothing is left to do, or `max_s` have passed."""
        end_s = self.agenda.seconds + most_s
        while (due_s := self.agenda.due_s) is not None and due_s <= end_s:
            self.agenda.next()

    def _run(self, controller: Controller, lag_s: float) -> None:
        self._loops.append(Loop(controller, self.store, self.agenda, lag_s))


# All workload controllers of a cluster, in the order in which they are started.


def every_controller(registry: Registry, index: Index | None = None) -> tuple[Controller, ...]:
    """Create them when the store has its initial objects, and run each in a `ControllerLoop`, in this order.

    Replica sets come before deployments: a deployment then sees one step done before it takes the next, as real ones
    mostly do. `index` may be shared with other users of the ownership index.
    """
    index = Index(registry.store) if index is None else index
    return (
        ReplicaSets(registry, index),
        ReplicaSets(registry, index, kinds.REPLICATION_CONTROLLERS),
        Deployments(registry, index),
        StatefulSets(registry, index),
        DaemonSets(registry, index),
        Jobs(registry, index),
        OtherControllers(registry, index),
        EndpointSlices(registry, index),
        NodeTaints(registry, index),
        TaintEvictions(registry, index),
        PodGarbage(registry, index),
        ClaimProtection(registry, index),
        DetachController(registry, index),
        Namespaces(registry),
        Garbage(registry, index),
    )
