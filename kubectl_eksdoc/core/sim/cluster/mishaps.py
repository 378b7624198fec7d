"""What goes wrong in a cluster while it is being drained: other people, machines that vanish, things that hang.

Each is done to a control plane that is running, as somebody outside of it would do it. What is done at once tells
whether there was anything to do it to; with ``after_s`` it is done so many seconds later.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value, without
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.api.statuses import Refusal
from kubectl_eksdoc.core.rules.eviction_requests import EvictionRequest
from kubectl_eksdoc.core.sim.cluster.kubelets import NEVER, NODES, Pace
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.core.sim.cluster.registry import PODS, DeleteOptions
from kubectl_eksdoc.core.sim.cluster.store import Item


def disappear(plane: ControlPlane, node: str) -> bool:
    """Its instance is gone (a Spot interruption, a terminated instance), and its Node object with it."""
    item = plane.store.get(NODES, ("", node))
    if item is None:
        return False
    plane.registry.delete(item)
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
    if item is None or bool(at(item.doc, "spec", "unschedulable")) is cordoned:
        return False
    path = ("spec", "unschedulable")
    plane.registry.update(item, with_value(item.doc, path, True) if cordoned else without(item.doc, path))
    return True


def drain(plane: ControlPlane, node: str) -> bool:
    """A second operator evicts everything on a node once, DaemonSets' pods apart; what is refused stays."""
    cordon(plane, node)
    there = [item for item in pods_on(plane, node) if not item.leaving and not stays(item.doc)]
    for item in there:
        evict(plane, item)
    return bool(there)


def evict(plane: ControlPlane, pod: Item) -> bool:
    """Whether it was granted."""
    namespace, name = pod.key
    try:
        return plane.evictions.evict(EvictionRequest(name, name, namespace)).ok
    except Refusal:
        return False


def delete(plane: ControlPlane, namespace: str, name: str) -> bool:
    """Somebody deletes a pod, asking no budget; False if it is being deleted already."""
    item = plane.store.get(PODS, (namespace, name))
    if item is None or item.leaving:
        return False
    plane.registry.delete(item, DeleteOptions())
    return True


def pods_on(plane: ControlPlane, node: str) -> list[Item]:
    return [item for item in plane.store.list(PODS) if at(item.doc, "spec", "nodeName") == node]


def stays(pod: Doc) -> bool:
    """Whether no drain evicts it: a DaemonSet's pod, or a mirror of a static one."""
    owners = at(pod, "metadata", "ownerReferences") or ()
    return any(each.get("controller") and each.get("kind") in ("DaemonSet", "Node") for each in owners)


def node_disappears(plane: ControlPlane, name: str, after_s: float) -> None:
    plane.agenda.after(after_s, lambda: disappear(plane, name))


def node_joins(plane: ControlPlane, like: str, name: str, after_s: float) -> None:
    """Raises Refusal: 404, there is no node to be like."""
    model = plane.registry.get(NODES, ("", like)).doc
    plane.agenda.after(after_s, lambda: join(plane, model, name))


def cordoned_by_another(plane: ControlPlane, name: str, after_s: float, cordoned: bool = True) -> None:
    plane.agenda.after(after_s, lambda: cordon(plane, name, cordoned))


def drained_by_another(plane: ControlPlane, name: str, after_s: float) -> None:
    plane.agenda.after(after_s, lambda: drain(plane, name))


def deleted_by_another(plane: ControlPlane, namespace: str, name: str, after_s: float) -> None:
    plane.agenda.after(after_s, lambda: delete(plane, namespace, name))


@dataclass(frozen=True, slots=True)
class Hanging:
    """A pace at which some pods (by namespace/name) never stop by themselves, so that they are killed when their grace
    period is over, and some never become Ready."""

    pace: Pace
    never_stop: Collection[str] = ()
    never_start: Collection[str] = ()

    def start_s(self, pod: Pod) -> float:
        return NEVER if pod.key in self.never_start else self.pace.start_s(pod)

    def stop_s(self, pod: Pod) -> float:
        return NEVER if pod.key in self.never_stop else self.pace.stop_s(pod)

    def run_s(self, pod: Pod) -> float:
        return self.pace.run_s(pod)


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
