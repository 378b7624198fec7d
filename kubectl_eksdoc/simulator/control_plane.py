"""The simulated control plane: one store, all controllers, scheduler and kubelets on it, and virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.nodes import Pod

from .controllers import Controller, ControllerLoop, VirtualTime, WorkBudget, no_delay
from .disruptions import DisruptionController, EvictionEndpoint, StaleDisruptionTargets
from .kubelets import ImagePull, Kubelets, KubeletTimes, no_pod, pull_every_image
from .registry import FactSource, Registry
from .scheduling import BudgetIndex, Scheduler
from .store import ChangeListener, NameGenerator, ObjectKey, Store, StoredItem
from .workloads.daemon_sets import DaemonSets
from .workloads.deployments import Deployments
from .workloads.endpoint_slices import EndpointSlices
from .workloads.garbage import (
    ClaimProtection,
    DetachController,
    GarbageCollector,
    NamespaceController,
    PodGarbageCollector,
)
from .workloads.jobs import Jobs
from .workloads.ownership import ObjectIndex
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
    disruptions_extra_delay_s: Callable[[], float] = no_delay
    misses_deletion: Callable[[Pod], bool] = no_pod


ControllerFactory = Callable[[Registry], Iterable[Controller]]
"""Creates the workload controllers for a registry."""


class ControlPlane:
    """Mutable. Load objects, `start` it, then read and let time pass; everything runs in the caller's thread."""

    def __init__(self, start: datetime, facts: FactSource, seed: int = 0) -> None:
        self.store = Store()
        self.virtual_time = VirtualTime(start)
        self.registry = Registry(self.store, self.virtual_time, NameGenerator(seed))
        self.facts = facts
        self.budget_index = BudgetIndex(self.store, facts)
        self.evictions = EvictionEndpoint(self.registry, self.budget_index, facts)
        self._loops: list[ControllerLoop] = []
        self._listeners: tuple[ChangeListener, ...] = ()
        self._start_arguments: tuple[ControllerFactory, ControlPlaneLags] | None = None

    def load(self, resource: str, docs: Iterable[Doc]) -> None:
        """Load objects from a dump: names, uids, times and statuses are kept, resourceVersions are new."""
        for doc in docs:
            namespace = str(nested_field(doc, "metadata", "namespace") or "")
            self.store.add(resource, (namespace, str(doc["metadata"]["name"])), doc)

    def start(
        self,
        kubelet_times: KubeletTimes,
        controllers: ControllerFactory,
        lags: ControlPlaneLags = ControlPlaneLags(),
        is_stuck: Callable[[Pod], bool] = no_pod,
        image_pull: ImagePull = pull_every_image,
    ) -> None:
        """Start all components. Pods for which `is_stuck` is true do not stop even when they are killed; `image_pull`
        tells which images can be pulled."""
        self._start_arguments = (controllers, lags)
        WorkBudget(self.store, self.virtual_time)
        self._start_controllers(DisruptionController.unfinished_keys)
        ControllerLoop(
            Kubelets(self.registry, self.facts, kubelet_times, is_stuck, image_pull), self.store, self.virtual_time
        )

    def restart(self) -> None:
        """Controllers and scheduler crash and restart: they have only the stored objects, and handle all of them again.
        Kubelets run on their nodes and go on."""
        for loop in self._loops:
            loop.stop()
        self._loops.clear()
        self.store.remove_listeners(self._listeners)
        self._start_controllers(None)

    def _start_controllers(
        self, initial_keys: Callable[[DisruptionController, StoredItem], Iterable[ObjectKey]] | None
    ) -> None:
        assert self._start_arguments is not None, "it was started"
        old_listeners = self.store.listeners
        self._create_loops(*self._start_arguments, initial_keys)
        self._listeners = tuple(each for each in self.store.listeners if each not in old_listeners)

    def _create_loops(
        self,
        controllers: ControllerFactory,
        lags: ControlPlaneLags,
        initial_keys: Callable[[DisruptionController, StoredItem], Iterable[ObjectKey]] | None,
    ) -> None:
        for controller in controllers(self.registry):
            self._start_loop(controller, lags.controllers_s)
        disruptions = DisruptionController(self.registry, self.budget_index, lags.misses_deletion)
        loop = ControllerLoop(
            disruptions,
            self.store,
            self.virtual_time,
            lags.disruptions_s,
            lags.disruption_sync_s,
            initial_keys=None if initial_keys is None else partial(initial_keys, disruptions),
            extra_delay_s=lags.disruptions_extra_delay_s,
        )
        self._loops.append(loop)
        self._start_loop(StaleDisruptionTargets(self.registry, self.facts), lags.disruptions_s)
        self._start_loop(Scheduler(self.registry, self.facts), lags.scheduler_s)

    def run_until_idle(self, max_s: float) -> None:
        """Let time pass until nothing is left to do, or `max_s` have passed."""
        end_s = self.virtual_time.seconds + max_s
        while (due_s := self.virtual_time.due_s) is not None and due_s <= end_s:
            self.virtual_time.run_next()

    def _start_loop(self, controller: Controller, lag_s: float) -> None:
        self._loops.append(ControllerLoop(controller, self.store, self.virtual_time, lag_s))


# All workload controllers of a cluster, in the order in which they are started.


def workload_controllers(registry: Registry, index: ObjectIndex | None = None) -> tuple[Controller, ...]:
    """Create them when the store has its initial objects, and run each in a `ControllerLoop`, in this order.

    Replica sets come before deployments: a deployment then sees one step done before it takes the next, as real ones
    mostly do. `index` may be shared with other users of the ownership index.
    """
    index = ObjectIndex(registry.store) if index is None else index
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
        PodGarbageCollector(registry, index),
        ClaimProtection(registry, index),
        DetachController(registry, index),
        NamespaceController(registry),
        GarbageCollector(registry, index),
    )
