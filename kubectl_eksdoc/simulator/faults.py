"""Fault injection during a drain: other clients, nodes that disappear, pods that hang, and a cluster autoscaler.

Each fault acts at once on a running control plane, like an outside cause, and returns whether it had any effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal
from kubectl_eksdoc.kubernetes.evictions import EvictionRequest
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value, without_path
from kubectl_eksdoc.model.nodes import Pod

from .chance import RandomStream
from .control_plane import ControllerFactory, ControlPlane, ControlPlaneLags
from .controllers import no_delay
from .kubelets import KubeletTimes, no_pod
from .registry import DeleteOptions, put_condition
from .store import NODES, PODS, StoredItem

KUBELET_CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions that a kubelet reports for its node."""

UNKNOWN_STATUS = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}


def delete_node(control_plane: ControlPlane, node: str) -> bool:
    """The node's instance is gone (a Spot interruption, a terminated instance), and its Node object with it."""
    item = control_plane.store.get(NODES, ("", node))
    if item is None:
        return False
    control_plane.registry.delete(item)
    return True


def mark_unreachable(control_plane: ControlPlane, node: str) -> bool:
    """The node's kubelet stops reporting, and the node lifecycle controller updates the node and its pods; False if it
    was so already. No pod on it is started or stopped from then on.

    Source: pkg/controller/nodelifecycle/node_lifecycle_controller.go (tryUpdateNodeHealth), pkg/controller/util/node/
    controller_utils.go (MarkPodsNotReady), Kubernetes v1.36.
    """
    item, now = control_plane.store.get(NODES, ("", node)), control_plane.registry.timestamp
    if item is None or item.condition_status("Ready") == "Unknown":
        return False
    conditions = item.conditions
    for kind in KUBELET_CONDITIONS:
        old_condition = item.condition(kind) or {"type": kind}
        conditions = put_condition(
            conditions, {**old_condition, "status": "Unknown", "lastTransitionTime": now, **UNKNOWN_STATUS}
        )
    control_plane.registry.set_value(item, ("status", "conditions"), conditions, status=True)
    for pod in pods_on(control_plane, node):
        ready = pod.condition("Ready")
        if ready is not None and ready.get("status") == "True":
            conditions = put_condition(pod.conditions, {**ready, "status": "False", "lastTransitionTime": now})
            control_plane.registry.set_value(pod, ("status", "conditions"), conditions, status=True)
    return True


def add_finalizer(control_plane: ControlPlane, pod: StoredItem, finalizer: str) -> bool:
    """Another client adds a finalizer to the pod; False if it is there already, or the pod is being deleted."""
    finalizers = pod.finalizers
    if pod.deleting or finalizer in finalizers:
        return False
    control_plane.registry.set_value(pod, ("metadata", "finalizers"), [*finalizers, finalizer])
    return True


def join_node(control_plane: ControlPlane, model: Doc, name: str) -> bool:
    """A new node as an autoscaler adds it: like the Node `model`, empty, not cordoned."""
    if control_plane.store.get(NODES, ("", name)) is not None:
        return False
    control_plane.registry.create(NODES, _new_node(model, name))
    return True


def set_cordon(control_plane: ControlPlane, node: str, unschedulable: bool = True) -> bool:
    """A second operator cordons a node, or uncordons one that the drain cordoned; False if it is so already."""
    item = control_plane.store.get(NODES, ("", node))
    if item is None or bool(nested_field(item.spec, "unschedulable")) is unschedulable:
        return False
    path = ("spec", "unschedulable")
    control_plane.registry.update(
        item, with_value(item.doc, path, True) if unschedulable else without_path(item.doc, path)
    )
    return True


def uncordon(control_plane: ControlPlane, node: str) -> bool:
    return set_cordon(control_plane, node, unschedulable=False)


def drain_node(control_plane: ControlPlane, node: str) -> bool:
    """A second operator evicts all pods of a node once, except DaemonSet pods; refused pods stay."""
    set_cordon(control_plane, node)
    drainable = [item for item in pods_on(control_plane, node) if not item.deleting and not is_never_drained(item)]
    for item in drainable:
        evict_pod(control_plane, item)
    return bool(drainable)


def evict_pod(control_plane: ControlPlane, pod: StoredItem) -> bool:
    """Whether the eviction was granted."""
    namespace, name = pod.key
    try:
        return control_plane.evictions.evict(EvictionRequest(name, name, namespace)).ok
    except ApiRefusal:
        return False


