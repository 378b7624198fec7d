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
from kubectl_eksdoc.model.api_objects import Doc, at, with_value, without
from kubectl_eksdoc.model.nodes import Pod

from .chance import Chance
from .controllers import in_time
from .kubelets import KubeletTimes, none_is
from .plane import ControlPlane, ControlPlaneLags, Workloads
from .registry import DeleteOptions, put
from .store import NODES, PODS, StoredItem

HEARD_OF = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions that a kubelet reports for its node."""

UNHEARD = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}


def disappear(plane: ControlPlane, node: str) -> bool:
    """The node's instance is gone (a Spot interruption, a terminated instance), and its Node object with it."""
    item = plane.store.get(NODES, ("", node))
    if item is None:
        return False
    plane.registry.delete(item)
    return True


def lose(plane: ControlPlane, node: str) -> bool:
    """The node's kubelet stops reporting, and the node lifecycle controller updates the node and its pods; False if it
    was so already. No pod on it is started or stopped from then on.

    Source: pkg/controller/nodelifecycle/node_lifecycle_controller.go (tryUpdateNodeHealth), pkg/controller/util/node/
    controller_utils.go (MarkPodsNotReady), Kubernetes v1.36.
    """
    item, now = plane.store.get(NODES, ("", node)), plane.registry.now
    if item is None or item.says("Ready") == "Unknown":
        return False
    held = item.conditions
    for kind in HEARD_OF:
        told = item.condition(kind) or {"type": kind}
        held = put(held, {**told, "status": "Unknown", "lastTransitionTime": now, **UNHEARD})
    plane.registry.put(item, ("status", "conditions"), held, status=True)
    for pod in pods_on(plane, node):
        ready = pod.condition("Ready")
        if ready is not None and ready.get("status") == "True":
            held = put(pod.conditions, {**ready, "status": "False", "lastTransitionTime": now})
            plane.registry.put(pod, ("status", "conditions"), held, status=True)
    return True


def hold(plane: ControlPlane, pod: StoredItem, finalizer: str) -> bool:
    """Another client adds a finalizer to the pod; False if it is there already, or the pod is being deleted."""
    held = pod.finalizers
    if pod.leaving or finalizer in held:
        return False
    plane.registry.put(pod, ("metadata", "finalizers"), [*held, finalizer])
    return True


def join(plane: ControlPlane, model: Doc, name: str) -> bool:
    """A new node as an autoscaler adds it: like the Node `model`, empty, not cordoned."""
    if plane.store.get(NODES, ("", name)) is not None:
        return False
    plane.registry.create(NODES, _new(model, name))
    return True


def cordon(plane: ControlPlane, node: str, cordoned: bool = True) -> bool:
    """A second operator cordons a node, or uncordons one that the drain cordoned; False if it is so already."""
    item = plane.store.get(NODES, ("", node))
    if item is None or bool(at(item.spec, "unschedulable")) is cordoned:
        return False
    path = ("spec", "unschedulable")
    plane.registry.update(item, with_value(item.doc, path, True) if cordoned else without(item.doc, path))
    return True


def uncordon(plane: ControlPlane, node: str) -> bool:
    return cordon(plane, node, cordoned=False)


def drain(plane: ControlPlane, node: str) -> bool:
    """A second operator evicts all pods of a node once, except DaemonSet pods; refused pods stay."""
    cordon(plane, node)
    there = [item for item in pods_on(plane, node) if not item.leaving and not stays(item)]
    for item in there:
        evict(plane, item)
    return bool(there)


def evict(plane: ControlPlane, pod: StoredItem) -> bool:
    """Whether the eviction was granted."""
    namespace, name = pod.key
    try:
        return plane.evictions.evict(EvictionRequest(name, name, namespace)).ok
    except ApiRefusal:
        return False


def delete(plane: ControlPlane, namespace: str, name: str) -> bool:
    """Another client deletes a pod, without a budget check; False if it is being deleted already."""
    item = plane.store.get(PODS, (namespace, name))
    if item is None or item.leaving:
        return False
    plane.registry.delete(item, DeleteOptions())
    return True


def pods_on(plane: ControlPlane, node: str) -> list[StoredItem]:
    return [item for item in plane.store.list(PODS) if item.node == node]


def stays(pod: StoredItem) -> bool:
    """Whether no drain evicts it: a DaemonSet pod, or a mirror pod."""
    return pod.controller is not None and pod.controller["kind"] in ("DaemonSet", "Node")


def _new(model: Doc, name: str) -> Doc:
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


EVERY_S = 60.0
"""A random fault has its chance once in each of these intervals."""


class InjectedMishap(NamedTuple):
    """One effect of a fault. `at_s`: virtual time; `subject`: a node, a pod (namespace/name), several pods or the
    control plane; `effect`: what happened to it."""

    at_s: float
    subject: str
    what: str

    @property
    def said(self) -> str:
        return f"{self.subject} {self.what}"


Note = Callable[[str, str], None]
"""Called with the subject and the effect."""

Mishap = Callable[[ControlPlane, Chance, Note], None]
"""A fault that acts now and reports its effect; it does nothing where it finds no subject."""


def as_it_is(pace: KubeletTimes) -> KubeletTimes:
    return pace


def joins() -> bool:
    """Every requested node joins."""
    return True


@frozen
class TimedMishap:
    """`action` runs once at `at_s` (virtual seconds from the start), or with the probability `share` in each minute
    where `at_s` is None. `adjust_times` changes the kubelets' times. Pods for which `is_stuck` is true never stop.
    `extra_delay_s`: additional delay of the disruption controller, called each time; `misses_deletion`: pods whose
    deletion it does not see; `joins`: whether a requested node joins."""

    mishap: Mishap | None = None
    at_s: float | None = None
    share: float = 0.0
    paced: Callable[[KubeletTimes], KubeletTimes] = as_it_is
    stuck: Callable[[Pod], bool] = none_is
    late_s: Callable[[], float] = in_time
    joins: Callable[[], bool] = joins
    missed: Callable[[Pod], bool] = none_is


