"""What goes wrong in a cluster while it is being drained: other people, machines that vanish, things that hang.

Each takes effect at its time in a control plane that is running, as somebody outside of it would bring it about.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc, with_value, without
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.api.statuses import Refusal
from kubectl_eksdoc.core.rules.eviction_requests import EvictionRequest
from kubectl_eksdoc.core.sim.cluster.kubelets import NEVER, NODES, Pace
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.core.sim.cluster.registry import PODS, DeleteOptions


def node_disappears(plane: ControlPlane, name: str, after_s: float) -> None:
    """Its instance is gone (a Spot interruption, a terminated instance), and its Node object with it."""

    def gone() -> None:
        item = plane.store.get(NODES, ("", name))
        if item is not None:
            plane.registry.delete(item)

    plane.agenda.after(after_s, gone)


def node_joins(plane: ControlPlane, like: str, name: str, after_s: float) -> None:
    """A new node as an autoscaler adds it: one like another, empty, not cordoned."""

    def joined() -> None:
        model = plane.registry.get(NODES, ("", like))
        plane.registry.create(NODES, _new(model.doc, name))

    plane.agenda.after(after_s, joined)


def cordoned_by_another(plane: ControlPlane, name: str, after_s: float, cordoned: bool = True) -> None:
    """A second operator cordons a node, or uncordons one that we did."""

    def write() -> None:
        item = plane.store.get(NODES, ("", name))
        if item is not None:
            doc = with_value(item.doc, ("spec", "unschedulable"), True)
            plane.registry.update(item, doc if cordoned else without(item.doc, ("spec", "unschedulable")))

    plane.agenda.after(after_s, write)


def drained_by_another(plane: ControlPlane, name: str, after_s: float) -> None:
    """A second operator evicts everything on a node once; what is refused stays."""

    def evict_all() -> None:
        there = [item for item in plane.store.list(PODS) if (item.doc.get("spec") or {}).get("nodeName") == name]
        for item in there:
            namespace, pod = item.key
            try:
                plane.evictions.evict(EvictionRequest(pod, pod, namespace))
            except Refusal:
                continue

    cordoned_by_another(plane, name, after_s)
    plane.agenda.after(after_s, evict_all)


def deleted_by_another(plane: ControlPlane, namespace: str, name: str, after_s: float) -> None:
    """Somebody deletes a pod, asking no budget."""

    def delete() -> None:
        item = plane.store.get(PODS, (namespace, name))
        if item is not None:
            plane.registry.delete(item, DeleteOptions())

    plane.agenda.after(after_s, delete)


@dataclass(frozen=True, slots=True)
class Hanging:
    """A pace at which some pods (by namespace/name) never stop by themselves, and some never become Ready."""

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
