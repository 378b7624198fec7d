"""Small simulated clusters: nodes and pods as API objects, and kubelets with the times that a test sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.controllers import Controller
from kubectl_eksdoc.simulator.kubelets import KubeletTimes

START = datetime(2026, 11, 20, 8, tzinfo=timezone.utc)
PODS, NODES, BUDGETS = "pods", "nodes", "poddisruptionbudgets.policy"


@dataclass(frozen=True, slots=True)
class Steady:
    """Every pod takes the same time to start, to stop and to run."""

    start: float = 20.0
    stop: float = 5.0
    run: float = float("inf")

    def start_s(self, pod: Pod) -> float:
        return self.start

    def stop_s(self, pod: Pod) -> float:
        return self.stop

    def run_s(self, pod: Pod) -> float:
        return self.run


def a_node_doc(name: str, cpu: str = "4", **spec: Any) -> Doc:
    status: Doc = {
        "allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "20"},
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    meta = {"name": name, "uid": f"uid-{name}", "labels": {"kubernetes.io/hostname": name}}
    return {"kind": "Node", "apiVersion": "v1", "metadata": meta, "spec": spec, "status": status}


def a_pod_doc(name: str, node: str = "", cpu: str = "1", ready: bool = True, app: str = "web", **spec: Any) -> Doc:
    """A pod that runs on its node, or waits for one."""
    container = {"name": "app", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": {"app": app}}
    made = {"containers": [container], "terminationGracePeriodSeconds": 30, "restartPolicy": "Always", **spec}
    status: Doc = {"phase": "Pending"}
    if node:
        made["nodeName"] = node
        word = "True" if ready else "False"
        conditions = [{"type": "Ready", "status": word, "lastTransitionTime": "2026-11-20T07:00:00Z"}]
        status = {"phase": "Running", "conditions": conditions, "containerStatuses": [{"name": "app"}]}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": made, "status": status}


def a_budget_doc(name: str = "web", allowed: int = 1, healthy: int = 2, app: str = "web", **spec: Any) -> Doc:
    wanted = spec or {"minAvailable": healthy - allowed}
    numbers = {"disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": healthy - allowed}
    return {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}-budget", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": app}}, **wanted},
        "status": {**numbers, "expectedPods": healthy, "observedGeneration": 1},
    }


def a_plane(
    docs: Iterable[Doc] = (),
    pace: KubeletTimes = Steady(),
    workloads: Iterable[Controller] = (),
    seed: int = 1,
    started: bool = True,
) -> ControlPlane:
    """A control plane with the namespace default and `docs` unchanged; `started`: all controllers run."""
    plane = ControlPlane(START, StoredFacts(), seed)
    plane.load(
        "namespaces", [{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "default", "uid": "uid-ns"}}]
    )
    names = {(t.api_version, t.kind): resource for resource, t in plane.registry.served.items()}
    for doc in docs:
        plane.load(names[doc["apiVersion"], doc["kind"]], [doc])
    if started:
        plane.start(pace, lambda registry: workloads)
    return plane


def doc_of(plane: ControlPlane, resource: str, name: str, namespace: str = "default") -> Doc:
    item = plane.store.get(resource, ("" if resource == NODES else namespace, name))
    assert item is not None, f"there is no {resource} {name}"
    return item.doc


def condition(doc: Doc, of_type: str) -> Doc:
    found = [each for each in nested_field(doc, "status", "conditions") or () if each["type"] == of_type]
    return found[0] if found else {}