class FaultyControlPlane:
    """A control plane with faults. Mutable."""

    def __init__(
        self,
        plane: ControlPlane,
        troubles: Iterable[TimedMishap],
        told: Callable[[InjectedMishap], object],
        seed: int = 0,
    ) -> None:
        """`report` is called with every event."""
        self._plane = plane
        self._troubles = tuple(troubles)
        self._told = told
        self._seed = seed

    def start(self, pace: KubeletTimes, workloads: Workloads, lags: ControlPlaneLags = ControlPlaneLags()) -> None:
        """See `ControlPlane.start`."""
        troubles, late_s = self._troubles, lags.disruptions_late_s
        if troubles:
            lags = replace(lags, disruptions_late_s=lambda: late_s() + sum(each.late_s() for each in troubles))
            lags = replace(lags, missed=lambda pod: any(each.missed(pod) for each in troubles))
        for each in troubles:
            pace = each.paced(pace)
        self._plane.start(pace, workloads, lags, lambda pod: any(each.stuck(pod) for each in troubles))
        for place, each in enumerate(troubles):
            if each.mishap is not None:
                self._begin(each, each.mishap, Chance(self._seed * 1000 + place))

    def joins(self) -> bool:
        """Whether the node that is requested now joins."""
        answers = [each.joins() for each in self._troubles]  # every fault draws its random number
        return all(answers)

    def _begin(self, trouble: TimedMishap, mishap: Mishap, chance: Chance) -> None:
        plane = self._plane

        def once() -> None:
            mishap(plane, chance, self._note)

        def now_and_then() -> None:
            if chance.next() < trouble.share:
                once()
            plane.agenda.after(EVERY_S, now_and_then)

        if trouble.at_s is None:
            plane.agenda.after(EVERY_S, now_and_then)
        else:
            plane.agenda.after(trouble.at_s, once)

    def _note(self, subject: str, what: str) -> None:
        self._told(InjectedMishap(self._plane.agenda.seconds, subject, what))


# Kubelet times with which some pods take longer than they should, or never end.


@frozen
class Slower:
    """Pods for which `is_slow` is true take these additional seconds: `NEVER` if they never do it by themselves. A pod
    that never stops is killed when the grace period is over."""

    pace: KubeletTimes
    which: Callable[[Pod], bool]
    more_to_start_s: float = 0.0
    more_to_stop_s: float = 0.0

    def start_s(self, pod: Pod) -> float:
        return self.pace.start_s(pod) + (self.more_to_start_s if self.which(pod) else 0.0)

    def stop_s(self, pod: Pod) -> float:
        return self.pace.stop_s(pod) + (self.more_to_stop_s if self.which(pod) else 0.0)

    def run_s(self, pod: Pod) -> float:
        return self.pace.run_s(pod)


# A cluster autoscaler adds a node while pods are Pending, or removes a node: it taints the node, evicts its pods, and
# then deletes the Node.
#
# Source: cluster-autoscaler core/scaledown/actuation (actuator.go, drain.go, delete_in_batch.go), tag
# cluster-autoscaler-1.36.1: evictions are tried again every 10 s for 2 min; a node that is not empty by then is kept.


TAINT = "ToBeDeletedByClusterAutoscaler"
RETRY_S = 10.0
TRIES_S = 120.0


def remove(plane: ControlPlane, node: str, told: Callable[[str], None]) -> bool:
    """Start the removal; False if there is no such node, or it is being removed. `report` is called at the start and
    the end."""
    item = plane.store.get(NODES, ("", node))
    if item is None or any(each.get("key") == TAINT for each in _taints(item)):
        return False
    taint = {"key": TAINT, "value": str(round(plane.agenda.now.timestamp())), "effect": "NoSchedule"}
    plane.registry.put(item, ("spec", "taints"), [*_taints(item), taint])
    told("is being removed by an autoscaler")
    end_s = plane.agenda.seconds + TRIES_S

    def try_it() -> None:
        if plane.store.get(NODES, ("", node)) is None:
            return
        left = [pod for pod in pods_on(plane, node) if not stays(pod)]
        if not left:
            disappear(plane, node)
            told("was removed by an autoscaler")
        elif plane.agenda.seconds >= end_s:
            _keep(plane, node)
            told("was kept by the autoscaler, which could not empty it")
        else:
            for pod in left:
                if not pod.leaving:
                    evict(plane, pod)
            plane.agenda.after(RETRY_S, try_it)

    try_it()
    return True


def add(plane: ControlPlane, like: str) -> str:
    """Add a node like that one if a pod is unschedulable; returns its name, "" if none is added."""
    model = plane.store.get(NODES, ("", like))
    if model is None or not any(_found_no_place(item) for item in plane.store.list(PODS)):
        return ""
    name = plane.registry.names.after(f"{like}-added-")
    return name if join(plane, model.doc, name) else ""


def _found_no_place(pod: StoredItem) -> bool:
    said = pod.condition("PodScheduled") or {}
    return said.get("status") == "False" and said.get("reason") == "Unschedulable"


def _keep(plane: ControlPlane, node: str) -> None:
    item = plane.registry.get(NODES, ("", node))
    left = [each for each in _taints(item) if each.get("key") != TAINT]
    plane.registry.put(item, ("spec", "taints"), left)


def _taints(node: StoredItem) -> list[Doc]:
    return node.spec.get("taints") or []
