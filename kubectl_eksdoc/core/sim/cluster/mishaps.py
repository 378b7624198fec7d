"""What goes wrong in a cluster while it is being drained: other people, machines that vanish, things that hang.

Each is done at once to a control plane that is running, as somebody outside of it would do it, and tells whether there
was anything to do it to.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value, without
from kubectl_eksdoc.core.rules.api.statuses import Refusal
from kubectl_eksdoc.core.rules.eviction_requests import EvictionRequest
from kubectl_eksdoc.core.sim.cluster.conditions import condition, put
from kubectl_eksdoc.core.sim.cluster.kubelets import NODES
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.core.sim.cluster.registry import PODS, DeleteOptions
from kubectl_eksdoc.core.sim.cluster.store import Item

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
    if item is None or (condition(item.doc, "Ready") or {}).get("status") == "Unknown":
        return False
    held = at(item.doc, "status", "conditions") or ()
    for kind in HEARD_OF:
        told = condition(item.doc, kind) or {"type": kind}
        held = put(held, {**told, "status": "Unknown", "lastTransitionTime": now, **UNHEARD})
    plane.registry.update(item, with_value(item.doc, ("status", "conditions"), list(held)), status=True)
    for pod in pods_on(plane, node):
        ready = condition(pod.doc, "Ready")
        if ready is not None and ready.get("status") == "True":
            held = put(pod.doc["status"]["conditions"], {**ready, "status": "False", "lastTransitionTime": now})
            plane.registry.update(pod, with_value(pod.doc, ("status", "conditions"), held), status=True)
    return True


def hold(plane: ControlPlane, pod: Item, finalizer: str) -> bool:
    """Somebody wants to be asked before the pod goes; False if they do already, or it is too late."""
    held = at(pod.doc, "metadata", "finalizers") or []
    if pod.leaving or finalizer in held:
        return False
    plane.registry.update(pod, with_value(pod.doc, ("metadata", "finalizers"), [*held, finalizer]))
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


def uncordon(plane: ControlPlane, node: str) -> bool:
    return cordon(plane, node, cordoned=False)


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
