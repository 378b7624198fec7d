"""A cluster autoscaler adds a node while pods wait for one; or takes a node away: it is tainted, its pods are asked to
go, and then the Node is deleted.

Source: cluster-autoscaler core/scaledown/actuation (actuator.go, drain.go, delete_in_batch.go), tag
cluster-autoscaler-1.36.1: evictions are tried again every 10 s for 2 min; a node that is not empty by then is kept.
"""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.simulator.kubelets import NODES
from kubectl_eksdoc.simulator.mishaps import disappear, evict, join, pods_on, stays
from kubectl_eksdoc.simulator.plane import ControlPlane
from kubectl_eksdoc.simulator.registry import PODS, condition

TAINT = "ToBeDeletedByClusterAutoscaler"
RETRY_S = 10.0
TRIES_S = 120.0


def remove(plane: ControlPlane, node: str, told: Callable[[str], None]) -> bool:
    """Begin to; False if there is no such node, or it is being removed. `told` hears that, and how it ended."""
    item = plane.store.get(NODES, ("", node))
    if item is None or any(each.get("key") == TAINT for each in _taints(item.doc)):
        return False
    taint = {"key": TAINT, "value": str(round(plane.agenda.now.timestamp())), "effect": "NoSchedule"}
    plane.registry.update(item, with_value(item.doc, ("spec", "taints"), [*_taints(item.doc), taint]))
    told("is being removed by an autoscaler")
    end_s = plane.agenda.seconds + TRIES_S

    def try_it() -> None:
        if plane.store.get(NODES, ("", node)) is None:
            return
        left = [pod for pod in pods_on(plane, node) if not stays(pod.doc)]
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
    if model is None or not any(_found_no_place(item.doc) for item in plane.store.list(PODS)):
        return ""
    name = plane.registry.names.after(f"{like}-added-")
    return name if join(plane, model.doc, name) else ""


def _found_no_place(pod: Doc) -> bool:
    said = condition(pod, "PodScheduled") or {}
    return said.get("status") == "False" and said.get("reason") == "Unschedulable"


def _keep(plane: ControlPlane, node: str) -> None:
    item = plane.registry.get(NODES, ("", node))
    left = [each for each in _taints(item.doc) if each.get("key") != TAINT]
    plane.registry.update(item, with_value(item.doc, ("spec", "taints"), left))


def _taints(node: Doc) -> list[Doc]:
    return list(at(node, "spec", "taints") or ())