def delete_pod(control_plane: ControlPlane, namespace: str, name: str) -> bool:
    """Another client deletes a pod, without a budget check; False if it is being deleted already."""
    item = control_plane.store.get(PODS, (namespace, name))
    if item is None or item.deleting:
        return False
    control_plane.registry.delete(item, DeleteOptions())
    return True


def pods_on(control_plane: ControlPlane, node: str) -> list[StoredItem]:
    return [item for item in control_plane.store.list(PODS) if item.node == node]


def is_never_drained(pod: StoredItem) -> bool:
    """Whether no drain evicts it: a DaemonSet pod, or a mirror pod."""
    return pod.controller is not None and pod.controller["kind"] in ("DaemonSet", "Node")


def _new_node(model: Doc, name: str) -> Doc:
    meta = model["metadata"]
    labels = {**(meta.get("labels") or {}), "kubernetes.io/hostname": name}
    spec = {key: value for key, value in (model.get("spec") or {}).items() if key not in ("unschedulable", "taints")}
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": model.get("status") or {},
    }


# A control plane with injected faults: actions at a time or at random, stuck pods, a late disruption controller.
#
# The effects are reported, so that a rehearsal can explain them.


RANDOM_FAULT_INTERVAL_S = 60.0
"""A random fault has its chance once in each of these intervals."""


class FaultEvent(NamedTuple):
    """One effect of a fault. `at_s`: virtual time; `subject`: a node, a pod (namespace/name), several pods or the
    control plane; `effect`: what happened to it."""

    at_s: float
    subject: str
    effect: str

    @property
    def message(self) -> str:
        return f"{self.subject} {self.effect}"


FaultNote = Callable[[str, str], None]
"""Called with the subject and the effect."""

FaultAction = Callable[[ControlPlane, RandomStream, FaultNote], None]
"""A fault that acts now and reports its effect; it does nothing where it finds no subject."""


def unchanged_times(pace: KubeletTimes) -> KubeletTimes:
    return pace


def joins() -> bool:
    """Every requested node joins."""
    return True


@frozen
class InjectedFault:
    """`action` runs once at `at_s` (virtual seconds from the start), or with the probability `share` in each minute
    where `at_s` is None. `adjust_times` changes the kubelets' times. Pods for which `is_stuck` is true never stop.
    `extra_delay_s`: additional delay of the disruption controller, called each time; `misses_deletion`: pods whose
    deletion it does not see; `joins`: whether a requested node joins."""

    action: FaultAction | None = None
    at_s: float | None = None
    share: float = 0.0
    adjust_times: Callable[[KubeletTimes], KubeletTimes] = unchanged_times
    is_stuck: Callable[[Pod], bool] = no_pod
    extra_delay_s: Callable[[], float] = no_delay
    joins: Callable[[], bool] = joins
    misses_deletion: Callable[[Pod], bool] = no_pod


class FaultyControlPlane:
    """A control plane with faults. Mutable."""

    def __init__(
        self,
        control_plane: ControlPlane,
        faults: Iterable[InjectedFault],
        report: Callable[[FaultEvent], object],
        seed: int = 0,
    ) -> None:
        """`report` is called with every event."""
        self._control_plane = control_plane
        self._faults = tuple(faults)
        self._report = report
        self._seed = seed

    def start(
        self, kubelet_times: KubeletTimes, controllers: ControllerFactory, lags: ControlPlaneLags = ControlPlaneLags()
    ) -> None:
        """See `ControlPlane.start`."""
        faults, base_delay_s = self._faults, lags.disruptions_extra_delay_s
        if faults:
            lags = replace(
                lags, disruptions_extra_delay_s=lambda: base_delay_s() + sum(fault.extra_delay_s() for fault in faults)
            )
            lags = replace(lags, misses_deletion=lambda pod: any(fault.misses_deletion(pod) for fault in faults))
        for fault in faults:
            kubelet_times = fault.adjust_times(kubelet_times)
        self._control_plane.start(
            kubelet_times, controllers, lags, lambda pod: any(fault.is_stuck(pod) for fault in faults)
        )
        for index, fault in enumerate(faults):
            if fault.action is not None:
                self._schedule_fault(fault, fault.action, RandomStream(self._seed * 1000 + index))

    def joins(self) -> bool:
        """Whether the node that is requested now joins."""
        answers = [each.joins() for each in self._faults]  # every fault draws its random number
        return all(answers)

    def _schedule_fault(self, fault: InjectedFault, action: FaultAction, random_stream: RandomStream) -> None:
        control_plane = self._control_plane

        def once() -> None:
            action(control_plane, random_stream, self._report_event)

        def now_and_then() -> None:
            if random_stream.next_fraction() < fault.share:
                once()
            control_plane.virtual_time.schedule(RANDOM_FAULT_INTERVAL_S, now_and_then)

        if fault.at_s is None:
            control_plane.virtual_time.schedule(RANDOM_FAULT_INTERVAL_S, now_and_then)
        else:
            control_plane.virtual_time.schedule(fault.at_s, once)

    def _report_event(self, subject: str, effect: str) -> None:
        self._report(FaultEvent(self._control_plane.virtual_time.seconds, subject, effect))


