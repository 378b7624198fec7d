"""What goes wrong in a cluster while it is being drained: other people, machines that vanish, things that hang.

Each is done at once to a control plane that is running, as somebody outside of it would do it, and tells whether there
was anything to do it to.
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
"""What a kubelet tells of its node."""

UNHEARD = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}


def disappear(plane: ControlPlane, node: str) -> bool:
    """Its instance is gone (a Spot interruption, a terminated instance), and its Node object with it."""
    item = plane.store.get(NODES, ("", node))
    if item is None:
        return False
    plane.registry.delete(item)
    return True


def lose(plane: ControlPlane, node: str) -> bool:
    """Nobody hears of its kubelet any more, and the node lifecycle controller says so of the node and of its pods;
    False if it is so already. Nothing on it is started or stopped from then on.

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
    """Somebody wants to be asked before the pod goes; False if they do already, or it is too late."""
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
    """A second operator cordons a node, or uncordons one that we did; False if it is so already."""
    item = plane.store.get(NODES, ("", node))
    if item is None or bool(at(item.spec, "unschedulable")) is cordoned:
        return False
    path = ("spec", "unschedulable")
    plane.registry.update(item, with_value(item.doc, path, True) if cordoned else without(item.doc, path))
    return True


def uncordon(plane: ControlPlane, node: str) -> bool:
    return cordon(plane, node, cordoned=False)


def drain(plane: ControlPlane, node: str) -> bool:
    """A second operator evicts everything on a node once, DaemonSets' pods apart; what is refused stays."""
    cordon(plane, node)
    there = [item for item in pods_on(plane, node) if not item.leaving and not stays(item)]
    for item in there:
        evict(plane, item)
    return bool(there)


def evict(plane: ControlPlane, pod: StoredItem) -> bool:
    """Whether it was granted."""
    namespace, name = pod.key
    try:
        return plane.evictions.evict(EvictionRequest(name, name, namespace)).ok
    except ApiRefusal:
        return False


def delete(plane: ControlPlane, namespace: str, name: str) -> bool:
    """Somebody deletes a pod, asking no budget; False if it is being deleted already."""
    item = plane.store.get(PODS, (namespace, name))
    if item is None or item.leaving:
        return False
    plane.registry.delete(item, DeleteOptions())
    return True


def pods_on(plane: ControlPlane, node: str) -> list[StoredItem]:
    return [item for item in plane.store.list(PODS) if item.node == node]


def stays(pod: StoredItem) -> bool:
    """Whether no drain evicts it: a DaemonSet's pod, or a mirror of a static one."""
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


# A control plane that is started with troubles: mishaps at a time or now and then, pods that hang, budgets seen late.
#
# What befalls the cluster is told, so that whoever has to live with it can say why.


EVERY_S = 60.0
"""What happens by chance has it once in each of these."""


class InjectedMishap(NamedTuple):
    """`at_s` of the agenda; `subject` is a node, a pod (ns/name), some pods or the control plane; `what` is what has
    become of it."""

    at_s: float
    subject: str
    what: str

    @property
    def said(self) -> str:
        return f"{self.subject} {self.what}"


Note = Callable[[str, str], None]
"""Called with the subject and what has become of it."""

Mishap = Callable[[ControlPlane, Chance, Note], None]
"""One thing that happens now; it notes what it did, and does nothing where there is nothing to do it to."""


def as_it_is(pace: KubeletTimes) -> KubeletTimes:
    return pace


def joins() -> bool:
    """Every node does that is asked for."""
    return True


@frozen
class TimedMishap:
    """`mishap` happens once at `at_s` (virtual seconds from the start), or with the chance `share` in each minute
    where `at_s` is None. `paced` makes another pace of the kubelets'. `stuck` pods never stop. `late_s`: how much
    later the budgets' controller looks, asked each time, and whose pods' ends it does not see (`missed`); `joins`:
    whether a node that is asked for comes."""

    mishap: Mishap | None = None
    at_s: float | None = None
    share: float = 0.0
    paced: Callable[[KubeletTimes], KubeletTimes] = as_it_is
    stuck: Callable[[Pod], bool] = none_is
    late_s: Callable[[], float] = in_time
    joins: Callable[[], bool] = joins
    missed: Callable[[Pod], bool] = none_is


class FaultyControlPlane:
    """A control plane and its troubles. Mutable."""

    def __init__(
        self,
        plane: ControlPlane,
        troubles: Iterable[TimedMishap],
        told: Callable[[InjectedMishap], object],
        seed: int = 0,
    ) -> None:
        """`told` is called with all that befalls it."""
        self._plane = plane
        self._troubles = tuple(troubles)
        self._told = told
        self._seed = seed

    def start(self, pace: KubeletTimes, workloads: Workloads, lags: ControlPlaneLags = ControlPlaneLags()) -> None:
        """As `ControlPlane.start`."""
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
        """Whether the node that is asked for now comes."""
        answers = [each.joins() for each in self._troubles]  # each draws its chance, whatever the others say
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


# Paces at which some pods take longer than they should, or never come to an end.


@frozen
class Slower:
    """A pace at which `which` pods take so many seconds more: `NEVER` for what they never do by themselves. Who never
    stops is killed when the grace period is over."""

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


# A cluster autoscaler adds a node while pods wait for one; or takes a node away: it is tainted, its pods are asked to
# go, and then the Node is deleted.
#
# Source: cluster-autoscaler core/scaledown/actuation (actuator.go, drain.go, delete_in_batch.go), tag
# cluster-autoscaler-1.36.1: evictions are tried again every 10 s for 2 min; a node that is not empty by then is kept.


TAINT = "ToBeDeletedByClusterAutoscaler"
RETRY_S = 10.0
TRIES_S = 120.0


def remove(plane: ControlPlane, node: str, told: Callable[[str], None]) -> bool:
    """Begin to; False if there is no such node, or it is being removed. `told` hears that, and how it ended."""
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
    """A node like that one if a pod found no place; its name, "" if none is added."""
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