# Kubelet times with which some pods take longer than they should, or never end.


@frozen
class SlowerKubeletTimes:
    """Pods for which `is_slow` is true take these additional seconds: `NEVER` if they never do it by themselves. A pod
    that never stops is killed when the grace period is over."""

    base_times: KubeletTimes
    is_slow: Callable[[Pod], bool]
    extra_start_s: float = 0.0
    extra_stop_s: float = 0.0

    def start_s(self, pod: Pod) -> float:
        return self.base_times.start_s(pod) + (self.extra_start_s if self.is_slow(pod) else 0.0)

    def stop_s(self, pod: Pod) -> float:
        return self.base_times.stop_s(pod) + (self.extra_stop_s if self.is_slow(pod) else 0.0)

    def run_s(self, pod: Pod) -> float:
        return self.base_times.run_s(pod)


# A cluster autoscaler adds a node while pods are Pending, or removes a node: it taints the node, evicts its pods, and
# then deletes the Node.
#
# Source: cluster-autoscaler core/scaledown/actuation (actuator.go, drain.go, delete_in_batch.go), tag
# cluster-autoscaler-1.36.1: evictions are tried again every 10 s for 2 min; a node that is not empty by then is kept.


AUTOSCALER_TAINT = "ToBeDeletedByClusterAutoscaler"
EVICTION_RETRY_S = 10.0
EVICTION_TIMEOUT_S = 120.0


def autoscaler_remove(control_plane: ControlPlane, node: str, report: Callable[[str], None]) -> bool:
    """Start the removal; False if there is no such node, or it is being removed. `report` is called at the start and
    the end."""
    item = control_plane.store.get(NODES, ("", node))
    if item is None or any(node_taint.get("key") == AUTOSCALER_TAINT for node_taint in _taints(item)):
        return False
    taint = {
        "key": AUTOSCALER_TAINT,
        "value": str(round(control_plane.virtual_time.now.timestamp())),
        "effect": "NoSchedule",
    }
    control_plane.registry.set_value(item, ("spec", "taints"), [*_taints(item), taint])
    report("is being removed by an autoscaler")
    end_s = control_plane.virtual_time.seconds + EVICTION_TIMEOUT_S

    def try_removal() -> None:
        if control_plane.store.get(NODES, ("", node)) is None:
            return
        remaining_pods = [pod for pod in pods_on(control_plane, node) if not is_never_drained(pod)]
        if not remaining_pods:
            delete_node(control_plane, node)
            report("was removed by an autoscaler")
        elif control_plane.virtual_time.seconds >= end_s:
            _keep_node(control_plane, node)
            report("was kept by the autoscaler, which could not empty it")
        else:
            for pod in remaining_pods:
                if not pod.deleting:
                    evict_pod(control_plane, pod)
            control_plane.virtual_time.schedule(EVICTION_RETRY_S, try_removal)

    try_removal()
    return True


def autoscaler_add(control_plane: ControlPlane, model_name: str) -> str:
    """Add a node like that one if a pod is unschedulable; returns its name, "" if none is added."""
    model = control_plane.store.get(NODES, ("", model_name))
    if model is None or not any(_is_unschedulable(item) for item in control_plane.store.list(PODS)):
        return ""
    name = control_plane.registry.names.generate_name(f"{model_name}-added-")
    return name if join_node(control_plane, model.doc, name) else ""


def _is_unschedulable(pod: StoredItem) -> bool:
    condition = pod.condition("PodScheduled") or {}
    return condition.get("status") == "False" and condition.get("reason") == "Unschedulable"


def _keep_node(control_plane: ControlPlane, node: str) -> None:
    item = control_plane.registry.get(NODES, ("", node))
    remaining_taints = [each for each in _taints(item) if each.get("key") != AUTOSCALER_TAINT]
    control_plane.registry.set_value(item, ("spec", "taints"), remaining_taints)


def _taints(node: StoredItem) -> list[Doc]:
    return node.spec.get("taints") or []
